# SPDX-License-Identifier: Apache-2.0
"""Private rows as steps of a statement, and how much each of them counts, as whole numbers.

The unit of every row goes with it, in a column ``u``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, assert_never

from sordino.catalog.model import Catalog, Column, Table
from sordino.engine.compile.dialect import (
    NEAR,
    Scope,
    Term,
    Writer,
    clamped,
    common,
    inner,
    kept_between,
    quoted,
    select,
)
from sordino.errors import Unsupported
from sordino.plan.bound import is_cut
from sordino.plan.plan import JOIN_ROWS, Shares
from sordino.query.tree import (
    Derive,
    JoinPublic,
    JoinUnit,
    PerUnit,
    Rows,
    Scan,
    UnitKind,
    UnitMeasure,
    Where,
    Window,
)
from sordino.query.types import Range, Type

_SAFE = 2**62
_FEW = 1_000  # groups of a unit up to which the last one to keep is sought before they are counted


@dataclass(frozen=True, slots=True)
class Weights:
    """A step with one row for each unit, or with ``by_group`` for each kept group of a unit.

    It has the number n of its rows, and with ``by_group`` m as well, which is N of ``Shares``.
    """

    step: str
    by_group: bool


def by_unit(writer: Writer, rows: str, sums: Mapping[str, str]) -> Weights:
    """Count the rows of each unit; ``sums`` are aggregates beside, by the names that they get."""
    made = [f"{text} AS {name}" for name, text in sums.items()]
    text = select(["u", "count(*) AS n", *made], rows, by=["u"])
    return Weights(writer.step("counted", text, keep=True), by_group=False)


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of units: the columns that make one, and how many of a unit are kept.

    ``least`` is what a group counts for in m. ``sums`` are aggregates to compute for each group, by
    the names that they get. ``unit`` is empty where every row is a unit: it has no id to be hashed.
    """

    writer: Writer
    rows: str
    columns: tuple[str, ...]
    most: int | None
    least: str
    sums: Mapping[str, str]
    unit: tuple[str, ...]

    def weights(self) -> Weights:
        """Return the kept groups with their counts."""
        if self.most is None:
            text = self._with_total(self.writer.step("pairs", self._pairs(self.rows), keep=True))
        elif self.writer.dialect.nth_least is None or self.most > _FEW:
            text = self._ranked(
                inner(select(["*", f"{self._hash()} AS h"], inner(self._pairs(self.rows))))
            )
        else:
            text = self._cut(self.writer.dialect.nth_least)
        return Weights(self.writer.step("counted", text), by_group=True)

    def _pairs(self, rows: str, *, hashed: bool = False) -> str:
        """Return each unit and group with the number of its rows."""
        made = [f"{text} AS {name}" for name, text in self.sums.items()]
        by = ["u", *self.columns]
        if hashed and self.writer.dialect.by_pairs:  # in the order in which they are ranked
            by.insert(1, "h")
        elif hashed:
            made.append("min(h) AS h")
        return select([*by, "count(*) AS n", *made], rows, by=by)

    def _hash(self) -> str:
        texts = ", ".join([self.writer.salt(), *self.unit, *self.columns])
        return self.writer.dialect.hash.format(texts)

    def _hashed(self) -> str:
        return self.writer.step("hashed", select(["*", f"{self._hash()} AS h"], self.rows))

    def _cut(self, nth_least: str) -> str:
        """Leave most groups out before they are counted: those after the last one that is kept."""
        rows, most = self._hashed(), self.writer.integer(self.most or 0)
        places = inner(select(["u", "h"], rows, distinct=True))
        last = f"{nth_least.format('h', most)} AS last"
        ends = self.writer.step("ends", select(["u", last], places, by=["u"]))
        near = inner(select(["c.*"], f"{rows} AS c JOIN {ends} AS a ON c.u = a.u AND h <= last"))
        pairs = self.writer.step("pairs", self._pairs(near, hashed=True), keep=True)
        many = select(["u"], pairs, by=["u"], having=[f"count(*) > {most}"])
        tied = self.writer.step("tied", many, keep=True)  # two groups with one hash, if ever
        units = inner(select(["u"], tied))
        few = inner(select(["*"], pairs, where=[f"u NOT IN {units}"]))
        rest = inner(select(["*"], pairs, where=[f"u IN {units}"]))
        return f"{self._with_total(few)}\nUNION ALL\n{self._ranked(rest)}"

    def _names(self) -> list[str]:
        return ["u", *self.columns, "n", *self.sums]

    def _with_total(self, pairs: str) -> str:
        if not self.columns:  # all rows of a unit are in one group
            return select([*self._names(), f"{self.writer.whole(self.least)} AS m"], pairs)
        total = self.writer.whole(f"sum({self.least}) OVER (PARTITION BY u)")
        return select([*self._names(), f"{total} AS m"], pairs)

    def _ranked(self, pairs: str) -> str:
        """Return the first groups of each unit by hash, and by key where hashes tie."""
        order = ", ".join(["h", *self.columns])
        place = f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
        ranked = inner(select([*self._names(), place], pairs))
        kept = select(["*"], ranked, where=[f"place <= {self.writer.integer(self.most or 0)}"])
        return self._with_total(inner(kept))


