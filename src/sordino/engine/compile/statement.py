# SPDX-License-Identifier: Apache-2.0
"""A bounded question as one statement with bound values.

The text depends on the question and the catalog alone. Identifiers are our own and those of the
catalog, quoted; every literal is bound. Whole numbers that the plan computed stand as digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from sordino.catalog.model import Catalog
from sordino.engine.compile.dialect import (
    NEAR,
    PASS,
    PASSES,
    SALT,
    Bound,
    Dialect,
    Scope,
    Term,
    Writer,
    inner,
    select,
    short_text,
)
from sordino.engine.compile.rows import (
    Base,
    Groups,
    Reader,
    Relation,
    Tables,
    Weights,
    by_unit,
    crowded,
    is_costly,
    least_rows,
    needs_units,
    weight,
    whole_steps,
)
from sordino.plan.plan import (
    Bounded,
    Cells,
    Crowded,
    Distinct,
    Part,
    Ranks,
    RowCount,
    Shares,
    Statistic,
    Total,
    UnitCount,
    Votes,
)
from sordino.query.tree import Field, Key, Rows, Scan
from sordino.query.types import Type

_SAFE = 2**62

# Rows with their keys and with the arguments of all parts. ---------------------------------------


@dataclass(frozen=True, slots=True)
class Keyed:
    """A step with columns u (if rows carry units), k0, k1, ... and prepared arguments p0, p1, ...

    ``prepared`` says which column belongs to a part or statistic. ``listed`` are conditions on keys
    that hold for groups on the public lists, if they have not been applied. ``late`` has for each
    key a column of its raw value, and how the key is made from it: rows may be grouped by the first
    and the few groups by the second.
    """

    step: str
    keys: tuple[str, ...]
    prepared: dict[Part | Statistic, str]
    listed: tuple[str, ...] = ()
    late: tuple[tuple[str, str], ...] = ()


def keyed(reader: Reader, rows: Relation, bounded: Bounded, *, keep: bool) -> Keyed:
    """Return rows with keys and prepared arguments.

    Where no row is weighed, groups that are not on the public lists are left to be dropped later.
    """
    writer, scope = reader.tables.writer, reader.scope(rows)
    units = ["u"] if reader.tables.units else []
    keys = [f"k{place}" for place in range(len(bounded.keys))]
    values = [_value(scope, key) for key in bounded.keys]
    columns: dict[str, str] = {}
    prepared: dict[Part | Statistic, str] = {}
    for owner in _owners(bounded.parts):
        text = _prepared(scope, owner, alone=not reader.tables.units)
        if text is not None:
            small = writer.dialect.small
            if small is not None and isinstance(owner, Total) and _is_small(owner, bounded.shares):
                text = writer.narrowed(text, small)
            prepared[owner] = columns.setdefault(text, f"p{len(columns)}")
    named = [f"{text} AS {name}" for text, name in columns.items()]
    chosen = [*units, *(f"{value} AS {k}" for value, k in zip(values, keys, strict=True)), *named]
    late: list[tuple[str, str]] = []
    if bounded.shares.alone and not keep:
        for key, value, k in zip(bounded.keys, values, keys, strict=True):
            raw = rows.raw.get(key.scalar.name) if isinstance(key.scalar, Field) else None
            chosen.append(f"{raw or value} AS r_{k}")
            late.append((f"r_{k}", _short(writer, f"r_{k}") if raw else f"r_{k}"))
    text = select(chosen, scope.source(rows.step))
    if any(key.other is not None for key in bounded.keys):
        mapped = [_mapped(writer, key, k) for key, k in zip(bounded.keys, keys, strict=True)]
        text = select([*units, *mapped, *columns.values(), *(r for r, _ in late)], inner(text))
    listed = tuple(
        _test(writer, key, k)
        for key, k in zip(bounded.keys, keys, strict=True)
        if key.domain is not None and key.other is None
    )
    if listed and not bounded.shares.alone:
        text, listed = select(["*"], inner(text), where=listed), ()
    step = writer.step("keyed", text, keep=keep)
    return Keyed(step, tuple(keys), prepared, listed, tuple(late))


_SMALL = 2**26  # sums of 2 ** 37 rows of this size are still of 64 bits
_LARGE = 2**62  # and so are weighed sums of a unit and group below this


def _is_small(total: Total, shares: Shares) -> bool:
    """Tell whether sums of a total fit into 64 bits, also when they are weighed."""
    size = max(abs(total.low - total.offset), abs(total.high - total.offset))
    most: int = size**total.power
    return most <= _SMALL and most * shares.steps * shares.rows < _LARGE


def _short(writer: Writer, column: str) -> str:
    """Return text as its source has it, cut and compared byte by byte."""
    return short_text(writer, writer.dialect.bytewise.format(column))


def mapped_keys(writer: Writer, bounded: Bounded) -> list[str]:
    """Return the keys, those that are not on their list as ``other`` where there is one."""
    return [_mapped(writer, key, f"k{place}") for place, key in enumerate(bounded.keys)]


def _value(scope: Scope, key: Key) -> str:
    if key.bins is None:
        return scope.scalar(key.scalar).text
    writer, bins = scope.writer, key.bins
    value = scope.once(scope.real(scope.scalar(key.scalar)))
    low, high, count = float(bins.range.low), float(bins.range.high), float(bins.count)
    first, last = writer.value(low, Type.REAL), writer.value(high, Type.REAL)
    inside, start, width = value, low, high - low
    if math.isinf(width * count):  # all of it smaller by a power of two, which changes no bin
        shrink = 2.0 ** -(2 + bins.count.bit_length())
        smaller = scope.arithmetic("mul", value, _real(writer, shrink))
        inside = Term(smaller, Type.REAL)
        start, width = low * shrink, high * shrink - low * shrink
    from_start = Term(scope.arithmetic("sub", inside, _real(writer, start)), Type.REAL)
    times = Term(scope.arithmetic("mul", from_start, _real(writer, count)), Type.REAL)
    bins_passed = Term(scope.arithmetic("div", times, _real(writer, width)), Type.REAL)
    floor = Term(scope.function("floor", bins_passed.text), Type.REAL)
    place = scope.convert(floor, Type.INTEGER)
    tested = writer.dialect.opaque.format(value.text)  # whatever a file says of its values
    return (
        f"CASE WHEN {tested} BETWEEN {first} AND {last} "
        f"THEN LEAST({place}, {writer.value(bins.count - 1, Type.INTEGER)}) END"
    )


def _real(writer: Writer, value: float) -> Term:
    return Term(writer.value(value, Type.REAL), Type.REAL)


def _test(writer: Writer, key: Key, column: str) -> str:
    """Return whether a key is on its public list."""
    domain = key.domain or ()
    there = [value for value in domain if value is not None]
    test = writer.among(column, there, key.type)
    return f"({test} OR {column} IS NULL)" if len(there) < len(domain) else f"({test})"


def _mapped(writer: Writer, key: Key, column: str) -> str:
    if key.domain is None or key.other is None:
        return column
    test, other = _test(writer, key, column), writer.value(key.other, key.type)
    return f"CASE WHEN {test} THEN {column} ELSE {other} END AS {column}"


def _owners(parts: tuple[Part, ...]) -> list[Part | Statistic]:
    owners: list[Part | Statistic] = []
    for part in parts:
        owners += part.statistics if isinstance(part, Cells) else [part]
    return owners


def _prepared(scope: Scope, owner: Part | Statistic, *, alone: bool) -> str | None:
    match owner:
        case RowCount(argument=None) | UnitCount() | Crowded() | Cells():
            return None
        case RowCount(argument=argument):
            return None if argument is None else f"({scope.scalar(argument).text} IS NOT NULL)"
        case Total():
            return _total(scope, owner, alone=alone)
        case Distinct(argument=argument) | Votes(argument=argument):
            return scope.scalar(argument).text
        case Ranks():
            return _bucket(scope, owner)
    assert_never(owner)


def _total(scope: Scope, total: Total, *, alone: bool) -> str:
    argument = scope.scalar(total.argument)
    alone = alone and total.power == 1
    added = alone and not total.offset
    steps = whole_steps(
        scope, argument, total.low, total.high, total.exponent, alone=alone, added=added
    )
    if total.offset:
        steps = f"({steps} - {scope.writer.integer(total.offset)})"
    if total.power == 1:
        return steps
    steps = scope.once(Term(steps, Type.INTEGER)).text
    return f"({steps} * {steps})"


def _bucket(scope: Scope, ranks: Ranks) -> str:
    writer, argument = scope.writer, scope.scalar(ranks.argument)
    steps = whole_steps(scope, argument, ranks.low, ranks.high, ranks.exponent)
    place = f"({steps} - {writer.integer(ranks.low)})"
    if ranks.width > 1:
        place = writer.dialect.whole_division.format(place, writer.integer(ranks.width))
    if ranks.buckets > 2**16:
        return place
    return writer.narrowed(place, writer.dialect.place)  # a small type groups in half the time


# Parts. ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartMaker:
    """What parts are compiled with; without weights every row counts as one step.

    With ``split`` they are those of one pass, and what does not add up is left to be counted.
    """

    writer: Writer
    bounded: Bounded
    rows: Keyed
    unit: tuple[str, ...]  # what is hashed of a unit
    weights: Weights | None
    split: bool = False

    def select(self, part: Part) -> str:
        """Return a SELECT of the part's columns."""
        match part:
            case Cells():
                return self._cells(part)
            case Distinct():
                return self._distinct(part)
            case Ranks():
                return self._ranks(part)
            case Votes():
                return self._votes(part)
            case Crowded():
                if self.weights is None:
                    return "SELECT 0 AS s0"
                rows = self.rows
                return crowded(self.writer, rows.step, rows.keys, self.bounded.shares)
        assert_never(part)

    def _grouped(self, sums: list[str], source: str, *, by: tuple[str, ...] = ()) -> str:
        """Return sums by key, for the groups that are on the public lists."""
        named = [f"{text} AS s{place}" for place, text in enumerate(sums)]
        keys = [*self.rows.keys, *by]
        having = [*self.rows.listed, *(f"{key} IS NOT NULL" for key in by)]
        return select([*keys, *named], source, by=keys, having=having)

    # Cells. ----------------------------------------------------------------------------------

    def _cells(self, cells: Cells) -> str:
        weights, shares = self.weights, self.bounded.shares
        if weights is None:
            sums = [self._alone(statistic) for statistic in cells.statistics]
            return self._late(sums) if self.rows.late else self._grouped(sums, self.rows.step)
        turn: Callable[[Statistic], str] = self._of_rows
        if weights.by_group or not self.rows.keys:
            turn = self._of_pairs
            w = weight(self.writer, weights, shares, shares.steps)
            source = inner(select(["*", f"{w} AS w"], weights.step))
        else:
            source = self._weighed(weights, shares.steps)
        return self._grouped([turn(statistic) for statistic in cells.statistics], source)

    def _late(self, sums: list[str]) -> str:
        """Group rows by raw keys, and the few groups by what the keys become."""
        raw = [name for name, _ in self.rows.late]
        named = [f"{text} AS s{place}" for place, text in enumerate(sums)]
        groups = inner(select([*raw, *named], self.rows.step, by=raw))
        made = [
            f"{text} AS {k}" for k, (_, text) in zip(self.rows.keys, self.rows.late, strict=True)
        ]
        places = [f"s{place}" for place in range(len(sums))]
        groups = inner(select([*made, *places], groups))
        groups = inner(select([*mapped_keys(self.writer, self.bounded), *places], groups))
        return self._grouped([f"sum({name})" for name in places], groups)

    def _weighed(self, weights: Weights, steps: int) -> str:
        """Return the rows, each with its weight w."""
        w = weight(self.writer, weights, self.bounded.shares, steps)
        keys = self.rows.keys if weights.by_group else ()
        units = inner(select(["u", *keys, f"{w} AS w"], weights.step))
        same = self.writer.dialect.same.format
        tests = ["r.u = a.u", *(same(f"r.{k}", f"a.{k}") for k in keys)]
        if keys and self.writer.dialect.alike is not None:
            sides = (", ".join(f"{side}.{k}" for k in keys) for side in "ra")
            tests.append(self.writer.dialect.alike.format(*sides))
        on = " AND ".join(tests)
        return inner(select(["r.*", "a.w"], f"{self.rows.step} AS r JOIN {units} AS a ON {on}"))

    def _alone(self, statistic: Statistic) -> str:
        match statistic:
            case RowCount(argument=None) | UnitCount():
                return "count(*)"
            case RowCount():
                return self.writer.dialect.count_if.format(self.rows.prepared[statistic])
            case Total():
                value = self.rows.prepared[statistic]
                return f"COALESCE({self.writer.total(value, statistic.largest)}, 0)"
        assert_never(statistic)

    def _of_rows(self, statistic: Statistic) -> str:
        match statistic:
            case RowCount(argument=None):
                return f"COALESCE({self.writer.total('w')}, 0)"
            case RowCount():
                there = f"CASE WHEN {self.rows.prepared[statistic]} THEN w END"
                return f"COALESCE({self.writer.total(there)}, 0)"
            case Total():
                weighed = f"w * {self.rows.prepared[statistic]}"
                return f"COALESCE({self.writer.total(weighed)}, 0)"
            case UnitCount():
                return "count(DISTINCT u)"
        assert_never(statistic)

    def _of_pairs(self, statistic: Statistic) -> str:
        match statistic:
            case RowCount(argument=None):
                return f"COALESCE({self.writer.total('w * n')}, 0)"
            case RowCount():
                return f"COALESCE({self.writer.total(f'w * {_partial(self.rows, statistic)}')}, 0)"
            case Total():
                weighed = f"w * {_partial(self.rows, statistic)}"
                size, shares = statistic.largest, self.bounded.shares
                if size <= NEAR and shares.steps * shares.rows * size < _SAFE:
                    return f"COALESCE({self.writer.total(weighed)}, 0)"
                return f"COALESCE(sum({weighed}), 0)"
            case UnitCount():
                return "count(*)"
        assert_never(statistic)

    # The others. -------------------------------------------------------------------------------

    def _by_value(self, value: str) -> str:
        """Return the coarse weight of each value of a column by key."""
        if self.weights is None:
            return self._grouped(["count(*)"], self.rows.step, by=(value,))
        source = self._weighed(self.weights, self.bounded.shares.coarse_steps)
        return self._grouped([self.writer.total("w")], source, by=(value,))

    def _ranks(self, ranks: Ranks) -> str:
        value = self.rows.prepared[ranks]
        return select([*self.rows.keys, f"{value} AS v", "s0"], inner(self._by_value(value)))

    def _votes(self, votes: Votes) -> str:
        value = self.rows.prepared[votes]
        places = self.writer.values(votes.domain, votes.argument.type)
        keys = [f"g.{key}" for key in self.rows.keys]
        grouped = inner(self._by_value(value))
        source = f"{grouped} AS g JOIN {places} AS d ON g.{value} = d.c"
        return select([*keys, "d.v", "g.s0"], source)

    def _distinct(self, distinct: Distinct) -> str:
        value, keys = self.rows.prepared[distinct], self.rows.keys
        source = self.rows.step
        if self.weights is not None:
            there = inner(select(["*"], source, where=[f"{value} IS NOT NULL"]))
            columns = (*keys, value)
            groups = Groups(self.writer, there, columns, distinct.most, "n", {}, self.unit)
            source = groups.weights().step
        if not self.split:
            return self._grouped([f"count(DISTINCT {value})"], source)
        held = [*keys, f"{value} AS {left_column(self.bounded, distinct)}"]
        return select(held, source, where=self.rows.listed, distinct=True)


