# SPDX-License-Identifier: Apache-2.0
"""Sessions: where questions are asked."""

from sordino.ledger.left import Left
from sordino.session.opening import open_catalog, table
from sordino.session.rehearsals import Rehearsal, rehearse
from sordino.session.session import Session

__all__ = ["Left", "Rehearsal", "Session", "open_catalog", "rehearse", "table"]
