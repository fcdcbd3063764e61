# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sordino.privacy import DiscreteGaussian, DiscreteLaplace
from sordino.privacy.lattice import (
    fine_delta,
    fine_deltas,
    listed_delta,
    listed_deltas,
    scalar_deltas,
    wide_delta,
    wide_deltas,
)
from sordino.privacy.leaf import PROFILE_ERROR


def summed(variance: Fraction, shift: int, epsilon: float) -> mpmath.mpf:
    """The profile, term by term."""
    with mpmath.workdps(60):
        v = mpmath.mpf(variance.numerator) / variance.denominator
        reach = int(45 * mpmath.sqrt(v)) + 5 + shift
        total = mpmath.fsum(mpmath.exp(-mpmath.mpf(n * n) / (2 * v)) for n in range(-reach, reach))
        factor = mpmath.exp(mpmath.mpf(epsilon))
        gains = (
            mpmath.exp(-mpmath.mpf((y - shift) ** 2) / (2 * v))
            - factor * mpmath.exp(-mpmath.mpf(y * y) / (2 * v))
            for y in range(-reach, reach + shift)
        )
        return mpmath.fsum(gain for gain in gains if gain > 0) / total


@pytest.mark.parametrize(
    ("variance", "shift"),
    [("1/4", 1), ("1", 1), ("1", 2), ("4", 1), ("16", 3), ("100", 40), ("3/10", 7), ("1/400", 1)],
)
def test_one_integer_is_summed_to_full_precision(variance: str, shift: int) -> None:
    width = Fraction(variance)
    far = DiscreteGaussian(variance=width, squared_sensitivity=shift**2, coordinates=1).reach(
        1e-250
    )[1]
    at = np.linspace(0, far, 25)
    found = scalar_deltas(width, shift, at)
    for epsilon, value in zip(at.tolist(), found.tolist(), strict=True):
        true = float(summed(width, shift, epsilon))
        assert value == pytest.approx(true, rel=PROFILE_ERROR / 10, abs=1e-290)


@pytest.mark.parametrize(("variance", "norm"), [("1", 4), ("4", 4), ("10", 7), ("1/5", 60)])
def test_listed_shifts_are_those_of_a_single_use(variance: str, norm: int) -> None:
    width = Fraction(variance)
    at = np.linspace(0, norm / float(width) + 5, 23)
    found = listed_deltas(width, norm, at)
    for epsilon, value in zip(at.tolist(), found.tolist(), strict=True):
        true = listed_delta(variance=width, squared_sensitivity=norm, epsilon=Fraction(epsilon))
        assert value == pytest.approx(true, rel=1e-11)


@pytest.mark.parametrize(
    ("variance", "norm"), [("500", 30), ("20", 8), ("3000", 5000), ("5000", 30), ("1e6", 1000)]
)
def test_wide_noise_has_the_bound_of_a_single_use(variance: str, norm: int) -> None:
    width = Fraction(variance)
    rho = norm / (2 * float(width))
    at = np.linspace(0, rho + 20 * math.sqrt(rho), 17)
    found = wide_deltas(width, norm, at)
    for epsilon, value in zip(at.tolist(), found.tolist(), strict=True):
        true = wide_delta(variance=width, squared_sensitivity=norm, epsilon=Fraction(epsilon))
        assert value == pytest.approx(true, rel=PROFILE_ERROR, abs=1e-300)


def test_fine_grids_have_the_bound_of_a_single_use() -> None:
    width, norm = Fraction(2) ** 80, 2**81
    for coordinates in (1, 2**16, 2**16 + 1):
        found = fine_deltas(width, norm, coordinates, np.array([0.5, 3.0]))
        for epsilon, value in zip((0.5, 3.0), found.tolist(), strict=True):
            true = fine_delta(
                variance=width,
                squared_sensitivity=norm,
                coordinates=coordinates,
                epsilon=Fraction(epsilon),
            )
            assert value == pytest.approx(true, rel=1e-12)


def test_noise_that_is_neither_has_no_such_bound() -> None:
    at = np.array([1.0])
    assert wide_deltas(Fraction(1), 100, at)[0] == 1
    assert listed_deltas(Fraction(1000), 4, at)[0] == 1
    assert fine_deltas(Fraction(4), 4, 1, at)[0] == 1


