# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.query.operations import apply, operate
from sordino.query.ranges import Uncertain, exactly
from sordino.query.types import Range, Type, Value

REAL, LOGIC = Type.REAL, Type.BOOLEAN


def near(value: float, low: float, high: float) -> Uncertain:
    return Uncertain(value, Range(Fraction(low), Fraction(high)))


NUMBERS = st.integers(-40, 40).map(lambda n: n / 4)


@st.composite
def uncertain(draw: st.DrawFn) -> tuple[Uncertain, float]:
    """Return a noisy number, and an exact one that its interval holds."""
    value, exact, spare = draw(NUMBERS), draw(NUMBERS), draw(st.integers(0, 8)) / 4
    return near(value, min(value, exact) - spare, max(value, exact) + spare), exact


@given(
    st.sampled_from(["add", "sub", "mul", "div", "greatest", "least", "nullif"]),
    uncertain(),
    uncertain(),
)
@settings(max_examples=300)
def test_intervals_of_two_numbers_hold_what_exact_ones_give(
    operation: str, left: tuple[Uncertain, float], right: tuple[Uncertain, float]
) -> None:
    found = operate(operation, [left[0], right[0]], REAL)
    exact = apply(operation, [left[1], right[1]], REAL)
    if found.ends is not None:
        assert isinstance(exact, float)
        assert found.ends.low - Fraction(1, 10**9) <= Fraction(exact)
        assert Fraction(exact) <= found.ends.high + Fraction(1, 10**9)


@given(
    st.sampled_from(["neg", "abs", "floor", "ceil", "to_real"]),
    uncertain(),
)
def test_intervals_of_one_number_hold_what_an_exact_one_gives(
    operation: str, given_: tuple[Uncertain, float]
) -> None:
    found = operate(operation, [given_[0]], REAL)
    exact = apply(operation, [given_[1]], REAL)
    assert found.ends is not None
    assert isinstance(exact, float)
    assert found.ends.low <= Fraction(exact) <= found.ends.high


@given(uncertain(), st.integers(0, 2))
def test_rounding_keeps_the_exact_number_inside(
    given_: tuple[Uncertain, float], digits: int
) -> None:
    found = operate("round", [given_[0], exactly(digits)], REAL)
    exact = apply("round", [given_[1], digits], REAL)
    assert found.ends is not None
    assert isinstance(exact, float)
    assert abs(Fraction(exact) - min(max(Fraction(exact), found.ends.low), found.ends.high)) < 1e-9


@given(
    st.sampled_from(["lt", "lte", "gt", "gte", "eq", "neq"]),
    uncertain(),
    uncertain(),
    uncertain(),
    uncertain(),
)
@settings(max_examples=300)
def test_a_case_holds_what_the_exact_condition_would_choose(
    operation: str,
    left: tuple[Uncertain, float],
    right: tuple[Uncertain, float],
    first: tuple[Uncertain, float],
    second: tuple[Uncertain, float],
) -> None:
    condition = operate(operation, [left[0], right[0]], LOGIC)
    found = operate("case", [condition, first[0], second[0]], REAL)
    truth = apply(operation, [left[1], right[1]], LOGIC)
    exact = first[1] if truth else second[1]
    assert condition.truth is not None
    assert truth in condition.truth
    assert found.ends is not None
    assert found.ends.low <= Fraction(exact) <= found.ends.high


def test_nothing_is_said_of_a_quotient_whose_divisor_may_be_0() -> None:
    assert operate("div", [near(1, 0, 2), near(1, 0, 2)], REAL).ends is None
    assert operate("div", [near(1, 0, 2), near(3, 2, 4)], REAL).ends == Range(
        Fraction(0), Fraction(1)
    )


def test_what_is_public_stays_exact() -> None:
    assert operate("add", [exactly(1), exactly(2)], Type.INTEGER) == exactly(3)


def test_a_missing_key_is_skipped_and_a_noisy_number_is_there() -> None:
    found = operate("coalesce", [exactly(None), near(1, 0, 2), exactly(9)], REAL)
    assert found.ends == Range(Fraction(0), Fraction(2))
    assert operate("is_null", [near(1, 0, 2)], LOGIC).truth == frozenset({False})


def test_of_a_quotient_that_may_be_missing_a_default_says_nothing() -> None:
    ratio = operate("div", [near(1, 0, 2), near(1, 0, 2)], REAL)
    assert operate("coalesce", [ratio, exactly(0.0)], REAL).ends is None


@pytest.mark.parametrize(
    ("operation", "left", "right", "truth"),
    [
        ("and", {True}, {True, False}, {True, False}),
        ("and", {False}, {True, False}, {False}),
        ("or", {True}, {True, False}, {True}),
    ],
)
def test_conditions_combine_by_what_they_can_be(
    operation: str, left: set[bool], right: set[bool], truth: set[bool]
) -> None:
    sides = [Uncertain(True, truth=frozenset(left)), Uncertain(True, truth=frozenset(right))]
    assert operate(operation, sides, LOGIC).truth == frozenset(truth)


@pytest.mark.parametrize("literals", [(5.0,), (5.0, 7.0)])
def test_a_number_far_from_all_literals_is_not_among_them(literals: tuple[Value, ...]) -> None:
    found = operate("in", [near(1, 0, 2), *map(exactly, literals)], LOGIC)
    assert found.truth == frozenset({False})


@given(uncertain())
@settings(max_examples=200)
def test_a_cast_to_whole_numbers_holds_what_the_exact_cast_gives(
    x: tuple[Uncertain, float],
) -> None:
    found = operate("to_integer", [x[0]], Type.INTEGER)
    exact = apply("to_integer", [x[1]], Type.INTEGER)
    assert found.ends is not None
    assert isinstance(exact, int)
    assert found.ends.low <= exact <= found.ends.high