def left_column(bounded: Bounded, part: Distinct) -> str:
    """Return the column for distinct values of a part that are yet to be counted."""
    return f"d{bounded.parts.index(part)}"


def weights_of(
    writer: Writer, bounded: Bounded, rows: Keyed, unit: tuple[str, ...]
) -> Weights | None:
    """Return what rows are weighed by, or None if each is all that there is of its unit."""
    shares = bounded.shares
    if shares.alone:
        return None
    cut = shares.groups is not None or shares.rows_per_group is not None
    has_cells = any(isinstance(part, Cells) for part in bounded.parts)
    if not (rows.keys and cut) and not (writer.dialect.by_pairs and has_cells):
        sums = {} if rows.keys else _partial_sums(writer, rows, bounded)
        return by_unit(writer, rows.step, sums)
    sums = _partial_sums(writer, rows, bounded)
    least = least_rows(writer, shares)
    most = shares.groups if rows.keys else None
    return Groups(writer, rows.step, rows.keys, most, least, sums, unit).weights()


def _partial(rows: Keyed, statistic: Statistic) -> str:
    """Return the name of what is added up of a statistic for each unit and group."""
    return f"a_{rows.prepared[statistic]}"


def _partial_sums(writer: Writer, rows: Keyed, bounded: Bounded) -> dict[str, str]:
    """Return what is added up for each unit and group, by the names that it gets."""
    sums: dict[str, str] = {}
    for part in bounded.parts:
        for statistic in part.statistics if isinstance(part, Cells) else ():
            match statistic:
                case RowCount(argument=None) | UnitCount():
                    continue
                case RowCount():
                    text = f"count(CASE WHEN {rows.prepared[statistic]} THEN 1 END)"
                case Total():
                    text = (
                        f"COALESCE({writer.total(rows.prepared[statistic], statistic.largest)}, 0)"
                    )
            sums[_partial(rows, statistic)] = text
    return sums


