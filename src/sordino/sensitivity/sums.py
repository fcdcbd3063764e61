# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of counts, and of sums, means, variances, extremes and quantiles."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Literal, NamedTuple

from sordino.numbers.rational import Integer, Number, positive_whole
from sordino.sensitivity.norms import (
    Bounds,
    Neighbours,
    Recipe,
    Relation,
    Rows,
    Sensitivity,
    Units,
    Witness,
    kept,
    of_number,
    read_bounds,
    read_number,
    read_records,
    read_relation,
    select,
    shown,
)

_PER_PERSON = "a count of rows needs a limit on the rows of a person: give Units(..., rows=...)"
_MEAN = (
    "under add_remove the number of records is not public, and over all sizes the mean moves by "
    "half the range; release a noisy sum over a noisy count"
)
_VARIANCE = (
    "under add_remove the number of records is not public, and over all sizes the variance moves "
    "by as much as it can be; release a noisy sum, a noisy sum of squares and a noisy count"
)
_SUMS = "release a noisy sum over a noisy count, both with these Units"
_MOST_SHOWN = 10**6  # values of a data set that shows the worst case of a public size


class Layout(NamedTuple):
    """Where a person has rows in one data set and in the other, counted in groups.

    ``both`` groups have rows of the person in either data set, ``one`` groups only in the first,
    ``other`` groups only in the second.
    """

    both: int
    one: int
    other: int


class Reach(NamedTuple):
    """The norms of the largest moves, and the layouts that attain them."""

    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    layouts: tuple[Layout, ...]

    def sensitivity(
        self, query: str, units: Units, recipe: Recipe, *, whole: bool = True
    ) -> Sensitivity:
        """Return the sensitivity of answers that move so far, one for each group."""
        return Sensitivity(
            query=query,
            l1=self.l1,
            l2_squared=self.l2_squared,
            linf=self.linf,
            neighbours=units,
            whole=whole,
            recipe=recipe,
        )


def of_one_answer(
    query: str, relation: Neighbours, moved: Fraction, recipe: Recipe, *, whole: bool = True
) -> Sensitivity:
    """Return the sensitivity of a single answer, in which all norms are the same."""
    return Sensitivity(
        query=query,
        l1=moved,
        l2_squared=moved**2,
        linf=moved,
        neighbours=relation,
        whole=whole,
        recipe=recipe,
    )


def reach(units: Units, *, swing: Fraction, largest: Fraction, cells: Integer | None) -> Reach:
    """Return how far the answers for all groups move together.

    In a group that holds rows of the person in both data sets the answer moves by at most
    ``swing``; in one where the person comes or goes by at most ``largest``, which is between half
    the swing and the swing. ``cells`` is how many groups are answered, if that is known.

    >>> units = Units(neighbours="replace_one", groups=2)
    >>> reach(units, swing=Fraction(1), largest=Fraction(1), cells=3)[:3]
    (Fraction(3, 1), Fraction(3, 1), Fraction(1, 1))

    Guarantee:
        Neighbours: ``units``.
        Loss: none by itself; the norms bound the moves of all answers together, and are attained.
        Numerics: exact.
        Proof: docs/proofs/sensitivity.md, theorem 8.
    """
    most = _read_cells(cells)
    groups = units.groups if most is None else min(units.groups, most)
    if units.neighbours is Neighbours.add_remove:
        layout = Layout(0, groups, 0)
        return Reach(groups * largest, groups * largest**2, largest, (layout,))
    # Rows of the old and of the new person may meet in the same groups or lie apart. Both sums are
    # linear in how many groups they share, so the ends decide.
    fewest = 0 if most is None else max(0, 2 * groups - most)
    layouts = [Layout(both, groups - both, groups - both) for both in sorted({fewest, groups})]
    return Reach(
        l1=max(x.both * swing + 2 * x.one * largest for x in layouts),
        l2_squared=max(x.both * swing**2 + 2 * x.one * largest**2 for x in layouts),
        linf=swing,
        layouts=tuple(layouts),
    )


