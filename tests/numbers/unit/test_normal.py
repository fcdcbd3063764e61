# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from flint import arb, ctx
from numpy.polynomial import hermite_e
from scipy.integrate import quad

from sordino.numbers.normal import (
    _direct_tail,
    _moment_sum,
    _wide_sum,
    _wide_tail,
    hermite_tail,
    hockey_stick,
    second_moment,
    tail,
    total,
)

VARIANCES = [Fraction(1, 100), Fraction(1, 4), Fraction(1), Fraction(16), Fraction(999, 7)]


def reference(variance: Fraction, start: int) -> arb:
    with mpmath.workprec(260):
        spread = 2 * mpmath.mpf(variance.numerator) / variance.denominator
        last = abs(start) + int(30 * math.sqrt(variance)) + 40
        terms = [mpmath.exp(-(mpmath.mpf(n) ** 2) / spread) for n in range(start, last)]
        return arb(mpmath.nstr(mpmath.fsum(terms), 60))


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_sums_agree_with_summation_to_fifty_digits(variance: Fraction) -> None:
    with ctx.workprec(200):
        for start in (-2, 0, 1, 2, 1 + int(3 * math.sqrt(variance))):
            assert abs(tail(variance, start) / reference(variance, start) - 1) < 1e-50


@pytest.mark.parametrize("variance", [Fraction(4096), Fraction(10**5, 3)], ids=str)
@pytest.mark.parametrize("deviations", [0, 1, 4, 8, 20, 35])
def test_the_formula_for_many_terms_contains_the_sum_of_them(
    variance: Fraction, deviations: int
) -> None:
    start = 1 + int(deviations * math.sqrt(variance))
    with ctx.workprec(200):
        wide, exact = _wide_tail(variance, start), _direct_tail(variance, start)
        assert wide.contains(exact)
        assert wide.rel_accuracy_bits() > 25


def test_the_error_of_the_formula_for_many_terms_is_not_understated() -> None:
    """With a narrow Gaussian the remainder is visible, and the ball must still cover it."""
    with ctx.workprec(200):
        for variance in (Fraction(1, 2), Fraction(2), Fraction(9), Fraction(100)):
            for start in range(1, 4 + int(4 * math.sqrt(variance))):
                assert _wide_tail(variance, start).contains(_direct_tail(variance, start))


def test_the_formula_for_a_moment_of_many_terms_contains_the_sum_of_them() -> None:
    """With a narrow Gaussian the remainder is visible, and the ball must still cover it."""
    with ctx.workprec(200):
        for variance in (Fraction(1, 2), Fraction(2), Fraction(100), Fraction(4096)):
            assert _wide_sum(variance).contains(_moment_sum(variance, 1))
        assert _wide_sum(Fraction(4096)).rel_accuracy_bits() > 60


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(3, 2), Fraction(50)], ids=str)
def test_poisson_summation_gives_the_second_moment(variance: Fraction) -> None:
    with ctx.workprec(200):
        added = 2 * _moment_sum(variance, 2) / total(variance)
        assert abs(second_moment(variance) / added - 1) < 1e-50


@pytest.mark.parametrize("order", [3, 10])
def test_the_bound_on_hermite_polynomials_holds(order: int) -> None:
    polynomial = hermite_e.HermiteE.basis(order)

    def integrand(u: float) -> float:
        return float(abs(polynomial(u)) * math.exp(-u * u / 2))

    with ctx.workprec(100):
        for start in (0.0, 0.5, 2.0, 7.0):
            points = [*(start + k / 4 for k in range(60)), start + 35]
            exact = math.fsum(quad(integrand, low, high)[0] for low, high in pairwise(points))
            bound = float(hermite_tail(order, arb(start)).lower())
            assert exact <= bound * (1 + 1e-9)
            assert bound <= 5000 * exact


def test_poisson_summation_and_summation_meet() -> None:
    with ctx.workprec(160):
        for variance in (Fraction(1), Fraction(5, 2), Fraction(50)):
            assert total(variance).overlaps(1 + 2 * tail(variance, 1))
        assert float(total(Fraction(1, 4)).mid()) ** -1 == pytest.approx(
            0.7865707070419479, rel=1e-15, abs=0
        )


def test_far_tails_are_tiny_and_cost_nothing() -> None:
    with ctx.workprec(96):
        for variance in (Fraction(1), Fraction(2) ** 90):
            assert tail(variance, 50 * math.isqrt(int(variance))) < arb(10) ** -500


def test_the_continuous_profile_survives_cancellation() -> None:
    with ctx.workprec(400):
        small = hockey_stick(Fraction(1, 10**20), Fraction(1, 10**9))
        assert 0 < small < 1e-20
