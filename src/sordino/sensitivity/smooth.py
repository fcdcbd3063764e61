# SPDX-License-Identifier: Apache-2.0
"""Smooth bounds on local sensitivity: how much noise these very data need, told without a leak.

Those of order statistics are for replace_one, where the number of records is public. All of them
are private: they are made for ``sordino.smooth``, which releases nothing but the noisy statistic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np

from sordino.numbers.rational import Integer, Number, positive, positive_whole, up
from sordino.sensitivity import changes
from sordino.sensitivity import order_statistics as ranks
from sordino.sensitivity.changes import Windows, Within
from sordino.sensitivity.check import Function
from sordino.sensitivity.graphs import SpanningTree, Triangles, read_edges, read_weighted
from sordino.sensitivity.order_statistics import reach

Range: TypeAlias = "tuple[Number, Number]"


class LocalSensitivity(Protocol):
    """A user's function A(k): how far one record can move the statistic after k other changes.

    It belongs to one data set. A(0) must be at least the local sensitivity there, and A(k) at most
    the A(k + 1) of every neighbour; the largest local sensitivity within k changes is such.

    Guarantee: the user's own.
    """

    def __call__(self, changes: int, /) -> Number: ...


def quantile(
    values: object, *, rank: Integer, bounds: Range, beta: Number, floor: Number | None = None
) -> float:
    """Return a smooth bound for the value of a given rank, from 1 for the least one.

    Values are clamped to the bounds, and one that is missing, which is None or NaN, counts as the
    lower bound: what a record is worth never depends on the others, and no gap is an error.

    >>> round(quantile(range(1, 10), rank=5, bounds=(0, 10), beta=0.25), 6)
    1.889466

    Guarantee:
        Neighbours: replace_one, with a public number of records.
        Loss: none by itself; the bound is private.
        Numerics: certain to be at least the local sensitivity and beta-smooth; at most 1e-10 too
            large, or as large as ``floor``, by default 2**-30 of the range.
        Proof: docs/proofs/smooth.md, theorems 2 and 4.
    """
    setting = ranks.read_setting(bounds, beta, floor)
    return ranks.order_statistic(values, ranks.at_rank(rank), setting).bound


def median(values: object, *, bounds: Range, beta: Number, floor: Number | None = None) -> float:
    """Return a smooth bound for the median; of an even number of values the lower middle one."""
    setting = ranks.read_setting(bounds, beta, floor)
    return ranks.order_statistic(values, ranks.middle, setting).bound


def maximum(values: object, *, bounds: Range, beta: Number, floor: Number | None = None) -> float:
    """Return a smooth bound for the largest value."""
    setting = ranks.read_setting(bounds, beta, floor)
    return ranks.order_statistic(values, ranks.largest, setting).bound


def trimmed_mean(
    values: object, *, trim: Integer, bounds: Range, beta: Number, floor: Number | None = None
) -> float:
    """Return a smooth bound for the mean without the ``trim`` least and largest values.

    Guarantee:
        Neighbours: replace_one, with a public number of records.
        Loss: none by itself; the bound is private.
        Numerics: as for quantile, for the mean of values rounded to 2**-52 of the larger bound.
        Proof: docs/proofs/smooth.md, theorems 3 and 4.
    """
    return ranks.trimmed_mean(values, trim, ranks.read_setting(bounds, beta, floor)).bound


def from_local(
    local: LocalSensitivity,
    *,
    beta: Number,
    global_bound: Number,
    floor: Number | None = None,
    records: Integer | None = None,
) -> float:
    """Return the smooth bound max over k of exp(-beta k) A(k) for a user's function A.

    ``global_bound`` is the global sensitivity, or more. A(k) is asked for k = 0, 1, ... until the
    global bound proves that no later one can be larger. With ``records``, the public number of
    records, it is asked at most so often: as many changes lead to any data set, and from there on
    the global bound takes the place of A(k).

    >>> round(from_local(lambda k: k + 1, beta=0.25, global_bound=10), 6)
    1.889466

    Guarantee:
        Neighbours: those that A and the global bound were made for.
        Loss: none by itself; the bound is private.
        Numerics: as for quantile; the default floor is 2**-30 of the global bound.
        Proof: docs/proofs/smooth.md, theorems 1 and 4.
    """
    most = up(positive("global_bound", global_bound))
    size = None if records is None else positive_whole("records", records)
    return _largest(local, ranks.read_beta(beta), most, ranks.read_floor(floor, most), size)


def sensitivity(
    f: Function,
    dataset: Iterable[object],
    universe: Iterable[object],
    beta: Number,
    neighbours: str,
    *,
    size: Integer | None = None,
    least: Integer = 0,
    ordered: bool = False,
    floor: Number | None = None,
) -> float:
    """Return the smooth sensitivity of any function, by brute force over a small universe.

    It is the largest local sensitivity of a data set, faded by exp(-beta) for each change that it
    is away. All data sets are looked at that records of the universe make: with replace_one those
    of the same size, with add_remove those of ``least`` to ``size`` records, which must be public.
    They are multisets, or in every order if ``ordered``, as for ``sensitivity.check``.

    >>> middle = lambda records: sorted(records)[len(records) // 2]
    >>> round(sensitivity(middle, [0, 0, 1], range(7), 0.5, "replace_one"), 6)
    3.639184

    Guarantee:
        Neighbours: as given, of data sets made of records of the universe.
        Loss: none by itself; the bound is private. The universe and the sizes must be public.
        Numerics: as for quantile, for the numbers that the function returned; the default floor is
            2**-30 of the global sensitivity in the universe.
        Proof: docs/proofs/smooth.md, theorems 1, 4 and A.
    """
    local = local_sensitivity(
        f, dataset, universe, neighbours, size=size, least=least, ordered=ordered
    )
    rate, most = ranks.read_beta(beta), up(local.largest)
    if most == 0 and floor is None:
        return 0.0  # the function is constant, on every data set of the universe
    return _largest(local, rate, most, ranks.read_floor(floor, most), None)


def local_sensitivity(
    f: Function,
    dataset: Iterable[object],
    universe: Iterable[object],
    neighbours: str,
    *,
    size: Integer | None = None,
    least: Integer = 0,
    ordered: bool = False,
) -> Within:
    """Return A(k), the largest local sensitivity within k changes, of any function by brute force.

    The result is a function of k, which `from_local` takes too. Data sets are those of
    `sensitivity`.

    >>> middle = lambda records: sorted(records)[len(records) // 2]
    >>> within = local_sensitivity(middle, [0, 0, 1], range(7), "replace_one")
    >>> [int(within(k)) for k in range(3)]
    [1, 6, 6]
    """
    return changes.within(f, dataset, universe, neighbours, size=size, least=least, ordered=ordered)


def local_quantile(values: object, *, rank: Integer, bounds: Range) -> Windows:
    """Return A(k), the largest local sensitivity within k changes, of the value of a given rank.

    >>> within = local_quantile(range(1, 10), rank=5, bounds=(0, 10))
    >>> [int(within(k)) for k in range(12)]
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]
    """
    return changes.of_rank(values, ranks.at_rank(rank), bounds)


def local_median(values: object, *, bounds: Range) -> Windows:
    """Return A(k) of the median; of an even number of values the lower middle one."""
    return changes.of_rank(values, ranks.middle, bounds)


def local_maximum(values: object, *, bounds: Range) -> Windows:
    """Return A(k) of the largest value."""
    return changes.of_rank(values, ranks.largest, bounds)


def local_trimmed_mean(values: object, *, trim: Integer, bounds: Range) -> Windows:
    """Return A(k) of the mean without the ``trim`` least and largest values."""
    return changes.of_trimmed_mean(values, trim, bounds)


def triangles(edges: object, *, nodes: object, beta: Number, floor: Number | None = None) -> float:
    """Return a smooth bound for the number of triangles of a graph.

    ``edges`` are rows of two ends; ``nodes``, which are public, are a number n, for 0 to n - 1, or
    a list of names. A row that says nothing new, about an end that is no node, about twice the same
    node or about a pair that was there before, is left out.

    >>> round(triangles([(0, 1), (1, 2), (0, 2)], nodes=10, beta=0.1), 6)
    2.246645

    Guarantee:
        Neighbours: one edge added or removed; the nodes are public. As one record for each pair of
            nodes this is replace_one.
        Loss: none by itself; the bound is private.
        Numerics: as for quantile; the default floor is 2**-30 of the number of nodes less 2.
        Proof: docs/proofs/graphs.md, theorems 1 and 2.
    """
    rate, graph = ranks.read_beta(beta), Triangles(read_edges(edges, nodes))
    return graph.smooth(rate, ranks.read_floor(floor, float(graph.most)))


def local_triangles(edges: object, *, nodes: object) -> Triangles:
    """Return A(k) of the number of triangles of a graph; edges and nodes as for `triangles`.

    >>> within = local_triangles([(0, 1), (1, 2), (0, 2)], nodes=10)
    >>> [within(k) for k in range(6)]
    [1, 1, 2, 2, 3, 3]
    """
    return Triangles(read_edges(edges, nodes))


def spanning_tree(
    edges: object, *, nodes: object, largest: Number, beta: Number, floor: Number | None = None
) -> float:
    """Return a smooth bound for the cost of a minimum spanning tree.

    ``edges`` are rows of two ends and a weight, which is clamped to 0 and ``largest``; a missing
    weight counts as the largest, and so does a pair of nodes without an edge. ``nodes``, and rows
    that do not count, are as for `triangles`; of several rows about a pair the lightest counts.

    >>> square = [(0, 1, 1), (1, 2, 1), (2, 3, 2), (3, 0, 1)]
    >>> round(spanning_tree(square, nodes=4, largest=10, beta=0.5), 6)
    5.458776

    Guarantee:
        Neighbours: the weight of one pair of nodes replaced by another one between 0 and
            ``largest``; so one edge added or removed too. The nodes are public.
        Loss: none by itself; the bound is private.
        Numerics: as for quantile; the default floor is 2**-30 of the largest weight.
        Proof: docs/proofs/graphs.md, theorems 3 and 4.
    """
    rate, tree = ranks.read_beta(beta), local_spanning_tree(edges, nodes=nodes, largest=largest)
    return tree.smooth(rate, ranks.read_floor(floor, tree.largest))


def local_spanning_tree(edges: object, *, nodes: object, largest: Number) -> SpanningTree:
    """Return A(k) of the cost of a minimum spanning tree; arguments as for `spanning_tree`.

    >>> square = [(0, 1, 1), (1, 2, 1), (2, 3, 2), (3, 0, 1)]
    >>> within = local_spanning_tree(square, nodes=4, largest=10)
    >>> [within(k) for k in range(4)]
    [1.0, 9.0, 10.0, 10.0]
    """
    most = float(positive("largest", largest))
    return SpanningTree(read_weighted(edges, nodes, most), most)


def _largest(
    local: LocalSensitivity, rate: float, most: float, least: float, records: int | None
) -> float:
    """Return the largest faded A(k), or ``least`` if that is larger."""
    best = least
    last = reach(rate, most, least)
    size = last + 1 if records is None else records
    for k in range(min(size, last) + 1):
        fading = math.exp(-rate * k)
        if most * fading <= best:
            break
        # Were nothing asked beyond, a neighbour's larger A(size) would have no counterpart here.
        found = min(_size(local(k)), most) if k < size else most
        best = max(best, found * fading)
    return ranks.certified(best)


def _size(found: object) -> float:
    """Read one value of a user's function, which is private, and round it to a double."""
    number = isinstance(found, int | float | Fraction | np.integer | np.floating)
    if not number or isinstance(found, bool):
        raise TypeError("a function A(k) must return a number")
    try:
        size = float(found)  # type: ignore[arg-type]  # its type was just checked
    except OverflowError:
        size = math.inf
    if not size >= 0:
        raise ValueError("a function A(k) must return numbers that are not negative")
    return size
