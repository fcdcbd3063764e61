# SPDX-License-Identifier: Apache-2.0
"""A channel from places to whole numbers: those in a window around the place are likelier.

From the place j, 0 <= j <= steps, a report is one of the numbers 0 to outputs - 1, where outputs =
steps + width. Each of the numbers j to j + width - 1 has the chance odds / whole and each other
one the chance 1 / whole. In y = 2 report - (outputs - 1) and t = 2 j / steps - 1 all is symmetric,
and the mean of y is gain t.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Window:
    """The channel, and the moments of the estimate y / gain of t that one report gives."""

    steps: int
    width: int
    odds: Fraction

    @property
    def outputs(self) -> int:
        """How many different reports there are."""
        return self.steps + self.width

    @cached_property
    def whole(self) -> Fraction:
        """The sum of all weights."""
        return self.outputs + (self.odds - 1) * self.width

    @cached_property
    def gain(self) -> Fraction:
        """The mean of y at t = 1."""
        return self.steps * self.inside

    @cached_property
    def inside(self) -> Fraction:
        """The weight that the window has beyond that of as many numbers elsewhere, as a share."""
        return (self.odds - 1) * self.width / self.whole

    @cached_property
    def floor(self) -> Fraction:
        """The variance of an estimate at t = 0: the least there is."""
        even = (1 - self.inside) * _second(self.outputs) + self.inside * _second(self.width)
        return even / self.gain**2

    @cached_property
    def rise(self) -> Fraction:
        """By how much the variance is larger at t = 1; at t it is floor + rise t^2."""
        return 1 / self.inside - 1

    @cached_property
    def summit(self) -> Fraction:
        """The largest absolute value of an estimate."""
        return (self.outputs - 1) / self.gain

    @cached_property
    def fourth(self) -> Fraction:
        """A bound of the fourth power of an estimate, on average, whatever the place."""
        return self._fourth(Fraction(0), 1 / self.inside**4)

    @cached_property
    def central_fourth(self) -> Fraction:
        """A bound of the fourth power of its distance to the mean, for any law of the place."""
        a = 1 / self.inside
        return self._fourth(Fraction(1), a**4 + max(Fraction(0), 6 * a**2 - 4 * a**3))

    def _fourth(self, centre: Fraction, peak: Fraction) -> Fraction:
        """Return the average of (y / gain - m)^4, all the terms in m at their largest."""
        a, square, power = 1 / self.inside, self.gain**2, self.gain**4
        outside = _fourth(self.outputs) / power + 6 * _second(self.outputs) / square * centre
        window = _fourth(self.width) / power + 6 * _second(self.width) / square * a**2
        return (1 - self.inside) * (outside + centre) + self.inside * (window + peak)

    def variance(self, place: Fraction) -> Fraction:
        """Return the variance of an estimate from a place, which is rounded first if need be."""
        t, over = 2 * place / self.steps - 1, place % 1
        rounding = over * (1 - over) * Fraction(2, self.steps) ** 2
        return self.floor + self.rise * t * t + (self.rise + 1) * rounding

    def worst_place(self) -> Fraction:
        """Return the place in the last step from which the variance of an estimate is largest."""
        t = (self.rise + 1) * (1 - Fraction(1, self.steps))  # a parabola in t, open downwards
        place = (t + 1) * self.steps / 2
        return min(max(place, Fraction(self.steps - 1)), Fraction(self.steps))


def _second(count: int) -> Fraction:
    """Return the mean square of the whole numbers -(count - 1), -(count - 3), ..., count - 1."""
    return Fraction(count * count - 1, 3)


def _fourth(count: int) -> Fraction:
    """Return the mean fourth power of the same numbers."""
    return Fraction((count * count - 1) * (3 * count * count - 7), 15)


def best_window(steps: int, odds: Fraction) -> Window:
    """Return the window whose estimate has the least variance at the ends, where it is largest.

    Doubles name the widths that may be the best; fractions choose among them, and of two equal
    ones the narrower, so that the choice is the same everywhere.

    >>> best_window(256, Fraction(3)).width
    194
    """
    extra = float(odds - 1)
    width = np.arange(1.0, steps + 1)
    outputs = width + steps
    whole = outputs + extra * width
    spread = outputs * (outputs**2 - 1) + extra * width * (width**2 - 1)
    guessed = whole * spread / (3 * (extra * width * steps) ** 2) + outputs / (extra * width)
    close = np.flatnonzero(guessed <= guessed.min() * (1 + 1e-9)) + 1
    windows = [Window(steps, w, odds) for w in close.tolist()]
    return min(windows, key=lambda window: (window.floor + window.rise, window.width))
