# SPDX-License-Identifier: Apache-2.0
"""What was asked, of which tables: by this a stored answer is found again."""

from __future__ import annotations

from sordino.catalog.model import Catalog
from sordino.plan.encoding import digest
from sordino.plan.plan import Plan
from sordino.query.tree import tables_in
from sordino.release import Options


def asked_of(plan: Plan, options: Options) -> str:
    """Return a digest of a plan and of how its numbers are shown."""
    return digest("answer", plan.fingerprint, options)


def tables_of(plan: Plan, catalog: Catalog) -> set[str]:
    """Return the tables an answer depends on: its own, those above them, and all public ones."""
    found = {table.name for table in catalog.tables if table.public}
    above = list(tables_in(plan.query.rows))
    while above:
        name = above.pop()
        found.add(name)
        table = catalog.table(name)
        if table is not None and table.parent is not None:
            above.append(table.parent.parent)
    return found
