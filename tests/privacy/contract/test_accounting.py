# SPDX-License-Identifier: Apache-2.0
"""Laws of the epsilons of many compositions: a few of them every day, all of them when soaking."""

import math
from itertools import pairwise

import pytest

from bench.compositions import (
    MONOTONE,
    MOST_EXCESS,
    MOST_SECONDS,
    Case,
    cases,
    measure,
    monotone_violations,
)
from sordino.privacy import losses
from sordino.privacy.loss import Loss

ALL = cases()
RAREST = "rate 1e-06"  # what is certain from below is less close for these
FEW = [
    case
    for case in ALL[::9]
    if "sampled" not in case.name or (case.loss.uses <= 10_000 and RAREST not in case.name)
]


def names(listed: list[Case]) -> list[str]:
    return [case.name for case in listed]


def test_there_are_more_than_four_hundred_compositions() -> None:
    assert len(ALL) > 400
    assert len({case.name for case in ALL}) == len(ALL)


@pytest.mark.parametrize("case", FEW, ids=names(FEW))
def test_an_epsilon_is_not_below_what_is_certain_and_enough_for_its_delta(case: Case) -> None:
    epsilon = case.epsilon()
    assert case.lower() <= epsilon * (1 + MONOTONE)
    assert epsilon <= case.loss.pld().epsilon_upper(delta=case.delta) * (1 + 1e-12)
    delta = case.loss.delta(epsilon=epsilon * (1 + 1e-9))
    assert delta <= case.delta * (1 + 5e-3) or epsilon == 0


def test_quick_compositions_are_monotone() -> None:
    quick = [case for case in ALL if "sampled" not in case.family and case.loss.uses <= 1000]
    assert len(quick) > 150
    assert monotone_violations({case: case.epsilon() for case in quick}) == []


@pytest.mark.soak
@pytest.mark.parametrize("case", ALL, ids=names(ALL))
def test_no_other_accountant_that_is_right_gives_less_and_none_is_waited_for(case: Case) -> None:
    """Those peers are asked that are installed; what is certain from below is there without any."""
    outcome = measure(case, rounds=1)
    assert outcome.lower <= outcome.epsilon * (1 + MONOTONE)
    assert outcome.excess <= MOST_EXCESS
    assert outcome.seconds <= MOST_SECONDS


@pytest.mark.soak
def test_all_compositions_are_monotone() -> None:
    assert monotone_violations({case: case.epsilon() for case in ALL}) == []


@pytest.mark.parametrize(
    "one",
    [
        losses.pure(epsilon=0.1),
        losses.laplace(epsilon=0.5),
        losses.discrete_laplace(epsilon=1, sensitivity=3),
        losses.exponential(epsilon=0.3),
        losses.gaussian(sigma=3),
        losses.discrete_gaussian(sigma=2),
        losses.subsampled(losses.gaussian(sigma=1), rate=0.01),
        losses.approximate(epsilon=0.2, delta=1e-9),
    ],
    ids=repr,
)
def test_more_uses_and_smaller_deltas_cost_more(one: Loss) -> None:
    for delta in (1e-2, 1e-6):
        found = [(n * one).epsilon(delta=delta) for n in (1, 2, 3, 4, 6, 9, 14, 21, 22, 30)]
        assert all(before <= after * (1 + 1e-6) for before, after in pairwise(found))
    deltas = [(9 * one).epsilon(delta=10.0**-power) for power in range(1, 16)]
    assert all(before <= after for before, after in pairwise(deltas) if math.isfinite(after))
