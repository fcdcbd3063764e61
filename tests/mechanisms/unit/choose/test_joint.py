# SPDX-License-Identifier: Apache-2.0
"""The joint exponential mechanism keeps its loss, with the spread it states and no smaller one."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose.top_k import JointTopK, Relation, Votes
from tests.mechanisms.unit.choose.rank_laws import check_often

Counts = tuple[int, ...]
RELATIONS: list[tuple[Relation, Votes, int]] = [
    ("add_remove", "one", 2),
    ("add_remove", "many", 2),
    ("replace_one", "one", 3),
    ("replace_one", "many", 4),
]
every_relation = pytest.mark.parametrize(("neighbours", "votes", "spread"), RELATIONS)


def ballots(votes: Votes, size: int, most: int) -> list[Counts]:
    """What one unit can add to the counts."""
    every = list(product(range(most + 1), repeat=size))
    return [b for b in every if votes == "many" or sum(x > 0 for x in b) <= 1]


def pairs(
    neighbours: Relation, votes: Votes, size: int, top: int, most: int = 1
) -> Iterator[tuple[Counts, Counts]]:
    """All pairs of neighbouring counts up to ``top``."""
    added = ballots(votes, size, most)
    for one in product(range(top + 1), repeat=size):
        reached = {tuple(map(sum, zip(one, ballot, strict=True))) for ballot in added}
        if neighbours == "replace_one":
            reached = {
                tuple(x - y for x, y in zip(more, ballot, strict=True))
                for more in reached
                for ballot in added
                if all(x >= y for x, y in zip(one, ballot, strict=True))
            }
        yield from ((one, other) for other in reached if max(other) <= top)


def gaps(counts: Counts, k: int) -> list[int]:
    tops = sorted(counts, reverse=True)
    return [
        max(tops[i] - counts[place] for i, place in enumerate(places))
        for places in permutations(range(len(counts)), k)
    ]


def worst_loss(rate: float, k: int, found: Any) -> tuple[float, float]:
    """The largest loss of any tuple over all pairs, and the largest range of losses of a pair."""
    laws: dict[Counts, Any] = {}

    def law(counts: Counts) -> Any:
        if counts not in laws:
            weights = -rate * np.array(gaps(counts, k))
            laws[counts] = weights - np.log(np.exp(weights).sum())
        return laws[counts]

    worst = spread = 0.0
    for one, other in found:
        losses = law(one) - law(other)
        worst = max(worst, float(np.abs(losses).max()))
        spread = max(spread, float(losses.max() - losses.min()))
    return worst, spread


@every_relation
def test_no_tuple_is_more_telling_than_the_loss(
    neighbours: Relation, votes: Votes, spread: int
) -> None:
    """All pairs of neighbouring counts of four candidates, k = 2; a spread of 1 is too little."""
    mechanism = JointTopK(k=2, epsilon=1, neighbours=neighbours, votes=votes)
    assert mechanism.spread == spread
    found = list(pairs(neighbours, votes, 4, 3 if votes == "many" else 4))
    worst, width = worst_loss(float(mechanism.rate), 2, found)
    assert worst <= 1 + 1e-12
    assert width == pytest.approx(1, rel=1e-12)  # the range is attained
    assert worst_loss(1.0, 2, found)[0] > 1.2  # with a spread of 1


def test_the_spread_grows_with_the_weight_of_a_vote() -> None:
    """Votes of up to 2, or from 0 to 2 each: the spread is attained and not exceeded."""
    for neighbours, votes, spread in RELATIONS:
        mechanism = JointTopK(k=2, epsilon=1, neighbours=neighbours, votes=votes, sensitivity=2)
        assert mechanism.spread == 2 * spread
        found = pairs(neighbours, votes, 3, 6, most=2)
        assert worst_loss(float(mechanism.rate), 2, found)[1] == pytest.approx(1, rel=1e-12)


def test_the_loss_of_a_release_is_that_of_an_exponential_mechanism() -> None:
    mechanism = JointTopK(k=3, epsilon=0.5, neighbours="add_remove")
    assert mechanism.loss.epsilon(delta=0) == 0.5
    assert mechanism.loss.rho == pytest.approx(0.0311420922611559, rel=1e-12)


@pytest.mark.parametrize(
    "scores",
    [[3, 3, 2, 3, 4], [1.5, 1.5, 1.0, 1.5, 2.0], [Fraction(n, 3) for n in (3, 3, 2, 3, 4)]],
    ids=["whole", "float", "rational"],
)
def test_releases_come_as_often_as_the_probabilities_say(scores: list[Any]) -> None:
    mechanism = JointTopK(k=2, epsilon=2, neighbours="replace_one")
    law = mechanism.probabilities(scores)
    check_often(law, lambda: mechanism.release(scores), 3000, seed=21)


def test_probabilities_are_the_weights_of_the_gaps() -> None:
    law = JointTopK(k=2, epsilon=2, neighbours="add_remove").probabilities([5, 3, 3, 0])
    weights = [math.exp(-gap) for gap in gaps((5, 3, 3, 0), 2)]
    expected = [weight / sum(weights) for weight in weights]
    assert list(law.values()) == pytest.approx(expected, rel=1e-14)
    assert list(law) == list(permutations(range(4), 2))


def test_all_candidates_may_be_asked_for() -> None:
    mechanism = JointTopK(k=3, epsilon=400, neighbours="add_remove")
    assert mechanism.release([5, 30, 20]) == [1, 2, 0]
    assert mechanism.accuracy(confidence=0.9, candidates=3) < 0.03


def test_the_accuracy_covers_the_gap() -> None:
    mechanism = JointTopK(k=2, epsilon=1, neighbours="add_remove")
    gap = mechanism.accuracy(confidence=0.8, candidates=4)
    assert gap == pytest.approx(2 * math.log(11 * 0.8 / 0.2), rel=1e-12)
    for counts in product(range(0, 17, 4), repeat=4):
        law = mechanism.probabilities(counts)
        held = sum(
            p for p, behind in zip(law.values(), gaps(counts, 2), strict=True) if behind <= gap
        )
        assert held >= 0.8
    assert JointTopK(k=1, epsilon=1, neighbours="add_remove").accuracy(
        confidence=0.3, candidates=1
    ) == 0.0  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be a positive whole number"),
        ({"k": 1.5}, "k must be a positive whole number"),
        ({"epsilon": 0}, "epsilon must be a positive number"),
        ({"sensitivity": 0}, "sensitivity must be a positive number"),
        ({"neighbours": "swap"}, "neighbours must be 'add_remove' or 'replace_one'"),
        ({"votes": 2}, "votes must be 'one' or 'many'"),
        ({"epsilon": 1e-100}, "epsilon is too small"),
        ({"epsilon": 1e100}, "epsilon is too large"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        JointTopK(**{"k": 2, "epsilon": 1, "neighbours": "add_remove", **change})


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1], "k is 2, but there is only 1 candidate"),
        ([], "empty"),
        ([1.0, math.nan, 2.0], "finite"),
        ([[1, 2], [3, 4]], "scores must"),
        ([True, False], "scores must"),
    ],
    ids=str,
)
def test_wrong_scores_are_refused(scores: Any, message: str) -> None:
    mechanism = JointTopK(k=2, epsilon=1, neighbours="add_remove")
    for method in (mechanism.release, mechanism.probabilities):
        with pytest.raises((TypeError, ValueError), match=message):
            method(scores)


def test_too_many_probabilities_are_refused() -> None:
    with pytest.raises(ValueError, match="too many ordered choices"):
        JointTopK(k=5, epsilon=1, neighbours="add_remove").probabilities(range(50))
