# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of sums, means and variances of clamped values."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Literal

from sordino.numbers.rational import Integer, Number, positive_whole
from sordino.sensitivity.arguments import Bounds, read_bounds, read_records
from sordino.sensitivity.counts import Layout, names_of, reach
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
        return _by_group(relation, None if bounds is None else read_bounds(bounds), cells)
    if cells is not None:
        raise ValueError("cells goes with Units; a sum of records has one answer")
    ends = read_bounds(bounds)
    if relation is Neighbours.add_remove:
        moved, witness = ends.largest, of_number([Rows(ends.extreme)], [], (ends.extreme, 0))
    else:
        moved = ends.width
        witness = of_number([Rows(ends.high)], [Rows(ends.low)], (ends.high, ends.low))
    return _number(f"sum of values {ends}", relation, moved, witness, whole=ends.whole)


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
    witness = _one_moves(ends, many, (ends.low, ends.low + moved))
    return _number(f"mean of {many} values {ends}", relation, moved, witness)


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
    return _number(name, relation, moved, _one_moves(ends, many, (Fraction(0), moved)))


def _one_moves(ends: Bounds, size: int, answers: tuple[Fraction, Fraction]) -> Witness:
    """Show all values at the low end, and then one of them at the high end."""
    rest = Rows(ends.low, size - 1)
    return of_number([rest, Rows(ends.low)], [rest, Rows(ends.high)], answers)


def _number(
    name: str, relation: Neighbours, moved: Fraction, witness: Witness, *, whole: bool = False
) -> Sensitivity:
    return Sensitivity(
        query=name,
        l1=moved,
        l2_squared=moved**2,
        linf=moved,
        neighbours=relation,
        whole=whole,
        recipe=partial(_given, witness),
    )


def _given(witness: Witness) -> tuple[Witness, ...]:
    return (witness,)


def _by_group(units: Units, ends: Bounds | None, cells: Integer | None) -> Sensitivity:
    """Return the sensitivity of sums, one for each group."""
    shares = _shares(units, ends)
    found = reach(units, swing=shares.width, largest=shares.largest, cells=cells)
    values = "" if ends is None else f" of values {ends}"
    return Sensitivity(
        query=f"sum{values}" if cells == 1 else f"sums{values} by group",
        l1=found.l1,
        l2_squared=found.l2_squared,
        linf=found.linf,
        neighbours=units,
        whole=shares.whole,
        recipe=partial(_sums_by_group, found.layouts, shares, units, ends),
    )


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
        if (
            units.rows is not None
            and ends is not None
            and total
            in (
                units.rows * ends.low,
                units.rows * ends.high,
            )
        ):
            return Rows((name, total / units.rows), units.rows)
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
