# SPDX-License-Identifier: Apache-2.0
"""The order statistics of private data, with smooth bounds of how far one record moves them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import is_integer, positive
from sordino.exact.rounding import up
from sordino.sensitivity.bounds import read_bounds
from sordino.sensitivity.windows import MOST_HALVINGS, largest_window, reach

Floats = npt.NDArray[np.float64]
Rank: TypeAlias = Callable[[int], int]  # from the number of records to a place among them, from 1

LEAST_BETA = Fraction(1, 10**9)
_MOST_BETA = Fraction(64)  # a bound that is smooth for a smaller beta is smooth for a larger one
_SLACK = Fraction(1, 10**11)  # of beta, and of the bound, for errors below 1e-12
_DEFAULT_HALVINGS = 30
_SORT_ALL = 4  # where a quarter of the data and more is needed in order, all of it is sorted
_SMALL = 1 << 17
_SAMPLE = 1 << 14
_MARGIN = 1 << 9  # eight standard deviations of the place of the median in a sample


class Evaluated(NamedTuple):
    """A statistic of private data and a smooth bound on how far one record moves it; both private.

    Guarantee: none; to be released by a mechanism only.
    """

    value: Fraction
    bound: float


class Setting(NamedTuple):
    """The public numbers of a smooth bound, as doubles: the range of values, beta and the floor.

    Guarantee: none needed; public inputs only.
    """

    low: float
    high: float
    beta: float
    floor: float

    @property
    def span(self) -> float:
        """How far one value can move."""
        return self.high - self.low


def read_setting(bounds: object, beta: object, floor: object) -> Setting:
    """Read the public numbers of a smooth bound; a floor that is None is 2**-30 of the range.

    Guarantee: none needed; public inputs only.
    """
    ends = read_bounds(bounds)
    low, high = float(ends.low), float(ends.high)
    if not low < high:
        raise ValueError("bounds must be (low, high) with low below high")
    return Setting(low, high, read_beta(beta), read_floor(floor, high - low))


def read_beta(beta: object) -> float:
    """Read beta, and return the slightly smaller one that a bound is computed with.

    Guarantee: none needed; public inputs only.
    """
    rate = positive("beta", beta)
    if rate < LEAST_BETA:
        raise ValueError("beta must be at least 1e-9")
    return float(min(rate, _MOST_BETA) - _SLACK)


def read_floor(floor: object, span: float) -> float:
    """Read the least value of a smooth bound.

    Guarantee: none needed; public inputs only.
    """
    if floor is None:
        return span * 2.0**-_DEFAULT_HALVINGS
    least = up(positive("floor", floor))
    if least < span * 2.0**-MOST_HALVINGS:
        raise ValueError("floor must be at least 2**-100 of the range of the values")
    return least


def certified(bound: float) -> float:
    """Return a bound that is certain, from one with a relative error below 1e-12.

    Guarantee:
        Neighbours: replace_one, with a public number of records.
        Loss: none by itself; what is returned is private.
        Numerics: if the bound is smooth for beta - 1e-11 and correct to 1e-12, the result is at
            least as large as it should be and smooth for beta.
        Proof: docs/proofs/smooth.md, theorem 4.
    """
    return bound * (1 + 1e-11)


def read_values(values: object, missing: float) -> Floats:
    """Return an array of doubles from private data, each the one nearest to its record.

    A record that is missing, that is None, NaN or pandas' NA, counts as ``missing``. Infinities,
    and numbers beyond all doubles, which become such, are left for the clamping. So no number and
    no gap in the data leads to an error; that records are numbers must be known beforehand.

    Guarantee: none; each record is read by itself, and messages speak of types only.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("masked arrays are not read; fill them with .filled(...) first")
    if isinstance(values, str | bytes) or hasattr(values, "columns"):
        raise TypeError("values must be one column of numbers")
    try:
        array: npt.NDArray[Any] = np.asarray(values)
    except ValueError:
        raise TypeError("values must be one column of numbers") from None
    if array.ndim != 1:
        raise TypeError("values must be one column of numbers, not a table or a single number")
    if array.dtype.kind == "O":
        array = np.array([_double(x) for x in array.tolist()], dtype=np.float64)
    if array.dtype.kind not in "iuf":
        raise TypeError("values must be numbers")
    if array.size == 0:
        raise ValueError("values must hold at least one record")
    with np.errstate(over="ignore"):  # long doubles become infinite
        doubles: Floats = array.astype(np.float64, copy=False)
    if np.isnan(doubles.min()):
        doubles = np.where(np.isnan(doubles), missing, doubles)
    return doubles


