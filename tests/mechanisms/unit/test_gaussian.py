# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from sordino import Gaussian
from tests.support.tape import Tape, replay

BYTES = np.random.default_rng(6).bytes(40_000)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        (0.1, 1e-5, 30.7495661319775),
        (0.1, 1e-6, 36.3046904261958),
        (0.5, 1e-6, 8.05761848072504),
        (1, 1e-5, 3.73063163481594),
        (1, 1e-6, 4.22467888932684),
        (2, 1e-6, 2.23047627118642),
        (10, 1e-5, 0.499888619709009),
    ],
)
def test_on_reals_sigma_is_that_of_the_exact_profile(
    epsilon: float, delta: float, sigma: float
) -> None:
    m = Gaussian(sensitivity=1.0, epsilon=epsilon, delta=delta)
    assert sigma <= m.sigma <= sigma * (1 + 1e-8)


@pytest.mark.parametrize("sensitivity", [1, 3, 100, 0.5, 1e-9])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-9), (1, 1e-6), (8, 1e-5), (1, 1e-30)])
def test_epsilon_and_delta_are_kept(sensitivity: float, epsilon: float, delta: float) -> None:
    m = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta)
    assert m.loss.delta(epsilon=epsilon) <= delta
    assert 0.99 * epsilon < m.loss.epsilon(delta=delta) <= epsilon


@pytest.mark.parametrize("rho", [0.3, 1e-4, 5])
@pytest.mark.parametrize("sensitivity", [1, 7, 0.5, 2.0])
@pytest.mark.parametrize("coordinates", [None, 1, 100])
def test_rho_is_met_exactly(rho: float, sensitivity: float, coordinates: int | None) -> None:
    m = Gaussian(sensitivity=sensitivity, rho=rho, coordinates=coordinates)
    assert m.loss.rho == rho
    assert Fraction(m.noise.squared_sensitivity) / (2 * m.noise.variance) == Fraction(str(rho))


def test_sigma_is_the_noise_that_was_asked_for() -> None:
    m = Gaussian(sensitivity=2, sigma=3)
    assert m.sigma == 3.0
    assert m.variance == 9
    assert m.noise.squared_sensitivity == 4
    real = Gaussian(sensitivity=0.5, sigma=0.3)
    assert real.variance == Fraction(9, 100)
    assert real.noise.variance * real.grid**2 == Fraction(9, 100)
    assert real.loss.rho == pytest.approx(0.25 / 0.18, rel=1e-6, abs=0)


def test_exactly_one_way_to_say_how_much_noise() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "none of them"),
        ({"epsilon": 1}, "epsilon without delta"),
        ({"delta": 1e-6}, "delta without epsilon"),
        ({"epsilon": 1, "delta": 1e-6, "rho": 1}, "epsilon, delta and rho"),
        ({"rho": 1, "sigma": 1}, "rho and sigma"),
        ({"rho": 1, "delta": 1e-6}, "delta and rho"),
    ]
    for arguments, got in wrong:
        with pytest.raises(TypeError, match=r"^a Gaussian needs ") as caught:
            Gaussian(sensitivity=1, **arguments)
        needs = "a Gaussian needs epsilon and delta together, or rho, or sigma"
        assert str(caught.value) == f"{needs}; got {got}"


def test_declaring_one_coordinate_allows_less_noise_for_large_shifts() -> None:
    free = Gaussian(sensitivity=3, epsilon=1, delta=1e-6)
    scalar = Gaussian(sensitivity=3, epsilon=1, delta=1e-6, coordinates=1)
    assert scalar.variance < free.variance
    with replay(Tape(BYTES)), pytest.raises(ValueError, match="at most 1 values at a time"):
        scalar.release([1, 2])


def test_real_values_have_a_limit_on_coordinates() -> None:
    with pytest.raises(ValueError, match="coordinates must be at most 65536 for real values"):
        Gaussian(sensitivity=1.0, rho=1, coordinates=65_537)
    assert Gaussian(sensitivity=1, rho=1, coordinates=65_537).noise.coordinates == 65_537
    m = Gaussian(sensitivity=1.0, rho=1)
    with replay(Tape(BYTES)), pytest.raises(ValueError, match="at most 65536 values at a time"):
        m.release(np.zeros(65_537))


