# SPDX-License-Identifier: Apache-2.0
"""Reading the arguments that sensitivities share, and writing their numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sordino.numbers.rational import is_integer, nonnegative, positive
from sordino.sensitivity.neighbours import Neighbours, Units, read_neighbours

_LONGEST_INTEGER = 64  # bits of integers that are written out
_LARGEST_DENOMINATOR = 10_000  # fractions beyond are shown as decimals


class Bounds(NamedTuple):
    """The range that values are clamped to; whole if both ends were given as integers."""

    low: Fraction
    high: Fraction
    whole: bool

    @property
    def width(self) -> Fraction:
        """How far one value can move."""
        return self.high - self.low

    @property
    def largest(self) -> Fraction:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    @property
    def extreme(self) -> Fraction:
        """The end with the largest absolute value."""
        return self.high if self.high >= -self.low else self.low

    def __str__(self) -> str:
        return f"from {shown(self.low)} to {shown(self.high)}"


def read_number(name: str, value: object) -> Fraction:
    """Read a finite number of either sign.

    >>> read_number("a number", -0.1)
    Fraction(-1, 10)
    """
    if isinstance(value, bool) or not isinstance(
        value, int | float | Fraction | Decimal | np.integer | np.floating
    ):
        raise TypeError(f"{name} must be a number, got a value of type {type(value).__name__}")
    if isinstance(value, float | Decimal | np.floating) and not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number, got {value!s}")
    number = int(value) if is_integer(value) else value
    return -positive(name, -number) if number < 0 else nonnegative(name, number)


def read_bounds(value: object, *, name: str = "bounds") -> Bounds:
    """Read a pair (low, high) that values are clamped to.

    A float is the decimal that it prints as, unless the double it stands for lies a little outside
    of it: values clamped to that double are inside the bounds too.

    >>> read_bounds((0, 100))
    Bounds(low=Fraction(0, 1), high=Fraction(100, 1), whole=True)
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (low, high), such as (0, 100)")
    low, high = (read_number(f"{name}[{place}]", end) for place, end in enumerate(value))
    if low > high:
        raise ValueError(f"{name} must be (low, high), got a low end above the high end")
    return Bounds(
        low=min(low, binary(value[0], low)),
        high=max(high, binary(value[1], high)),
        whole=all(map(is_integer, value)),
    )


def read_records(value: object, query: str, *, instead: str) -> Neighbours:
    """Read a relation between records; for Units say what to do instead."""
    if isinstance(value, Units):
        raise ValueError(f"{query} has no formula for Units; {instead}")
    return read_neighbours(value)


def shown(x: Fraction) -> str:
    """Write a number for people: whole, a short decimal, or a small fraction.

    >>> shown(Fraction(3)), shown(Fraction(1, 8)), shown(Fraction(2, 3)), shown(Fraction(0.1))
    ('3', '0.125', '2/3', '0.1')
    """
    if x.denominator == 1 and x.numerator.bit_length() <= _LONGEST_INTEGER:
        return str(x.numerator)
    try:
        printed = repr(float(x))
    except OverflowError:
        return f"{Decimal(x.numerator) / Decimal(x.denominator):.6e}"
    if Fraction(printed) != x and x.denominator <= _LARGEST_DENOMINATOR:
        return f"{x.numerator}/{x.denominator}"
    return printed


def binary(value: object, read: Fraction) -> Fraction:
    """Return the number that a float is in binary, or what was read for other numbers."""
    if not isinstance(value, float | np.floating):
        return read
    above, below = value.as_integer_ratio()
    return Fraction(int(above), int(below))
