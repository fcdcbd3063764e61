# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import pytest

from sordino.privacy import ContinuousGaussian
from sordino.privacy.concentrated import delta_from_rho


@pytest.mark.parametrize(
    ("rho", "epsilon", "delta"),
    [
        ("0.1", "1", 0.008933245771818362),
        ("0.5", "3", 0.005143184063862149),
        ("0.5", "5", 2.896122809384795e-6),
        ("1", "6", 2.315377085060476e-4),
        ("0.01", "0.5", 3.505878060052391e-5),
    ],
)
def test_the_best_order_is_found(rho: str, epsilon: str, delta: float) -> None:
    found = delta_from_rho(rho=Fraction(rho), epsilon=Fraction(epsilon))
    assert found == pytest.approx(delta, rel=1e-14, abs=0)


def test_it_holds_for_the_gaussian_of_the_same_rho_and_costs_little() -> None:
    for rho in ("1e-4", "0.01", "0.5", "20"):
        gaussian = ContinuousGaussian(
            variance=1 / (2 * Fraction(rho)), squared_sensitivity=Fraction(1)
        )
        for target in (1e-4, 1e-9):
            epsilon = gaussian.epsilon(delta=target)
            assert (
                target <= delta_from_rho(rho=Fraction(rho), epsilon=Fraction(epsilon)) < 30 * target
            )


def test_extreme_arguments_give_probabilities() -> None:
    for rho in (Fraction(1, 10**30), Fraction(1), Fraction(10**30)):
        for epsilon in (Fraction(0), Fraction(1, 10**30), Fraction(1), Fraction(10**40)):
            assert 0 <= delta_from_rho(rho=rho, epsilon=epsilon) <= 1
