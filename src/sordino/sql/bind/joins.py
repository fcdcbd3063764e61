# SPDX-License-Identifier: Apache-2.0
"""Joins that keep people apart: with public tables, and of the rows of one unit with each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from sordino.errors import QueryError
from sordino.query.tree import Call, Field, JoinPublic, JoinUnit, Literal, Scalar, Where
from sordino.sql.bind.scalars import alike, bind
from sordino.sql.bind.scope import (
    Columns,
    Named,
    Private,
    Public,
    Reading,
    Relation,
    Unit,
    find,
    row_hook,
    same_unit,
)
from sordino.sql.refusals import refusal

JOINS = 8  # that a question has at most
UNIT_JOINS = 2  # and of those, with private rows on both sides

_ON = "join on equal columns, as in ON v.patient_id = p.patient_id"


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The equalities of a join, left and right; ``units`` says that units are among them."""

    units: bool
    scalars: tuple[tuple[Scalar, Scalar], ...]
    merged: frozenset[str] = frozenset()


def joined(left: Relation, right: Relation, join: exp.Join, reading: Reading) -> Relation:
    """Return the rows of a join, or refuse one that would mix people or make too many rows."""
    outer = _outer(join)
    _count(left, right, join, reading)
    _apart(left, right, join)
    pairs = _pairs(left, right, join)
    _check_constants(pairs, join, reading)
    match left, right:
        case Private(), Public():
            return _with_public(left, right, pairs, join, outer=outer)
        case Public(), Private() if not outer:
            turned = tuple((other, one) for one, other in pairs.scalars)
            rows = _with_public(right, left, replace(pairs, scalars=turned), join, outer=False)
            return replace(rows, columns=_columns(left, right, pairs, outer=False))
        case Private(), Private():
            return _with_unit(left, right, pairs, join, outer=outer)
        case Public(), Private():
            raise _refused(
                join,
                "the private table must be the one whose rows are all kept",
                "a public row without a match would tell that nobody has it",
                "put the private table first",
            )
        case _:
            raise _refused(
                join,
                "two public tables cannot be joined before a private one",
                "",
                "put the private table first, then join each public one",
            )


def _outer(join: exp.Join) -> bool:
    side, kind = str(join.side or "").upper(), str(join.kind or "").upper()
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or (kind == "OUTER" != side):
        if side == "LEFT" and kind == "OUTER":
            return True
        raise _refused(
            join,
            f"{' '.join(word for word in (side, kind) if word)} JOIN is not answered",
            "it would pair rows of different people, or tell who has none",
            "use JOIN or LEFT JOIN with ON",
        )
    return side == "LEFT"


def _count(left: Relation, right: Relation, join: exp.Join, reading: Reading) -> None:
    """Count a join, and refuse a question that has too many: each may multiply the rows."""
    reading.joins += 1
    reading.unit_joins += isinstance(left, Private) and isinstance(right, Private)
    why = "each of them may multiply the rows"
    if reading.joins > JOINS:
        raise _refused(
            join,
            f"the question has more than {JOINS} joins",
            why,
            "join fewer tables; a WITH query counts each time it is used",
        )
    if reading.unit_joins > UNIT_JOINS:
        raise _refused(
            join,
            f"the question joins private rows more than {UNIT_JOINS} times",
            why,
            "aggregate beside each row, as in MAX(x) OVER (PARTITION BY unit)",
        )


def _check_constants(pairs: _Pairs, join: exp.Join, reading: Reading) -> None:
    """Refuse a join in which only constants are compared: all rows of a side would be paired."""
    paired = (all(_varies(side, reading) for side in sides) for sides in pairs.scalars)
    if not pairs.units and not any(paired):
        raise _refused(
            join,
            "ON compares columns with constants alone",
            "every private row would be paired with the same public rows",
            "join on columns of both tables, and put constants into WHERE",
        )


def _varies(scalar: Scalar, reading: Reading) -> bool:
    """Tell whether a scalar uses a column, also by the names of inner queries."""
    meanings = reading.lists.meanings
    return any(name not in meanings or _varies(meanings[name], reading) for name in _fields(scalar))


def _apart(left: Relation, right: Relation, join: exp.Join) -> None:
    """Refuse two entries of one name."""
    names = {column.source.casefold() for column in left.columns}
    taken = next((c.source for c in right.columns if c.source.casefold() in names), None)
    if taken is not None:
        raise refusal(
            "ambiguous", join, f"there are two tables {taken!r}", hint="name one of them with AS"
        )


def _pairs(left: Relation, right: Relation, join: exp.Join) -> _Pairs:
    using = join.args.get("using") or []
    if using:
        return _using(left.columns, right.columns, using, join)
    on = join.args.get("on")
    if on is None:
        raise _refused(join, "the join has no condition", "all rows would be paired", _ON)
    units, scalars = False, []
    for equality in _conjuncts(on):
        if not isinstance(equality, exp.EQ):
            raise _refused(
                equality, "ON takes equalities joined by AND", "", "move the rest to WHERE"
            )
        if same_unit(equality, left.columns + right.columns) and _settled(equality, left.columns):
            continue
        one, other = _sided(equality, left.columns, right.columns)
        if isinstance(one, Unit) or isinstance(other, Unit):
            units = _units(one, other, equality)
        else:
            first, second = alike(equality, (one, other))
            scalars.append((first, second))
    if not units and not scalars:
        raise _refused(join, "the join has no condition", "all rows would be paired", _ON)
    return _Pairs(units, tuple(scalars))


def _settled(equality: exp.EQ, columns: Columns) -> bool:
    """Tell whether both sides of an equality of units stand in tables that are joined already."""
    sources = {column.source.casefold() for column in columns}
    sides = list(equality.find_all(exp.Column))
    return all(side.table and side.table.casefold() in sources for side in sides)


