# SPDX-License-Identifier: Apache-2.0
"""Numbers that are computed for each unit by itself: GROUP BY unit, OVER (PARTITION BY unit)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sordino.query.operations import range_of
from sordino.query.tree import Derive, Field, PerUnit, Scalar, UnitKind, UnitMeasure, Where, Window
from sordino.query.types import Range, Type
from sordino.sql.bind.measures import NUMERIC, argument, bounded, counted, number, unwrapped
from sordino.sql.bind.scalars import Hook, condition
from sordino.sql.bind.scope import (
    Columns,
    Private,
    Reading,
    Relation,
    Unit,
    find,
    is_aggregate,
    projected,
    row_hook,
    unit_refusal,
)
from sordino.sql.refusals import refusal

_WHY = "a row of the inner query would depend on the rows of other people"
_HINT = "group by the unit, with COUNT, SUM, AVG, MIN or MAX; ask for the rest outside"
_NAMES = {kind.value: kind for kind in UnitKind}
_KINDS = {node: _NAMES[kind.value] for node, kind in NUMERIC.items() if kind.value in _NAMES}


class Measured:
    """The measures of units that one SELECT needs, each once."""

    def __init__(self, relation: Private, hook: Hook, reading: Reading) -> None:
        self._relation = relation
        self._hook = hook
        self._reading = reading
        self._fields: dict[UnitMeasure, Field] = {}

    def field(self, node: exp.Expr) -> Field:
        """Return the field of an aggregate."""
        measure, kind = _measure(node, self._hook, self._relation.columns)
        if measure not in self._fields:
            range_ = _range(measure, self._relation.most)
            rows = measure.kind is UnitKind.COUNT and measure.argument is None
            title = "COUNT(*)" if rows else node.sql(dialect="duckdb", comments=False)[:60]
            self._fields[measure] = self._reading.fresh(kind, title, range_)
        return self._fields[measure]

    @property
    def fields(self) -> tuple[tuple[Field, UnitMeasure], ...]:
        """All fields so far, each with its measure."""
        return tuple((field, measure) for measure, field in self._fields.items())


def per_unit(select: exp.Select, relation: Relation, reading: Reading) -> Private:
    """Return one row for each unit: an inner query that is grouped by the unit."""
    group = select.args.get("group")
    keys = group.expressions if group is not None else []
    if (
        not isinstance(relation, Private)
        or len(keys) != 1
        or not _is_unit(_named_key(keys[0], select), relation.columns)
    ):
        raise refusal(
            "inner_query",
            group if group is not None else select,
            "an inner query that aggregates must group by the unit alone",
            why=_WHY,
            hint=_HINT,
        )
    measured = Measured(relation, row_hook(relation.columns, "an aggregate per person"), reading)
    hook = _per_unit_hook(measured, relation.columns)
    having = select.args.get("having")
    met = condition(having.this, hook) if having is not None else None
    units = tuple(c for c in relation.columns if isinstance(c.meaning, Unit))
    draft = replace(relation, columns=units)
    listed = projected(select, draft, hook, reading, always=True)
    rows = PerUnit(relation.rows, measured.fields)
    return _rebased(listed, rows if met is None else Where(rows, met))


def _rebased(listed: Relation, rows: PerUnit | Where) -> Private:
    """Return a projection with other rows below it; one row is left of each unit."""
    if not isinstance(listed, Private) or not isinstance(listed.rows, Derive):
        raise TypeError("the columns of an inner query per unit are computed ones")
    return replace(listed, rows=Derive(rows, listed.rows.fields), most=1)


def _named_key(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return what a position or an alias in GROUP BY stands for."""
    if isinstance(key, exp.Literal) and not key.is_string and str(key.this).isdigit():
        place = int(str(key.this)[:6])
        if 1 <= place <= len(select.expressions):
            return _plain(select.expressions[place - 1])
    if isinstance(key, exp.Column) and not key.table:
        for item in select.expressions:
            if isinstance(item, exp.Alias) and item.alias.casefold() == key.name.casefold():
                return _plain(item)
    return key


def _plain(item: exp.Expr) -> exp.Expr:
    inside: exp.Expr = item.this if isinstance(item, exp.Alias) else item
    return inside


