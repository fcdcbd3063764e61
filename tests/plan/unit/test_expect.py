# SPDX-License-Identifier: Apache-2.0
"""Error bars that are known before anything is paid."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from sordino.plan.aggregates import Mean
from sordino.plan.intervals import expected, is_noisy
from sordino.plan.plan import Added, Plan
from sordino.privacy.budget import Counted
from sordino.query.tree import (
    KeyRef,
    Kind,
    Literal,
    Measure,
    MeasureRef,
    Output,
    Post,
    PostCall,
    PostScalar,
)
from sordino.query.types import Type
from tests.plan.unit.questions import (
    AGE,
    AVG,
    COUNT,
    COUNTED,
    DECLARED,
    EVERYTHING,
    LEAST,
    MEDIAN,
    MODE,
    STDDEV,
    SUM,
    TOP,
    UNITS,
    VARIANCE,
    catalog,
    plan_question,
    question,
)

PLAN = plan_question(question([COUNT, SUM, AVG], DECLARED), catalog(rows=4), epsilon=1)
N, TOTAL, MEAN = (MeasureRef(at, Type.REAL) for at in range(3))
TWO, NONE = Literal(2, Type.INTEGER), Literal(None, Type.INTEGER)


def call(operation: str, *arguments: PostScalar) -> PostCall:
    return PostCall(operation, arguments, Type.REAL)


def width(scalar: PostScalar, plan: Plan = PLAN, rows: float | None = None) -> float:
    found = expected(plan, scalar, rows=rows).half_width
    assert found is not None
    return found


def noise(plan: Plan, at: int, level: Fraction) -> float:
    release = plan.releases[at]
    assert isinstance(release, Added)
    return float(release.step * int(release.mechanism.accuracy(confidence=level)))


def test_a_noisy_column_is_off_by_its_noise() -> None:
    assert width(TOTAL) == pytest.approx(noise(PLAN, 1, Fraction(95, 100)))


def test_a_count_that_is_shown_whole_is_off_by_half_more() -> None:
    assert width(N) == pytest.approx(noise(PLAN, 0, Fraction(95, 100)) + 0.5)
    units = plan_question(question([UNITS]), catalog(), epsilon=1)
    assert width(N, units) == noise(units, 0, Fraction(95, 100))  # it is whole already


def test_a_sum_of_whole_numbers_is_shown_whole_too() -> None:
    whole = Measure(Kind.SUM, AGE, AGE.range)
    asked = question([whole])
    ref = MeasureRef(0, Type.INTEGER)
    asked = replace(asked, post=Post((Output("s", ref),)))
    plan = plan_question(asked, catalog(rows=4), epsilon=1)
    assert width(ref, plan) == pytest.approx(noise(plan, 0, Fraction(95, 100)) + 0.5)


def test_two_noises_share_what_may_fail() -> None:
    half = Fraction(975, 1000)
    both = noise(PLAN, 0, half) + 0.5 + noise(PLAN, 1, half)
    assert width(call("add", N, TOTAL)) == pytest.approx(both)
    assert width(call("sub", N, call("mul", TOTAL, TWO))) == pytest.approx(
        noise(PLAN, 0, half) + 0.5 + 2 * noise(PLAN, 1, half)
    )
    assert width(call("add", N, N)) == pytest.approx(2 * width(N))  # one noise


@pytest.mark.parametrize(
    ("scalar", "factor"),
    [
        (call("neg", N), 1),
        (call("mul", TWO, N), 2),
        (call("div", N, TWO), 0.5),
        (call("greatest", N, TWO), 1),
        (call("to_real", N), 1),
    ],
)
def test_simple_arithmetic_scales_error_bars(scalar: PostScalar, factor: float) -> None:
    assert width(scalar) == pytest.approx(factor * width(N))


def test_rounding_adds_what_it_takes() -> None:
    assert width(call("round", N, TWO)) == pytest.approx(width(N) + 0.005)
    assert width(call("floor", N)) == pytest.approx(width(N) + 1)


@pytest.mark.parametrize(
    "scalar",
    [call("div", TOTAL, N), call("div", TWO, N), call("mul", N, TOTAL), call("mul", N, NONE)],
)
def test_other_arithmetic_depends_on_the_answer(scalar: PostScalar) -> None:
    found = expected(PLAN, scalar)
    assert found.half_width is None
    assert found.about == "it depends on the answer"


def test_public_columns_have_no_error() -> None:
    key = KeyRef(0, Type.TEXT)
    assert width(key) == width(TWO) == width(call("eq", key, TWO)) == 0
    assert not is_noisy(call("lower", key))
    assert is_noisy(call("add", N, TWO))


def test_a_mean_needs_a_guess_at_the_rows_and_covers_the_worst_one() -> None:
    assert expected(PLAN, MEAN).half_width is None
    formula = PLAN.formulas[2]
    assert isinstance(formula, Mean)
    level, rows = Fraction(975, 1000), 1000.0
    total, count = noise(PLAN, formula.total, level), noise(PLAN, formula.count, level)
    far = 5000.0 - float(formula.offset)  # every value at the upper end
    exact = far * rows
    worst = (exact + total) / (rows - count) - exact / rows
    assert width(MEAN, rows=rows) == pytest.approx(worst)
    assert width(MEAN, rows=1) == 5000  # the whole range


def test_variances_fall_with_the_rows_and_stay_within_what_is_possible() -> None:
    plan = plan_question(question([VARIANCE, STDDEV]), catalog(), epsilon=1)
    first, second = MeasureRef(0, Type.REAL), MeasureRef(1, Type.REAL)
    assert expected(plan, first).half_width is None
    assert width(first, plan, 1) == 3600
    assert width(second, plan, 1) == 60
    assert width(first, plan, 10**6) < 3
    assert width(second, plan, 10**6) == pytest.approx(math.sqrt(width(first, plan, 10**6)))


@pytest.mark.parametrize("measure", [MEDIAN, LEAST], ids=["median", "least"])
def test_quantiles_are_off_in_ranks_or_by_a_part_of_the_range(measure: object) -> None:
    plan = plan_question(question([measure]), catalog(rows=4), epsilon=1)  # type: ignore[list-item]
    ranks = expected(plan, N)
    assert ranks.rows
    assert ranks.half_width is not None
    assert width(N, plan, 10**6) == pytest.approx(120 * ranks.half_width / 10**6)
    assert width(N, plan, 1) == 120
    dearer = plan_question(question([measure]), catalog(rows=4), epsilon=2)  # type: ignore[list-item]
    assert expected(dearer, N).half_width == pytest.approx(ranks.half_width / 2)


@pytest.mark.parametrize("counted", COUNTED)
@pytest.mark.parametrize("measure", [MODE, TOP], ids=["mode", "top"])
def test_choices_are_behind_by_rows(measure: object, counted: Counted) -> None:
    asked = question([measure])  # type: ignore[list-item]
    few, many = (plan_question(asked, catalog(counted=counted, rows=n), epsilon=1) for n in (1, 10))
    assert expected(few, N).rows
    assert width(N, many) == pytest.approx(10 * width(N, few))
    assert expected(few, call("add", N, TWO)).half_width is None


@pytest.mark.parametrize("counted", COUNTED)
def test_every_column_is_narrower_at_a_higher_price(counted: Counted) -> None:
    asked = question(EVERYTHING, DECLARED)
    cheap, dear = (plan_question(asked, catalog(counted=counted), epsilon=e) for e in (1, 4))
    for output in asked.post.outputs[1:]:
        assert width(output.scalar, dear, 10**6) < width(output.scalar, cheap, 10**6)
