# SPDX-License-Identifier: Apache-2.0
"""The user level, against all people within the limits."""

from fractions import Fraction
from typing import Any

import pytest

from sordino import sensitivity
from sordino.sensitivity import Neighbours, Units, check
from tests.sensitivity.unit.queries import order_statistic, people, same, totals

BOTH = list(Neighbours)
SHAPES = [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (2, 4), (3, 4)]  # groups of a person, cells
VALUES = [(0, 2), (-1, 2), (-2, 2), (1, 2), (-2, -1), (-3, 2)]


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(("groups", "cells"), SHAPES)
def test_counts_by_group(groups: int, cells: int, rows: int, neighbours: Neighbours) -> None:
    units = Units(neighbours=neighbours, groups=groups, rows=rows)
    everyone = people(range(rows + 1), 0, groups, cells)
    found = check(lambda data: totals(data, cells), everyone, 1, units)
    for query in (sensitivity.count, sensitivity.rows, sensitivity.histogram):
        assert same(found, query(neighbours=units, cells=cells))
        if cells >= 2 * groups:
            assert same(found, query(neighbours=units))
        assert query(neighbours=units).l1 >= found.l1


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("bounds", VALUES)
@pytest.mark.parametrize(("groups", "cells"), SHAPES[:6])
def test_sums_by_group(
    groups: int, cells: int, bounds: tuple[int, int], rows: int, neighbours: Neighbours
) -> None:
    units = Units(neighbours=neighbours, groups=groups, rows=rows)
    low, high = bounds
    # What rows can add up to; the values between the ends add nothing new to the extremes.
    shares = sorted({n * x for n in range(rows + 1) for x in (low, high)})
    found = check(lambda d: totals(d, cells), people(shares, 0, groups, cells), 1, units)
    claim = sensitivity.sum(bounds=bounds, neighbours=units, cells=cells)
    assert same(found, claim)
    if cells >= 2 * groups:
        assert same(found, sensitivity.sum(bounds=bounds, neighbours=units))


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize(
    ("bounds", "shares"),
    [
        (None, range(-2, 3)),
        ((0, 9), range(3)),
        ((1, 9), range(3)),
        ((-9, 0), range(-2, 1)),
        ((-1, 9), range(-2, 3)),
    ],
)
@pytest.mark.parametrize(("groups", "cells"), SHAPES[:5])
def test_sums_with_an_amount_for_each_group(
    groups: int, cells: int, bounds: tuple[int, int] | None, shares: range, neighbours: Neighbours
) -> None:
    units = Units(neighbours=neighbours, groups=groups, amount=2)
    found = check(lambda d: totals(d, cells), people(shares, 0, groups, cells), 1, units)
    assert same(found, sensitivity.sum(bounds=bounds, neighbours=units, cells=cells))


def test_rows_and_an_amount_together_are_the_tighter_of_both() -> None:
    units = Units(neighbours="add_remove", groups=3, rows=4, amount=10)
    assert sensitivity.sum(bounds=(0, 2), neighbours=units).l1 == 3 * 8
    assert sensitivity.sum(bounds=(0, 5), neighbours=units).l1 == 3 * 10
    both_signs = Units(neighbours="replace_one", groups=1, rows=4, amount=10)
    assert sensitivity.sum(bounds=(-1, 5), neighbours=both_signs, cells=1).l1 == 4 + 10


def test_replacing_a_person_doubles_the_l2_norm_of_signed_sums_and_not_only_its_square() -> None:
    units = Units(neighbours="replace_one", groups=4, rows=1)
    one_sign = sensitivity.sum(bounds=(0, 1), neighbours=units)
    both_signs = sensitivity.sum(bounds=(-1, 1), neighbours=units)
    assert [one_sign.l2_squared, both_signs.l2_squared] == [8, 16]


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(1)])
@pytest.mark.parametrize(("groups", "cells"), [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3)])
def test_quantiles_by_group(
    groups: int, cells: int, share: Fraction, neighbours: Neighbours
) -> None:
    units = Units(neighbours=neighbours, groups=groups, rows=1)
    everyone = people([0, 5], None, groups, cells)

    def answers(data: Any) -> list[int]:
        columns = ([p[cell] for p in data if p[cell] is not None] for cell in range(cells))
        return [order_statistic(values, share, 2) for values in columns]

    def beside(other: list[tuple[int, ...]]) -> sensitivity.Report:
        """With these people there to begin with."""
        return check(lambda data: answers([*other, *data]), everyone, 2, units)

    found = [beside(other) for other in ([], [(0,) * cells], [(5,) * cells])]
    claim = sensitivity.quantile(at=share, bounds=(0, 5), neighbours=units, cells=cells)
    assert max(f.l1 for f in found) == claim.l1
    assert max(f.l2_squared for f in found) == claim.l2_squared
    assert max(f.linf for f in found) == claim.linf


def test_people_may_differ_in_how_many_rows_they_have() -> None:
    units = Units(neighbours="replace_one", groups=1, rows=3)
    assert sensitivity.rows(neighbours=units, cells=1).l1 == 3
    assert sensitivity.rows(neighbours="replace_one").l1 == 0
    one_row = Units(neighbours="replace_one", groups=1, rows=1)
    assert sensitivity.sum(bounds=(10, 100), neighbours=one_row, cells=1).l1 == 100
    assert sensitivity.sum(bounds=(10, 100), neighbours="replace_one").l1 == 90
