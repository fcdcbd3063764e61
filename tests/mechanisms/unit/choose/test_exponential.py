# SPDX-License-Identifier: Apache-2.0
"""The exponential mechanism: law, privacy by computation, bounded range, values."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sordino.mechanisms.choose import Exponential, NoisyMax, PermuteAndFlip
from sordino.privacy.bounded_range import BoundedRange
from tests.mechanisms.unit.choose.universes import (
    RELATIONS,
    Floats,
    Relation,
    Scores,
    by_weight,
    votes,
    worst,
)
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

FOODS = [3, 3, 2, 3, 4]
ONE = Exponential(sensitivity=1, epsilon=1)


def law_of(mechanism: Exponential) -> Any:
    def law(scores: Scores) -> Floats:
        found: Floats = mechanism.probabilities(list(scores))
        np.testing.assert_allclose(found, by_weight(scores, float(mechanism.rate)), rtol=1e-13)
        return found

    return law


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_no_neighbouring_counts_lose_more_than_epsilon(
    relation: Relation, several: bool, epsilon: float
) -> None:
    """Counts move one way when a voter comes or goes, and both ways when one replaces another."""
    monotone = relation == "add_remove"
    mechanism = Exponential(sensitivity=1, epsilon=epsilon, monotone=monotone)
    loss, reach = worst(law_of(mechanism), votes(relation, several=several))
    assert 0.65 * epsilon < loss <= epsilon * (1 + 1e-12)
    assert reach == pytest.approx(epsilon, rel=1e-12)
    assert mechanism.loss.epsilon(delta=0) == epsilon


def test_the_loss_comes_within_a_thousandth_of_epsilon() -> None:
    voters = votes("add_remove", several=True)
    mechanism = Exponential(sensitivity=1, epsilon=2, monotone=True)
    assert 1.9998 < worst(law_of(mechanism), voters)[0] < 2


@pytest.mark.parametrize("several", [False, True])
def test_the_exponent_epsilon_costs_twice_epsilon_when_a_voter_is_replaced(several: bool) -> None:
    wrong = Exponential(sensitivity=1, epsilon=2, monotone=True)
    loss, reach = worst(law_of(wrong), votes("replace_one", several=several))
    assert 1.998 * 2 < loss < 2 * 2
    assert reach == pytest.approx(4, rel=1e-12)


def test_half_of_the_budget_is_lost_by_an_exponent_for_replacements_when_voters_come_and_go() -> (
    None
):
    loss, reach = worst(law_of(ONE), votes("add_remove"))
    assert loss < 0.5
    assert reach == pytest.approx(0.5)


def test_a_spread_between_the_two_is_what_the_scores_may_move_apart() -> None:
    """Scores that move by -1 to 2: the spread is 3 at a sensitivity of 2."""
    steps = [(2, -1, 0), (-1, 2, 2), (2, 2, -1), (0, -1, 2)]
    pairs = frozenset(
        ((0, b, c), (step[0], b + step[1], c + step[2]))
        for b in range(-12, 13, 3)
        for c in range(-12, 13, 3)
        for step in steps
    )
    mechanism = Exponential(sensitivity=2, epsilon=1, spread=3)
    loss, reach = worst(law_of(mechanism), pairs)
    assert 0.95 < loss <= 1
    assert reach == pytest.approx(1)


def test_the_loss_is_a_bounded_range() -> None:
    assert ONE.loss.epsilon(delta=0) == 1
    assert ONE.loss.rho == BoundedRange(epsilon=Fraction(1)).rho
    assert ONE.loss.rho == pytest.approx(0.123301561482245, rel=1e-12)
    assert ONE.loss.delta(epsilon=0) == pytest.approx(math.tanh(1 / 4), rel=1e-12)


def test_the_probabilities_of_the_foods() -> None:
    np.testing.assert_allclose(
        ONE.probabilities(FOODS),
        [0.19028583467386, 0.19028583467386, 0.1154141928387, 0.19028583467386, 0.31372830313972],
        rtol=1e-12,
    )
    faster = Exponential(sensitivity=1, epsilon=1, monotone=True)
    assert faster.probabilities(FOODS)[[0, 2, 4]] == pytest.approx(
        [0.1643071807824, 0.060445233846683, 0.44663322380613], rel=1e-12
    )


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        (FOODS, {}),
        ([0.5, 0.25, -3.75, 1e-300], {}),
        ([Fraction(1, 3), 0.1, Decimal("0.1"), -2], {}),
        (np.array([(1 << 64) - 1, (1 << 64) - 3, 0], dtype=np.uint64), {}),
        ([10**300, 10**300 - 1, 0], {}),
        ([5, 0, 0, 1], {"base": [0.01, 3, Fraction(1, 3), 0]}),
        ([10**9, 1, 0], {"base": [0, 1, 1]}),
    ],
    ids=str,
)
def test_draws_follow_the_probabilities(scores: Any, options: dict[str, Any]) -> None:
    law = ONE.probabilities(scores, **options)
    with replay(SeededBits(20261)):
        drawn = [ONE.release(scores, **options) for _ in range(2000)]
    assert_fits(drawn, {i: float(p) for i, p in enumerate(law) if p > 0})


@pytest.mark.parametrize(
    "scores",
    [
        np.array(FOODS, dtype=np.int8),
        np.array([FOODS, FOODS]).T[:, 0],
        pd.Series(FOODS),
        pl.Series(FOODS),
        [Fraction(x) for x in FOODS],
        [Decimal(x) for x in FOODS],
        [float(x) for x in FOODS],
        np.array(FOODS, dtype=object),
        [10**200 + x for x in FOODS],
        [(1 << 63) - 5 + x for x in FOODS],
    ],
    ids=lambda scores: type(scores).__name__,
)
def test_the_law_does_not_depend_on_how_scores_are_written(scores: Any) -> None:
    np.testing.assert_allclose(ONE.probabilities(scores), ONE.probabilities(FOODS), rtol=1e-14)
    with replay(SeededBits(7)):
        assert ONE.release(scores) in range(5)


def test_a_choice_leaves_its_scores_as_they_are() -> None:
    scores = np.arange(1000.0)
    scores.setflags(write=False)
    assert 900 < ONE.release(scores) < 1000
    assert (scores == np.arange(1000.0)).all()


def test_weights_with_names_are_refused() -> None:
    for base in ({1: 1, 2: 1}, pd.Series([1, 2], index=["a", "b"])):
        for ask in (ONE.release, ONE.probabilities):
            with pytest.raises(TypeError, match=r"^base must be a list in the order of the cand"):
                ask([1, 2], base=base)


def test_the_terms_can_be_read() -> None:
    for maker in (Exponential, PermuteAndFlip, NoisyMax):
        plain = maker(sensitivity=3, epsilon=1)
        assert [plain.sensitivity, plain.spread] == [3, 6]
        assert not plain.monotone
        counts = maker(sensitivity=3, epsilon=1, monotone=True)
        assert [counts.sensitivity, counts.spread] == [3, 3]
        assert counts.monotone
        assert maker(sensitivity=3, epsilon=1, spread=4).spread == 4


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([], {}, "there is no candidate to choose: scores are empty"),
        ([1.5, math.nan], {}, "scores must be finite, and some are infinite or not a number"),
        ([1.5, math.inf], {"base": [1, 1]}, "scores must be finite"),
        ([math.nan, 1.0], {"base": [0, 1]}, "scores must be finite"),
        ([1, 2], {"base": [1]}, "base must have one number for each of 2 candidates, got 1"),
        ([1, 2], {"base": [1, 1], "others": 3}, "base goes with candidates that are listed"),
        ([1, 2], {"others": -1}, "others must be a whole number that is not negative, got -1"),
        ([1, 2], {"others": 3, "default_score": math.nan}, "default_score must be a finite"),
    ],
    ids=str,
)
def test_bad_input_is_refused_in_one_sentence(
    scores: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        ONE.release(scores, **options)
