# SPDX-License-Identifier: Apache-2.0
"""The error bar that an explanation promises is the one that the answer has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import sordino as so
from sordino.query.aggregates import AGGREGATES
from sordino.query.tree import Kind

# Each aggregate, and whether the width of its error bar is known before there is an answer.
ASKED: list[tuple[Kind, str, bool]] = [
    (Kind.COUNT, "COUNT(*)", True),
    (Kind.COUNT, "COUNT(cost)", True),
    (Kind.COUNT, "COUNT_IF(age > 40)", True),
    (Kind.COUNT_UNITS, "COUNT(DISTINCT pid)", True),
    (Kind.COUNT_DISTINCT, "COUNT(DISTINCT age)", True),
    (Kind.SUM, "SUM(cost)", True),
    (Kind.SUM, "SUM(age)", True),
    (Kind.AVG, "AVG(cost)", False),
    (Kind.VARIANCE, "VARIANCE(cost)", False),
    (Kind.STDDEV, "STDDEV(age)", False),
    (Kind.QUANTILE, "MEDIAN(age)", False),
    (Kind.MIN, "MIN(cost)", False),
    (Kind.MAX, "MAX(age)", False),
    (Kind.MODE, "MODE(ward)", True),
    (Kind.TOP, "TOP(2, ward)", True),
    (Kind.COUNT, "2 * COUNT(*) - SUM(age)", True),
    (Kind.SUM, "SUM(cost) / 4 + COUNT(cost)", True),
]


@pytest.fixture(scope="module", params=["epsilon", "rho"])
def asking(request: pytest.FixtureRequest) -> Iterator[tuple[so.Session, dict[str, Any]]]:
    """Yield a session, and what a question costs in its currency."""
    rows = range(400)
    frame = pd.DataFrame(
        {
            "pid": [row // 3 for row in rows],
            "age": [row % 90 for row in rows],
            "cost": [row * 7.25 % 500 for row in rows],
            "ward": [("a", "b", "c")[row % 3] for row in rows],
        }
    )
    bounds = {"age": (0, 100), "cost": (0, 500)}
    keys = {"ward": ["a", "b", "c"]}
    terms: dict[str, Any] = {"bounds": bounds, "keys": keys, "rows": 4, request.param: 1000}
    with so.table(frame, unit="pid", **terms) as session:
        yield session, {request.param: 2}


def test_every_aggregate_is_asked_here() -> None:
    assert {kind for kind, _, _ in ASKED} == AGGREGATES.keys()


@pytest.mark.parametrize(("kind", "expression", "known"), ASKED)
@pytest.mark.parametrize("group", ["", " GROUP BY ward"])
def test_an_answer_has_the_error_bar_that_was_promised(
    asking: tuple[so.Session, dict[str, Any]], kind: Kind, expression: str, known: bool, group: str
) -> None:
    session, price = asking
    if group and kind in (Kind.MODE, Kind.TOP):
        group = " GROUP BY age > 50"
    sql = f"SELECT {expression} AS x, COUNT(*) AS n FROM data{group}"  # noqa: S608 - of this file alone
    (_, promised), _ = session.explain(sql, **price).columns
    column = session.ask(sql, **price).column("x")
    if not known:
        assert promised.half_width is None or promised.rows
    elif promised.rows:
        assert column.gap == promised.half_width
    else:
        for half_width in column.half_widths:
            assert half_width == pytest.approx(promised.half_width, rel=1e-9)
