# SPDX-License-Identifier: Apache-2.0
"""The rows of a question in plain Python: every step looks at the rows of one unit alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from sordino.catalog.model import Catalog, Table
from sordino.plan.bound import is_alone
from sordino.plan.plan import JOIN_ROWS
from sordino.query import tree
from sordino.query.types import Range, Type
from tests.engine.reference import scalars

Stored: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]  # table -> rows of columns
Row: TypeAlias = tuple[Any, dict[str, Any]]  # unit, field -> value


class Cut(Exception):
    """A salted hash would choose here, so that plain Python cannot say what is kept."""


def value_of(scalar: tree.Scalar, row: Mapping[str, Any]) -> Any:
    """Return what a scalar is for a row."""
    match scalar:
        case tree.Field():
            return row[scalar.name]
        case tree.Literal():
            return scalars.cast(scalar.value, scalar.type)
        case tree.Call():
            values = [value_of(a, row) for a in scalar.arguments]
            return scalars.call(scalar.operation, values, scalar.type)
        case _ as never:
            assert_never(never)


def rows_of(rows: tree.Rows, stored: Stored, catalog: Catalog) -> list[Row]:
    """Return all rows of a step, each with its unit."""
    match rows:
        case tree.Scan():
            table = catalog.table(rows.table)
            assert table is not None
            return [
                (unit, {field.name: row[column] for field, column in rows.fields})
                for unit, row in owned(table, stored, catalog)
            ]
        case tree.Where():
            inner = rows_of(rows.rows, stored, catalog)
            return [(u, r) for u, r in inner if value_of(rows.condition, r) is True]
        case tree.Derive():
            inner = rows_of(rows.rows, stored, catalog)
            return [(u, {f.name: value_of(s, r) for f, s in rows.fields}) for u, r in inner]
        case tree.JoinPublic():
            return _join_public(rows, stored, catalog)
        case tree.JoinUnit():
            return _join_unit(rows, stored, catalog)
        case tree.PerUnit():
            inner = rows_of(rows.rows, stored, catalog)
            return [(u, _measured(rows.fields, own)) for u, own in by_unit(inner).items()]
        case tree.Window():
            inner = rows_of(rows.rows, stored, catalog)
            added = {u: _measured(rows.fields, own) for u, own in by_unit(inner).items()}
            return [(u, {**r, **added[u]}) for u, r in inner]
        case _ as never:
            assert_never(never)


def owned(table: Table, stored: Stored, catalog: Catalog) -> list[Row]:
    """Return the base view of a table: declared columns, normal values, and the unit."""
    base = [
        {c.name: scalars.base(row.get(c.name), c.type) for c in table.columns}
        for row in stored[table.name]
    ]
    if table.parent is not None:
        parent = catalog.table(table.parent.parent)
        assert parent is not None
        units: dict[Any, dict[Any, None]] = {}  # each unit once, however many rows it has
        for unit, row in owned(parent, stored, catalog):
            units.setdefault(row[table.parent.parent_column], {})[unit] = None
        key = table.parent.column
        return [
            (unit, row) for row in base if row[key] is not None for unit in units.get(row[key], ())
        ]
    if table.each_row:
        return list(enumerate(base))
    assert table.unit is not None
    return [(row[table.unit], row) for row in base if row[table.unit] is not None]


def by_unit(rows: Iterable[Row]) -> dict[Any, list[dict[str, Any]]]:
    """Return the rows of each unit."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for unit, row in rows:
        found.setdefault(unit, []).append(row)
    return found


def _join_public(join: tree.JoinPublic, stored: Stored, catalog: Catalog) -> list[Row]:
    table = catalog.table(join.table)
    assert table is not None
    public = [
        {c.name: scalars.base(row.get(c.name), c.type) for c in table.columns}
        for row in stored[table.name]
    ]
    made: list[Row] = []
    for unit, row in rows_of(join.rows, stored, catalog):
        wanted = [(value_of(scalar, row), column) for scalar, column in join.on]
        found = [p for p in public if all(_equal(v, p[column]) for v, column in wanted)]
        if not found and join.outer:
            made.append((unit, {**row, **{field.name: None for field, _ in join.fields}}))
        made += [(unit, {**row, **{f.name: p[c] for f, c in join.fields}}) for p in found]
    return made


def _join_unit(join: tree.JoinUnit, stored: Stored, catalog: Catalog) -> list[Row]:
    mine = rows_of(join.rows, stored, catalog)
    others = by_unit(rows_of(join.other, stored, catalog))
    if not (is_alone(join.rows, catalog) or is_alone(join.other, catalog)):
        sizes = [len(own) for side in (by_unit(mine), others) for own in side.values()]
        if max(sizes, default=0) > JOIN_ROWS:
            raise Cut
    blank = {field.name: None for field in fields_of(join.other)}
    made: list[Row] = []
    for unit, row in mine:
        found = [
            other
            for other in others.get(unit, ())
            if all(_equal(value_of(a, row), value_of(b, other)) for a, b in join.on)
        ]
        if not found and join.outer:
            made.append((unit, {**row, **blank}))
        made += [(unit, {**row, **other}) for other in found]
    return made


def _equal(a: Any, b: Any) -> bool:
    return scalars.call("eq", [a, b], Type.BOOLEAN) is True


def fields_of(rows: tree.Rows) -> tuple[tree.Field, ...]:
    """Return the fields that the rows of a step have."""
    match rows:
        case tree.Scan() | tree.Derive() | tree.PerUnit():
            return tuple(field for field, _ in rows.fields)
        case tree.Where():
            return fields_of(rows.rows)
        case tree.JoinPublic() | tree.Window():
            return fields_of(rows.rows) + tuple(field for field, _ in rows.fields)
        case tree.JoinUnit():
            return fields_of(rows.rows) + fields_of(rows.other)
        case _ as never:
            assert_never(never)


def _measured(
    fields: tuple[tuple[tree.Field, tree.UnitMeasure], ...], own: list[dict[str, Any]]
) -> dict[str, Any]:
    return {field.name: _measure(measure, own, field.type) for field, measure in fields}


def _measure(measure: tree.UnitMeasure, own: list[dict[str, Any]], type_: Type) -> Any:
    if measure.argument is None:
        return len(own)
    values = [value_of(measure.argument, row) for row in own]
    there = [v for v in values if v is not None]
    if measure.kind is tree.UnitKind.COUNT:
        return len(there)
    if not there:
        return None
    if measure.kind is tree.UnitKind.MIN:
        return min(there)
    if measure.kind is tree.UnitKind.MAX:
        return max(there)
    total = sum((clamped(v, measure.range) for v in there), Fraction(0))
    if measure.kind is tree.UnitKind.AVG:
        return float(total / len(there))
    return scalars.whole(float(total)) if type_ is Type.INTEGER else float(total)


def clamped(value: Any, bounds: Range | None) -> Fraction:
    """Return a number within its range, exactly; infinities go to the ends."""
    assert bounds is not None
    if math.isinf(value):
        return bounds.high if value > 0 else bounds.low
    return min(max(Fraction(value), bounds.low), bounds.high)