def _double(record: object) -> float:
    """Return the double nearest to a record, or NaN if it is missing."""
    if record is None or type(record).__name__ == "NAType":
        return math.nan
    if not is_integer(record) and not isinstance(record, float | Fraction | Decimal | np.floating):
        raise TypeError("values must be numbers")
    if isinstance(record, Decimal) and record.is_nan():
        return math.nan
    try:
        return float(record)
    except OverflowError:
        return math.inf if record > 0 else -math.inf


def at_rank(rank: object) -> Rank:
    """Return the rule that the rank is this number, which must be one of the places.

    Guarantee: none needed; public inputs only.
    """
    if not is_integer(rank):
        raise TypeError("rank must be a whole number, from 1 for the least value on")
    if rank < 1:
        raise ValueError("rank must be at least 1, which is the least value")
    place = int(rank)

    def within(size: int) -> int:
        if place > size:
            raise ValueError("rank must be at most the number of values")
        return place

    return within


def middle(size: int) -> int:
    """Return the rank of the median, the lower one of two.

    Guarantee: none needed; the number of records is public.
    """
    return (size + 1) // 2


def largest(size: int) -> int:
    """Return the rank of the largest value.

    Guarantee: none needed; the number of records is public.
    """
    return size


def ascending(doubles: Floats, first: int, last: int) -> Floats:
    """Return the values from one place in their order, counted from 0, to another.

    A sorted sample shows about where they lie; only what lies there is sorted. Unlike a partition,
    this is quick for many equal values too. Where the sample misleads, everything is sorted.

    Guarantee: none; private data in, private data out.
    """
    size = doubles.size
    if size <= _SMALL or (last - first) * _SORT_ALL >= size:
        return np.sort(doubles)[first : last + 1]
    sample = np.sort(doubles[:: size // _SAMPLE])
    share = sample.size / size
    low = math.floor(first * share) - _MARGIN
    high = math.ceil(last * share) + _MARGIN
    inside = np.ones(size, dtype=np.bool_)
    before = 0
    if low >= 0:
        np.greater_equal(doubles, sample[low], out=inside)
        before = size - int(np.count_nonzero(inside))
    if high < sample.size:
        inside &= doubles <= sample[high]
    part = doubles[inside]
    part.sort()
    if not before <= first <= last < before + part.size:
        return np.sort(doubles)[first : last + 1]
    return part[first - before : last - before + 1]


def order_statistic(values: object, rank: Rank, setting: Setting) -> Evaluated:
    """Return an order statistic of clamped values and a smooth bound for it.

    Guarantee:
        Neighbours: replace_one, with a public number of records.
        Loss: none by itself; both numbers are private.
        Numerics: the value is exact, the bound is certain to be large enough and smooth for the
            beta that was read.
        Proof: docs/proofs/smooth.md, theorems 2 and 4.
    """
    doubles = read_values(values, setting.low)
    place = rank(doubles.size) - 1
    width = reach(setting.beta, setting.span, setting.floor)
    first, last = max(place - width, 0), min(place + width, doubles.size - 1)
    part = ascending(doubles, first, last).clip(setting.low, setting.high)
    below, above = part[place - first :: -1], part[place - first :]
    if first == 0:
        below = np.append(below, setting.low)
    if last == doubles.size - 1:
        above = np.append(above, setting.high)
    bound = largest_window(below, above, setting.beta, setting.floor)
    return Evaluated(Fraction(float(part[place - first])), certified(bound))
