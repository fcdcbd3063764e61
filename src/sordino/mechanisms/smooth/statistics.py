# SPDX-License-Identifier: Apache-2.0
"""Private medians, quantiles, maxima and trimmed means, with noise as wide as the data need."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.smooth.mechanism import Calibration, NoiseName, Smooth
from sordino.mechanisms.smooth.noise import Noise
from sordino.numbers.rational import Integer, Number, finite, is_integer, positive
from sordino.sensitivity import order_statistics as ranks
from sordino.sensitivity.arguments import read_bounds
from sordino.sensitivity.order_statistics import read_beta, read_floor, read_values
from sordino.sensitivity.smooth import (
    LocalSensitivity,
    Range,
    from_local,
    local_spanning_tree,
    local_triangles,
)


class NoiseShape(TypedDict, total=False):
    """How the noise is made, as for Smooth: "cauchy" and "exact" unless something else is said.

    Without a ``beta`` each noise chooses its own, and without a ``step`` the statistic does.
    """

    noise: NoiseName | Noise
    beta: Number | None
    calibration: Calibration
    step: Number | None


class Shape(NoiseShape, total=False):
    """How the noise is made, with a ``floor`` of the smooth bound, which is the step by default."""

    floor: Number | None


_STEP_BITS = 30  # the default step is at most 2**-30 of the range, and more than half of that


def median(
    values: object,
    *,
    bounds: Range,
    epsilon: Number,
    delta: Number = 0,
    clamp: bool = True,
    **shape: Unpack[Shape],
) -> float:
    """Release the median of values clamped to public bounds; the lower of two middle ones.

    A value that is missing, which is None or NaN, counts as the lower bound: an error would tell
    that there is one. Leave out records without a value only if their number is public.

    ``noise``, ``beta`` and ``calibration`` are those of Smooth. Results are multiples of ``step``,
    by default a power of two of about 2**-30 of the range, which is also the ``floor`` of the
    smooth bound; unless ``clamp`` is False they stay within the bounds.

    Guarantee:
        Neighbours: replace_one, with a public number of records.
        Loss: epsilon, or (epsilon, delta), for each call.
        Numerics: exact; the smooth bound is rounded up in a way that keeps it smooth.
        Proof: docs/proofs/smooth.md.
    """
    made = _mechanism(bounds, clamp, epsilon, delta, shape)
    return _release_rank(made, values, ranks.middle, bounds)


def quantile(
    values: object,
    *,
    rank: Integer,
    bounds: Range,
    epsilon: Number,
    delta: Number = 0,
    clamp: bool = True,
    **shape: Unpack[Shape],
) -> float:
    """Release the value of a public rank, from 1 for the least one."""
    place = ranks.at_rank(rank)
    made = _mechanism(bounds, clamp, epsilon, delta, shape)
    return _release_rank(made, values, place, bounds)


def maximum(
    values: object,
    *,
    bounds: Range,
    epsilon: Number,
    delta: Number = 0,
    clamp: bool = True,
    **shape: Unpack[Shape],
) -> float:
    """Release the largest value.

    One record can always raise it to the upper bound, so the noise is as wide as what is missing to
    that bound, and more: a bound far above the data makes this useless.
    """
    made = _mechanism(bounds, clamp, epsilon, delta, shape)
    return _release_rank(made, values, ranks.largest, bounds)


def trimmed_mean(
    values: object,
    *,
    trim: Integer,
    bounds: Range,
    epsilon: Number,
    delta: Number = 0,
    clamp: bool = True,
    **shape: Unpack[Shape],
) -> float:
    """Release the mean of what is left without the ``trim`` least and the ``trim`` largest values.

    The default step is made for the range of the values; the mean of many records moves by much
    less, and a smaller ``step`` may be wanted.
    """
    made = _mechanism(bounds, clamp, epsilon, delta, shape)
    setting = ranks.read_setting(bounds, made.beta, made.floor)
    return made.release(*ranks.trimmed_mean(values, trim, setting))


def custom(
    value: object,
    local: LocalSensitivity,
    *,
    global_bound: Number,
    records: Integer | None = None,
    bounds: Range | None = None,
    epsilon: Number,
    delta: Number = 0,
    **shape: Unpack[Shape],
) -> float:
    """Release a user's own statistic, whose local sensitivity within k changes is local(k).

    ``value`` is the statistic of the data, and ``local`` belongs to the same data: see
    LocalSensitivity for what it must keep to. ``global_bound`` is the global sensitivity, or more,
    and ``records`` the public number of records, from which on it takes the place of local(k). With
    ``bounds``, which are public, results are moved into them.

    Guarantee:
        Neighbours: those that ``local`` and ``global_bound`` were made for.
        Loss: epsilon, or (epsilon, delta), for each call, if these keep to what is asked of them.
        Numerics: as for median; the value must be exact, or its error be part of ``local``.
        Proof: docs/proofs/smooth.md, theorem 1.
    """
    made = _smooth(positive("global_bound", global_bound), epsilon, delta, bounds, shape)
    bound = from_local(
        local, beta=made.beta, global_bound=global_bound, floor=made.floor, records=records
    )
    return made.release(value, bound)


def _mechanism(bounds: Range, clamp: bool, epsilon: Number, delta: Number, shape: Shape) -> Smooth:
    ends = read_bounds(bounds)
    if ends.width == 0:
        raise ValueError("bounds must be (low, high) with low below high")
    return _smooth(ends.width, epsilon, delta, bounds if clamp else None, shape)


def _smooth(
    span: Fraction, epsilon: Number, delta: Number, bounds: Range | None, shape: Shape
) -> Smooth:
    """Return the mechanism for a statistic that moves over a span."""
    given: dict[str, Any] = dict(shape)
    if given.get("step") is None:
        given["step"] = default_step(span)
    return Smooth(epsilon=epsilon, delta=delta, bounds=bounds, **given)


def default_step(span: Fraction) -> Fraction:
    """Return a power of two that is at most 2**-30 of a range, and more than half of that."""
    _, exponent = math.frexp(float(span))
    return Fraction(2) ** (exponent - 1 - _STEP_BITS)


def _release_rank(made: Smooth, values: object, rank: ranks.Rank, bounds: Range) -> float:
    setting = ranks.read_setting(bounds, made.beta, made.floor)
    return made.release(*ranks.order_statistic(values, rank, setting))


Floats = npt.NDArray[np.float64]

_POINTS = "points must be a list or a table of rows, each of as many numbers as a centre"


def cluster_radii(
    points: object,
    centres: Iterable[Iterable[Number]],
    *,
    trim: Integer,
    largest: Number,
    epsilon: Number,
    delta: Number = 0,
    **shape: Unpack[NoiseShape],
) -> list[float]:
    """Release how far from its centre each cluster reaches, without its ``trim`` farthest points.

    Each point belongs to the nearest of the ``centres``, the first one of several. The centres are
    public: given beforehand, or found from other data, or from these with a mechanism that has been
    paid for. Distances count up to ``largest``. The diameter of what is left of a cluster is at
    most twice its radius. A cluster of no more than ``trim`` points has the radius 0. A point with
    a missing coordinate is in no cluster.

    With several centres each radius gets half of the epsilon and of the delta, however many there
    are. ``noise``, ``beta``, ``calibration`` and ``step`` are those of quantile.

    >>> radii = cluster_radii(
    ...     [(0, 1), (0, 2), (9, 9)], [(0, 0), (9, 8)], trim=0, largest=5, epsilon=1
    ... )
    >>> len(radii)
    2

    Guarantee:
        Neighbours: replace_one, with a public number of points and public centres.
        Loss: epsilon, or (epsilon, delta), for each call, all radii together.
        Numerics: as for quantile, for distances that are computed as doubles, each from one point.
        Proof: docs/proofs/graphs.md, theorem 5; docs/proofs/smooth.md.
    """
    places = _read_centres(centres)
    most = float(positive("largest", largest))
    columns = _read_points(points, places.shape[1])
    size = columns.shape[1]
    if not is_integer(trim) or not 0 <= trim < size:
        raise ValueError("trim must be a whole number, at least 0 and below the number of points")
    parts = 2 if len(places) > 1 else 1
    return [
        quantile(
            reached,
            rank=size - int(trim),
            bounds=(0, most),
            epsilon=positive("epsilon", epsilon) / parts,
            delta=finite("delta", delta) / parts,
            **shape,
        )
        for reached in _reached(columns, places)
    ]


def _reached(columns: Floats, centres: Floats) -> list[Floats]:
    """Return for each centre the distances of its points, and 0 for all other points."""
    squares = np.zeros((len(centres), columns.shape[1]))
    with np.errstate(over="ignore"):  # distances beyond all doubles are infinite, and clamped later
        for place, column in enumerate(columns):  # one coordinate after the other, point by point
            apart = column - centres[:, place, np.newaxis]
            squares += apart * apart
    lost = np.isnan(squares).any(axis=0)
    nearest = np.where(lost, -1, np.argmin(np.where(lost, 0.0, squares), axis=0))
    return [
        np.where(nearest == centre, np.sqrt(squares[centre]), 0.0) for centre in range(len(centres))
    ]


def _read_centres(centres: object) -> Floats:
    if isinstance(centres, str) or not isinstance(centres, Iterable):
        raise TypeError("centres must be a list of points")
    rows = [[float(finite("a coordinate of a centre", x)) for x in row] for row in centres]
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise ValueError("centres must be points of the same dimension, at least one")
    return np.array(rows)


def _read_points(points: Any, dimension: int) -> Floats:
    """Return the coordinates column by column; a missing one is NaN."""
    if hasattr(points, "itertuples"):
        points = list(points.itertuples(index=False, name=None))
    rows = points.tolist() if isinstance(points, np.ndarray) else points
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise TypeError(_POINTS)
    rows = list(rows)
    if not all(isinstance(row, tuple | list) and len(row) == dimension for row in rows):
        raise TypeError(_POINTS)
    if not rows:
        raise ValueError("points must hold at least one point")
    return np.array([read_values(column, np.nan) for column in map(list, zip(*rows, strict=True))])


_LEAST_TRIANGLES = Fraction(1, 1024)  # the floor of a bound that is seldom below one triangle


def triangles(
    edges: object,
    *,
    nodes: object,
    epsilon: Number,
    delta: Number = 0,
    clamp: bool = True,
    **shape: Unpack[Shape],
) -> float:
    """Release the number of triangles of a graph whose edges are private.

    ``edges`` are rows of two ends: a list of pairs, an array or a table. ``nodes``, which are
    public, are a number n, for 0 to n - 1, or a list of names. Rows about other ends, about twice
    the same node or about a pair that was there before are left out: an error would tell about one.

    ``noise``, ``beta`` and ``calibration`` are those of Smooth. Results are multiples of ``step``,
    whole numbers by default; unless ``clamp`` is False they are no less than 0 and no more than all
    triangles that so many nodes can have. The ``floor`` of the smooth bound is 1/1024 by default.

    >>> isinstance(triangles([(0, 1), (1, 2), (0, 2)], nodes=10, epsilon=1), float)
    True

    Guarantee:
        Neighbours: one edge added or removed; the nodes are public. As one record for each pair of
            nodes this is replace_one. Nothing is promised about all edges of a node at once.
        Loss: epsilon, or (epsilon, delta), for each call.
        Numerics: exact; the smooth bound is rounded up in a way that keeps it smooth.
        Proof: docs/proofs/graphs.md, theorems 1 and 2; docs/proofs/smooth.md.
    """
    graph = local_triangles(edges, nodes=nodes)
    ends = (0, math.comb(graph.most + 2, 3)) if clamp else None
    given: dict[str, Any] = {"step": 1, **shape}
    if given.get("floor") is None:
        given["floor"] = _LEAST_TRIANGLES
    made = Smooth(epsilon=epsilon, delta=delta, bounds=ends, **given)
    least = read_floor(made.floor, float(graph.most))
    return made.release(graph.count, graph.smooth(read_beta(made.beta), least))


def spanning_tree(
    edges: object,
    *,
    nodes: object,
    largest: Number,
    epsilon: Number,
    delta: Number = 0,
    clamp: bool = True,
    **shape: Unpack[Shape],
) -> float:
    """Release the cost of a minimum spanning tree of a graph whose edges and weights are private.

    ``edges`` are rows of two ends and a weight, which is clamped to 0 and ``largest``, a public
    number. A pair of nodes without an edge costs ``largest`` too, so there is always a tree.
    ``nodes`` and rows that are left out are as for triangles; of several rows about a pair the
    lightest counts, and a missing weight counts as the largest.

    Results are multiples of ``step``, by default a power of two of about 2**-30 of the largest
    weight, which is also the ``floor`` of the smooth bound. Noise is small where every node has
    several light edges: a node with a single edge is enough to make it as wide as ``largest``.

    >>> roads = [(0, 1, 2.5), (1, 2, 1.5), (0, 2, 3)]
    >>> 0 <= spanning_tree(roads, nodes=3, largest=10, epsilon=1) <= 20
    True

    Guarantee:
        Neighbours: the weight of one pair of nodes replaced by another one between 0 and
            ``largest``; so one edge added or removed too. The nodes are public.
        Loss: epsilon, or (epsilon, delta), for each call.
        Numerics: exact; the smooth bound is rounded up in a way that keeps it smooth.
        Proof: docs/proofs/graphs.md, theorems 3 and 4; docs/proofs/smooth.md.
    """
    tree = local_spanning_tree(edges, nodes=nodes, largest=largest)
    ends = (0, Fraction(tree.largest) * (tree.nodes - 1)) if clamp else None
    made = _smooth(positive("largest", largest), epsilon, delta, ends, shape)
    least = read_floor(made.floor, tree.largest)
    return made.release(tree.cost, tree.smooth(read_beta(made.beta), least))
