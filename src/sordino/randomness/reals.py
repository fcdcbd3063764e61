# SPDX-License-Identifier: Apache-2.0
"""Exact draws from laws on the real line, rounded to whole numbers.

A real number cannot be written down, but its rounding can. The number Z belongs to a uniform U by
U = F(Z), where F is the cumulative probability of Z: so Z lies below an edge exactly when U lies
below F(edge), and U is looked at only as far as it takes to tell. What is returned is a function of
U alone, the rounding of one ideal real number, and no digit of an approximation is in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from sordino.numbers.balls import Ball, ball, enclose
from sordino.randomness.entropy import Bits
from sordino.randomness.tables import WORD_BITS, LazyUniform

Cumulative: TypeAlias = Callable[[Ball], Ball]
_HALF = Fraction(1, 2)


def rounded(
    cumulative: Cumulative,
    *,
    centre: Fraction,
    scale: Fraction,
    bits: Bits,
    word_bits: int = WORD_BITS,
) -> int:
    """Draw Z from a law and return the whole number nearest to centre + scale * Z.

    ``cumulative`` is continuous and strictly increasing, as a function of balls, and ``scale`` is
    positive. A tie has probability zero. ``word_bits`` is smaller in tests, which enumerate words.
    """
    if scale <= 0:
        raise ValueError("a law can be drawn from at a positive scale only")
    number = LazyUniform(bits.integer(word_bits), word_bits, bits, word_bits)

    def below_edge_of(place: int) -> bool:
        """Tell whether the real number lies below place + 1/2."""
        edge = (place + _HALF - centre) / scale
        return number.below(lambda width: enclose(lambda: cumulative(ball(edge)), width))

    return _least(below_edge_of, near=math.floor(centre + _HALF), step=max(math.floor(scale), 1))


def _least(holds: Callable[[int], bool], *, near: int, step: int) -> int:
    """Return the least integer from which on something holds; the search begins at ``near``."""
    if holds(near):
        high, low = near, near - step
        while holds(low):
            step *= 2
            high, low = low, low - step
    else:
        low, high = near, near + step
        while not holds(high):
            step *= 2
            low, high = high, high + step
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
