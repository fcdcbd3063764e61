# SPDX-License-Identifier: Apache-2.0
"""Optimal composition of equal steps."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import binomial, mp

from sordino.theorems import basic, optimal
from tests.privacy.theorems import reference


def formula(epsilon: float, delta: float, times: int, at: float) -> reference.Real:
    """The theorem as it is printed."""
    e, x = reference.real(epsilon), reference.real(at)
    terms = (
        binomial(times, lies) * max(mp.exp((times - lies) * e) - mp.exp(x + lies * e), mp.mpf(0))
        for lies in range(times + 1)
    )
    return 1 - (1 - reference.real(delta)) ** times * (1 - sum(terms) / (1 + mp.exp(e)) ** times)


@pytest.mark.parametrize(
    ("times", "epsilon", "delta", "at", "expected"),
    [
        (2, 1, 0, 1, 0.3378347121470412),
        (10, 0.1, 0, 0.5, 0.009929626917388853),
        (100, 0.1, 0, 1, 0.1256883902406364),
        (100, 0.1, 0, 4, 3.422312319196773e-5),
        (10, 0.1, 1e-6, 0.6, 0.003142236208576664),
    ],
)
def test_delta_has_the_known_values(
    times: int, epsilon: float, delta: float, at: float, expected: float
) -> None:
    found = optimal(epsilon=epsilon, delta=delta, times=times, at_epsilon=at)
    assert found.epsilon == at
    assert found.delta == pytest.approx(expected, rel=1e-14)
    assert reference.agrees(found.delta, formula(epsilon, delta, times, at), 15)


@pytest.mark.parametrize(
    ("times", "epsilon", "delta", "expected"),
    [
        (10, 0.1, 1e-6, 0.9993709057217587),
        (100, 0.1, 1e-6, 4.774567588107986),  # X25
        (1000, 0.01, 1e-6, 1.365446709993756),
        (30, 0.5, 1e-9, 14.99849686874005),
    ],
)
def test_epsilon_has_the_known_values(
    times: int, epsilon: float, delta: float, expected: float
) -> None:
    found = optimal(epsilon=epsilon, times=times, at_delta=delta)
    assert found.epsilon == pytest.approx(expected, rel=1e-14)
    assert formula(epsilon, 0, times, found.epsilon) <= reference.real(delta)
    assert formula(epsilon, 0, times, found.epsilon * (1 - 1e-15)) > reference.real(delta)


EPSILONS = st.floats(1e-4, 6)
DELTAS = st.one_of(st.just(0.0), st.floats(1e-12, 0.4))


@settings(deadline=None, max_examples=50)
@given(EPSILONS, DELTAS, st.integers(1, 6), st.floats(0, 1.1))
def test_delta_is_that_of_all_combinations_of_answers(
    epsilon: float, delta: float, times: int, share: float
) -> None:
    at = epsilon * times * share
    found = optimal(epsilon=epsilon, delta=delta, times=times, at_epsilon=at).delta
    assert reference.agrees(
        found,
        reference.both_ways(reference.together([reference.response(epsilon, delta)] * times), at),
        14,
    )


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=9, max_size=9), st.floats(0.01, 3), st.floats(0, 1))
def test_a_second_question_chosen_after_the_first_answer_gains_nothing(
    biases: list[float], epsilon: float, share: float
) -> None:
    def question(three: list[float]) -> reference.Pair:
        """Some question with two answers whose loss is at most epsilon."""
        low, tilt, way = map(reference.real, three)
        p = low + (1 - low) * mp.mpf("0.001")
        bound = min(
            p * mp.exp(reference.real(epsilon)), 1 - (1 - p) * mp.exp(-reference.real(epsilon))
        )
        q = p + (bound - p) * tilt
        return [(q, p), (1 - q, 1 - p)] if way < 0.5 else [(p, q), (1 - p, 1 - q)]

    first = question(biases[:3])
    after = [question(biases[3:6]), question(biases[6:])]
    pair = [(p * r, q * s) for (p, q), second in zip(first, after, strict=True) for r, s in second]
    at = 2 * epsilon * share
    assert reference.both_ways(pair, at) <= reference.real(
        optimal(epsilon=epsilon, times=2, at_epsilon=at).delta
    )


@settings(deadline=None, max_examples=40)
@given(EPSILONS, DELTAS, st.integers(1, 60), st.floats(0, 1))
def test_adding_never_gives_less(epsilon: float, delta: float, times: int, share: float) -> None:
    sum_ = basic(losses=[(epsilon, delta)] * times)
    if sum_.delta < 1:
        target = Fraction(repr(sum_.delta))
        assert optimal(epsilon=epsilon, delta=delta, times=times, at_delta=target)[0] <= sum_[0]
    at = sum_.epsilon * share
    found = optimal(epsilon=epsilon, delta=delta, times=times, at_epsilon=at).delta
    assert reference.agrees(found, formula(epsilon, delta, times, at), 13)


@settings(deadline=None, max_examples=40)
@given(EPSILONS, DELTAS, st.integers(1, 300), st.floats(0, 1), st.floats(1, 2))
def test_delta_grows_with_everything_but_epsilon(
    epsilon: float, delta: float, times: int, share: float, factor: float
) -> None:
    at = epsilon * times * share

    def found(epsilon: float, delta: float, times: int, at: float) -> float:
        return optimal(epsilon=epsilon, delta=delta, times=times, at_epsilon=at).delta

    usual = found(epsilon, delta, times, at)
    assert usual <= found(epsilon * factor, delta, times, at)
    assert usual <= found(epsilon, min(delta * factor, 0.9), times, at)
    assert usual <= found(epsilon, delta, times + 1, at)
    assert usual >= found(epsilon, delta, times, at * factor)


@settings(deadline=None, max_examples=40)
@given(EPSILONS, st.integers(1, 300), st.floats(1e-15, 0.9), st.floats(1, 2))
def test_epsilon_grows_with_everything_but_delta(
    epsilon: float, times: int, delta: float, factor: float
) -> None:
    usual = optimal(epsilon=epsilon, times=times, at_delta=delta).epsilon
    assert usual <= optimal(epsilon=epsilon * factor, times=times, at_delta=delta).epsilon
    assert usual <= optimal(epsilon=epsilon, times=times + 1, at_delta=delta).epsilon
    assert usual <= optimal(epsilon=epsilon, times=times, at_delta=delta / factor).epsilon
    assert optimal(epsilon=epsilon, times=times, at_epsilon=usual).delta <= delta


@settings(deadline=None, max_examples=40)
@given(EPSILONS, st.floats(1e-9, 0.01), st.integers(1, 40), st.floats(0.001, 0.9))
def test_epsilon_is_the_least_that_fits(
    epsilon: float, delta: float, times: int, room: float
) -> None:
    target = 1 - (1 - room) * (1 - delta) ** times
    found = optimal(epsilon=epsilon, delta=delta, times=times, at_delta=target).epsilon
    assert formula(epsilon, delta, times, found) <= reference.real(target)
    if found > 1e-12:
        assert formula(epsilon, delta, times, found * (1 - 1e-14)) > reference.real(target)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 0.3, 5, 50])
@pytest.mark.parametrize("times", [1, 1000, 10**6])
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-6, 0.5])
def test_extreme_steps_have_a_loss_that_fits(epsilon: float, times: int, delta: float) -> None:
    found = optimal(epsilon=epsilon, times=times, at_delta=delta).epsilon
    assert 0 <= found <= basic(losses=[(epsilon, 0)]).epsilon * times * (1 + 1e-15)
    assert optimal(epsilon=epsilon, times=times, at_epsilon=found).delta <= delta
    if found > 0:
        less = optimal(epsilon=epsilon, times=times, at_epsilon=found * (1 - 1e-9)).delta
        assert less > delta


def test_the_deltas_of_the_steps_cannot_be_avoided() -> None:
    assert optimal(epsilon=1, delta=1e-6, times=2, at_delta=1e-6).epsilon == math.inf
    assert optimal(epsilon=1, delta=1e-6, times=1, at_delta=1e-6).epsilon == 1.0
    assert optimal(epsilon=1, delta=0.5, times=2, at_delta=0.75).epsilon == 2.0
    assert optimal(epsilon=1, delta=1e-12, times=10**6, at_delta=1e-6).epsilon < 10**6
    assert optimal(epsilon=1, delta=1e-12, times=10**6, at_delta=9.9e-7).epsilon == math.inf


def test_without_delta_losses_add_up() -> None:
    assert optimal(epsilon=0.1, times=7, at_delta=0).epsilon == 0.7
    assert optimal(epsilon=0.1, times=7, at_epsilon=0.7).delta == 0.0


def test_steps_that_can_only_fail_cost_no_epsilon() -> None:
    assert optimal(epsilon=0, delta=0.1, times=2, at_delta=0.5).epsilon == 0.0
    assert optimal(epsilon=0, delta=0.1, times=2, at_epsilon=0).delta == pytest.approx(0.19)


def test_one_step_has_the_profile_of_randomized_response() -> None:
    exact = reference.profile(reference.response(1.5), 0.5)
    assert reference.agrees(optimal(epsilon=1.5, times=1, at_epsilon=0.5).delta, exact, 15)
