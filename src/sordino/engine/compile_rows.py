# SPDX-License-Identifier: Apache-2.0
"""Private rows as steps of a statement; the unit of every row goes with it, in a column ``u``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import assert_never

from sordino.engine.bases import Base, normal
from sordino.engine.dialect import quoted
from sordino.engine.scalars import Scope, Term
from sordino.engine.writer import Writer
from sordino.query.catalog import Catalog, Table
from sordino.query.tree import (
    Derive,
    Field,
    JoinPublic,
    JoinUnit,
    PerUnit,
    Rows,
    Scalar,
    Scan,
    UnitKind,
    UnitMeasure,
    Where,
    Window,
)
from sordino.query.types import Range, Type

_SUM_BITS = 52  # of a value that is added up for one unit


@dataclass(frozen=True, slots=True)
class Relation:
    """A step that gives rows: its name, and the columns of its fields by name."""

    step: str
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reader:
    """What rows are compiled with. With ``units``, rows carry their unit."""

    writer: Writer
    catalog: Catalog
    bases: Mapping[str, Base]
    units: bool
    numbered: dict[str, str] = field(default_factory=dict)

    def rows(self, rows: Rows) -> Relation:
        """Return a step that gives the rows."""
        match rows:
            case Scan():
                return self._scan(rows)
            case Where():
                return self._where(rows)
            case Derive():
                return self._derive(rows)
            case JoinPublic():
                return self._join_public(rows)
            case JoinUnit():
                return self._join_unit(rows)
            case PerUnit():
                return self._per_unit(rows)
            case Window():
                return self._window(rows)
        assert_never(rows)

    # Tables. ---------------------------------------------------------------------------------

    def _scan(self, scan: Scan) -> Relation:
        table = self._table(scan.table)
        return self._named(scan.fields, self.base(table, [column for _, column in scan.fields]))

    def _named(self, fields: Iterable[tuple[Field, str]], base: str) -> Relation:
        columns = {field.name: self.writer.column(field.name) for field, _ in fields}
        chosen = [f"{quoted(column)} AS {columns[field.name]}" for field, column in fields]
        text = f"SELECT {', '.join([*self._unit(), *chosen]) or 'NULL AS c'} FROM {base}"
        return Relation(self.writer.step("scan", text), columns)

    def base(self, table: Table, wanted: Iterable[str]) -> str:
        """Return a step with the wanted columns of a table, under their names, and its unit."""
        base = self.bases[table.name]
        columns = {name: self._column(table, name) for name in wanted}
        chosen = [f"{text} AS {quoted(name)}" for name, text in columns.items()]
        if table.public or not self.units and table.each_row:
            chosen = chosen or ["NULL AS c"]
            return self.writer.step("base", f"SELECT {', '.join(chosen)} FROM {base.source}")
        if table.each_row:
            return self._numbered(table)
        if table.parent is None:
            unit = self._column(table, str(table.unit), whole=True)
            chosen.insert(0, f"{unit} AS u")
            text = f"SELECT {', '.join(chosen)} FROM {base.source} WHERE {unit} IS NOT NULL"
            return self.writer.step("base", text)
        return self._child(table, chosen)

    def _numbered(self, table: Table) -> str:
        """Return a table with numbered rows: one step, so that a row has one number everywhere."""
        if table.name not in self.numbered:
            columns = {column.name: self._column(table, column.name) for column in table.columns}
            chosen = [f"{text} AS {quoted(name)}" for name, text in columns.items()]
            source = self.bases[table.name].source
            text = f"SELECT {', '.join(['row_number() OVER () AS u', *chosen])} FROM {source}"
            self.numbered[table.name] = self.writer.step("base", text, keep=True)
        return self.numbered[table.name]

    def _child(self, table: Table, chosen: list[str]) -> str:
        """Return the rows of a table with the units of their parents' rows."""
        key = table.parent
        parent = self._table(key.parent) if key else None
        if key is None or parent is None:
            raise ValueError(f"table {table.name!r} leads to no unit")
        via = self._column(table, key.column, whole=True)
        chosen = [f"{via} AS via", *chosen]
        rows = f"SELECT {', '.join(chosen)} FROM {self.bases[table.name].source}"
        above = self._parent(parent, key.parent_column)
        text = f"SELECT p.u, t.* FROM ({rows}) AS t JOIN {above} AS p ON t.via = p.via"
        return self.writer.step("base", text)

    def _parent(self, parent: Table, column: str) -> str:
        """Return the units of a parent by the value that foreign keys have."""
        via = self._column(parent, column, whole=True)
        inner = self.base(parent, [column]) if parent.parent or parent.each_row else None
        if inner is not None:
            via = quoted(column)
            text = f"SELECT u, {via} AS via FROM {inner} WHERE {via} IS NOT NULL"
        else:
            unit = self._column(parent, str(parent.unit), whole=True)
            text = (
                f"SELECT {unit} AS u, {via} AS via FROM {self.bases[parent.name].source} "
                f"WHERE {unit} IS NOT NULL AND {via} IS NOT NULL"
            )
        return self.writer.step("parent", text)

    def _column(self, table: Table, name: str, *, whole: bool = False) -> str:
        column = table.column(name)
        if column is None:
            raise ValueError(f"table {table.name!r} has no column {name!r}")
        held = self.bases[table.name].held[column.name]
        return normal(self.writer, column.name, column.type, held, whole=whole)

    def _table(self, name: str) -> Table:
        table = self.catalog.table(name)
        if table is None:
            raise ValueError(f"there is no table {name!r}")
        return table

    # Steps on rows. ----------------------------------------------------------------------------

    def _unit(self, prefix: str = "") -> list[str]:
        return [f"{prefix}u"] if self.units else []

    def scope(self, relation: Relation) -> Scope:
        """Return where scalars on a relation are written."""
        return Scope(self.writer, relation.columns)

    def _where(self, where: Where) -> Relation:
        below = self.rows(where.rows)
        scope = self.scope(below)
        condition = scope.scalar(where.condition).text
        chosen = ", ".join([*self._unit(), *below.columns.values()]) or "NULL AS c"
        text = f"SELECT {chosen} FROM {scope.source(below.step)} WHERE {condition}"
        return Relation(self.writer.step("some", text), below.columns)

    def _derive(self, derive: Derive) -> Relation:
        below = self.rows(derive.rows)
        scope = self.scope(below)
        made = [
            (field, scope.into(scope.raw(scalar), field.type)) for field, scalar in derive.fields
        ]
        columns = {field.name: self.writer.column(field.name) for field, _ in made}
        chosen = [f"{term.text} AS {columns[field.name]}" for field, term in made]
        chosen = [*self._unit(), *chosen] or ["NULL AS c"]
        text = f"SELECT {', '.join(chosen)} FROM {scope.source(below.step)}"
        return Relation(self.writer.step("derived", text), columns)

    def _join_public(self, join: JoinPublic) -> Relation:
        below = self.rows(join.rows)
        table = self._table(join.table)
        if not table.public:
            raise ValueError(f"table {table.name!r} is not public")
        names = dict.fromkeys([column for _, column in (*join.fields, *join.on)])
        public = self.base(table, names)
        scope = self.scope(below)
        sides = [self._sides(scope, table, scalar, column) for scalar, column in join.on]
        keys = [f"{left} AS j{i}" for i, (left, _) in enumerate(sides)]
        chosen = ", ".join([*self._unit(), *below.columns.values(), *keys])
        left = f"(SELECT {chosen} FROM {scope.source(below.step)}) AS l"
        on = " AND ".join(f"l.j{i} = {right}" for i, (_, right) in enumerate(sides))
        added = {field.name: self.writer.column(field.name) for field, _ in join.fields}
        taken = [f"r.{quoted(column)} AS {added[field.name]}" for field, column in join.fields]
        chosen = (
            ", ".join([*self._unit("l."), *(f"l.{c}" for c in below.columns.values()), *taken])
            or "NULL AS c"
        )
        how = "LEFT JOIN" if join.outer else "JOIN"
        text = f"SELECT {chosen} FROM {left} {how} {public} AS r ON {on}"
        return Relation(self.writer.step("joined", text), {**below.columns, **added})

    def _sides(self, scope: Scope, table: Table, scalar: Scalar, name: str) -> tuple[str, str]:
        """Return both sides of an equality in one type, so that nothing is converted unasked."""
        column = table.column(name)
        if column is None:
            raise ValueError(f"table {table.name!r} has no column {name!r}")
        left, right = scope.scalar(scalar), Term(f"r.{quoted(column.name)}", column.type)
        kind = _common(left.type, right.type)
        return scope.into(left, kind).text, scope.into(right, kind).text

    def _join_unit(self, join: JoinUnit) -> Relation:
        left, right = self.rows(join.rows), self.rows(join.other)
        scopes = self.scope(left), self.scope(right)
        pairs = [(scopes[0].scalar(a), scopes[1].scalar(b)) for a, b in join.on]
        kinds = [_common(a.type, b.type) for a, b in pairs]
        sides = []
        for place, (side, scope) in enumerate(zip((left, right), scopes, strict=True)):
            keys = [scope.into(pair[place], kind) for pair, kind in zip(pairs, kinds, strict=True)]
            named = [f"{key.text} AS j{i}" for i, key in enumerate(keys)]
            chosen = ", ".join(["u", *side.columns.values(), *named])
            sides.append(f"(SELECT {chosen} FROM {scope.source(side.step)})")
        on = " AND ".join(["l.u = r.u", *(f"l.j{i} = r.j{i}" for i in range(len(pairs)))])
        chosen = ", ".join(
            [
                "l.u",
                *(f"l.{c}" for c in left.columns.values()),
                *(f"r.{c}" for c in right.columns.values()),
            ]
        )
        how = "LEFT JOIN" if join.outer else "JOIN"
        text = f"SELECT {chosen} FROM {sides[0]} AS l {how} {sides[1]} AS r ON {on}"
        return Relation(self.writer.step("joined", text), {**left.columns, **right.columns})

    # What is computed for each unit. --------------------------------------------------------------

    def _per_unit(self, rows: PerUnit) -> Relation:
        below = self.rows(rows.rows)
        scope = self.scope(below)
        columns = {field.name: self.writer.column(field.name) for field, _ in rows.fields}
        chosen = [
            f"{self._measure(scope, measure, field, '')} AS {columns[field.name]}"
            for field, measure in rows.fields
        ]
        text = f"SELECT {', '.join(['u', *chosen])} FROM {scope.source(below.step)} GROUP BY u"
        return Relation(self.writer.step("units", text), columns)

    def _window(self, rows: Window) -> Relation:
        below = self.rows(rows.rows)
        scope = self.scope(below)
        added = {field.name: self.writer.column(field.name) for field, _ in rows.fields}
        chosen = [
            f"{self._measure(scope, measure, field, ' OVER (PARTITION BY u)')} "
            f"AS {added[field.name]}"
            for field, measure in rows.fields
        ]
        every = ", ".join(["u", *below.columns.values(), *chosen])
        text = f"SELECT {every} FROM {scope.source(below.step)}"
        return Relation(self.writer.step("windowed", text), {**below.columns, **added})

    def _measure(self, scope: Scope, measure: UnitMeasure, field: Field, over: str) -> str:
        """Return an aggregate over the rows of a unit; sums are of whole numbers, and exact."""
        if measure.argument is None:
            return self.writer.as_type(f"count(*){over}", field.type)
        term = scope.scalar(measure.argument)
        match measure.kind:
            case UnitKind.COUNT:
                return self.writer.as_type(f"count({term.text}){over}", field.type)
            case UnitKind.MIN | UnitKind.MAX:
                return self.writer.as_type(f"{measure.kind}({term.text}){over}", field.type)
            case UnitKind.SUM | UnitKind.AVG:
                step, value = self._steps(scope, term, measure.range)
                total = self.writer.as_type(f"sum({value}){over}", Type.REAL)
                if measure.kind is UnitKind.AVG:
                    total = f"({total} / NULLIF(count({value}){over}, 0))"
                size = self.writer.value(step, Type.REAL)
                return self.writer.as_type(f"({total} * {size})", field.type)
        assert_never(measure.kind)

    def _steps(self, scope: Scope, term: Term, public: Range | None) -> tuple[float, str]:
        """Return a public step, and a value clamped to its range as a whole number of steps."""
        if public is None:
            raise ValueError("a sum over the rows of a unit needs a range")
        exponent = unit_exponent(public, whole=term.type is Type.INTEGER)
        size = Fraction(2) ** exponent
        low, high = math.ceil(public.low / size), math.floor(public.high / size)
        return 2.0**exponent, whole_steps(scope, term, low, high, exponent)


