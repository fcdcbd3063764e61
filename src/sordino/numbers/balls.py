# SPDX-License-Identifier: Apache-2.0
"""Certified real arithmetic: balls, and fixed-point intervals in plain integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from threading import RLock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from sordino.numbers.rational import ratio_as_printed

if TYPE_CHECKING:
    from flint import arb

Ball: TypeAlias = "arb"
T = TypeVar("T")

SMALLEST = math.ulp(0.0)  # the least positive double
_PRECISIONS = (96, 192, 384, 768, 1536, 3072, 6144)
_SOME_BITS = 16  # fewer correct bits than this are a sign of cancellation, which bits do cure
_BEYOND_DOUBLES = 1100  # no double has a binary exponent beyond this, in either direction
_CLOSE = 4  # units between the ends of an enclosure that is as close as it need be
_precision = RLock()  # the number of bits is a global setting of flint
Interval: TypeAlias = tuple[int, int]
# Each term of the series is more than 2**8 times smaller than the one before, so there are at most
# work/8 + 2 of them, and each is off by less than two units: the slack covers all of it, and the
# remainder, for every precision admitted.
_LARGEST_WORK = 1 << 15
_SERIES_SLACK = 1 << 14


def ball(x: Fraction | int) -> Ball:
    """Return the ball around a rational number, as tight as the precision allows."""
    from flint import arb, fmpq  # loading flint takes a tenth of a second

    return arb(fmpq(x.numerator, x.denominator))


def pi() -> Ball:
    """Return the ball around pi."""
    from flint import arb  # loading flint takes a tenth of a second

    return arb.pi()


def bits() -> int:
    """Return the number of bits that formulas are evaluated with at the moment."""
    from flint import ctx  # loading flint takes a tenth of a second

    return ctx.prec


def round_up(formula: Callable[[], Ball]) -> float:
    """Return the least double that reads as at least the value of a formula."""

    def ends(value: Ball) -> tuple[float, float]:
        return _as_double(value.lower()), _as_double(value.upper())

    return _settle(formula, ends, lambda low, high: low == high or high <= SMALLEST)


def ceiling(formula: Callable[[], Ball]) -> int:
    """Return the least integer that is at least the value of a formula."""

    def ends(value: Ball) -> tuple[int, int]:
        return _as_ceiling(value.lower()), _as_ceiling(value.upper())

    return _settle(formula, ends, lambda low, high: low == high)


def is_positive(formula: Callable[[], Ball]) -> bool:
    """Tell whether the value of a formula is certainly above zero."""

    def ends(value: Ball) -> tuple[bool, bool]:
        return value <= 0, value > 0

    return _settle(formula, ends, lambda low, high: low or high)


def enclose(formula: Callable[[], Ball], width: int) -> tuple[int, int]:
    """Return integers around 2**width times the value of a formula, which is a probability."""
    from flint import ctx  # loading flint takes a tenth of a second

    low, high = 0, 1 << width
    for precision in (width + extra for extra in _PRECISIONS):
        with _precision, ctx.workprec(precision):
            value = formula() * (1 << width)
            if value > 1 << width:
                raise ArithmeticError("a formula for a probability has a value above 1")
            if not value.is_finite() or not value < 1 << (width + 1):
                continue
            low = max(low, -_as_ceiling((-value).upper()))
            high = min(high, _as_ceiling(value.upper()))
        if high - low <= _CLOSE:
            break
    return low, high


def _settle(
    formula: Callable[[], Ball],
    ends: Callable[[Ball], tuple[T, T]],
    decided: Callable[[T, T], bool],
) -> T:
    """Evaluate a formula with more and more bits until both ends of the ball agree.

    A formula may have a small error of its own that more bits do not reduce: then this stops too.
    """
    from flint import ctx  # loading flint takes a tenth of a second

    found, radius = None, None
    for precision in _PRECISIONS:
        with _precision, ctx.workprec(precision):
            value = formula()
            if not value.is_finite():
                continue
            found = ends(value)
            known = value.rel_accuracy_bits() >= _SOME_BITS
            stuck = known and radius is not None and 2 * value.rad() > radius
            radius = value.rad()
        if stuck or decided(*found):
            break
    if found is None:
        raise ArithmeticError("a formula has no finite value")
    return found[1]


def _as_double(end: Ball) -> float:
    """Return the least double that reads as at least the end of a ball, whatever its exponent."""
    significand, exponent = map(int, end.man_exp())
    top = significand.bit_length() + exponent
    if significand == 0 or (top < -_BEYOND_DOUBLES and significand < 0):
        return 0.0
    if top < -_BEYOND_DOUBLES:
        return SMALLEST
    if top > _BEYOND_DOUBLES:
        return math.inf if significand > 0 else -math.inf
    if exponent >= 0:
        return ratio_as_printed(significand << exponent, 1)
    return ratio_as_printed(significand, 1 << -exponent)


def _as_ceiling(end: Ball) -> int:
    significand, exponent = map(int, end.man_exp())
    return significand << exponent if exponent >= 0 else -(-significand >> -exponent)


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
