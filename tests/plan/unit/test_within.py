# SPDX-License-Identifier: Apache-2.0
"""The least price for an accuracy."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import pytest

from sordino.catalog.model import Catalog, Purse
from sordino.errors import MissingBound, QueryError, UnknownName
from sordino.plan.ask import StatedWidth
from sordino.plan.intervals import expected, is_noisy
from sordino.plan.plan import Plan
from sordino.privacy.budget import Budget, Counted
from sordino.query.tree import Measure, Output, PostCall, Query
from sordino.query.types import Type
from tests.plan.unit.questions import (
    AVG,
    COUNT,
    COUNTED,
    DECLARED,
    LEAST,
    MEDIAN,
    MODE,
    STDDEV,
    SUM,
    UNITS,
    VARIANCE,
    catalog,
    plan_question,
    question,
)

Wanted: TypeAlias = "StatedWidth | Mapping[str, StatedWidth]"


def plan_within(query: Query, catalog: Catalog, within: Wanted, **terms: Any) -> Plan:
    return plan_question(query, catalog, within=within, **terms)


def widest(plan: Plan, rows: float | None) -> float:
    outputs = [o for o in plan.query.post.outputs if is_noisy(o.scalar)]
    return max(expected(plan, o.scalar, rows=rows).half_width or 0.0 for o in outputs)


@pytest.mark.parametrize("counted", COUNTED)
@pytest.mark.parametrize(
    ("measures", "within", "limit", "rows"),
    [
        ([COUNT], 50, 50, None),
        ([COUNT], 2000, 2000, None),
        ([COUNT, UNITS], 30, 30, None),
        ([AVG], "5%", 250, 10_000),
        ([AVG], 100, 100, 10_000),
        ([VARIANCE], "10%", 360, 100_000),
        ([STDDEV], "10%", 12, 100_000),
        ([MEDIAN], "5%", 6, 10_000),
        ([MODE], 20, 20, None),
        ([LEAST], "20%", 24, 10_000),
    ],
)
def test_the_price_found_is_within_and_one_percent_less_is_not(
    measures: list[Measure], within: Wanted, limit: float, rows: int | None, counted: Counted
) -> None:
    ours, asked = catalog(counted=counted), question(measures, DECLARED)
    plan = plan_within(asked, ours, within, expected_rows=rows)
    assert widest(plan, rows) <= limit
    assert plan.epsilon is not None
    less = plan_question(asked, ours, epsilon=plan.epsilon * Fraction(99, 100))
    assert widest(less, rows) > limit
    assert len(str(float(plan.epsilon)).replace(".", "").strip("0")) <= 4


def test_columns_can_be_named_in_any_case() -> None:
    asked = question([COUNT, SUM], DECLARED)
    plan = plan_within(asked, catalog(), {"COUNT_0": 60})
    assert 58 < (expected(plan, asked.post.outputs[1].scalar).half_width or 0) <= 60


@pytest.mark.parametrize("counted", COUNTED)
def test_shares_are_moved_to_the_columns_that_need_them(counted: Counted) -> None:
    asked, ours = question([COUNT, SUM, AVG], DECLARED), catalog(counted=counted)
    wanted = {"count_0": 500, "sum_1": 100_000, "avg_2": 300}
    plan = plan_within(asked, ours, wanted, expected_rows=10_000)
    noisy = asked.post.outputs[1:]
    widths = [expected(plan, o.scalar, rows=10_000).half_width or 0.0 for o in noisy]
    assert all(width <= most for width, most in zip(widths, wanted.values(), strict=True))
    assert widths[1] > 99_000
    assert plan.epsilon is not None
    usual = plan_question(asked, ours, epsilon=plan.epsilon * Fraction(13, 10))
    assert (expected(usual, noisy[1].scalar).half_width or 0.0) > 100_000
    price = ours.purse("patients").budget.price(plan.loss)
    full = plan_question(asked, ours, epsilon=plan.epsilon)
    assert price <= ours.purse("patients").budget.price(full.loss)


def test_columns_that_are_not_named_keep_their_part() -> None:
    asked = question([COUNT, UNITS, SUM], DECLARED)
    plan = plan_within(asked, catalog(), {"count_0": 100, "count_units_1": 5})
    assert plan.epsilon is not None
    usual = plan_question(asked, catalog(), epsilon=plan.epsilon)
    widths = [expected(p, asked.post.outputs[3].scalar).half_width or 0.0 for p in (plan, usual)]
    assert widths[0] == pytest.approx(widths[1], rel=1e-3)


def test_a_higher_confidence_costs_more() -> None:
    asked = question([COUNT])
    usual, sure = (plan_within(asked, catalog(), 50, confidence=c) for c in (0.95, 0.999))
    assert usual.epsilon is not None
    assert sure.epsilon is not None
    assert sure.epsilon > 2 * usual.epsilon


def test_a_budget_in_rho_without_a_delta_is_asked_in_rho() -> None:
    ours = replace(catalog(), purses=(("patients", Purse(Budget(rho=1))),))
    plan = plan_within(question([COUNT]), ours, 100)
    assert plan.epsilon is None
    assert widest(plan, None) <= 100


@pytest.mark.parametrize(
    ("measures", "within", "rows", "words"),
    [
        ([AVG], 10, None, "state expected_rows"),
        ([AVG], "5%", None, "state expected_rows"),
        ([COUNT], "5%", None, "no public scale"),
        ([SUM], "5%", 100, "no public scale"),
        ([MEDIAN], "5%", None, "state expected_rows"),
        ([MEDIAN], 4, None, "state expected_rows"),
        ([LEAST], 4, None, "state expected_rows"),
        ([VARIANCE], 4, None, "state expected_rows"),
        ([MODE], "5%", 100, "no public scale"),
        ([AVG], 10, 0.001, "no price makes"),
        ([COUNT], {}, None, "no noisy column"),
    ],
)
def test_what_cannot_be_known_beforehand_is_refused_with_advice(
    measures: list[Measure], within: Wanted, rows: float | None, words: str
) -> None:
    with pytest.raises(MissingBound, match=words) as refused:
        plan_within(question(measures), catalog(), within, expected_rows=rows)
    assert refused.value.code == "within"


def test_an_unknown_column_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownName, match="within names 'm'") as refused:
        plan_within(question([COUNT]), catalog(), {"m": 5})
    assert "count_0" in refused.value.hint


def test_a_quotient_is_refused_and_others_can_be_named() -> None:
    asked = question([SUM, COUNT])
    first, second = asked.post.outputs
    ratio = Output("ratio", PostCall("div", (first.scalar, second.scalar), Type.REAL))
    asked = replace(asked, post=replace(asked.post, outputs=(second, ratio)))
    with pytest.raises(QueryError, match="name the other columns"):
        plan_within(asked, catalog(), 50)
    assert plan_within(asked, catalog(), {"count_1": 50}).epsilon is not None


@pytest.mark.parametrize("within", ["5", "%", "five%", -5, 0, "0%"])
def test_what_is_no_width_is_refused(within: Wanted) -> None:
    with pytest.raises((ValueError, MissingBound)):
        plan_within(question([AVG]), catalog(), within, expected_rows=1000)