def least_rows(writer: Writer, shares: Shares) -> str:
    """Return how many whole rows a group of a unit counts for after step 3."""
    limit = shares.rows_per_group
    return "n" if limit is None else f"LEAST(n, {writer.integer(limit)})"


def weight(writer: Writer, weights: Weights, shares: Shares, steps: int) -> str:
    """Return what a row weighs: floor(steps * share), by whole divisions.

    floor(floor(x / a) / b) is floor(x / (a * b)), so nothing is lost by dividing twice.
    """
    limit, rows = shares.rows_per_group, writer.integer(shares.rows)
    if steps * shares.rows * (limit or 1) >= _SAFE:
        raise ValueError("limits this large cannot be weighed in 64 bits")
    divide = writer.dialect.whole_division.format
    least = least_rows(writer, shares)
    total = "m" if weights.by_group else least
    whole, most = writer.integer(steps), writer.integer(steps * shares.rows)
    if limit is not None:
        whole = divide(f"({whole} * {least})", "n")
        most = divide(f"({most} * {least})", "n")
    return f"CASE WHEN {total} <= {rows} THEN {whole} ELSE {divide(most, total)} END"


def crowded(writer: Writer, rows: str, keys: tuple[str, ...], shares: Shares) -> str:
    """Return how many units have more rows, or more groups, than count in full."""
    pairs = inner(select(["u", "count(*) AS n"], rows, by=["u", *keys]))
    tests = [f"sum({least_rows(writer, shares)}) > {writer.integer(shares.rows)}"]
    if shares.groups is not None and keys:
        tests.append(f"count(*) > {writer.integer(shares.groups)}")
    if shares.rows_per_group is not None:
        tests.append(f"max(n) > {writer.integer(shares.rows_per_group)}")
    units = inner(select(["u"], pairs, by=["u"], having=[" OR ".join(tests)]))
    return select(["count(*) AS s0"], units)


# Rows. --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Relation:
    """A step that gives rows: its name, and the columns of its fields by name.

    ``raw`` are columns in which text of some fields stands as its source has it.
    """

    step: str
    columns: Mapping[str, str]
    raw: Mapping[str, str] = field(default_factory=dict)


class Base(Protocol):
    """Where a table is read from, and how each of its columns becomes a value of its type."""

    @property
    def source(self) -> str:
        """SQL that stands after FROM; made by the engine."""
        ...

    def value(self, writer: Writer, column: Column, *, whole: bool) -> str:
        """Return a column in its declared type, or missing where it does not fit; it never fails.

        With ``whole`` text stays as it is: two ids must not become one because they begin alike.
        """
        ...

    def is_raw(self, column: Column) -> bool:
        """Tell whether a column is text that is cut if it is too long, and may be cut later."""
        ...


