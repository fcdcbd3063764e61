# SPDX-License-Identifier: Apache-2.0
"""Spanning trees: A(k) for all weights of small graphs, all cuts of larger ones, smooth bounds."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.sensitivity import smooth
from tests.sensitivity.unit.small_graphs import AllWeights, Edge, smoothed

Weighted = list[tuple[int, int, float]]


def complete(nodes: int) -> list[Edge]:
    return list(itertools.combinations(range(nodes), 2))


GRAPHS: dict[str, tuple[int, list[Edge], list[int]]] = {
    "an edge": (2, complete(2), [0, 1, 2, 3, 5]),
    "a triangle": (3, complete(3), [0, 1, 2, 4, 7]),
    "all pairs of four": (4, complete(4), [0, 1, 3]),
    "all pairs of four, finer": (4, complete(4), [0, 2, 3, 4]),
    "all pairs of five": (5, complete(5), [0, 1]),
    "a path": (4, [(0, 1), (1, 2), (2, 3)], [0, 1, 2, 5]),
    "a ring with a chord": (5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)], [0, 1, 3]),
    "two triangles": (5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)], [0, 2, 3]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_within_k_changes_it_is_the_largest_local_sensitivity(name: str) -> None:
    """Pairs without an edge are not among the changes here, and make no difference."""
    nodes, pairs, weights = GRAPHS[name]
    universe, largest = AllWeights(nodes, pairs, weights), max(weights)
    last = min(len(pairs), 5)
    exact = np.array(list(universe.within(last)))
    for place in np.ndindex(*universe.shape):
        tree = smooth.local_spanning_tree(universe.edges(place), nodes=nodes, largest=largest)
        assert tree.cost == universe.costs[place]
        assert [tree(k) for k in range(last + 1)] == exact[(slice(None), *place)].tolist()


@pytest.mark.parametrize("name", ["a triangle", "all pairs of four", "two triangles"])
@pytest.mark.parametrize("beta", [0.07, 0.6])
def test_the_smooth_bound_is_the_smallest_one_and_smooth(name: str, beta: float) -> None:
    nodes, pairs, weights = GRAPHS[name]
    universe, largest = AllWeights(nodes, pairs, weights), max(weights)
    exact = np.array(list(universe.within(len(pairs))))
    bounds = np.zeros(universe.shape)
    for place in np.ndindex(*universe.shape):
        bounds[place] = smooth.spanning_tree(
            universe.edges(place), nodes=nodes, largest=largest, beta=beta
        )
        true = smoothed(exact[(slice(None), *place)].tolist(), beta)
        assert bounds[place] == pytest.approx(true, rel=1e-9, abs=1e-8)
    assert (bounds >= exact[0]).all()
    for axis in range(len(pairs)):
        assert np.log(bounds.max(axis=axis) / bounds.min(axis=axis)).max() <= beta


def by_cuts(edges: Weighted, nodes: int, largest: float, k: int) -> float:
    """All cuts: the weights across them in order, the largest one for those that are missing."""
    best = 0.0
    for bits in range(1, 1 << (nodes - 1)):
        across = sorted(w for a, b, w in edges if (bits >> a ^ bits >> b) & 1)
        across += [largest] * (k + 2)
        best = max(best, across[k], across[k + 1] - across[0])
    return best


@st.composite
def random_graphs(draw: st.DrawFn) -> tuple[int, Weighted]:
    """Draw graphs of any kind, and such of two dense halves with little in between."""
    nodes = draw(st.integers(2, 9))
    inside = draw(st.sampled_from([0.5, 0.9, 1.0]))
    between = draw(st.sampled_from([0.2, inside]))
    weights: list[float] = draw(
        st.sampled_from([[1.0, 2.0, 9.0], [0.0, 1.0, 2.0, 3.0, 5.0, 8.0], [1.0], [0.1, 0.7, 39.5]])
    )
    random = draw(st.randoms(use_true_random=False))
    edges = [
        (a, b, random.choice(weights))
        for a, b in complete(nodes)
        if random.random() < (inside if (2 * a < nodes) == (2 * b < nodes) else between)
    ]
    return nodes, edges


@settings(max_examples=300, deadline=None)
@given(random_graphs())
def test_no_cut_is_worse_than_what_the_search_finds(graph: tuple[int, Weighted]) -> None:
    nodes, edges = graph
    largest = 40.0
    tree = smooth.local_spanning_tree(edges, nodes=nodes, largest=largest)
    within = [by_cuts(edges, nodes, largest, k) for k in range(nodes + 1)]
    assert [tree(k) for k in range(nodes + 1)] == within
    for beta in (0.02, 0.3, 1.2):
        bound = smooth.spanning_tree(edges, nodes=nodes, largest=largest, beta=beta)
        assert bound == pytest.approx(smoothed(within, beta), rel=1e-9, abs=1e-7)


def test_well_connected_halves_with_a_thin_bridge_are_no_stars() -> None:
    """The worst cut has two edges and lies between two halves whose nodes all have many."""
    half = [(a, b, 1.0) for a, b in complete(6)]
    edges = [*half, *((a + 6, b + 6, w) for a, b, w in half), (0, 6, 1.0), (1, 7, 1.0)]
    within = smooth.local_spanning_tree(edges, nodes=12, largest=100)
    assert [within(k) for k in range(4)] == [1.0, 99.0, 100.0, 100.0]
    bound = smooth.spanning_tree(edges, nodes=12, largest=100, beta=1)
    assert bound == pytest.approx(99 * math.exp(-1), rel=1e-9, abs=0)


def test_a_graph_in_two_parts_pays_the_largest_weight() -> None:
    edges = [(0, 1, 2), (2, 3, 5)]
    tree = smooth.local_spanning_tree(edges, nodes=4, largest=9)
    assert tree.cost == 2 + 5 + 9
    assert [tree(k) for k in range(3)] == [9.0, 9.0, 9.0]
    assert smooth.spanning_tree(edges, nodes=4, largest=9, beta=1) == 9 * (1 + 1e-11)
    assert smooth.local_spanning_tree([], nodes=3, largest=9).cost == 18


ROWS: list[Any] = [
    [(0, 1, 0.5), (1, 2, 3), (0, 2, 7)],
    [[1, 0, 0.5], [1, 2, 3], [1, 2, 6], [2, 0, 99], [0, 0, 1], [5, 1, 0]],
    np.array([[0, 1, 0.5], [1, 2, 3], [2, 0, math.nan]]),
    pd.DataFrame({"a": [0, 1, 0], "b": [1, 2, 2], "w": [0.5, 3, None]}),
    [(0, 1, 0.5), (1, 2, Fraction(3)), (0, 2, None), (0, 2, math.inf)],
]


@pytest.mark.parametrize("edges", ROWS)
def test_edges_come_in_many_shapes_and_weights_are_clamped(edges: Any) -> None:
    tree = smooth.local_spanning_tree(edges, nodes=3, largest=7)
    assert tree.cost == Fraction(7, 2)
    assert [tree(k) for k in range(3)] == [6.5, 7.0, 7.0]


def test_costs_are_exact() -> None:
    edges = [(0, 1, 0.1), (1, 2, 0.2), (2, 3, 1e-20)]
    tree = smooth.local_spanning_tree(edges, nodes=4, largest=1)
    assert tree.cost == Fraction(0.1) + Fraction(0.2) + Fraction(1e-20)


BAD: list[tuple[Any, dict[str, Any], str]] = [
    ([(0, 1)], {}, "two ends and a weight"),
    ([(0, 1, "a")], {}, "values must be numbers"),
    ([], {"nodes": 1}, "at least 2 nodes"),
    ([], {"largest": 0}, "largest must be a positive number"),
    ([], {"beta": 0}, "beta must be a positive number"),
]


@pytest.mark.parametrize(("edges", "options", "message"), BAD)
def test_what_is_no_graph_is_refused(edges: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        smooth.spanning_tree(edges, **({"nodes": 3, "largest": 1, "beta": 1} | options))


def test_the_data_do_not_show() -> None:
    assert "7" not in repr(smooth.local_spanning_tree([(0, 1, 7)], nodes=2, largest=9))
