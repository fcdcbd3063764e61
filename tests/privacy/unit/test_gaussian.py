# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import pytest

from sordino.privacy import ContinuousGaussian, classic_sigma


def gaussian(sigma: float | str) -> ContinuousGaussian:
    return ContinuousGaussian(variance=Fraction(str(sigma)) ** 2, squared_sensitivity=Fraction(1))


@pytest.mark.parametrize(
    ("epsilon", "sigma", "delta"),
    [
        (1, 1, 0.1269367375066439),
        (0.5, 2, 0.05244032328766966),
        (1, 4, 2.924272104856407e-6),
        (2, 1, 0.02092363582111373),
        (0.1, 10, 0.008751768145809594),
        (5, 0.5, 0.03228198475007282),
        (0, 1, 0.3829249225480262),
    ],
)
def test_the_profile(epsilon: float, sigma: float, delta: float) -> None:
    assert gaussian(sigma).delta(epsilon=epsilon) == pytest.approx(delta, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        (0.1, 1e-5, "30.7495661319775"),
        (0.1, 1e-6, "36.3046904261958"),
        (0.5, 1e-6, "8.05761848072504"),
        (1, 1e-5, "3.73063163481594"),
        (1, 1e-6, "4.22467888932684"),
        (2, 1e-6, "2.23047627118642"),
        (10, 1e-5, "0.499888619709009"),
    ],
)
def test_the_least_sigma(epsilon: float, delta: float, sigma: str) -> None:
    assert gaussian(sigma).delta(epsilon=epsilon) == pytest.approx(delta, rel=1e-12, abs=0)
    assert gaussian(sigma).epsilon(delta=delta) == pytest.approx(epsilon, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon"),
    [
        ("0.1", 1e-6, 1.994526900696338),
        ("0.5", 1e-6, 4.886554117462212),
        ("1", 1e-5, 6.572970067030332),
        ("0.01", 1e-9, 0.7682117127958606),
    ],
)
def test_epsilon_from_rho(rho: str, delta: float, epsilon: float) -> None:
    one = ContinuousGaussian(variance=1 / (2 * Fraction(rho)), squared_sensitivity=Fraction(1))
    assert one.rho == float(rho)
    assert one.epsilon(delta=delta) == pytest.approx(epsilon, rel=1e-14, abs=0)


@pytest.mark.parametrize("sigma", ["1e-5", "0.1", "1", "1e6", "1e20"])
@pytest.mark.parametrize("delta", [1e-100, 1e-9, 0.01])
def test_epsilon_is_the_least_double_whose_delta_fits(sigma: str, delta: float) -> None:
    one = gaussian(sigma)
    epsilon = one.epsilon(delta=delta)
    assert one.delta(epsilon=epsilon) <= delta
    if epsilon:
        assert one.delta(epsilon=math.nextafter(epsilon, 0)) > delta


def test_far_out_delta_is_the_least_positive_double_and_close_in_at_most_one() -> None:
    assert gaussian(1).delta(epsilon=10**100) == 5e-324
    assert gaussian("1e-100").delta(epsilon=1) == 1.0
    assert gaussian(1).epsilon(delta=0) == math.inf


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        (0.1, 1e-5, 48.448052626054),
        (0.1, 1e-6, 52.988025268505),
        (0.5, 1e-6, 10.597605053701),
        (Fraction(9999999, 10**7), 1e-5, 4.8448052626054),
    ],
)
def test_the_classic_formula(epsilon: float, delta: float, sigma: float) -> None:
    assert classic_sigma(sensitivity=1, epsilon=epsilon, delta=delta) == pytest.approx(
        sigma, rel=2e-7, abs=0
    )
    assert classic_sigma(sensitivity=2, epsilon=epsilon, delta=delta) > sigma


def test_the_classic_formula_is_refused_where_it_was_not_proved() -> None:
    for epsilon in (1, 1.0, 10):
        with pytest.raises(ValueError, match="proved for epsilon below 1 only"):
            classic_sigma(sensitivity=1, epsilon=epsilon, delta=1e-5)


def test_the_classic_formula_is_never_better_than_exact_calibration() -> None:
    for epsilon in (0.01, 0.1, 0.5, 0.99):
        for delta in (1e-9, 1e-5, 0.01, 0.3):
            sigma = classic_sigma(sensitivity=1, epsilon=epsilon, delta=delta)
            assert gaussian(repr(sigma)).delta(epsilon=epsilon) < delta


def test_a_loss_is_made_of_exact_numbers_only() -> None:
    for variance, squared in ((1.0, Fraction(1)), (Fraction(1), 1), (Fraction(0), Fraction(1))):
        with pytest.raises(ValueError, match="must be a positive Fraction"):
            ContinuousGaussian(variance=variance, squared_sensitivity=squared)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon"),
    [
        ("0.1", "1e-6", 1.994526900696338),
        ("0.5", "1e-6", 4.886554117462212),
        ("1", "1e-5", 6.572970067030332),
        ("0.01", "1e-9", 0.7682117127958606),
    ],
)
def test_the_epsilon_of_a_rho_is_less_for_gaussian_noise_than_for_all_noise(
    rho: str, delta: str, epsilon: float
) -> None:
    loss = ContinuousGaussian(variance=Fraction(1), squared_sensitivity=2 * Fraction(rho))
    assert loss.epsilon(delta=Fraction(delta)) == pytest.approx(epsilon, rel=1e-12, abs=0)
