# SPDX-License-Identifier: Apache-2.0
"""What can be read of noise on a grid before any data: its law, and how large it is on average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from sordino.exact.balls import ball, round_up
from sordino.exact.rational import Number, finite
from sordino.mechanisms.thresholds import Noise

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """Noise on the multiples of a public step, in units of the value.

    A float is exactly the number it is, because multiples of the step come out as floats. Every
    number that is returned is rounded up, from certified balls.

    >>> from sordino.mechanisms.thresholds import LaplaceNoise
    >>> law = NoiseLaw(LaplaceNoise(Fraction(1)), Fraction(1, 2))
    >>> round(law.pmf(0.5), 6), law.pmf(0.3), round(law.cdf(0.3), 6)
    (0.170003, 0.0, 0.731059)

    Guarantee: none needed; public inputs only.
    """

    noise: Noise
    step: Fraction

    def pmf(self, x: Number) -> float:
        """Return the probability that the noise is x; 0 beside the grid.

        Guarantee: none needed; public inputs only.
        """
        place = _exact(x) / self.step
        if place.denominator != 1:
            return 0.0
        return min(round_up(lambda: self.noise.mass(place.numerator)), 1.0)

    def cdf(self, x: Number) -> float:
        """Return the probability that the noise is at most x.

        Guarantee: none needed; public inputs only.
        """
        # The noise is symmetric: being at most x is as likely as being at least -x.
        start = -math.floor(_exact(x) / self.step)
        return min(round_up(lambda: self.noise.tail(start)), 1.0)

    @property
    def variance(self) -> float:
        """The variance, which is the mean of the squared noise."""
        return round_up(lambda: self.noise.second_moment() * ball(self.step**2))

    @property
    def std(self) -> float:
        """The root of the variance."""
        return round_up(lambda: self.noise.second_moment().sqrt() * ball(self.step))

    def expected_error(self, *, rounds: bool) -> float:
        """Return the mean size of the error; values that are rounded first add half a step.

        Guarantee: none needed; public inputs only.
        """
        more = self.step * _HALF if rounds else Fraction(0)
        return round_up(lambda: self.noise.mean_size() * ball(self.step) + ball(more))


def _exact(x: Number) -> Fraction:
    """Read a finite number as exactly what it is."""
    finite("x", x)
    if isinstance(x, float | np.floating | Decimal | Fraction):
        above, below = x.as_integer_ratio()
        return Fraction(int(above), int(below))
    return Fraction(int(x))
