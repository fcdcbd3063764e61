# SPDX-License-Identifier: Apache-2.0
"""Every engine computes what ``plan.bounded`` says, compared with plain Python on random rows."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import sordino as so
from sordino.engine.compile.dialect import Writer
from sordino.engine.compile.statement import compile_bounded
from sordino.plan.plan import (
    Bounded,
    Cells,
    Crowded,
    Distinct,
    Ranks,
    RowCount,
    Shares,
    Total,
    UnitCount,
    Votes,
)
from sordino.query.tree import Field, Key
from sordino.query.types import Type
from tests.engine.engines import ENGINES, RECEIPT, catalog, frame, rows_of, scan, table

TYPES = {"who": Type.INTEGER, "city": Type.TEXT, "day": Type.INTEGER, "paid": Type.INTEGER}
CITY, DAY, PAID = (Field(name, TYPES[name], name) for name in ("city", "day", "paid"))
SALT = 7
LIMITS = [
    Shares(rows=3),
    Shares(rows=100),
    Shares(rows=5, groups=2),
    Shares(rows=5, rows_per_group=2),
    Shares(rows=4, groups=3, rows_per_group=2),
    Shares(rows=1, groups=1, rows_per_group=1),
]
CELLS = Cells(
    (
        RowCount(),
        RowCount(PAID),
        Total(PAID, -20, 50, 0),
        Total(PAID, -20, 50, 0, offset=15),
        Total(PAID, -20, 50, 0, offset=15, power=2),
        UnitCount(),
    )
)
KEYS: list[tuple[Key, ...]] = [
    (),
    (Key(CITY, "city", None),),
    (Key(CITY, "city", ("ulm", "bonn", "nowhere")),),
    (Key(CITY, "city", ("ulm", None)),),
    (Key(CITY, "city", ("ulm", "bonn"), other="elsewhere"),),
    (Key(CITY, "city", None), Key(DAY, "day", (1, 2))),
]
Row = tuple[int | None, str | None, int | None, int | None]
Group = tuple[Any, ...]


def made(seed: int, many: int = 120) -> list[Row]:
    draw = random.Random(seed)  # noqa: S311 - rows of a test
    cities = ("ulm", "bonn", "jena", "kiel", None)
    return [
        (
            draw.choice((1, 1, 1, 2, 3, 4, 5, None)),
            draw.choice(cities),
            draw.choice((1, 2, 3)),
            draw.choice((-100, -20, 0, 7, 50, 2**62, -(2**63), None)),
        )
        for _ in range(many)
    ]


@pytest.fixture(params=sorted(ENGINES), scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    held = table("t", TYPES, frame(TYPES, made(0)), unit="who")
    opened = ENGINES[request.param](catalog(held), threads=2)
    yield opened
    opened.close()


def group_of(row: Row, keys: tuple[Key, ...]) -> Group | None:
    values = {"city": row[1], "day": row[2]}
    group = []
    for key in keys:
        assert isinstance(key.scalar, Field)
        value: Any = values[key.scalar.name]
        if key.domain is not None and value not in key.domain:
            if key.other is None:
                return None
            value = key.other
        group.append(value)
    return tuple(group)


def places(engine: Any, pairs: list[tuple[int, Group]]) -> dict[tuple[int, Group], int]:
    """Return the hash that each unit and group is ranked by."""
    writer, hashed = Writer(engine.dialect), []
    for place, (unit, group) in enumerate(pairs):
        kinds = (Type.INTEGER if isinstance(value, int) else Type.TEXT for value in group)
        texts = [writer.value(SALT, Type.INTEGER), writer.value(unit, Type.INTEGER)]
        texts += [writer.value(value, kind) for value, kind in zip(group, kinds, strict=True)]
        hashed.append(f"{engine.dialect.hash.format(', '.join(texts))} AS h{place}")
    sql, bound, _ = writer.statement(f"SELECT {', '.join(hashed)}")
    return dict(zip(pairs, engine.fetch(sql, bound)[0], strict=True))


def shared(
    engine: Any, rows: list[Row], keys: tuple[Key, ...], shares: Shares
) -> list[tuple[Row, Group, int, int]]:
    """Return the kept rows with their group, and what is left of each as two whole numbers."""
    own: dict[int, list[tuple[Row, Group]]] = defaultdict(list)
    for row in rows:
        group = group_of(row, keys)
        if row[0] is not None and group is not None:
            own[row[0]].append((row, group))
    kept = []
    for unit, theirs in own.items():
        many = Counter(group for _, group in theirs)
        groups = list(many)
        if shares.groups is not None and keys and len(groups) > shares.groups:
            hashed = places(engine, [(unit, group) for group in groups])
            groups = sorted(groups, key=lambda group: hashed[unit, group])[: shares.groups]
        limit = shares.rows_per_group
        counted = {group: min(many[group], limit or many[group]) for group in groups}
        total = sum(counted.values())
        for row, group in theirs:
            if group in counted:
                top = counted[group] * min(total, shares.rows)
                kept.append((row, group, top, many[group] * total))
    return kept


def cells(
    kept: list[tuple[Row, Group, int, int]], shares: Shares, keys: tuple[Key, ...]
) -> set[Any]:
    sums: dict[Group, list[int]] = {} if keys else {(): [0] * 6}
    units: dict[Group, set[int | None]] = defaultdict(set)
    for row, group, top, bottom in kept:
        weight = shares.steps * top // bottom
        found = sums.setdefault(group, [0] * 6)
        units[group].add(row[0])
        found[0] += weight
        if row[3] is not None:
            value = min(max(row[3], -20), 50)
            found[1] += weight
            found[2] += weight * value
            found[3] += weight * (value - 15)
            found[4] += weight * (value - 15) ** 2
    return {(*group, *found[:5], len(units[group])) for group, found in sums.items()}


@pytest.mark.parametrize("shares", LIMITS, ids=str)
@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: "-".join(map(str, keys))[:30])
def test_cells_are_the_weighed_sums(engine: Any, keys: tuple[Key, ...], shares: Shares) -> None:
    for seed in range(2):
        rows = made(seed)
        engine.swap("t", frame(TYPES, rows))
        kept = shared(engine, rows, keys, shares)
        (found,) = rows_of(engine, Bounded(scan("t", TYPES), keys, shares, (CELLS,)), salt=SALT)
        assert found == cells(kept, shares, keys)


@pytest.mark.parametrize("shares", LIMITS, ids=str)
@pytest.mark.parametrize("keys", KEYS[:5], ids=lambda keys: "-".join(map(str, keys))[:30])
def test_all_parts_of_one_question_come_from_one_statement(
    engine: Any, keys: tuple[Key, ...], shares: Shares
) -> None:
    rows = made(3)
    engine.swap("t", frame(TYPES, rows))
    kept = shared(engine, rows, keys, shares)
    ranks = Ranks(PAID, -20, 50, 0, width=10)
    votes = Votes(CITY, ("jena", "ulm"))
    parts = (CELLS, ranks, votes, Crowded())
    found = rows_of(engine, Bounded(scan("t", TYPES), keys, shares, parts), salt=SALT)
    assert found[0] == cells(kept, shares, keys)
    ranked: Counter[Group] = Counter()
    voted: Counter[Group] = Counter()
    for row, group, top, bottom in kept:
        weight = shares.coarse_steps * top // bottom
        if row[3] is not None:
            ranked[*group, (min(max(row[3], -20), 50) + 20) // 10] += weight
        if row[1] in ("jena", "ulm"):
            voted[*group, ("jena", "ulm").index(row[1])] += weight
    assert found[1] == {(*key, weight) for key, weight in ranked.items()}
    assert found[2] == {(*key, weight) for key, weight in voted.items()}
    assert found[3] == {(crowd(rows, keys, shares),)}


def crowd(rows: list[Row], keys: tuple[Key, ...], shares: Shares) -> int:
    own: dict[int, Counter[Group]] = defaultdict(Counter)
    for row in rows:
        group = group_of(row, keys)
        if row[0] is not None and group is not None:
            own[row[0]][group] += 1
    limit = shares.rows_per_group
    return sum(
        sum(min(n, limit or n) for n in many.values()) > shares.rows
        or (bool(keys) and shares.groups is not None and len(many) > shares.groups)
        or (limit is not None and max(many.values()) > limit)
        for many in own.values()
    )


@pytest.mark.parametrize("most", [1, 2, 100, 2_000_000])
def test_distinct_values_are_counted_once_and_few_of_each_unit(engine: Any, most: int) -> None:
    rows = made(5)
    engine.swap("t", frame(TYPES, rows))
    keys = (Key(DAY, "day", None),)
    part = Distinct(CITY, most)
    (found,) = rows_of(engine, Bounded(scan("t", TYPES), keys, Shares(rows=2), (part,)), salt=SALT)
    own: dict[int, set[Group]] = defaultdict(set)
    for who, city, day, _ in rows:
        if who is not None and city is not None:
            own[who].add((day, city))
    values: dict[Any, set[Any]] = defaultdict(set)
    for unit, pairs in own.items():
        hashed = places(engine, [(unit, pair) for pair in pairs])
        for day, city in sorted(pairs, key=lambda pair: hashed[unit, pair])[:most]:
            values[day].add(city)
    assert found == {(day, len(cities)) for day, cities in values.items()}


def test_a_dialect_without_short_cuts_gives_the_same_groups(engine: Any) -> None:
    engine.swap("t", frame(TYPES, made(6)))
    plain = replace(engine.dialect, nth_least=None)
    bounded = Bounded(scan("t", TYPES), KEYS[1], Shares(rows=5, groups=2), (CELLS,))
    statement = compile_bounded(
        bounded, engine.catalog, salt=SALT, bases=engine.bases, dialect=plain
    )
    assert "row_number" in statement.sql
    found = engine.fetch(statement.sql, statement.parameters)
    assert {(row[0], *map(int, row[1:])) for row in found} == rows_of(engine, bounded)[0]


def test_ties_of_the_hash_are_broken_by_the_key(engine: Any) -> None:
    engine.swap("t", frame(TYPES, made(8)))
    same = replace(engine.dialect, hash="7")  # whatever is hashed
    bounded = Bounded(
        scan("t", TYPES), KEYS[1], Shares(rows=50, groups=2), (Cells((UnitCount(),)),)
    )
    statement = compile_bounded(
        bounded, engine.catalog, salt=SALT, bases=engine.bases, dialect=same
    )
    found = engine.fetch(statement.sql, statement.parameters)
    own: dict[int, set[str | None]] = defaultdict(set)
    for who, city, _, _ in made(8):
        if who is not None:
            own[who].add(city)
    missing = "" if engine.dialect.name == "spark" else "~"  # where an engine sorts it
    firsts = [
        city for cities in own.values() for city in sorted(cities, key=lambda c: c or missing)[:2]
    ]
    assert dict(found) == Counter(firsts)


def test_where_every_row_is_a_unit_nothing_is_weighed() -> None:
    rows = made(9)
    held = table("t", TYPES, frame(TYPES, rows), unit="row")
    for make in ENGINES.values():
        engine = make(catalog(held))
        for keys in KEYS:
            bounded = Bounded(scan("t", TYPES), keys, Shares(rows=1, alone=True), (CELLS,))
            every = [(row, group_of(row, keys)) for row in rows]
            kept = [(row, group, 1, 1) for row, group in every if group is not None]
            found = {row[:-1] for row in rows_of(engine, bounded)[0]}
            assert found == {row[:-1] for row in cells(kept, bounded.shares, keys)}
            assert {row[-1] for row in rows_of(engine, bounded)[0]} == {
                row[len(keys)] for row in rows_of(engine, bounded)[0]
            }
        engine.close()


def test_an_engine_wants_a_receipt(engine: Any) -> None:
    bounded = Bounded(scan("t", TYPES), (), Shares(rows=1), (CELLS,))
    with pytest.raises(TypeError, match="receipt"):
        engine.run(bounded, None, salt=1)
    assert repr(engine.run(bounded, RECEIPT, salt=1)) == "<sealed>"


@pytest.mark.parametrize("bounds", [(0, 9), (-9, 0), (-3, 9), (2, 9)])
def test_missing_numbers_add_nothing_to_sums_of_rows(bounds: tuple[int, int]) -> None:
    """Where an end is 0 a missing number may become it, and nowhere else."""
    low, high = bounds
    numbers = [None, None, low, high, 5, 100, -100, None]
    groups = ["none", "none", *["some"] * 6]
    held = pa.table({"g": groups, "x": pa.array(numbers, pa.int64())})
    keys, limits = {"g": ["none", "some"]}, {"x": bounds}
    sql = "SELECT g, SUM(x) AS s, COUNT(x) AS n, COUNT(*) AS r FROM t GROUP BY g"
    with so.table(held, unit="row", name="t", epsilon=10**7, keys=keys, bounds=limits) as session:
        answer = session.ask(sql, epsilon=10**6)
    clamped = [min(max(x, low), high) for x in numbers if x is not None]
    rows = [tuple(answer.cell(row, name).value for name in "gsnr") for row in range(2)]
    assert sorted(rows) == [("none", 0, 0, 2), ("some", sum(clamped), 5, 6)]
