# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of intervals: of public ranges, and of where exact values lie behind noisy ones."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import product
from typing import TypeAlias

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
    unit = Fraction(10) ** -digits
    return Range(_nearest(range_.low / unit) * unit, _nearest(range_.high / unit) * unit)


def hull(*ranges: Range) -> Range:
    """Return the least interval that holds all the given ones."""
    return Range(min(r.low for r in ranges), max(r.high for r in ranges))


def rounded_to(range_: Range, digits: Range) -> Range:
    """Return where numbers lie after rounding to a number of digits that is exact."""
    return rounded(range_, int(digits.low))


def cast_whole(range_: Range) -> Range:
    """Return where numbers lie after a cast to whole ones: ties to even, as doubles are cast."""
    return Range(Fraction(round(range_.low)), Fraction(round(range_.high)))


def greatest(*ranges: Range) -> Range:
    """Return where the largest of several numbers lies."""
    return Range(max(r.low for r in ranges), max(r.high for r in ranges))


def least(*ranges: Range) -> Range:
    """Return where the least of several numbers lies."""
    return Range(min(r.low for r in ranges), min(r.high for r in ranges))


def clamped(range_: Range, low: Range, high: Range) -> Range:
    """Return where numbers lie that are kept between two others."""
    return least(greatest(range_, low), high)


def null_if(left: Range, right: Range) -> Range | None:
    """Return where numbers lie, unless they may equal what makes them missing."""
    return left if left.high < right.low or right.high < left.low else None


def _nearest(number: Fraction) -> int:
    size = math.floor(abs(number) + Fraction(1, 2))
    return size if number >= 0 else -size


# What is certain of noisy values. ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A value made from noisy numbers, and where the exact one lies if theirs lie as stated.

    ``ends`` is there for numbers. ``truth`` is there for conditions: what they can be. Where both
    are None, nothing is said, and the exact value may even be missing. What is ``sure`` comes from
    public keys and literals alone and is exact.
    """

    value: Value
    ends: Range | None = None
    truth: frozenset[bool] | None = None
    sure: bool = False

    @property
    def interval(self) -> Range | None:
        """The interval of a number, whether it is sure or noisy."""
        if not self.sure:
            return self.ends
        if isinstance(self.value, int | float) and math.isfinite(self.value):
            return Range(Fraction(self.value), Fraction(self.value))
        return None

    @property
    def possible(self) -> frozenset[bool] | None:
        """What a condition can be, whether it is sure or noisy."""
        if self.sure:
            return frozenset({self.value}) if isinstance(self.value, bool) else None
        return self.truth


Behind: TypeAlias = "Callable[[Value, Sequence[Uncertain]], Uncertain]"


def exactly(value: Value) -> Uncertain:
    """Return what is public."""
    return Uncertain(value, sure=True)


def numbers(rule: Callable[..., Range | None]) -> Behind:
    """Return what a rule on intervals says of numbers."""

    def behind(value: Value, given: Sequence[Uncertain]) -> Uncertain:
        known = _intervals(given)
        return Uncertain(value, None if known is None or value is None else rule(*known))

    return behind


def _intervals(given: Sequence[Uncertain]) -> list[Range] | None:
    known = [interval for x in given if (interval := x.interval) is not None]
    return known if len(known) == len(given) else None


def compared(certain: Callable[[Range, Range], bool | None]) -> Behind:
    """Return what a comparison can be; ``certain`` gives None where it can be both."""
    return _among(lambda known: certain(known[0], known[1]))


def _among(certain: Callable[[list[Range]], bool | None]) -> Behind:
    def behind(value: Value, given: Sequence[Uncertain]) -> Uncertain:
        known = _intervals(given)
        if known is None:
            return Uncertain(value)
        truth = certain(known)
        return Uncertain(value, truth=frozenset({True, False} if truth is None else {truth}))

    return behind


def below(a: Range, b: Range) -> bool | None:
    """Tell whether one number is less than another."""
    return True if a.high < b.low else False if a.low >= b.high else None


def at_most(a: Range, b: Range) -> bool | None:
    """Tell whether one number is at most another."""
    return True if a.high <= b.low else False if a.low > b.high else None


def equal(a: Range, b: Range) -> bool | None:
    """Tell whether two numbers are equal."""
    if a.high < b.low or b.high < a.low:
        return False
    return True if a.low == a.high == b.low == b.high else None


def unequal(a: Range, b: Range) -> bool | None:
    """Tell whether two numbers differ."""
    same = equal(a, b)
    return None if same is None else not same


def _listed(known: list[Range]) -> bool | None:
    same = [equal(known[0], other) for other in known[1:]]
    if any(same):
        return True
    return False if all(x is False for x in same) else None


is_among = _among(_listed)


def logic(rule: Callable[..., bool]) -> Behind:
    """Return what conditions can be together."""

    def behind(value: Value, given: Sequence[Uncertain]) -> Uncertain:
        sets = [x.possible for x in given]
        known = [x for x in sets if x is not None]
        if len(known) < len(sets):
            return Uncertain(value)
        return Uncertain(value, truth=frozenset(rule(*truths) for truths in product(*known)))

    return behind


def is_null(value: Value, given: Sequence[Uncertain]) -> Uncertain:
    """A number or a condition of which something is known is there."""
    known = given[0].ends is not None or given[0].truth is not None
    return Uncertain(value, truth=frozenset({False}) if known else None)


def case(value: Value, given: Sequence[Uncertain]) -> Uncertain:
    """Join the intervals of all branches that the exact numbers could take."""
    open_branches: list[Uncertain] = []
    for condition, branch in zip(given[:-1:2], given[1::2], strict=True):
        missing = condition.sure and condition.value is None
        possible = frozenset({False}) if missing else condition.possible
        if possible is None:
            return Uncertain(value)
        if True in possible:
            open_branches.append(branch)
        if False not in possible:
            break
    else:
        open_branches.append(given[-1])
    return _joined(value, open_branches)


def coalesce(value: Value, given: Sequence[Uncertain]) -> Uncertain:
    """Take the first that is certain to be there."""
    for x in given:
        if x.sure and x.value is None:
            continue
        return _joined(value, [x])
    return exactly(None)


def _joined(value: Value, branches: list[Uncertain]) -> Uncertain:
    if len(branches) == 1 and branches[0].sure:
        return exactly(branches[0].value)
    known = _intervals(branches)
    if known is not None:
        return Uncertain(value, hull(*known))
    sets = [x.possible for x in branches]
    if all(x is not None for x in sets):
        return Uncertain(value, truth=frozenset().union(*(x for x in sets if x is not None)))
    return Uncertain(value)
