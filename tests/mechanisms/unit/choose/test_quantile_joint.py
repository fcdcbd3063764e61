# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose.interval import Interval
from sordino.mechanisms.choose.quantiles.quantiles import Quantiles
from sordino.mechanisms.choose.quantiles.ranks import Slab, joint_spread
from sordino.mechanisms.choose.quantiles.several import Cells
from sordino.privacy import losses
from tests.mechanisms.unit.choose.rank_laws import (
    RELATIONS,
    Data,
    data_sets,
    exponents_of,
    law_of,
    neighbours,
    pairs,
    records_of,
)
from tests.support.seeded import SeededBits
from tests.support.tape import replay

Wanted = tuple[Fraction, ...]


def fractions(*texts: str) -> Wanted:
    return tuple(map(Fraction, texts))


SETS = [
    fractions("1/4", "1/2"),
    fractions("1/3", "2/3"),
    fractions("1/5", "9/10"),
    fractions("0", "1"),
    fractions("0", "1/2"),
    fractions("1/4", "1/2", "3/4"),
    fractions("0", "1/2", "1"),
]


def cells_of(data: Data, wanted: Wanted, rate: Fraction, interval: Interval | None = None) -> Cells:
    grid = interval or Interval(0, len(data) - 1)
    records, run = records_of(data, grid), (0, grid.size)
    slabs = [Slab.between(records, grid, run, q, fine=1, tie=True) for q in wanted]
    return Cells(slabs, rate)


def behind(data: Data, wanted: Wanted, points: tuple[int, ...]) -> Fraction:
    """The most records too many before a point, and the most too few, one by one."""
    over, under = Fraction(0), Fraction(0)
    for q, point in zip(wanted, points, strict=True):
        over = max(over, sum(data[:point]) - q * sum(data))
        under = max(under, q * sum(data) - sum(data[: point + 1]))
    return over + under


@pytest.mark.parametrize("rate", [Fraction(1, 9), Fraction(1), Fraction(7)], ids=str)
@pytest.mark.parametrize("wanted", SETS, ids=str)
def test_every_tuple_is_drawn_with_the_exponent_of_its_ranks(
    wanted: Wanted, rate: Fraction
) -> None:
    points = 4 if len(wanted) == 2 else 3
    tuples = list(product(range(points), repeat=len(wanted)))
    for data in data_sets(points, 4):
        cells = cells_of(data, wanted, rate)
        found = exponents_of(cells)
        places = {tuple(cells.places(number)): one for number, one in found.items()}
        assert places == {t: (rate * behind(data, wanted, t), 1) for t in tuples}


def test_a_base_counts_for_each_point_of_a_tuple() -> None:
    grid = Interval(0, 3, base=[(1, 3), (3, 2)])
    weights = [3, 3, 2, 2]
    wanted = fractions("1/4", "3/4")
    for data in data_sets(4, 3):
        cells = cells_of(data, wanted, Fraction(3, 2), grid)
        for number, (exponent, times) in exponents_of(cells).items():
            one, two = cells.places(number)
            assert times == weights[one] * weights[two]
            assert exponent == Fraction(3, 2) * behind(data, wanted, (one, two))


def test_what_lies_beyond_the_cells_is_in_shells_and_corrected() -> None:
    data = (0, 40, 0, 40, 0)
    wanted = fractions("1/4", "3/4")
    cells = cells_of(data, wanted, Fraction(5))
    assert cells._last + 1 < 5 * 2 * 20  # there are shells
    found = exponents_of(cells)
    assert {tuple(cells.places(n)): x for n, (x, _) in found.items()} == {
        t: 5 * behind(data, wanted, t) for t in product(range(5), repeat=2)
    }


