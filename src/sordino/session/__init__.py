# SPDX-License-Identifier: Apache-2.0
"""Sessions: where questions are asked."""

from sordino.session.budgets import Left
from sordino.session.opening import open_catalog, table
from sordino.session.session import Session

__all__ = ["Left", "Session", "open_catalog", "table"]
