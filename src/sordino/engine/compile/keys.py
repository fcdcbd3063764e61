# SPDX-License-Identifier: Apache-2.0
"""Rows with their keys and with the arguments of all parts: what shares and parts start from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import assert_never

from sordino.engine.compile.rows import Reader, Relation, whole_steps
from sordino.engine.compile.scalars import Scope, Term
from sordino.engine.compile.text import Writer, inner, select
from sordino.engine.duckdb.columns import short_text
from sordino.plan.bounded import (
    Bounded,
    Cells,
    Crowded,
    Distinct,
    Part,
    Ranks,
    RowCount,
    Statistic,
    Total,
    UnitCount,
    Votes,
)
from sordino.query.tree import Field, Key
from sordino.query.types import Type


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
            prepared[owner] = columns.setdefault(text, f"p{len(columns)}")
    named = [f"{text} AS {name}" for text, name in columns.items()]
    chosen = [*units, *(f"{value} AS {k}" for value, k in zip(values, keys, strict=True)), *named]
    late: list[tuple[str, str]] = []
    if bounded.shares.alone and not keep:
        for key, value, k in zip(bounded.keys, values, keys, strict=True):
            raw = rows.raw.get(key.scalar.name) if isinstance(key.scalar, Field) else None
            chosen.append(f"{raw or value} AS r_{k}")
            late.append((f"r_{k}", short_text(writer, f"r_{k}") if raw else f"r_{k}"))
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


def mapped_keys(writer: Writer, bounded: Bounded) -> list[str]:
    """Return the keys, those that are not on their list as ``other`` where there is one."""
    return [_mapped(writer, key, f"k{place}") for place, key in enumerate(bounded.keys)]


def _value(scope: Scope, key: Key) -> str:
    if key.bins is None:
        return scope.scalar(key.scalar).text
    writer, bins = scope.writer, key.bins
    value = scope.once(scope.real(scope.scalar(key.scalar))).text
    low, high, count = float(bins.range.low), float(bins.range.high), float(bins.count)
    first, last = writer.value(low, Type.REAL), writer.value(high, Type.REAL)
    inside, start, width = value, first, high - low
    if math.isinf(width * count):  # all of it smaller by a power of two, which changes no bin
        shrink = 2.0 ** -(2 + bins.count.bit_length())
        inside = f"({value} * {writer.value(shrink, Type.REAL)})"
        start, width = writer.value(low * shrink, Type.REAL), high * shrink - low * shrink
    many, whole = writer.value(count, Type.REAL), writer.value(width, Type.REAL)
    place = writer.as_type(f"floor(({inside} - {start}) * {many} / {whole})", Type.INTEGER)
    tested = writer.dialect.opaque.format(value)  # whatever a file says of its values
    return (
        f"CASE WHEN {tested} BETWEEN {first} AND {last} "
        f"THEN LEAST({place}, {writer.value(bins.count - 1, Type.INTEGER)}) END"
    )


def _test(writer: Writer, key: Key, column: str) -> str:
    """Return whether a key is on its public list."""
    domain = key.domain or ()
    there = [value for value in domain if value is not None]
    listed = inner(select(["c"], writer.values(there, key.type)))
    test = f"{column} IN {listed}"
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
    return writer.cast(place, writer.dialect.place)  # a small type groups in half the time
