# SPDX-License-Identifier: Apache-2.0
"""The cost of a minimum spanning tree of a private graph, and how far one weight can move it.

What one weight can do is told by cuts: the weights across a cut, in order, say what the tree pays
for it after k of them have changed. No cut is looked at but the worst. It is found from below: a
bound that some cuts attain is tested against all others, which is to ask whether enough edges that
are light enough lie between any two nodes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from typing import NamedTuple

from sordino.exact.rational import Integer
from sordino.sensitivity.changes import read_changes
from sordino.sensitivity.cuts import Groups, Network
from sordino.sensitivity.graphs import Weighted
from sordino.sensitivity.order_statistics import certified
from sordino.sensitivity.windows import reach


class Edge(NamedTuple):
    """An edge with its weight.

    Guarantee: none; private, as the data is.
    """

    weight: float
    first: int
    second: int


class SpanningTree:
    """The minimum spanning tree of a graph: its cost, A(k), and smooth bounds; all of it private.

    Pairs of nodes without an edge weigh ``largest``, as much as an edge can.

    Guarantee:
        Neighbours: the weight of one pair of nodes replaced by another one between 0 and
            ``largest``; so one edge added or removed too. The nodes are public.
        Loss: none by itself; private.
        Numerics: the cost is exact, A(k) has a relative error below 1e-15; smooth bounds are
            rounded up in a way that keeps them smooth.
        Proof: docs/proofs/graphs.md, theorems 3 and 4.
    """

    def __init__(self, graph: Weighted, largest: float) -> None:
        self.largest = largest  # as is the number of nodes, this is public
        self.nodes = graph.edges.size
        if self.nodes < 2:
            raise ValueError("a graph needs at least 2 nodes to have edges")
        columns = (graph.weights, graph.edges.first, graph.edges.second)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._edges = sorted(Edge(*row) for row in rows)
        groups = Groups(self.nodes)
        self._tree: list[Edge] = []
        self._others: list[Edge] = []
        for edge in self._edges:
            joined = groups.join(edge.first, edge.second)
            (self._tree if joined else self._others).append(edge)
        self._walk = self._walked()
        self._incident: list[list[float]] = [[] for _ in range(self.nodes)]
        for edge in self._edges:  # by weight, and so are these
            self._incident[edge.first].append(edge.weight)
            self._incident[edge.second].append(edge.weight)
        self._fewest = min(map(len, self._incident))
        self._kept: list[list[Edge]] = []  # the edges of each forest, by weight

    def __repr__(self) -> str:  # the data stays inside
        return "<spanning tree of a graph>"

    @property
    def cost(self) -> Fraction:
        """What the edges of the tree weigh together."""
        missing = self.nodes - 1 - len(self._tree)
        total = sum((Fraction(edge.weight) for edge in self._tree), Fraction(0))
        return total + missing * Fraction(self.largest)

    def __call__(self, changes: Integer, /) -> float:
        """Return A(k), the largest local sensitivity within k changes."""
        k = read_changes(changes)
        return self._search({min(k, self._fewest): 1.0}, 0.0)

    def smooth(self, rate: float, least: float) -> float:
        """Return a smooth bound for a rate and a floor that were read for it.

        Guarantee: as for the class.
        """
        # A cut around a node has so few edges that from their number on A(k) is the same.
        last = min(reach(rate, self.largest, least), self._fewest)
        fading = {k: math.exp(-rate * k) for k in range(last + 1)}
        return certified(self._search(fading, least))

    def _search(self, fading: dict[int, float], least: float) -> float:
        """Return the largest faded A(k) over some k, or ``least`` if that is larger."""
        if len(self._tree) < self.nodes - 1:
            return max([least, *(self.largest * factor for factor in fading.values())])
        best = max(least, fading.get(0, 0.0) * self._unchanged())
        for weights in self._incident:
            best = max(best, self._worth(weights, fading))
        last = max((k for k, factor in fading.items() if best / factor < self.largest), default=0)
        if last > 0:
            self._split(last + 2)
        passed = 0
        for k, factor in fading.items():
            while passed < k and (limit := best / factor) < self.largest:
                side, reached = self._exceeding(k, limit)
                if side is None:
                    passed = reached
                    break
                value = self._worth(self._across(side), fading)
                if value <= best:  # up to rounding they are the same
                    break
                best = value
        return best

    def _worth(self, weights: list[float], fading: dict[int, float]) -> float:
        """Return what a cut adds to the largest faded A(k), from its weights in order."""
        best, size, largest = 0.0, len(weights), self.largest
        for k, factor in fading.items():
            if k >= size:  # the cut is used up, and more changes do no more
                return max(best, factor * largest)
            more = weights[k + 1] if k + 1 < size else largest
            best = max(best, factor * max(weights[k], more - weights[0]))
        return best

    def _across(self, side: set[int]) -> list[float]:
        """Return the weights across a cut, in order."""
        return [e.weight for e in self._edges if (e.first in side) != (e.second in side)]

    def _unchanged(self) -> float:
        """Return A(0): the heaviest edge of the tree, or what the next best one costs more."""
        groups = Groups(self.nodes)  # named by their node next to the root, as these join upwards
        above, depth = [0] * self.nodes, [0] * self.nodes
        replaced = [self.largest] * self.nodes  # what could take the place of the edge upwards
        for start, end, _ in self._walk:
            above[end], depth[end] = start, depth[start] + 1
        for edge in self._others:
            one, other = groups.of(edge.first), groups.of(edge.second)
            while one != other:
                if depth[one] < depth[other]:
                    one, other = other, one
                replaced[one] = edge.weight
                groups.join(above[one], one)
                one = groups.of(one)
        return max(max(edge.weight, replaced[end] - edge.weight) for _, end, edge in self._walk)

    def _walked(self) -> list[tuple[int, int, Edge]]:
        """Return the edges of the tree from node 0 on, each after one that it touches, with ends.

        The first of its ends is the one that comes before.
        """
        touching: list[list[Edge]] = [[] for _ in range(self.nodes)]
        for edge in self._tree:
            touching[edge.first].append(edge)
            touching[edge.second].append(edge)
        walk, seen, waiting = [], {0}, [0]
        for node in waiting:
            for edge in touching[node]:
                end = edge.second if edge.first == node else edge.first
                if end not in seen:
                    seen.add(end)
                    waiting.append(end)
                    walk.append((node, end, edge))
        return walk

    def _split(self, number: int) -> None:
        """Divide the edges into forests: each takes, by weight, what the earlier ones left.

        Across any cut the j lightest edges of the first j forests are the j lightest of all, and
        between the ends of an edge of forest j there are j paths without a common edge, of edges
        that are no heavier.
        """
        if number <= len(self._kept):
            return
        forests = [Groups(self.nodes) for _ in range(number)]
        self._kept = [[] for _ in range(number)]
        for edge in self._edges:
            first, second = edge.first, edge.second
            low, high = 0, number  # nodes that a forest connects are connected by those before it
            while low < high:
                middle = (low + high) // 2
                groups = forests[middle]
                if groups.of(first) == groups.of(second):
                    low = middle + 1
                else:
                    high = middle
            if low < number:
                forests[low].join(first, second)
                self._kept[low].append(edge)

    def _exceeding(self, k: int, limit: float) -> tuple[set[int] | None, int]:
        """Return a side of a cut that makes A(k) larger than a limit, or None.

        Beside None is the largest number of changes for which that has been shown.
        """
        need = k + 2
        degree = min(bisect_right(weights, limit) for weights in self._incident)
        many = min(degree, len(self._kept))
        if many > need and self._heavy(many, limit) is None:
            return None, many - 2
        network = self._network(need, limit)
        weak = self._weak(network, need)
        if not weak:
            return None, k
        side = self._heavy(k + 1, limit)
        if side is not None:
            return side, 0
        return self._replaceable(network, need, limit, weak), k

    def _network(self, need: int, limit: float) -> Network:
        """Return the edges up to a limit, with nodes merged that are known to be well connected."""
        groups = Groups(self.nodes)
        for edge in _up_to(self._kept[need - 1], limit):
            groups.join(edge.first, edge.second)
        network = Network(groups, self.nodes)
        for forest in self._kept[: need - 1]:
            network.add((e.first, e.second) for e in _up_to(forest, limit))
        return network

    def _weak(self, network: Network, need: int) -> list[Edge]:
        """Return the edges of the tree whose ends are separated by a cut of fewer edges.

        All other ends are merged.
        """
        weak = []
        for start, end, edge in self._walk:
            if not network.together(start, end):
                if network.cut(start, end, need) is None:
                    network.merge(start, end)
                else:
                    weak.append(edge)
        return weak

    def _heavy(self, need: int, limit: float) -> set[int] | None:
        """Return a side of a cut with fewer edges up to the limit, or None if there is none."""
        network = self._network(need, limit)
        for start, end, _ in self._walk:
            if not network.together(start, end):
                side = network.cut(start, end, need)
                if side is not None:
                    return side
                network.merge(start, end)
        return None

    def _replaceable(
        self, network: Network, need: int, limit: float, weak: list[Edge]
    ) -> set[int] | None:
        """Return a side of a cut with fewer edges up to the limit above its lightest, or None."""
        last = limit
        for edge in sorted(weak):
            level = limit + edge.weight
            if level >= self.largest:
                return None
            for forest in self._kept[:need]:
                network.add((e.first, e.second) for e in _between(forest, last, level))
            last = level
            if not network.together(edge.first, edge.second):
                side = network.cut(edge.first, edge.second, need)
                if side is not None:
                    return side
                network.merge(edge.first, edge.second)
        return None


def _up_to(edges: list[Edge], limit: float) -> list[Edge]:
    return edges[: bisect_right(edges, limit, key=lambda edge: edge.weight)]


def _between(edges: list[Edge], low: float, high: float) -> list[Edge]:
    return edges[bisect_right(edges, low, key=lambda e: e.weight) : len(_up_to(edges, high))]
