# SPDX-License-Identifier: Apache-2.0
"""Choosing one after the other keeps the total loss, and is as accurate as it says."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose import Integers, Product
from sordino.mechanisms.choose.top_k import TopK, top_k
from tests.mechanisms.unit.choose.rank_laws import check_often
from tests.support.seeded import SeededBits
from tests.support.tape import replay

Counts = tuple[int, ...]


def pairs(relation: str, size: int, top: int) -> Iterator[tuple[Counts, Counts]]:
    """Counts of voters with any number of votes (add_remove) or one vote each (replace_one)."""
    for one in product(range(top + 1), repeat=size):
        if relation == "add_remove":
            for ballot in product(range(2), repeat=size):
                more = tuple(x + y for x, y in zip(one, ballot, strict=True))
                yield from ((one, more), (more, one))
        else:
            for a, b in permutations(range(size), 2):
                if one[a]:
                    moved = list(one)
                    moved[a], moved[b] = one[a] - 1, one[b] + 1
                    yield one, tuple(moved)


def laws(mechanism: TopK, relation: str) -> Iterator[tuple[Any, Any]]:
    known: dict[Counts, Any] = {}
    for pair in pairs(relation, 3, 2):
        for counts in pair:
            if counts not in known:
                known[counts] = np.array(list(mechanism.probabilities(counts).values()))
        yield known[pair[0]], known[pair[1]]


@pytest.mark.parametrize(
    ("relation", "monotone"), [("add_remove", True), ("add_remove", False), ("replace_one", False)]
)
@pytest.mark.parametrize("delta", [0, 0.01])
def test_no_set_of_tuples_is_more_telling_than_the_loss(
    relation: str, monotone: bool, delta: float
) -> None:
    """The profile at six epsilons, for all pairs of neighbouring counts of three candidates."""
    mechanism = TopK(k=2, sensitivity=1, epsilon=1, delta=delta, monotone=monotone)
    assert mechanism.loss.delta(epsilon=1) <= delta
    pure = mechanism.loss.epsilon(delta=0)
    epsilons = [0.0, 0.25, 0.5, 0.75, 1.0, pure]
    claims = [mechanism.loss.delta(epsilon=epsilon) for epsilon in epsilons]
    for here, there in laws(mechanism, relation):
        assert np.log(here / there).max() <= pure + 1e-12
        for epsilon, claim in zip(epsilons, claims, strict=True):
            measured = np.maximum(here - math.exp(epsilon) * there, 0).sum()
            assert measured <= claim + 1e-12


def test_counts_are_not_monotone_when_a_unit_is_replaced() -> None:
    mechanism = TopK(k=2, sensitivity=1, epsilon=1, monotone=True)
    worst = max(np.log(p / q).max() for p, q in laws(mechanism, "replace_one"))
    assert worst > 1.07


def test_releases_come_as_often_as_the_probabilities_say() -> None:
    scores, mechanism = [3, 3.5, 2, Fraction(10, 3)], TopK(k=2, sensitivity=1, epsilon=4)
    law = mechanism.probabilities(scores)
    check_often(law, lambda: mechanism.release(scores), 6000, seed=12)


def test_probabilities_are_those_of_choices_without_replacement() -> None:
    mechanism = TopK(k=2, sensitivity=1, epsilon=2, monotone=True)
    weights = [math.exp(score) for score in (3, 3, 2, 4)]
    law = mechanism.probabilities([3, 3, 2, 4])
    for (a, b), found in law.items():
        total = sum(weights)
        expected = weights[a] / total * weights[b] / (total - weights[a])
        assert found == pytest.approx(expected, rel=1e-12)
    assert sum(mechanism.probabilities([10**6, 0, 10**5]).values()) == pytest.approx(1)


def test_the_step_is_an_even_share_without_delta_and_larger_with_it() -> None:
    plain = TopK(k=10, sensitivity=2, epsilon=1)
    assert (plain.step, plain.spread, plain.rate) == (Fraction(1, 10), Fraction(4), Fraction(1, 40))
    assert plain.loss.epsilon(delta=0) == 1
    for k in (1, 10, 100):
        mechanism = TopK(k=k, sensitivity=1, epsilon=1, delta=1e-6)
        assert mechanism.step > Fraction(1, k)
        assert mechanism.loss.epsilon(delta=1e-6) <= 1
        beyond = TopK(k=k, sensitivity=1, epsilon=k * mechanism.step * Fraction(10001, 10000))
        assert beyond.loss.epsilon(delta=1e-6) > 1


def test_the_accuracy_holds_and_is_attained() -> None:
    """At worst, k candidates are best and all others lie the gap behind them."""
    for k, others, level in ((1, 4, 0.9), (2, 3, 0.95), (3, 2, 0.5)):
        mechanism = TopK(k=k, sensitivity=1, epsilon=1)
        gap = mechanism.accuracy(confidence=level, candidates=k + others)
        for behind, reached in ((gap, True), (gap * 0.999, False)):
            law = mechanism.probabilities([0.0] * k + [-behind] * others)
            best = sum(p for places, p in law.items() if max(places) < k)
            assert (best >= level - 1e-12) is reached
        for counts in product((0, 5, 20), repeat=k + others):
            kth = sorted(counts, reverse=True)[k - 1]
            held = sum(
                p
                for places, p in mechanism.probabilities(counts).items()
                if min(counts[place] for place in places) >= kth - gap
            )
            assert held >= level


def test_the_accuracy_of_one_choice_is_that_of_the_exponential_mechanism() -> None:
    """100 candidates, epsilon 0.5, 99 %."""
    mechanism = TopK(k=1, sensitivity=1, epsilon=0.5)
    found = mechanism.accuracy(confidence=0.99, candidates=100)
    assert found == pytest.approx(36.76095880107672, rel=1e-14)
    assert mechanism.accuracy(confidence=0.99, candidates=1) == 0
    assert mechanism.accuracy(confidence=0.01, candidates=100) == 0


def test_a_stream_chooses_as_a_release_does() -> None:
    mechanism = TopK(k=3, sensitivity=1, epsilon=3)
    scores = np.arange(1000) % 37
    with replay(SeededBits(1)):
        released = mechanism.release(scores)
    with replay(SeededBits(1)):
        stream = mechanism.stream()
        stream.add(scores)
        assert stream.choose_many() == released
    assert len(set(released)) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be a positive whole number"),
        ({"k": True}, "k must be a positive whole number"),
        ({"epsilon": 0}, "epsilon must be a positive number"),
        ({"delta": 1}, "delta must be"),
        ({"sensitivity": 0}, "sensitivity must be a positive number"),
        ({"spread": 3}, "at most twice the sensitivity"),
        ({"spread": 1, "monotone": True}, "not both"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        TopK(**{"k": 2, "sensitivity": 1, "epsilon": 1, **change})


def test_the_best_candidates_are_returned_in_order() -> None:
    names, counts = ["tea", "milk", "water", "wine"], [10**6, 3 * 10**6, 2 * 10**6, 0]
    best = ["milk", "water", "tea"]
    assert top_k(names, counts, k=3, epsilon=1) == best
    assert top_k(names, counts, k=3, epsilon=1, delta=1e-6, monotone=True) == best
    assert top_k(np.array(names), np.array(counts), k=3, epsilon=1) == best
    for votes in ("one", "many"):
        joint = top_k(
            names, counts, k=3, epsilon=1, method="joint", neighbours="replace_one", votes=votes
        )
        assert joint == best
    assert top_k(range(10, 14), counts, k=1, epsilon=1) == [11]
    by_name = {"wine": 10**7, "milk": 10**6}
    assert top_k(names, by_name, k=2, epsilon=1) == ["wine", "milk"]
    assert top_k(names, len, k=1, epsilon=1000) == ["water"]


def test_a_small_domain_is_gone_through_with_the_default_score() -> None:
    assert top_k(range(100), {3: 10**6, 70: 2 * 10**6}, k=2, epsilon=1) == [70, 3]
    cells = Product(["f", "m"], Integers(0, 9))
    assert top_k(cells, {("m", 4): 10**6}, k=1, epsilon=1) == [("m", 4)]
    found = top_k(range(3), {1: 0}, k=2, epsilon=1, default_score=10**6)
    assert sorted(found) == [0, 2]
    joint = top_k(
        range(5), {3: 10**6}, k=1, epsilon=1, method="joint", neighbours="add_remove", votes="many"
    )
    assert joint == [3]


def test_a_domain_has_the_law_of_the_list() -> None:
    law = TopK(k=2, sensitivity=1, epsilon=4).probabilities([0, 2, 0, 1])
    counts = {3: 1, 1: 2}
    check_often(law, lambda: top_k(Integers(0, 3), counts, k=2, epsilon=4), 3000, seed=13)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": [], "scores": []}, "no candidate to choose"),
        ({"candidates": ["a", "b"]}, "one number for each of 2 candidates"),
        ({"candidates": ["a", "b", "a"]}, "listed twice"),
        (
            {"candidates": Integers(0, 1 << 20), "scores": {1: 2}},
            "a list of at most 1,048,576 candidates",
        ),
        ({"candidates": "abc"}, "candidates must be a list"),
        ({"candidates": {"a": 1}, "scores": None}, "come from the same object"),
        ({"scores": [1.0, math.nan, 2.0]}, "finite"),
        ({"k": 4}, "k is 4, but there are only 3 candidates"),
        ({"k": 0}, "k must be a positive whole number"),
        ({"method": "sort"}, "method must be 'peel' or 'joint'"),
        ({"method": "joint"}, "needs neighbours"),
        ({"neighbours": "add_remove"}, "for method='joint'"),
        ({"votes": "many"}, "for method='joint'"),
        ({"method": "joint", "neighbours": "add_remove", "delta": 0.1}, "takes no monotone"),
        ({"method": "joint", "neighbours": "add_remove", "monotone": True}, "takes no monotone"),
        ({"method": "joint", "neighbours": "add_remove", "spread": 1}, "takes no monotone"),
    ],
    ids=range(16),
)
def test_wrong_questions_are_refused_in_one_sentence(change: dict[str, Any], message: str) -> None:
    asked = {"candidates": ["a", "b", "c"], "scores": [1, 2, 3], "k": 2, "epsilon": 1, **change}
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        top_k(asked.pop("candidates"), asked.pop("scores"), **asked)
    assert "\n" not in str(caught.value)
