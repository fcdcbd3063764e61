# SPDX-License-Identifier: Apache-2.0
"""Private radii of clusters around public centres."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import Integer, Number, finite, is_integer, positive
from sordino.mechanisms.smooth.mechanism import Calibration, NoiseName
from sordino.mechanisms.smooth.noise import Noise
from sordino.mechanisms.smooth.statistics import quantile
from sordino.sensitivity.order_statistics import read_values

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
    noise: NoiseName | Noise = "cauchy",
    beta: Number | None = None,
    calibration: Calibration = "exact",
    step: Number | None = None,
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
            reached, rank=size - int(trim), bounds=(0, most),
            epsilon=positive("epsilon", epsilon) / parts, delta=finite("delta", delta) / parts,
            noise=noise, beta=beta, calibration=calibration, step=step,
        )
        for reached in _reached(columns, places)
    ]  # fmt: skip


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
