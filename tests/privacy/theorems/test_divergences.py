# SPDX-License-Identifier: Apache-2.0
"""Rényi, total variation and chi-squared distances of pure privacy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from sordino.theorems import (
    optimal,
    pure_to_chi_squared,
    pure_to_renyi,
    pure_to_rho,
    pure_to_total_variation,
)
from tests.privacy.theorems.reference import Pair, agrees, profile, real, renyi, response

EPSILONS = st.floats(1e-6, 30)


@pytest.mark.parametrize(
    ("epsilon", "order", "expected"),
    [(1, 2, 0.7353256640555192), (1, 10, 0.9651931464538415), (0.5, 4, 0.3518911446975046)],
)
def test_divergences_have_the_known_values(epsilon: float, order: float, expected: float) -> None:
    assert pure_to_renyi(epsilon=epsilon, order=order) == pytest.approx(expected, rel=1e-14)


@settings(deadline=None)
@given(EPSILONS, st.floats(1.0001, 1e4))
def test_randomized_response_attains_the_divergence(epsilon: float, order: float) -> None:
    exact = renyi(response(epsilon), real(order))
    assert agrees(pure_to_renyi(epsilon=epsilon, order=order), exact, 14)


def test_the_first_order_is_kullback_and_leiblers() -> None:
    p, q = response(1.0)[0]
    exact = p * mp.log(p / q) + q * mp.log(q / p)
    assert agrees(pure_to_renyi(epsilon=1, order=1), exact, 15)
    assert pure_to_renyi(epsilon=1, order=1) == pure_to_rho(epsilon=1)


@given(EPSILONS, st.floats(1, 1e6), st.floats(1, 3))
def test_divergences_grow_with_order_and_epsilon_up_to_epsilon(
    epsilon: float, order: float, factor: float
) -> None:
    usual = pure_to_renyi(epsilon=epsilon, order=order)
    assert usual <= pure_to_renyi(epsilon=epsilon, order=order * factor) <= epsilon
    assert usual <= pure_to_renyi(epsilon=epsilon * factor, order=order)


def test_total_variation_has_the_known_value() -> None:
    assert pure_to_total_variation(epsilon=1) == pytest.approx(0.46211715726001, rel=1e-14)
    assert pure_to_total_variation(epsilon=0, delta=0.25) == 0.25


@given(EPSILONS, st.floats(0, 0.9))
def test_total_variation_is_the_profile_at_zero(epsilon: float, delta: float) -> None:
    found = pure_to_total_variation(epsilon=epsilon, delta=delta)
    assert found == pytest.approx(
        optimal(epsilon=epsilon, delta=delta, times=1, at_epsilon=0).delta, rel=1e-14
    )
    assert agrees(found, profile(response(epsilon, delta), 0.0), 14)


@given(EPSILONS)
def test_chi_squared_is_attained_and_belongs_to_the_second_order(epsilon: float) -> None:
    pair: Pair = response(epsilon)
    exact = sum((p - q) ** 2 / q for p, q in pair)
    assert agrees(pure_to_chi_squared(epsilon=epsilon), exact, 14)
    assert agrees(pure_to_chi_squared(epsilon=epsilon), mp.expm1(renyi(pair, 2)), 13)


def test_an_order_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^order must be at least 1, got 0\.5$"):
        pure_to_renyi(epsilon=1, order=0.5)
