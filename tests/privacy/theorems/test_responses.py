# SPDX-License-Identifier: Apache-2.0
"""Sums of losses in doubles are upper bounds, and close ones."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.numbers.balls import round_up
from sordino.privacy.repeated import exact_profile, subset_sums
from sordino.privacy.theorems import responses
from sordino.privacy.theorems.responses import count_lies, listed, on_grid
from sordino.theorems import optimal

Steps = dict[Fraction, int]
STEPS = st.dictionaries(
    st.integers(1, 40).map(lambda n: Fraction(n, 20)), st.integers(1, 5), min_size=1, max_size=5
)


def exact(steps: Steps, at: Fraction) -> float:
    sums = subset_sums(steps)
    assert sums is not None
    profile = exact_profile(steps, sums)
    return round_up(lambda: profile(at))


def total(steps: Steps) -> Fraction:
    return sum((n * epsilon for epsilon, n in steps.items()), start=Fraction(0))


@settings(deadline=None, max_examples=60)
@given(STEPS, st.fractions(0, 1, max_denominator=50))
def test_a_grid_that_holds_all_losses_is_exact_but_for_rounding(
    steps: Steps, share: Fraction
) -> None:
    at = share * total(steps)
    found = on_grid(steps, reach=600.0).delta(at)
    true = exact(steps, at)
    assert true <= found
    assert found == pytest.approx(true, rel=1e-9, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(STEPS, st.fractions(0, 1, max_denominator=50))
def test_a_coarse_grid_gives_an_upper_bound(steps: Steps, share: Fraction) -> None:
    at = share * total(steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(responses, "_MOST_CELLS", 97)
        patch.setattr(responses, "_FEWEST_CELLS", 97)
        patch.setattr(responses, "_step", lambda _, width, __: Fraction(width / 97))
        found = on_grid(steps, reach=50.0).delta(at)
    assert exact(steps, at) <= found


def test_the_error_of_a_grid_falls_with_the_square_of_its_step() -> None:
    steps, at = {Fraction(n, 100): 20 for n in range(1, 9)}, Fraction(2)
    true, errors = exact(steps, at), []
    for cells in (500, 1000, 2000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(responses, "_step", lambda _, width, __, n=cells: Fraction(width / n))
            errors.append(on_grid(steps, reach=60.0).delta(at) / true - 1)
    assert 0 < errors[2] < errors[1] / 2 < errors[0] / 4
    assert errors[2] < 3e-3


@settings(deadline=None, max_examples=30)
@given(STEPS, st.fractions(0, 1, max_denominator=50))
def test_listing_is_exact_but_for_rounding(steps: Steps, share: Fraction) -> None:
    few = dict(list(steps.items())[:3])
    at = share * total(few)
    found, true = listed(few).delta(at), exact(few, at)
    assert true <= found
    assert found == pytest.approx(true, rel=1e-10, abs=1e-12)


def test_too_many_different_epsilons_are_rounded_up_and_merged() -> None:
    steps = {Fraction(10**6 + n, 10**8): 1 for n in range(500)}
    least, most = (
        optimal(epsilon=epsilon, times=500, at_epsilon=0.5).delta for epsilon in (0.01, 0.01002)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(responses, "_MOST_CLASSES", 10)
        found = on_grid(steps, reach=60.0).delta(Fraction(1, 2))
    assert least < found < most


@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10**6), Fraction(1, 10), Fraction(3), Fraction(50)]
)
@pytest.mark.parametrize("times", [1, 7, 1000, 10**6])
def test_all_numbers_of_lies_together_are_certain(epsilon: Fraction, times: int) -> None:
    law = count_lies(epsilon, times, reach=60.0)
    assert law.masses.sum() + law.fewer == pytest.approx(1, rel=1e-9)
    assert law.first >= 0
    assert law.first + len(law.masses) <= times + 1
    assert np.all(law.masses >= 0)


def test_sums_that_are_too_many_are_not_counted() -> None:
    assert subset_sums({Fraction(2**n): 1 for n in range(20)}) is None
    assert subset_sums({Fraction(1): 10**6}) is None
