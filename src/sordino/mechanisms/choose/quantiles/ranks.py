# SPDX-License-Identifier: Apache-2.0
"""Points of an interval sorted into levels by how far their rank is from a wanted one.

Each point of the grid is cut into ``fine`` places, over which the records at that point are spread
evenly; so the records before a place, its rank, are a whole number of 1/fine records, and a block
of equal records can be cut anywhere. Two scores are used. A *cut* is behind by how far its rank is
from the wanted one. A *tie* asks less: all places of a point count alike, and none of them is
behind if the wanted rank lies anywhere among the records at that point. The *depth* of that point
is how many records on either side of the wanted rank it holds; all others are behind by so much
more.

Ranks do not decrease along the grid. So the places behind by at most v are a run, which binary
searches find, and the work does not depend on the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.interval import Interval
from sordino.numbers.balls import ball, round_up
from sordino.numbers.columns import Door, read_whole
from sordino.numbers.rational import reading
from sordino.privacy.leaf import Relation
from sordino.randomness.selection import Found

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


_COUNTS_RULE = "counts must be whole numbers that are not negative, one for each value"
COUNTS = Door(
    rule=_COUNTS_RULE,
    shape=_COUNTS_RULE,
    missing=_COUNTS_RULE,
    masked="counts must not be masked; fill them with .filled(0) first",
)


def _read_counts(counts: object, size: int) -> npt.NDArray[np.int64]:
    array = read_whole(COUNTS, counts)
    if array.shape != (size,) or (array < 0).any() or (array > MOST_RECORDS).any():
        raise ValueError(f"{_COUNTS_RULE}, and at most 2**39")
    if array.sum(dtype=np.float64) > 2 * MOST_RECORDS:  # before sums could leave 64 bits
        raise ValueError(_TOO_MANY)
    return array.astype(np.int64)


Run: TypeAlias = tuple[int, int]  # places from the first, included, to the second, excluded

_FINENESS = 4  # levels per unit of the exponent: a draw is kept with at least exp(-1/4)
_SMALL = 1 << 62
SURE_BITS = 64  # what lies beyond the last level weighs less than 2**-64 of the rest


@dataclass(frozen=True, slots=True)
class Slab:
    """A run of places of the grid, and the rank that is wanted there.

    ``wanted`` is in units of 1/fine records and lies between the ranks of ``outer``, the two ends
    of the slab. ``start`` and ``stop`` are the places that can be chosen: for a tie, all places of
    each point of the slab.

    Guarantee: none by itself; it stays inside a mechanism.
    """

    records: Records
    interval: Interval
    fine: int
    start: int
    stop: int
    wanted: Fraction
    outer: Run
    tie: bool

    @classmethod
    def between(
        cls,
        records: Records,
        interval: Interval,
        run: Run,
        target: Fraction,
        *,
        fine: int,
        tie: bool,
    ) -> Slab:
        """Make the slab of a run, where the share ``target`` of its records is wanted before."""
        low, high = (records.rank(place, fine) for place in run)
        start, stop = run
        if tie:
            start, stop = start // fine * fine, -(-stop // fine) * fine
        wanted = low + target * (high - low)
        return cls(records, interval, fine, start, stop, wanted, (low, high), tie)

    def mass(self, place: int) -> int:
        """Return what all places before this one weigh."""
        if self.interval.uniform:
            return place
        point, part = divmod(place, self.fine)
        whole = self.interval.mass(point)
        if not part:
            return whole * self.fine
        return whole * self.fine + part * (self.interval.mass(point + 1) - whole)

    def locate(self, mass: int) -> int:
        """Return the place that a mass falls on."""
        if self.interval.uniform:
            return mass
        point = self.interval.locate(mass // self.fine)
        whole = self.interval.mass(point)
        weight = self.interval.mass(point + 1) - whole
        return point * self.fine + (mass - whole * self.fine) // weight

    def weight(self, run: Run) -> int:
        """Return what a run weighs; one that ends before it starts is empty."""
        if self.interval.uniform or run[0] >= run[1]:
            return max(run[1] - run[0], 0)
        return self.mass(run[1]) - self.mass(run[0])

    def outside(self, outer: Run, inner: Run, rank: int) -> int:
        """Return the place of this rank by mass in a run, but not in a run inside it."""
        first = self.mass(outer[0])
        if inner[0] < inner[1]:
            left = self.mass(inner[0]) - first
            if rank >= left:
                first, rank = self.mass(inner[1]), rank - left
        return self.locate(first + rank)

    def behind(self, place: int) -> Fraction:
        """Return how far the rank of a place is from the wanted one, in records."""
        if not self.tie:
            return abs(self.records.rank(place, self.fine) - self.wanted) / self.fine
        return abs(self.off(place // self.fine))

    def off(self, point: int) -> Fraction:
        """Return how many records too many lie before a point, or with a minus sign too few."""
        wanted = self.wanted / self.fine
        over = self.records.before(point) - wanted
        under = wanted - self.records.before(point + 1)
        return max(over, Fraction(0)) or min(-under, Fraction(0))

    @property
    def deepest(self) -> tuple[int, Fraction]:
        """The point that holds the wanted rank, and its depth, in a slab that is not cut."""
        point = self._point(self._search([math.ceil(self.wanted)], "left")[0])
        before, upto = self.records.before(point), self.records.before(point + 1)
        return point, max(min(self.wanted - before, upto - self.wanted), Fraction(0))

    @property
    def nearest(self) -> Fraction:
        """How far behind the best place is."""
        if self.tie:
            return Fraction(0)
        ((low, high),) = self.runs(range(1), Fraction(1))
        ends = (min(low, self.stop - 1), max(high - 1, self.start))
        return min(self.behind(place) for place in ends)

    @property
    def farthest(self) -> Fraction:
        """How far behind a place can be at most."""
        low, high = self.outer
        return max(self.wanted - low, high - self.wanted) / self.fine

    def runs(self, levels: range, unit: Fraction) -> list[Run]:
        """For each level k return the run of places that are behind by at most k / unit."""
        width = self.fine / unit
        common = self.wanted.denominator * width.denominator
        wanted = self.wanted.numerator * width.denominator
        step = width.numerator * self.wanted.denominator
        largest = abs(wanted) + max(levels.stop, 1) * step + common * self.fine
        if self.tie and max(largest, self.interval.size * self.fine) < _SMALL:
            return self._tie_runs(levels, wanted, step, common * self.fine)
        lowest = [wanted - k * step for k in levels]
        highest = [wanted + k * step for k in levels]
        if self.tie:
            starts, stops = self._points_from(lowest, common), self._points_to(highest, common)
        else:
            starts, stops = self._cuts_from(lowest, common), self._cuts_to(highest, common)
        return [
            (min(max(a, self.start), self.stop), max(min(b, self.stop), self.start))
            for a, b in zip(starts, stops, strict=True)
        ]

    def _tie_runs(self, levels: range, wanted: int, step: int, unit: int) -> list[Run]:
        """Return the runs of a tie all at once, where no number leaves 64 bits.

        For level k they go from the first point with at least (wanted - k step) / unit records up
        to and at it, to the last with at most (wanted + k step) / unit before it.
        """
        far = np.arange(levels.start, levels.stop, dtype=np.int64) * step
        upto, points = self.records.upto, self.records.points
        least, most = -((far - wanted) // unit), (far + wanted) // unit
        held = np.append(points, self.interval.size - 1)  # after the last block the last point
        starts = np.where(least > 0, held[np.searchsorted(upto, least)] * self.fine, 0)
        stops = (held[np.searchsorted(upto, most, side="right")] + 1) * self.fine
        starts, stops = starts.clip(self.start, self.stop), stops.clip(self.start, self.stop)
        return list(zip(starts.tolist(), stops.tolist(), strict=True))

    def _points_from(self, ranks: list[int], common: int) -> list[int]:
        """Return where the first point begins that has so many records up to and at it."""
        unit = common * self.fine
        records = [-(-rank // unit) for rank in ranks]
        return [
            self.fine * self._point(index) if count > 0 else 0
            for count, index in zip(records, self._search(records, "left"), strict=True)
        ]

    def _points_to(self, ranks: list[int], common: int) -> list[int]:
        """Return where the last point ends that has at most so many records before it."""
        unit = common * self.fine
        found = self._search([rank // unit for rank in ranks], "right")
        return [self.fine * (self._point(index) + 1) for index in found]

    def _cuts_from(self, ranks: list[int], common: int) -> list[int]:
        """Return the first place of at least this rank."""
        whole = [-(-rank // common) for rank in ranks]
        found = []
        blocks = self._search([-(-rank // self.fine) for rank in whole], "left")
        for rank, index in zip(whole, blocks, strict=True):
            if rank <= 0:
                found.append(0)
            else:
                below, count = self._block(index)
                parts = -(-(rank - below * self.fine) // count)
                found.append(self._point(index) * self.fine + parts)
        return found

    def _cuts_to(self, ranks: list[int], common: int) -> list[int]:
        """Return the place after the last one of at most this rank."""
        whole = [rank // common for rank in ranks]
        found = []
        blocks = self._search([rank // self.fine for rank in whole], "right")
        for rank, index in zip(whole, blocks, strict=True):
            if index == self.records.points.size:
                found.append(self.stop)
            else:
                below, count = self._block(index)
                parts = (rank - below * self.fine) // count
                found.append(self._point(index) * self.fine + parts + 1)
        return found

    def _search(self, counts: list[int], side: Literal["left", "right"]) -> list[int]:
        """Find the first block that reaches a number of records, or with "right" exceeds it."""
        most = self.records.total + 1
        limited = np.array([min(max(count, -1), most) for count in counts], dtype=np.int64)
        found: list[int] = np.searchsorted(self.records.upto, limited, side=side).tolist()
        return found

    def _point(self, index: int) -> int:
        """Return the point of a block; after the last block the last point."""
        points = self.records.points
        return int(points[index]) if index < points.size else self.interval.size - 1

    def _block(self, index: int) -> tuple[int, int]:
        """Return the records before a block and those in it."""
        below = int(self.records.upto[index - 1]) if index else 0
        return below, int(self.records.upto[index]) - below


class Shells:
    """The places of a slab in levels by how far behind they are.

    In units of 1 / (4 rate), a level holds the places behind by no more than ``first``, which is
    next to the nearest, each further level those behind by up to 1 more, and the last one the rest.
    With ``deep``, for a tie, the point that holds the wanted rank with a depth is a level of its
    own before all of these, and all others are behind by the depth as well.

    Guarantee: none by itself; it stays inside a mechanism.
    """

    __slots__ = ("_deep", "_depth", "_first", "_rate", "_runs", "_slab", "counts", "floors")

    def __init__(self, slab: Slab, rate: Fraction, *, deep: bool = False) -> None:
        self._slab = slab
        self._rate = rate
        point, depth = slab.deepest if deep else (0, Fraction(0))
        self._deep, self._depth = int(depth > 0), rate * depth
        unit = rate * _FINENESS
        whole = slab.start, slab.stop
        self._first = math.ceil(unit * slab.nearest)
        bits = slab.weight(whole).bit_length() + SURE_BITS
        last = self._first + math.ceil(_FINENESS * math.log(2) * bits)
        last = min(last, math.ceil(unit * slab.farthest))
        levels = range(self._first, max(last, self._first) + 1)
        held = [(point * slab.fine, (point + 1) * slab.fine)] * self._deep
        self._runs = [*held, *slab.runs(levels, unit), whole]
        sizes = [slab.weight(run) for run in self._runs]
        self.counts = [sizes[0], *(after - before for before, after in pairwise(sizes))]
        places = np.arange(len(sizes), dtype=np.float64) + (self._first - 1 - self._deep)
        self.floors = np.maximum(places, 0.0) / _FINENESS + float(self._depth)
        self.floors[: self._deep] = 0.0

    def floor(self, level: int) -> Fraction:
        if level < self._deep:
            return Fraction(0)
        return Fraction(max(self._first + level - 1 - self._deep, 0), _FINENESS) + self._depth

    def find(self, level: int, rank: int) -> Found:
        inner = self._runs[level - 1] if level else (0, 0)
        place = self._slab.outside(self._runs[level], inner, rank)
        return Found(place, self.exponent(place) - self.floor(level))

    def exponent(self, place: int) -> Fraction:
        """Return rate times how far behind a place is."""
        start, stop = self._runs[0]
        if self._deep and start <= place < stop:
            return Fraction(0)
        return self._rate * self._slab.behind(place) + self._depth


def joint_spread(quantiles: Sequence[Fraction], neighbours: Relation) -> Fraction:
    """Return how much further one change of the data moves one score than another.

    ``quantiles`` increase. Under add_remove it holds among tuples whose points are in order.

    >>> quartiles = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
    >>> joint_spread(quartiles, "add_remove"), joint_spread(quartiles, "replace_one")
    (Fraction(3, 2), Fraction(2, 1))

    Proof: docs/proofs/quantiles.md, theorems 2 and 3.
    """
    one_sided = len(quantiles) == 1 and quantiles[0] in (0, 1)
    if neighbours == "replace_one":
        return Fraction(1 if one_sided else 2)
    apart = [1 - (after - before) for before, after in pairwise(quantiles)]
    worse = max([1 - quantiles[0], quantiles[-1], *apart])
    over = [q for q in quantiles if q < 1]
    under = [1 - q for q in quantiles if q > 0]
    return worse + max(over + under + apart)


def tail(others: Fraction, rate: Fraction, failure: Fraction) -> Fraction:
    """Return how far behind a draw can be but for this failure, if the others weigh so much.

    Rounded up, from certified balls.
    """
    odds = others * (1 - failure) / failure
    if odds <= 1:
        return Fraction(0)
    return Fraction(reading(round_up(lambda: ball(odds).log() / ball(rate))))