def unit_exponent(public: Range, *, whole: bool) -> int:
    """Return the power of two in whose steps values of one unit are added up.

    Whole numbers stay exact where 52 bits hold the range.
    """
    size = max(abs(public.low), abs(public.high))
    bits = size.numerator.bit_length() - size.denominator.bit_length() + 1
    if whole and bits <= _SUM_BITS and public.low.denominator == public.high.denominator == 1:
        return 0
    return min(max(bits - _SUM_BITS, -900), 900)


def whole_steps(scope: Scope, term: Term, low: int, high: int, exponent: int) -> str:
    """Return a clean number in steps of 2 ** exponent, rounded, and clamped to whole numbers.

    Clamping comes before rounding here, which gives the same since both ends are whole; so what is
    rounded always fits. A missing number stays missing.
    """
    writer = scope.writer
    if term.type is Type.INTEGER and exponent == 0:
        value, ends = scope.once(term).text, (writer.integer(low), writer.integer(high))
        return _clamped(value, *ends, value)
    number = scope.real(term)
    if exponent:
        step = writer.value(2.0**exponent, Type.REAL)
        number = Term(f"({number.text} / {step})", Type.REAL)
    value = scope.once(number).text
    ends = (writer.value(float(low), Type.REAL), writer.value(float(high), Type.REAL))
    rounded = writer.dialect.round.format(_clamped(value, *ends, value))
    return writer.as_type(rounded, Type.INTEGER)


def _clamped(value: str, low: str, high: str, otherwise: str) -> str:
    return (
        f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} "
        f"ELSE {otherwise} END"
    )


def _common(left: Type, right: Type) -> Type:
    if left is right:
        return left
    kinds = {left, right}
    if kinds <= {Type.INTEGER, Type.REAL, Type.BOOLEAN}:
        return Type.REAL
    return Type.TIMESTAMP if kinds == {Type.DATE, Type.TIMESTAMP} else Type.TEXT


def needs_units(rows: Rows) -> bool:
    """Tell whether some step on rows looks at the unit."""
    match rows:
        case Scan():
            return False
        case JoinUnit() | PerUnit() | Window():
            return True
        case Where() | Derive() | JoinPublic():
            return needs_units(rows.rows)
    assert_never(rows)


def is_costly(rows: Rows) -> bool:
    """Tell whether rows are worth keeping where they are needed more than once."""
    match rows:
        case Scan():
            return False
        case Where() | Derive():
            return is_costly(rows.rows)
        case JoinPublic() | JoinUnit() | PerUnit() | Window():
            return True
    assert_never(rows)
