# SPDX-License-Identifier: Apache-2.0
"""Quantiles of private values, by the exponential mechanism over the points of a public range."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from sordino.mechanisms.choose.interval import Interval, as_interval
from sordino.mechanisms.choose.quantiles.ranks import (
    MOST_RECORDS,
    Records,
    Shells,
    Slab,
    joint_spread,
    read_records,
    tail,
)
from sordino.mechanisms.choose.quantiles.several import (
    MOST_AT_ONCE,
    Cells,
    find,
    plan,
    rank_errors,
    typical_error,
)
from sordino.mechanisms.choose.terms import flips
from sordino.mechanisms.mechanism import fill
from sordino.numbers.columns import read_finite
from sordino.numbers.rational import (
    Integer,
    Number,
    brief,
    confidence_level,
    one_of,
    positive,
    positive_whole,
    probability_or_zero,
    up,
    written,
)
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.fit import calibrate
from sordino.privacy.leaf import RELATIONS, Relation
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Pure
from sordino.randomness.entropy import system
from sordino.randomness.selection import by_flips, by_weight

Method: TypeAlias = Literal["single", "joint", "recursive"]
Mechanism: TypeAlias = Literal["permute_and_flip", "exponential"]
Bounds: TypeAlias = "tuple[Number, Number] | Interval"

_METHODS = ("single", "joint", "recursive")
_MECHANISMS = ("permute_and_flip", "exponential")
_FEW_POINTS = 1 << 26  # beyond this permute-and-flip would gain nothing and take long


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Quantiles:
    """Quantiles of private values, as points of a public range; close to the wanted ranks.

    The quantile q of n records wants q n of them at or before it. A point is behind by as many
    records as its rank is off; one that holds the wanted rank among records equal to it is not
    behind at all. Values are moved to the nearest point of the range before anything else happens.

    ``range`` is a pair of public bounds or an ``Interval``. Integer bounds round the values to
    whole numbers and give integers: of temperatures in (30, 45) the median is 37. For decimals
    state a ``step``: with ``step=0.1`` it is 36.6. Bounds such as (30.0, 45.0) without a step make
    a fine grid of binary fractions, and points like 36.599999999998545. Nothing is refused for
    lying outside: what is beyond a bound counts as that bound.

    ``method`` is how several quantiles are found:
    "joint" draws all at once, by those that are the furthest off on either side; "recursive" finds
    the middle one first, then those on either side of it. By default it is the one that is likely
    to be closer for these parameters. A ``delta`` above 0 lets the levels of "recursive" cost more.
    A single quantile is drawn by permute-and-flip unless the grid is very fine; if it is one of
    many releases, ``mechanism="exponential"`` composes better.

    To read: ``quantiles``, ``interval``, ``epsilon``, ``delta`` and ``neighbours`` as stated,
    ``method`` as chosen, and ``loss``.

    >>> deciles = Quantiles(
    ...     [k / 10 for k in range(1, 10)], range=(0, 500_000), epsilon=1, neighbours="add_remove"
    ... )
    >>> deciles.method, deciles.loss.uses, deciles.loss.epsilon(delta=0)
    ('recursive', 4, 1.0)
    >>> middle = Quantiles([0.5], range=(0, 500_000), epsilon=1, neighbours="add_remove")
    >>> middle
    Quantiles([0.5], range=(0, 500000), epsilon=1, neighbours='add_remove')
    >>> round(middle.accuracy(confidence=0.95), 2)
    16.07

    Guarantee:
        Neighbours: data with one record more or less (add_remove), or with one record replaced
            (replace_one).
        Loss: ``loss``, and so (epsilon, delta); each draw has a bounded range, but for a single
            one by permute-and-flip, which is pure.
        Numerics: exact; no float decides an outcome.
        Proof: docs/proofs/quantiles.md, theorems 2 to 5 (Smith 2011; Kaplan and others 2022).
    """

    quantiles: tuple[Fraction, ...]
    interval: Interval
    epsilon: Fraction
    delta: Fraction
    neighbours: Relation
    method: Method
    mechanism: Mechanism
    loss: Loss = field(compare=False)
    _price: Fraction = field(compare=False)  # of one draw, or of one level

    def __init__(
        self,
        quantiles: Iterable[Number],
        *,
        range: Bounds,  # noqa: A002 - the word for it, and no range of integers is needed here
        epsilon: Number,
        neighbours: Relation,
        method: Method | None = None,
        mechanism: Mechanism | None = None,
        delta: Number = 0,
        step: Number | None = None,
    ) -> None:
        one_of("neighbours", neighbours, RELATIONS)
        if method is not None:
            one_of("method", method, _METHODS)
        fill(
            self,
            quantiles=_read_quantiles(quantiles),
            interval=as_interval(range, step=step),
            epsilon=positive("epsilon", epsilon),
            delta=probability_or_zero("delta", delta),
            neighbours=RELATIONS[RELATIONS.index(neighbours)],  # the plain word
        )
        fill(self, method=self._choose(method))
        fill(self, mechanism=self._pick(mechanism))
        levels = plan(self._sorted).depth if self.method == "recursive" else 1
        price = self._afford(levels)
        kind = BoundedRange if self.mechanism == "exponential" else Pure
        fill(self, _price=price, loss=levels * single(kind(epsilon=price)).under(neighbours))

    def __repr__(self) -> str:
        wanted = ", ".join(written(q) for q in self.quantiles)
        text = repr(self.interval)
        if text == repr(self.interval.plain()) and not self.interval.base:
            text = text.removeprefix("Interval")
        parts = [f"Quantiles([{wanted}]", f"range={text}", f"epsilon={written(self.epsilon)}"]
        parts.append(f"neighbours={self.neighbours!r}")
        if self.method != "single":
            parts.append(f"method={self.method!r}")
        elif self.mechanism != self._pick(None):
            parts.append(f"mechanism={self.mechanism!r}")
        if self.delta:
            parts.append(f"delta={written(self.delta)}")
        return ", ".join(parts) + ")"

    def release(self, values: object, counts: object = None) -> list[int] | list[float]:
        """Return a point for each quantile, in the order in which they were asked for.

        A larger quantile never gets a smaller point. With ``counts`` the values are distinct, or
        buckets, and stand for so many records each.
        """
        records = read_records(self.interval, values, counts)
        if self.method == "recursive":
            share = self._price / (1 if self.neighbours == "add_remove" else 2)
            points = find(plan(self._sorted), records, self.interval, share, system())
        else:
            points = self._draw(self._slabs(records))
        found = dict(zip(self._sorted, points, strict=True))
        return [self.interval.point(found[q]) for q in self.quantiles]

    def probabilities(
        self, values: object, counts: object = None
    ) -> list[tuple[int | float, int | float, float]]:
        """Return the law of a single quantile: runs of points, from and to, with probabilities.

        All points of a run are equally likely, but for ``base``. It tells about the data all there
        is to tell: for teaching and for tests.

        Guarantee: none; the result is as private as the values.
        """
        if self.method != "single":
            raise ValueError("the law is written down for a single quantile only")
        records = read_records(self.interval, values, counts)
        (slab,) = self._slabs(records)
        shells = Shells(slab, self._rate, deep=True)
        held = records.points.tolist()
        starts = sorted({0, *held, *(p + 1 for p in held)} - {self.interval.size})
        stops = [*starts[1:], self.interval.size]
        weights = [
            (math.exp(-float(shells.exponent(a))), slab.mass(b) - slab.mass(a))
            for a, b in zip(starts, stops, strict=True)
        ]
        point = self.interval.point
        return [
            (point(a), point(b - 1), probability)
            for a, b, probability in zip(starts, stops, self._law(weights), strict=True)
        ]

    def _law(self, weights: list[tuple[float, int]]) -> list[float]:
        """Return the probabilities of runs of so many points with a weight each."""
        if self.mechanism == "exponential":
            heavy = [weight * size for weight, size in weights]
            return [x / math.fsum(heavy) for x in heavy]
        chances, sizes = (
            np.array(column, dtype=np.float64) for column in zip(*weights, strict=True)
        )
        found: list[float] = (flips(chances, sizes) * sizes).tolist()
        return found

    def accuracy(self, *, confidence: Number, records: Integer | None = None) -> float:
        """Return how many records the ranks are off at most, all at once, with this confidence.

        It holds for every data set. ``records`` is how many there are, at most; the bound for
        "recursive" is smaller the fewer they are, up to 2**39.

        Proof: docs/proofs/quantiles.md, theorem 6.
        """
        failure = 1 - confidence_level(confidence)
        most = MOST_RECORDS if records is None else positive_whole("records", records)
        if self.method == "recursive":
            share = self._price / (1 if self.neighbours == "add_remove" else 2)
            found = rank_errors(plan(self._sorted), self.interval, share, failure, most)
            behind = max(found)
        else:
            points = Fraction(self.interval.total, self.interval.least)
            behind = tail(points ** len(self._sorted) - 1, self._rate, failure)
        return up(min(behind, Fraction(most)) if records is not None else behind)

    @property
    def _sorted(self) -> list[Fraction]:
        return sorted(set(self.quantiles))

    @property
    def _rate(self) -> Fraction:
        """What ranks are multiplied with in a single or joint draw."""
        return self._price / joint_spread(self._sorted, self.neighbours)

    def _draw(self, slabs: list[Slab]) -> list[int]:
        if len(slabs) == 1:
            draw = by_weight if self.mechanism == "exponential" else by_flips
            return [draw(Shells(slabs[0], self._rate, deep=True), system())[1].candidate]
        cells = Cells(slabs, self._rate)
        while True:
            points = cells.places(by_weight(cells, system())[1].candidate)
            # Only points in order may be drawn if the number of records may change. Otherwise any
            # may, and sorting leaves none further off than the furthest was, on either side.
            if self.neighbours == "replace_one" or points == sorted(points):
                return sorted(points)

    def _slabs(self, records: Records) -> list[Slab]:
        run = 0, self.interval.size
        return [
            Slab.between(records, self.interval, run, q, fine=1, tie=True) for q in self._sorted
        ]

    def _choose(self, method: Method | None) -> Method:
        """Return the method asked for, or the one whose typical error is the smaller."""
        wanted = self._sorted
        if len(wanted) == 1:
            return "single"
        if method == "single":
            raise ValueError('method="single" finds one quantile; state "joint" or "recursive"')
        most = MOST_AT_ONCE[self.neighbours]
        crowded = len(wanted) > most
        if method == "joint" and crowded:
            raise ValueError(
                f'method="joint" finds at most {most} different quantiles under '
                f'{self.neighbours}, got {len(wanted)}; method="recursive" finds any number'
            )
        if method is not None or crowded:
            return method or "recursive"
        tree = plan(wanted)
        share = self._afford(tree.depth) / (1 if self.neighbours == "add_remove" else 2)
        # Where records lie densely, the errors and 0 span a gamma variable of shape m, two of them
        # at its ends and the others evenly between.
        joint = (len(wanted) + 2) / 3 * float(joint_spread(wanted, self.neighbours) / self.epsilon)
        return "joint" if joint <= typical_error(tree, share) else "recursive"

    def _pick(self, mechanism: Mechanism | None) -> Mechanism:
        """Return what draws: permute-and-flip for one point of a grid that is not too fine."""
        if mechanism is not None:
            one_of("mechanism", mechanism, _MECHANISMS)
        few = self.interval.uniform and self.interval.size <= _FEW_POINTS
        if self.method == "single" and few and not self.delta:
            return mechanism or "permute_and_flip"
        if mechanism == "permute_and_flip":
            raise ValueError(
                "permute_and_flip finds one quantile, on a grid of at most 2**26 points, without "
                'base and without delta; leave it out or state mechanism="exponential"'
            )
        return "exponential"

    def _afford(self, levels: int) -> Fraction:
        """Return the largest epsilon that so many bounded ranges may have each."""
        even = self.epsilon / levels
        if not self.delta:
            return even
        found = calibrate(
            lambda e: levels * single(BoundedRange(epsilon=e)),
            epsilon=self.epsilon,
            delta=self.delta,
        )
        return max(even, (found.pure or even) / levels)


def quantiles(
    values: object,
    quantiles: Iterable[Number],
    *,
    range: Bounds,  # noqa: A002 - the word for it
    epsilon: Number,
    neighbours: Relation,
    counts: object = None,
    method: Method | None = None,
    mechanism: Mechanism | None = None,
    delta: Number = 0,
    step: Number | None = None,
) -> list[int] | list[float]:
    """Return private quantiles of values, in the order in which they were asked for.

    Integer bounds in ``range`` round the values to whole numbers; for decimals state a ``step``,
    such as 0.1, or give floats as bounds. The arguments are those of ``Quantiles``.

    Guarantee: as for Quantiles.
    """
    choice = Quantiles(
        quantiles,
        range=range,
        epsilon=epsilon,
        neighbours=neighbours,
        method=method,
        mechanism=mechanism,
        delta=delta,
        step=step,
    )
    return choice.release(values, counts)


def median(
    values: object,
    *,
    range: Bounds,  # noqa: A002 - the word for it
    epsilon: Number,
    neighbours: Relation,
    counts: object = None,
    mechanism: Mechanism | None = None,
    step: Number | None = None,
) -> int | float:
    """Return a private median of values.

    Integer bounds in ``range`` round the values to whole numbers; for decimals state a ``step``,
    such as 0.1, or give floats as bounds. The arguments are those of ``Quantiles``.

    >>> ages = [34] * 1000
    >>> median(ages, range=(0, 120), epsilon=1, neighbours="add_remove")
    34
    >>> degrees = [36.6] * 1000
    >>> median(degrees, range=(30, 45), epsilon=1, neighbours="add_remove")
    37
    >>> median(degrees, range=(30, 45), step=0.1, epsilon=1, neighbours="add_remove")
    36.6

    Guarantee: as for Quantiles.
    """
    found = quantiles(
        values,
        [Fraction(1, 2)],
        range=range,
        epsilon=epsilon,
        neighbours=neighbours,
        counts=counts,
        mechanism=mechanism,
        step=step,
    )
    return found[0]


def _read_quantiles(quantiles: Iterable[Number]) -> tuple[Fraction, ...]:
    if isinstance(quantiles, str | bytes) or not isinstance(quantiles, Iterable):
        raise TypeError("quantiles must be a list of numbers from 0 to 1, such as [0.25, 0.5]")
    found = tuple(_read_quantile(q) for q in quantiles)
    if not found:
        raise ValueError("quantiles must hold at least one number from 0 to 1")
    return found


def _read_quantile(value: object) -> Fraction:
    rule = "a number from 0 to 1"
    q = read_finite("a quantile", value, rule=rule)
    if not 0 <= q <= 1:
        hint = f"; write {brief(q)} % as {brief(q / 100)}" if 1 < q <= 100 else ""
        raise ValueError(f"a quantile must be {rule}, got {brief(q)}{hint}")
    return q
