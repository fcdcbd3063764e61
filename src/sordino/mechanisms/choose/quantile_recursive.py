# SPDX-License-Identifier: Apache-2.0
"""Several quantiles one after the other: the middle one first, then those on either side of it.

The quantile found cuts the grid in two slabs, and the records with it. A slab knows its own records
alone: how many there are, and which share of them is wanted before the next cut. So one record
counts in one slab of each level, or in parts that add up to one record where a cut went through it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sordino.exact.balls import ball, round_up
from sordino.exact.entropy import Bits
from sordino.exact.rounding import reading
from sordino.exact.selection import by_weight
from sordino.mechanisms.choose.interval import Interval
from sordino.mechanisms.choose.ranks import Shells, Slab
from sordino.mechanisms.choose.records import MOST_RECORDS, Records

FINE = 2 * MOST_RECORDS  # places of each point: a block of equal records can be cut to 2**-40 of it


@dataclass(frozen=True, slots=True)
class Node:
    """A quantile, the quantiles whose cuts bound its slab, and those found on either side later.

    ``share`` is the part of the records of the slab that is wanted before it.

    Guarantee: none needed; public inputs only.
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

    Guarantee: none needed; public inputs only.
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

    Guarantee: none needed; public inputs only. Proof: docs/proofs/quantiles.md, theorem 2.
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

    Guarantee: none needed; public inputs only. Rounded up, from certified balls. Proof:
    docs/proofs/quantiles.md, theorem 6.
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


def tail(others: Fraction, rate: Fraction, failure: Fraction) -> Fraction:
    """Return how far behind a draw can be but for this failure, if the others weigh so much.

    Guarantee: none needed; public inputs only. Rounded up, from certified balls.
    """
    odds = others * (1 - failure) / failure
    if odds <= 1:
        return Fraction(0)
    return Fraction(reading(round_up(lambda: ball(odds).log() / ball(rate))))


def typical_error(root: Node, price: Fraction) -> float:
    """Return about how many records ranks are off on average, where records lie densely.

    A rank is then off by a sum of independent Laplace variables, one for each cut that bounds its
    slab and those before. Their mean size is that of one of them, 0.707 standard deviations, or of
    a normal variable, 0.798, or between the two.

    Guarantee: none needed; public inputs only.
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
