# SPDX-License-Identifier: Apache-2.0
"""Permute-and-flip: candidates in random order, the first whose coin comes up is chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sordino.mechanisms.choose import accuracy as bounds
from sordino.mechanisms.choose.accuracy import Accuracy, Question, flips, weights
from sordino.mechanisms.choose.scores import Terms, levels_of, read_others, read_scores
from sordino.mechanisms.choose.stream import Stream, open_stream
from sordino.numbers.rational import Integer, Number
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Pure
from sordino.randomness.entropy import system
from sordino.randomness.selection import by_flips


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PermuteAndFlip:
    """A choice that tosses a coin exp(rate * (score - best)) for each candidate, in random order.

    The first candidate whose coin comes up is chosen. For any scores it is at least as likely to be
    a good one as with the exponential mechanism of the same epsilon, and up to twice as close to
    the best on average. But its losses do not have a bounded range: many choices together cost
    less with ``Exponential``. The arguments are those of ``Exponential``.

    >>> day = PermuteAndFlip(sensitivity=1, epsilon=1, monotone=True)
    >>> day.probabilities([3, 3, 2, 3, 4]).round(4).tolist()
    [0.1374, 0.1374, 0.047, 0.1374, 0.5408]
    >>> day.accuracy(confidence=0.99, candidates=100).gap
    8.500510300486784

    Guarantee:
        Neighbours: any change to the data that moves no score by more than ``sensitivity`` and no
            two scores apart by more than ``spread``.
        Loss: epsilon, pure.
        Numerics: exact; no float decides an outcome.
        Proof: docs/proofs/choosing.md, theorem 3 (McKenna and Sheldon 2020).
    """

    terms: Terms
    loss: Loss = field(compare=False)

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        monotone: bool = False,
        spread: Number | None = None,
    ) -> None:
        terms = Terms(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone, spread=spread)
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "loss", single(Pure(epsilon=terms.epsilon)))

    def __repr__(self) -> str:
        return f"PermuteAndFlip({self.terms})"

    @property
    def epsilon(self) -> Fraction:
        """The price of one choice."""
        return self.terms.epsilon

    @property
    def sensitivity(self) -> Fraction:
        """How far one unit can move any score."""
        return self.terms.sensitivity

    @property
    def spread(self) -> Fraction:
        """How much more one unit can move one score than another."""
        return self.terms.spread

    @property
    def monotone(self) -> bool:
        """Whether the spread is that of scores that all move the same way."""
        return self.terms.monotone

    @property
    def rate(self) -> Fraction:
        """What scores are multiplied with: epsilon / spread."""
        return self.terms.rate

    def release(self, scores: object, *, others: Integer = 0, default_score: Number = 0) -> int:
        """Return the index of a candidate, chosen by the scores.

        ``others`` is for candidates too many to list: so many more that all have
        ``default_score``; they are numbered after the listed ones. Neither may depend on the data.
        """
        many, default = read_others(others, default_score)
        listed = read_scores(scores, others=many)
        levels = levels_of(listed, self.rate, others=many, default=default)
        return by_flips(levels, system())[1].candidate

    def probabilities(self, scores: object) -> Any:
        """Return the probability of each candidate, with an error of some 1e-14.

        It tells about the data all there is to tell: for teaching and for tests.

        Guarantee: none; the result is as private as the scores.
        """
        return flips(weights(read_scores(scores), self.rate))

    def accuracy(self, *, confidence: Number, candidates: Integer, best: Integer = 1) -> Accuracy:
        """Return how far behind the best score the chosen one can be, for any scores.

        ``best`` is the number of candidates known to share the best score.
        """
        return bounds.by_flips(Question(confidence, candidates, best), self.rate)

    @classmethod
    def within(
        cls,
        gap: Number,
        *,
        confidence: Number,
        candidates: Integer,
        sensitivity: Number,
        monotone: bool = False,
        spread: Number | None = None,
    ) -> float:
        """Return the least epsilon whose choice is less than ``gap`` behind at this confidence."""
        question = Question(confidence, candidates)
        return bounds.least_price(question, gap, sensitivity, monotone, spread, flips=True)

    def stream(self) -> Stream:
        """Return an empty stream: scores are added in chunks, then one candidate is chosen."""
        return open_stream("permute_and_flip", self.rate)
