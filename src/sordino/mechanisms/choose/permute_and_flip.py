# SPDX-License-Identifier: Apache-2.0
"""Permute-and-flip: candidates in random order, the first whose coin comes up is chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from sordino.mechanisms.choose.accuracy import flips, weights
from sordino.mechanisms.choose.exponential import OneChoice
from sordino.mechanisms.choose.scores import levels_of, read_others, read_scores
from sordino.mechanisms.choose.terms import Terms
from sordino.mechanisms.mechanism import fill
from sordino.numbers.rational import Integer, Number
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Pure
from sordino.randomness.entropy import system
from sordino.randomness.selection import by_flips


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PermuteAndFlip(OneChoice):
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

    _flips: ClassVar[bool] = True

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
        fill(self, terms=terms, loss=single(Pure(epsilon=terms.epsilon)))

    def __repr__(self) -> str:
        return f"PermuteAndFlip({self.terms})"

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
