# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sordino.privacy import ContinuousGaussian
from sordino.privacy.gaussian import any_lattice_deltas, normal_deltas, normal_reach
from sordino.privacy.lattice import _any_spacing, scalar_delta
from sordino.privacy.leaf import PROFILE_ERROR


@pytest.mark.parametrize(
    "ratio", ["1e-16", "1e-9", "0.0004", "0.0025", "0.0026", "0.25", "0.26", "1", "9", "900"]
)
def test_the_profile_keeps_its_digits_far_out(ratio: str) -> None:
    at = np.linspace(0, normal_reach(Fraction(ratio), 1e-290), 30)
    found = normal_deltas(Fraction(ratio), at)
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mpmath.mpf(ratio))
        for epsilon, value in zip(map(mpmath.mpf, at.tolist()), found.tolist(), strict=True):
            behind = mpmath.ncdf(-mu / 2 - epsilon / mu)
            true = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * behind
            assert value == pytest.approx(float(true), rel=PROFILE_ERROR / 10, abs=1e-300)


def test_beyond_its_reach_the_profile_is_below_the_tail() -> None:
    for ratio in ("1e-6", "1", "100"):
        for tail in (0.1, 1e-9, 1e-100):
            far = normal_reach(Fraction(ratio), tail)
            assert normal_deltas(Fraction(ratio), np.array([far, 1e9])).max() <= tail


def test_single_uses_and_groups_of_a_gaussian() -> None:
    one = ContinuousGaussian(variance=Fraction(4), squared_sensitivity=Fraction(1))
    assert one.delta(epsilon=0.5) == pytest.approx(0.05244032328766966, rel=1e-14)
    assert one.renyi(order=3) == 0.375
    assert one.renyi(order=math.inf) == math.inf
    assert one.group(3) == ContinuousGaussian(variance=Fraction(4), squared_sensitivity=Fraction(9))
    unit = ContinuousGaussian(variance=Fraction(1), squared_sensitivity=Fraction(1))
    assert unit.total_variation == pytest.approx(0.3829249225480262, rel=1e-14)
    assert (unit.rho, unit.kl) == (0.5, 0.5)


@pytest.mark.parametrize("variance", ["4096", "1e6", "1e12"])
@pytest.mark.parametrize("norm", [1, 2, 49, 4000])
def test_the_bound_for_all_lattices_is_the_certified_one(variance: str, norm: int) -> None:
    width = Fraction(variance)
    for share in (0.0, 0.1, 0.4, 1.0):
        epsilon = share * normal_reach(norm / width, 1e-40)
        found = any_lattice_deltas(width, norm, np.array([epsilon]))[0]
        true = float(_any_spacing(width, norm, Fraction(epsilon)).mid())
        assert found == pytest.approx(true, rel=1e-11)
        if math.isqrt(norm) ** 2 == norm:
            exact = scalar_delta(variance=width, shift=math.isqrt(norm), epsilon=Fraction(epsilon))
            assert exact * (1 - 1e-15) <= found