def _using(left: Columns, right: Columns, using: list[exp.Expr], join: exp.Join) -> _Pairs:
    units, scalars = False, []
    for name in using:
        column = exp.Column(this=name.copy())
        column.meta.update(name.meta)
        one, other = find(left, column).meaning, find(right, column).meaning
        if isinstance(one, Unit) or isinstance(other, Unit):
            units = _units(one, other, join)
        else:
            first, second = alike(join, (one, other))
            scalars.append((first, second))
    return _Pairs(units, tuple(scalars), frozenset(name.name.casefold() for name in using))


def _units(one: Scalar | Unit, other: Scalar | Unit, node: exp.Expr) -> bool:
    if isinstance(one, Unit) and isinstance(other, Unit) and not one.maybe and not other.maybe:
        return True
    if isinstance(one, Unit) and isinstance(other, Unit):
        raise _refused(
            node,
            "this unit comes from a LEFT JOIN and may be missing",
            "",
            "use the unit of the first table",
        )
    raise refusal(
        "unit_column",
        node,
        "the unit can be joined with the unit of another table alone",
        why="it would be compared with values that are not people",
        hint="join on the unit columns of both tables",
    )


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


def _sided(node: exp.EQ, left: Columns, right: Columns) -> tuple[Scalar | Unit, Scalar | Unit]:
    """Return the two sides of an equality, that of the left table first."""
    both = (*left, *right)
    one, other = _side(node.left, both), _side(node.right, both)
    lefts, rights = _names(left), _names(right)
    for first, second in ((one, other), (other, one)):
        if first[1] <= lefts and second[1] <= rights:
            return first[0], second[0]
    raise _refused(node, "each side of an equality must use the columns of one table", "", _ON)


def _side(node: exp.Expr, columns: Columns) -> tuple[Scalar | Unit, frozenset[str]]:
    """Return what one side means, and which fields it uses."""
    node = node.unnest()
    if isinstance(node, exp.Column):
        named = find(columns, node)
        return named.meaning, _uses(named)
    scalar = bind(node, row_hook(columns, "ON"))
    return scalar, _fields(scalar)


def _uses(named: Named) -> frozenset[str]:
    if isinstance(named.meaning, Unit):
        return frozenset({f"unit of {named.source}"})
    return _fields(named.meaning)


def _names(columns: Columns) -> frozenset[str]:
    return frozenset(name for column in columns for name in _uses(column))


def _fields(scalar: Scalar) -> frozenset[str]:
    match scalar:
        case Field(name=name):
            return frozenset({name})
        case Call(arguments=arguments):
            return frozenset(name for argument in arguments for name in _fields(argument))
        case Literal():
            return frozenset()


def _with_public(
    left: Private, right: Public, pairs: _Pairs, join: exp.Join, *, outer: bool
) -> Private:
    by_name = {field.name: column for field, column in right.fields}
    on: list[tuple[Scalar, str]] = []
    for one, other in pairs.scalars:
        if isinstance(other, Call) and other.operation in ("to_real", "to_timestamp"):
            other = other.arguments[0]  # noqa: PLW2901 - engines compare these types by themselves
        if not isinstance(other, Field):
            raise _refused(
                join,
                "a public table is joined on its columns as they are",
                "",
                "compute on the side of the private table",
            )
        on.append((one, by_name[other.name]))
    if outer and right.conditions:
        raise _refused(
            join, "a LEFT JOIN takes a public table as it is", "", "filter with CASE, or use JOIN"
        )
    rows: JoinPublic | Where = JoinPublic(
        left.rows, right.table.name, right.fields, tuple(on), outer
    )
    for met in right.conditions:
        rows = Where(rows, met)
    columns = _columns(left, right, pairs, outer=outer)
    return replace(left, rows=rows, columns=columns, most=None)


def _with_unit(
    left: Private, right: Private, pairs: _Pairs, join: exp.Join, *, outer: bool
) -> Private:
    if left.each_row or right.each_row:
        raise _refused(
            join,
            "a table in which every row is a unit cannot be joined with private rows",
            "rows of different people would be paired",
            "join public tables alone",
        )
    if left.people != right.people:
        raise _refused(
            join,
            "the two tables are about different people",
            "a pair of rows would belong to two people",
            "ask about each by itself",
        )
    if not pairs.units:
        unit = next((c for c in left.columns if isinstance(c.meaning, Unit)), None)
        other = next((c for c in right.columns if isinstance(c.meaning, Unit)), None)
        hint = "let both inner queries list the unit, and join on it"
        if unit is not None and other is not None:
            hint = f"add {unit.source}.{unit.name} = {other.source}.{other.name} to ON"
        raise _refused(
            join,
            "private tables are joined on the unit",
            "a pair of rows could belong to two people",
            hint,
        )
    columns = _columns(left, right, pairs, outer=outer)
    rows = JoinUnit(left.rows, right.rows, pairs.scalars, outer)
    return replace(left, rows=rows, columns=columns, most=None)


def _columns(left: Relation, right: Relation, pairs: _Pairs, *, outer: bool) -> Columns:
    """Return the columns of both sides; those of USING are named once."""
    after = []
    for column in right.columns:
        meaning = column.meaning
        if isinstance(meaning, Unit) and outer:
            meaning = Unit(maybe=True)
        merged = column.merged or column.name.casefold() in pairs.merged
        after.append(replace(column, meaning=meaning, merged=merged))
    return (*left.columns, *after)


def _refused(node: exp.Expr, message: str, why: str, hint: str) -> QueryError:
    return refusal("join", node, message, why=why, hint=hint)
