# SPDX-License-Identifier: Apache-2.0
"""A public range of numbers, its grid, and rounding to the grid at random that keeps the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.rational import Number, brief, finite, is_integer, positive_whole
from sordino.randomness.coins import below_many
from sordino.randomness.entropy import Bits

Places: TypeAlias = npt.NDArray[np.int64]

MOST_STEPS = 1 << 14
_COIN_BITS = 32
_NARROW = Fraction(1, 1 << 30)
_OVERFLOW = 1 << 62  # Whole numbers stay below it.
_ONE = (int, float, Fraction, Decimal, str, bytes, np.generic, type(None))
_SHAPE = "values must be a single number or a column of numbers"


@dataclass(frozen=True)
class Scale:
    """The range from ``low`` to ``high``, cut into ``steps`` steps by the places 0 to ``steps``."""

    low: Fraction
    high: Fraction
    steps: int

    @property
    def span(self) -> Fraction:
        """How far the ends are apart."""
        return self.high - self.low

    def value(self, place: Fraction | int) -> Fraction:
        """Return the number at a place, which may lie between two points of the grid."""
        return self.low + self.span * place / self.steps

    def place(self, value: Number) -> Fraction:
        """Return the place of a public number, which must lie in the range."""
        number = finite("value", value)
        if not self.low <= number <= self.high:
            raise ValueError(
                f"value must lie from {brief(self.low)} to {brief(self.high)}, got {brief(number)}"
            )
        return (number - self.low) * self.steps / self.span

    def rounded(self, values: npt.NDArray[Any], bits: Bits) -> Places:
        """Return a place for each number: one of its two neighbours, by a coin that keeps the mean.

        Whole numbers are rounded exactly. For others the place is a double, and the coin has 32
        bits: its chance is off by at most 2**-33, and doubles are off by a few of their last
        digits. Numbers beyond an end are moved to it.
        """
        if values.dtype.kind in "iu" and self._whole is not None:
            return self._rounded_exactly(values, self._whole, bits)
        with np.errstate(all="ignore"):  # a warning would tell of a value that is far outside
            places = values.astype(np.float64)
            np.clip(places, float(self.low - self.span), float(self.high + self.span), out=places)
            places -= float(self.low)
            places *= float(self.steps / self.span)
            np.clip(places, 0, self.steps, out=places)
        below = np.floor(places)
        places -= below
        places *= 1 << _COIN_BITS
        chances = np.rint(places).astype(np.int64)
        words = np.empty(values.size, dtype=np.uint32)
        bits.fill(words)
        return below.astype(np.int64) + (words < chances)

    @cached_property
    def _whole(self) -> tuple[int, int, int] | None:
        """Whole numbers with place = (a value - b) / c, if none of these is too large."""
        numerator, denominator = self.low.as_integer_ratio()
        width = self.steps / self.span
        a, b = denominator * width.numerator, numerator * width.numerator
        c = denominator * width.denominator
        common = math.gcd(a, b, c)
        a, b, c = a // common, b // common, c // common
        farthest = max(abs(math.floor(self.low)), abs(math.ceil(self.high)))
        return (a, b, c) if max(farthest * a + abs(b), self.steps * c) < _OVERFLOW else None

    def _rounded_exactly(
        self, values: npt.NDArray[Any], whole: tuple[int, int, int], bits: Bits
    ) -> Places:
        a, b, c = whole
        first, last = math.floor(self.low), math.ceil(self.high)
        if values.dtype.kind == "u" and values.dtype.itemsize == 8:
            values = np.minimum(values, np.uint64(max(last, 0)))
        places = np.clip(values.astype(np.int64), first, last)
        places *= a
        places -= b
        np.clip(places, 0, self.steps * c, out=places)
        if c == 1:
            return places
        below, over = np.divmod(places, c)
        below += below_many(c, below.size, bits) < over  # drawn for those on the grid as well
        return below


def read_scale(low: object, high: object, steps: object) -> Scale:
    """Read a range and how many steps it has.

    >>> read_scale(0, 0.1, 4).value(1)
    Fraction(1, 40)
    """
    first, last = finite("low", low), finite("high", high)
    if first >= last:
        raise ValueError(f"low must be below high, got {brief(first)} and {brief(last)}")
    count = positive_whole("steps", steps)
    if count > MOST_STEPS:
        raise ValueError(f"steps must be at most {MOST_STEPS}, got {brief(Fraction(count))}")
    scale = Scale(first, last, count)
    if scale.span / count < _NARROW * max(abs(first), abs(last)):
        raise ValueError(
            "this range is so narrow, and so far from 0, that doubles hardly tell its steps apart; "
            "subtract a public number from the values and from both ends"
        )
    return scale


def read_values(values: object, scale: Scale) -> npt.NDArray[Any]:
    """Read a number or a column of numbers; what is missing or no number is refused, unseen."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        _refuse(np.ma.getmaskarray(values).ravel())
    try:
        array = np.asarray([values] if isinstance(values, _ONE) else values)
    except (ValueError, TypeError):
        raise TypeError(_SHAPE) from None
    if array.ndim == 0 and array.dtype.kind in "fiu":
        array = array.reshape(1)
    if array.ndim != 1:
        raise TypeError(_SHAPE)
    if array.dtype.kind == "O":
        array = _from_objects(array, scale)
    if array.dtype.kind not in "fiu":
        raise TypeError("values must be numbers, and values of another kind were given")
    if array.dtype.kind == "f" and (missing := np.isnan(array)).any():
        _refuse(missing)
    return array


def _from_objects(array: npt.NDArray[Any], scale: Scale) -> npt.NDArray[np.float64]:
    """Read numbers that numpy has no type for, such as fractions."""
    found = [_as_double(value, scale) for value in array.tolist()]
    return np.array(found, dtype=np.float64)


def _as_double(value: object, scale: Scale) -> float:
    """Return a number as a double, moved into the range if it is an exact one; else NaN."""
    if is_integer(value):
        value = Fraction(int(value))
    if isinstance(value, Fraction):
        return float(min(max(value, scale.low), scale.high))
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, Decimal) and not value.is_nan():
        return float(value)
    return math.nan


def _refuse(missing: npt.NDArray[np.bool_]) -> NoReturn:
    """Complain about values that are no numbers, without showing one."""
    raise ValueError(
        f"{int(missing.sum())} of {missing.size} values are missing or not numbers, the first at "
        f"place {int(np.argmax(missing))}; leave them out, or give a number in their place"
    )
