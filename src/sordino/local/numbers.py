# SPDX-License-Identifier: Apache-2.0
"""What all protocols for numbers share: a public range and its grid, a client and a server.

A number becomes a place on the grid, and the place is randomized. The average report is a linear
function of the place, so the mean of many reports gives the mean of the numbers.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.counting import Counts
from sordino.local.mean import MeanServer
from sordino.local.randomizer import AT_ONCE, Encoder, Randomizer
from sordino.local.response import is_below, number_of, tally_numbers
from sordino.local.scale import Places, Scale, read_scale, read_values
from sordino.numbers.rational import Integer, Number, brief, positive_whole, written
from sordino.randomness.entropy import Bits, system

STEPS = 256

Channel = dict[int, tuple[Fraction, ...]]


class NumberProtocol(Randomizer):
    """A way to report a number of a public range so that nobody learns it.

    Numbers beyond an end of the range count as that end.

    Guarantee:
        Neighbours: any two numbers of one person.
        Loss: every report is epsilon-private, whatever is done with it.
        Numerics: every probability is a fraction, and drawn exactly.
        Proof: docs/proofs/local_numbers.md, theorems 1 and 2.
    """

    def __init__(self, low: Number, high: Number, *, epsilon: Number, steps: Integer) -> None:
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

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether an array can be one of reports of this protocol."""
        return is_below(data, self.outputs)

    @property
    def cells(self) -> int:
        """How many counts a server keeps: one for each report."""
        return self.outputs

    def tally(self, data: npt.NDArray[Any], counts: Counts) -> None:
        """Count how often each number was reported."""
        tally_numbers(data, counts)

    def fits(self, counts: Counts, people: int) -> bool:
        """Tell whether there is one report for each person."""
        return bool(sum(counts.tolist()) == people)

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
        for start in range(0, column.size, AT_ONCE):  # what is needed stays in the cache
            bits = system()
            with np.errstate(invalid="ignore"):
                places = self.protocol.scale.rounded(column[start : start + AT_ONCE], bits)
            # The array may be another's too, who writes no number into it meanwhile.
            np.clip(places, 0, self.protocol.scale.steps, out=places)
            out[start : start + AT_ONCE] = self.protocol.draw(places, bits)
        return out
