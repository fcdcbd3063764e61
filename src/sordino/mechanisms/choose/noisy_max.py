# SPDX-License-Identifier: Apache-2.0
"""Report noisy max: noise on every score, and only the name of the largest is told.

Report noisy max with discrete Laplace noise: the index of the largest noisy score, exactly.

Scores are whole numbers, or reals that are rounded to a public grid; noise is added in whole steps.
Equal noisy scores occur, and then the least index wins: an order that does not look at the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.additive import exponent_for, to_grid
from sordino.mechanisms.choose.candidates import score_block
from sordino.mechanisms.choose.exponential import Exponential, PermuteAndFlip
from sordino.mechanisms.choose.scores import read_row
from sordino.mechanisms.choose.terms import (
    ANY,
    Accuracy,
    Choice,
    Question,
    Terms,
    by_laplace,
    least_price,
)
from sordino.mechanisms.mechanism import check_scales, fill
from sordino.numbers.balls import Ball, ball, ceiling, is_positive, round_up
from sordino.numbers.columns import kinds_of
from sordino.numbers.rational import (
    Integer,
    Number,
    brief,
    confidence_level,
    positive,
    positive_whole,
    up,
)
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Pure
from sordino.privacy.search import least_double
from sordino.randomness.samplers import discrete_laplace
from sordino.randomness.tables import BLOCK

Array: TypeAlias = npt.NDArray[Any]
Integers: TypeAlias = npt.NDArray[np.int64]

MOST_PROBABILITIES = 64  # candidates whose law is computed; the work grows with the fourth power
_DOUBLES = 2**53  # integers up to this are exact as doubles
_EXACT = 2.0**62  # rounded doubles below this are subtracted as integers
_CLAMP = 1 << 61  # a score so far below the best cannot win unless some noise is of this order
_LARGE = 1 << 60  # noise of this size is compared in Python's integers

REALS = (
    "this mechanism takes whole scores because its sensitivity is an integer; "
    "give the sensitivity as a float, such as 1.0, for real scores"
)


@dataclass(frozen=True, slots=True)
class MaxNoise:
    """The noise of one report noisy max: discrete Laplace of ``scale`` steps of 2**exponent.

    With ``whole`` the step is 1 and scores must be whole numbers.

    >>> noise = laplace_noise(spread=Fraction(2), epsilon=Fraction(1, 2), whole=True)
    >>> noise.scale, noise.exponent
    (Fraction(4, 1), 0)

    Guarantee: none by itself; ``laplace_winner`` states it.
    """

    scale: Fraction
    exponent: int
    whole: bool


def laplace_noise(*, spread: Fraction, epsilon: Fraction, whole: bool) -> MaxNoise:
    """Return the noise for scores whose changes lie within ``spread`` of each other.

    The spread is twice the sensitivity, or the sensitivity itself if one unit moves all scores the
    same way. On a grid it grows by two steps, one for each end.
    """
    try:
        exponent = 0 if whole else exponent_for((spread / epsilon) ** 2)
    except ValueError as error:
        raise ValueError(f"no noise fits an epsilon of {brief(epsilon)}; {error}") from None
    if whole and spread.denominator != 1:
        raise ValueError("the spread of whole scores must be a whole number")
    steps = spread if whole else Fraction(spread_on_grid(spread, exponent))
    scale = steps / epsilon
    check_scales(scale, price=brief(epsilon), moved=f"a spread of {brief(spread)}")
    return MaxNoise(scale=scale, exponent=exponent, whole=whole)


def spread_on_grid(spread: Fraction, exponent: int) -> int:
    """Return how many steps the changes of rounded scores can lie apart.

    Guarantee:
        Neighbours: any change that moves the scores by amounts within ``spread`` of each other.
        Loss: none by itself; the result bounds the spread of the rounded scores.
        Numerics: exact.
        Proof: docs/proofs/sparse-vector.md, theorem 2.
    """
    return math.floor(spread / Fraction(2) ** exponent) + 2


def laplace_winner(scores: object, *, noise: MaxNoise) -> int:
    """Return the index of the largest score with fresh noise; only the index may be published.

    Scores are an array of integers or doubles or a sequence of exact numbers; a double means the
    binary number it is. Beyond the scores this takes a few blocks of memory, whatever their number.

    Guarantee:
        Neighbours: any change whose effects on the scores lie within the spread of ``noise``.
        Loss: spread / scale, pure, for each call.
        Numerics: exact; noisy scores beyond 64 bits are compared as they are.
        Proof: docs/proofs/sparse-vector.md, theorem 2.
    """
    array = _read(scores, noise)
    sampler = discrete_laplace(noise.scale)
    buffer = np.empty(min(array.size, BLOCK), dtype=np.int64)
    best: tuple[int, int] | None = None
    for start in range(0, array.size, BLOCK):
        block = array[start : start + BLOCK]
        _, drawn, beyond = next(iter(sampler.fill(buffer[: block.size])))
        place, total = _best_of_block(block, drawn, beyond, noise.exponent)
        if best is None or total > best[0]:
            best = total, start + place
    assert best is not None  # noqa: S101 - an empty array was refused
    return best[1]


def laplace_probabilities(scores: object, *, noise: MaxNoise) -> npt.NDArray[np.float64]:
    """Return the probability of each index of at most 64, for teaching and tests.

    >>> noise = laplace_noise(spread=Fraction(1), epsilon=Fraction(1), whole=True)
    >>> laplace_probabilities([3, 3, 2, 3, 4], noise=noise).round(4).tolist()
    [0.2442, 0.1835, 0.053, 0.1438, 0.3754]

    Guarantee:
        Neighbours: none; this is as private as the scores are.
        Loss: unbounded; never publish the result for private scores.
        Numerics: each number is rounded up from a certified ball.
        Proof: docs/proofs/sparse-vector.md, theorem 3.
    """
    array = _read(scores, noise)
    if array.size > MOST_PROBABILITIES:
        raise ValueError(f"probabilities are computed for at most {MOST_PROBABILITIES} scores")
    steps = [_steps(score, noise.exponent) for score in array.tolist()]
    found = [_probability(steps, i, 1 / noise.scale) for i in range(len(steps))]
    return np.array(found, dtype=np.float64)


def laplace_gap(*, noise: MaxNoise, candidates: Integer, confidence: Number) -> int | float:
    """Return the least bound x such that the winner is less than x below the best score.

    That fails with probability 1 - confidence at most, by the union bound over the candidates. It
    is an int for whole scores; for real ones a float, rounded up, with a step for the rounding.

    >>> noise = laplace_noise(spread=Fraction(2), epsilon=Fraction(1, 2), whole=True)
    >>> laplace_gap(noise=noise, candidates=100, confidence=0.99)
    42
    """
    many, level = positive_whole("candidates", candidates), confidence_level(confidence)
    high = 1
    if many > 1:
        share = (1 - level) / (many - 1)
        high = least_difference((noise.scale, noise.scale), share=share)
    return high if noise.whole else up((high + 1) * Fraction(2) ** noise.exponent)


def least_difference(scales: tuple[Fraction, Fraction], *, share: Fraction) -> int:
    """Return the least k >= 1 that the difference of two noises reaches with such a chance."""

    def fits(steps: int) -> bool:
        return is_positive(lambda: ball(share) - _difference_tail(scales, steps))

    high = max(ceiling(lambda: -ball(share).log() * ball(max(scales))), 1)
    while not fits(high):
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _difference_tail(scales: tuple[Fraction, Fraction], steps: int) -> Ball:
    """Return the chance that one noise exceeds another by so many steps, at least one."""
    a, q = ((-1 / ball(scale)).exp() for scale in scales)
    far_a, far_q = ((-steps / ball(scale)).exp() for scale in scales)
    between = (steps - 1) * far_q if scales[0] == scales[1] else (a * far_q - q * far_a) / (q - a)
    near = (far_q / (1 - a * q) + between) / (1 + q)
    beyond = far_a / (1 - a) - q * far_a / ((1 + q) * (1 - a * q))
    return (near + beyond) * (1 - a) / (1 + a)


def _read(scores: object, noise: MaxNoise) -> Array:
    """Return the scores as an array of integers, doubles or exact fractions."""
    given = list(scores) if isinstance(scores, Iterator) else scores
    if noise.whole and _holds_doubles(read_row(given)):
        raise TypeError(REALS)
    array = score_block(given)
    if noise.whole and array.dtype.kind == "O" and any(x.denominator != 1 for x in array.tolist()):
        raise TypeError(REALS)
    return array


def _holds_doubles(row: Array) -> bool:
    """Tell whether scores are reals by their type; exact fractions may be whole by value."""
    if row.dtype.kind != "O":
        return row.dtype.kind == "f"
    return any(issubclass(kind, float | np.floating) for kind in kinds_of(row))


def _best_of_block(
    block: Array, noise: Integers, beyond: dict[int, int], exponent: int
) -> tuple[int, int]:
    """Return the place of the largest noisy score, and that score in steps as a Python int."""
    below = None if block.dtype.kind == "O" else _below(block, exponent)
    if below is None or beyond or noise.max() >= _LARGE or noise.min() <= -_LARGE:
        steps = [_steps(score, exponent) for score in block.tolist()]
        totals = [
            step + beyond.get(at, drawn)
            for at, (step, drawn) in enumerate(zip(steps, noise.tolist(), strict=True))
        ]
        place = max(range(len(totals)), key=totals.__getitem__)
        return place, totals[place]
    place = int(np.subtract(noise, below, out=below).argmax())
    return place, _steps(block[place].item(), exponent) + int(noise[place])


def _below(block: Array, exponent: int) -> Integers | None:
    """Return how many steps each score is below the best, at most 2**61; None if that is hard.

    With noise below 2**60 on both, a score that is 2**61 or more below the best one cannot win.
    """
    if block.dtype.kind in "iu":
        if exponent == 0:
            # The difference fits 64 bits without a sign, even where the scores themselves wrap.
            gaps = block.max().astype(np.uint64) - block.astype(np.uint64)
            cut: Integers = np.minimum(gaps, np.uint64(_CLAMP)).view(np.int64)
            return cut
        if block.max() > _DOUBLES or block.min() < -_DOUBLES:
            return None
    with np.errstate(over="ignore", under="ignore"):
        steps = np.rint(np.ldexp(block.astype(np.float64), -exponent))
    if not np.isfinite(steps).all():
        return None
    best = steps.max()
    if np.abs(steps).max() < _EXACT:
        near: Integers = np.minimum(int(best) - steps.astype(np.int64), _CLAMP)
        return near
    # One of the two is 2**62 or more. If they are within a factor of two of each other, then their
    # difference is a double; otherwise it is at least 2**61, and so is the nearest double.
    return _mixed(steps, float(best))


def _mixed(steps: npt.NDArray[np.float64], best: float) -> Integers:
    gaps = np.minimum(best - steps, float(_CLAMP)).astype(np.int64)
    if abs(best) < _EXACT:
        small = np.abs(steps) < _EXACT
        gaps[small] = np.minimum(int(best) - steps[small].astype(np.int64), _CLAMP)
    return gaps


def _steps(score: int | float | Fraction, exponent: int) -> int:
    """Return a score as a whole number of steps, exactly."""
    return score if isinstance(score, int) and exponent == 0 else to_grid(score, exponent)


def _probability(steps: list[int], place: int, rate: Fraction) -> float:
    """Return the probability that a place wins, by summing over its own noisy score x."""
    levels = sorted(set(steps))

    def formula() -> Ball:
        q = (-ball(rate)).exp()
        total = ball(0)
        for first, last in zip([None, *levels], [*levels, None], strict=True):
            total += _stretch(steps, place, rate, (first, last))
        return total * (1 - q) / (1 + q)

    return min(max(round_up(formula), 0.0), 1.0)


def _stretch(
    steps: list[int], place: int, rate: Fraction, ends: tuple[int | None, int | None]
) -> Ball:
    """Sum, up to a constant, over the x from one score to the next.

    There, with w = exp(-rate (x - start)), the chance that another score stays below x is constant
    times 1/w if that score is above x, and 1 - constant times w if it is not.
    """
    first, last = ends
    start = first if first is not None else last
    assert start is not None  # noqa: S101 - there is at least one score

    def power(exponent: int) -> Ball:
        return (-ball(rate * exponent)).exp()

    both = 1 + power(1)
    constant, degree, terms = ball(1), 0, [ball(1)]
    for at, step in enumerate(steps):
        above = first is None or step > first
        if at == place:
            constant *= power(abs(step - start))
            degree += -1 if above else 1
        elif above:  # the first of two equal noisy scores wins
            constant *= power(step - start + (at < place)) / both
            degree -= 1
        else:
            factor = power(start - step + (at > place)) / both
            shifted = [ball(0), *(-factor * term for term in terms)]
            terms = [a + b for a, b in zip([*terms, ball(0)], shifted, strict=True)]
    total = ball(0)
    for extra, term in enumerate(terms):
        total += term * _series(rate * (degree + extra), ends)
    return constant * total


def _series(rate: Fraction, ends: tuple[int | None, int | None]) -> Ball:
    """Sum exp(-rate y) over y from 0, or over y = -1, -2, ... if there is no first score."""
    first, last = ends
    if first is None:
        return 1 / (ball(-rate)).expm1()
    if last is None:
        return -1 / (-ball(rate)).expm1()
    if rate == 0:
        return ball(last - first)
    return (-ball(rate * (last - first))).expm1() / (-ball(rate)).expm1()


Noise: TypeAlias = Literal["laplace", "gumbel", "exponential"]
_NOISES = ("laplace", "gumbel", "exponential")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class NoisyMax(Choice):
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

    noise: Noise
    loss: Loss = field(compare=False)
    _drawn: Exponential | PermuteAndFlip | MaxNoise = field(compare=False)

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        monotone: bool = False,
        spread: Number | None = None,
        noise: Noise = "exponential",
    ) -> None:
        if noise not in _NOISES:
            raise ValueError(f"noise must be one of {', '.join(_NOISES)}, got {noise!r}")
        Terms.__init__(
            self, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone, spread=spread
        )
        loss, drawn = single(Pure(epsilon=self.epsilon)), _drawn_as(noise, self)
        if isinstance(drawn, Exponential):
            loss = drawn.loss
        fill(self, noise=noise, loss=loss, _drawn=drawn)

    def release(self, scores: object) -> int:
        """Return the index of the largest noisy score."""
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
        """
        if not isinstance(self._drawn, MaxNoise):
            return self._drawn.accuracy(confidence=confidence, candidates=candidates, best=best)
        question = Question(confidence, candidates, best)
        gap = laplace_gap(noise=self._drawn, candidates=candidates, confidence=confidence)
        step = 0 if self._drawn.whole else Fraction(2) ** self._drawn.exponent
        scale = self._drawn.scale * Fraction(2) ** self._drawn.exponent
        return by_laplace(question, scale, Fraction(step), Fraction(gap))

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
        """Return the least epsilon whose choice is less than ``gap`` behind at this confidence."""
        question, behind = Question(confidence, candidates), positive("gap", gap)
        one = cls(sensitivity=sensitivity, epsilon=1, noise=noise, monotone=monotone, spread=spread)
        if not isinstance(one._drawn, MaxNoise):
            flips = isinstance(one._drawn, PermuteAndFlip)
            return least_price(question, gap, sensitivity, monotone, spread, flips=flips)

        if question.candidates == 1:
            raise ValueError(ANY)
        if one._drawn.whole:  # whole scores that are less than 1/2 apart are equal
            behind = Fraction(math.ceil(behind))

        def fits(epsilon: Fraction) -> bool:
            try:
                noise = _laplace(one, epsilon)
            except ValueError:
                return False
            found = laplace_gap(
                noise=noise, candidates=question.candidates, confidence=question.level
            )
            return Fraction(found) <= behind

        near = float(one.spread / behind * question.candidates.bit_length())
        return least_double(fits, near=near, high=2.0**500)


def _drawn_as(noise: Noise, terms: Terms) -> Exponential | PermuteAndFlip | MaxNoise:
    """Return what draws from the law of this noise."""
    if noise == "laplace":
        return _laplace(terms, terms.epsilon)
    kind = Exponential if noise == "gumbel" else PermuteAndFlip
    return kind(sensitivity=terms.sensitivity, epsilon=terms.epsilon, spread=terms.spread)


def _laplace(terms: Terms, epsilon: Fraction) -> MaxNoise:
    return laplace_noise(spread=terms.spread, epsilon=epsilon, whole=terms.whole)
