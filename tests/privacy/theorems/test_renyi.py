# SPDX-License-Identifier: Apache-2.0
"""From Rényi divergences to (epsilon, delta)."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.theorems import (
    optimal,
    pure_to_renyi,
    renyi_to_delta,
    renyi_to_epsilon,
    rho_to_delta,
    rho_to_epsilon,
)


@settings(deadline=None, max_examples=30)
@given(st.floats(1e-4, 10), st.floats(1e-12, 0.5))
def test_a_straight_curve_is_concentrated_privacy(rho: float, delta: float) -> None:
    found = renyi_to_epsilon(curve=lambda order: order * rho, delta=delta)
    assert found == pytest.approx(rho_to_epsilon(rho=rho, delta=delta), rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.floats(1e-4, 10), st.floats(0.01, 20))
def test_a_straight_curve_has_the_delta_of_concentrated_privacy(rho: float, epsilon: float) -> None:
    found = renyi_to_delta(curve=lambda order: order * rho, epsilon=epsilon)
    assert found == pytest.approx(rho_to_delta(rho=rho, epsilon=epsilon), rel=1e-6, abs=1e-300)


@settings(deadline=None, max_examples=20)
@given(st.floats(0.01, 3), st.integers(1, 100), st.floats(1e-9, 0.1))
def test_the_curve_of_pure_privacy_gives_no_less_than_the_optimal_theorem(
    epsilon: float, times: int, delta: float
) -> None:
    def curve(order: float) -> float:
        return times * pure_to_renyi(epsilon=epsilon, order=order) * (1 + 1e-15)

    least = optimal(epsilon=epsilon, times=times, at_delta=delta).epsilon
    assert least <= renyi_to_epsilon(curve=curve, delta=delta)


def test_only_the_given_orders_are_asked() -> None:
    asked = []

    def curve(order: float) -> float:
        asked.append(order)
        return order / 10

    some = renyi_to_epsilon(curve=curve, delta=1e-6, orders=[2, 8.5, 20])
    assert asked == [2, 8.5, 20]
    assert some >= rho_to_epsilon(rho=0.1, delta=1e-6)
    assert some == min(
        renyi_to_epsilon(curve=curve, delta=1e-6, orders=[order]) for order in (2, 8.5, 20)
    )


def test_a_curve_may_be_infinite_somewhere_or_everywhere() -> None:
    assert math.isfinite(
        renyi_to_epsilon(curve=lambda order: order if order < 5 else math.inf, delta=1e-6)
    )
    assert renyi_to_epsilon(curve=lambda _: math.inf, delta=1e-6) == math.inf
    assert renyi_to_delta(curve=lambda _: math.inf, epsilon=1) == 1.0


def test_no_delta_needs_an_infinite_epsilon() -> None:
    assert renyi_to_epsilon(curve=lambda order: order, delta=0) == math.inf


@pytest.mark.parametrize("wrong", [math.nan, -1.0, "1", None])
def test_a_curve_that_returns_no_divergence_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^the curve must return a number that is not negative"):
        renyi_to_epsilon(curve=lambda _: wrong, delta=1e-6)


@pytest.mark.parametrize("orders", [[], [1], [0.5, 2]])
def test_orders_are_numbers_above_one(orders: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^orders must hold at least one number, and only"):
        renyi_to_epsilon(curve=lambda order: order, delta=1e-6, orders=orders)
