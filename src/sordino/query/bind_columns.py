# SPDX-License-Identifier: Apache-2.0
"""What a clause that looks at one row at a time may name, and the columns of an inner SELECT."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sordino.query.bind_scalar import Hook, bind
from sordino.query.operations import range_of
from sordino.query.refusals import refusal
from sordino.query.scope import Columns, Named, Public, Reading, Relation, Unit, find, unit_refusal
from sordino.query.tree import Derive, Field, Literal, Scalar
from sordino.query.types import Type

AGGREGATES = (exp.AggFunc, exp.CountIf, exp.WithinGroup, exp.Filter, exp.Mode, exp.Quantile)


def is_aggregate(node: exp.Expr) -> bool:
    """Tell whether a node is computed from many rows."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).casefold() in ("top", "histogram", "countif")
    return isinstance(node, AGGREGATES)


def aggregates(node: exp.Expr) -> bool:
    """Tell whether an expression is computed from many rows, other than by a window."""
    parts = node.walk(prune=lambda part: isinstance(part, exp.Window))
    return any(is_aggregate(part) for part in parts)


def is_unit(node: exp.Expr, columns: Columns) -> bool:
    """Tell whether a node names the unit; refuse one that a LEFT JOIN may leave out."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return False
    meaning = find(columns, node).meaning
    if not isinstance(meaning, Unit):
        return False
    if meaning.maybe:
        raise refusal(
            "unit_column",
            node,
            "this unit comes from a LEFT JOIN and may be missing",
            hint="count the unit of the first table, or use JOIN",
        )
    return True


def row_hook(columns: Columns, clause: str) -> Hook:
    """Return what names mean in a clause that looks at one row at a time."""

    def hook(node: exp.Expr) -> Scalar | None:
        if isinstance(node, exp.Column):
            named = find(columns, node)
            if isinstance(named.meaning, Unit):
                raise unit_refusal(node, named.name)
            return named.meaning
        if isinstance(node, exp.EQ) and same_unit(node, columns):
            return Literal(True, Type.BOOLEAN)
        if isinstance(node, exp.Window):
            raise refusal(
                "aggregate_place",
                node,
                f"a window cannot stand in {clause}",
                hint="compute it in an inner query, and compare its column",
            )
        if is_aggregate(node):
            raise refusal(
                "aggregate_place",
                node,
                f"an aggregate cannot stand in {clause}",
                why="whether a row counts would depend on the rows of other people",
                hint="use HAVING, which looks at noisy numbers",
            )
        return None

    return hook


def same_unit(node: exp.EQ, columns: Columns) -> bool:
    """Tell whether an equality compares the unit with itself, which holds in every row."""
    sides = [side.unnest() for side in (node.left, node.right)]
    if not all(isinstance(side, exp.Column) and not side.is_star for side in sides):
        return False
    meanings = [find(columns, side).meaning for side in sides if isinstance(side, exp.Column)]
    return all(isinstance(meaning, Unit) and not meaning.maybe for meaning in meanings)


def projected(
    select: exp.Select,
    relation: Relation,
    hook: Hook,
    reading: Reading,
    *,
    always: bool = False,
) -> Relation:
    """Return the relation with the columns that an inner SELECT lists; ``always`` as new fields."""
    columns: list[Named] = []
    for item in select.expressions:
        for column in _listed(item, relation.columns, hook):
            unit = isinstance(column.meaning, Unit)
            if not (unit and any(_same(column, other) for other in columns)):
                columns.append(column)
    plain = not always and all(isinstance(c.meaning, Field | Unit) for c in columns)
    if plain:
        return replace(relation, columns=tuple(columns))
    if isinstance(relation, Public):
        raise refusal(
            "inner_query",
            select,
            "an inner query over a public table lists its columns as they are",
            hint="compute after the join with the private table",
        )
    fields: list[tuple[Field, Scalar]] = []
    renamed: list[Named] = []
    for column in columns:
        meaning = column.meaning
        if not isinstance(meaning, Unit):
            new = derived(meaning, column.name, reading)
            fields.append((new, meaning))
            meaning = new
        renamed.append(replace(column, meaning=meaning))
    return replace(relation, rows=Derive(relation.rows, tuple(fields)), columns=tuple(renamed))


def derived(scalar: Scalar, title: str, reading: Reading) -> Field:
    """Return a new field for a scalar, with what is publicly known about it."""
    other = scalar.other if isinstance(scalar, Field) else None
    domain = scalar.domain if isinstance(scalar, Field) else None
    new = reading.fresh(scalar.type, title, range_of(scalar), domain, other)
    reading.lists.meanings[new.name] = scalar
    return new


def _listed(item: exp.Expr, columns: Columns, hook: Hook) -> list[Named]:
    """Return the columns that one entry of an inner SELECT stands for."""
    if isinstance(item, exp.Star):
        return [replace(c, source="") for c in columns if not c.merged]
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        wanted = item.table.casefold()
        found = [replace(c, source="") for c in columns if c.source.casefold() == wanted]
        if not found:
            raise refusal(
                "unknown_table", item, f"there is no table {item.table!r} here", hint="use *"
            )
        return found
    node = item.this if isinstance(item, exp.Alias) else item
    while isinstance(node, exp.Paren):
        node = node.this
    name = item.alias or item.output_name or item.sql(dialect="duckdb")
    if isinstance(node, exp.Column):
        named = find(columns, node)
        if isinstance(named.meaning, Unit):
            return [Named("", item.alias or named.name, named.meaning)]
    return [Named("", name, bind(node, hook))]


def _same(column: Named, other: Named) -> bool:
    """Tell whether another column is the unit under the same name."""
    return isinstance(other.meaning, Unit) and column.name.casefold() == other.name.casefold()
