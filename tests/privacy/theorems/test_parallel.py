# SPDX-License-Identifier: Apache-2.0
"""Parallel composition, against all neighbours in a small universe."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.theorems import parallel, parallel_rho

EPSILONS = st.lists(st.integers(1, 30).map(lambda n: n / 10), min_size=1, max_size=4)
# Two kinds of unit in each of two parts, and one that belongs to no part.
UNIVERSE = ("a1", "a2", "b1", "b2", "c")
DATA = [data for n in range(4) for data in combinations_with_replacement(UNIVERSE, n)]
Data = tuple[str, ...]


def add_remove(one: Data, two: Data) -> bool:
    a, b = Counter(one), Counter(two)
    return (a - b).total() + (b - a).total() == 1


def replace_one(one: Data, two: Data) -> bool:
    return len(one) == len(two) and (Counter(one) - Counter(two)).total() == 1


def moved(one: Data, two: Data, part: str, *, cells: bool) -> int:
    """How far the histogram of a part moves, or its number of units."""
    kinds = [kind for kind in UNIVERSE if kind[0] == part]
    moves = [two.count(kind) - one.count(kind) for kind in kinds]
    return sum(map(abs, moves)) if cells else abs(sum(moves))


def worst(
    neighbours: str, epsilons: tuple[Fraction, Fraction], cells: tuple[bool, bool]
) -> Fraction:
    """The largest loss when Laplace noise is added to histograms or counts of both parts."""
    related = add_remove if neighbours == "add_remove" else replace_one
    return max(
        sum(
            (
                e * moved(one, two, part, cells=c)
                for e, part, c in zip(epsilons, "ab", cells, strict=True)
            ),
            start=Fraction(0),
        )
        for one in DATA
        for two in DATA
        if related(one, two)
    )


PAIRS = [(1, 0.1), (0.5, 0.5), (0.3, 0.2), (0.2, 0.7)]


@pytest.mark.parametrize("epsilons", PAIRS)
@pytest.mark.parametrize("cells", [(True, True), (True, False), (False, False)])
def test_the_rule_is_the_worst_case_of_all_neighbours(
    epsilons: tuple[float, float], cells: tuple[bool, bool]
) -> None:
    one, two = (Fraction(repr(epsilon)) for epsilon in epsilons)
    assert parallel(parts=epsilons, neighbours="add_remove") == float(
        worst("add_remove", (one, two), cells)
    )
    # Replacing inside a part moves two cells of a histogram, and does not move a count.
    parts = [(e, 2 * e if c else Fraction(0)) for e, c in zip((one, two), cells, strict=True)]
    assert parallel(parts=parts, neighbours="replace_one") == float(
        worst("replace_one", (one, two), cells)
    )


def test_the_two_largest_are_not_enough_for_a_histogram_in_one_part() -> None:  # E-C9
    assert worst("replace_one", (Fraction(1), Fraction(1, 10)), (True, False)) == 2
    assert parallel(parts=[1, (0.1, 0)], neighbours="replace_one") == 2.0
    assert parallel(parts=[(1, 1), (0.1, 0)], neighbours="replace_one") == 1.1


def test_a_unit_may_leave_the_only_part_that_is_asked() -> None:
    assert parallel(parts=[(1, 0)], neighbours="replace_one") == 1.0


def test_the_largest_of_three_questions_counts() -> None:  # X30
    assert parallel(parts=[0.5, 0.3, 0.2], neighbours="add_remove") == 0.5


def test_deleting_the_first_row_changes_all_parts_by_position() -> None:  # E-C9
    def sums(rows: list[int]) -> list[int]:
        return [sum(rows[:20]), sum(rows[20:40]), sum(rows[40:])]

    rows = list(range(1, 61))
    assert sums(rows) == [210, 610, 1010]
    assert sums(rows[1:]) == [230, 630, 969]
    with pytest.raises(ValueError, match="parts by position gain nothing"):
        parallel(parts=[1, 1, 1], neighbours="add_remove", split="by position")


def test_parts_by_position_are_good_when_rows_are_replaced() -> None:
    parts = [(1, 1), (2, 2), (0.5, 1)]
    assert parallel(parts=parts, neighbours="replace_one", split="by position") == 2.0
    assert parallel(parts=parts, neighbours="replace_one") == 3.0
    assert parallel(parts=[1, 2], neighbours="replace_one", split="by position") == 4.0


def test_rho_of_a_replacement_is_at_most_four_times_as_large() -> None:
    assert parallel_rho(parts=[0.1, 0.1, 0.05], neighbours="add_remove") == 0.1
    assert parallel_rho(parts=[0.1, 0.05], neighbours="replace_one") == 0.4
    assert parallel_rho(parts=[(0.1, 0.12), (0.05, 0.2)], neighbours="replace_one") == 0.2


def test_a_stated_cost_inside_a_part_is_never_worse_than_what_follows_anyway() -> None:
    assert parallel(parts=[(1, 5), 0.5], neighbours="replace_one") == 2.0


@given(EPSILONS, st.integers(1, 30))
def test_order_does_not_matter_and_more_costs_more(epsilons: list[float], more: int) -> None:
    for neighbours in ("add_remove", "replace_one"):
        for function in (parallel, parallel_rho):
            found = function(parts=epsilons, neighbours=neighbours)
            assert found == function(parts=epsilons[::-1], neighbours=neighbours)
            assert found <= function(parts=[*epsilons, more / 10], neighbours=neighbours)


@given(EPSILONS)
def test_replacing_costs_at_most_twice_as_much_as_adding(epsilons: list[float]) -> None:
    one = parallel(parts=epsilons, neighbours="add_remove")
    assert one <= parallel(parts=epsilons, neighbours="replace_one") <= 2 * one


def test_a_part_is_a_number_or_a_pair() -> None:
    with pytest.raises(TypeError, match=r"parts\[0\] must be a number or a pair, got 3 numbers"):
        parallel(parts=[(1, 2, 3)], neighbours="add_remove")  # type: ignore[list-item]  # the point