def _read_cells(cells: Integer | None) -> int | None:
    return None if cells is None else positive_whole("cells", cells)


def names_of(layout: Layout) -> tuple[list[str], list[str], list[str]]:
    """Name the groups of a layout: those in both data sets, in the first, in the second only."""
    held = layout.both + layout.one
    ends = [layout.both, held, held + layout.other]
    names = [f"group {number + 1}" for number in range(ends[2])]
    return names[: ends[0]], names[ends[0] : ends[1]], names[ends[1] :]


def count(*, neighbours: Relation, cells: Integer | None = None) -> Sensitivity:
    """Return the sensitivity of the number of records that match a predicate: 1.

    With Units it is that of the counts of all groups together; ``cells`` says how many groups are
    answered, 1 for a single count, if that is public and less than two people could reach.

    >>> print(count(neighbours="replace_one"))
    count; one record replaced; moves by at most 1
    >>> print(count(neighbours=Units(neighbours="add_remove", groups=3, rows=2)))
    counts by group; one person added or removed, in at most 3 groups with at most 2 rows in each; \
L1 6, L2 3.464101615137755, Linf 2

    Guarantee:
        Neighbours: as given.
        Loss: none by itself; no two neighbours are further apart, and the witness is as far.
        Numerics: exact.
        Proof: docs/proofs/sensitivity.md, theorems 2 and 8.
    """
    relation = read_relation(neighbours)
    if isinstance(relation, Units):
        return _by_group("count", relation, cells)
    return _of_records("count", relation, 1, ("match", "no match"), cells)


def rows(*, neighbours: Relation, cells: Integer | None = None) -> Sensitivity:
    """Return the sensitivity of the number of records: 1, or 0 if they can only be replaced.

    Under replace_one that number is public and needs no noise. With Units it is not: a person may
    be replaced by one with fewer rows.

    >>> rows(neighbours="add_remove").l1, rows(neighbours="replace_one").l1
    (Fraction(1, 1), Fraction(0, 1))

    Guarantee: that of ``count``.
    """
    relation = read_relation(neighbours)
    if isinstance(relation, Units):
        return _by_group("row count", relation, cells)
    moved = int(relation is Neighbours.add_remove)
    return _of_records("row count", relation, moved, ("a record", "another record"), cells)


def histogram(*, neighbours: Relation, cells: Integer | None = None) -> Sensitivity:
    """Return the sensitivity of a histogram: each record is in one cell at most.

    A record that comes or goes moves one cell; one that is replaced may move two. ``cells`` matters
    only if there is a single one. With Units the cells are the groups.

    >>> print(histogram(neighbours="add_remove"))
    histogram; one record added or removed; moves by at most 1
    >>> print(histogram(neighbours="replace_one"))
    histogram; one record replaced; L1 2, L2 1.4142135623730951, Linf 1

    Guarantee:
        Neighbours: as given. The cells are public, and the cell of a record depends on it alone.
        Loss: none by itself; no two neighbours are further apart, and the witness is as far.
        Numerics: exact.
        Proof: docs/proofs/sensitivity.md, theorems 3 and 8.
    """
    relation = read_relation(neighbours)
    if isinstance(relation, Units):
        return _by_group("histogram", relation, cells)
    return _chosen(
        "histogram", relation, 1, None if cells is None else positive_whole("cells", cells)
    )


