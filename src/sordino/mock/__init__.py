# SPDX-License-Identifier: Apache-2.0
"""Invented rows for rehearsals: made from a catalog alone, the same for everybody.

``tables`` invents the private tables of a catalog as Arrow tables, and ``invented`` returns the
catalog with them in place of its own. No row of the data is looked at.
"""

from sordino.mock.rows import invented, tables

__all__ = ["invented", "tables"]
