# SPDX-License-Identifier: Apache-2.0
"""Private values on a public grid: which points have records, and how many there are up to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import is_integer
from sordino.mechanisms.choose.interval import Interval

Integers: TypeAlias = npt.NDArray[np.int64]

MOST_RECORDS = 1 << 39
_TOO_MANY = "there are more than 2**39 records, which is more than quantiles are drawn from"


@dataclass(frozen=True, slots=True)
class Records:
    """The records on the grid: the points that have some, and how many there are up to each.

    Guarantee: none by itself; it stays inside a mechanism.
    """

    points: Integers
    upto: Integers

    @property
    def total(self) -> int:
        """How many records there are."""
        return int(self.upto[-1]) if self.upto.size else 0

    def before(self, point: int) -> int:
        """Return how many records lie before a point."""
        index = int(np.searchsorted(self.points, point))
        return int(self.upto[index - 1]) if index else 0

    def rank(self, place: int, fine: int) -> int:
        """Return how many records lie before a place, in units of 1/fine."""
        point, part = divmod(place, fine)
        below = self.before(point)
        return below * fine + (part * (self.before(point + 1) - below) if part else 0)


def read_records(interval: Interval, values: object, counts: object = None) -> Records:
    """Put values on the grid and count those at each point.

    Guarantee: none by itself; one record of the data is one record here.
    """
    places = interval.nearest(values)
    if counts is None:
        places.sort()
        last = np.flatnonzero(np.append(places[1:] != places[:-1], True)[: places.size])
        found = Records(places[last], last + 1)
    else:
        many = _read_counts(counts, places.size)
        order = np.argsort(places, kind="stable")
        places, upto = places[order], np.cumsum(many[order])
        last = np.flatnonzero(np.append(places[1:] != places[:-1], True)[: places.size])
        held = np.diff(upto[last], prepend=0) > 0
        found = Records(places[last][held], upto[last][held])
    if found.total > MOST_RECORDS:
        raise ValueError(_TOO_MANY)
    return found


def _read_counts(counts: object, size: int) -> npt.NDArray[np.int64]:
    rule = "counts must be whole numbers that are not negative, one for each value"
    if isinstance(counts, np.ma.MaskedArray):
        raise TypeError("counts must not be masked; fill them with .filled(0) first")
    if isinstance(counts, Sequence) and not all(is_integer(n) for n in counts):
        raise TypeError(rule)
    try:
        array: npt.NDArray[Any] = np.asarray(counts)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(rule) from None
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(rule)
    if array.shape != (size,) or (array < 0).any() or (array > MOST_RECORDS).any():
        raise ValueError(rule + ", and at most 2**39")
    if array.sum(dtype=np.float64) > 2 * MOST_RECORDS:  # before sums could leave 64 bits
        raise ValueError(_TOO_MANY)
    return array.astype(np.int64)