@pytest.mark.parametrize("sigma", [0.1, 1, 7.3, 64, 500, 8000, 10**6, 2**49])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-12])
@pytest.mark.parametrize("coordinates", [1, 1000])
def test_accuracy_covers_and_one_less_does_not(
    sigma: float, confidence: float, coordinates: int
) -> None:
    half_width = Gaussian(sensitivity=1, sigma=sigma).accuracy(
        confidence=confidence, coordinates=coordinates
    )
    with mpmath.workdps(40):
        wanted = 1 - mpmath.mpf(str(confidence)) ** (mpmath.mpf(1) / coordinates)
        assert outside(sigma, int(half_width)) <= wanted * (1 + mpmath.mpf(10) ** -12)
        if half_width:
            assert outside(sigma, int(half_width) - 1) > wanted


def outside(sigma: float, k: int) -> mpmath.mpf:
    """P(|X| > k): summed for small sigma, from the density between half-integers for large."""
    s = mpmath.mpf(str(sigma))
    if sigma <= 64:
        weights = [mpmath.exp(-(mpmath.mpf(n) ** 2) / (2 * s * s)) for n in range(int(40 * s) + 2)]
        return 2 * mpmath.fsum(weights[k + 1 :]) / (2 * mpmath.fsum(weights) - 1)
    edge = (k + mpmath.mpf(1) / 2) / s
    # The midpoint rule's first correction, a 24th of the derivative at the edge.
    slope = edge * mpmath.npdf(edge) / s**2
    return 2 * (mpmath.erfc(edge / mpmath.sqrt(2)) / 2 - slope / 24)


def test_accuracy_on_reals_is_that_of_the_normal_distribution() -> None:
    m = Gaussian(sensitivity=1.0, sigma=1)
    assert m.accuracy(confidence=0.95) == pytest.approx(1.959963984540054, rel=1e-11, abs=0)
    assert m.accuracy(confidence=0.95) > 1.959963984540054


@pytest.mark.parametrize("sensitivity", [1, 1.0])
@pytest.mark.parametrize("half_width", [3, 25])
def test_within_is_the_least_epsilon_that_is_accurate_enough(
    sensitivity: float, half_width: float
) -> None:
    epsilon = Gaussian.within(half_width, confidence=0.95, sensitivity=sensitivity, delta=1e-6)

    def width(epsilon: float) -> float:
        m = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=1e-6)
        return m.accuracy(confidence=0.95)

    assert width(epsilon) <= half_width < width(math.nextafter(epsilon, 0))


def test_within_refuses_what_needs_no_epsilon_or_has_none() -> None:
    with pytest.raises(ValueError, match="this delta alone allows such noise"):
        Gaussian.within(10**6, confidence=0.95, sensitivity=1, delta=0.5)


def test_a_mechanism_prints_as_it_was_typed() -> None:
    for text in (
        "Gaussian(sensitivity=1, epsilon=1, delta=1e-06)",
        "Gaussian(sensitivity=2.0, rho=0.5)",
        "Gaussian(sensitivity=2, sigma=3.5, coordinates=4)",
    ):
        assert repr(eval(text, {"Gaussian": Gaussian})) == text  # noqa: S307 - ours


def test_sigmas_that_are_not_drawn_are_refused_before_any_data_is_seen() -> None:
    both = {"epsilon": 1e-20, "delta": 1e-20}
    for sensitivity, arguments, message in (
        (1, {"sigma": 2**51}, "sigma is too large, got 2251799813685248"),
        (1, {"sigma": 1e-9}, "sigma is too small, got 1e-09"),
        (1, {"rho": 1e-40}, "rho is too small for this sensitivity, got 1e-40"),
        (1.0, {"rho": 1e-40}, "rho is too small for this sensitivity, got 1e-40"),
        (1, {"rho": 1e40}, "rho is too large for this sensitivity, got 1e+40"),
        (1, both, "epsilon and delta are too small for this sensitivity, got 1e-20 and 1e-20"),
    ):
        with pytest.raises(ValueError, match=" too ") as caught:
            Gaussian(sensitivity=sensitivity, **arguments)
        drawn = "noise is drawn at sigmas from 2**-20 to 2**50 steps of the grid"
        assert str(caught.value) == f"{message}; {drawn}"


def test_what_was_not_asked_for_is_none_and_the_loss_knows_it() -> None:
    m = Gaussian(sensitivity=1, rho=0.5)
    assert (m.rho, m.epsilon, m.delta, m.coordinates) == (Fraction(1, 2), None, None, None)
    assert m.loss.rho == 0.5
    assert m.loss.epsilon(delta=1e-6) > 0


def test_scalars_and_arrays_get_the_same_noise_from_the_same_bits() -> None:
    for m in (Gaussian(sensitivity=1, sigma=10), Gaussian(sensitivity=1.0, sigma=10)):
        with replay(Tape(BYTES)):
            scalar = m.release(5)
        with replay(Tape(BYTES)):
            assert m.release(np.array([5])).tolist() == [scalar]
