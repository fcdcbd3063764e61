# SPDX-License-Identifier: Apache-2.0
"""Concentrated privacy."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from sordino.theorems import pure_to_rho, rho_to_delta, rho_to_epsilon
from tests.privacy.theorems.reference import agrees, real, renyi, response


@pytest.mark.parametrize(
    ("rho", "epsilon", "expected"),
    [
        (0.1, 1, 0.008933245771818362),
        (0.5, 3, 0.005143184063862149),
        (0.5, 5, 2.896122809384795e-6),
        (1, 6, 2.315377085060476e-4),
        (0.01, 0.5, 3.505878060052391e-5),
    ],
)
def test_delta_has_the_known_values(rho: float, epsilon: float, expected: float) -> None:
    assert rho_to_delta(rho=rho, epsilon=epsilon) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("rho", "delta", "expected", "simple"),
    [
        (0.1, 1e-6, 2.141938928385474, 2.4507880004768),
        (0.5, 1e-6, 5.221534444530169, 5.756521769756932),
        (1, 1e-5, 7.07719669580634, 7.786140424415112),
        (0.01, 1e-9, 0.8101744678675342, 0.9204562776310878),
    ],
)
def test_epsilon_has_the_known_values(
    rho: float, delta: float, expected: float, simple: float
) -> None:
    assert rho_to_epsilon(rho=rho, delta=delta) == pytest.approx(expected, rel=1e-13)
    assert rho + 2 * math.sqrt(-rho * math.log(delta)) == pytest.approx(simple, rel=1e-13)


@pytest.mark.parametrize(
    ("times", "epsilon", "delta", "expected"),
    [
        (10, 0.1, 1e-6, 1.470934165479739),
        (100, 0.1, 1e-6, 5.219075238261732),
        (1000, 0.01, 1e-6, 1.471588139367167),
        (30, 0.5, 1e-9, 20.25342977992263),
    ],
)
def test_pure_steps_by_way_of_rho_have_the_known_values(
    times: int, epsilon: float, delta: float, expected: float
) -> None:
    rho = times * pure_to_rho(epsilon=epsilon)
    assert rho_to_epsilon(rho=rho, delta=delta) == pytest.approx(expected, rel=1e-12)


RHOS = st.floats(1e-6, 20)


@given(RHOS, st.floats(1e-12, 0.9))
def test_epsilon_and_delta_belong_together(rho: float, delta: float) -> None:
    epsilon = rho_to_epsilon(rho=rho, delta=delta)
    back = rho_to_delta(rho=rho, epsilon=epsilon)
    assert back <= delta * (1 + 1e-12)
    if epsilon > 0:
        assert back == pytest.approx(delta, rel=1e-9)


@given(RHOS, st.floats(1e-12, 0.9), st.floats(0, 30), st.floats(1, 2))
def test_more_rho_costs_more(rho: float, delta: float, epsilon: float, factor: float) -> None:
    more = rho * factor
    usual = rho_to_epsilon(rho=rho, delta=delta)
    assert usual <= rho_to_epsilon(rho=more, delta=delta) * (1 + 1e-12)
    assert usual <= rho_to_epsilon(rho=rho, delta=delta / factor) * (1 + 1e-12)
    chance = rho_to_delta(rho=rho, epsilon=epsilon)
    assert chance <= rho_to_delta(rho=more, epsilon=epsilon) * (1 + 1e-12)
    assert chance >= rho_to_delta(rho=rho, epsilon=epsilon * factor) * (1 - 1e-12)


@settings(deadline=None)
@given(RHOS, st.floats(0.01, 30), st.floats(1e-4, 1e4))
def test_no_order_gives_a_smaller_delta(rho: float, epsilon: float, rest: float) -> None:
    a, r, e = 1 + real(rest), real(rho), real(epsilon)
    bound = mp.exp((a - 1) * (a * r - e)) * (1 - 1 / a) ** (a - 1) / a
    assert rho_to_delta(rho=rho, epsilon=epsilon) <= bound * (1 + mp.mpf(10) ** -9) + 5e-324


@settings(deadline=None)
@given(st.floats(1e-6, 40), st.floats(1e-6, 1e3))
def test_rho_of_pure_privacy_bounds_the_divergence_of_every_order(
    epsilon: float, rest: float
) -> None:
    order = 1 + real(rest)
    assert renyi(response(epsilon), order) <= order * real(pure_to_rho(epsilon=epsilon))


def test_rho_of_pure_privacy_is_attained_and_less_than_half_the_square() -> None:
    for epsilon in (1e-9, 0.1, 1.0, 50.0):
        found = pure_to_rho(epsilon=epsilon)
        assert agrees(found, sum(p * mp.log(p / q) for p, q in response(epsilon)), 14)
        assert found <= epsilon**2 / 2


@pytest.mark.parametrize("rho", [1e-300, 1e-18, 1e-3, 50.0, 1e5])
@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.5])
def test_extreme_losses_are_converted(rho: float, delta: float) -> None:
    epsilon = rho_to_epsilon(rho=rho, delta=delta)
    assert 0 <= epsilon < rho + 2 * math.sqrt(rho * -math.log(delta)) * (1 + 1e-12)
    assert rho_to_delta(rho=rho, epsilon=epsilon) <= delta * (1 + 1e-9)


def test_no_loss_and_no_delta_are_the_ends() -> None:
    assert rho_to_epsilon(rho=0, delta=0) == 0.0
    assert rho_to_delta(rho=0, epsilon=0) == 0.0
    assert rho_to_epsilon(rho=0.1, delta=0) == math.inf
    assert pure_to_rho(epsilon=0) == 0.0
