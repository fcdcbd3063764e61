# SPDX-License-Identifier: Apache-2.0
import math

import mpmath
import numpy as np
import pytest

from sordino.privacy.leaf import Floats
from sordino.privacy.orders import excess, least_rho, pair_divergences


@pytest.mark.parametrize("order", [1 + 1e-9, 1.001, 1.5, 2.0, 40.0, 1e4])
@pytest.mark.parametrize("loss", [-3.0, -0.02, -1e-5, 1e-12, 1e-4, 0.0099, 0.011, 0.05, 2.0])
def test_the_excess_keeps_its_digits(order: float, loss: float) -> None:
    if order * loss > 600:
        return
    with mpmath.workdps(60):
        a, n = mpmath.mpf(order), mpmath.mpf(loss)
        true = mpmath.exp(a * n) - 1 - a * mpmath.expm1(n)
        found = float(excess(np.array([order]), np.array([loss]))[0])
        assert found == pytest.approx(float(true), rel=1e-11)


def response(epsilon: float) -> tuple[Floats, Floats]:
    keep = 1 / (1 + math.exp(-epsilon))
    return np.array([epsilon, -epsilon]), np.array([1 - keep, keep])


def test_divergences_of_a_response() -> None:
    found = pair_divergences(np.array([2.0, 10.0, 1e5]), *response(1.0))
    assert found == pytest.approx([0.7353256640555192, 0.9651931464538415, 1.0], rel=1e-5)
    assert found[:2] == pytest.approx([0.7353256640555192, 0.9651931464538415], rel=1e-14)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 9.0])
def test_the_least_rho_of_a_response_is_found(epsilon: float) -> None:
    true = epsilon * math.tanh(epsilon / 2)
    found = least_rho(
        lambda orders: pair_divergences(orders, *response(epsilon)), pure=epsilon, order_one=true
    )
    assert true <= found <= true * (1 + 3e-7)


def test_a_largest_quotient_away_from_order_one_is_found() -> None:
    # A loss of 5 that is rare: the divergence is small at order 1 and catches up later.
    losses, p = np.array([5.0, 0.0]), np.array([1e-3, 1 - 1e-3])
    weights = p * np.exp(-losses)
    losses[1] = math.log(p[1] / (1 - weights[0]))
    weights[1] = 1 - weights[0]

    def divergences(orders: Floats) -> Floats:
        return pair_divergences(orders, losses, weights)

    kl = float(p @ losses)
    orders = np.geomspace(1.0001, 50, 20_001)
    true = float((divergences(orders) / orders).max())
    assert true > 2 * kl
    for close in (1e-7, 1e-4):
        found = least_rho(divergences, pure=5.0, order_one=kl, close=close)
        assert true <= found <= true * (1 + 3 * close)
