# SPDX-License-Identifier: Apache-2.0
"""Optimal composition of different steps."""

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.theorems import basic, optimal, optimal_heterogeneous
from tests.privacy.theorems.reference import agrees, both_ways, real, response, together

Losses = list[tuple[float, float]]
LOSSES = st.lists(
    st.tuples(st.floats(1e-3, 4), st.one_of(st.just(0.0), st.floats(1e-9, 0.2))),
    min_size=1,
    max_size=6,
)
ROUND = st.lists(
    st.tuples(st.integers(1, 300).map(lambda n: n / 100), st.sampled_from([0.0, 1e-6])),
    min_size=1,
    max_size=12,
)


def spread(many: int) -> Iterator[float]:
    """Different epsilons that have no common unit."""
    return (round(0.01 + 0.02 * ((0.6180339887498949 * n) % 1), 17) for n in range(1, many + 1))


@pytest.mark.parametrize(
    ("epsilons", "expected"),
    [((0.1, 0.2, 0.3, 0.5), 0.07285744737365591), ((0.3,) * 4, 0.049129709474591)],
)
def test_delta_has_the_known_values(epsilons: tuple[float, ...], expected: float) -> None:
    losses = [(epsilon, 0) for epsilon in epsilons]
    found = optimal_heterogeneous(losses=losses, at_epsilon=0.6)
    assert found.delta == pytest.approx(expected, rel=1e-14)


@settings(deadline=None, max_examples=60)
@given(LOSSES, st.floats(0, 1.1))
def test_delta_is_that_of_all_combinations_of_answers(losses: Losses, share: float) -> None:
    at = share * sum(epsilon for epsilon, _ in losses)
    found = optimal_heterogeneous(losses=losses, at_epsilon=at).delta
    assert agrees(found, both_ways(together(response(*loss) for loss in losses), at), 14)


@settings(deadline=None, max_examples=40)
@given(LOSSES, st.floats(1e-6, 0.9))
def test_epsilon_is_the_least_that_fits(losses: Losses, room: float) -> None:
    kept = math.prod(1 - delta for _, delta in losses)
    target = 1 - kept * (1 - room)
    found = optimal_heterogeneous(losses=losses, at_delta=target).epsilon
    pair = together(response(*loss) for loss in losses)
    assert both_ways(pair, found) <= real(target)
    if found > 1e-9:
        assert both_ways(pair, found * (1 - 1e-12)) > real(target)


@settings(deadline=None, max_examples=40)
@given(st.floats(1e-3, 4), st.floats(0, 0.2), st.integers(1, 40), st.floats(0, 1))
def test_equal_steps_cost_what_the_theorem_for_equal_steps_says(
    epsilon: float, delta: float, times: int, share: float
) -> None:
    losses, at = [(epsilon, delta)] * times, share * times * epsilon
    one = optimal_heterogeneous(losses=losses, at_epsilon=at).delta
    assert one == optimal(epsilon=epsilon, delta=delta, times=times, at_epsilon=at).delta
    target = 1 - (1 - delta) ** times * 0.99
    epsilons = [
        optimal_heterogeneous(losses=losses, at_delta=target).epsilon,
        optimal(epsilon=epsilon, delta=delta, times=times, at_delta=target).epsilon,
    ]
    assert epsilons[0] == pytest.approx(epsilons[1], rel=1e-14, abs=1e-14)


@settings(deadline=None, max_examples=40)
@given(st.one_of(LOSSES, ROUND), st.floats(0, 1))
def test_order_does_not_matter(losses: Losses, share: float) -> None:
    at = share * sum(epsilon for epsilon, _ in losses)
    found = optimal_heterogeneous(losses=losses, at_epsilon=at)
    assert found == optimal_heterogeneous(losses=losses[::-1], at_epsilon=at)
    assert found == optimal_heterogeneous(losses=sorted(losses), at_epsilon=at)


