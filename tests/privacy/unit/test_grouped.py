# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from sordino.privacy import ContinuousGaussian, DiscreteLaplace
from sordino.privacy.grouped import Grouped
from sordino.privacy.laplace import ContinuousLaplace
from sordino.privacy.leaf import Floats, Leaf
from sordino.privacy.pure import Approximate, Pure
from sordino.privacy.subsampled import PoissonSubsampled

AT = np.linspace(-1.5, 1.5, 61)


def gaussian(sigma: str) -> ContinuousGaussian:
    return ContinuousGaussian(variance=Fraction(sigma) ** 2, squared_sensitivity=Fraction(1))


def stick(p: Floats, q: Floats) -> Floats:
    found: Floats = np.maximum(p - np.exp(AT)[:, None] * q, 0).sum(axis=1)
    return found


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("rate", ["0.1", "0.5"])
def test_counts_of_a_sample_with_a_whole_group_keep_to_the_bound(size: int, rate: str) -> None:
    share, q = float(Fraction(rate)), math.exp(-0.3)
    places = np.arange(-200, 220)

    def law(extra: int) -> Floats:
        found: Floats = sum(
            (comb(extra, j) * share**j * (1 - share) ** (extra - j))
            * ((1 - q) / (1 + q) * q ** np.abs(places - j))
            for j in range(extra + 1)
        ) + np.zeros(places.size)
        return found

    one = PoissonSubsampled(base=DiscreteLaplace(eta=Fraction(3, 10), shift=1), rate=Fraction(rate))
    bound = one.group(size).profile(AT)
    for added in range(size + 1):  # some units join, the others leave
        joined, left = law(added), law(size - added)
        assert np.all(stick(joined, left) <= bound + 1e-12)
        assert np.all(stick(left, joined) <= bound + 1e-12)


@pytest.mark.parametrize(
    "one", [Pure(epsilon=Fraction(1, 2)), ContinuousLaplace(epsilon=Fraction(1)), gaussian("3")]
)
@pytest.mark.parametrize("size", [2, 4])
def test_the_bound_is_above_the_group_where_that_is_known(one: Leaf, size: int) -> None:
    exact, bound = one.group(size), Grouped(base=one, size=size)
    assert np.all(bound.profile(2 * AT) >= exact.profile(2 * AT) * (1 - 1e-12))
    assert bound.rho >= exact.rho * (1 - 1e-12)
    for order in (1.2, 2.0, 6.0):
        assert bound.renyi(order=order) >= exact.renyi(order=order) * (1 - 1e-12)
    assert bound.kl >= exact.kl * (1 - 1e-12)


def test_the_formula_by_hand() -> None:
    one = gaussian("4")
    bound = Grouped(base=one, size=3)
    for epsilon in (0.9, 1.5, 2.4):
        e = epsilon / 3
        formula = one.delta(epsilon=e) * math.expm1(3 * e) / math.expm1(e)
        assert bound.delta(epsilon=epsilon) <= formula * (1 + 1e-4)
        assert bound.delta(epsilon=epsilon) >= formula * 0.99


def test_an_approximate_loss_gives_the_known_bound() -> None:
    one = Approximate(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
    bound = Grouped(base=one, size=3)
    assert bound.delta(epsilon=1.5) == pytest.approx(5.36700309916e-6, rel=1e-3)
    assert bound.epsilon(delta=1e-6) == math.inf
    assert bound.epsilon(delta=1e-5) <= 1.5


def test_a_pure_group_is_pure() -> None:
    bound = Grouped(base=Pure(epsilon=Fraction(1, 4)), size=4)
    assert bound.pure == 1
    assert bound.epsilon(delta=0) == 1.0
    assert bound.rho == Pure(epsilon=Fraction(1)).rho
    assert bound.renyi(order=math.inf) == 1.0
    assert bound.atoms == (Fraction(1), Fraction(-1))
    assert bound.profile(np.array([1.0 + 1e-12]))[0] == 0


def test_groups_of_groups_are_larger_groups() -> None:
    one = PoissonSubsampled(base=gaussian("2"), rate=Fraction(1, 10))
    assert one.group(2).group(3) == one.group(6)
    assert one.group(1) is one


def test_the_profile_is_convex_and_at_most_one() -> None:
    bound = PoissonSubsampled(base=gaussian("1"), rate=Fraction(1, 10)).group(4)
    a = np.linspace(-6, 6, 4001)
    x, values = np.exp(a), bound.profile(a)
    slopes = np.diff(values) / np.diff(x)
    assert np.all(np.diff(slopes) >= -1e-9)
    assert np.all(values <= 1)


def test_a_group_that_is_not_protected_is_refused() -> None:
    with pytest.raises(ValueError, match="a group of 500 is not protected: its delta would be 1"):
        Grouped(base=gaussian("0.5"), size=500)
