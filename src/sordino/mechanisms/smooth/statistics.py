# SPDX-License-Identifier: Apache-2.0
"""Private medians, quantiles, maxima and trimmed means, with noise as wide as the data need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.mechanism import Mechanism, fill
from sordino.mechanisms.smooth.noise import (
    CauchyNoise,
    LaplaceNoise,
    LomaxNoise,
    Noise,
    PowerNoise,
    StudentNoise,
    half_width,
)
from sordino.numbers.rational import (
    Integer,
    Number,
    confidence_level,
    finite,
    is_integer,
    nearest,
    positive,
    probability_or_zero,
)
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Approximate, Pure
from sordino.randomness.entropy import system
from sordino.randomness.tables import rounded
from sordino.sensitivity import order_statistics as ranks
from sordino.sensitivity.norms import read_bounds
from sordino.sensitivity.order_statistics import LEAST_BETA, read_beta, read_floor, read_values
from sordino.sensitivity.smooth import (
    LocalSensitivity,
    Range,
    from_local,
    local_spanning_tree,
    local_triangles,
)

NoiseName: TypeAlias = Literal["cauchy", "lomax", "power", "student", "laplace"]
Calibration: TypeAlias = Literal["exact", "nissim"]
T = TypeVar("T", Fraction, "Fraction | None")

_LARGEST_EPSILON = 1000
_NAMES: dict[str, type[Noise]] = {
    kind.name: kind for kind in (CauchyNoise, LomaxNoise, PowerNoise, StudentNoise, LaplaceNoise)
}
_STEP_BITS = 30  # the default step is at most 2**-30 of the range, and more than half of that
Floats = npt.NDArray[np.float64]
_POINTS = "points must be a list or a table of rows, each of as many numbers as a centre"
_LEAST_TRIANGLES = Fraction(1, 1024)  # the floor of a bound that is seldom below one triangle


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Smooth(Mechanism):
    """Noise of the width ``scale_factor`` times a smooth bound of the local sensitivity.

    ``noise`` is "cauchy", "lomax", "power", "student" or "laplace", or one of CauchyNoise,
    LomaxNoise, PowerNoise, StudentNoise and LaplaceNoise; only Laplace noise takes a ``delta``, and
    needs one. Smooth bounds handed to ``release`` must be smooth for the ``beta`` of the mechanism,
    which each noise chooses by a public rule of its own unless it is given. With
    ``calibration="nissim"`` it has the constants of textbooks instead, for comparison; they are
    refused where they are false.

    Results are multiples of ``step``. A bound below ``floor``, by default one step, counts as that.
    With ``bounds``, results outside of them are moved to the nearer end.

    To read: ``noise``, ``epsilon``, ``delta``, ``beta``, ``calibration``, ``step``, ``floor`` and
    ``bounds``, ``scale_factor`` and ``loss``.

    >>> m = Smooth(noise="cauchy", epsilon=1, step=2**-10)
    >>> float(m.beta), float(m.scale_factor), m.loss.epsilon(delta=0)
    (0.7353256640555192, 0.9595173756674719, 1.0)
    >>> m.accuracy(confidence=0.95)
    12.191824223147956

    Guarantee:
        Neighbours: those that the smooth bound is for; replace_one for all of this library's.
        Loss: epsilon, or (epsilon, delta), for each release.
        Numerics: exact. The result is the rounding of one ideal real number to a public grid.
        Proof: docs/proofs/smooth.md.
    """

    noise: Noise
    epsilon: Fraction
    delta: Fraction
    beta: Fraction
    calibration: Calibration
    step: Fraction
    floor: Fraction
    bounds: tuple[float, float] | None
    scale_factor: Fraction = field(compare=False)
    loss: Loss = field(compare=False)

    def __init__(
        self,
        *,
        noise: NoiseName | Noise = "cauchy",
        epsilon: Number,
        delta: Number = 0,
        beta: Number | None = None,
        calibration: Calibration = "exact",
        step: Number,
        floor: Number | None = None,
        bounds: tuple[Number, Number] | None = None,
    ) -> None:
        law, price = _law(noise), positive("epsilon", epsilon)
        slack = probability_or_zero("delta", delta)
        if price > _LARGEST_EPSILON:
            raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON} for smooth sensitivity")
        rate = None if beta is None else positive("beta", beta)
        if calibration == "nissim":
            rate, factor = law.textbook(epsilon=price, delta=slack, beta=_fast_enough(rate))
            _fast_enough(rate)
        elif calibration == "exact":
            law, rate = law.fitted(epsilon=price, delta=slack, beta=_fast_enough(rate))
            factor = law.factor(epsilon=price, delta=slack, beta=_fast_enough(rate))
        else:
            raise ValueError(f"calibration must be 'exact' or 'nissim', got {calibration!r}")
        grid = positive("step", step)
        leaf = Approximate(epsilon=price, delta=slack) if slack else Pure(epsilon=price)
        fill(
            self,
            noise=law,
            epsilon=price,
            delta=slack,
            beta=rate,
            calibration=calibration,
            step=grid,
            floor=grid if floor is None else positive("floor", floor),
            bounds=None if bounds is None else _ends(bounds),
            scale_factor=factor,
            loss=single(leaf).under("replace_one"),
        )

    def release(self, value: object, smooth_bound: object) -> float:
        """Return the value with fresh noise, on the grid, as a double.

        Floats mean exactly the binary numbers that they are. A result beyond the largest double
        becomes the largest double.
        """
        exact, bound = _private(value), _private(smooth_bound)
        if bound < 0:
            raise ValueError("a smooth bound is not negative")
        steps = rounded(
            self.noise.cumulative,
            centre=exact / self.step,
            scale=self.scale_factor * max(bound, self.floor) / self.step,
            bits=system(),
        )
        noisy = nearest(steps * self.step)
        return noisy if self.bounds is None else min(max(noisy, self.bounds[0]), self.bounds[1])

    def accuracy(self, *, confidence: Number) -> float:
        """Return the half-width that the noise keeps to, in units of the smooth bound.

        The smooth bound is private, so no half-width is public but this multiple of it. Rounding
        adds half a step.
        """
        return half_width(self.noise, self.scale_factor, confidence_level(confidence))


def _law(noise: object) -> Noise:
    if isinstance(noise, str) and noise in _NAMES:
        return _NAMES[noise]()
    if isinstance(noise, Noise):
        return noise
    raise ValueError(f"noise must be one of {', '.join(map(repr, _NAMES))}")


def _fast_enough(beta: T) -> T:
    """Return beta, unless it is so small that it only stands for the global sensitivity."""
    if beta is not None and beta < LEAST_BETA:
        raise ValueError("beta must be at least 1e-9; give a larger epsilon or beta")
    return beta


def _ends(bounds: object) -> tuple[float, float]:
    ends = read_bounds(bounds)
    return float(ends.low), float(ends.high)


def _private(value: object) -> Fraction:
    """Read a private number exactly; messages name its type only."""
    if is_integer(value):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, float | np.floating):
        raise TypeError(f"release takes numbers, not a value of type {type(value).__name__}")
    try:
        above, below = value.as_integer_ratio()
    except (ValueError, OverflowError):
        raise ValueError("a value that is NaN or infinite cannot be released") from None
    return Fraction(int(above), int(below))


class NoiseShape(TypedDict, total=False):
    """How the noise is made, as for Smooth: "cauchy" and "exact" unless something else is said.

    Without a ``beta`` each noise chooses its own, and without a ``step`` the statistic does.
    """

    noise: NoiseName | Noise
    beta: Number | None
    calibration: Calibration
    step: Number | None


class Shape(NoiseShape, total=False):
    """How the noise is made, with a ``floor`` of the smooth bound, which is the step by default.

    ``delta`` is what a release may cost besides its epsilon, 0 unless it is stated.
    """

    floor: Number | None
    delta: Number


class Clamped(Shape, total=False):
    """The same for results that stay within public ends, unless ``clamp`` is False."""

    clamp: bool


def median(
    values: object,
    *,
    bounds: Range,
    epsilon: Number,
    **shape: Unpack[Clamped],
) -> float:
    """Release the median of values clamped to public bounds; the lower of two middle ones.

    A value that is missing, which is None or NaN, counts as the lower bound: an error would tell
    that there is one. Leave out records without a value only if their number is public.

    ``noise``, ``beta``, ``calibration`` and ``delta``, which is 0 unless it is stated, are those of
    Smooth. Results are multiples of ``step``, by default a power of two of about 2**-30 of the
    range, which is also the ``floor`` of the smooth bound; unless ``clamp`` is False they stay
    within the bounds.

    Guarantee:
        Neighbours: replace_one, with a public number of records.
        Loss: epsilon, or (epsilon, delta), for each call.
        Numerics: exact; the smooth bound is rounded up in a way that keeps it smooth.
        Proof: docs/proofs/smooth.md.
    """
    made = _mechanism(bounds, epsilon, shape)
    return _release_rank(made, values, ranks.middle, bounds)


def quantile(
    values: object,
    *,
    rank: Integer,
    bounds: Range,
    epsilon: Number,
    **shape: Unpack[Clamped],
) -> float:
    """Release the value of a public rank, from 1 for the least one."""
    place = ranks.at_rank(rank)
    made = _mechanism(bounds, epsilon, shape)
    return _release_rank(made, values, place, bounds)


def maximum(
    values: object,
    *,
    bounds: Range,
    epsilon: Number,
    **shape: Unpack[Clamped],
) -> float:
    """Release the largest value.

    One record can always raise it to the upper bound, so the noise is as wide as what is missing to
    that bound, and more: a bound far above the data makes this useless.
    """
    made = _mechanism(bounds, epsilon, shape)
    return _release_rank(made, values, ranks.largest, bounds)


def trimmed_mean(
    values: object,
    *,
    trim: Integer,
    bounds: Range,
    epsilon: Number,
    **shape: Unpack[Clamped],
) -> float:
    """Release the mean of what is left without the ``trim`` least and the ``trim`` largest values.

    The default step is made for the range of the values; the mean of many records moves by much
    less, and a smaller ``step`` may be wanted.
    """
    made = _mechanism(bounds, epsilon, shape)
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
    made = _smooth(positive("global_bound", global_bound), epsilon, bounds, shape)
    bound = from_local(
        local, beta=made.beta, global_bound=global_bound, floor=made.floor, records=records
    )
    return made.release(value, bound)


def _mechanism(bounds: Range, epsilon: Number, shape: Clamped) -> Smooth:
    ends = read_bounds(bounds)
    if ends.width == 0:
        raise ValueError("bounds must be (low, high) with low below high")
    given: dict[str, Any] = dict(shape)
    return _smooth(ends.width, epsilon, _kept(bounds, given), given)


def _smooth(
    span: Fraction, epsilon: Number, bounds: Range | None, shape: Mapping[str, Any]
) -> Smooth:
    """Return the mechanism for a statistic that moves over a span."""
    given = dict(shape)
    if given.get("step") is None:
        given["step"] = default_step(span)
    return Smooth(epsilon=epsilon, bounds=bounds, **given)


def _kept(bounds: Range, given: dict[str, Any]) -> Range | None:
    """Take ``clamp`` out of what was given, and return the bounds of results if it says so."""
    return bounds if given.pop("clamp", True) else None


def default_step(span: Fraction) -> Fraction:
    """Return a power of two that is at most 2**-30 of a range, and more than half of that."""
    _, exponent = math.frexp(float(span))
    return Fraction(2) ** (exponent - 1 - _STEP_BITS)


def _release_rank(made: Smooth, values: object, rank: ranks.Rank, bounds: Range) -> float:
    setting = ranks.read_setting(bounds, made.beta, made.floor)
    return made.release(*ranks.order_statistic(values, rank, setting))


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


def triangles(
    edges: object,
    *,
    nodes: object,
    epsilon: Number,
    **shape: Unpack[Clamped],
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
    given: dict[str, Any] = {"step": 1, **shape}
    if given.get("floor") is None:
        given["floor"] = _LEAST_TRIANGLES
    ends = _kept((0, math.comb(graph.most + 2, 3)), given)
    made = Smooth(epsilon=epsilon, bounds=ends, **given)
    least = read_floor(made.floor, float(graph.most))
    return made.release(graph.count, graph.smooth(read_beta(made.beta), least))


def spanning_tree(
    edges: object,
    *,
    nodes: object,
    largest: Number,
    epsilon: Number,
    **shape: Unpack[Clamped],
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
    given: dict[str, Any] = dict(shape)
    ends = _kept((0, Fraction(tree.largest) * (tree.nodes - 1)), given)
    made = _smooth(positive("largest", largest), epsilon, ends, given)
    least = read_floor(made.floor, tree.largest)
    return made.release(tree.cost, tree.smooth(read_beta(made.beta), least))
