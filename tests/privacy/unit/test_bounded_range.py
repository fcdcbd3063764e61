# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.leaf import Floats
from tests.privacy.contract.pairs import range_pair, renyi


def bounded(epsilon: str) -> BoundedRange:
    return BoundedRange(epsilon=Fraction(epsilon))


@pytest.mark.parametrize(
    ("epsilon", "rho"),
    [
        ("0.1", 0.00124982642745984),
        ("0.5", 0.0311420922611559),
        ("1", 0.123301561482245),
        ("2", 0.474474647070527),
    ],
)
def test_rho_is_a_quarter_of_that_of_a_pure_loss(epsilon: str, rho: float) -> None:
    assert bounded(epsilon).rho == bounded(epsilon).kl == pytest.approx(rho, rel=1e-13)


def test_rho_of_a_small_loss_keeps_its_digits() -> None:
    for exponent in range(3, 12, 2):
        e = 10.0**-exponent
        series = e**2 / 8 - e**4 / 576
        assert bounded(f"1e-{exponent}").rho == pytest.approx(series, rel=1e-13)


def test_single_uses() -> None:
    assert bounded("1").delta(epsilon=0.5) == pytest.approx(0.07740468631569081, rel=1e-15)
    assert bounded("1").total_variation == pytest.approx(0.244918662403709, rel=1e-14)
    assert bounded("1").total_variation == pytest.approx(math.tanh(0.25), rel=1e-15)
    assert bounded("1").epsilon(delta=0) == 1.0


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3", "20"])
@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 7.3, 64.0, 1000.0])
def test_renyi_divergences_are_the_largest_over_all_intervals(epsilon: str, order: float) -> None:
    loss, bound = bounded(epsilon), mpmath.mpf(epsilon)
    stated = loss.renyi(order=order)
    found = max(renyi(range_pair(bound, bound * j / 300), order) for j in range(1, 300))
    assert found <= stated * (1 + 1e-15)
    assert found >= stated * (1 - 1e-2)
    assert stated <= order * loss.rho * (1 + 1e-12)


def test_divergence_over_order_falls_so_rho_is_the_limit_at_order_one() -> None:
    for epsilon in ("0.01", "1", "10"):
        loss = bounded(epsilon)
        orders = [1 + 10.0**k for k in range(-9, 4)]
        quotients = [loss.renyi(order=order) / order for order in orders]
        assert quotients == sorted(quotients, reverse=True)
        assert quotients[0] == pytest.approx(loss.rho, rel=1e-7)


def test_no_mechanism_with_this_range_is_above_the_profile() -> None:
    loss, generator = bounded("1.5"), np.random.default_rng(1)
    at = np.linspace(-1.6, 1.6, 41)
    limit = loss.profile(at)
    closest = np.inf
    for _ in range(400):
        q = generator.dirichlet(np.full(6, 0.4))
        losses = generator.choice([0.0, -1.5, -1.5 * generator.random()], size=6)
        p = q * np.exp(losses)
        p /= p.sum()
        for one, other in ((p, q), (q, p)):
            stick = np.maximum(one[:, None] - np.exp(at) * other[:, None], 0).sum(axis=0)
            assert np.all(stick <= limit * (1 + 1e-12) + 1e-15)
            closest = min(closest, float((limit - stick)[np.abs(at) < 1].min()))
    assert closest < 0.02


def test_the_exponential_mechanism_keeps_to_its_profile() -> None:
    def law(scores: Floats) -> Floats:
        weights = np.exp(scores - scores.max())
        found: Floats = weights / weights.sum()
        return found

    loss, generator = bounded("1"), np.random.default_rng(2)
    at = np.linspace(0, 0.99, 12)
    for _ in range(300):
        scores = generator.integers(0, 6, 5).astype(float)
        changed = scores + generator.uniform(-0.5, 0.5, 5)
        p, q = law(scores), law(changed)
        stick = np.maximum(p[:, None] - np.exp(at) * q[:, None], 0).sum(axis=0)
        assert np.all(stick <= loss.profile(at) * (1 + 1e-12))


def test_the_profile_belongs_to_a_pair_with_a_simple_density() -> None:
    loss = bounded("2")
    with mpmath.workdps(25):
        for epsilon in (-1.5, 0.0, 0.7, 1.9):
            mass = mpmath.quad(
                lambda a, e=epsilon: (
                    mpmath.exp(a / 2) / (4 * mpmath.sinh(1)) * (1 - mpmath.exp(e - a))
                ),
                [epsilon, 2],
            )
            assert loss.profile(np.array([epsilon]))[0] == pytest.approx(float(mass), rel=1e-12)


def test_the_group_has_a_longer_range() -> None:
    assert bounded("0.2").group(5) == bounded("1")
