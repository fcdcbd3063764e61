# SPDX-License-Identifier: Apache-2.0
"""Noise with the density 1 / (1 + abs(z)**gamma): its law, its draws and how far they reach."""

import math
import pickle
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import ctx

from sordino import smooth
from sordino.mechanisms.smooth import CauchyNoise, PowerNoise, Smooth
from sordino.numbers.balls import ball
from tests.support.seeded import SeededBits
from tests.support.tape import replay

GAMMAS = ["1.01", "1.3", "2", "2.5", "4", "17", "1000"]


def mass(gamma: Any, z: Any) -> Any:
    """The integral of the density from 0 to z, up to a constant."""
    return mpmath.quad(lambda u: 1 / (1 + u**gamma), [0, min(z, 1), z])


@pytest.mark.parametrize("gamma", GAMMAS[1:-1])
def test_the_cumulative_probability_is_the_integral_of_the_density(gamma: str) -> None:
    noise = PowerNoise(gamma=Fraction(gamma))
    with mpmath.workdps(30):
        power = mpmath.mpf(gamma)
        half = mpmath.pi / power / mpmath.sin(mpmath.pi / power)
        for z in ("0.001", "0.5", "1", "1.7", "20"):
            inside = mass(power, mpmath.mpf(z)) / half / 2
            for sign in (1, -1):
                found = float(noise.cumulative(ball(sign * Fraction(z))))
                assert found == pytest.approx(float(0.5 + sign * inside), rel=1e-12)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_far_out_and_close_to_the_middle_the_digits_hold(gamma: str) -> None:
    """The tail is z**(1 - gamma) / (gamma - 1) / (2 half), and the middle z / (2 half)."""
    power = Fraction(gamma)
    noise = PowerNoise(gamma=power)
    half = math.pi / float(power) / math.sin(math.pi / float(power))
    far = noise.cumulative(-ball(Fraction(2) ** 4000))
    rate = float(power - 1)
    logarithm = float(far.log())
    expected = -rate * 4000 * math.log(2) - math.log(2 * half * rate)
    assert logarithm == pytest.approx(expected, rel=1e-9)
    with ctx.workprec(300):
        near = noise.cumulative(ball(Fraction(1, 2**80))) - ball(Fraction(1, 2))
        assert float(near * 2**80) == pytest.approx(1 / (2 * half), rel=1e-9)
    assert noise.cumulative(ball(Fraction(0))) == ball(Fraction(1, 2))


def test_it_grows_and_is_symmetric() -> None:
    for gamma in GAMMAS:
        noise = PowerNoise(gamma=Fraction(gamma))
        places = [Fraction(k, 10) for k in range(-30, 31)]
        values = [float(noise.cumulative(ball(place))) for place in places]
        assert values == sorted(values)
        assert values == pytest.approx([1 - value for value in reversed(values)], abs=1e-14)


def test_two_is_cauchy_noise() -> None:
    for z in (Fraction(-5), Fraction(1, 3), Fraction(10**9)):
        found = float(PowerNoise(gamma=2).cumulative(ball(z)))
        assert found == pytest.approx(float(CauchyNoise().cumulative(ball(z))), rel=1e-14)


@pytest.mark.parametrize("gamma", ["1.5", "4", "9"])
def test_draws_fit_the_law(gamma: str) -> None:
    """Each of eleven outcomes within six standard deviations; a false alarm is below 1e-7."""
    mechanism = Smooth(noise=PowerNoise(gamma=Fraction(gamma)), epsilon=1, step=1, bounds=(-5, 5))
    scale, draws = mechanism.scale_factor * 2, 3_000
    with replay(SeededBits(23)):
        seen = Counter(mechanism.release(0.25, 2) for _ in range(draws))

    def below(place: Fraction) -> float:
        return float(mechanism.noise.cumulative(ball((place - Fraction(1, 4)) / scale)))

    ends = [0.0, *(below(k + Fraction(1, 2)) for k in range(-5, 5)), 1.0]
    for k in range(-5, 6):
        p = ends[k + 6] - ends[k + 5]
        assert abs(seen[float(k)] - draws * p) <= 6 * math.sqrt(draws * p * (1 - p)) + 1


@pytest.mark.parametrize("gamma", ["1.01", "1000"])
def test_the_ends_of_what_is_drawn_can_be_drawn(gamma: str) -> None:
    mechanism = Smooth(noise=PowerNoise(gamma=Fraction(gamma)), epsilon=1, step=1)
    with replay(SeededBits(5)):
        drawn = [mechanism.release(0, 10) for _ in range(20)]
    assert all(map(math.isfinite, drawn))
    assert len(set(drawn)) > 10


def test_accuracy_is_a_quantile_of_the_law() -> None:
    for gamma in ("1.7", "3", "6"):
        mechanism = Smooth(noise=PowerNoise(gamma=Fraction(gamma)), epsilon=0.5, step=1)
        width = Fraction(repr(mechanism.accuracy(confidence=0.95))) / mechanism.scale_factor
        inside = 2 * float(mechanism.noise.cumulative(ball(width))) - 1
        assert inside == pytest.approx(0.95, rel=1e-12)


def test_a_noise_prints_and_travels_as_it_was_made() -> None:
    for noise in (PowerNoise(), PowerNoise(gamma=2.5), PowerNoise(gamma=Fraction(7, 3))):
        assert eval(repr(noise)) == noise  # noqa: S307 - our own repr
        assert pickle.loads(pickle.dumps(noise)) == noise  # noqa: S301 - ours
    assert Smooth(noise="power", epsilon=1, step=1).noise == PowerNoise(gamma=4)


@pytest.mark.parametrize("gamma", [1, 1.001, 0.5, 1001])
def test_a_gamma_that_is_not_drawn_is_refused(gamma: float) -> None:
    with pytest.raises(ValueError, match=r"^gamma must be from 1.01 to 1000; "):
        PowerNoise(gamma=gamma)


def test_a_median_can_be_released_with_it() -> None:
    found = smooth.median(
        [1.0, 2.0, 2.5] * 500, bounds=(0, 10), epsilon=5, noise=PowerNoise(gamma=3)
    )
    assert 0 <= found <= 10
