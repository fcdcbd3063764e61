# SPDX-License-Identifier: Apache-2.0
"""Certified fixed-point intervals in plain integers.

A pair ``(low, high)`` at precision ``p`` stands for every real number x with
``low < 2**p * x < high``, or, where ``low == high``, for that one number exactly. Each function
returns a pair that is certain to contain the result, whatever members of the argument pairs were
meant, and keeps the inequalities strict. All numbers here are non-negative.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

Interval: TypeAlias = tuple[int, int]


def exp_neg(x: Fraction, precision: int) -> Interval:
    """Enclose ``exp(-x)`` for a rational ``x >= 0``; the pair is at most 2 units wide.

    The argument is halved until it is below 1/256, summed as an alternating Taylor series, and
    squared back. Every truncation is counted and added to the width.
    """
    if x < 0:
        raise ValueError("exp_neg takes a number that is not negative")
    if x == 0:
        return 1 << precision, 1 << precision
    if x >= precision:  # e**-p < 2**-p: less than one unit
        return 0, 1
    halvings = int(x).bit_length() + 8
    work = precision + halvings + 16
    if work > _LARGEST_WORK:
        raise ValueError(f"a precision of {precision} bits is more than any draw can need")
    scaled = (x.numerator << (work - halvings)) // x.denominator
    low = max(_series(scaled + 1, work) - _SERIES_SLACK, 0)
    high = _series(scaled, work) + _SERIES_SLACK
    for _ in range(halvings):
        low = (low * low) >> work
        high = -((-high * high) >> work)
    shift = work - precision
    return low >> shift, -((-high) >> shift)


# Each term of the series is more than 2**8 times smaller than the one before, so there are at most
# work/8 + 2 of them, and each is off by less than two units: the slack covers all of it, and the
# remainder, for every precision admitted.
_LARGEST_WORK = 1 << 15
_SERIES_SLACK = 1 << 14


def _series(y: int, work: int) -> int:
    total = term = 1 << work
    sign, k = -1, 1
    while term:
        term = ((term * y) >> work) // k
        total += sign * term
        sign, k = -sign, k + 1
    return total


def times(a: Interval, b: Interval, precision: int) -> Interval:
    """Enclose the product of two intervals."""
    return (a[0] * b[0]) >> precision, -((-a[1] * b[1]) >> precision)


def over(a: Interval, b: Interval, precision: int) -> Interval:
    """Enclose the quotient of two intervals; the divisor is positive."""
    return (a[0] << precision) // b[1], -((-a[1] << precision) // b[0])


def one_minus(a: Interval, precision: int) -> Interval:
    """Enclose ``1 - a`` for numbers between 0 and 1."""
    one = 1 << precision
    return max(one - a[1], 0), one - a[0]


def coarsen(a: Interval, bits: int) -> Interval:
    """Drop ``bits`` bits of precision, rounding outwards."""
    return a[0] >> bits, -((-a[1]) >> bits)
