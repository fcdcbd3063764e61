# SPDX-License-Identifier: Apache-2.0
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from flint import ctx

from sordino.privacy.lattice import (
    _residues,
    _unevenness,
    fine_delta,
    listed_delta,
    scalar_delta,
    wide_delta,
)

Shift = tuple[int, ...]


def shifts(norm: int, largest: int | None = None) -> Iterator[Shift]:
    """All multisets of positive integers whose squares add up to norm."""
    if norm == 0:
        yield ()
    for k in range(min(largest or norm, math.isqrt(norm)), 0, -1):
        yield from ((k, *rest) for rest in shifts(norm - k * k, k))


def convolved(
    shift: Shift, variance: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The law of k.x, one coordinate after the other."""
    reach = int(14 * math.sqrt(variance)) + 3
    x = np.arange(-reach, reach + 1)
    law = np.exp(-(x * x) / (2 * variance))
    law /= law.sum()
    total = np.ones(1)
    for k in shift:
        spread = np.zeros(2 * reach * k + 1)
        spread[::k] = law
        total = np.convolve(total, spread)
        drop = total.size // 2 - int(14 * math.sqrt(variance * sum(k * k for k in shift))) - 9
        total = total[max(drop, 0) : total.size - max(drop, 0)]
    return np.arange(total.size) - total.size // 2, total


def summed(shift: Shift, variance: float, epsilon: float) -> float:
    """The profile of a shift from the law of k.x, term by term."""
    s, law = convolved(shift, variance)
    losses = (2 * s + sum(k * k for k in shift)) / (2 * variance)
    above = losses > epsilon
    return float((law[above] * -np.expm1(epsilon - losses[above])).sum())


@pytest.mark.parametrize("norm", [2, 4, 5, 9, 12, 20])
@pytest.mark.parametrize("variance", [0.2, 1.0, 4.5, 30.0])
def test_listing_finds_the_worst_shift(norm: int, variance: float) -> None:
    for epsilon in (0, 0.5, 1.3, 4):
        worst = max(summed(k, variance, epsilon) for k in shifts(norm))
        bound = listed_delta(
            variance=Fraction(str(variance)),
            squared_sensitivity=norm,
            epsilon=Fraction(str(epsilon)),
        )
        assert worst * (1 - 1e-12) <= bound <= worst * (1 + 2e-10) + 1e-39


@pytest.mark.parametrize("norm", [2, 4, 5, 9, 12])
@pytest.mark.parametrize("variance", [0.2, 1.0, 4.5, 30.0])
def test_shorter_shifts_are_never_worse(norm: int, variance: float) -> None:
    for epsilon in (0, 0.5, 1.3, 4):
        bound = listed_delta(
            variance=Fraction(str(variance)),
            squared_sensitivity=norm,
            epsilon=Fraction(str(epsilon)),
        )
        for shorter in range(1, norm):
            for shift in shifts(shorter):
                assert summed(shift, variance, epsilon) <= bound


def test_every_multiset_of_squares_is_listed() -> None:
    for norm in (1, 2, 4, 9, 30, 64):
        assert len(_residues(1.0, norm)) == len(list(shifts(norm)))
    assert len(list(shifts(64))) == 220


@pytest.mark.parametrize("shift", [(1, 2), (1, 1, 1, 1), (2, 2), (3, 1, 1), (5,)], ids=str)
def test_the_law_of_a_shift_is_a_gaussian_times_a_periodic_factor(shift: Shift) -> None:
    norm, variance = sum(k * k for k in shift), 1.7
    s, law = convolved(shift, variance)
    middle = np.abs(s) <= 3 * norm
    factor = law[middle] / np.exp(-(s[middle] ** 2) / (2 * variance * norm))
    np.testing.assert_allclose(factor[norm:], factor[:-norm], rtol=1e-9, atol=1e-12 * factor.max())


@pytest.mark.parametrize("norm", [2, 3, 4, 9, 18, 72, 100])
@pytest.mark.parametrize("ratio", [0.5, 0.7, 1, 2, 6])
def test_the_bound_for_wide_noise_holds(norm: int, ratio: float) -> None:
    variance = Fraction(str(ratio)) * norm
    root = math.isqrt(norm)
    some = [(1,) * norm, (root, *(1,) * (norm - root * root))]
    some += [(g,) * (norm // g**2) for g in range(2, root + 1) if norm % g**2 == 0]
    for epsilon in (0, 0.3, 1, 3):
        worst = max(summed(shift, float(variance), epsilon) for shift in some)
        bound = wide_delta(
            variance=variance, squared_sensitivity=norm, epsilon=Fraction(str(epsilon))
        )
        assert bound >= worst * (1 - 1e-10)
        if ratio >= 2:
            assert bound <= worst * 1.001


@pytest.mark.parametrize("shift", [(1, 1), (1, 2), (1, 1, 1), (2, 1, 1), (3, 1, 1, 1)], ids=str)
@pytest.mark.parametrize("ratio", [0.5, 0.8, 2])
def test_no_output_is_likelier_than_the_unevenness_allows(shift: Shift, ratio: float) -> None:
    norm = sum(k * k for k in shift)
    variance = ratio * norm
    s, law = convolved(shift, variance)
    gaussian = np.exp(-(s * s) / (2 * variance * norm))
    middle = np.abs(s) <= 4 * math.sqrt(variance * norm)
    most = float((law[middle] * gaussian.sum() / gaussian[middle]).max())
    wave = math.exp(-2 * math.pi**2 * ratio)
    ripple = 2 * wave / (1 - wave)
    decay = math.exp(-(2 * variance - 0.5) * math.sin(math.pi / max(2, math.sqrt(norm))) ** 2)
    stated = (1 + (norm - 1) * decay) * (1 + ripple) / (1 - ripple)
    with ctx.workprec(96):
        bound = float(_unevenness(Fraction(str(ratio)) * norm, norm).mid())
    assert bound == pytest.approx(stated, rel=1e-13, abs=0)
    assert most <= bound * (1 + 1e-12)


@pytest.mark.parametrize("variance", [4096, 20_000, 10**6])
@pytest.mark.parametrize("norm", [4, 144, 3600])
def test_the_bound_for_all_spacings_is_above_each_of_them(variance: int, norm: int) -> None:
    for x in (0, 0.5, 2, 4, 6):
        epsilon = Fraction(round(x * math.sqrt(norm / variance), 6)).limit_denominator(10**6)
        bound = wide_delta(variance=Fraction(variance), squared_sensitivity=norm, epsilon=epsilon)
        exact = max(
            scalar_delta(
                variance=Fraction(variance * norm, g * g), shift=norm // g, epsilon=epsilon
            )
            for g in range(1, math.isqrt(norm) + 1)
            if norm % (g * g) == 0
        )
        assert exact <= bound <= exact * 1.02


def test_the_scalar_profile_agrees_with_a_direct_sum() -> None:
    for variance, shift in ((0.3, 1), (2.0, 3), (50.0, 4), (5000.0, 7)):
        for epsilon in (0, 0.1, 1, 2):
            exact = summed((shift,), variance, epsilon)
            found = scalar_delta(
                variance=Fraction(str(variance)), shift=shift, epsilon=Fraction(str(epsilon))
            )
            assert found == pytest.approx(exact, rel=1e-9, abs=1e-40)


def test_bounds_that_do_not_apply_say_one() -> None:
    half = Fraction(1, 2)
    assert listed_delta(variance=Fraction(1, 9), squared_sensitivity=4, epsilon=half) == 1.0
    assert listed_delta(variance=Fraction(1), squared_sensitivity=65, epsilon=half) == 1.0
    assert wide_delta(variance=Fraction(1), squared_sensitivity=4, epsilon=half) == 1.0
    assert wide_delta(variance=Fraction(9), squared_sensitivity=1, epsilon=half) == 1.0
    fine = {"variance": Fraction(2) ** 80, "squared_sensitivity": 2**80, "coordinates": 2**16}
    assert fine_delta(**fine, epsilon=half) < 0.4  # type: ignore[arg-type]  # a dict of mixed types
    for name, value in (
        ("variance", Fraction(2) ** 79),
        ("squared_sensitivity", 2**101),
        ("coordinates", 2**16 + 1),
    ):
        assert fine_delta(**{**fine, name: value}, epsilon=half) == 1.0  # type: ignore[arg-type]
