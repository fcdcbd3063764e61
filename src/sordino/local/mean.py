# SPDX-License-Identifier: Apache-2.0
"""The side of whoever asks for numbers: it counts reports and estimates a mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sordino.exact.rational import Number, confidence_level
from sordino.exact.rounding import down, up
from sordino.local.counting import Counting

if TYPE_CHECKING:
    from sordino.local.numbers import NumberProtocol


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of the numbers of some people, with an interval that holds it.

    ``mean`` is unbiased and may lie beyond the range; ``low`` and ``high`` never do. The standard
    error is that for people drawn at random; for the mean of these people alone it is no larger.

    Guarantee: none needed; each report is already private.
    """

    people: int
    mean: float
    low: float
    high: float
    standard_error: float
    confidence: float

    def __str__(self) -> str:
        size = self.standard_error if self.standard_error > 0 else 1.0
        places = min(max(1 - math.floor(math.log10(size)), 0), 15)
        low, high = _outwards(self.low, -1, places), _outwards(self.high, 1, places)
        return (
            f"mean {self.mean:.{places}f}, from {low} to {high} "
            f"with confidence {self.confidence:g} ({self.people} people)"
        )


def _outwards(limit: float, side: int, places: int) -> str:
    """Write a limit with so many decimal places, so that it is no closer than it was."""
    text = f"{limit:.{places}f}"
    if (Fraction(text) - Fraction(limit)) * side < 0:
        text = f"{float(text) + side * 10.0**-places:.{places}f}"
    return text


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

    Guarantee: none needed; each report is already private.
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
        spread = Fraction(squares, people) / protocol.gain**2 - t * t
        low, high = protocol.unit_limits(people, total, squares, level)
        scale = protocol.scale
        half, middle = scale.span / 2, (scale.low + scale.high) / 2
        return MeanEstimate(
            people=people,
            mean=float(middle + half * t),
            low=down(middle + half * Fraction(min(max(low, -1.0), 1.0))),
            high=up(middle + half * Fraction(min(max(high, -1.0), 1.0))),
            standard_error=float(half) * math.sqrt(spread / people),
            confidence=float(level),
        )
