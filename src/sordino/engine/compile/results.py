# SPDX-License-Identifier: Apache-2.0
"""The rows that a statement gives, as one table of exact integers for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sordino.engine.compile.statement import Statement
from sordino.query.types import ARROW_TYPES

if TYPE_CHECKING:
    import pyarrow as pa


def parts_of(table: pa.Table, statement: Statement) -> tuple[pa.Table, ...]:
    """Return the rows of each part, with its own columns in their own types."""
    import pyarrow as pa  # pyarrow is loaded where results are
    import pyarrow.compute as pc

    parts = []
    for place, (names, wide) in enumerate(zip(statement.columns, statement.wide, strict=True)):
        rows = table
        if len(statement.columns) > 1:
            rows = table.filter(pc.equal(table.column("part"), place))
        columns = {
            name: _narrow(rows.column(name), pa.int64())
            if name[0] == "s" and name not in wide
            else rows.column(name)
            for name in names
        }
        parts.append(pa.table(columns))
    return tuple(parts)


def _narrow(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)


def as_arrow(rows: list[Any], statement: Statement) -> pa.Table:
    """Return tuples as Arrow, in the types that the statement gives."""
    import pyarrow as pa  # pyarrow is loaded where results are

    keys = {f"k{place}": ARROW_TYPES[kind] for place, kind in enumerate(statement.types)}
    wide = frozenset[str]().union(*statement.wide)
    columns = list(zip(*rows, strict=True)) or [()] * len(statement.every)
    arrays = {
        name: pa.array(column, keys.get(name, pa.decimal128(38, 0) if name in wide else pa.int64()))
        for name, column in zip(statement.every, columns, strict=True)
    }
    return pa.table(arrays)
