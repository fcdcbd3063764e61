# SPDX-License-Identifier: Apache-2.0
"""Which tables a question reads."""

from __future__ import annotations

from typing import assert_never

from sordino.query.catalog import Catalog
from sordino.query.tree import Derive, JoinPublic, JoinUnit, PerUnit, Rows, Scan, Where, Window


def tables_read(rows: Rows, catalog: Catalog) -> frozenset[str]:
    """Return the tables that rows come from, and those that say whose rows they are."""
    match rows:
        case Scan(table=name):
            return upward(name, catalog)
        case JoinPublic(rows=inner, table=name):
            return tables_read(inner, catalog) | upward(name, catalog)
        case JoinUnit(rows=inner, other=other):
            return tables_read(inner, catalog) | tables_read(other, catalog)
        case Where() | Derive() | PerUnit() | Window():
            return tables_read(rows.rows, catalog)
        case _:
            assert_never(rows)


def upward(name: str, catalog: Catalog) -> frozenset[str]:
    """Return a table and its parents."""
    names = []
    table = catalog.table(name)
    while table is not None:
        names.append(table.name)
        table = None if table.parent is None else catalog.table(table.parent.parent)
    return frozenset(names)
