# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of their own: comparisons move by 1 at most, and the choice keeps its promise."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sordino.mechanisms.choose import Exponential, Generalised, PermuteAndFlip
from sordino.mechanisms.choose.choosing import Method
from tests.mechanisms.unit.choose.universes import Floats, Pairs, Scores, worst
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

LENGTHS = [(1, 1, 1), (1, 2, 5), (1, 1, 4), (3, 1, 2)]
TWO: Any = [1, 2]
METHODS: list[Method] = ["permute_and_flip", "exponential"]


def moved(lengths: tuple[int, ...], top: int = 6) -> Pairs:
    """Scores up to top, and all that they can be after each moved by its own sensitivity."""
    return frozenset(
        (scores, tuple(a + b for a, b in zip(scores, move, strict=True)))
        for scores in product(range(0, top + 1, 2), repeat=len(lengths))
        for move in product(*((-length, 0, length) for length in lengths))
    )


def by_definition(mechanism: Generalised, scores: Scores) -> list[Fraction]:
    shifted = [
        u - mechanism.handicap * d for u, d in zip(scores, mechanism.sensitivities, strict=True)
    ]
    return [
        min(
            (shifted[i] - shifted[j]) / (mechanism.sensitivities[i] + mechanism.sensitivities[j])
            for j in range(len(scores))
            if j != i
        )
        for i in range(len(scores))
    ]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_one_unit_moves_every_comparison_by_one_at_most(lengths: tuple[int, ...]) -> None:
    mechanism = Generalised(sensitivities=lengths, epsilon=1)
    most = Fraction(0)
    for here, there in moved(lengths):
        pair = [mechanism.comparisons(list(scores)) for scores in (here, there)]
        assert pair[0] == by_definition(mechanism, here)
        most = max(most, *(abs(a - b) for a, b in zip(*pair, strict=True)))
    assert most == 1


