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
from sordino.query import tree
from sordino.query.types import Type
from tests.plan.unit import questions

PLAN = questions.plan_question(
    questions.question([questions.COUNT, questions.SUM, questions.AVG], questions.DECLARED),
    questions.catalog(rows=4),
    epsilon=1,
)
N, TOTAL, MEAN = (tree.MeasureRef(at, Type.REAL) for at in range(3))
TWO, NONE = tree.Literal(2, Type.INTEGER), tree.Literal(None, Type.INTEGER)


def call(operation: str, *arguments: tree.PostScalar) -> tree.PostCall:
    return tree.PostCall(operation, arguments, Type.REAL)


def width(scalar: tree.PostScalar, plan: Plan = PLAN, rows: float | None = None) -> float:
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
    units = questions.plan_question(
        questions.question([questions.UNITS]), questions.catalog(), epsilon=1
    )
    assert width(N, units) == noise(units, 0, Fraction(95, 100))  # it is whole already


def test_a_sum_of_whole_numbers_is_shown_whole_too() -> None:
    whole = tree.Measure(tree.Kind.SUM, questions.AGE, questions.AGE.range)
    asked = questions.question([whole])
    ref = tree.MeasureRef(0, Type.INTEGER)
    asked = replace(asked, post=tree.Post((tree.Output("s", ref),)))
    plan = questions.plan_question(asked, questions.catalog(rows=4), epsilon=1)
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
def test_simple_arithmetic_scales_error_bars(scalar: tree.PostScalar, factor: float) -> None:
    assert width(scalar) == pytest.approx(factor * width(N))


def test_rounding_adds_what_it_takes() -> None:
    assert width(call("round", N, TWO)) == pytest.approx(width(N) + 0.005)
    assert width(call("floor", N)) == pytest.approx(width(N) + 1)


@pytest.mark.parametrize(
    "scalar",
    [call("div", TOTAL, N), call("div", TWO, N), call("mul", N, TOTAL), call("mul", N, NONE)],
)
def test_other_arithmetic_depends_on_the_answer(scalar: tree.PostScalar) -> None:
    found = expected(PLAN, scalar)
    assert found.half_width is None
    assert found.about == "it depends on the answer"


def test_public_columns_have_no_error() -> None:
    key = tree.KeyRef(0, Type.TEXT)
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
    plan = questions.plan_question(
        questions.question([questions.VARIANCE, questions.STDDEV]), questions.catalog(), epsilon=1
    )
    first, second = tree.MeasureRef(0, Type.REAL), tree.MeasureRef(1, Type.REAL)
    assert expected(plan, first).half_width is None
    assert width(first, plan, 1) == 3600
    assert width(second, plan, 1) == 60
    assert width(first, plan, 10**6) < 3
    assert width(second, plan, 10**6) == pytest.approx(math.sqrt(width(first, plan, 10**6)))


@pytest.mark.parametrize("measure", [questions.MEDIAN, questions.LEAST], ids=["median", "least"])
def test_quantiles_are_off_in_ranks_or_by_a_part_of_the_range(measure: tree.Measure) -> None:
    plan = questions.plan_question(
        questions.question([measure]), questions.catalog(rows=4), epsilon=1
    )
    ranks = expected(plan, N)
    assert ranks.rows
    assert ranks.half_width is not None
    assert width(N, plan, 10**6) == pytest.approx(120 * ranks.half_width / 10**6)
    assert width(N, plan, 1) == 120
    dearer = questions.plan_question(
        questions.question([measure]), questions.catalog(rows=4), epsilon=2
    )
    assert expected(dearer, N).half_width == pytest.approx(ranks.half_width / 2)


@pytest.mark.parametrize("counted", questions.COUNTED)
@pytest.mark.parametrize("measure", [questions.MODE, questions.TOP], ids=["mode", "top"])
def test_choices_are_behind_by_rows(measure: tree.Measure, counted: Counted) -> None:
    asked = questions.question([measure])
    few, many = (
        questions.plan_question(asked, questions.catalog(counted=counted, rows=n), epsilon=1)
        for n in (1, 10)
    )
    assert expected(few, N).rows
    assert width(N, many) == pytest.approx(10 * width(N, few))
    assert expected(few, call("add", N, TWO)).half_width is None


@pytest.mark.parametrize("counted", questions.COUNTED)
def test_every_column_is_narrower_at_a_higher_price(counted: Counted) -> None:
    asked = questions.question(questions.EVERYTHING, questions.DECLARED)
    cheap, dear = (
        questions.plan_question(asked, questions.catalog(counted=counted), epsilon=e)
        for e in (1, 4)
    )
    for output in asked.post.outputs[1:]:
        assert width(output.scalar, dear, 10**6) < width(output.scalar, cheap, 10**6)
