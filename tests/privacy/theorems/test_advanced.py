# SPDX-License-Identifier: Apache-2.0
"""Advanced composition and its two rules of thumb."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from sordino.theorems import advanced, advanced_per_query, basic, optimal
from tests.privacy.theorems.reference import agrees, real

TABLE = [
    (10, 0.1, 1e-6, 1.767429054344758),
    (100, 0.1, 1e-6, 6.308230950513408),  # X25
    (1000, 0.01, 1e-6, 1.762759807110791),
    (30, 0.5, 1e-9, 27.36172906407792),
]


@pytest.mark.parametrize(("times", "epsilon", "slack", "expected"), TABLE)
def test_the_printed_theorem_has_the_known_values(
    times: int, epsilon: float, slack: float, expected: float
) -> None:
    found = advanced(epsilon=epsilon, times=times, slack=slack)
    assert found.epsilon == pytest.approx(expected, rel=1e-14)
    assert found.delta == slack
    e = real(epsilon)
    exact = mp.sqrt(2 * times * mp.log(1 / real(slack))) * e + times * e * mp.expm1(e)
    assert agrees(found.epsilon, exact, 15)


def test_the_printed_theorem_may_be_worse_than_adding() -> None:
    assert advanced(epsilon=0.1, times=10, slack=1e-6).epsilon > 1.76
    assert basic(losses=[(0.1, 0)] * 10).epsilon == 1.0
    assert optimal(epsilon=0.1, times=10, at_delta=1e-6).epsilon < 1.0


def test_deltas_add_up_with_the_slack() -> None:
    assert advanced(epsilon=1, delta=1e-7, times=10, slack=1e-6).delta == 2e-6
    assert advanced(epsilon=1, delta=0.5, times=10, slack=0.5).delta == 1.0


def test_slack_may_be_tiny_and_steps_many() -> None:
    found = advanced(epsilon=1e-9, times=10**6, slack=1e-300, drift="tight").epsilon
    assert agrees(found, mp.mpf("1e-9") * mp.sqrt(2e6 * 300 * mp.log(10)), 7)
    assert math.isfinite(advanced(epsilon=50, times=10**6, slack=1e-300).epsilon)


STEPS = st.tuples(st.floats(1e-6, 5), st.integers(1, 400), st.floats(1e-12, 0.5))


@settings(deadline=None, max_examples=60)
@given(STEPS, st.sampled_from(["printed", "tight"]))
def test_the_optimal_theorem_never_gives_more(steps: tuple[float, int, float], drift: Any) -> None:
    epsilon, times, slack = steps
    found = advanced(epsilon=epsilon, times=times, slack=slack, drift=drift)
    assert optimal(epsilon=epsilon, times=times, at_delta=slack).epsilon <= found.epsilon


@given(STEPS)
def test_the_tight_drift_gives_less(steps: tuple[float, int, float]) -> None:
    epsilon, times, slack = steps
    tight = advanced(epsilon=epsilon, times=times, slack=slack, drift="tight")
    assert tight.epsilon <= advanced(epsilon=epsilon, times=times, slack=slack).epsilon


@given(STEPS, st.floats(1, 3), st.sampled_from(["printed", "tight"]))
def test_more_steps_of_more_loss_with_less_slack_cost_more(
    steps: tuple[float, int, float], factor: float, drift: Any
) -> None:
    epsilon, times, slack = steps
    usual = advanced(epsilon=epsilon, times=times, slack=slack, drift=drift).epsilon
    assert usual <= advanced(epsilon=epsilon * factor, times=times, slack=slack, drift=drift)[0]
    assert usual <= advanced(epsilon=epsilon, times=times + 1, slack=slack, drift=drift)[0]
    assert usual <= advanced(epsilon=epsilon, times=times, slack=slack / factor, drift=drift)[0]


GRID = [
    (times, total, slack)
    for times in (1, 2, 5, 30, 300)
    for total in (0.1, 0.5, 0.99)
    for slack in (1e-6, 1e-3, 0.1, 0.5, 0.9)
]


@pytest.mark.parametrize("constant", ["2 sqrt 2", "2"])
def test_both_rules_of_thumb_hold_by_the_optimal_theorem(constant: Any) -> None:  # E-C1
    for times, total, slack in GRID:
        epsilon = advanced_per_query(
            total_epsilon=total, times=times, slack=slack, constant=constant
        )
        assert optimal(epsilon=epsilon, times=times, at_epsilon=total).delta <= slack


@pytest.mark.parametrize(
    ("constant", "times", "least"),
    [
        ("2 sqrt 2", 1, 0.712),
        ("2 sqrt 2", 5, 0.750),
        ("2 sqrt 2", 300, 0.777),
        ("2", 1, 0.339),
        ("2", 5, 0.387),
        ("2", 300, 0.424),
    ],
)
def test_from_some_slack_on_neither_rule_follows_from_the_printed_theorem(
    constant: Any, times: int, least: float
) -> None:  # E-C1
    for slack, follows in ((least - 0.001, True), (least + 0.001, False)):
        epsilon = advanced_per_query(
            total_epsilon=0.99, times=times, slack=slack, constant=constant
        )
        assert (advanced(epsilon=epsilon, times=times, slack=slack).epsilon <= 0.99) == follows


def test_the_rules_of_thumb_differ_by_the_root_of_two_and_are_rounded_down() -> None:
    one = advanced_per_query(total_epsilon=0.5, times=100, slack=1e-6)
    two = advanced_per_query(total_epsilon=0.5, times=100, slack=1e-6, constant="2")
    exact = mp.mpf("0.5") / (2 * mp.sqrt(100 * mp.log(mp.mpf(10) ** 6)))
    assert exact * (1 - mp.mpf(10) ** -15) < two <= exact
    assert exact / mp.sqrt(2) * (1 - mp.mpf(10) ** -15) < one <= exact / mp.sqrt(2)


def test_a_rule_of_thumb_is_refused_where_it_is_not_stated() -> None:
    with pytest.raises(ValueError, match="stated for total_epsilon below 1"):
        advanced_per_query(total_epsilon=1, times=10, slack=1e-6)
