# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of sums, means, variances, extremes and quantiles of clamped values."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Literal

from sordino.numbers.rational import Integer, Number, positive_whole
from sordino.sensitivity.arguments import Bounds, read_bounds, read_number, read_records, shown
from sordino.sensitivity.counts import Layout, names_of, of_one_answer, reach
from sordino.sensitivity.neighbours import Neighbours, Relation, Units, read_relation
from sordino.sensitivity.norms import Sensitivity
from sordino.sensitivity.witness import Rows, Witness, kept, of_number, select

_MEAN = (
    "under add_remove the number of records is not public, and over all sizes the mean moves by "
    "half the range; release a noisy sum over a noisy count"
)
_VARIANCE = (
    "under add_remove the number of records is not public, and over all sizes the variance moves "
    "by as much as it can be; release a noisy sum, a noisy sum of squares and a noisy count"
)
_SUMS = "release a noisy sum over a noisy count, both with these Units"


def sum(  # noqa: A001 - the name of the query; called as sensitivity.sum
    *,
    bounds: tuple[Number, Number] | None = None,
    neighbours: Relation,
    cells: Integer | None = None,
) -> Sensitivity:
    """Return the sensitivity of the sum of values that are clamped to bounds.

    A record that comes or goes moves it by up to the largest absolute value; one that is replaced
    by up to the width of the bounds. With Units it is that of the sums of all groups together;
    ``cells`` says how many groups are answered, 1 for a single sum. Then bounds may be left
    out if there is an amount. Integer bounds mean that the values are integers.

    >>> print(sum(bounds=(10_000, 100_000), neighbours="replace_one"))
    sum of values from 10000 to 100000; one record replaced; moves by at most 90000
    >>> sum(bounds=(10_000, 100_000), neighbours="add_remove").l1
    Fraction(100000, 1)

    Guarantee:
        Neighbours: as given.
        Loss: none by itself; no two neighbours are further apart, and the witness is as far.
        Numerics: exact, for a sum without rounding errors; sums of doubles have more.
        Proof: docs/proofs/sensitivity.md, theorems 4 and 8.
    """
    relation = read_relation(neighbours)
    if isinstance(relation, Units):
        return _sums(relation, None if bounds is None else read_bounds(bounds), cells)
    if cells is not None:
        raise ValueError("cells goes with Units; a sum of records has one answer")
    ends = read_bounds(bounds)
    if relation is Neighbours.add_remove:
        moved, witness = ends.largest, of_number([Rows(ends.extreme)], [], (ends.extreme, 0))
    else:
        moved = ends.width
        witness = of_number([Rows(ends.high)], [Rows(ends.low)], (ends.high, ends.low))
    recipe = partial(_given, witness)
    return of_one_answer(f"sum of values {ends}", relation, moved, recipe, whole=ends.whole)


def mean(*, bounds: tuple[Number, Number], size: Integer, neighbours: Relation) -> Sensitivity:
    """Return the sensitivity of the mean of a public number of clamped values.

    >>> print(mean(bounds=(0, 100), size=50, neighbours="replace_one"))
    mean of 50 values from 0 to 100; one record replaced; moves by at most 2
    >>> mean(bounds=(0, 100), size=50, neighbours="add_remove")
    Traceback (most recent call last):
    ValueError: under add_remove the number of records is not public, and over all sizes the mean \
moves by half the range; release a noisy sum over a noisy count

    Guarantee:
        Neighbours: replace_one; ``size`` is public then.
        Loss: none by itself; no two neighbours are further apart, and the witness is as far.
        Numerics: exact, for a mean without rounding errors.
        Proof: docs/proofs/sensitivity.md, theorem 5.
    """
    relation = read_records(neighbours, "the mean", instead=_SUMS)
    if relation is Neighbours.add_remove:
        raise ValueError(_MEAN)
    ends, many = read_bounds(bounds), positive_whole("size", size)
    moved = ends.width / many
    recipe = partial(_one_moves, ends, many, (ends.low, ends.low + moved))
    return of_one_answer(f"mean of {many} values {ends}", relation, moved, recipe, whole=False)


