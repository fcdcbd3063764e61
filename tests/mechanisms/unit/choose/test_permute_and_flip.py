# SPDX-License-Identifier: Apache-2.0
"""Permute-and-flip: law, privacy by computation, no bounded range, values."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose import Exponential, PermuteAndFlip
from tests.mechanisms.unit.choose import universes
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

FOODS = [3, 3, 2, 3, 4]
ONE = PermuteAndFlip(sensitivity=1, epsilon=1)


def law_of(mechanism: PermuteAndFlip) -> Any:
    def law(scores: universes.Scores) -> universes.Floats:
        found: universes.Floats = mechanism.probabilities(list(scores))
        np.testing.assert_allclose(
            found, universes.by_flips(scores, float(mechanism.rate)), rtol=1e-12
        )
        return found

    return law


@pytest.mark.parametrize("relation", universes.RELATIONS)
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_no_neighbouring_counts_lose_more_than_epsilon(
    relation: universes.Relation, several: bool, epsilon: float
) -> None:
    monotone = relation == "add_remove"
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=epsilon, monotone=monotone)
    loss, _ = universes.worst(law_of(mechanism), universes.votes(relation, several=several))
    assert 0.93 * epsilon < loss <= epsilon * (1 + 1e-12)
    assert mechanism.loss.epsilon(delta=0) == epsilon


@pytest.mark.parametrize("relation", universes.RELATIONS)
def test_the_losses_have_no_bounded_range(relation: universes.Relation) -> None:
    """The losses of one pair reach further than epsilon; so they are accounted as pure."""
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=0.5, monotone=relation == "add_remove")
    _, reach = universes.worst(law_of(mechanism), universes.votes(relation))
    assert 1.6 * 0.5 < reach < 2 * 0.5
    bounded = Exponential(sensitivity=1, epsilon=0.5).loss
    assert mechanism.loss.rho == pytest.approx(0.122459331201855, rel=1e-12)
    assert mechanism.loss.rho > bounded.rho


@pytest.mark.parametrize("several", [False, True])
def test_half_the_noise_costs_twice_epsilon_when_a_voter_is_replaced(several: bool) -> None:
    wrong = PermuteAndFlip(sensitivity=1, epsilon=2, monotone=True)
    loss, _ = universes.worst(law_of(wrong), universes.votes("replace_one", several=several))
    assert 1.999 * 2 < loss <= 4 * (1 + 1e-12)


def test_the_probabilities_of_the_foods() -> None:
    faster = PermuteAndFlip(sensitivity=1, epsilon=1, monotone=True)
    assert faster.probabilities(FOODS)[[0, 1, 2, 3, 4]] == pytest.approx(
        [0.13739474627436, 0.13739474627436, 0.047016119806604, 0.13739474627436, 0.54079964137031],
        rel=1e-12,
    )


@pytest.mark.parametrize(
    "scores",
    [
        FOODS,
        [0] * 6,
        [0.5, 0.25, -3.75, 1e-300],
        [Fraction(1, 3), 0.1, -2],
        np.array([(1 << 64) - 1, (1 << 64) - 3, 0], dtype=np.uint64),
        [10**300, 10**300 - 1, 0],
        np.arange(40) // 4,
    ],
    ids=str,
)
def test_draws_follow_the_probabilities(scores: Any) -> None:
    law = ONE.probabilities(scores)
    with replay(SeededBits(20264)):
        drawn = [ONE.release(scores) for _ in range(600)]
    assert_fits(drawn, {i: float(p) for i, p in enumerate(law) if p > 0})


def test_draws_among_a_multitude_of_others() -> None:
    """Of 10^18 candidates with chance p each, about as many as p says come up before the best."""
    others, gap = 10**18, 80
    p = math.exp(-gap / 2)
    best = -math.expm1(-others * p) / (others * p)
    with replay(SeededBits(20266)):
        drawn = [ONE.release([gap], others=others) == 0 for _ in range(400)]
    assert_fits(drawn, {True: best, False: 1 - best})


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "there is no candidate to choose: scores are empty"),
        ([1.5, math.nan], "scores must be finite, and some are infinite or not a number"),
        ([1.5, -math.inf], "scores must be finite, and some are infinite or not a number"),
        (np.zeros((2, 2)), "scores must be a sequence of finite numbers, .* of 2 dimensions"),
    ],
    ids=str,
)
def test_bad_input_is_refused_in_one_sentence(scores: Any, message: str) -> None:
    for ask in (ONE.release, ONE.probabilities):
        with pytest.raises(ValueError, match=f"^{message}"):
            ask(scores)
