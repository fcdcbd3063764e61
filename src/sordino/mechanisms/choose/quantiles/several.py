# SPDX-License-Identifier: Apache-2.0
"""Several quantiles in one draw, by the worst of them on either side.

A tuple of points, one for each quantile, is *over* by the most records that one of them has too
many before it, and *under* by the most that one of them has too few. It is behind by both together.
The points over by at most a and under by at most b are a run for each quantile, and the tuples a
box. So tuples are counted in cells, between one box and the next in each of the two directions.

Several quantiles one after the other: the middle one first, then those on either side of it.

The quantile found cuts the grid in two slabs, and the records with it. A slab knows its own records
alone: how many there are, and which share of them is wanted before the next cut. So one record
counts in one slab of each level, or in parts that add up to one record where a cut went through it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from sordino.mechanisms.choose.interval import Interval
from sordino.mechanisms.choose.quantiles.ranks import (
    MOST_RECORDS,
    SURE_BITS,
    Records,
    Run,
    Shells,
    Slab,
    tail,
)
from sordino.privacy.leaf import Relation
from sordino.randomness.entropy import Bits
from sordino.randomness.selection import Found, by_weight

# How many quantiles are found in one draw. Where data say next to nothing, one in 5! tuples is in
# order, as they must be under add_remove, and a draw is made again until one is. Under replace_one
# it is the cells that take their time. Recursion is closer, or nearly so, for more quantiles.
MOST_AT_ONCE: dict[Relation, int] = {"add_remove": 5, "replace_one": 12}
_FINENESS = 2  # cells per unit of the exponent, in each direction
_RARE = math.log(2.0**-20)  # how little may weigh what is beyond the cells


class Cells:
    """Tuples of points as levels of an exact draw: cells near the best, shells further out.

    In units of 1 / (2 rate), the cell (a, b) holds the tuples over by more than a - 1 and at most
    a, and under by more than b - 1 and at most b. Beyond the last cells, a shell holds the tuples
    whose larger one of the two is between one number and the next, and the last shell all others.
    Tuples are numbered by their points as digits.

    Guarantee: none by itself; it stays inside a mechanism.
    """

    __slots__ = ("_boxes", "_last", "_rate", "_runs", "_slabs", "counts", "floors")

    def __init__(self, slabs: list[Slab], rate: Fraction) -> None:
        self._slabs = slabs
        self._rate = rate
        unit = rate * _FINENESS
        whole = [(slab.start, slab.stop) for slab in slabs]
        bits = self._weight(whole).bit_length() + SURE_BITS
        far = math.ceil(unit * max(slab.farthest for slab in slabs))
        levels = range(min(far, math.ceil(_FINENESS * math.log(2) * bits)) + 1)
        self._runs = [slab.runs(levels, unit) for slab in slabs]
        boxes = [[runs[k] for runs in self._runs] for k in levels]
        sizes = [*map(self._weight, boxes), self._weight(whole)]
        shells = [sizes[0], *(after - before for before, after in pairwise(sizes))]
        self._last = _reach(shells)
        self._boxes = [*boxes, whole][self._last :]  # the first one is what the cells hold
        self.counts = [*self._cell_counts(), *shells[self._last + 1 :]]
        steps = np.maximum(np.arange(-1.0, self._last), 0.0)
        beyond = np.arange(self._last, self._last + len(self._boxes) - 1, dtype=np.float64)
        both = (steps[:, None] + steps[None, :]).ravel()
        self.floors = np.concatenate([both, beyond]) / _FINENESS

    def floor(self, level: int) -> Fraction:
        beyond = level - (self._last + 1) ** 2
        if beyond >= 0:
            return Fraction(self._last + beyond, _FINENESS)
        over, under = divmod(level, self._last + 1)
        return Fraction(max(over - 1, 0) + max(under - 1, 0), _FINENESS)

    def find(self, level: int, rank: int) -> Found:
        beyond = level - (self._last + 1) ** 2
        if beyond >= 0:
            points = self._in_shell(self._boxes[beyond + 1], self._boxes[beyond], rank)
        else:
            points = self._in_cell(*divmod(level, self._last + 1), rank)
        number, over, under = 0, Fraction(0), Fraction(0)
        for slab, point in zip(self._slabs, points, strict=True):
            number = number * slab.interval.size + point
            off = slab.off(point)
            over, under = max(over, off), max(under, -off)
        return Found(number, self._rate * (over + under) - self.floor(level))

    def places(self, number: int) -> list[int]:
        """Return the points that a number stands for."""
        points = []
        for slab in reversed(self._slabs):
            number, point = divmod(number, slab.interval.size)
            points.append(point)
        return points[::-1]

    def _weight(self, box: Sequence[Run]) -> int:
        return math.prod(slab.weight(run) for slab, run in zip(self._slabs, box, strict=True))

    def _cell_counts(self) -> list[int]:
        """Count the tuples of each cell: those of a box less those of the boxes inside it."""
        size = self._last + 1
        boxes = np.ones((size, size), dtype=object)
        for slab, runs in zip(self._slabs, self._runs, strict=True):
            starts, stops = zip(*runs[:size], strict=True)
            low = np.array([slab.mass(place) for place in starts], dtype=object)
            high = np.array([slab.mass(place) for place in stops], dtype=object)
            boxes *= high[:, None] - low[None, :]
        rows = np.diff(boxes, axis=0, prepend=0)
        found: list[int] = np.diff(rows, axis=1, prepend=0).ravel().tolist()
        return found

    def _in_cell(self, over: int, under: int, rank: int) -> list[int]:
        """Return the tuple of this rank in a cell.

        Each point lies in the run of the low edge, in the middle, or in the run of the high edge.
        Some point is in the low edge unless ``under`` is 0, and one in the high edge unless
        ``over`` is 0.
        """
        parts = []
        for slab, runs in zip(self._slabs, self._runs, strict=True):
            middle = runs[max(under - 1, 0)][0], runs[max(over - 1, 0)][1]
            edges = (runs[under][0], middle[0]), middle, (middle[1], runs[over][1])
            parts.append([(run, slab.weight(run)) for run in edges])
        low, high = under > 0, over > 0
        points = []
        for at, slab in enumerate(self._slabs):
            for kind in range(3):
                run, weight = parts[at][kind]
                rest = _ways(parts[at + 1 :], low and kind != 0, high and kind != 2)
                if rank < weight * rest:
                    break
                rank -= weight * rest
            low, high = low and kind != 0, high and kind != 2
            mass, rank = divmod(rank, rest)
            points.append(slab.locate(slab.mass(run[0]) + mass))
        return points

    def _in_shell(self, outer: list[Run], inner: list[Run], rank: int) -> list[int]:
        """Return the tuple of this rank in a box, but not in the box inside it.

        The first point that is outside the inner box tells such tuples apart.
        """
        wide = [slab.weight(run) for slab, run in zip(self._slabs, outer, strict=True)]
        narrow = [slab.weight(run) for slab, run in zip(self._slabs, inner, strict=True)]
        for leaves in range(len(outer)):
            ways = [*narrow[:leaves], wide[leaves] - narrow[leaves], *wide[leaves + 1 :]]
            if rank < math.prod(ways):
                break
            rank -= math.prod(ways)
        points = []
        for at, slab in enumerate(self._slabs):
            rank, mass = divmod(rank, ways[at])
            run = inner[at] if at < leaves else outer[at]
            points.append(slab.outside(run, inner[at] if at == leaves else (0, 0), mass))
        return points


def _ways(parts: Sequence[Sequence[tuple[Run, int]]], low: bool, high: bool) -> int:
    """Count tuples of points in three parts each, with one in the first or last where needed."""
    all_three = math.prod(a + b + c for (_, a), (_, b), (_, c) in parts)
    no_low = math.prod(b + c for _, (_, b), (_, c) in parts) if low else 0
    no_high = math.prod(a + b for (_, a), (_, b), _ in parts) if high else 0
    neither = math.prod(b for _, (_, b), _ in parts) if low and high else 0
    return all_three - no_low - no_high + neither


def _reach(shells: list[int]) -> int:
    """Return how far cells are worth their while: beyond it, shells weigh next to nothing.

    It decides how long a draw takes, not what it draws, so doubles will do.
    """
    sizes = np.array([math.log(n) if n else -math.inf for n in shells])
    places = np.arange(len(shells), dtype=np.float64)
    least = float(np.logaddexp.reduce(sizes - 2 * places / _FINENESS))
    most = np.logaddexp.accumulate((sizes - (places - 1) / _FINENESS)[::-1])[::-1]
    enough = np.flatnonzero(most <= least + _RARE)
    return min(int(enough[0]) if enough.size else len(shells), len(shells) - 1) - 1


FINE = 2 * MOST_RECORDS  # places of each point: a block of equal records can be cut to 2**-40 of it


@dataclass(frozen=True, slots=True)
class Node:
    """A quantile, the quantiles whose cuts bound its slab, and those found on either side later.

    ``share`` is the part of the records of the slab that is wanted before it.
    """

    index: int
    low: int | None
    high: int | None
    share: Fraction
    left: Node | None
    right: Node | None

    @property
    def depth(self) -> int:
        """How many levels there are from here on."""
        return 1 + max((child.depth for child in (self.left, self.right) if child), default=0)

    @property
    def last(self) -> bool:
        """Whether nothing is left to cut."""
        return self.left is None and self.right is None

    def walk(self) -> Iterator[Node]:
        """Yield each quantile after those that bound its slab."""
        yield self
        for child in (self.left, self.right):
            if child:
                yield from child.walk()


def plan(quantiles: Sequence[Fraction]) -> Node:
    """Return the order in which quantiles are found, in as few levels as possible.

    >>> deciles = plan([Fraction(k, 10) for k in range(1, 10)])
    >>> deciles.index, deciles.share, deciles.depth
    (4, Fraction(1, 2), 4)
    """
    found = _grow(quantiles, 0, len(quantiles), None, None)
    if found is None:
        raise ValueError("there is no quantile to find")
    return found


def _grow(
    quantiles: Sequence[Fraction], start: int, stop: int, low: int | None, high: int | None
) -> Node | None:
    if start == stop:
        return None
    below = quantiles[low] if low is not None else Fraction(0)
    above = quantiles[high] if high is not None else Fraction(1)
    fits = (1 << ((stop - start).bit_length() - 1)) - 1  # quantiles below a node, on either side

    def share(index: int) -> Fraction:
        return (quantiles[index] - below) / (above - below)

    index = min(
        range(max(start, stop - 1 - fits), min(stop - 1, start + fits) + 1),
        key=lambda index: spread_of(share(index)),
    )
    left = _grow(quantiles, start, index, low, index)
    right = _grow(quantiles, index + 1, stop, index, high)
    return Node(index, low, high, share(index), left, right)


def spread_of(share: Fraction) -> Fraction:
    """Return how much further one record added moves one score of a slab than another.

    >>> spread_of(Fraction(1, 2)), spread_of(Fraction(1, 4)), spread_of(Fraction(0))
    (Fraction(1, 1), Fraction(3, 2), Fraction(1, 1))

    Proof: docs/proofs/quantiles.md, theorem 2.
    """
    return Fraction(1) if share in (0, 1) else 2 * max(share, 1 - share)


def find(
    root: Node, records: Records, interval: Interval, price: Fraction, bits: Bits
) -> list[int]:
    """Return the point of each quantile; no level costs more than ``price`` for one record added.

    Guarantee:
        Neighbours: data with one record more.
        Loss: a bounded range of ``price`` for each level; twice that for one record replaced.
        Numerics: exact.
        Proof: docs/proofs/quantiles.md, theorem 5.
    """
    cuts: dict[int | None, int] = {}
    points: dict[int, int] = {}
    for node in root.walk():
        run = (
            cuts[node.low] if node.low is not None else 0,
            cuts[node.high] if node.high is not None else interval.size * FINE,
        )
        cut = run[0]
        if run[0] < run[1]:
            slab = Slab.between(records, interval, run, node.share, fine=FINE, tie=node.last)
            shells = Shells(slab, price / spread_of(node.share))
            cut = by_weight(shells, bits)[1].candidate
        cuts[node.index] = cut
        points[node.index] = cut // FINE
    return [points[index] for index in range(len(points))]


def rank_errors(
    root: Node, interval: Interval, price: Fraction, failure: Fraction, records: int
) -> list[Fraction]:
    """Return for each quantile how far its rank can be off, all at once but for this failure.

    Rounded up, from certified balls. Proof: docs/proofs/quantiles.md, theorem 6.
    """
    nodes = list(root.walk())
    each = failure / len(nodes)
    found: dict[int | None, Fraction] = {None: Fraction(0)}
    for node in nodes:
        rate = price / spread_of(node.share)
        if node.last:
            own = tail(Fraction(interval.total, interval.least) - 1, rate, each)
        else:
            many = 4 * max(records, 1) * Fraction(interval.total, interval.least)
            own = Fraction(1, 2) + tail(many, rate, each)
        carried = (1 - node.share) * found[node.low] + node.share * found[node.high]
        found[node.index] = own + carried
    return [found[index] for index in range(len(nodes))]


def typical_error(root: Node, price: Fraction) -> float:
    """Return about how many records ranks are off on average, where records lie densely.

    A rank is then off by a sum of independent Laplace variables, one for each cut that bounds its
    slab and those before. Their mean size is that of one of them, 0.707 standard deviations, or of
    a normal variable, 0.798, or between the two.
    """
    nodes = list(root.walk())
    parts: dict[int | None, list[float]] = {None: [0.0] * len(nodes)}
    total = 0.0
    for place, node in enumerate(nodes):
        share = float(node.share)
        mixed = [
            (1 - share) * a + share * b
            for a, b in zip(parts[node.low], parts[node.high], strict=True)
        ]
        mixed[place] += math.sqrt(2) * float(spread_of(node.share) / price)
        variance, fourth = sum(x**2 for x in mixed), sum(x**4 for x in mixed)
        total += math.sqrt(variance) * (0.798 - 0.091 * fourth / variance**2)
        parts[node.index] = mixed
    return total / len(nodes)