def variance(
    *,
    bounds: tuple[Number, Number],
    size: Integer,
    neighbours: Relation,
    divisor: Literal["n", "n-1"],
) -> Sensitivity:
    """Return the sensitivity of the variance of a public number of clamped values.

    The squared distances from the mean are added up and divided by the number of values, "n", or
    by one less, "n-1".

    >>> print(variance(bounds=(0, 10), size=5, neighbours="replace_one", divisor="n"))
    variance of 5 values from 0 to 10; one record replaced; moves by at most 16
    >>> variance(bounds=(0, 10), size=5, neighbours="replace_one", divisor="n-1").l1
    Fraction(20, 1)

    Guarantee:
        Neighbours: replace_one; ``size`` is public then.
        Loss: none by itself; no two neighbours are further apart, and the witness is as far.
        Numerics: exact, for a variance without rounding errors.
        Proof: docs/proofs/sensitivity.md, theorem 6.
    """
    if divisor not in ("n", "n-1"):
        raise ValueError("divisor must be 'n' or 'n-1'")
    relation = read_records(
        neighbours, "the variance", instead="release noisy sums of the values and their squares"
    )
    if relation is Neighbours.add_remove:
        raise ValueError(_VARIANCE)
    ends, many = read_bounds(bounds), positive_whole("size", size)
    if divisor == "n-1" and many == 1:
        raise ValueError("the variance with divisor 'n-1' needs a size of at least 2")
    by = many if divisor == "n" else many - 1
    moved = Fraction(many - 1, many * by) * ends.width**2
    name = f"variance of {many} values {ends}" + (", divisor n-1" if by < many else "")
    recipe = partial(_one_moves, ends, many, (Fraction(0), moved))
    return of_one_answer(name, relation, moved, recipe, whole=False)


def _one_moves(ends: Bounds, size: int, answers: tuple[Fraction, Fraction]) -> tuple[Witness, ...]:
    """Show all values at the low end, and then one of them at the high end."""
    rest = Rows(ends.low, size - 1)
    return (of_number([rest, Rows(ends.low)], [rest, Rows(ends.high)], answers),)


def _given(witness: Witness) -> tuple[Witness, ...]:
    return (witness,)


def _sums(units: Units, ends: Bounds | None, cells: Integer | None) -> Sensitivity:
    """Return the sensitivity of sums, one for each group."""
    shares = _shares(units, ends)
    found = reach(units, swing=shares.width, largest=shares.largest, cells=cells)
    values = "" if ends is None else f" of values {ends}"
    query = f"sum{values}" if cells == 1 else f"sums{values} by group"
    recipe = partial(_sums_by_group, found.layouts, shares, units, ends)
    return found.sensitivity(query, units, recipe, whole=shares.whole)


def _shares(units: Units, ends: Bounds | None) -> Bounds:
    """Return what a person can add to the sum of a group, 0 for no rows included."""
    if units.amount is None and (units.rows is None or ends is None):
        what = "rows=... or amount=..." if units.rows is None else "bounds for the values"
        raise ValueError(f"a sum needs a limit on what a person adds to a group: give {what}")
    low, high, whole = units.amount, units.amount, units.whole
    if ends is not None:
        down, up = max(-ends.low, Fraction(0)), max(ends.high, Fraction(0))
        whole = whole and ends.whole
        if units.rows is not None:
            down, up = down * units.rows, up * units.rows
            low, high = min(low or down, down), min(high or up, up)
        elif low is not None and high is not None:
            low, high = low * (down > 0), high * (up > 0)
    if low is None or high is None:
        raise ValueError("a sum needs a limit on what a person adds to a group")
    return Bounds(low=-low, high=high, whole=whole)


def _sums_by_group(
    layouts: tuple[Layout, ...],
    shares: Bounds,
    units: Units,
    ends: Bounds | None,
) -> tuple[Witness, ...]:
    def line(name: str, total: Fraction) -> Rows:
        """Show rows at a bound if they add up to the total, else the total."""
        rows = units.rows
        if rows and ends and total in (rows * ends.low, rows * ends.high):
            return Rows((name, total / rows), rows)
        return Rows((name, total), int(total != 0))

    found = []
    for layout in layouts:
        both, first, second = names_of(layout)
        one = kept([line(n, shares.high) for n in both] + [line(n, shares.extreme) for n in first])
        other = kept(
            [line(n, shares.low) for n in both] + [line(n, shares.extreme) for n in second]
        )
        nothing = Fraction(0)
        here = [shares.high] * layout.both + [shares.extreme] * layout.one
        there = [shares.low] * layout.both + [nothing] * layout.one
        answers = (
            tuple(here + [nothing] * layout.other),
            tuple(there + [shares.extreme] * layout.other),
        )
        found.append(Witness(one, other, answers))
    return select(found)


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
        return _quantiles(name, share, ends, relation, cells)
    if cells is not None:
        raise ValueError(f"cells goes with Units; a {name} of records has one answer")
    if relation is Neighbours.add_remove and many is not None:
        raise ValueError("size is for replace_one; under add_remove the size is not public")
    recipe = partial(_example, share, ends, relation, min(many or 1, _MOST_SHOWN))
    query = f"{name} of values {ends}"
    return of_one_answer(query, relation, ends.width, recipe, whole=ends.whole)


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


def _quantiles(
    name: str, share: Fraction, ends: Bounds, units: Units, cells: Integer | None
) -> Sensitivity:
    found = reach(units, swing=ends.width, largest=ends.width, cells=cells)
    plural = f"{name} of values {ends}" + ("" if cells == 1 else ", by group")
    recipe = partial(_examples_by_group, found.layouts, share, ends)
    return found.sensitivity(plural, units, recipe, whole=ends.whole)


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
