# SPDX-License-Identifier: Apache-2.0
"""The trimmed mean of private data, with a smooth bound of how far one record moves it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.numbers.rational import is_integer
from sordino.sensitivity.order_statistics import (
    Evaluated,
    Floats,
    Setting,
    ascending,
    certified,
    largest_window,
    reach,
    read_values,
)

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