def id_columns(catalog: Catalog, table: Table) -> frozenset[str]:
    """Return the columns of a table that are ids: its unit, its foreign key, and what others use.

    Two ids that become one would make two people one unit, so they are read by a stricter rule.
    """
    names = set() if table.unit is None or table.each_row else {table.unit}
    if table.parent is not None:
        names.add(table.parent.column)
    for other in catalog.tables:
        if other.parent is not None and other.parent.parent == table.name:
            names.add(other.parent.parent_column)
    return frozenset(names)


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a catalog. With ``units``, rows of private tables carry their unit.

    With ``split`` only rows of the units of one pass are there.
    """

    writer: Writer
    catalog: Catalog
    bases: Mapping[str, Base]
    units: bool
    split: bool = False
    numbered: dict[str, str] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        """Return a table that is declared."""
        table = self.catalog.table(name)
        if table is None:
            raise ValueError(f"there is no table {name!r}")
        return table

    def inner_name(self, table: Table, name: str) -> str:
        """Return what a column is called in steps; names of the catalog could be taken for ours."""
        return f"d{table.columns.index(self._declared(table, name))}"

    def column_type(self, table: Table, name: str) -> Type:
        """Return the declared type of a column."""
        return self._declared(table, name).type

    def is_raw(self, table: Table, name: str) -> bool:
        """Tell whether a column is text that is cut if it is too long, and may be cut later."""
        return self.bases[table.name].is_raw(self._declared(table, name))

    def base(
        self,
        table: Table,
        wanted: Iterable[tuple[str, str]],
        raw: Iterable[tuple[str, str]] = (),
    ) -> str:
        """Return a step with wanted columns, each under a given name, and the unit as ``u``.

        ``raw`` are columns as the source has them, for tables without units in their rows.
        """
        pairs = list(wanted)
        source = self.bases[table.name].source
        chosen = [f"{self._column(table, column)} AS {name}" for name, column in pairs]
        chosen += [f"{quoted(column)} AS {name}" for name, column in raw]
        if table.public or (table.each_row and not self.units):
            return self.writer.step("base", select(chosen, source))
        if table.each_row:
            named = [f"{self.inner_name(table, column)} AS {name}" for name, column in pairs]
            return self.writer.step("base", select(["u", *named], self._numbered(table)))
        if table.parent is not None:
            return self._child(table, chosen, [name for name, _ in pairs])
        unit = self._column(table, str(table.unit), whole=True)
        text = select([f"{unit} AS u", *chosen], source, where=[f"{unit} IS NOT NULL"])
        return self.writer.step("base", self._of_pass(text))

    def _of_pass(self, text: str) -> str:
        """Return a SELECT with a column u, of the units of one pass if there are several."""
        if not self.split:
            return text
        return select(["*"], inner(text), where=[self.writer.of_pass("u")])

    def _numbered(self, table: Table) -> str:
        """Return a table with numbered rows: one step, so that a row has one number everywhere."""
        number = self.writer.dialect.numbered
        if number is None:
            raise Unsupported(
                "construct",
                f"rows of table {table.name!r} are units and have no id, and here the engine would "
                "need one for this question; nothing was charged for it",
                hint="declare a column as the unit that has another value in every row",
            )
        if table.name not in self.numbered:
            chosen = [
                f"{self._column(table, column.name)} AS {self.inner_name(table, column.name)}"
                for column in table.columns
            ]
            text = select([f"{number} AS u", *chosen], self.bases[table.name].source)
            self.numbered[table.name] = self.writer.step("numbered", text, keep=True)
        return self.numbered[table.name]

    def _child(self, table: Table, chosen: list[str], names: list[str]) -> str:
        """Return rows with the units of their parents' rows; without a parent they are nobody's."""
        key = table.parent
        if key is None:
            raise ValueError(f"table {table.name!r} leads to no unit")
        via = f"{self._column(table, key.column, whole=True)} AS via"
        rows = inner(select([via, *chosen], self.bases[table.name].source))
        parents = self._units(self.table(key.parent), key.parent_column)
        source = f"{rows} AS t JOIN {inner(parents)} AS p ON t.via = p.via"
        text = select(["p.u", *(f"t.{name}" for name in names)], source)
        return self.writer.step("base", text)

    def _units(self, table: Table, column: str) -> str:
        """Return the units of a table by the value of a column, uncut like the unit itself.

        Each pair is there once, however many rows a unit has: a row below is one row for each unit.
        """
        if table.each_row:
            name = self.inner_name(table, column)
            return select(["u", f"{name} AS via"], self._numbered(table))
        via = self._column(table, column, whole=True)
        source = self.bases[table.name].source
        if table.parent is None:
            unit = self._column(table, str(table.unit), whole=True)
            there = [f"{unit} IS NOT NULL"]
            if via == unit:
                units = select([f"{unit} AS u"], source, where=there, distinct=True)
                return select(["u", "u AS via"], inner(self._of_pass(units)))
            there.append(f"{via} IS NOT NULL")
            chosen = [f"{unit} AS u", f"{via} AS via"]
            return self._of_pass(select(chosen, source, where=there, distinct=True))
        up = self._column(table, table.parent.column, whole=True)
        rows = inner(select([f"{up} AS up", f"{via} AS via"], source))
        above = inner(self._units(self.table(table.parent.parent), table.parent.parent_column))
        joined = f"{rows} AS t JOIN {above} AS p ON t.up = p.via"
        return select(["p.u", "t.via"], joined, where=["t.via IS NOT NULL"], distinct=True)

    def _declared(self, table: Table, name: str) -> Column:
        column = table.column(name)
        if column is None:
            raise ValueError(f"table {table.name!r} has no column {name!r}")
        return column

    def _column(self, table: Table, name: str, *, whole: bool = False) -> str:
        """Return a column in its declared type; ``whole`` is for ids.

        Ids that are no text are opaque: where a file says that they are smaller than they are, an
        engine could pack them in fewer bits, and make two of them one. Of text an opaque expression
        would take twice the time, and the engine is told to pack nothing.
        """
        column = self._declared(table, name)
        text = self.bases[table.name].value(self.writer, column, whole=whole)
        packed = whole and column.type is not Type.TEXT
        return self.writer.dialect.opaque.format(text) if packed else text


_SUM_BITS = 52  # of a value that is added up for one unit
_LARGEST = 53  # bits of what infinity becomes, where the range goes beyond all doubles
_PLAIN = 900  # the power of two below which any sum of steps is far from the largest double
_FINEST, _COARSEST = -1_074, 1_024 - _SUM_BITS  # the step of the smallest and largest doubles


def measure_text(scope: Scope, measure: UnitMeasure, kind: Type, *, over: str) -> str:
    """Return an aggregate over the rows of a unit; sums are of whole numbers, and exact.

    ``over`` is the window, or empty under GROUP BY.
    """
    writer = scope.writer
    if measure.argument is None:
        return writer.whole(f"count(*){over}")
    term = scope.scalar(measure.argument)
    match measure.kind:
        case UnitKind.COUNT:
            return writer.whole(f"count({term.text}){over}")
        case UnitKind.MIN | UnitKind.MAX:
            return writer.convert(f"{measure.kind}({term.text}){over}", term.type, kind)
        case UnitKind.SUM | UnitKind.AVG:
            size, value = _in_steps(scope, term, measure.range)
            total = writer.narrowed(writer.total(value, over=over), writer.dialect.types[Type.REAL])
            if measure.kind is UnitKind.AVG:
                total = f"({total} / NULLIF(count({value}){over}, 0))"
            step = writer.value(size, Type.REAL)
            product = f"({total} * {step})"
            if not 2.0**-_PLAIN < size < 2.0**_PLAIN:
                product = writer.dialect.mul.format(total, step)
            return product if kind is Type.REAL else writer.convert(product, Type.REAL, kind)
    assert_never(measure.kind)


def _in_steps(scope: Scope, term: Term, public: Range | None) -> tuple[float, str]:
    """Return a public step, and a value clamped to its range as a whole number of steps."""
    if public is None:
        raise ValueError("a sum over the rows of a unit needs a range")
    exponent = unit_exponent(public, whole=term.type is Type.INTEGER)
    size = Fraction(2) ** exponent
    low = max(math.ceil(public.low / size), -(2**_LARGEST))
    high = min(math.floor(public.high / size), 2**_LARGEST)
    return 2.0**exponent, whole_steps(scope, term, low, high, exponent)


def unit_exponent(public: Range, *, whole: bool) -> int:
    """Return the power of two in whose steps values of one unit are added up.

    Whole numbers stay exact where 52 bits hold the range.
    """
    size = max(abs(public.low), abs(public.high))
    bits = size.numerator.bit_length() - size.denominator.bit_length() + 1
    if whole and bits <= _SUM_BITS and public.low.denominator == public.high.denominator == 1:
        return 0
    return min(max(bits - _SUM_BITS, _FINEST), _COARSEST)


def whole_steps(
    scope: Scope,
    term: Term,
    low: int,
    high: int,
    exponent: int,
    *,
    alone: bool = False,
    added: bool = False,
) -> str:
    """Return a clean number in steps of 2 ** exponent, rounded, and clamped to whole numbers.

    Clamping comes before rounding here, which gives the same since both ends are whole; so what is
    rounded always fits. A missing number stays missing. ``alone`` if rows carry no unit, and
    ``added`` if their numbers are added up and nothing else: a missing one may then become 0.
    """
    writer = scope.writer
    near = alone and writer.dialect.takes_extremes and max(abs(low), abs(high)) <= NEAR
    if term.type is Type.INTEGER and exponent == 0:
        value = scope.once(term).text
        first, last = writer.integer(low), writer.integer(high)
        if near:
            return kept_between(value, first, last, missing=not (added and low == 0))
        return clamped(writer, value, first, last)
    number = scope.real(term)
    ends = (writer.value(float(low), Type.REAL), writer.value(float(high), Type.REAL))
    if writer.dialect.is_strict and _is_exact(low, high, exponent):
        inside = _within(scope, number, (low, high), exponent, ends)
    else:
        if exponent:
            step = Term(writer.value(2.0**exponent, Type.REAL), Type.REAL)
            number = Term(scope.arithmetic("div", number, step), Type.REAL)
        inside = clamped(writer, scope.once(number).text, *ends)
    if max(abs(low), abs(high)) <= _SAFE:
        return writer.whole(inside)  # to the nearest, ties to even
    return scope.convert(Term(inside, Type.REAL), Type.INTEGER)


def _is_exact(low: int, high: int, exponent: int) -> bool:
    """Tell whether steps are no larger than 1, and ends in steps are exact doubles as numbers."""
    return -_PLAIN < exponent <= 0 and max(abs(low), abs(high)) <= 2**_LARGEST


def _within(
    scope: Scope, number: Term, ends: tuple[int, int], exponent: int, steps: tuple[str, str]
) -> str:
    """Return a number in steps of 2 ** exponent, clamped before it is divided.

    Between the ends the quotient fits, and a step of at most 1 makes no number smaller.
    """
    writer, value = scope.writer, scope.once(number).text
    low, high = (writer.value(end * 2.0**exponent, Type.REAL) for end in ends)
    inside = value
    if exponent:
        inside = f"({value} / {writer.value(2.0**exponent, Type.REAL)})"
    return (
        f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {inside} "
        f"WHEN {value} < {low} THEN {steps[0]} WHEN {value} > {high} THEN {steps[1]} END"
    )


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


@dataclass(frozen=True, slots=True)
class Reader:
    """Turns rows into steps, the innermost first."""

    tables: Tables

    def rows(self, rows: Rows) -> Relation:
        """Return a step that gives the rows."""
        turn: dict[type, Callable[..., Relation]] = {
            Scan: self._scan,
            Where: self._where,
            Derive: self._derive,
            JoinPublic: self._join_public,
            JoinUnit: self._join_unit,
            PerUnit: self._per_unit,
            Window: self._window,
        }
        return turn[type(rows)](rows)

    def scope(self, relation: Relation) -> Scope:
        """Return where scalars on a relation are written."""
        return Scope(self.tables.writer, relation.columns)

    def _unit(self, prefix: str = "") -> list[str]:
        return [f"{prefix}u"] if self.tables.units else []

    def _step(self, name: str, text: str) -> str:
        return self.tables.writer.step(name, text)

    def _scan(self, scan: Scan) -> Relation:
        tables = self.tables
        columns = {made.name: tables.writer.column(made.name) for made, _ in scan.fields}
        wanted = [(columns[made.name], column) for made, column in scan.fields]
        table = tables.table(scan.table)
        raw: dict[str, str] = {}
        if not tables.units:  # with units, counting rows by unit takes longer than cutting text
            raw = {
                made.name: f"r_{columns[made.name]}"
                for made, column in scan.fields
                if tables.is_raw(table, column)
            }
        unread = [(raw[made.name], column) for made, column in scan.fields if made.name in raw]
        return Relation(tables.base(table, wanted, unread), columns, raw)

    def _where(self, where: Where) -> Relation:
        below = self.rows(where.rows)
        scope = self.scope(below)
        condition = scope.scalar(where.condition).text
        chosen = [*self._unit(), *below.columns.values(), *below.raw.values()]
        text = select(chosen, scope.source(below.step), where=[condition])
        return Relation(self._step("some", text), below.columns, below.raw)

    def _derive(self, derive: Derive) -> Relation:
        below = self.rows(derive.rows)
        scope, columns, chosen = self.scope(below), {}, self._unit()
        for made, scalar in derive.fields:
            columns[made.name] = self.tables.writer.column(made.name)
            chosen.append(
                f"{scope.into(scope.raw(scalar), made.type).text} AS {columns[made.name]}"
            )
        text = select(chosen, scope.source(below.step))
        return Relation(self._step("derived", text), columns)

    # Joins. ----------------------------------------------------------------------------------

    def _join_public(self, join: JoinPublic) -> Relation:
        below, tables = self.rows(join.rows), self.tables
        table = tables.table(join.table)
        if not table.public:
            raise ValueError(f"table {table.name!r} is not public")
        columns = {made.name: tables.writer.column(made.name) for made, _ in join.fields}
        names = {name: tables.inner_name(table, name) for _, name in (*join.fields, *join.on)}
        public = tables.base(table, [(inside, name) for name, inside in names.items()])
        left, right, keys = self.scope(below), self.scope(Relation(public, {})), []
        for scalar, name in join.on:
            there = left.scalar(scalar)
            other = Term(names[name], tables.column_type(table, name))
            kind = common(there.type, other.type)
            keys.append((left.into(there, kind).text, right.into(other, kind).text))
        taken = [f"{names[column]} AS {columns[made.name]}" for made, column in join.fields]
        return self._joined(
            (below.step, left, [*self._unit(), *below.columns.values()]),
            (public, right, taken),
            keys,
            outer=join.outer,
            columns={**below.columns, **columns},
        )

    def _join_unit(self, join: JoinUnit) -> Relation:
        one, two = self.rows(join.rows), self.rows(join.other)
        catalog = self.tables.catalog
        if is_cut(join, catalog):
            one = self._first_rows(one)
            if not join.outer:  # else a row that was cut off would pass for one without a match
                two = self._first_rows(two)
        left, right, keys = self.scope(one), self.scope(two), [("u", "u")]
        for here, there in join.on:
            a, b = left.scalar(here), right.scalar(there)
            kind = common(a.type, b.type)
            keys.append((left.into(a, kind).text, right.into(b, kind).text))
        return self._joined(
            (one.step, left, ["u", *one.columns.values()]),
            (two.step, right, list(two.columns.values())),
            keys,
            outer=join.outer,
            columns={**one.columns, **two.columns},
        )

    def _first_rows(self, side: Relation) -> Relation:
        """Return at most ``JOIN_ROWS`` rows of each unit, the first by a salted hash.

        The rest of the order is by all columns: rows that tie are the same, and any will do.
        """
        writer, columns = self.tables.writer, list(side.columns.values())
        h = writer.dialect.hash.format(", ".join([writer.salt(), *columns]))
        order = ", ".join([h, *columns])
        place = f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
        ranked = inner(select(["u", *columns, place], side.step))
        near = [f"place <= {writer.integer(JOIN_ROWS)}"]
        text = select(["u", *columns], ranked, where=near)
        return Relation(self._step("first", text), side.columns)

    def _joined(
        self,
        one: tuple[str, Scope, list[str]],
        two: tuple[str, Scope, list[str]],
        keys: list[tuple[str, str]],
        *,
        outer: bool,
        columns: dict[str, str],
    ) -> Relation:
        """Join two sides, each with columns of its own and with keys of one type."""
        sides = []
        for place, (step, scope, chosen) in enumerate((one, two)):
            named = [f"{key[place]} AS j{number}" for number, key in enumerate(keys)]
            sides.append(inner(select([*chosen, *named], scope.source(step))))
        on = " AND ".join(f"l.j{number} = r.j{number}" for number in range(len(keys)))
        how = "LEFT JOIN" if outer else "JOIN"
        chosen = [*self._unit("l."), *columns.values()]
        text = select(chosen, f"{sides[0]} AS l {how} {sides[1]} AS r ON {on}")
        return Relation(self._step("joined", text), columns)

    # What is computed for each unit. -----------------------------------------------------------

    def _per_unit(self, rows: PerUnit) -> Relation:
        below = self.rows(rows.rows)
        scope, columns, chosen = self.scope(below), {}, ["u"]
        for made, measure in rows.fields:
            columns[made.name] = self.tables.writer.column(made.name)
            text = measure_text(scope, measure, made.type, over="")
            chosen.append(f"{text} AS {columns[made.name]}")
        text = select(chosen, scope.source(below.step), by=["u"])
        return Relation(self._step("units", text), columns)

    def _window(self, rows: Window) -> Relation:
        below = self.rows(rows.rows)
        scope, columns = self.scope(below), dict(below.columns)
        chosen = ["u", *below.columns.values()]
        for made, measure in rows.fields:
            columns[made.name] = self.tables.writer.column(made.name)
            text = measure_text(scope, measure, made.type, over=" OVER (PARTITION BY u)")
            chosen.append(f"{text} AS {columns[made.name]}")
        text = select(chosen, scope.source(below.step))
        return Relation(self._step("windowed", text), columns)


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
