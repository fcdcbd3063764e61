# SPDX-License-Identifier: Apache-2.0
"""Azuma's inequality, against exact tails of all walks of a few steps."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from sordino.theorems import advanced, azuma, azuma_threshold
from tests.privacy.theorems.reference import agrees, real


@pytest.mark.parametrize(("times", "largest", "drift", "above"),
                         [(100, 1, 0, 30), (7, 0.5, -0.25, 1), (1, 3, 2, 2.5)])  # fmt: skip
def test_it_is_the_formula(times: int, largest: float, drift: float, above: float) -> None:
    ahead = real(above) - times * real(drift)
    exact = mp.exp(-(ahead**2) / (2 * times * real(largest) ** 2))
    assert agrees(azuma(times=times, largest=largest, drift=drift, above=above), exact, 15)


@pytest.mark.parametrize("times", range(1, 9))
@pytest.mark.parametrize("up", [Fraction(1, 2), Fraction(2, 3), Fraction(1, 10)])
def test_no_walk_of_two_steps_is_above_it(times: int, up: Fraction) -> None:
    drift = 2 * up - 1
    tail: dict[int, Fraction] = {}
    for walk in itertools.product((1, -1), repeat=times):
        ups = walk.count(1)
        tail[sum(walk)] = tail.get(sum(walk), Fraction(0)) + up**ups * (1 - up) ** (times - ups)
    for above in range(-times, times + 1):
        exact = sum((p for end, p in tail.items() if end > above), Fraction(0))
        assert exact <= azuma(times=times, largest=1, drift=drift, above=above)


def test_the_steps_may_depend_on_those_before() -> None:
    """A walk that stops when it is ahead, and else takes steps of mean 0, is covered too."""

    def tail(left: int, here: int, above: int) -> Fraction:
        if left == 0 or here == 2:
            return Fraction(here > above)
        return (tail(left - 1, here + 1, above) + tail(left - 1, here - 1, above)) / 2

    for times, above in itertools.product(range(1, 10), range(3)):
        assert tail(times, 0, above) <= azuma(times=times, largest=1, above=above)


@settings(max_examples=60)
@given(
    st.integers(1, 10**6),
    st.floats(1e-6, 1e6),
    st.integers(-8, 8),
    st.floats(1e-300, 0.999),
)
def test_the_threshold_is_its_inverse(
    times: int, largest: float, eighths: int, slack: float
) -> None:
    drift = Fraction(repr(largest)) * Fraction(eighths, 8)
    above = azuma_threshold(times=times, largest=largest, drift=drift, slack=slack)
    assert azuma(times=times, largest=largest, drift=drift, above=above) <= slack * (1 + 1e-12)


def test_advanced_composition_is_a_threshold() -> None:
    drift = Fraction("0.1") * Fraction(math.expm1(0.1))
    found = azuma_threshold(times=100, largest=0.1, drift=drift, slack=1e-6)
    assert found == pytest.approx(advanced(epsilon=0.1, times=100, slack=1e-6).epsilon, rel=1e-14)


def test_below_the_drift_nothing_is_said() -> None:
    assert azuma(times=5, largest=1, drift=0.5, above=2.5) == 1.0
    assert azuma(times=5, largest=1, above=-3) == 1.0


@pytest.mark.parametrize(("times", "largest", "drift", "message"), [
    (0, 1, 0, "times must be a positive whole number"),
    (3, 0, 0, "largest must be a positive number"),
    (3, 1, -2, "drift must be at least -largest"),
    (3, 1, math.nan, "drift must be a finite number"),
])  # fmt: skip
def test_what_cannot_be_is_refused(times: int, largest: float, drift: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        azuma(times=times, largest=largest, drift=drift, above=1)
