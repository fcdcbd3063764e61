# SPDX-License-Identifier: Apache-2.0
"""Numbers of graphs are released as their value, their smooth bound and the mechanism say."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sordino as so
from sordino.mechanisms import smooth
from sordino.sensitivity import smooth as bounds_of
from tests.mechanisms.unit.smooth.laws import law
from tests.support.seeded import SeededBits
from tests.support.tape import replay

WHEEL = [(0, k) for k in range(1, 7)] + [(k, k % 6 + 1) for k in range(1, 7)]  # 6 triangles
ROADS = [(0, 1, 2.5), (1, 2, 1.5), (0, 2, 3.0), (2, 3, 0.25), (1, 3, 9.0)]
NOISES = ["cauchy", "lomax", "student", "laplace"]


@pytest.mark.parametrize("noise", NOISES)
def test_triangles_are_their_number_their_bound_and_the_mechanism(noise: Any) -> None:
    kind: dict[str, Any] = {"noise": noise, "delta": 1e-6 if noise == "laplace" else 0}
    m = smooth.Smooth(epsilon=1, step=1, floor=Fraction(1, 1024), bounds=(0, 120), **kind)
    bound = bounds_of.triangles(WHEEL, nodes=10, beta=m.beta, floor=m.floor)
    for seed in (1, 2, 3):
        with replay(SeededBits(seed)):
            by_hand = m.release(6, bound)
        with replay(SeededBits(seed)):
            assert so.smooth.triangles(WHEEL, nodes=10, epsilon=1, **kind) == by_hand


@pytest.mark.parametrize("noise", NOISES)
def test_a_tree_is_its_cost_its_bound_and_the_mechanism(noise: Any) -> None:
    kind: dict[str, Any] = {"noise": noise, "delta": 1e-6 if noise == "laplace" else 0}
    step = 2.0**-27  # 2**-30 of the power of two below 10
    m = smooth.Smooth(epsilon=1, step=step, bounds=(0, 40), **kind)
    bound = bounds_of.spanning_tree(ROADS, nodes=5, largest=10, beta=m.beta, floor=step)
    for seed in (1, 2, 3):
        with replay(SeededBits(seed)):
            by_hand = m.release(Fraction("14.25"), bound)
        with replay(SeededBits(seed)):
            assert so.smooth.spanning_tree(ROADS, nodes=5, largest=10, epsilon=1, **kind) == by_hand


def test_results_stay_where_they_can_be_unless_they_are_not_clamped() -> None:
    options: dict[str, Any] = {"nodes": 10, "epsilon": 0.05}
    loose, kept = [], []
    for seed in range(20):
        with replay(SeededBits(seed)):
            loose.append(so.smooth.triangles(WHEEL, clamp=False, **options))
        with replay(SeededBits(seed)):
            kept.append(so.smooth.triangles(WHEEL, **options))
    assert not all(0 <= x <= 120 for x in loose)
    assert kept == [min(max(x, 0.0), 120.0) for x in loose]
    assert all(x == int(x) for x in loose)


def test_a_graph_of_many_triangles_is_told_well() -> None:
    """Every edge of this graph lies in few of its 48,000 triangles."""
    block = np.array([(a, b) for a in range(12) for b in range(a)])
    edges = np.concatenate([block + 12 * k for k in range(220)])
    with replay(SeededBits(5)):
        answers = [so.smooth.triangles(edges, nodes=2640, epsilon=1) for _ in range(9)]
    assert abs(np.median(answers) - 48_400) < 200


def test_a_dense_graph_has_a_tree_that_is_told_well() -> None:
    rng = np.random.default_rng(4)
    edges = [(a, b, rng.random()) for a in range(120) for b in range(a)]
    cost = float(bounds_of.local_spanning_tree(edges, nodes=120, largest=1).cost)
    with replay(SeededBits(5)):
        answers = [
            so.smooth.spanning_tree(edges, nodes=120, largest=1, epsilon=1) for _ in range(9)
        ]
    assert abs(np.median(answers) - cost) < 0.3


def test_neighbours_that_differ_in_rows_without_meaning_are_the_same_graph() -> None:
    odd = [*WHEEL, (3, 3), (0, 99), (1, 0), (None, 2)]
    with replay(SeededBits(3)):
        one = so.smooth.triangles(WHEEL, nodes=10, epsilon=1)
    with replay(SeededBits(3)):
        assert so.smooth.triangles(odd, nodes=10, epsilon=1) == one


def mechanism(noise: Any) -> smooth.Smooth:
    return smooth.Smooth(
        noise=noise, epsilon=1, delta=0.01 if noise == "laplace" else 0,
        step=Fraction(1, 2), floor=Fraction(1, 8), bounds=(-20, 24),
    )  # fmt: skip


def check(laws: dict[Any, dict[float, float]], m: smooth.Smooth) -> None:
    """Assert that no set of outcomes tells two neighbours apart by more than is promised."""
    tables = {data: np.array(list(outcomes.values())) for data, outcomes in laws.items()}
    pairs = 0
    for one, other in itertools.permutations(tables, 2):
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            pairs += 1
            gain = np.maximum(tables[one] - math.e * tables[other], 0).sum()
            assert gain <= float(m.delta) * (1 + 1e-9) + 1e-12
    assert pairs > 0


@pytest.mark.parametrize("noise", NOISES)
def test_all_graphs_of_four_nodes_keep_the_promise_about_triangles(noise: Any) -> None:
    m, pairs = mechanism(noise), list(itertools.combinations(range(4), 2))
    laws = {}
    for bits in itertools.product((0, 1), repeat=len(pairs)):
        edges = [pair for pair, bit in zip(pairs, bits, strict=True) if bit]
        bound = bounds_of.triangles(edges, nodes=4, beta=m.beta, floor=m.floor)
        laws[bits] = law(m, bounds_of.local_triangles(edges, nodes=4).count, bound)
    check(laws, m)


@pytest.mark.parametrize("noise", NOISES)
def test_all_weights_of_a_triangle_keep_the_promise_about_trees(noise: Any) -> None:
    m, pairs = mechanism(noise), list(itertools.combinations(range(3), 2))
    laws = {}
    for weights in itertools.product((0, 1, 3, 6), repeat=len(pairs)):
        edges = [(*pair, weight) for pair, weight in zip(pairs, weights, strict=True)]
        tree = bounds_of.local_spanning_tree(edges, nodes=3, largest=6)
        bound = bounds_of.spanning_tree(edges, nodes=3, largest=6, beta=m.beta, floor=m.floor)
        laws[weights] = law(m, tree.cost, bound)
    check(laws, m)