def worst_range(
    tuples: list[tuple[int, ...]], wanted: Wanted, relation: str, most: int
) -> Fraction:
    """The most that scores of these tuples move apart, over all pairs of neighbours."""
    points = 1 + max(map(max, tuples))
    tables = {
        data: [behind(data, wanted, t) for t in tuples] for data in data_sets(points, most + 1)
    }
    worst = Fraction(0)
    for one, two in pairs(points, most, relation):
        moves = [b - a for a, b in zip(tables[one], tables[two], strict=True)]
        worst = max(worst, max(moves) - min(moves))
    return worst


def tuples_of(wanted: Wanted, *, in_order: bool) -> list[tuple[int, ...]]:
    every = product(range(4 if len(wanted) == 2 else 3), repeat=len(wanted))
    return [t for t in every if not in_order or list(t) == sorted(t)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("wanted", SETS, ids=str)
def test_the_range_of_losses_is_the_price_and_not_much_less(wanted: Wanted, relation: Any) -> None:
    tuples = tuples_of(wanted, in_order=relation == "add_remove")
    worst, claimed = worst_range(tuples, wanted, relation, 6), joint_spread(wanted, relation)
    assert claimed * Fraction(9, 10) <= worst <= claimed
    mechanism = Quantiles(wanted, range=(0, 3), epsilon=1, neighbours=relation, method="joint")
    assert mechanism.loss == losses.exponential(epsilon=1).under(relation)


@pytest.mark.parametrize("wanted", SETS, ids=str)
def test_points_out_of_order_would_cost_more_where_records_come_and_go(wanted: Wanted) -> None:
    tuples = tuples_of(wanted, in_order=False)
    assert worst_range(tuples, wanted, "add_remove", 4) > joint_spread(wanted, "add_remove")


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_law_of_a_release_is_that_of_tuples_in_order(relation: Any) -> None:
    data, wanted = (2, 0, 3, 1), fractions("1/4", "2/3")
    mechanism = Quantiles(wanted, range=(0, 3), epsilon=3, neighbours=relation, method="joint")
    cells = cells_of(data, wanted, 3 / joint_spread(wanted, relation))
    law: dict[tuple[int, ...], float] = {}
    for number, chance in law_of(cells).items():
        points = cells.places(number)
        if relation == "replace_one" or points == sorted(points):
            place = tuple(sorted(points))
            law[place] = law.get(place, 0.0) + chance
    outcomes = sorted(law)
    with replay(SeededBits(13)):
        drawn = [tuple(mechanism.release([0, 1, 2, 3], data)) for _ in range(1000)]
    seen = np.array([drawn.count(outcome) for outcome in outcomes])
    expected = np.array([law[outcome] for outcome in outcomes])
    expected *= 1000 / expected.sum()
    assert seen.sum() == 1000
    assert ((seen - expected) ** 2 / expected).sum() < 50  # 9 degrees of freedom, alpha 1e-7


@pytest.mark.parametrize(("relation", "most"), [("add_remove", 5), ("replace_one", 12)])
def test_many_quantiles_are_left_to_recursion(relation: Any, most: int) -> None:
    many = [k / 20 for k in range(most + 1)]
    settings: dict[str, Any] = {"range": (0, 9), "epsilon": 1, "neighbours": relation}
    with pytest.raises(ValueError, match=f"at most {most} different quantiles under {relation}"):
        Quantiles(many, method="joint", **settings)
    assert Quantiles(many, **settings).method == "recursive"
    assert Quantiles(many[1:], method="joint", **settings).method == "joint"


def test_sorting_leaves_no_quantile_further_off() -> None:
    wanted = fractions("1/4", "1/2", "3/4")
    for data in data_sets(3, 4):
        for points in product(range(3), repeat=3):
            ordered = tuple(sorted(points))
            assert behind(data, wanted, ordered) <= behind(data, wanted, points)


def test_neighbours_are_found_in_both_directions() -> None:
    assert set(neighbours((1, 0), "add_remove")) == {(2, 0), (1, 1)}
    assert set(neighbours((1, 0), "replace_one")) == {(0, 1)}
