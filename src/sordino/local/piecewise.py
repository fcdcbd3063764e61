# SPDX-License-Identifier: Apache-2.0
"""Numbers of a range, each reported by a number near it more often than by one far away.

From the place j, 0 <= j <= steps, a report is one of the numbers 0 to outputs - 1, where outputs =
steps + width. Each of the numbers j to j + width - 1 has the chance odds / whole and each other
one the chance 1 / whole. In y = 2 report - (outputs - 1) and t = 2 j / steps - 1 all is symmetric,
and the mean of y is gain t.

The reports also bound their own variance. Many reports are judged by the normal law and by the
inequality of Berry and Esseen, which says how far a sum can be from normal, and few by that of
Bernstein. Which of the two is used depends on public numbers alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.numbers import Channel, NumberProtocol
from sordino.local.randomizer import number_of
from sordino.local.scale import Places
from sordino.randomness.coins import Finite
from sordino.randomness.entropy import Bits
from sordino.randomness.tables import Scratch, Table

# The constant of Berry and Esseen for sums of independent numbers whose laws differ (Shevtsova
# 2010).
_ESSEEN = 0.56
_SPREAD_SHARE = 0.05  # Of the chance to be wrong, this is spent on the bound of the variance.
_MARGIN = 1e-9  # More than doubles can be off.


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

    words = "piecewise"

    @cached_property
    def window(self) -> Window:
        """The window that has the least variance at the ends."""
        return best_window(self.scale.steps, self.odds)

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
