# SPDX-License-Identifier: Apache-2.0
"""Joins of rows of one unit do not explode, and what they leave out is settled by the unit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.plan.plan import JOIN_ROWS, Bounded, Cells, Distinct, RowCount, Shares, Total
from sordino.query import tree
from sordino.query.operations import call
from sordino.query.types import Range, Type
from tests.engine.engines import catalog, frame, rows_of, table

TYPES = {"who": Type.INTEGER, "x": Type.REAL}
A, B, C, N = (tree.Field(name, Type.REAL, name) for name in "abcn")
MANY = 300


def scan(made: tree.Field) -> tree.Scan:
    return tree.Scan("t", ((made, "x"),))


def engine_of(held: pa.Table, threads: int = 2) -> DuckdbEngine:
    return DuckdbEngine(catalog(table("t", TYPES, held, unit="who")), threads=threads)


def pairs(rows: tree.Rows) -> Bounded:
    """Count all rows in full, and the distinct values of the left side."""
    return Bounded(rows, (), Shares(rows=10**8), (Cells((RowCount(),)), Distinct(A, 10**6)))


def crowd(*sizes: int) -> pa.Table:
    return frame(TYPES, [(who, float(x)) for who, many in enumerate(sizes) for x in range(many)])


BOTH = tree.JoinUnit(scan(A), scan(B))
THREE = tree.JoinUnit(BOTH, scan(C))
EACH = tree.PerUnit(scan(N), ((N, tree.UnitMeasure(tree.UnitKind.COUNT)),))


@pytest.mark.parametrize(
    ("rows", "many"),
    [
        (BOTH, JOIN_ROWS**2 + 9),
        (THREE, JOIN_ROWS**2 + 27),
        (
            tree.JoinUnit(scan(A), EACH),
            MANY + 3,
        ),  # one side has a row of each unit: nothing explodes
    ],
)
def test_of_each_unit_so_many_rows_of_a_side_take_part(rows: tree.Rows, many: int) -> None:
    engine = engine_of(crowd(MANY, 3))
    counted, _ = rows_of(engine, pairs(rows))
    engine.close()
    assert counted == {(many * 2**16,)}


def test_what_takes_part_depends_on_the_unit_and_the_salt_alone() -> None:
    held, draw = crowd(MANY, 250, 3), np.random.default_rng(3)
    part = tree.JoinUnit(scan(A), scan(B), ((call("floor", A), call("floor", B)),))
    results = []
    for threads in (1, 2):
        engine = engine_of(held, threads)
        for _ in range(10):
            engine.swap("t", held.take(draw.permutation(len(held))))
            results.append(rows_of(engine, pairs(part)))
        assert rows_of(engine, pairs(part), salt=8) != results[0]
        engine.swap("t", held.slice(0, MANY))
        alone = rows_of(engine, pairs(part))
        engine.swap("t", held.slice(MANY))
        rest = rows_of(engine, pairs(part))
        engine.close()
        assert [sum(n for (n,) in a | b) for a, b in zip(alone[:1], rest[:1], strict=True)] == [
            n for (n,) in results[0][0]
        ]
    assert all(found == results[0] for found in results)


def test_zero_has_one_sign_for_whoever_reads_it() -> None:
    """Rows that differ by the sign of zero tie, so that nothing may tell them apart."""
    text = tree.Field("text", Type.TEXT, "text")
    rows = tree.Derive(
        scan(A), ((text, call("to_text", call("mul", A, tree.Literal(-1.0, Type.REAL)))),)
    )
    engine = engine_of(frame(TYPES, [(1, 0.0), (2, 2.5)]))
    bounded = Bounded(rows, (tree.Key(text, "text", None),), Shares(2, 2), (Cells((RowCount(),)),))
    assert rows_of(engine, bounded) == [{("0.0", 2**16), ("-2.5", 2**16)}]
    engine.close()


def test_sums_of_a_unit_reach_the_ends_of_the_doubles() -> None:
    rows = [(1, 1e300), (1, -3e299), (2, 1e305), (3, -math.inf)]
    engine = engine_of(frame(TYPES, rows))
    among = Range(Fraction(-1e300), Fraction(1e300))
    each = tree.PerUnit(scan(A), ((N, tree.UnitMeasure(tree.UnitKind.SUM, A, among)),))
    total = Total(call("div", N, tree.Literal(1e299, Type.REAL)), -100, 100, 0)
    for sum_ in (7, 10, -10):
        one = call("eq", call("round", total.argument, tree.Literal(0, Type.INTEGER)),
                   tree.Literal(sum_, Type.INTEGER))  # fmt: skip
        counted = RowCount(call("nullif", one, tree.Literal(False, Type.BOOLEAN)))
        bounded = Bounded(each, (), Shares(1, alone=True), (Cells((counted,)),))
        assert rows_of(engine, bounded) == [{(1,)}]
    engine.close()


@pytest.mark.parametrize("count", [4, 1000])
def test_bins_of_an_infinite_width_hold_what_is_theirs(count: int) -> None:
    ends = [-1e308, -4e307, 1.0, 6e307, 1e308]
    engine = engine_of(frame(TYPES, [*enumerate(ends), (9, math.inf), (10, 1.1e308)]))
    bins = tree.Bins(Range(Fraction(-1e308), Fraction(1e308)), count)
    wanted = [min(math.floor((end / 1e308 + 1) / 2 * count), count - 1) for end in ends]
    key = tree.Key(A, "bin", tuple(range(count)), bins=bins)
    bounded = Bounded(scan(A), (key,), Shares(1), (Cells((RowCount(),)),))
    (found,) = rows_of(engine, bounded)
    engine.close()
    assert {place for place, n in found if n} == set(wanted)
