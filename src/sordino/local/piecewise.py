# SPDX-License-Identifier: Apache-2.0
"""Numbers of a range, each reported by a number near it more often than by one far away."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy.typing as npt

from sordino.local.mean import window_limits
from sordino.local.numbers import STEPS, Channel, NumberProtocol
from sordino.local.response import number_of
from sordino.local.scale import Places
from sordino.local.window import Window, best_window
from sordino.numbers.rational import Integer, Number
from sordino.randomness.coins import Finite
from sordino.randomness.entropy import Bits
from sordino.randomness.tables import Scratch, Table


class Piecewise(NumberProtocol):
    """The piecewise protocol of Wang and others, on a grid: a window around the number is likelier.

    Each report in the window has ``odds`` times the chance of one outside. The width of the window
    is the one with the least variance at the ends of the range, where it is largest.

    >>> protocol = Piecewise(0, 100, epsilon=4)
    >>> protocol, protocol.report_bits, round(protocol.standard_error(10_000), 4)
    (<piecewise: 0 to 100, epsilon 4>, 9, 0.2011)

    Guarantee:
        Neighbours: any two numbers of one person.
        Loss: every report is epsilon-private, whatever is done with it.
        Numerics: every probability is a fraction, and drawn exactly.
        Proof: docs/proofs/local_numbers.md, theorem 2.
    """

    def __init__(
        self, low: Number, high: Number, *, epsilon: Number, steps: Integer = STEPS
    ) -> None:
        super().__init__(low, high, epsilon=epsilon, steps=steps)
        self.window: Window = best_window(self.scale.steps, self.odds)

    @property
    def words(self) -> str:
        """The name of the protocol in words."""
        return "piecewise"

    @property
    def outputs(self) -> int:
        """How many different reports there are."""
        return self.window.outputs

    @property
    def gain(self) -> Fraction:
        """The mean of 2 report - (outputs - 1) at the high end of the range."""
        return self.window.gain

    @cached_property
    def _turns(self) -> Table:
        """Draws of how far a report lies beyond its place, counted round the circle of reports."""
        weights = (self.odds.numerator,) * self.window.width
        weights += (self.odds.denominator,) * self.scale.steps
        return Table(Finite(weights))

    def draw(self, places: Places, bits: Bits) -> npt.NDArray[Any]:
        """Return one report for each place.

        On a circle of all reports the window is the same for every place, only turned.
        """
        drawn, _ = self._turns.draw(Scratch(places.size), bits)
        reports: Places = places + drawn
        reports[reports >= self.outputs] -= self.outputs
        return reports.astype(number_of(self.outputs))

    def channel(self) -> Channel:
        """Return, for every report, its chance given each place of the grid."""
        window = self.window
        far, near = 1 / window.whole, self.odds / window.whole
        places = range(self.scale.steps + 1)
        return {
            report: tuple(near if 0 <= report - j < window.width else far for j in places)
            for report in range(self.outputs)
        }

    def unit_variance(self, place: Fraction | None) -> Fraction:
        """Return the variance of one person's estimate where the range is from -1 to 1."""
        return self.window.variance(self.window.worst_place() if place is None else place)

    def unit_limits(
        self, people: int, total: int, squares: int, confidence: Fraction
    ) -> tuple[float, float]:
        """Return limits of the mean where the range is from -1 to 1."""
        return window_limits(self.window, people, total, squares, confidence)
