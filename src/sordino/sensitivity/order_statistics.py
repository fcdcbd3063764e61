# SPDX-License-Identifier: Apache-2.0
"""The order statistics of private data, with smooth bounds of how far one record moves them.

The search behind the smooth sensitivity of order statistics and trimmed means.

Both are a maximum over windows of sorted data, of the length of a window times exp(-beta k), where
k grows by one with each further value in it. For a fixed right end that is a straight line in the
value at the left end, and the line of a farther right end falls more slowly: so the best right end
moves to the right with the left one, and divide and conquer finds them all in O(n log n). One level
of it is a few operations on whole arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.columns import as_doubles, clamping_door, read_numbers
from sordino.numbers.rational import is_integer, positive, up
from sordino.sensitivity.norms import read_bounds

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

MOST_HALVINGS = 100  # how far below the whole range a floor may lie, as a power of two
_SPARE = 3  # windows beyond those that might matter, for the rounding of logarithms


def reach(beta: float, span: float, least: float) -> int:
    """Return how many values a window must have at least to be worth no more than ``least``.

    ``span`` is the length of the longest window.
    """
    if span <= least:
        return 1
    return math.ceil((math.log(span) - math.log(least)) / beta) + _SPARE


def largest_window(below: Floats, above: Floats, beta: float, least: float) -> float:
    """Return the largest (above[q] - below[p]) * exp(-beta * (p + q - 1)), or ``least`` if larger.

    ``below`` descends and ``above`` ascends, from the places where the windows begin to grow; p and
    q are not both 0, and ``least`` is positive.

    Guarantee:
        Neighbours: those of the caller.
        Loss: none by itself; the result is private.
        Numerics: a relative error below 1e-12, for beta from 1e-9 to 64, fewer than 2**39 values,
            and ``least`` at least 2**-100 of the longest window.
        Proof: docs/proofs/smooth.md, theorem 4.
    """
    best = least
    for dense in (False, True):  # a few windows that grow to one side only, then all of them
        for ends, start in ((above, float(below[0])), (below, float(above[0]))):
            best = max(best, _one_sided(ends, start, beta, dense=dense))
        for _ in range(2):  # a shorter reach makes for a shorter span, and that for a shorter reach
            width = reach(beta, float(above[-1] - below[-1]), best)
            below, above = below[: width + 1], above[: width + 1]
    left, right = below[1:], above
    if not left.size:
        return best
    fading = np.exp(-beta * np.arange(max(left.size, right.size), dtype=np.float64))
    fading_left, fading_right = fading[: left.size], fading[: right.size]
    kept = _upper((right - left[0]) * fading_right, (right - left[-1]) * fading_right)
    right, fading_right = right[kept], fading_right[kept]
    kept = _upper((right[0] - left) * fading_left, (right[-1] - left) * fading_left)
    left, fading_left = left[kept], fading_left[kept]
    return max(best, _divide(left, fading_left, right, fading_right))


def _one_sided(ends: Floats, start: float, beta: float, *, dense: bool) -> float:
    """Return the best of the windows from a start to all ends but the first, or to a few."""
    if ends.size < 2:
        return 0.0
    if dense:
        lengths, fading = ends[1:] - start, np.arange(ends.size - 1, dtype=np.float64)
    else:
        places = 1 << np.arange((ends.size - 1).bit_length())
        lengths, fading = ends[places] - start, (places - 1).astype(np.float64)
    fading *= -beta
    np.exp(fading, out=fading)
    lengths *= fading
    return max(float(lengths.max()), -float(lengths.min()))


def _upper(near: Floats, far: Floats) -> Places:
    """Return the lines that may be the highest somewhere, from their heights at two places.

    Lines are sorted so that each falls more slowly from ``far`` to ``near`` than the one before: a
    line that is no higher at ``near`` than an earlier one, or at ``far`` than a later one, lies
    below that one in between.
    """
    kept = np.flatnonzero(_rises(near))
    far = far[kept]
    return kept[np.flatnonzero(_rises(far[::-1])[::-1])]


def _rises(heights: Floats) -> npt.NDArray[np.bool_]:
    """Tell which numbers are larger than all before them."""
    found = np.ones(heights.size, dtype=np.bool_)
    highest = np.maximum.accumulate(heights)
    np.greater(heights[1:], highest[:-1], out=found[1:])
    return found


def _divide(left: Floats, fading_left: Floats, right: Floats, fading_right: Floats) -> float:
    """Return the maximum of (right[q] - left[p]) * fading_right[q] * fading_left[p]."""
    first, last = np.array([0]), np.array([left.size - 1])  # the rows of each part
    low, high = np.array([0]), np.array([right.size - 1])  # and where their best columns may be
    best = 0.0
    while first.size:
        middle = (first + last) >> 1
        sizes = high - low + 1
        ends = np.cumsum(sizes)
        starts = ends - sizes
        columns = np.arange(ends[-1]) - np.repeat(starts - low, sizes)
        lengths = right[columns]
        lengths -= np.repeat(left[middle], sizes)
        lengths *= fading_right[columns]
        highest = np.maximum.reduceat(lengths, starts)
        best = max(best, float((highest * fading_left[middle]).max()))
        hits = np.flatnonzero(lengths == np.repeat(highest, sizes))
        chosen = columns[hits[np.searchsorted(hits, starts)]]
        # Rows are sorted by falling left ends: later rows have their best columns further left.
        before, after = first < middle, middle < last
        first, last = (
            np.concatenate([first[before], middle[after] + 1]),
            np.concatenate([middle[before] - 1, last[after]]),
        )
        low, high = (
            np.concatenate([chosen[before], low[after]]),
            np.concatenate([high[before], chosen[after]]),
        )
    return best


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
    """The public numbers of a smooth bound, as doubles: the range of values, beta and the floor."""

    low: float
    high: float
    beta: float
    floor: float


def read_setting(bounds: object, beta: object, floor: object) -> Setting:
    """Read the public numbers of a smooth bound; a floor that is None is 2**-30 of the range."""
    ends = read_bounds(bounds)
    low, high = float(ends.low), float(ends.high)
    if not low < high:
        raise ValueError("bounds must be (low, high) with low below high")
    return Setting(low, high, read_beta(beta), read_floor(floor, high - low))


def read_beta(beta: object) -> float:
    """Read beta, and return the slightly smaller one that a bound is computed with."""
    rate = positive("beta", beta)
    if rate < LEAST_BETA:
        raise ValueError("beta must be at least 1e-9")
    return float(min(rate, _MOST_BETA) - _SLACK)


def read_floor(floor: object, span: float) -> float:
    """Read the least value of a smooth bound."""
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


VALUES = clamping_door(
    "values", rule="values must be numbers in one column, got {0}", reads_booleans=False
)


def read_values(values: object, missing: float) -> Floats:
    """Return an array of doubles from private data, each the one nearest to its record.

    A record that is missing, that is None, NaN or pandas' NA, counts as ``missing``. Infinities,
    and numbers beyond all doubles, which become such, are left for the clamping. So no number and
    no gap in the data leads to an error; that records are numbers must be known beforehand.

    Guarantee: none; each record is read by itself, and messages speak of types only.
    """
    array = read_numbers(VALUES, values)
    if array.size == 0:
        raise ValueError("values must hold at least one record")
    doubles = as_doubles(array)
    if np.isnan(doubles.min()):
        doubles = np.where(np.isnan(doubles), missing, doubles)
    return doubles


def at_rank(rank: object) -> Rank:
    """Return the rule that the rank is this number, which must be one of the places."""
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
    """Return the rank of the median, the lower one of two."""
    return (size + 1) // 2


def largest(size: int) -> int:
    """Return the rank of the largest value."""
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
    width = reach(setting.beta, setting.high - setting.low, setting.floor)
    first, last = max(place - width, 0), min(place + width, doubles.size - 1)
    part = ascending(doubles, first, last).clip(setting.low, setting.high)
    below, above = part[place - first :: -1], part[place - first :]
    if first == 0:
        below = np.append(below, setting.low)
    if last == doubles.size - 1:
        above = np.append(above, setting.high)
    bound = largest_window(below, above, setting.beta, setting.floor)
    return Evaluated(Fraction(float(part[place - first])), certified(bound))


_STEP_BITS = 52  # the largest value is at most so many doublings of the step
_HALF = 26


class InSteps(NamedTuple):
    """Values, and the bounds that they are clamped to, in whole steps of 2**exponent.

    Guarantee: none; private, as the data is.
    """

    steps: Floats
    low: int
    high: int
    exponent: int


def trimmed_mean(values: object, trim: object, setting: Setting) -> Evaluated:
    """Return the mean without the ``trim`` least and largest values, and a smooth bound for it.

    Each value is clamped and rounded to a public grid, 2**-52 of the larger bound wide; the mean
    of the rounded values is exact.

    Guarantee:
        Neighbours: replace_one, with a public number of records.
        Loss: none by itself; both numbers are private.
        Numerics: the value is exact, the bound is certain to be large enough and smooth for the
            beta that was read.
        Proof: docs/proofs/smooth.md, theorems 3 and 4.
    """
    doubles = read_values(values, setting.low)
    size = doubles.size
    cut = read_trim(trim, size)
    left = size - 2 * cut
    steps, low, high, exponent = in_steps(doubles, setting.low, setting.high)
    floor = math.ldexp(setting.floor, -exponent) * left
    width = reach(setting.beta, float(high - low), floor)
    first, last = max(cut - width, 0), min(size - 1 - cut + width, size - 1)
    below = ascending(steps, first, cut)[::-1]
    above = ascending(steps, size - 1 - cut, last)
    total = _sum_between(steps, float(below[0]), float(above[0]), cut)
    if first == 0:
        below = np.append(below, float(low))
    if last == size - 1:
        above = np.append(above, float(high))
    bound = math.ldexp(largest_window(below, above, setting.beta, floor) / left, exponent)
    return Evaluated(Fraction(total, left) * Fraction(2) ** exponent, certified(bound))


def in_steps(doubles: Floats, low: float, high: float) -> InSteps:
    """Clamp values and round each to a public step of which all are at most 2**52 multiples.

    Guarantee: none; private data in, private data out.
    """
    _, exponent = math.frexp(max(abs(low), abs(high)))
    exponent -= _STEP_BITS
    steps = np.rint(np.ldexp(doubles.clip(low, high), -exponent))
    first, last = (round(math.ldexp(end, -exponent)) for end in (low, high))
    return InSteps(steps, first, last, exponent)


def read_trim(trim: object, size: int) -> int:
    """Read how many values are dropped at each end."""
    if not is_integer(trim):
        raise TypeError("trim must be a whole number: how many values to drop at each end")
    if trim < 0:
        raise ValueError("trim must not be negative")
    if 2 * trim >= size:
        raise ValueError("trim must leave at least one value")
    return int(trim)


def _sum_between(steps: Floats, low: float, high: float, cut: int) -> int:
    """Add up all values but the ``cut`` least and largest; the rest begins at low, ends at high."""
    if low == high:
        return (steps.size - 2 * cut) * int(low)
    at_least, at_most = steps > low, steps < high
    lows = steps.size - int(np.count_nonzero(at_least)) - cut
    highs = steps.size - int(np.count_nonzero(at_most)) - cut
    at_least &= at_most
    return _sum(steps[at_least]) + lows * int(low) + highs * int(high)


def _sum(steps: Floats) -> int:
    """Add up whole numbers of at most 2**52 exactly, up to 2**36 of them."""
    whole: npt.NDArray[np.int64] = steps.astype(np.int64)
    low = int((whole & ((1 << _HALF) - 1)).sum())
    whole >>= _HALF
    return (int(whole.sum()) << _HALF) + low
