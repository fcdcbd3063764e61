# SPDX-License-Identifier: Apache-2.0
"""Scores of private candidates: what is wrong is told by every run, so it tells nothing of runs."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose.private_candidates import BestOf, Distribution, best_of
from sordino.privacy import losses
from tests.support.tape import Words, replay

PURE = losses.pure(epsilon=1)


def words_for(runs: int) -> Words:
    """Coins for gamma 1/10 that make so many runs."""
    return Words([*[1 << 12] * (runs - 1), 0])


@pytest.mark.parametrize("score", [None, "0.5", "nan", True, np.True_, [1], 1j], ids=repr)
@pytest.mark.parametrize("runs", [1, 2, 7])
def test_every_score_must_be_a_number_however_many_runs_there_are(score: Any, runs: int) -> None:
    """An error for the second run only would tell that there was a second one."""
    tuner = BestOf(loss=PURE, expected_runs=10)
    seen: list[int] = []

    def run() -> tuple[str, Any]:
        seen.append(1)
        return "model", score

    message = f"^a score must be a number, got a value of type {type(score).__name__}$"
    with replay(words_for(runs)), pytest.raises(TypeError, match=message):
        tuner.release(run)
    with replay(words_for(runs)), pytest.raises(TypeError, match=message):
        tuner.release(run, score=lambda result: result[1])
    assert len(seen) == 2


def test_numbers_of_all_kinds_are_compared() -> None:
    scores: list[Any] = [
        Decimal("NaN"),
        -math.inf,
        Decimal("0.3"),
        Fraction(1, 3),
        np.float32(0.5),
        np.int8(1),
        Decimal("1e400"),
        10**2000,
        Decimal("Infinity"),
    ]
    tuner = BestOf(loss=PURE, expected_runs=10)
    for order in (scores, scores[::-1]):
        for last in range(1, len(order) + 1):
            supply = iter((score, score) for score in order[:last])
            with replay(words_for(last)):
                best = tuner.release(lambda supply=supply: next(supply))  # type: ignore[misc]  # bound
            assert best[0] is max(order[:last], key=lambda s: [s is t for t in scores].index(True))


def test_what_is_no_function_is_refused_before_there_is_a_run() -> None:
    tuner = BestOf(loss=PURE, expected_runs=10)
    with pytest.raises(
        TypeError, match=r"^score must be a function of a candidate, got a value of"
    ):
        best_of(lambda: "model", 5, runs=10, loss=PURE)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(
        TypeError, match=r"^score must be a function of a candidate, got a value of"
    ):
        tuner.release(lambda: "model", 5)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(TypeError, match=r"^run must be a function without arguments, got a value"):
        tuner.release("model")  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    ("runs", "distribution", "message"),
    [
        (0, "geometric", "runs must be a positive number, got 0"),
        (1, "geometric", "runs must be above 1 and at most a million, got 1"),
        (None, "poisson", "runs must be a positive number, got None"),
        (10**7, "poisson", "runs must be at most a million, got 10000000"),
    ],
)
def test_a_wrong_number_of_runs_is_named_as_it_was_typed(
    runs: Any, distribution: Distribution, message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{message}$"):
        best_of(lambda: ("model", 1), runs=runs, loss=PURE, distribution=distribution)
