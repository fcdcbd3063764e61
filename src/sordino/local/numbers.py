# SPDX-License-Identifier: Apache-2.0
"""What all protocols for numbers share: a public range and its grid, a client and a server.

A number becomes a place on the grid, and the place is randomized. The average report is a linear
function of the place, so the mean of many reports gives the mean of the numbers.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.estimate import sure, written_down, written_up
from sordino.local.randomizer import PEOPLE_AT_ONCE, Counted, Counting, Encoder, number_of
from sordino.local.scale import Places, Scale, read_scale, read_values
from sordino.numbers.rational import (
    Integer,
    Number,
    brief,
    confidence_level,
    down,
    positive_whole,
    up,
    written,
)
from sordino.randomness.entropy import Bits, system

STEPS = 256

Channel = dict[int, tuple[Fraction, ...]]


class NumberProtocol(Counted):
    """A way to report a number of a public range so that nobody learns it.

    Numbers beyond an end of the range count as that end.

    Guarantee:
        Neighbours: any two numbers of one person.
        Loss: every report is epsilon-private, whatever is done with it.
        Numerics: every probability is a fraction, and drawn exactly.
        Proof: docs/proofs/local_numbers.md, theorems 1 and 2.
    """

    def __init__(
        self, low: Number, high: Number, *, epsilon: Number, steps: Integer = STEPS
    ) -> None:
        super().__init__(epsilon=epsilon)
        self.scale: Scale = read_scale(low, high, steps)

    def __repr__(self) -> str:
        ends = f"{brief(self.scale.low)} to {brief(self.scale.high)}"
        return f"<{self.words}: {ends}, epsilon {written(self.epsilon)}>"

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many different reports there are: the whole numbers below this one."""

    @property
    @abstractmethod
    def gain(self) -> Fraction:
        """The mean of 2 report - (outputs - 1) at the high end of the range."""

    @abstractmethod
    def draw(self, places: Places, bits: Bits) -> npt.NDArray[Any]:
        """Return one report for each place."""

    @abstractmethod
    def channel(self) -> Channel:
        """Return, for every report there can be, its chance given each place of the grid."""

    @abstractmethod
    def unit_variance(self, place: Fraction | None) -> Fraction:
        """Return the variance of one person's estimate where the range is from -1 to 1."""

    @abstractmethod
    def unit_limits(
        self, people: int, total: int, squares: int, confidence: Fraction
    ) -> tuple[float, float]:
        """Return limits of the mean where the range is from -1 to 1.

        ``total`` is the sum of 2 report - (outputs - 1), and ``squares`` that of its squares.
        """

    @property
    def report_bits(self) -> int:
        """How many bits one report has."""
        return (self.outputs - 1).bit_length()

    def _details(self) -> list[Any]:
        scale = self.scale
        return [str(scale.low), str(scale.high), scale.steps, self.outputs]

    def client(self) -> NumberClient:
        """Return what runs on the device of a person."""
        return NumberClient(self)

    def server(self) -> MeanServer:
        """Return what counts reports."""
        return MeanServer(self)

    @property
    def cells(self) -> int:
        """How many counts a server keeps: one for each report."""
        return self.outputs

    def variance(self, value: Number | None = None) -> Fraction:
        """Return the variance of an estimated mean of such values, times the number of people.

        It is that of all coins, those of the rounding too; who the people are is taken as given.
        Without a value it is the largest that there is for any.
        """
        place = None if value is None else self.scale.place(value)
        return self.unit_variance(place) * (self.scale.span / 2) ** 2

    def least_variance(self) -> Fraction:
        """Return the least variance that there is for any value, times the number of people."""
        ends = (Fraction(0), Fraction(self.scale.steps // 2))  # an end, and what is next the middle
        return min(map(self.unit_variance, ends)) * (self.scale.span / 2) ** 2

    def standard_error(self, people: Integer, *, value: Number | None = None) -> float:
        """Return the standard error of an estimated mean, before anything is collected."""
        return math.sqrt(self.variance(value) / positive_whole("people", people))


class NumberClient(Encoder):
    """What runs where the number is known, and lets only randomized reports out.

    >>> from sordino.local.one_bit import OneBit
    >>> client = OneBit(0, 100, epsilon=1).client()
    >>> len(client.encode(37)), len(client.encode([12.5, 99, 250]))
    (1, 3)
    """

    def __init__(self, protocol: NumberProtocol) -> None:
        self.protocol: NumberProtocol = protocol

    def _read(self, values: object) -> npt.NDArray[Any]:
        return read_values(values, self.protocol.scale)

    def _drawn(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        out = np.empty(column.size, dtype=number_of(self.protocol.outputs))
        for start in range(0, column.size, PEOPLE_AT_ONCE):  # what is needed stays in the cache
            bits = system()
            with np.errstate(invalid="ignore"):
                places = self.protocol.scale.rounded(column[start : start + PEOPLE_AT_ONCE], bits)
            # The array may be another's too, who writes no number into it meanwhile.
            np.clip(places, 0, self.protocol.scale.steps, out=places)
            out[start : start + PEOPLE_AT_ONCE] = self.protocol.draw(places, bits)
        return out


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


class MeanServer(Counting[NumberProtocol]):
    """Counts of each possible report about numbers.

    >>> import numpy as np
    >>> from sordino.local.one_bit import OneBit
    >>> from sordino.local.randomizer import Reports
    >>> protocol = OneBit(0, 100, epsilon=1)
    >>> server = protocol.server()
    >>> server.add(Reports(protocol.fingerprint, np.array([0, 1, 0, 1, 1] * 200, dtype=np.uint8)))
    >>> print(server.estimate(confidence=0.95))
    mean 71.6, from 64.9 to 78.3 with confidence 0.95 (1000 people)
    """

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
