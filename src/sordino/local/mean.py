# SPDX-License-Identifier: Apache-2.0
"""The side of whoever asks for numbers: it counts reports and estimates a mean.

Limits of a mean from reports of a window, valid for any people.

The reports also bound their own variance. Many reports are judged by the normal law and by the
inequality of Berry and Esseen, which says how far a sum can be from normal, and few by that of
Bernstein. Which of the two is used depends on public numbers alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

from sordino.local.counting import Counting
from sordino.local.estimate import sure, written_down, written_up
from sordino.local.window import Window
from sordino.numbers.rational import Number, confidence_level
from sordino.numbers.rounding import down, up

if TYPE_CHECKING:
    from sordino.local.numbers import NumberProtocol


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of the numbers of some people, with an interval that holds it.

    ``mean`` is unbiased and may lie beyond the range; ``low`` and ``high`` never do. The standard
    error is that for people drawn at random; for the mean of these people alone it is no larger.
    It is at least that of the coins alone. Reports that are all the same, such as that of one
    person, show no spread: then it is that of the coins for the worst number.
    """

    people: int
    mean: float
    low: float
    high: float
    standard_error: float
    confidence: float

    def __str__(self) -> str:
        size = self.standard_error or self.high - self.low or 1.0
        places = min(max(1 - math.floor(math.log10(size)), 0), 15)
        low, high = written_down(self.low, places), written_up(self.high, places)
        return (
            f"mean {self.mean:z.{places}f}, from {low} to {high} "
            f"with confidence {sure(self.confidence)} ({self.people} people)"
        )


class MeanServer(Counting):
    """Counts of each possible report about numbers.

    >>> import numpy as np
    >>> from sordino.local.one_bit import OneBit
    >>> from sordino.local.reports import Reports
    >>> protocol = OneBit(0, 100, epsilon=1)
    >>> server = protocol.server()
    >>> server.add(Reports(protocol.fingerprint, np.array([0, 1, 0, 1, 1] * 200, dtype=np.uint8)))
    >>> print(server.estimate(confidence=0.95))
    mean 71.6, from 64.9 to 78.3 with confidence 0.95 (1000 people)
    """

    def __init__(self, protocol: NumberProtocol) -> None:
        super().__init__(protocol)
        self.protocol = protocol

    def estimate(self, *, confidence: Number = 0.95) -> MeanEstimate:
        """Return the mean of the numbers of these people, with an interval.

        Numbers beyond an end of the range have counted as that end. The interval holds the mean
        of these people, and, if they were drawn at random from many, also the mean of the many.

        Guarantee:
            Neighbours: any two numbers of one person.
            Loss: none beyond that of the reports.
            Numerics: limits are rounded outwards.
            Proof: docs/proofs/local_numbers.md, theorems 4 and 5.
        """
        level = confidence_level(confidence)
        if self.people == 0:
            raise ValueError("no reports have been added yet; add some first")
        protocol, people = self.protocol, self.people
        heights = range(1 - protocol.outputs, protocol.outputs, 2)
        counts = self.counts.tolist()
        total = sum(count * y for count, y in zip(counts, heights, strict=True))
        squares = sum(count * y * y for count, y in zip(counts, heights, strict=True))
        t = Fraction(total, people) / protocol.gain
        low, high = protocol.unit_limits(people, total, squares, level)
        scale = protocol.scale
        half, middle = scale.span / 2, (scale.low + scale.high) / 2
        spread = (Fraction(squares, people) / protocol.gain**2 - t * t) * half**2
        variance = max(spread, protocol.least_variance()) if spread else protocol.variance()
        return MeanEstimate(
            people=people,
            mean=float(middle + half * t),
            low=down(middle + half * Fraction(min(max(low, -1.0), 1.0))),
            high=up(middle + half * Fraction(min(max(high, -1.0), 1.0))),
            standard_error=math.sqrt(variance / people),
            confidence=float(level),
        )


_ESSEEN = 0.56  # for sums of independent numbers whose laws differ (Shevtsova 2010)
_SPREAD_SHARE = 0.05  # of the chance to be wrong, spent on the bound of the variance
_MARGIN = 1e-9  # more than doubles can be off


def window_limits(
    window: Window, people: int, total: int, squares: int, confidence: Fraction
) -> tuple[float, float]:
    """Return limits of the mean of t; they may lie beyond -1 and 1.

    ``total`` is the sum of y over all reports, and ``squares`` that of y^2.
    """
    alpha = float(1 - confidence)
    mean = float(Fraction(total, people) / window.gain)
    square = float(Fraction(squares, people) / window.gain**2)
    most = largest_square(window, people, square, alpha * _SPREAD_SHARE)
    deviations, shift = deviations_and_shift(window, people, alpha * (1 - _SPREAD_SHARE) / 2)
    ratio = deviations**2 / people
    low = _lower_root(mean - shift, most, ratio) - _MARGIN
    return low, -_lower_root(-mean - shift, most, ratio) + _MARGIN


def deviations_and_shift(window: Window, people: int, tail: float) -> tuple[float, float]:
    """Return how far a mean estimate is off at most, except with the chance ``tail`` on each side.

    It is so many standard deviations of the mean, and so much more.
    """
    farthest = float(window.summit + 1)
    floor, nats = float(window.floor), -math.log(tail)
    skewed = min(farthest / math.sqrt(floor), math.sqrt(window.central_fourth) / floor)
    normal = tail - _ESSEEN * skewed / math.sqrt(people)
    if normal > 0 and (deviations := -NormalDist().inv_cdf(normal)) ** 2 < 2 * nats:
        return deviations, 0.0
    return math.sqrt(2 * nats), farthest * nats / (3 * people)


def largest_square(window: Window, people: int, square: float, alpha: float) -> float:
    """Return a bound of the mean square of an estimate, wrong with chance at most alpha.

    ``square`` is the one that was seen.
    """
    nats = -math.log(alpha) / (2 * people)
    by_range = float(window.summit) ** 2 * math.sqrt(nats)
    by_fourth = 2 * math.sqrt(window.fourth) * math.sqrt(nats)
    always = float(window.floor + window.rise + 1)
    return min(square + min(by_range, by_fourth), always) * (1 + _MARGIN)


def _lower_root(mean: float, most: float, ratio: float) -> float:
    """Return a t that is at most every t with mean - t <= sqrt(ratio (most - t^2))."""
    room = math.sqrt(max(ratio * (most * (1 + ratio) - mean * mean), 0.0))
    return min(mean, (mean - room * (1 + _MARGIN)) / (1 + ratio))
