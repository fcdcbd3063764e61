# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import pytest

import sordino as so
from sordino.privacy import losses
from sordino.privacy.fit import calibrate
from sordino.privacy.loss import Loss


def larger(x: Fraction) -> Fraction:
    """The next decimal of six digits."""
    digits = Fraction(10) ** (len(str(int(x))) - 6 if x >= 1 else -6)
    while x / digits >= 10**6:
        digits *= 10
    while x / digits < 10**5:
        digits /= 10
    return x + digits


def test_the_largest_epsilon_per_query_for_a_total() -> None:
    found = calibrate(
        lambda epsilon: so.Laplace(sensitivity=1, epsilon=epsilon), times=100, epsilon=1, delta=1e-6
    )
    assert (100 * found.loss).epsilon(delta=1e-6) <= 1
    more = so.Laplace(sensitivity=1, epsilon=larger(found.epsilon))
    assert (100 * more.loss).delta(epsilon=1) > 1e-6
    assert found.epsilon > Fraction(1, 50)  # basic composition would give 1/100


def test_the_least_sigma_for_a_total() -> None:
    found = calibrate(lambda s: losses.gaussian(sigma=s), times=1000, epsilon=2.9217, delta=1e-6)
    sigma = float(found.parts[0][0].variance) ** 0.5  # type: ignore[attr-defined]  # a Gaussian
    assert sigma == pytest.approx(50, rel=1e-4)
    assert (1000 * found).delta(epsilon=2.9217) <= 1e-6


def test_a_pure_target_is_met_exactly() -> None:
    found = calibrate(lambda e: losses.pure(epsilon=e), times=7, epsilon=1)
    assert isinstance(found, Loss)
    assert found.pure == Fraction(142857, 10**6)


def test_a_target_of_rho_is_met() -> None:
    found = calibrate(lambda s: so.Gaussian(sensitivity=1, sigma=s), times=10, rho=0.5)
    assert found.sigma == pytest.approx(10**0.5, rel=1e-5)
    assert (10 * found.loss).rho <= 0.5


def test_a_target_is_needed_and_one_only() -> None:
    for target in ({}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": 0.1}):
        with pytest.raises(TypeError, match="target"):
            calibrate(lambda e: losses.pure(epsilon=e), **target)


def test_a_target_that_nothing_fits_is_refused() -> None:
    with pytest.raises(ValueError, match="no parameter between"):
        calibrate(lambda s: losses.gaussian(sigma=s), epsilon=1)  # no Gaussian is pure


def test_what_has_no_loss_is_refused() -> None:
    with pytest.raises(TypeError, match="a mechanism or a loss"):
        calibrate(lambda _: 3, epsilon=1)  # type: ignore[type-var]  # wrong on purpose


@pytest.mark.parametrize("times", [0, -1, 1.5, True])
def test_times_must_be_a_positive_whole_number(times: object) -> None:
    with pytest.raises((TypeError, ValueError), match="times must be a positive whole number"):
        calibrate(
            lambda e: losses.pure(epsilon=e),
            epsilon=1,
            times=times,  # type: ignore[arg-type]  # wrong on purpose
        )
