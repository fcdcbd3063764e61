# SPDX-License-Identifier: Apache-2.0
"""Triangles: A(k) for all graphs of up to 5 nodes and for all shapes of 6, and smooth bounds."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.sensitivity import graphs as module
from sordino.sensitivity import smooth
from sordino.sensitivity.graphs import Triangles, read_edges
from tests.sensitivity.unit.small_graphs import AllGraphs, Edge, smoothed


@pytest.mark.parametrize("nodes", [3, 4, 5, 6])
def test_within_k_changes_it_is_the_largest_local_sensitivity(nodes: int) -> None:
    graphs = AllGraphs(nodes)
    last = len(graphs.pairs)
    exact = np.array(list(graphs.within(last)))
    for number in graphs.numbers.tolist() if nodes < 6 else graphs.shapes():
        found = Triangles(read_edges(graphs.edges(number), nodes))
        assert found.count == graphs.triangles[number]
        order = range(last + 1) if number % 2 else range(last, -1, -1)  # no answer spoils another
        for k in order:
            assert found(k) == exact[k, number]


@pytest.mark.parametrize("beta", [0.05, 0.4, 1.5])
def test_the_smooth_bound_is_the_smallest_one_and_smooth(beta: float) -> None:
    graphs = AllGraphs(5)
    exact = np.array(list(graphs.within(12)))
    bounds = np.zeros(graphs.numbers.size)
    for number in graphs.numbers.tolist():
        bounds[number] = smooth.triangles(graphs.edges(number), nodes=5, beta=beta, floor=2.0**-30)
        assert bounds[number] == pytest.approx(
            smoothed(exact[:, number].tolist(), beta), rel=1e-9, abs=0
        )
    assert (bounds >= exact[0]).all()
    for place in range(len(graphs.pairs)):
        ratio = bounds / bounds[graphs.numbers ^ (1 << place)]
        assert abs(np.log(ratio)).max() <= beta


def by_formula(edges: list[Edge], nodes: int, k: int) -> int:
    """All pairs: common neighbours, and half of what is missing to more of them."""
    near: list[set[int]] = [set() for _ in range(nodes)]
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    best = 0
    for a, b in itertools.combinations(range(nodes), 2):
        common = len(near[a] & near[b])
        half = len((near[a] ^ near[b]) - {a, b})
        best = max(best, min(common + (k + min(k, half)) // 2, nodes - 2))
    return best


@st.composite
def random_graphs(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    nodes = draw(st.integers(3, 14))
    pairs = list(itertools.combinations(range(nodes), 2))
    return nodes, draw(st.lists(st.sampled_from(pairs), unique=True))


@settings(max_examples=150)
@given(random_graphs(), st.integers(1, 60))
def test_nodes_may_be_left_out_that_cannot_count(graph: tuple[int, list[Edge]], batch: int) -> None:
    nodes, edges = graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BATCH", batch)
        for k in (0, 1, 2, 3, 5, 8, 30):
            assert Triangles(read_edges(edges, nodes))(k) == by_formula(edges, nodes, k)
        for beta in (0.03, 0.5):
            exact = smoothed([by_formula(edges, nodes, k) for k in range(2 * nodes)], beta)
            bound = smooth.triangles(edges, nodes=nodes, beta=beta)
            assert bound == pytest.approx(exact, rel=1e-9, abs=0)


def test_a_star_of_many_leaves_does_not_take_all_pairs() -> None:
    nodes = 200_001
    edges = np.column_stack([np.zeros(nodes - 1, dtype=np.int64), np.arange(1, nodes)])
    bound = smooth.triangles(edges, nodes=nodes, beta=0.1)
    within = [max(k, min(1 + k, (k + 2) // 2)) for k in range(100)]  # with the hub, two leaves
    assert bound == pytest.approx(smoothed(within, 0.1), rel=1e-9, abs=0)


ROWS: list[tuple[Any, Any]] = [
    ([(0, 1), (1, 2), (2, 0)], 4),
    ([[1, 0], [1, 2], [2, 1], [0, 2], [2, 2]], 4),
    (np.array([[0, 1], [1, 2], [0, 2], [0, 9], [-1, 2]]), 4),
    (np.array([[0, 1], [1, 2], [0, 2]], dtype=np.uint64), 4),
    (np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 2.0]]), 4),
    (pd.DataFrame({"from": ["a", "b", "c", None], "to": ["b", "c", "a", "a"]}), list("abcd")),
    (((0, 1), (1, 2), (0, 2), (0.5, 1), ("a", 2), (None, 1), (10**30, 1)), 4),
    ([("x", "y"), ("y", "z"), ("x", "z"), ([], "x")], np.array(["x", "y", "z", "w"])),
]


@pytest.mark.parametrize(("edges", "nodes"), ROWS)
def test_edges_come_in_many_shapes_and_other_rows_do_not_count(edges: Any, nodes: Any) -> None:
    graph = read_edges(edges, nodes)
    assert graph.size == 4
    assert sorted(zip(graph.first.tolist(), graph.second.tolist(), strict=True)) == [
        (0, 1), (0, 2), (1, 2),
    ]  # fmt: skip
    assert Triangles(graph).count == 1


BAD: list[tuple[Any, Any, str]] = [
    ([(0, 1, 2)], 3, "each of two ends"),
    ([0, 1], 3, "each of two ends"),
    (np.zeros(4), 3, "each of two ends"),
    ({0: 1}, 3, "each of two ends"),
    ("ab", 3, "each of two ends"),
    ([], 2, "at least 3 nodes"),
    ([], 0, "nodes must be a positive whole number"),
    ([], ["a", "a", "b"], "nodes must be different"),
    ([], [], "at least one node"),
    ([], "abc", "a number, for the nodes 0, 1"),
    ([], 2**40, "at most 2\\*\\*31"),
]


@pytest.mark.parametrize(("edges", "nodes", "message"), BAD)
def test_what_is_no_graph_is_refused(edges: Any, nodes: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        smooth.triangles(edges, nodes=nodes, beta=1)


def test_a_graph_without_edges_has_bounds_too() -> None:
    within = smooth.local_triangles([], nodes=10)
    assert [within(k) for k in range(6)] == [0, 0, 1, 1, 2, 2]
    assert "10" not in repr(within)
