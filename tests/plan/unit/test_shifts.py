# SPDX-License-Identifier: Apache-2.0
"""How far one unit moves what is computed: against all small units, weighed in plain Python."""

from fractions import Fraction
from itertools import product

import pytest

from sordino.plan import plan
from tests.plan.unit.questions import AGE, DECLARED, DISEASE, VISITS

TOTAL = plan.Total(AGE, low=-1, high=3, exponent=0)
LIMITS = [
    plan.Shares(rows=rows, groups=groups, rows_per_group=each)
    for rows, groups, each in product((1, 2, 3, 5), (None, 1, 2), (None, 1, 2))
]


def weigh(counts: tuple[int, ...], shares: plan.Shares) -> list[int]:
    """The weight of one row in each group of a unit that has so many rows in them."""
    kept = [n if shares.groups is None or at < shares.groups else 0 for at, n in enumerate(counts)]
    each = shares.rows_per_group
    parts = [Fraction(1) if each is None or n <= each else Fraction(each, n) for n in kept]
    left = sum(n * part for n, part in zip(kept, parts, strict=True))
    whole = min(Fraction(1), shares.rows / left) if left else Fraction(0)
    return [
        int(shares.steps * part * whole) if n else 0 for n, part in zip(kept, parts, strict=True)
    ]


def contributions(shares: plan.Shares, largest: int) -> list[list[int]]:
    """What units with up to six rows in each of three groups add, if every row adds the most."""
    found = []
    for counts in product((0, 1, 2, 3, 6), repeat=3):
        kept = sorted(counts, reverse=True)  # a hash may keep any of them, so also the largest
        row = weigh(tuple(kept), shares)
        found.append([n * weight * largest for n, weight in zip(kept, row, strict=True)])
    return found


@pytest.mark.parametrize("shares", LIMITS, ids=str)
@pytest.mark.parametrize(("statistic", "largest"), [(plan.RowCount(), 1), (TOTAL, 3)])
def test_shifts_cover_every_small_unit_and_are_nearly_reached(
    statistic: plan.RowCount | plan.Total, largest: int, shares: plan.Shares
) -> None:
    stated = plan.shift(statistic, shares, grouped=True)
    vectors = contributions(shares, largest)
    l1 = max(sum(v) for v in vectors)
    assert l1 <= stated.l1
    assert max(max(v) for v in vectors) <= stated.linf
    assert max(sum(x * x for x in v) for v in vectors) <= stated.l2_squared
    assert max(max(v) for v in vectors) >= 0.99 * stated.linf
    if shares.groups is None and shares.rows_per_group == 1 and shares.rows > 3:
        return  # no unit with three groups reaches more than three rows
    assert l1 >= 0.99 * stated.l1


def test_a_total_moves_by_the_end_that_is_further_from_its_offset() -> None:
    shares = plan.Shares(rows=1, alone=True)
    assert plan.shift(TOTAL, shares, grouped=False).l1 == 3
    middle = plan.Total(AGE, low=-1, high=3, exponent=0, offset=1)
    assert plan.shift(middle, shares, grouped=False).l1 == 2
    square = plan.Total(AGE, low=-1, high=3, exponent=0, offset=1, power=2)
    assert plan.shift(square, shares, grouped=False).l1 == 4
    lower = plan.Total(AGE, low=-9, high=3, exponent=0)
    assert plan.shift(lower, shares, grouped=False).l1 == 9


def test_units_move_each_of_their_groups_by_one() -> None:
    found = plan.shift(plan.UnitCount(), plan.Shares(rows=9, groups=4), grouped=True)
    assert found.l1 == found.l2_squared == 4
    assert found.linf == 1
    assert plan.shift(plan.UnitCount(), plan.Shares(rows=9), grouped=False).l1 == 1
    assert plan.shift(plan.UnitCount(), plan.Shares(rows=1, alone=True), grouped=True).l1 == 1
    with pytest.raises(ValueError, match="only where their groups are limited"):
        plan.shift(plan.UnitCount(), plan.Shares(rows=9), grouped=True)


def test_every_part_has_a_shift_and_a_step() -> None:
    parts = (
        plan.Cells(
            (plan.RowCount(), plan.Total(AGE, 0, 8, exponent=-3, power=2), plan.UnitCount())
        ),
        plan.Distinct(AGE, most=5),
        plan.Ranks(AGE, 0, 10, 0),
        plan.Votes(DISEASE, ("flu",)),
        plan.Crowded(),
    )
    bounded = plan.Bounded(VISITS, (DECLARED,), plan.Shares(rows=4, groups=2), parts)
    assert plan.column_shift(bounded, parts[0], 2).l1 == 2
    assert (
        plan.column_shift(bounded, parts[1], 0).l1
        == plan.column_shift(bounded, parts[1], 0).linf
        == 5
    )
    assert (
        plan.column_shift(bounded, parts[2], 0).l1
        == plan.column_shift(bounded, parts[3], 0).l1
        == 4 * 256
    )
    assert plan.column_shift(bounded, parts[4], 0).l1 == 1
    assert plan.column_step(bounded, parts[0], 0) == Fraction(1, 2**16)
    assert plan.column_step(bounded, parts[0], 1) == Fraction(1, 2**22)
    assert plan.column_step(bounded, parts[0], 2) == plan.column_step(bounded, parts[1], 0) == 1


def test_coarse_weights_are_those_of_all_groups_together() -> None:
    def most(shares: plan.Shares) -> int:
        return plan.coarse_weight(plan.Bounded(VISITS, (DECLARED,), shares, ()))

    assert most(plan.Shares(rows=10)) == 10 * 256
    assert most(plan.Shares(rows=10, groups=2, rows_per_group=3)) == 6 * 256
    assert most(plan.Shares(rows=1, alone=True)) == 1
    assert plan.weights(plan.Shares(rows=10, groups=2, rows_per_group=3), grouped=False) == (
        3 << 16,
        3 << 16,
    )