def _is_unit(node: exp.Expr, columns: Columns) -> bool:
    node = node.unnest()
    if not isinstance(node, exp.Column):
        return False
    meaning = find(columns, node).meaning
    return isinstance(meaning, Unit) and not meaning.maybe


def _per_unit_hook(measured: Measured, columns: Columns) -> Hook:
    def hook(node: exp.Expr) -> Scalar | None:
        if isinstance(node, exp.Window):
            raise refusal("window", node, "a window cannot stand beside GROUP BY", hint=_HINT)
        if is_aggregate(node):
            return measured.field(node)
        if isinstance(node, exp.Column):
            named = find(columns, node)
            if isinstance(named.meaning, Unit):
                raise unit_refusal(node, named.name)
            raise refusal(
                "row_level",
                node,
                f"{named.name!r} has many values for one person",
                hint=f"aggregate it, as in MAX({named.name})",
            )
        return None

    return hook


def windows(
    select: exp.Select, relation: Private, reading: Reading, clause: str = "an inner query"
) -> tuple[Private, Hook]:
    """Return the rows with the windows that a SELECT uses, and what names mean then."""
    plain = row_hook(relation.columns, clause)
    measured = Measured(relation, plain, reading)
    parts = [*select.expressions]
    parts += [select.args[name] for name in ("group", "having", "order") if select.args.get(name)]
    found = {
        id(node): measured.field(_checked(node, relation.columns))
        for part in parts
        for node in part.walk()
        if isinstance(node, exp.Window)
    }

    def hook(node: exp.Expr) -> Scalar | None:
        return found[id(node)] if id(node) in found else plain(node)

    if not found:
        return relation, plain
    return replace(relation, rows=Window(relation.rows, measured.fields)), hook


def _checked(node: exp.Window, columns: Columns) -> exp.Expr:
    """Return the aggregate of a window over the rows of one unit."""
    partition = node.args.get("partition_by") or []
    plain = str(node.args.get("over") or "").upper() == "OVER"
    if not plain or len(partition) != 1 or not _is_unit(partition[0], columns):
        raise refusal(
            "window",
            node,
            "a window must be over the rows of one person",
            why="over more rows, one person would change the numbers of others",
            hint="write OVER (PARTITION BY unit), with the unit column of the table",
        )
    inside: exp.Expr = node.this
    if not is_aggregate(inside):
        raise refusal("window", node, "only COUNT, SUM, AVG, MIN and MAX have a window", hint=_HINT)
    return inside


def _measure(node: exp.Expr, hook: Hook, columns: Columns) -> tuple[UnitMeasure, Type]:
    aggregate = unwrapped(node, hook)
    function = aggregate.function
    if isinstance(function, exp.CountIf) or (
        isinstance(function, exp.Count) and not isinstance(function.this, exp.Distinct)
    ):
        return UnitMeasure(UnitKind.COUNT, counted(aggregate, hook, columns)), Type.INTEGER
    kind = _KINDS.get(type(function))
    if kind is None:
        raise refusal("inner_query", node, "this is not computed per person", hint=_HINT)
    if kind in (UnitKind.MIN, UnitKind.MAX):
        value = argument(aggregate, function.this, hook)
        if value.type is Type.BOOLEAN:
            value = number(aggregate, function.this, hook)
        return UnitMeasure(kind, value, range_of(value)), value.type
    value, range_ = bounded(number(aggregate, function.this, hook), function.this)
    result = value.type if kind is UnitKind.SUM else Type.REAL
    return UnitMeasure(kind, value, range_), result


def _range(measure: UnitMeasure, most: int | None) -> Range | None:
    """Return where the numbers of units are expected to lie, given how many rows one has."""
    if measure.kind is UnitKind.COUNT:
        fewest = Fraction(1 if measure.argument is None else 0)
        return None if most is None else Range(fewest, Fraction(max(most, 1)))
    if measure.kind is not UnitKind.SUM or measure.range is None:
        return measure.range
    if most is None:
        return None
    low, high = measure.range.low, measure.range.high
    return Range(min(low, low * most), max(high, high * most))
