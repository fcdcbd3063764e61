# SPDX-License-Identifier: Apache-2.0
"""What a choice by scores is promised: the price, and how far behind the best it can be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.scores import Scores, best_of_array, read_flag
from sordino.mechanisms.mechanism import Mechanism, fill
from sordino.numbers.balls import Ball, ball, is_positive, round_up
from sordino.numbers.rational import (
    Integer,
    Number,
    brief,
    confidence_level,
    covering,
    is_integer,
    positive,
    positive_whole,
    reading,
    up_as_printed,
)
from sordino.privacy.loss import Loss
from sordino.privacy.search import least_double

# Between these rates the exponents of scores fit the arithmetic of the draws.
_SMALLEST_RATE, _LARGEST_RATE = Fraction(1, 1 << 256), Fraction(1 << 256)
ANY = "any epsilon will do: a uniform choice is already good enough"
_FARTHEST = 2.0**60  # scales behind the best: as good as never
Floats = npt.NDArray[np.float64]
_NODES, _PANELS = 32, 64
_NEVER = Fraction(10_000)  # exp of minus this is 0 as a double


def rate_of(price: Fraction, spread: Fraction, sensitivity: Fraction) -> Fraction:
    """Return what scores are multiplied with, unless it is too small or too large to be drawn."""
    rate = price / spread
    if not _SMALLEST_RATE <= rate <= _LARGEST_RATE:
        side = "small" if rate < 1 else "large"
        raise ValueError(
            f"epsilon is too {side} for a sensitivity of {brief(sensitivity)}, got {brief(price)}"
        )
    return rate


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Terms(Mechanism):
    """How far one unit moves the scores, and the epsilon of one choice.

    ``spread`` is how much more one score can move than another: twice the sensitivity, or the
    sensitivity itself if all scores move the same way. ``rate`` is epsilon / spread, what a score
    is multiplied with.

    >>> (
    ...     Terms(sensitivity=1, epsilon=0.5).rate,
    ...     Terms(sensitivity=1, epsilon=0.5, monotone=True).rate,
    ... )
    (Fraction(1, 4), Fraction(1, 2))
    """

    sensitivity: Fraction
    epsilon: Fraction
    spread: Fraction
    whole: bool
    rate: Fraction = field(compare=False)

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        monotone: bool = False,
        spread: Number | None = None,
    ) -> None:
        price = positive("epsilon", epsilon)
        length = covering("sensitivity", sensitivity)
        whole = is_integer(sensitivity) and (spread is None or is_integer(spread))
        if spread is None:
            wide = length if read_flag("monotone", monotone) else 2 * length
        elif monotone:
            raise ValueError("state either monotone=True or a spread, not both")
        else:
            wide = covering("spread", spread)
        if wide > 2 * length:
            raise ValueError(
                f"spread must be at most twice the sensitivity, which is {brief(2 * length)}, "
                f"got {brief(wide)}"
            )
        rate = rate_of(price, wide, length)
        fill(self, sensitivity=length, epsilon=price, spread=wide, whole=whole, rate=rate)

    @property
    def monotone(self) -> bool:
        """Whether the spread is that of scores that all move the same way."""
        return self.spread == self.sensitivity

    def _typed(self, name: str) -> Any:
        if name == "spread" and (self.monotone or self.spread == 2 * self.sensitivity):
            return None
        return Mechanism._typed(self, name)


class Choice(Terms):
    """A mechanism that chooses by scores, on its terms."""

    __slots__ = ()

    @property
    def loss(self) -> Loss:
        """What one choice costs, in every currency."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How far behind the best candidate a choice can be.

    ``gap``: with the confidence asked for, the score of the choice is less than this much behind
    the best one; there are scores for which it is no less. ``classic``: the same from the union
    bound, as textbooks have it. ``mean``: how far it is behind on average, at most, for the worst
    scores there are; ``classic_mean``: the same from integrating the union bound, for one choice by
    weight 2 sensitivity (ln(candidates) + 1) / epsilon. All four are in units of the score;
    ``float`` and a format such as ``:.1f`` give the gap.

    >>> far = Accuracy(gap=3.352, classic=4.61, mean=1.2, classic_mean=2.9)
    >>> print(far)
    less than 3.36 behind, 1.2 on average
    >>> float(far), f"{far:.1f}"
    (3.352, '3.4')
    """

    gap: float
    classic: float
    mean: float
    classic_mean: float

    def __float__(self) -> float:
        return self.gap

    def __str__(self) -> str:
        gap, mean = _three_digits(self.gap), _three_digits(self.mean)
        if self.gap:
            return f"less than {gap} behind, {mean} on average"
        return f"one of the best, {mean} behind on average" if self.mean else "one of the best"

    def __format__(self, spec: str) -> str:
        return format(self.gap, spec) if spec else str(self)


@dataclass(frozen=True, slots=True, init=False)
class Question:
    """What an accuracy is asked for: how sure, among how many, of which so many are best."""

    level: Fraction
    candidates: int
    best: int

    def __init__(self, confidence: Number, candidates: Integer, best: Integer = 1) -> None:
        many, good = positive_whole("candidates", candidates), positive_whole("best", best)
        if good > many:
            raise ValueError(f"best must be at most the number of candidates, {many}, got {good}")
        fill(self, level=confidence_level(confidence), candidates=many, best=good)

    @property
    def trivial(self) -> bool:
        """Whether a uniform choice is already one of the best often enough."""
        return Fraction(self.best, self.candidates) >= self.level


def by_weight(question: Question, rate: Fraction) -> Accuracy:
    """Return the accuracy of a choice with the weight exp(rate * score).

    Rounded up, from certified balls.
    """
    bad, fail = question.candidates - question.best, 1 - question.level
    gap = 0.0
    if not question.trivial:
        odds = Fraction(bad, question.best) * question.level / fail
        gap = round_up(lambda: ball(odds).log() / ball(rate))
    mean, classic_mean = _mean(question, rate), _classic_mean(question, rate)
    return Accuracy(gap, _classic(question, rate), mean, classic_mean)


def by_flips(question: Question, rate: Fraction) -> Accuracy:
    """Return the accuracy of permute-and-flip.

    For several best candidates, and for the mean, it is that of a choice by weight, which is never
    better.

    Rounded up, from certified balls.
    """
    weighted = by_weight(question, rate)
    if question.best > 1 or question.trivial:
        return weighted
    far = Fraction(reading(_flips_behind(question)))
    gap = up_as_printed(far / rate)
    return replace(weighted, gap=min(gap, weighted.gap))


def by_laplace(question: Question, scale: Fraction, step: Fraction, gap: Fraction) -> Accuracy:
    """Return the accuracy of noisy max with Laplace noise, on scores rounded to a step.

    The winner is behind by at most its own noise minus that of the best candidate. So half of the
    classic gap is what each of the two noises may contribute, and the mean gap is at most the mean
    of the largest noise.

    Rounded up, from certified balls.
    """
    many, fail = question.candidates, 1 - question.level
    if many == 1:
        return Accuracy(0.0, 0.0, 0.0, 0.0)
    classic = round_up(lambda: 2 * ball(many / fail).log() * ball(scale) + ball(step))
    mean = round_up(lambda: (1 + ball(many).log()) * ball(scale) + ball(step))
    return Accuracy(min(up_as_printed(gap), classic), classic, mean, mean)


def scales_behind(question: Question, *, flips: bool) -> Fraction:
    """Return the gap in units of 1 / rate, from above."""
    accuracy = (by_flips if flips else by_weight)(question, Fraction(1))
    return Fraction(reading(accuracy.gap))


def least_price(
    question: Question,
    gap: Number,
    sensitivity: Number,
    monotone: bool,
    spread: Number | None,
    *,
    flips: bool,
) -> float:
    """Return the least epsilon for a gap: how many scales behind, times the spread, by the gap."""
    terms = Terms(sensitivity=sensitivity, epsilon=1, monotone=monotone, spread=spread)
    scales = scales_behind(question, flips=flips)
    if scales == 0:
        raise ValueError(ANY)
    return up_as_printed(scales * terms.spread / positive("gap", gap))


def _three_digits(x: float) -> str:
    """Write a number with three digits that is not below it."""
    if not math.isfinite(x):
        return str(x)
    rounded = Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(x))
    return f"{float(rounded):,.12g}" if rounded < 10**9 else f"{float(rounded):.3g}"


def _classic(question: Question, rate: Fraction) -> float:
    share = Fraction(question.candidates, question.best) / (1 - question.level)
    return round_up(lambda: ball(share).log() / ball(rate))


def _classic_mean(question: Question, rate: Fraction) -> float:
    """Return what the classic gap is on average over all confidences."""
    share = Fraction(question.candidates, question.best)
    return round_up(lambda: (ball(share).log() + 1) / ball(rate))


def _mean(question: Question, rate: Fraction) -> float:
    """Return the largest mean gap: all that are not best are equally far behind."""
    odds = Fraction(question.candidates, question.best) - 1
    if not odds:
        return 0.0
    return round_up(lambda: (ball(odds) * ball(-1).exp()).lambertw() / ball(rate))


def _flips_behind(question: Question) -> float:
    """Return how far behind all others must be for the best one to be chosen often enough.

    It wins with probability (1 - (1 - p)^d) / (d p), where p = exp(-gap).
    """
    many = question.candidates

    def fits(gap: Fraction) -> bool:
        def wins() -> Ball:
            p = (-ball(gap)).exp()
            none = (many * (-p).log1p()).expm1() if gap else ball(-1)
            return -none / (many * p) - ball(question.level)

        return is_positive(wins)

    return least_double(fits, near=float(many.bit_length()), high=_FARTHEST)


def weights(scores: Scores, rate: Fraction) -> Floats:
    """Return exp(rate * (score - best)) for each score.

    Guarantee: none; the result is as private as the scores.
    """
    if isinstance(scores, list):
        best = max(scores)
        return np.exp([-float(min(rate * (best - score), _NEVER)) for score in scores])
    top = best_of_array(scores)
    if scores.dtype.kind == "f":
        halves = top * 0.5 - scores * 0.5  # which do not overflow
    else:
        gaps = np.uint64(int(top) % (1 << 64)) - scores.view(np.uint64)
        halves = gaps.astype(np.float64) * 0.5
    with np.errstate(over="ignore"):  # an infinite exponent is as good as a large one
        found: Floats = np.exp(-float(2 * rate) * halves)
    return found


def flips(chances: Floats, sizes: Floats | None = None) -> Floats:
    """Return the law of permute-and-flip for candidates whose coins have these chances.

    With ``sizes`` there are so many candidates of each chance, and the result is for one of them.

    A candidate with chance p wins with p times the integral, over t from 0 to 1, of the product of
    1 - q t over all other chances q: t is how early in the random order it comes. The integral is
    taken over panels that halve towards 0, where the product of many factors changes fastest.

    Guarantee: none; the result is as private as the scores.
    """
    values, places = np.unique(chances, return_inverse=True)
    counts = np.bincount(places, weights=sizes)
    nodes, shares = np.polynomial.legendre.leggauss(_NODES)
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-_PANELS, 1)])
    halves = np.diff(ends) / 2
    t = (ends[:-1, None] + halves[:, None] * (nodes + 1)).ravel()
    dt = (halves[:, None] * shares).ravel()
    product = np.zeros_like(t)
    for value, count in zip(values, counts, strict=True):
        product += count * np.log1p(-value * t)
    wins = [value * float(dt @ np.exp(product - np.log1p(-value * t))) for value in values]
    found: Floats = np.array(wins)[places]
    return found
