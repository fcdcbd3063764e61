# SPDX-License-Identifier: Apache-2.0
"""Sensitivities of what is counted: records, matches, cells of a histogram, choices."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import NamedTuple

from sordino.numbers.rational import Integer, positive_whole
from sordino.sensitivity.arguments import read_records
from sordino.sensitivity.neighbours import Neighbours, Relation, Units, read_relation
from sordino.sensitivity.norms import Recipe, Sensitivity
from sordino.sensitivity.witness import Rows, Witness, of_number, select


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
    ends = [layout.both, layout.both + layout.one, sum(layout)]
    names = [f"group {number + 1}" for number in range(ends[2])]
    return names[: ends[0]], names[ends[0] : ends[1]], names[ends[1] :]


_PER_PERSON = "a count of rows needs a limit on the rows of a person: give Units(..., rows=...)"


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