@settings(deadline=None, max_examples=30)
@given(st.one_of(LOSSES, ROUND), st.floats(0, 1), st.floats(1, 2))
def test_delta_grows_with_everything_but_epsilon(
    losses: Losses, share: float, factor: float
) -> None:
    at = share * sum(epsilon for epsilon, _ in losses)

    def found(losses: Losses, at: float) -> float:
        return optimal_heterogeneous(losses=losses, at_epsilon=at).delta

    usual = found(losses, at)
    (epsilon, delta), *rest = losses
    assert usual <= found([(epsilon * factor, delta), *rest], at)
    assert usual <= found([(epsilon, min(delta * factor, 0.9)), *rest], at)
    assert usual <= found([*losses, (0.5, 0.0)], at)
    assert usual >= found(losses, at * factor)


@settings(deadline=None, max_examples=30)
@given(ROUND)
def test_adding_never_gives_less(losses: Losses) -> None:
    sum_ = basic(losses=losses)
    found = optimal_heterogeneous(losses=losses, at_delta=Fraction(repr(sum_.delta)))
    assert found.epsilon <= sum_.epsilon


@pytest.mark.parametrize("at", [0.0, 0.7, 1.5, 3.0])
def test_twenty_steps_without_a_common_unit_are_listed(at: float) -> None:
    epsilons = [10 * epsilon for epsilon in spread(12)]
    found = optimal_heterogeneous(losses=[(epsilon, 0) for epsilon in epsilons], at_epsilon=at)
    assert agrees(found.delta, both_ways(together(map(response, epsilons)), at), 11)


def test_many_different_steps_lie_between_what_equal_ones_cost() -> None:
    epsilons = list(spread(1000))
    losses = [(epsilon, 1e-9) for epsilon in epsilons]
    found = optimal_heterogeneous(losses=losses, at_delta=1e-5).epsilon
    least, most = (
        optimal(epsilon=epsilon, delta=1e-9, times=1000, at_delta=1e-5).epsilon
        for epsilon in (min(epsilons), max(epsilons))
    )
    assert least < found < most
    # Steps of the same mean square cost nearly the same when there are many.
    root = math.sqrt(sum(epsilon**2 for epsilon in epsilons) / 1000)
    same = optimal(epsilon=root, delta=1e-9, times=1000, at_delta=1e-5).epsilon
    assert found == pytest.approx(same, rel=1e-3)


def test_a_few_kinds_of_a_great_many_steps_are_priced() -> None:
    losses = [(0.001, 0.0)] * 50_000 + [(0.0017, 0.0)] * 30_000 + [(0.00123, 0.0)] * 20_000
    found = optimal_heterogeneous(losses=losses, at_delta=1e-6).epsilon
    squares = sum(epsilon**2 for epsilon, _ in losses)
    same = optimal(epsilon=math.sqrt(squares / 1e5), times=10**5, at_delta=1e-6).epsilon
    assert found == pytest.approx(same, rel=1e-3)


def test_a_tiny_delta_is_reached_with_many_steps() -> None:
    losses = [(epsilon, 0.0) for epsilon in spread(2000)]
    found = optimal_heterogeneous(losses=losses, at_delta=1e-200).epsilon
    assert found < basic(losses=losses).epsilon
    assert optimal_heterogeneous(losses=losses, at_epsilon=found).delta <= 1.0001e-200


def test_the_deltas_of_the_steps_cannot_be_avoided() -> None:
    losses = [(1.0, 1e-6), (2.0, 1e-6)]
    assert optimal_heterogeneous(losses=losses, at_delta=1e-6).epsilon == math.inf
    assert optimal_heterogeneous(losses=losses, at_delta=0).epsilon == math.inf
    assert optimal_heterogeneous(losses=[(1, 0.5), (2, 0.5)], at_delta=0.75).epsilon == 3.0


def test_steps_that_can_only_fail_cost_no_epsilon() -> None:
    assert optimal_heterogeneous(losses=[(0, 0.5), (0, 0.5)], at_delta=0.8).epsilon == 0.0
    found = optimal_heterogeneous(losses=[(0, 0.5), (0, 0.5)], at_epsilon=0).delta
    assert found == pytest.approx(0.75)


def test_without_delta_losses_add_up() -> None:
    assert optimal_heterogeneous(losses=[(0.1, 0), (0.2, 0)], at_delta=0).epsilon == 0.3