# The statement. ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL, the values bound to it, and the columns of each part.

    The rows of all parts come together: ``part`` says which one a row belongs to, and columns that
    a part does not have are missing there. ``wide`` are columns of 38 digits. ``late`` has the
    places among the parameters of what is known when it is run: the salt, and of several passes how
    many there are and which one it is.
    """

    sql: str
    parameters: tuple[Bound, ...]
    columns: tuple[tuple[str, ...], ...]
    wide: tuple[frozenset[str], ...]
    late: Mapping[str, int]
    types: tuple[Type, ...]  # of the keys
    most: int | None  # rows that there can be at most, if that is public

    @property
    def every(self) -> list[str]:
        """The columns of all parts, in their order in the result."""
        return [*(["part"] if len(self.columns) > 1 else []), *_every(self.columns)]

    def with_salt(self, salt: int) -> Statement:
        """Return the same statement with another salt bound."""
        return self._with({SALT: salt})

    def in_pass(self, place: int, passes: int) -> Statement:
        """Return the same statement for one of several passes, which are numbered from 0."""
        return self._with({PASSES: passes, PASS: place})

    def _with(self, late: Mapping[str, int]) -> Statement:
        if not late.keys() & self.late.keys():
            return self
        bound = list(self.parameters)
        for name, value in late.items():
            if name in self.late:
                bound[self.late[name]] = value
        return replace(self, parameters=tuple(bound))


def compile_bounded(
    bounded: Bounded,
    catalog: Catalog,
    *,
    salt: int,
    bases: Mapping[str, Base],
    dialect: Dialect,
    split: bool = False,
) -> Statement:
    """Return the statement that computes all parts of a bounded question on one snapshot.

    With ``split`` it does so for the units of one pass, and what several give is yet to be merged:
    ``engine/compile/passes.py`` does that.
    """
    writer = Writer(dialect)
    alone = bounded.shares.alone
    units = not alone or needs_units(bounded.rows)
    reader = Reader(Tables(writer, catalog, bases, units, split))
    keep = is_costly(bounded.rows) and not (alone and len(bounded.parts) == 1)
    rows = keyed(reader, reader.rows(bounded.rows), bounded, keep=keep)
    unit = () if _each_row(bounded.rows, catalog) else ("u",)
    weights = weights_of(writer, bounded, rows, unit)
    maker = PartMaker(writer, bounded, rows, unit, weights, split)
    selects = [maker.select(part) for part in bounded.parts]
    return together(writer, bounded, selects, split=split).with_salt(salt)


def _each_row(rows: Rows, catalog: Catalog) -> bool:
    """Tell whether units are rows, which have no id that means anything."""
    while not isinstance(rows, Scan):
        rows = rows.rows
    table = catalog.table(rows.table)
    return table is not None and table.each_row


def _most(bounded: Bounded) -> int | None:
    """Return how many rows all parts have at most; None where keys are discovered."""
    groups = 1
    for key in bounded.keys:
        if key.domain is None:
            return None
        groups *= len(key.domain) + 1
    total = 0
    for part in bounded.parts:
        match part:
            case Ranks():
                total += groups * part.buckets
            case Votes():
                total += groups * len(part.domain)
            case _:
                total += groups
    return total


def columns_of(bounded: Bounded, part: Part, *, split: bool = False) -> tuple[str, ...]:
    """Return the columns of a part: of the whole of it, or of what one of several passes gives."""
    keys = tuple(f"k{place}" for place in range(len(bounded.keys)))
    match part:
        case Cells():
            return (*keys, *(f"s{place}" for place in range(len(part.statistics))))
        case Distinct():
            return (*keys, left_column(bounded, part) if split else "s0")
        case Crowded():
            return ("s0",)
        case _:
            return (*keys, "v", "s0")


def _every(columns: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return the columns that any part has: keys, values, and then statistics."""
    found = {name for names in columns for name in names}
    return sorted(found, key=lambda name: ("kvds".index(name[0]), int(name[1:] or 0)))


