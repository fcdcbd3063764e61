# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of the maximum, the minimum and quantiles of clamped values: the whole range."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from sordino.numbers.rational import Integer, Number, positive_whole
from sordino.sensitivity.arguments import Bounds, read_bounds, read_number, shown
from sordino.sensitivity.counts import Layout, names_of, reach
from sordino.sensitivity.neighbours import Neighbours, Relation, Units, read_relation
from sordino.sensitivity.norms import Sensitivity
from sordino.sensitivity.witness import Rows, Witness, of_number, select

_MOST_SHOWN = 10**6  # values of a data set that shows the worst case of a public size


def maximum(
    *,
    bounds: tuple[Number, Number],
    neighbours: Relation,
    size: Integer | None = None,
    cells: Integer | None = None,
) -> Sensitivity:
    """Return the sensitivity of the largest of some clamped values: the width of the bounds.

    Noise for it drowns the answer; there are better ways to find a maximum. With Units it is that
    of the maxima of all groups together, or of as many ``cells``. ``size`` is only for the witness.

    >>> print(maximum(bounds=(0, 100), neighbours="add_remove"))
    maximum of values from 0 to 100; one record added or removed; moves by at most 100

    Guarantee:
        Neighbours: as given. Without any record the answer is a public number within the bounds.
        Loss: none by itself; no two neighbours are further apart, and the witness is as far.
        Numerics: exact.
        Proof: docs/proofs/sensitivity.md, theorem 7.
    """
    return _quantile(
        "maximum", Fraction(1), read_bounds(bounds), neighbours, size=size, cells=cells
    )


def minimum(
    *,
    bounds: tuple[Number, Number],
    neighbours: Relation,
    size: Integer | None = None,
    cells: Integer | None = None,
) -> Sensitivity:
    """Return the sensitivity of the smallest of some clamped values: the width of the bounds."""
    return _quantile(
        "minimum", Fraction(0), read_bounds(bounds), neighbours, size=size, cells=cells
    )


def quantile(
    *,
    at: Number,
    bounds: tuple[Number, Number],
    neighbours: Relation,
    size: Integer | None = None,
    cells: Integer | None = None,
) -> Sensitivity:
    """Return the sensitivity of a quantile of clamped values: the width of the bounds.

    ``at`` is from 0, the minimum, to 1, the maximum; 0.5 is the median. The quantile of n values
    is the one in place max(1, at n) in their order, rounded up. Rules that take a mean of two
    values move no further.

    >>> s = quantile(at=0.5, bounds=(0, 10), neighbours="replace_one", size=5)
    >>> print(s.witness)
                one      other
      records   2 × 0    2 × 0
                2 × 10   2 × 10
                0        10
      answer    0        10
      moved by  10
    """
    share = read_number("at", at)
    if not 0 <= share <= 1:
        raise ValueError("at must be a number from 0 to 1; write the median as 0.5")
    name = f"quantile {shown(share)}"
    return _quantile(name, share, read_bounds(bounds), neighbours, size=size, cells=cells)


def place_of(share: Fraction, size: int) -> int:
    """Return the place of a quantile among so many values in order, from 1 on.

    >>> place_of(Fraction(1, 2), 5), place_of(Fraction(0), 5), place_of(Fraction(1), 5)
    (3, 1, 5)
    """
    return max(1, math.ceil(share * size))


def _quantile(
    name: str,
    share: Fraction,
    ends: Bounds,
    neighbours: Relation,
    *,
    size: Integer | None,
    cells: Integer | None,
) -> Sensitivity:
    relation = read_relation(neighbours)
    many = None if size is None else positive_whole("size", size)
    if isinstance(relation, Units):
        return _by_group(name, share, ends, relation, cells)
    if cells is not None:
        raise ValueError(f"cells goes with Units; a {name} of records has one answer")
    if relation is Neighbours.add_remove and many is not None:
        raise ValueError("size is for replace_one; under add_remove the size is not public")
    return Sensitivity(
        query=f"{name} of values {ends}",
        l1=ends.width,
        l2_squared=ends.width**2,
        linf=ends.width,
        neighbours=relation,
        whole=ends.whole,
        recipe=partial(_example, share, ends, relation, min(many or 1, _MOST_SHOWN)),
    )


def _example(share: Fraction, ends: Bounds, relation: Neighbours, size: int) -> tuple[Witness, ...]:
    if relation is Neighbours.add_remove:
        before, added = _joining(share, ends)
        after = ends.high + ends.low - before
        return (of_number([Rows(before), Rows(added)], [Rows(before)], (after, before)),)
    place = place_of(share, size)
    # The value in its place is the last of the low ones, until it becomes a high one.
    rest = [Rows(ends.low, place - 1), Rows(ends.high, size - place)]
    one, other = [*rest, Rows(ends.low)], [*rest, Rows(ends.high)]
    return (of_number(one, other, (ends.low, ends.high)),)


def _joining(share: Fraction, ends: Bounds) -> tuple[Fraction, Fraction]:
    """Return a value that is alone, and one that takes the quantile of both to the other end."""
    return (ends.low, ends.high) if place_of(share, 2) == 2 else (ends.high, ends.low)


def _by_group(
    name: str, share: Fraction, ends: Bounds, units: Units, cells: Integer | None
) -> Sensitivity:
    found = reach(units, swing=ends.width, largest=ends.width, cells=cells)
    plural = f"{name} of values {ends}" + ("" if cells == 1 else ", by group")
    return Sensitivity(
        query=plural,
        l1=found.l1,
        l2_squared=found.l2_squared,
        linf=found.linf,
        neighbours=units,
        whole=ends.whole,
        recipe=partial(_examples_by_group, found.layouts, share, ends),
    )


def _examples_by_group(
    layouts: tuple[Layout, ...], share: Fraction, ends: Bounds
) -> tuple[Witness, ...]:
    before, added = _joining(share, ends)
    after = ends.high + ends.low - before
    found = []
    for layout in layouts:
        both, first, second = names_of(layout)
        others = [Rows((name, before)) for name in (*first, *second)]
        one = [Rows((name, ends.high)) for name in both] + others
        other = [Rows((name, ends.low)) for name in both] + others
        one += [Rows((name, added)) for name in first]
        other += [Rows((name, added)) for name in second]
        here = [ends.high] * len(both) + [after] * len(first) + [before] * len(second)
        there = [ends.low] * len(both) + [before] * len(first) + [after] * len(second)
        found.append(Witness(tuple(one), tuple(other), (tuple(here), tuple(there))))
    return select(found)