def choices(*, most: Integer, neighbours: Relation, cells: Integer | None = None) -> Sensitivity:
    """Return the sensitivity of how often each of some cells is chosen, up to ``most`` by each.

    Each record is a set of at most ``most`` cells. If there are fewer than two times as many
    ``cells``, replacing a record cannot move more than all of them.

    >>> print(choices(most=3, cells=5, neighbours="replace_one"))
    up to 3 choices each; one record replaced; L1 5, L2 2.23606797749979, Linf 1

    Guarantee:
        Neighbours: as given. The cells are public.
        Loss: none by itself; no two neighbours are further apart, and the witness is as far.
        Numerics: exact.
        Proof: docs/proofs/sensitivity.md, theorem 3.
    """
    relation = read_records(
        neighbours, "choices", instead="count them by group with histogram(neighbours=Units(...))"
    )
    many = positive_whole("most", most)
    public = _read_cells(cells)
    if public is not None and many > public:
        raise ValueError(f"most must be at most the number of cells, {public}, got {many}")
    name = "1 choice each" if many == 1 else f"up to {many} choices each"
    return _chosen(name, relation, many, public)


def _chosen(name: str, relation: Neighbours, most: int, cells: int | None) -> Sensitivity:
    moved = most
    if relation is Neighbours.replace_one:
        moved = 2 * most if cells is None else min(2 * most, cells)
    recipe = partial(_two_sets, relation, most, moved, cells, name != "histogram")
    return Sensitivity(
        query=name,
        l1=Fraction(moved),
        l2_squared=Fraction(moved),
        linf=Fraction(1),
        neighbours=relation,
        whole=True,
        recipe=recipe,
    )


def _two_sets(
    relation: Neighbours, most: int, moved: int, cells: int | None, sets: bool
) -> tuple[Witness, ...]:
    """Show two records without a common cell, or one record that comes."""
    total = max(moved, cells or 0) if moved < 100 and (cells or 0) < 100 else moved
    first = range(1, min(most, moved) + 1)
    second = range(len(first) + 1, moved + 1)

    def answer(chosen: range) -> tuple[Fraction, ...]:
        return tuple(Fraction(cell + 1 in chosen) for cell in range(total))

    def record(chosen: range) -> Rows:
        if sets:
            return Rows(tuple(chosen))
        return Rows(f"in cell {chosen[0]}" if chosen else "in no cell")

    replaced = relation is Neighbours.replace_one
    other = (record(second),) if replaced else ()
    return (Witness((record(first),), other, (answer(first), answer(second))),)


def _of_records(
    name: str, relation: Neighbours, moved: int, shown: tuple[str, str], cells: Integer | None
) -> Sensitivity:
    if cells is not None:
        raise ValueError("cells goes with Units; a count of records has one answer")
    return of_one_answer(
        name, relation, Fraction(moved), partial(_one_record, relation, moved, shown)
    )


def _one_record(relation: Neighbours, moved: int, shown: tuple[str, str]) -> tuple[Witness, ...]:
    record, replacement = map(Rows, shown)
    second = [replacement] if relation is Neighbours.replace_one else []
    return (of_number([record], second, (1, 1 - moved)),)


def _by_group(name: str, units: Units, cells: Integer | None) -> Sensitivity:
    """Return the sensitivity of numbers of rows, one for each group."""
    if units.rows is None:
        raise ValueError(_PER_PERSON)
    size = Fraction(units.rows)
    found = reach(units, swing=size, largest=size, cells=cells)
    plural = name if cells == 1 or name == "histogram" else f"{name}s by group"
    return found.sensitivity(plural, units, partial(_rows_by_group, found.layouts, units.rows))


def _rows_by_group(layouts: tuple[Layout, ...], size: int) -> tuple[Witness, ...]:
    found = []
    for layout in layouts:
        both, first, second = names_of(layout)
        # In a group of both data sets the person has all rows in one, and none in the other.
        one = tuple(Rows(name, size) for name in (*both, *first))
        other = tuple(Rows(name, size) for name in second)
        here = (size,) * (len(both) + len(first)) + (0,) * len(second)
        there = (0,) * (len(both) + len(first)) + (size,) * len(second)
        answers = (tuple(map(Fraction, here)), tuple(map(Fraction, there)))
        found.append(Witness(one, other, answers))
    return select(found)


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