def _wide(part: Part) -> frozenset[str]:
    if not isinstance(part, Cells):
        return frozenset()
    totals = [isinstance(statistic, Total) for statistic in part.statistics]
    return frozenset(f"s{place}" for place, total in enumerate(totals) if total)


def _cell(writer: Writer, name: str, kind: Type | str, there: bool) -> str:
    """Return a column of a part in the type that it has in all parts, or a missing one."""
    if isinstance(kind, Type):
        own = writer.dialect.types[kind]
        return writer.convert(name, kind, kind) if there else writer.missing(own)
    return writer.narrowed(name, kind) if there else writer.missing(kind)


def together(
    writer: Writer, bounded: Bounded, selects: list[str], *, split: bool = False
) -> Statement:
    """Return the SELECTs of all parts as one with the columns of all, each in one type."""
    columns = tuple(columns_of(bounded, part, split=split) for part in bounded.parts)
    wide = tuple(_wide(part) for part in bounded.parts)
    every, keys = _every(columns), tuple(key.type for key in bounded.keys)
    integer = writer.dialect.types[Type.INTEGER]
    types: dict[str, Type | str] = dict.fromkeys(every, integer)  # a type, or a name of one
    types |= dict.fromkeys(frozenset[str]().union(*wide), writer.dialect.wide)
    types |= {f"k{place}": kind for place, kind in enumerate(keys)}
    types |= {
        left_column(bounded, part): part.argument.type
        for part in bounded.parts
        if isinstance(part, Distinct)
    }
    texts = []
    for place, (part, names) in enumerate(zip(selects, columns, strict=True)):
        chosen = [f"{writer.integer(place)} AS part"] if len(selects) > 1 else []
        chosen += [f"{_cell(writer, name, types[name], name in names)} AS {name}" for name in every]
        texts.append(select(chosen, inner(part)))
    sql, bound, late = writer.statement("\nUNION ALL\n".join(texts))
    return Statement(sql, bound, columns, wide, late, keys, _most(bounded))
