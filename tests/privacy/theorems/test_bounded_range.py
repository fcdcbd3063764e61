# SPDX-License-Identifier: Apache-2.0
"""Steps of bounded range, such as exponential mechanisms."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from sordino.privacy.theorems import ranges as search
from sordino.theorems import (
    bounded_range,
    bounded_range_delta,
    bounded_range_to_rho,
    bounded_range_to_total_variation,
    optimal,
    pure_to_rho,
    rho_to_delta,
)
from tests.privacy.theorems.reference import (
    Pair,
    Real,
    agrees,
    both_ways,
    profile,
    real,
    renyi,
    together,
    two_outcomes,
)

WIDTHS = st.floats(1e-3, 6)


@pytest.mark.parametrize(
    ("times", "epsilon", "at", "expected"),
    [
        (10, 0.2, 0.25, 0.045724392753),
        (10, 0.2, 0.5, 0.010625032285),
        (10, 0.2, 1.0, 1.0164282061e-4),
        (1, 1, 0.5, 0.07740468631569081),
        (2, 1, 1, 0.05700532902848803),
        (50, 0.1, 1, 3.998429905380178e-4),
        (100, 0.1, 1, 6.887477214e-3),
        (100, 0.1, 2, 9.084231259e-6),
    ],
)
def test_steps_fixed_beforehand_have_the_known_delta(
    times: int, epsilon: float, at: float, expected: float
) -> None:
    found = bounded_range(epsilon=epsilon, times=times, adaptive=False, at_epsilon=at).delta
    assert found == pytest.approx(expected, rel=2e-10)


@pytest.mark.parametrize(
    ("at", "expected", "by_rho"),
    [(0.25, 0.0604359, 0.0817728), (0.5, 0.0178350, 0.0230317), (1.0, 3.73956e-4, 3.85709e-4)],
)
def test_adaptive_steps_have_the_known_delta(at: float, expected: float, by_rho: float) -> None:
    found = bounded_range(epsilon=0.2, times=10, adaptive=True, at_epsilon=at).delta
    assert found == pytest.approx(expected, rel=2e-6)
    assert rho_to_delta(rho=10 * Fraction("0.04") / 8, epsilon=at) == pytest.approx(by_rho, 1e-5)


@pytest.mark.parametrize(
    ("epsilon", "pure", "expected"),
    [
        (0.1, 0.004995837495788, 0.00124982642745984),
        (0.5, 0.122459331201855, 0.0311420922611559),
        (1, 0.46211715726001, 0.123301561482245),
        (2, 1.52318831191153, 0.474474647070527),
    ],
)
def test_rho_has_the_known_values(epsilon: float, pure: float, expected: float) -> None:
    assert bounded_range_to_rho(epsilon=epsilon) == pytest.approx(expected, rel=3e-15)
    assert pure_to_rho(epsilon=epsilon) == pytest.approx(pure, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-150, 1e-9, 1e-4, 0.3, 7, 50, 600])
def test_rho_is_accurate_from_tiny_to_huge_ranges(epsilon: float) -> None:
    with mp.workdps(700):
        x = real(epsilon) / mp.expm1(real(epsilon))
        exact = x - 1 - mp.log(x)
    assert agrees(bounded_range_to_rho(epsilon=epsilon), exact, 14)


@given(WIDTHS)
def test_rho_is_at_most_an_eighth_of_the_square(epsilon: float) -> None:
    square = Fraction(repr(epsilon)) ** 2 / 8
    assert bounded_range_to_rho(epsilon=epsilon) <= float(square) * (1 + 1e-15)


@settings(deadline=None)
@given(st.floats(1e-2, 20), st.floats(0.001, 0.999), st.floats(1e-5, 200))
def test_rho_bounds_the_divergence_of_every_order(width: float, share: float, rest: float) -> None:
    pair = two_outcomes(real(width), real(width) * real(share))
    order = 1 + real(rest)
    assert renyi(pair, order) <= order * real(bounded_range_to_rho(epsilon=width))


def test_rho_is_attained() -> None:
    width = mp.mpf(2)
    pair = two_outcomes(width, mp.log(mp.expm1(width) / width))
    divergence = renyi(pair, 1 + mp.mpf(10) ** -20)
    assert agrees(bounded_range_to_rho(epsilon=2), divergence, 12)


def test_the_total_variation_is_less_than_half_of_that_of_pure_privacy() -> None:
    assert bounded_range_to_total_variation(epsilon=1) == pytest.approx(0.244918662403709, 1e-14)
    assert bounded_range_to_total_variation(epsilon=1) == bounded_range_delta(
        epsilon=1, at_epsilon=0
    )


@settings(deadline=None)
@given(WIDTHS, st.floats(0, 1), st.floats(0.001, 0.999))
def test_one_step_is_covered_by_the_envelope(width: float, part: float, share: float) -> None:
    at = width * part
    envelope = bounded_range_delta(epsilon=width, at_epsilon=at)
    assert both_ways(two_outcomes(real(width), real(width) * real(share)), at) <= real(envelope)
    worst = two_outcomes(real(width), (real(at) + real(width)) / 2)
    assert agrees(envelope, profile(worst, at), 13)


@settings(deadline=None, max_examples=30)
@given(WIDTHS, st.floats(0, 0.999))
def test_one_step_costs_the_envelope_in_both_cases(width: float, part: float) -> None:
    at = width * part
    envelope = bounded_range_delta(epsilon=width, at_epsilon=at)
    for adaptive in (False, True):
        found = bounded_range(epsilon=width, times=1, adaptive=adaptive, at_epsilon=at).delta
        assert found == pytest.approx(envelope, rel=1e-14)


@settings(deadline=None, max_examples=100)
@given(
    st.floats(0.05, 4), st.lists(st.floats(0.001, 0.999), min_size=1, max_size=4), st.floats(0, 1)
)
def test_steps_with_ranges_that_differ_cost_no_more(
    width: float, shares: list[float], part: float
) -> None:
    at = width * len(shares) * part
    pair = together(two_outcomes(real(width), real(width) * real(share)) for share in shares)
    found = bounded_range(epsilon=width, times=len(shares), adaptive=False, at_epsilon=at).delta
    assert both_ways(pair, at) <= real(found)


@settings(deadline=None, max_examples=100)
@given(
    st.floats(0.05, 4), st.lists(st.floats(0.001, 0.999), min_size=7, max_size=7), st.floats(0, 1)
)
def test_steps_chosen_on_the_way_cost_no_more_than_adaptive_ones(
    width: float, shares: list[float], part: float
) -> None:
    at, steps = 3 * width * part, [two_outcomes(real(width), real(width) * real(s)) for s in shares]
    pair: Pair = []
    for a, b, c in product((0, 1), repeat=3):  # a tree: the step depends on what came before
        path = [steps[0][a], steps[1 + a][b], steps[3 + 2 * a + b][c]]
        pair.append((math.prod(p for p, _ in path), math.prod(q for _, q in path)))
    found = bounded_range(epsilon=width, times=3, adaptive=True, at_epsilon=at).delta
    assert both_ways(pair, at) <= real(found)


def test_choosing_on_the_way_can_cost_more_than_steps_fixed_beforehand() -> None:
    def envelope(at: Real) -> Real:
        inside = (1 - mp.exp((at - 1) / 2)) ** 2 / (1 - mp.exp(-1))
        return max(1 - mp.exp(at), mp.mpf(0)) if abs(at) > 1 else inside

    def then_the_worst(t: float) -> Real:
        pair = two_outcomes(mp.mpf(1), mp.mpf(t))
        return sum(p * envelope(mp.mpf(1) / 4 - mp.log(p / q)) for p, q in pair)

    adaptive = max(then_the_worst(n / 500) for n in range(1, 500))
    assert bounded_range(epsilon=1, times=2, adaptive=False, at_epsilon=0.25).delta < adaptive
    assert adaptive < bounded_range(epsilon=1, times=2, adaptive=True, at_epsilon=0.25).delta


@settings(deadline=None, max_examples=30)
@given(st.floats(0.01, 3), st.integers(1, 40), st.floats(0, 1))
def test_what_is_fixed_beforehand_costs_less_and_pure_steps_cost_more(
    width: float, times: int, part: float
) -> None:
    at = width * times * part
    fixed = bounded_range(epsilon=width, times=times, adaptive=False, at_epsilon=at).delta
    free = bounded_range(epsilon=width, times=times, adaptive=True, at_epsilon=at).delta
    assert fixed <= free <= optimal(epsilon=width, times=times, at_epsilon=at).delta


@settings(deadline=None, max_examples=25)
@given(st.floats(0.01, 3), st.integers(1, 60), st.floats(0, 1), st.floats(1, 2), st.booleans())
def test_delta_grows_with_everything_but_epsilon(
    width: float, times: int, part: float, factor: float, adaptive: bool
) -> None:
    at = width * times * part

    def found(width: float, times: int, at: float) -> float:
        return bounded_range(epsilon=width, times=times, adaptive=adaptive, at_epsilon=at).delta

    usual = found(width, times, at)
    assert usual <= found(width * factor, times, at) * (1 + 1e-12)
    assert usual <= found(width, times + 1, at) * (1 + 1e-12)
    assert usual >= found(width, times, at * factor) * (1 - 1e-12)


@settings(deadline=None, max_examples=15)
@given(st.floats(0.01, 3), st.integers(1, 80), st.floats(1e-12, 0.3), st.booleans())
def test_epsilon_and_delta_belong_together(
    width: float, times: int, delta: float, adaptive: bool
) -> None:
    found = bounded_range(epsilon=width, times=times, adaptive=adaptive, at_delta=delta).epsilon
    back = bounded_range(epsilon=width, times=times, adaptive=adaptive, at_epsilon=found).delta
    assert back <= delta * (1 + 1e-9)
    if found > 1e-9:
        less = found * (1 - 1e-6)
        assert bounded_range(
            epsilon=width, times=times, adaptive=adaptive, at_epsilon=less
        ).delta > delta * (1 - 1e-9)


@settings(deadline=None, max_examples=10)
@given(st.floats(0.001, 1), st.integers(40, 150), st.floats(0, 0.6))
def test_the_search_finds_the_worst_of_all_candidates(
    width: float, times: int, part: float
) -> None:
    exact_width, at = Fraction(repr(width)), Fraction(repr(width * times * part))
    found = search.worst_delta(exact_width, times, at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_ALL", 10**6)
        assert search.worst_delta(exact_width, times, at) == found


def test_a_search_that_is_cut_short_gives_an_upper_bound() -> None:
    width, at = Fraction(1, 100), Fraction(1)
    exact = search.worst_delta(width, 3000, at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_MOST_TRIED", 100)
        rough = search.worst_delta(width, 3000, at)
    assert exact < rough < 1.1 * exact


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 50])
@pytest.mark.parametrize("delta", [1e-300, 1e-6])
def test_a_million_adaptive_steps_are_priced(epsilon: float, delta: float) -> None:
    steps: dict[str, Any] = {"times": 10**6, "at_delta": delta}
    found = bounded_range(epsilon=epsilon, adaptive=True, **steps).epsilon
    assert found <= optimal(epsilon=epsilon, **steps).epsilon
    assert found >= optimal(epsilon=epsilon / 2, **steps).epsilon * 0.99


@pytest.mark.parametrize(("epsilon", "at"), [(1e-9, 2e-5), (1e-3, 2.0), (50, 4e7)])
def test_a_million_steps_fixed_beforehand_are_priced(epsilon: float, at: float) -> None:
    steps: dict[str, Any] = {"epsilon": epsilon, "times": 10**6, "at_epsilon": at}
    found = bounded_range(adaptive=False, **steps).delta
    assert found <= bounded_range(adaptive=True, **steps).delta


def test_epsilon_is_found_for_many_steps_fixed_beforehand() -> None:
    steps: dict[str, Any] = {"epsilon": 0.005, "times": 20_000, "adaptive": False}
    found = bounded_range(at_delta=1e-6, **steps).epsilon
    assert bounded_range(at_epsilon=found, **steps).delta <= 1e-6
    assert bounded_range(at_epsilon=found * (1 - 1e-6), **steps).delta > 1e-6
    assert bounded_range(epsilon=1e-9, times=20_000, adaptive=False, at_delta=0.1).epsilon == 0.0


def test_a_deep_tail_is_not_rounded_to_nothing() -> None:
    found = bounded_range(epsilon=1, times=10**5, adaptive=False, at_epsilon=60_000).delta
    assert found == math.ulp(0.0)
    assert bounded_range(epsilon=1, times=10, adaptive=False, at_epsilon=10).delta == 0.0


def test_without_delta_losses_add_up() -> None:
    for adaptive in (False, True):
        assert bounded_range(epsilon=0.1, times=7, adaptive=adaptive, at_delta=0).epsilon == 0.7


def test_a_pair_at_one_fixed_place_is_no_bound_for_a_mixed_plan() -> None:
    """An exponential mechanism beside Laplace noise, both of epsilon 1, at 0.5."""

    def beside_laplace(t: float) -> float:
        """Integrate the profile of the pair over the loss of the noise."""
        total = mp.mpf(0)
        for p, q in two_outcomes(mp.mpf(1), mp.mpf(t)):
            at = mp.mpf("0.5") - mp.log(p / q)
            total += p * ((1 - mp.exp((at - 1) / 2)) if -1 <= at <= 1 else max(1 - mp.exp(at), 0))
        return float(total)

    alone = beside_laplace(0.75)
    worst = max(beside_laplace(n / 1000) for n in range(1, 1000))
    assert alone == pytest.approx(0.239012, abs=1e-6)
    assert worst == pytest.approx(0.262588, abs=1e-6)
