# SPDX-License-Identifier: Apache-2.0
"""How far the rows of one person move a vector with one answer for each group."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from sordino.exact.rational import Integer, positive_whole
from sordino.sensitivity.neighbours import Neighbours, Units


class Layout(NamedTuple):
    """Where a person has rows in one data set and in the other, counted in groups.

    ``both`` groups have rows of the person in either data set, ``one`` groups only in the first,
    ``other`` groups only in the second.

    Guarantee: none needed; public inputs only.
    """

    both: int
    one: int
    other: int


class Reach(NamedTuple):
    """The norms of the largest moves, and the layouts that attain them.

    Guarantee: none needed; public inputs only.
    """

    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    layouts: tuple[Layout, ...]


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
    most = None if cells is None else positive_whole("cells", cells)
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


def names_of(layout: Layout) -> tuple[list[str], list[str], list[str]]:
    """Name the groups of a layout: those in both data sets, in the first only, in the second only.

    Guarantee: none needed; an example, made from public numbers.
    """
    ends = [layout.both, layout.both + layout.one, sum(layout)]
    names = [f"group {number + 1}" for number in range(ends[2])]
    return names[: ends[0]], names[ends[0] : ends[1]], names[ends[1] :]
