# SPDX-License-Identifier: Apache-2.0
"""Choosing the event that would show the largest loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sordino.auditing.bounds import guessed_epsilon
from sordino.auditing.events import Coding, Event, Mask, anything, codings
from sordino.auditing.features import Pair, columns
from sordino.auditing.outputs import Floats
from sordino.auditing.reading import Reader
from sordino.auditing.scores import score_columns

_GAIN = 0.01  # of epsilon, by which a set told in more words must be better


@dataclass(frozen=True)
class Choice:
    """An event, the input that makes it likelier (0 is x, 1 is y), and about what it shows.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """

    event: Event
    likelier: int
    guess: float


class _Found(NamedTuple):
    guess: float
    mask: Mask
    likelier: int


def choose(kept: Pair, reader: Reader, *, delta: float, alpha: float) -> Choice:
    """Return the most promising event on some runs of both inputs.

    Cells are made and put in order on every other run; which of them to take is chosen on the
    rest, so that chance in the order is not taken for a loss.

    Guarantee: none needed; it sees what a mechanism made of invented data.
    """
    fit: Pair = (kept[0].part(slice(0, None, 2)), kept[1].part(slice(0, None, 2)))
    score: Pair = (kept[0].part(slice(1, None, 2)), kept[1].part(slice(1, None, 2)))
    best: _Found | None = None
    winner: Coding | None = None
    for coding in _all_codings(fit, reader):
        found = _best(coding, fit, score, delta=delta, alpha=alpha)
        if best is None or found.guess > best.guess + _GAIN:
            best, winner = found, coding
    if best is None or winner is None:
        return Choice(anything(), 0, -np.inf)
    return Choice(winner.event(best.mask), best.likelier, best.guess)


def _all_codings(fit: Pair, reader: Reader) -> Iterator[Coding]:
    for column in columns(fit):
        yield from codings(column, fit, reader)
    for column in score_columns(fit):
        yield from codings(column, fit, reader)


def _best(coding: Coding, fit: Pair, score: Pair, *, delta: float, alpha: float) -> _Found:
    """Return the best set of cells: a run of them in their order, or those of largest ratio."""
    fitted, counts = (
        [np.bincount(coding.codes(side), minlength=coding.cells).astype(float) for side in pair]
        for pair in (fit, score)
    )
    runs = (len(score[0]), len(score[1]))
    best: _Found | None = None
    line = np.arange(coding.line)
    orders = [line, line[::-1]] if coding.line else []
    for likelier in (0, 1):
        ratio = np.argsort(-_ratio(fitted[likelier], fitted[1 - likelier]), kind="stable")
        for number, order in enumerate([*orders, ratio]):
            guesses = guessed_epsilon(
                np.cumsum(counts[likelier][order]),
                np.cumsum(counts[1 - likelier][order]),
                (runs[likelier], runs[1 - likelier]),
                delta=delta,
                alpha=alpha,
            )
            ranked = number == len(orders)
            needed = _GAIN if ranked else 0.0
            place = int(np.argmax(guesses >= guesses.max() - needed))
            if best is None or guesses[place] > best.guess + needed:
                mask = np.zeros(coding.cells, dtype=bool)
                mask[order[: place + 1]] = True
                best = _Found(float(guesses[place]), mask, likelier)
    assert best is not None  # noqa: S101 - there are always two orders
    return best


def _ratio(hits: Floats, others: Floats) -> Floats:
    """Return the logarithm of the ratio of two counts, less one deviation of it."""
    return np.log((hits + 0.5) / (others + 0.5)) - np.sqrt(1 / (hits + 0.5) + 1 / (others + 0.5))
