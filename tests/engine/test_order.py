# SPDX-License-Identifier: Apache-2.0
"""Neither the order of rows nor the number of threads changes a single integer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.plan import plan
from sordino.query.operations import call
from sordino.query.tree import Field, Key, Literal, PerUnit, UnitKind, UnitMeasure, Where
from sordino.query.types import Range, Type
from tests.engine.engines import catalog, rows_of, scan, table

TYPES = {"who": Type.INTEGER, "city": Type.TEXT, "paid": Type.REAL}
WHO, CITY, PAID = (Field(name, kind, name) for name, kind in TYPES.items())
SUM = Field("sum", Type.REAL, "sum")
PARTS = (
    plan.Cells((plan.RowCount(), plan.Total(PAID, -(2**20), 2**20, -8), plan.UnitCount())),
    plan.Ranks(PAID, -1000, 1000, 0, width=3),
    plan.Votes(CITY, ("city 1", "city 2")),
    plan.Distinct(CITY, 2),
)
KEYS = (Key(CITY, "city", None),)
AMONG = Range(Fraction(-1000), Fraction(1000))
PER_UNIT = PerUnit(scan("t", TYPES), ((SUM, UnitMeasure(UnitKind.SUM, PAID, AMONG)),))
QUESTIONS = [
    plan.Bounded(scan("t", TYPES), KEYS, plan.Shares(rows=3, groups=2), PARTS),
    plan.Bounded(scan("t", TYPES), KEYS, plan.Shares(rows=3, groups=3, rows_per_group=2), PARTS),
    plan.Bounded(scan("t", TYPES), (), plan.Shares(rows=3), PARTS),
    plan.Bounded(
        PER_UNIT,
        (),
        plan.Shares(rows=1, alone=True),
        (plan.Cells((plan.Total(SUM, 0, 2**30, -20),)),),
    ),
]


def rows(many: int) -> pa.Table:
    draw = np.random.default_rng(5)
    paid = draw.standard_cauchy(many) * 100
    paid[::50] = np.nan
    paid[1::50] = np.inf
    return pa.table(
        {
            "who": draw.integers(0, many // 8, many),
            "city": [f"city {place}" for place in draw.integers(0, 9, many)],
            "paid": paid,
        }
    )


@pytest.mark.parametrize(("place", "many"), [(0, 50), (1, 10), (2, 10), (3, 30)])
def test_a_hundred_shuffles_give_one_result(place: int, many: int) -> None:
    held = rows(800)
    draw = np.random.default_rng(6)
    results = []
    for threads in (1, 2):
        engine = DuckdbEngine(catalog(table("t", TYPES, held, unit="who")), threads=threads)
        for _ in range(many):
            engine.swap("t", held.take(draw.permutation(len(held))))
            found = rows_of(engine, QUESTIONS[place])
            if found not in results:
                results.append(found)
        engine.close()
    assert len(results) == 1


def test_another_salt_keeps_other_groups() -> None:
    engine = DuckdbEngine(catalog(table("t", TYPES, rows(2_000), unit="who")))
    first, second = (rows_of(engine, QUESTIONS[0], salt=salt) for salt in (1, 2))
    assert first[0] != second[0]
    assert first == rows_of(engine, QUESTIONS[0], salt=1)
    engine.close()


def test_removing_a_unit_leaves_the_weights_of_all_others() -> None:
    held = rows(2_000)
    engine = DuckdbEngine(catalog(table("t", TYPES, held, unit="who")))
    rest = Where(scan("t", TYPES), call("neq", WHO, Literal(17, Type.INTEGER)))
    apart = plan.Bounded(rest, KEYS, plan.Shares(rows=3, groups=2), PARTS)
    filtered = rows_of(engine, apart, salt=9)
    kept = [who != 17 for who in held.column("who").to_pylist()]
    engine.swap("t", held.filter(pa.array(kept)))
    assert rows_of(engine, apart, salt=9) == filtered
    engine.close()
