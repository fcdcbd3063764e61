# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose.interval import Interval
from sordino.mechanisms.choose.quantiles import several as quantile_recursive
from sordino.mechanisms.choose.quantiles.quantiles import Quantiles
from sordino.mechanisms.choose.quantiles.ranks import Run, Shells, Slab
from sordino.mechanisms.choose.quantiles.several import Node, find, plan, spread_of, typical_error
from sordino.randomness.entropy import system
from tests.mechanisms.unit.choose.rank_laws import (
    RELATIONS,
    Data,
    data_sets,
    exponents_of,
    largest_loss,
    law_of_run,
    neighbours,
    pairs,
    records_of,
)
from tests.support.seeded import SeededBits
from tests.support.tape import replay

FINE = 2  # places of a point in these universes
POINTS = 3
GRID = Interval(0, POINTS - 1)
SETS = [
    (Fraction(1, 2),),
    (Fraction(1, 3), Fraction(2, 3)),
    (Fraction(0), Fraction(1, 2)),
    (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
    (Fraction(1, 10), Fraction(7, 8), Fraction(1)),
]


def levels_of(root: Node) -> list[list[Node]]:
    found, level = [], [root]
    while level:
        found.append(level)
        level = [child for node in level for child in (node.left, node.right) if child]
    return found


def slab_of(data: Data, node: Node, run: Run, fine: int = FINE) -> Slab:
    return Slab.between(records_of(data, GRID), GRID, run, node.share, fine=fine, tie=node.last)


def rank(data: Data, place: int, fine: int = FINE) -> Fraction:
    point, part = divmod(place, fine)
    return sum(data[:point]) + (Fraction(part * data[point], fine) if part else Fraction(0))


def behind(data: Data, node: Node, run: Run, place: int, fine: int = FINE) -> Fraction:
    """How far a place of a slab is from the wanted rank, from its own records alone."""
    low, high = (rank(data, end, fine) for end in run)
    wanted = low + node.share * (high - low)
    if not node.last:
        return abs(rank(data, place, fine) - wanted)
    point = place // fine
    upto = rank(data, (point + 1) * fine, fine)
    return max(Fraction(0), rank(data, point * fine, fine) - wanted, wanted - upto)


def test_the_plan_halves_what_is_left_in_as_few_levels_as_possible() -> None:
    for many in range(1, 40):
        wanted = [Fraction(k, many + 1) for k in range(1, many + 1)]
        root = plan(wanted)
        assert root.depth == math.ceil(math.log2(many + 1))
        assert sorted(node.index for node in root.walk()) == list(range(many))
        for node in root.walk():
            low = wanted[node.low] if node.low is not None else Fraction(0)
            high = wanted[node.high] if node.high is not None else Fraction(1)
            assert low + node.share * (high - low) == wanted[node.index]
    with pytest.raises(ValueError, match="no quantile"):
        plan([])


@pytest.mark.parametrize("fine", [1, 3])
@pytest.mark.parametrize("wanted", [SETS[1], SETS[4]], ids=str)
def test_every_place_is_drawn_with_the_exponent_of_its_rank(
    wanted: tuple[Fraction, ...], fine: int
) -> None:
    ends = range(POINTS * fine + 1)
    for node in plan(wanted).walk():
        for data in data_sets(POINTS, 2 if fine == 3 else 3):
            for run in combinations_with_replacement(ends, 2):
                if run[0] == run[1]:
                    continue
                found = exponents_of(Shells(slab_of(data, node, run, fine), Fraction(5, 3)))
                places = range(*run)
                if node.last:  # all places of its points
                    places = range(run[0] // fine * fine, -(-run[1] // fine) * fine)
                expected = {
                    p: (Fraction(5, 3) * behind(data, node, run, p, fine), 1) for p in places
                }
                assert found == expected


def cost_of_level(level: list[Node], one: Data, two: Data, runs: dict[int, Run]) -> Fraction:
    """How much the losses of all slabs of a level differ, at a price of 1 for one record added."""
    total = Fraction(0)
    for node in level:
        run = runs[node.index]
        if run[0] < run[1]:
            places = range(*run)
            moves = [behind(two, node, run, p) - behind(one, node, run, p) for p in places]
            total += (max(moves) - min(moves)) / spread_of(node.share)
    return total


def all_runs(root: Node) -> list[dict[int, Run]]:
    """The slabs of all nodes, for each way to make the cuts."""
    found = []
    many = len(list(root.walk()))
    for cuts in combinations_with_replacement(range(POINTS * FINE + 1), many):
        runs = {}
        for node in root.walk():
            low = cuts[node.low] if node.low is not None else 0
            high = cuts[node.high] if node.high is not None else POINTS * FINE
            runs[node.index] = low, high
        found.append(runs)
    return found


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("wanted", SETS, ids=str)
def test_no_level_costs_more_than_its_price_wherever_the_cuts_are(
    wanted: tuple[Fraction, ...], relation: Any
) -> None:
    root = plan(wanted)
    worst = Fraction(0)
    distinct = {tuple(sorted(runs.items())) for runs in all_runs(root)}
    for one, two in pairs(POINTS, 4, relation):
        for runs in distinct:
            for level in levels_of(root):
                worst = max(worst, cost_of_level(level, one, two, dict(runs)))
    price = 1 if relation == "add_remove" else 2
    assert price * Fraction(3, 4) <= worst <= price


def test_ranks_of_all_the_data_would_cost_more_than_the_price() -> None:
    """The wrong way, so that the test above can fail: each slab wants a rank of the whole data."""
    cut, worst = 3, Fraction(0)
    halves = (Fraction(1, 4), range(cut)), (Fraction(3, 4), range(cut, POINTS * FINE))
    for one, two in pairs(POINTS, 4, "add_remove"):
        total = Fraction(0)
        for q, places in halves:
            before = [abs(rank(one, p) - q * sum(one)) for p in places]
            after = [abs(rank(two, p) - q * sum(two)) for p in places]
            moves = [b - a for a, b in zip(before, after, strict=True)]
            total += max(moves) - min(moves)
        worst = max(worst, total)
    assert worst > 1  # which is what both slabs together cost with ranks of their own


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("wanted", [SETS[1], SETS[2], SETS[3]], ids=str)
def test_the_law_of_all_draws_together_keeps_to_epsilon(
    monkeypatch: pytest.MonkeyPatch, wanted: tuple[Fraction, ...], relation: Any
) -> None:
    monkeypatch.setattr(quantile_recursive, "FINE", FINE)
    root, epsilon = plan(wanted), Fraction(3, 2)
    price = epsilon / root.depth / (1 if relation == "add_remove" else 2)
    laws = {}
    most = 2 if len(wanted) == 3 else 3
    for data in data_sets(POINTS, most):

        def run(data: Data = data) -> tuple[int, ...]:
            return tuple(find(root, records_of(data, GRID), GRID, price, system()))

        laws[data] = law_of_run(monkeypatch, quantile_recursive, run)
        assert math.isclose(sum(laws[data].values()), 1)
        assert all(list(outcome) == sorted(outcome) for outcome in laws[data])
    worst = max(
        largest_loss(laws[data], laws[other])
        for data in laws
        for other in neighbours(data, relation)
        if other in laws
    )
    assert float(epsilon) / 4 < worst <= float(epsilon) * (1 + 1e-12)
    mechanism = Quantiles(
        wanted, range=(0, 2), epsilon=epsilon, neighbours=relation, method="recursive"
    )
    assert mechanism.loss.pure == epsilon
    assert mechanism.loss.uses == root.depth


def test_the_law_of_a_release_is_that_of_all_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantile_recursive, "FINE", FINE)
    data, wanted = (2, 1, 1), SETS[1]
    root = plan(wanted)
    mechanism = Quantiles(
        wanted, range=(0, 2), epsilon=4, neighbours="replace_one", method="recursive"
    )
    with replay(SeededBits(21)):
        drawn = [tuple(mechanism.release([0, 1, 2], data)) for _ in range(1000)]

    def run() -> tuple[int, ...]:
        return tuple(find(root, records_of(data, GRID), GRID, Fraction(1), system()))

    law = law_of_run(monkeypatch, quantile_recursive, run)
    outcomes = sorted(law)
    seen = np.array([drawn.count(outcome) for outcome in outcomes])
    expected = 1000 * np.array([law[outcome] for outcome in outcomes])
    assert seen.sum() == 1000
    assert ((seen - expected) ** 2 / expected).sum() < 45  # 5 degrees of freedom, alpha 2e-8


def test_a_block_of_equal_records_is_cut_where_the_rank_is() -> None:
    """Six tenths of the data are equal: quantiles below must not be drawn towards them."""
    values = np.concatenate([np.arange(4000), np.full(6000, 5000)])
    mechanism = Quantiles(
        [0.1, 0.2, 0.3, 0.5, 0.9],
        range=(0, 10_000),
        epsilon=5,
        neighbours="add_remove",
        method="recursive",
    )
    with replay(SeededBits(2)):
        found = [mechanism.release(values) for _ in range(10)]
    off = np.abs(np.array(found) - [1000, 2000, 3000, 5000, 5000])
    assert off[:, 3:].max() == 0
    assert off[:, :3].max() < 60


def test_the_typical_error_is_about_what_is_seen() -> None:
    wanted = [Fraction(k, 8) for k in range(1, 8)]
    root, price = plan(wanted), Fraction(1, 3)
    values = np.arange(20_000)
    mechanism = Quantiles(
        wanted, range=(0, 20_000), epsilon=1, neighbours="add_remove", method="recursive"
    )
    with replay(SeededBits(14)):
        found = np.array([mechanism.release(values) for _ in range(40)])
    seen = np.abs(found - 2500 * np.arange(1, 8)).mean()
    assert 0.75 < seen / typical_error(root, price) < 1.33
