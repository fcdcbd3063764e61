# SPDX-License-Identifier: Apache-2.0
"""Rounding to doubles in a known direction."""

from __future__ import annotations

import math
import sys
from fractions import Fraction


def up(x: Fraction) -> float:
    """Return the least double that is at least ``x``, or infinity."""
    near = _nearest(x)
    return near if near >= x else math.nextafter(near, math.inf)


def down(x: Fraction) -> float:
    """Return the greatest double that is at most ``x``, or minus infinity."""
    return -up(-x)


def up_as_printed(x: Fraction) -> float:
    """Return the least double that is at least ``x`` when read as the decimal it prints as.

    This is how losses leave the library, because this is how numbers enter it: three tenths
    become 0.3, although the double 0.3 is a little less than three tenths.

    >>> up(Fraction(3, 10)), up_as_printed(Fraction(3, 10))
    (0.30000000000000004, 0.3)
    """
    near = math.nextafter(_nearest(x), -math.inf)
    while reading(near) < x:  # at most twice: a double and its decimal are half a step apart
        near = math.nextafter(near, math.inf)
    return near + 0.0  # a zero without a sign


def reading(x: float) -> Fraction | float:
    """Return the decimal that a double prints as; an infinity stays what it is."""
    return Fraction(repr(float(x))) if math.isfinite(x) else x


def _nearest(x: Fraction) -> float:
    """Return a double next to ``x``, on either side; the largest ones stand for all beyond."""
    try:
        return float(x)
    except OverflowError:
        return sys.float_info.max if x > 0 else -sys.float_info.max
