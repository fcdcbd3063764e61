# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sordino.privacy import DiscreteLaplace
from sordino.privacy.laplace import ContinuousLaplace


def laplace(epsilon: str) -> ContinuousLaplace:
    return ContinuousLaplace(epsilon=Fraction(epsilon))


def test_the_profile_at_one() -> None:
    assert laplace("1").delta(epsilon=0.5) == pytest.approx(0.2211992169285951, rel=1e-15)
    assert laplace("1").delta(epsilon=0) == pytest.approx(0.3934693402873666, rel=1e-15)
    assert laplace("1").total_variation == pytest.approx(0.393469340287367, rel=1e-14)
    assert laplace("1").delta(epsilon=1) == 0.0


@pytest.mark.parametrize(
    ("epsilon", "order", "divergence"),
    [
        ("1", 2, 0.6191236299985929),
        ("1", 10, 0.9286829020966802),
        ("0.5", 4, 0.3209265301787175),
    ],
)
def test_renyi_divergences(epsilon: str, order: float, divergence: float) -> None:
    assert laplace(epsilon).renyi(order=order) == pytest.approx(divergence, rel=1e-15)


@pytest.mark.parametrize(
    ("epsilon", "rho"),
    [
        ("0.1", 0.00483741803595957),
        ("0.5", 0.106530659712633),
        ("1", 0.367879441171442),
        ("2", 1.13533528323661),
    ],
)
def test_rho_is_the_kullback_leibler_divergence(epsilon: str, rho: float) -> None:
    assert laplace(epsilon).rho == laplace(epsilon).kl == pytest.approx(rho, rel=1e-14)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "6"])
def test_renyi_divergences_are_integrals_and_rho_bounds_them(epsilon: str) -> None:
    loss = laplace(epsilon)
    with mpmath.workdps(30):
        shift = mpmath.mpf(epsilon)
        for order in (1.001, 1.5, 2.0, 7.3, 60.0):
            at = mpmath.mpf(repr(order))
            moment = mpmath.quad(
                lambda x, at=at: mpmath.exp(-at * abs(x) + (at - 1) * abs(x - shift)) / 2,
                [-mpmath.inf, 0, shift, mpmath.inf],
            )
            true = mpmath.log(moment) / (at - 1)
            assert loss.renyi(order=order) == pytest.approx(float(true), rel=1e-12)
            assert loss.rho * order >= true * (1 - mpmath.mpf(10) ** -14)


def test_it_is_the_limit_of_ever_finer_grids_and_never_above_them() -> None:
    limit, at = laplace("1"), np.linspace(-1.3, 1.3, 53)
    gaps = []
    for shift in (1, 4, 16, 64):
        grid = DiscreteLaplace(eta=Fraction(1, shift), shift=shift).profile(at)
        assert np.all(grid >= limit.profile(at) * (1 - 1e-15))
        gaps.append(float((grid - limit.profile(at)).max()))
    assert gaps[0] > 30 * gaps[1] / 4 > 30 * gaps[2] > 0
    assert gaps[3] < 1e-4


def test_a_divided_shift_is_dominated_by_one_coordinate() -> None:
    whole, inner = laplace("3"), laplace("1")
    with mpmath.workdps(20):
        for epsilon in (0.2, 1.0, 2.2):
            # One coordinate moves by 2 and one by 1: integrate over the loss of the first.
            split = 0.0
            for loss, weight in ((2.0, 0.5), (-2.0, math.exp(-2) / 2)):
                split += weight * float(inner.profile(np.array([epsilon - loss]))[0])
            split += float(
                mpmath.quad(
                    lambda a, e=epsilon: (
                        mpmath.exp((a - 2) / 2)
                        / 4
                        * float(inner.profile(np.array([e - float(a)]))[0])
                    ),
                    np.linspace(-2, 2, 9).tolist(),
                )
            )
            assert split <= whole.delta(epsilon=epsilon)


def test_the_group_is_a_longer_shift() -> None:
    assert laplace("0.1").group(4) == laplace("0.4")
