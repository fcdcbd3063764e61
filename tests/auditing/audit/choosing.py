# SPDX-License-Identifier: Apache-2.0
"""Fixtures that choose: wrong weights, wrong noise, and candidates taken from the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.auditing.audit.fixture import Fixture, pick

# Scores are counts of votes; one vote changes (replace_one), so a score falls and another rises.


def doubly_exponential(generator: np.random.Generator, scores: Any, runs: int) -> Any:
    """Weights exp(exp(score) / 2), a misprint of exp(score / 2).

    Scores (3, 0) and (2, 1): the second is chosen with 7.2e-5 and 0.0883, a loss of 7.115.
    No epsilon holds: (6, 5) and (5, 6) lose 127.5.
    """
    return pick(generator, np.exp(np.asarray(scores, dtype=np.float64)) / 2, runs)


def exponential_in_full(generator: np.random.Generator, scores: Any, runs: int) -> Any:
    """Weights exp(score): right for a vote that comes or goes, twice the loss if one changes.

    Scores (6, 2) and (5, 3) lose ln((1 + e^4) / (1 + e^2)) = 1.891; the limit is 2.
    """
    return pick(generator, np.asarray(scores, dtype=np.float64), runs)


def exponential_in_half(generator: np.random.Generator, scores: Any, runs: int) -> Any:
    """Weights exp(score / 2) lose 1 at most."""
    return pick(generator, np.asarray(scores, dtype=np.float64) / 2, runs)


def _noisy_max(generator: np.random.Generator, scores: Any, runs: int, scale: float) -> Any:
    noise = generator.laplace(0, scale, (runs, len(scores)))
    return np.argmax(np.asarray(scores) + noise, axis=1)


def noisy_max_with_scale_one(generator: np.random.Generator, scores: Any, runs: int) -> Any:
    """The place of the largest score with noise of scale 1.

    With gap g the loser wins with (2 + g) e^-g / 4. Gaps 6 and 4 lose 2 - ln(4/3) = 1.712; the
    limit is 2.
    """
    return _noisy_max(generator, scores, runs, 1.0)


def noisy_max_with_scale_two(generator: np.random.Generator, scores: Any, runs: int) -> Any:
    """The place of the largest score with noise of scale 2 loses 1 at most."""
    return _noisy_max(generator, scores, runs, 2.0)


# Prices for one kind of goods: what is taken is the price times the bids of at least that price.

HIGHEST = 6


def _prices(generator: np.random.Generator, bids: Any, prices: Any, runs: int) -> Any:
    taken = np.array([price * sum(bid >= price for bid in bids) for price in prices])
    return np.asarray(prices)[pick(generator, taken / (2 * HIGHEST), runs)]


def prices_of_the_bids(generator: np.random.Generator, bids: Any, runs: int) -> Any:
    """Choose among the prices that were bid: a new bid at 5 makes 5 possible; no epsilon holds."""
    return _prices(generator, bids, sorted(set(bids)), runs)


def prices_of_a_public_list(generator: np.random.Generator, bids: Any, runs: int) -> Any:
    """Choose among 1 to 6, whatever was bid; loses 1 at most."""
    return _prices(generator, bids, range(1, HIGHEST + 1), runs)


# A choice between two with a score, and an answer to a yes-no question, charged together.


def _choice_and_answer(generator: np.random.Generator, data: Any, runs: int, rate: float) -> Any:
    score, answer = data
    chosen = generator.random(runs) < 1 / (1 + math.exp(-rate * score))
    truth = generator.random(runs) < 1 / (1 + math.exp(-1))
    return np.column_stack([chosen, np.where(truth, answer, 1 - answer)])


def choice_charged_as_if_even(generator: np.random.Generator, data: Any, runs: int) -> Any:
    """Both of loss 1; the choice is charged by the pair whose losses are 1/2 and -1/2: 1.5 in all.

    Scores 1.625 and 0.625 have losses 0.249 and -0.751, so with the answer 1.751 is lost; the
    limit is 2. At epsilon 1.5 delta is 0.05659, and 0 for the even pair.
    """
    return _choice_and_answer(generator, data, runs, 1.0)


def choice_with_half_the_rate(generator: np.random.Generator, data: Any, runs: int) -> Any:
    """Half the rate loses 0.5 at most, and 1.5 with the answer."""
    return _choice_and_answer(generator, data, runs, 0.5)


FIXTURES = [
    Fixture(
        "doubly exponential weights",
        doubly_exponential,
        exponential_in_half,
        (3, 0),
        (2, 1),
        1.0,
    ),
    Fixture(
        "exponential mechanism without the half",
        exponential_in_full,
        exponential_in_half,
        (6, 2),
        (5, 3),
        1.0,
        loss=2.0,
    ),
    Fixture(
        "noisy max with scale 1",
        noisy_max_with_scale_one,
        noisy_max_with_scale_two,
        (6, 0),
        (5, 1),
        1.0,
        loss=2.0,
    ),
    Fixture(
        "candidates from the data",
        prices_of_the_bids,
        prices_of_a_public_list,
        (3, 4),
        (3, 4, 5),
        1.0,
        loss=math.inf,
    ),
    Fixture(
        "a choice charged by one pair",
        choice_charged_as_if_even,
        choice_with_half_the_rate,
        (1.625, 0),
        (0.625, 1),
        1.5,
        loss=2.0,
    ),
]
