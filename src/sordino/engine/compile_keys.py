# SPDX-License-Identifier: Apache-2.0
"""Rows with their keys and with the arguments of all parts: what shares and parts start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from sordino.engine.compile_rows import Reader, Relation, whole_steps
from sordino.engine.scalars import Scope, Term
from sordino.engine.writer import Writer
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
from sordino.query.tree import Key, Scalar
from sordino.query.types import Type


@dataclass(frozen=True, slots=True)
class Keyed:
    """A step with columns u (if rows carry units), k0, k1, ... and prepared arguments p0, p1, ...

    ``prepared`` says which column belongs to a part or statistic. ``listed`` is a condition on the
    keys that holds for groups on the public lists; None if there is none, or if it has been applied.
    """

    step: str
    keys: tuple[str, ...]
    prepared: dict[Part | Statistic, str]
    listed: str | None


def keyed(reader: Reader, rows: Relation, bounded: Bounded, *, later: bool, keep: bool) -> Keyed:
    """Return rows with keys and prepared arguments; ``later`` leaves the lists to be applied."""
    writer, scope = reader.writer, reader.scope(rows)
    keys = tuple(f"k{place}" for place in range(len(bounded.keys)))
    chosen = ["u"] if reader.units else []
    chosen += [f"{_key(scope, key)} AS {k}" for key, k in zip(bounded.keys, keys, strict=True)]
    columns: dict[str, str] = {}
    prepared: dict[Part | Statistic, str] = {}
    for owner in _owners(bounded.parts):
        text = _prepared(scope, owner)
        if text is not None:
            prepared[owner] = columns.setdefault(text, f"p{len(columns)}")
    chosen += [f"{text} AS {name}" for text, name in columns.items()]
    chosen = chosen or ["NULL AS c"]
    text = f"SELECT {', '.join(chosen)} FROM {scope.source(rows.step)}"
    others = [_other(writer, key, k) for key, k in zip(bounded.keys, keys, strict=True)]
    if any(other is not None for other in others):
        named = [
            k if other is None else f"{other} AS {k}" for k, other in zip(keys, others, strict=True)
        ]
        every = [*(["u"] if reader.units else []), *named, *columns.values()]
        text = f"SELECT {', '.join(every)} FROM (\n{text}\n)"
    tests = [_listed(writer, key, k) for key, k in zip(bounded.keys, keys, strict=True)]
    listed = " AND ".join(test for test in tests if test is not None) or None
    if listed is not None and not later:
        text = f"SELECT * FROM (\n{text}\n) WHERE {listed}"
        listed = None
    return Keyed(writer.step("keyed", text, keep=keep), keys, prepared, listed)


def _key(scope: Scope, key: Key) -> str:
    if key.bins is None:
        return scope.scalar(key.scalar).text
    writer, bins = scope.writer, key.bins
    value = scope.once(scope.real(scope.scalar(key.scalar))).text
    low, high = float(bins.range.low), float(bins.range.high)
    ends = [writer.value(end, Type.REAL) for end in (low, high, high - low, float(bins.count))]
    last = writer.integer(bins.count - 1)
    place = writer.as_type(f"floor(({value} - {ends[0]}) * {ends[3]} / {ends[2]})", Type.INTEGER)
    return (
        f"CASE WHEN {value} BETWEEN {ends[0]} AND {ends[1]} THEN LEAST({place}, {last}) "
        f"ELSE NULL END"
    )


def _test(writer: Writer, key: Key, column: str) -> str:
    """Return whether a key is on its public list."""
    domain = key.domain or ()
    there = [value for value in domain if value is not None]
    test = writer.dialect.in_list.format(column, writer.values(there, key.type))
    return f"({test} OR {column} IS NULL)" if len(there) < len(domain) else f"({test})"


def _other(writer: Writer, key: Key, column: str) -> str | None:
    if key.domain is None or key.other is None:
        return None
    other = writer.value(key.other, key.type)
    return f"CASE WHEN {_test(writer, key, column)} THEN {column} ELSE {other} END"


def _listed(writer: Writer, key: Key, column: str) -> str | None:
    if key.domain is None or key.other is not None:
        return None
    return _test(writer, key, column)


def _owners(parts: tuple[Part, ...]) -> list[Part | Statistic]:
    owners: list[Part | Statistic] = []
    for part in parts:
        owners += part.statistics if isinstance(part, Cells) else [part]
    return owners


def _prepared(scope: Scope, owner: Part | Statistic) -> str | None:
    match owner:
        case RowCount(argument=None) | UnitCount() | Crowded() | Cells():
            return None
        case RowCount(argument=argument):
            return f"({_text(scope, argument)} IS NOT NULL)"
        case Total():
            return _total(scope, owner)
        case Distinct(argument=argument) | Votes(argument=argument):
            return _text(scope, argument)
        case Ranks():
            return _bucket(scope, owner)
    assert_never(owner)


def _text(scope: Scope, argument: Scalar | None) -> str:
    if argument is None:
        raise ValueError("an argument is missing")
    return scope.scalar(argument).text


def _total(scope: Scope, total: Total) -> str:
    steps = whole_steps(scope, scope.scalar(total.argument), total.low, total.high, total.exponent)
    if total.offset:
        steps = f"({steps} - {scope.writer.integer(total.offset)})"
    if total.power == 1:
        return steps
    steps = scope.once(Term(steps, Type.INTEGER)).text
    return f"({steps} * {steps})"


def _bucket(scope: Scope, ranks: Ranks) -> str:
    writer = scope.writer
    steps = whole_steps(scope, scope.scalar(ranks.argument), ranks.low, ranks.high, ranks.exponent)
    place = f"({steps} - {writer.integer(ranks.low)})"
    if ranks.width == 1:
        return place
    return writer.dialect.whole_division.format(place, writer.integer(ranks.width))