@pytest.mark.parametrize(
    ("variance", "shift", "epsilon", "delta"),
    [
        ("1", 1, 1.0, 0.1413513394056219),
        ("4", 1, 0.5, 0.05400722369415442),
        ("16", 1, 1.0, 3.055454649266823e-6),
        ("16", 3, 1.0, 0.04981921208225806),
        ("100", 1, 0.1, 0.008762353923948095),
    ],
)
def test_known_values_of_one_integer(
    variance: str, shift: int, epsilon: float, delta: float
) -> None:
    found = scalar_deltas(Fraction(variance), shift, np.array([epsilon]))[0]
    assert found == pytest.approx(delta, rel=1e-13)


def test_known_values_of_vectors() -> None:
    two = DiscreteGaussian(variance=Fraction(1), squared_sensitivity=4)
    assert two.profile(np.array([2.0]))[0] == pytest.approx(0.3153482407532593, rel=1e-9)
    pair = DiscreteGaussian(variance=Fraction(1), squared_sensitivity=2)
    assert pair.profile(np.array([1.0]))[0] == pytest.approx(0.2625001969545944, rel=1e-9)


def test_a_group_of_units_may_move_other_coordinates() -> None:
    one = DiscreteGaussian(variance=Fraction(4), squared_sensitivity=1, coordinates=1)
    assert one.group(2) == DiscreteGaussian(
        variance=Fraction(4), squared_sensitivity=4, coordinates=2
    )
    many = DiscreteGaussian(variance=Fraction(4), squared_sensitivity=3)
    assert many.group(3).squared_sensitivity == 27
    assert many.group(3).coordinates is None


def test_the_grid_is_offered_the_losses_of_a_coarse_lattice() -> None:
    one = DiscreteGaussian(variance=Fraction(4), squared_sensitivity=1)
    assert one.atoms == (Fraction(1, 8), Fraction(3, 8))
    two = DiscreteGaussian(variance=Fraction(4), squared_sensitivity=4, coordinates=1)
    assert two.atoms == (Fraction(1, 2), Fraction(1))
    listed = DiscreteGaussian(variance=Fraction(4), squared_sensitivity=4)
    assert listed.atoms == (Fraction(1, 4), Fraction(1, 2))
    assert DiscreteGaussian(variance=Fraction(10**6), squared_sensitivity=1).atoms == ()


@pytest.mark.parametrize("shift", [1, 2, 9, 2**20, 2**45])
@pytest.mark.parametrize("total", ["1e-6", "1", "25"])
def test_discrete_laplace_at_many_epsilons(shift: int, total: str) -> None:
    loss = DiscreteLaplace(eta=Fraction(total) / shift, shift=shift)
    top = float(total)
    at = np.concatenate([np.linspace(0, top, 41), top * (1 - np.geomspace(1e-15, 1e-3, 13))])
    found = loss.profile(at)
    for epsilon, value in zip(at.tolist(), found.tolist(), strict=True):
        true = loss.delta(epsilon=Fraction(epsilon))
        assert value == pytest.approx(true, rel=PROFILE_ERROR / 10)


def test_discrete_laplace_names_its_losses() -> None:
    loss = DiscreteLaplace(eta=Fraction(1, 2), shift=3)
    assert loss.atoms == (Fraction(3, 2), Fraction(1, 2), Fraction(-1, 2), Fraction(-3, 2))
    assert DiscreteLaplace(eta=Fraction(1, 2), shift=33).atoms == (
        Fraction(33, 2),
        Fraction(-33, 2),
    )
    assert loss.summit == pytest.approx(1 / (1 + math.exp(-0.5)), rel=1e-15)
    assert loss.group(2) == DiscreteLaplace(eta=Fraction(1, 2), shift=6)
    one = DiscreteLaplace(eta=Fraction(1), shift=1)
    assert one.renyi(order=2) == pytest.approx(0.7353256640555192, rel=1e-15)
    assert one.kl == one.rho
    assert one.total_variation == pytest.approx(0.4621171572600098, rel=1e-15)
