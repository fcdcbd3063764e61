# SPDX-License-Identifier: Apache-2.0
"""Report noisy max: noise on every score, and only the name of the largest is told."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from sordino.exact.rational import Integer, Number, positive
from sordino.mechanisms.choose import accuracy as bounds
from sordino.mechanisms.choose.accuracy import Accuracy, Question
from sordino.mechanisms.choose.exponential import Exponential
from sordino.mechanisms.choose.laplace_max import (
    MaxNoise,
    laplace_gap,
    laplace_noise,
    laplace_probabilities,
    laplace_winner,
)
from sordino.mechanisms.choose.permute_and_flip import PermuteAndFlip
from sordino.mechanisms.choose.terms import Terms
from sordino.privacy.calibrate import least_double
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Pure

Noise: TypeAlias = Literal["laplace", "gumbel", "exponential"]
_NOISES = ("laplace", "gumbel", "exponential")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class NoisyMax:
    """The index of the largest score after noise of the scale spread / epsilon on each.

    ``noise="exponential"`` has the law of permute-and-flip, ``noise="gumbel"`` that of the
    exponential mechanism, and they are drawn as those are. ``noise="laplace"`` is discrete Laplace,
    on whole scores if the sensitivity is an integer and else on a public grid; equal noisy scores
    go to the first candidate. It is here for comparison: permute-and-flip is more accurate.

    >>> best = NoisyMax(sensitivity=1, epsilon=0.5, noise="laplace")
    >>> best, best.accuracy(confidence=0.99, candidates=100).gap
    (NoisyMax(sensitivity=1, epsilon=0.5, noise='laplace'), 42.0)

    Guarantee:
        Neighbours: any change to the data that moves no score by more than ``sensitivity`` and no
            two scores apart by more than ``spread``.
        Loss: epsilon, pure; with Gumbel noise the bounded range of the exponential mechanism.
        Numerics: exact; no float decides an outcome. Only the index may be published, never the
            noisy score.
        Proof: docs/proofs/choosing.md, theorem 3, and docs/proofs/sparse-vector.md, theorem 2.
    """

    terms: Terms
    noise: Noise
    loss: Loss = field(compare=False)
    _drawn: Exponential | PermuteAndFlip | MaxNoise = field(compare=False)

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        noise: Noise = "exponential",
        monotone: bool = False,
        spread: Number | None = None,
    ) -> None:
        if noise not in _NOISES:
            raise ValueError(f"noise must be one of {', '.join(_NOISES)}, got {noise!r}")
        terms = Terms(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone, spread=spread)
        loss, drawn = single(Pure(epsilon=terms.epsilon)), _drawn_as(noise, terms)
        if isinstance(drawn, Exponential):
            loss = drawn.loss
        for name, value in (("terms", terms), ("noise", noise), ("loss", loss), ("_drawn", drawn)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"NoisyMax({self.terms}, noise={self.noise!r})"

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
        """One over the scale of the noise: epsilon / spread."""
        return self.terms.rate

    def release(self, scores: object) -> int:
        """Return the index of the largest noisy score.

        Guarantee: as stated for the mechanism; each release costs the loss once more.
        """
        if isinstance(self._drawn, MaxNoise):
            return laplace_winner(scores, noise=self._drawn)
        return self._drawn.release(scores)

    def probabilities(self, scores: object) -> Any:
        """Return the probability of each candidate; with Laplace noise of at most 64.

        Guarantee: none; the result is as private as the scores.
        """
        if isinstance(self._drawn, MaxNoise):
            return laplace_probabilities(scores, noise=self._drawn)
        return self._drawn.probabilities(scores)

    def accuracy(self, *, confidence: Number, candidates: Integer, best: Integer = 1) -> Accuracy:
        """Return how far behind the best score the chosen one can be, for any scores.

        With Laplace noise the gap and the mean are bounds, not the least ones.

        Guarantee: none needed; public inputs only.
        """
        if not isinstance(self._drawn, MaxNoise):
            return self._drawn.accuracy(confidence=confidence, candidates=candidates, best=best)
        question = Question(confidence, candidates, best)
        gap = laplace_gap(noise=self._drawn, candidates=candidates, confidence=confidence)
        step = 0 if self._drawn.whole else Fraction(2) ** self._drawn.exponent
        scale = self._drawn.scale * Fraction(2) ** self._drawn.exponent
        return bounds.by_laplace(question, scale, Fraction(step), Fraction(gap))

    @classmethod
    def within(
        cls,
        gap: Number,
        *,
        confidence: Number,
        candidates: Integer,
        sensitivity: Number,
        noise: Noise = "exponential",
        monotone: bool = False,
        spread: Number | None = None,
    ) -> float:
        """Return the least epsilon whose choice is less than ``gap`` behind with this confidence.

        Guarantee: none needed; public inputs only.
        """
        question, behind = Question(confidence, candidates), positive("gap", gap)
        one = cls(sensitivity=sensitivity, epsilon=1, noise=noise, monotone=monotone, spread=spread)
        if not isinstance(one._drawn, MaxNoise):
            flips = isinstance(one._drawn, PermuteAndFlip)
            return bounds.least_price(question, gap, sensitivity, monotone, spread, flips=flips)

        if question.candidates == 1:
            raise ValueError(bounds.ANY)
        if one._drawn.whole:  # whole scores that are less than 1/2 apart are equal
            behind = Fraction(math.ceil(behind))

        def fits(epsilon: Fraction) -> bool:
            try:
                noise = _laplace(one.terms, epsilon)
            except ValueError:
                return False
            found = laplace_gap(
                noise=noise, candidates=question.candidates, confidence=question.level
            )
            return Fraction(found) <= behind

        near = float(one.terms.spread / behind * question.candidates.bit_length())
        return least_double(fits, near=near, high=2.0**500)


def _drawn_as(noise: Noise, terms: Terms) -> Exponential | PermuteAndFlip | MaxNoise:
    """Return what draws from the law of this noise."""
    if noise == "laplace":
        return _laplace(terms, terms.epsilon)
    kind = Exponential if noise == "gumbel" else PermuteAndFlip
    return kind(sensitivity=terms.sensitivity, epsilon=terms.epsilon, spread=terms.spread)


def _laplace(terms: Terms, epsilon: Fraction) -> MaxNoise:
    return laplace_noise(spread=terms.spread, epsilon=epsilon, whole=terms.whole)
