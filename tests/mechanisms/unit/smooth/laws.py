# SPDX-License-Identifier: Apache-2.0
"""The law of what a smooth mechanism with bounds releases, from the probabilities of its noise."""

import math
from fractions import Fraction

from sordino.mechanisms.smooth import Smooth
from sordino.numbers.balls import ball


def law(m: Smooth, value: Fraction | float, smooth_bound: Fraction | float) -> dict[float, float]:
    """The probability of each number on the grid, of which the ends have all that lies beyond."""
    assert m.bounds is not None
    low, high = (math.floor(Fraction(end) / m.step) for end in m.bounds)
    scale = m.scale_factor * max(Fraction(smooth_bound), m.floor)

    def below(steps: Fraction) -> float:
        return float(m.noise.cumulative(ball((steps * m.step - Fraction(value)) / scale)))

    half = Fraction(1, 2)
    inside = [below(place + half) for place in range(low, high)]
    ends = zip([*inside, 1.0], [0.0, *inside], strict=True)
    places = [float(place * m.step) for place in range(low, high + 1)]
    return {place: upper - lower for place, (upper, lower) in zip(places, ends, strict=True)}
