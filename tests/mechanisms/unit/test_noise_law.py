# SPDX-License-Identifier: Apache-2.0
"""The law of the noise and its moments, against sums of it with forty digits."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino import Gaussian, Laplace
from sordino.mechanisms.additive import NoiseLaw
from sordino.mechanisms.keys.optimal import GaussianNoise, LaplaceNoise

ETAS = [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)]
VARIANCES = [
    Fraction(1, 1000), Fraction(1, 9), Fraction(99, 100), Fraction(1), Fraction(5, 2),
    Fraction(4095), Fraction(4096), Fraction(10**5, 3),
]  # fmt: skip
NOISES: list[LaplaceNoise | GaussianNoise] = [
    *map(LaplaceNoise, ETAS),
    *map(GaussianNoise, VARIANCES),
]


def weights(noise: LaplaceNoise | GaussianNoise) -> dict[int, Any]:
    """The law up to a constant, as far as anything is left of it with forty digits."""
    if isinstance(noise, LaplaceNoise):
        rate, reach = noise.eta, int(110 / noise.eta) + 2
        exponents = {x: -rate * abs(x) for x in range(-reach, reach + 1)}
    else:
        reach = math.isqrt(int(220 * noise.variance)) + 3
        exponents = {x: -(x * x) / (2 * noise.variance) for x in range(-reach, reach + 1)}
    return {x: mpmath.exp(mpmath.mpf(e.numerator) / e.denominator) for x, e in exponents.items()}


def is_just_above(found: float, exact: Any) -> bool:
    """Whether a double that is read as it prints is the least one that is no smaller."""
    return bool(exact <= mpmath.mpf(repr(found)) <= exact * (1 + mpmath.mpf(2) ** -51))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_moments_are_the_least_doubles_above_those_of_the_law(
    noise: LaplaceNoise | GaussianNoise,
) -> None:
    law = NoiseLaw(noise, Fraction(1))
    with mpmath.workdps(45):
        weight = weights(noise)
        whole = mpmath.fsum(weight.values())
        size = mpmath.fsum(abs(x) * w for x, w in weight.items()) / whole
        square = mpmath.fsum(x * x * w for x, w in weight.items()) / whole
        assert is_just_above(law.expected_error(rounds=False), size)
        assert is_just_above(law.variance, square)
        assert is_just_above(law.std, mpmath.sqrt(square))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_law_is_that_of_the_weights(noise: LaplaceNoise | GaussianNoise) -> None:
    law = NoiseLaw(noise, Fraction(1))
    with mpmath.workdps(45):
        weight = weights(noise)
        whole = mpmath.fsum(weight.values())
        for x in (0, 1, -1, 5, -17, 200):
            if x in weight:
                assert is_just_above(law.pmf(x), weight[x] / whole)
                below = mpmath.fsum(w for y, w in weight.items() if y <= x)
                assert law.cdf(x) == pytest.approx(float(below / whole), rel=1e-14)


def test_a_step_scales_the_law() -> None:
    noise, step = LaplaceNoise(Fraction(1, 5)), Fraction(1, 8)
    plain, fine = NoiseLaw(noise, Fraction(1)), NoiseLaw(noise, step)
    assert fine.variance == pytest.approx(plain.variance / 64, rel=1e-15)
    assert fine.std == pytest.approx(plain.std / 8, rel=1e-15)
    assert fine.expected_error(rounds=True) == pytest.approx(
        plain.expected_error(rounds=False) / 8 + 1 / 16, rel=1e-15
    )
    assert fine.pmf(0.375) == plain.pmf(3)
    assert fine.pmf(0.376) == 0
    assert fine.cdf(0.376) == fine.cdf(0.375) == plain.cdf(3)
    assert fine.cdf(-0.376) == plain.cdf(-4)


def test_the_discrete_noise_varies_a_little_less_than_that_of_the_real_line() -> None:
    """The density exp(-abs(z) / s) / (2 s) has the variance 2 s**2 and the mean size s."""
    for epsilon in (0.01, 0.1, 1, 3):
        mechanism = Laplace(sensitivity=1, epsilon=epsilon)
        scale = float(mechanism.scale)
        assert 2 * scale**2 - 1 / 6 <= mechanism.variance <= 2 * scale**2
        assert mechanism.std**2 == pytest.approx(mechanism.variance)
        assert scale - 1 / (6 * scale) <= mechanism.expected_error <= scale
    real = Laplace(sensitivity=1.0, epsilon=0.5)
    assert real.variance == pytest.approx(8, rel=1e-6)
    assert real.expected_error == pytest.approx(2, rel=1e-6)


def test_gaussian_noise_varies_by_at_most_its_parameter() -> None:
    for sigma in (0.05, 0.3, 0.45, 1, 3, 1000):
        mechanism = Gaussian(sensitivity=1, sigma=sigma)
        assert mechanism.std <= sigma * (1 + 1e-15)
        if sigma >= 1:
            assert mechanism.std == pytest.approx(sigma, rel=1.1e-7)
    assert Gaussian(sensitivity=1, sigma=0.05).std == pytest.approx(math.sqrt(2) * math.exp(-100))
    real = Gaussian(sensitivity=1.0, sigma=2)
    assert real.std == pytest.approx(2)
    assert real.expected_error == pytest.approx(2 * math.sqrt(2 / math.pi), rel=1e-9)


@pytest.mark.parametrize("mechanism", [
    Laplace(sensitivity=1, epsilon=0.3), Gaussian(sensitivity=1, sigma=4.5),
])  # fmt: skip
def test_the_cumulative_law_adds_up_the_law(mechanism: Laplace | Gaussian) -> None:
    total = 0.0
    for x in range(-400, 401):
        total += mechanism.pmf(x)
        assert mechanism.cdf(x) == pytest.approx(total, rel=1e-9)
        assert mechanism.cdf(x) + mechanism.cdf(-x - 1) == pytest.approx(1, rel=1e-14)
    assert mechanism.cdf(10**9) == 1
    assert mechanism.pmf(10**9) == mechanism.cdf(-(10**9)) == math.ulp(0.0)


def test_a_multiple_of_the_grid_may_be_given_as_any_number() -> None:
    mechanism = Laplace(sensitivity=1.0, epsilon=1)
    place = 3 * mechanism.grid
    assert mechanism.pmf(place) == mechanism.pmf(float(place)) == mechanism.pmf(np.float64(place))
    assert mechanism.pmf(place) > 0
    whole = Laplace(sensitivity=1, epsilon=1)
    for three in (3, 3.0, np.int8(3), Decimal(3), Fraction(3)):
        assert whole.pmf(three) == whole.pmf(-3)
    for wrong in ("3", None, True):
        with pytest.raises(TypeError, match=r"^x must be a finite number"):
            whole.pmf(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^x must be a finite number, got inf"):
        whole.cdf(math.inf)


@settings(max_examples=60, deadline=None)
@given(
    x=st.fractions(-1000, 1000, max_denominator=64) | st.integers(-(10**150), 10**150),
    scale=st.sampled_from([0.01, 1, 30]),
)
def test_every_number_has_a_place_in_the_law(x: Fraction | int, scale: float) -> None:
    for law in (
        NoiseLaw(LaplaceNoise(1 / Fraction(scale)), Fraction(1)),
        NoiseLaw(GaussianNoise(Fraction(scale) ** 2), Fraction(1)),
    ):
        assert 0 <= law.pmf(x) <= law.cdf(x) <= 1
        assert law.cdf(x) == law.cdf(math.floor(x))
