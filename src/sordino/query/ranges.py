# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of public intervals: where the result of an operation is expected to lie."""

from __future__ import annotations

import math
import sys
from datetime import date
from fractions import Fraction

from sordino.query.types import Range, Value

_BITS = 1_100  # of a numerator or denominator; beyond that an interval says nothing
_LARGEST = Fraction(sys.float_info.max)


def of_literal(value: Value) -> Range | None:
    """Return the interval of one number, or of the year of a day; None for anything else.

    >>> of_literal(0.5)
    Range(low=Fraction(1, 2), high=Fraction(1, 2))
    >>> of_literal(math.inf) is None
    True
    """
    match value:
        case bool() | str() | None:
            return None
        case date(year=year):
            return Range(Fraction(year), Fraction(year))
        case int() | float():
            return Range(Fraction(value), Fraction(value)) if math.isfinite(value) else None


def kept(range_: Range | None) -> Range | None:
    """Return an interval, or None if its ends are too long to be of use."""
    if range_ is None:
        return None
    parts = (part for end in (range_.low, range_.high) for part in end.as_integer_ratio())
    return range_ if all(part.bit_length() <= _BITS for part in parts) else None


def is_finite(range_: Range) -> bool:
    """Tell whether the ends of an interval and its width are finite in double precision.

    >>> (
    ...     is_finite(Range(Fraction(0), Fraction(1e308))),
    ...     is_finite(Range(-Fraction(1e308), Fraction(1e308))),
    ... )
    (True, False)
    """
    return all(abs(n) <= _LARGEST for n in (range_.low, range_.high, range_.high - range_.low))


def add(left: Range, right: Range) -> Range:
    """Return where sums lie."""
    return Range(left.low + right.low, left.high + right.high)


def sub(left: Range, right: Range) -> Range:
    """Return where differences lie."""
    return Range(left.low - right.high, left.high - right.low)


def mul(left: Range, right: Range) -> Range:
    """Return where products lie."""
    ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return Range(min(ends), max(ends))


def div(left: Range, right: Range) -> Range | None:
    """Return where quotients lie, unless the divisor may be 0."""
    if right.low <= 0 <= right.high:
        return None
    return mul(left, Range(1 / right.high, 1 / right.low))


def neg(range_: Range) -> Range:
    """Return where negated numbers lie."""
    return Range(-range_.high, -range_.low)


def absolute(range_: Range) -> Range:
    """Return where absolute values lie.

    >>> absolute(Range(Fraction(-3), Fraction(2)))
    Range(low=Fraction(0, 1), high=Fraction(3, 1))
    """
    sizes = (abs(range_.low), abs(range_.high))
    low = Fraction(0) if range_.low <= 0 <= range_.high else min(sizes)
    return Range(low, max(sizes))


def floor(range_: Range) -> Range:
    """Return where numbers lie after rounding down."""
    return Range(Fraction(math.floor(range_.low)), Fraction(math.floor(range_.high)))


def ceil(range_: Range) -> Range:
    """Return where numbers lie after rounding up."""
    return Range(Fraction(math.ceil(range_.low)), Fraction(math.ceil(range_.high)))


def rounded(range_: Range, digits: int) -> Range:
    """Return where numbers lie after rounding to some digits, half away from zero."""
    unit = Fraction(1, 10**digits)
    return Range(_nearest(range_.low / unit) * unit, _nearest(range_.high / unit) * unit)


def hull(*ranges: Range) -> Range:
    """Return the least interval that holds all the given ones."""
    return Range(min(r.low for r in ranges), max(r.high for r in ranges))


def _nearest(number: Fraction) -> int:
    size = math.floor(abs(number) + Fraction(1, 2))
    return size if number >= 0 else -size