def test_comparisons_are_those_of_the_definition() -> None:
    """Only the two best of each sensitivity are looked at; that must not change anything."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        many = int(rng.integers(2, 9))
        lengths = rng.integers(1, 4, size=many).tolist()
        scores = rng.integers(0, 5, size=many).tolist()
        mechanism = Generalised(sensitivities=lengths, epsilon=0.5)
        assert mechanism.comparisons(scores) == by_definition(mechanism, tuple(scores))


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_no_neighbours_lose_more_than_epsilon(method: Method, lengths: tuple[int, ...]) -> None:
    mechanism = Generalised(sensitivities=lengths, epsilon=1, mechanism=method)

    def law(scores: Scores) -> Floats:
        found: Floats = mechanism.probabilities(list(scores))
        return found

    loss, reach = worst(law, moved(lengths))
    assert 0.7 < loss <= 1 + 1e-12
    assert mechanism.loss.epsilon(delta=0) == 1
    if method == "exponential":
        assert reach <= 1 + 1e-12


def test_one_sensitivity_for_all_is_not_enough() -> None:
    """Scores that move by 5, chosen as if they moved by 1."""
    wrong = Generalised(sensitivities=[1, 1, 1], epsilon=1)

    def law(scores: Scores) -> Floats:
        found: Floats = wrong.probabilities(list(scores))
        return found

    assert worst(law, moved((1, 2, 5)))[0] > 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_choice_is_as_good_as_it_promises(method: Method, confidence: float) -> None:
    """With the confidence, no candidate is better by more than its own number."""
    rng = np.random.default_rng(9)
    lengths = [1, 2, 50, 3]
    mechanism = Generalised(
        sensitivities=lengths, epsilon=2, confidence=confidence, mechanism=method
    )
    slack = mechanism.accuracy()
    assert slack == pytest.approx([2 * math.log(4 / (1 - confidence)) * d for d in lengths])
    for _ in range(40):
        scores = (rng.integers(0, 40, size=4) * rng.integers(1, 9)).tolist()
        law = mechanism.probabilities(scores)
        floor = max(score - extra for score, extra in zip(scores, slack, strict=True))
        good = sum(p for p, score in zip(law, scores, strict=True) if score >= floor)
        assert good >= confidence


def test_a_steady_candidate_is_not_drowned_by_a_restless_one() -> None:
    scores, lengths = [100, 60, 0], [1, 2, 500]
    plain = PermuteAndFlip(sensitivity=500, epsilon=1).probabilities(scores)[0]
    assert plain < 0.5
    assert Generalised(sensitivities=lengths, epsilon=1).probabilities(scores)[0] > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_draws_follow_the_probabilities(method: Method) -> None:
    mechanism = Generalised(sensitivities=[1, 2.5, Fraction(1, 3)], epsilon=1, mechanism=method)
    scores = [3, 0.5, Fraction(1, 7)]
    with replay(SeededBits(20270)):
        drawn = [mechanism.release(scores) for _ in range(1000)]
    assert_fits(drawn, dict(enumerate(mechanism.probabilities(scores).tolist())))


def test_sensitivities_come_in_any_row() -> None:
    same = Generalised(sensitivities=[1, 2], epsilon=1)
    rows: list[Any] = [(1, 2), range(1, 3), np.array([1, 2]), pd.Series([1, 2]), iter([1, 2])]
    for row in rows:
        assert Generalised(sensitivities=row, epsilon=1) == same


def test_one_candidate_is_chosen() -> None:
    mechanism = Generalised(sensitivities=[3], epsilon=1)
    assert mechanism.comparisons([7]) == [0]
    assert mechanism.release([7]) == 0


def test_the_loss_is_that_of_the_mechanism_underneath() -> None:
    for method, same in (
        ("permute_and_flip", PermuteAndFlip(sensitivity=1, epsilon=0.5)),
        ("exponential", Exponential(sensitivity=1, epsilon=0.5)),
    ):
        made = Generalised(sensitivities=[1, 2], epsilon=0.5, mechanism=method)  # type: ignore[arg-type]  # both are
        assert made.loss == same.loss


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"sensitivities": []}, ValueError, "there is no candidate to choose: there are no sens"),
        ({"sensitivities": [1, 0]}, ValueError, "a sensitivity must be a positive number, got 0"),
        ({"sensitivities": [1, math.nan]}, ValueError, "a sensitivity must be a positive number"),
        ({"sensitivities": [1, "2"]}, TypeError, "a sensitivity must be a positive number, got"),
        (
            {"sensitivities": 3},
            TypeError,
            "sensitivities must be a list in the order of the candid",
        ),
        ({"sensitivities": {1: 100, 2: 100}}, TypeError, "sensitivities must be a list in the ord"),
        ({"sensitivities": {1, 2}}, TypeError, "sensitivities must be a list in the order of the"),
        (
            {"sensitivities": pd.Series([1, 2], index=["a", "b"])},
            TypeError,
            "sensitivities must be a list in the order of the candidates, got a Series with labels",
        ),
        ({"epsilon": -1}, ValueError, "epsilon must be a positive number, got -1"),
        ({"confidence": 1}, ValueError, "confidence must be a number between 0 and 1"),
        ({"mechanism": "noisy_max"}, ValueError, "mechanism must be 'permute_and_flip' or 'expo"),
    ],
    ids=str,
)
def test_terms_that_make_no_sense_are_refused(
    wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        Generalised(**{"sensitivities": TWO, "epsilon": 1} | wrong)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "there is no candidate to choose: scores are empty"),
        (
            [1, 2, 3],
            "scores must be one number for each of 2 candidates, as many as there are sens",
        ),
        ([1.0, math.nan], "scores must be finite, and some are infinite or not a number"),
        (np.array([1.0, math.inf]), "scores must be finite, and some are infinite or not a number"),
    ],
    ids=str,
)
def test_scores_that_make_no_sense_are_refused(scores: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Generalised(sensitivities=[1, 2], epsilon=1).release(scores)
