# SPDX-License-Identifier: Apache-2.0
"""Private graphs on public nodes: what a list of edges says about each pair of nodes.

A graph is one record for each pair of nodes: whether there is an edge, or what it weighs. Rows that
say nothing about a pair, since an end is no node or both are the same, are left out, and rows about
the same pair count as one. So a row more or less is at most one record that is replaced.

The number of triangles of a private graph, and how far one edge can move it.

Adding or removing the edge between two nodes moves the number by how many neighbours they have in
common. Only two numbers of a pair matter: that one, and how many neighbours both have together. Of
all pairs those are kept that no other pair beats in both. Nodes are looked at by falling degrees,
until what is left cannot count any more.

The cost of a minimum spanning tree of a private graph, and how far one weight can move it.

What one weight can do is told by cuts: the weights across a cut, in order, say what the tree pays
for it after k of them have changed. No cut is looked at but the worst. It is found from below: a
bound that some cuts attain is tested against all others, which is to ask whether enough edges that
are light enough lie between any two nodes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.rational import Integer, is_integer, positive_whole
from sordino.sensitivity.changes import read_changes
from sordino.sensitivity.order_statistics import certified, reach, read_values

Places: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

_MOST_NODES = 1 << 31  # a pair of nodes is a number of 64 bits


class Edges(NamedTuple):
    """The edges of a graph, each once, by the places of their ends: the first below the second.

    Guarantee: none; private, as the data is.
    """

    size: int
    first: Places
    second: Places


class Weighted(NamedTuple):
    """The edges of a graph, each once, with their weights.

    Guarantee: none; private, as the data is.
    """

    edges: Edges
    weights: Floats


def read_edges(edges: object, nodes: object) -> Edges:
    """Read the edges of a graph from rows of two ends.

    Guarantee: none; each row is read by itself, and messages speak of types only.
    """
    size, first, second, _ = _columns(edges, nodes, 2)
    pairs = np.unique(_pairs(size, first, second)[0])
    return Edges(size, pairs // size, pairs % size)


def read_weighted(edges: object, nodes: object, largest: float) -> Weighted:
    """Read a graph from rows of two ends and a weight, which is clamped to 0 and ``largest``.

    A missing weight counts as the largest. Of several rows about a pair the least weight counts.

    Guarantee: none; each row is read by itself, and messages speak of types only.
    """
    size, first, second, column = _columns(edges, nodes, 3)
    weights = read_values(column, largest) if len(column) else np.zeros(0)
    pairs, kept = _pairs(size, first, second)
    weights = weights[kept].clip(0.0, largest)
    order = np.lexsort((weights, pairs))
    pairs, places = np.unique(pairs[order], return_index=True)
    return Weighted(Edges(size, pairs // size, pairs % size), weights[order][places])


def _columns(
    edges: Any, nodes: object, width: int
) -> tuple[int, Places, Places, Sequence[object] | npt.NDArray[Any]]:
    """Return the number of nodes, the places of both ends, -1 where there is none, and weights."""
    size, places = _read_nodes(nodes)
    if hasattr(edges, "columns"):
        edges = list(edges.itertuples(index=False, name=None))
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] != width:
            raise TypeError(_shape(width))
        if places is None and edges.dtype.kind in "iu" and width == 2:
            inside = (edges >= 0) & (edges < size)
            ends = np.where(inside, edges, -1).astype(np.int64)
            return size, ends[:, 0], ends[:, 1], []
        edges = edges.tolist()
    if isinstance(edges, str | bytes | Mapping) or not isinstance(edges, Iterable):
        raise TypeError(_shape(width))
    rows = list(edges)
    if not all(isinstance(row, tuple | list) and len(row) == width for row in rows):
        raise TypeError(_shape(width))
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]
    first, second = (
        np.fromiter((_place(x, size, places) for x in column), np.int64, len(column))
        for column in columns[:2]
    )
    return size, first, second, columns[2] if width > 2 else []


def _read_nodes(nodes: object) -> tuple[int, dict[Hashable, int] | None]:
    """Read the public nodes: how many there are, or a list of their names."""
    if is_integer(nodes):
        size = positive_whole("nodes", nodes)
        if size > _MOST_NODES:
            raise ValueError("nodes must be at most 2**31")
        return size, None
    if isinstance(nodes, str | bytes) or not isinstance(nodes, Iterable):
        raise TypeError("nodes must be a number, for the nodes 0, 1, ..., or a list of names")
    names = nodes.tolist() if hasattr(nodes, "tolist") else list(nodes)
    places = {name: place for place, name in enumerate(names)}
    if len(places) != len(names):
        raise ValueError("nodes must be different from each other")
    if not places:
        raise ValueError("nodes must hold at least one node")
    return len(names), places


def _place(end: object, size: int, places: dict[Hashable, int] | None) -> int:
    if places is None:
        if isinstance(end, float) and end.is_integer():
            end = int(end)  # a table with weights makes all of its numbers doubles
        return int(end) if is_integer(end) and 0 <= end < size else -1
    return places.get(end, -1) if isinstance(end, Hashable) else -1


def _pairs(size: int, first: Places, second: Places) -> tuple[Places, npt.NDArray[np.bool_]]:
    """Return a number for each pair of two nodes, and which rows are about such a pair."""
    kept = (first >= 0) & (second >= 0) & (first != second)
    low, high = np.minimum(first, second)[kept], np.maximum(first, second)[kept]
    return low * size + high, kept


def _shape(width: int) -> str:
    row = "two ends" if width == 2 else "two ends and a weight"
    return f"edges must be a list or a table of rows, each of {row}"


class Groups:
    """Nodes that are joined into groups; each group is named by one of its nodes.

    Guarantee: none; private, as the data is.
    """

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def of(self, node: int) -> int:
        """Return the group of a node.

        Guarantee: none; private, as the data is.
        """
        above = self._above
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    def join(self, one: int, other: int) -> bool:
        """Put two nodes into one group, and tell whether they were in two.

        Guarantee: none; private, as the data is.
        """
        one, other = self.of(one), self.of(other)
        self._above[other] = one
        return one != other


class Network:
    """A graph with parallel edges whose nodes can be merged.

    Guarantee: none; private, as the data is.
    """

    def __init__(self, groups: Groups, size: int) -> None:
        self._groups = groups
        self._size = size
        self._edges: dict[int, dict[int, int]] = {}

    def add(self, edges: Iterable[tuple[int, int]]) -> None:
        """Add an edge between the groups of two nodes, unless they are the same.

        Guarantee: none; private, as the data is.
        """
        of = self._groups.of
        for first, second in edges:
            one, other = of(first), of(second)
            if one != other:
                for start, end in ((one, other), (other, one)):
                    row = self._edges.setdefault(start, {})
                    row[end] = row.get(end, 0) + 1

    def together(self, one: int, other: int) -> bool:
        """Tell whether two nodes have been merged.

        Guarantee: none; private, as the data is.
        """
        return self._groups.of(one) == self._groups.of(other)

    def merge(self, one: int, other: int) -> None:
        """Make one node of two; edges between them are gone.

        Guarantee: none; private, as the data is.
        """
        one, other = self._groups.of(one), self._groups.of(other)
        if one == other:
            return
        if len(self._edges.get(one, ())) < len(self._edges.get(other, ())):
            one, other = other, one
        self._groups.join(one, other)
        kept = self._edges.setdefault(one, {})
        for end, times in self._edges.pop(other, {}).items():
            row = self._edges[end]
            del row[other]
            if end != one:
                kept[end] = kept.get(end, 0) + times
                row[one] = row.get(one, 0) + times

    def cut(self, one: int, other: int, need: int) -> set[int] | None:
        """Return a side of a cut of fewer than ``need`` edges between two nodes, if there is one.

        The side is a set of nodes. Paths are found one after the other, each through what the
        earlier ones have left, until there are enough, or no more.

        Guarantee: none; private, as the data is.
        """
        one, other = self._groups.of(one), self._groups.of(other)
        if len(self._edges.get(one, ())) > len(self._edges.get(other, ())):
            one, other = other, one  # the search begins where there is less to see
        edges = self._edges
        used: dict[tuple[int, int], int] = {}
        left = need
        for middle in edges.get(one, ()):  # most paths have one or two edges
            steps = [(one, other)] if middle == other else [(one, middle), (middle, other)]
            room = min(edges[start].get(end, 0) for start, end in steps)
            for start, end in steps if room else ():
                used[start, end] = room
                used[end, start] = -room
            left -= room
        while left > 0:
            before = {one: one}
            waiting = deque([one])
            while waiting and other not in before:
                here = waiting.popleft()
                for end, times in edges.get(here, {}).items():
                    if end not in before and times > used.get((here, end), 0):
                        before[end] = here
                        waiting.append(end)
            if other not in before:
                return {node for node in range(self._size) if self._groups.of(node) in before}
            end = other
            while end != one:
                start = before[end]
                used[start, end] = used.get((start, end), 0) + 1
                used[end, start] = used.get((end, start), 0) - 1
                end = start
            left -= 1
        return None


_BATCH = 1_000_000  # paths of two edges that are looked at at a time


class Triangles:
    """The triangles of a graph: their number, A(k), and smooth bounds; all of it private.

    Guarantee:
        Neighbours: one edge added or removed; the nodes are public. As one record for each pair of
            nodes this is replace_one.
        Loss: none by itself; private.
        Numerics: exact; smooth bounds are rounded up in a way that keeps them smooth.
        Proof: docs/proofs/graphs.md, theorems 1 and 2.
    """

    def __init__(self, graph: Edges) -> None:
        if graph.size < 3:
            raise ValueError("a graph needs at least 3 nodes to have triangles")
        self.most = graph.size - 2
        ends = np.concatenate([graph.first, graph.second])
        degrees = np.bincount(ends, minlength=graph.size)
        order = np.argsort(-degrees, kind="stable")
        place = np.empty(graph.size, dtype=np.int64)
        place[order] = np.arange(graph.size)
        self._degrees: Places = degrees[order]
        self._size = graph.size
        first, second = place[graph.first], place[graph.second]
        self._keys: Places = np.sort(
            np.concatenate([first * graph.size + second, second * graph.size + first])
        )
        self._starts: Places = np.concatenate([[0], np.cumsum(self._degrees)])
        self._from, self._to = np.divmod(self._keys, graph.size)
        self._back = np.searchsorted(self._keys, self._to * graph.size + self._from)
        paths = self._starts[self._to + 1] - self._back - 1
        self._paths = np.concatenate([[0], np.cumsum(paths)])[self._starts]
        self._looked = 0  # nodes from the start that all pairs have been looked at of
        self._sums: Places = np.full(int(self._degrees.max(initial=0)) + 1, -1)
        self._sums[0] = self._largest_sum()

    def __repr__(self) -> str:  # the data stays inside
        return "<triangles of a graph>"

    @property
    def count(self) -> int:
        """How many triangles there are."""
        later: list[set[int]] = [set() for _ in range(self._size)]
        ahead = self._from > self._to  # towards the larger degree, so that no set is large
        pairs = list(zip(self._from[ahead].tolist(), self._to[ahead].tolist(), strict=True))
        for one, other in pairs:
            later[one].add(other)
        return sum(len(later[one] & later[other]) for one, other in pairs)

    def __call__(self, changes: Integer, /) -> int:
        """Return A(k), the largest local sensitivity within k changes."""
        k = np.array([min(read_changes(changes), 2 * self._size)])
        while True:
            most = int(self._within(k)[0])
            if self._rest(k)[0] <= most:
                return most
            self._look()

    def smooth(self, rate: float, least: float) -> float:
        """Return a smooth bound for a rate and a floor that were read for it."""
        # From 2n changes on A(k) is the same, and fades.
        k = np.arange(min(reach(rate, float(self.most), least), 2 * self._size) + 1)
        fading: Floats = np.exp(-rate * k)
        while True:
            best = max(least, float((self._within(k) * fading).max()))
            if float((self._rest(k) * fading).max()) <= best:
                return certified(best)
            self._look()

    def _within(self, k: Places) -> Places:
        """Return A(k) of the pairs that have been looked at."""
        moves = np.zeros(k.size, dtype=np.int64)
        highest = -1
        for common in np.flatnonzero(self._sums >= 0)[::-1].tolist():
            total = int(self._sums[common])
            if total > highest:
                highest = total
                np.maximum(moves, np.minimum(common + k, (k + total) // 2), out=moves)
        return np.minimum(moves, self.most)

    def _rest(self, k: Places) -> Places:
        """Return what A(k) of the pairs that have not been looked at is at most."""
        if self._looked >= self._size - 1:
            return np.zeros(k.size, dtype=np.int64)
        return np.minimum(int(self._degrees[self._looked]) + k // 2, self.most)

    def _look(self) -> None:
        """Look at the pairs of some more nodes with nodes after them."""
        first = self._looked
        last = int(np.searchsorted(self._paths, self._paths[first] + _BATCH, side="right"))
        last = min(max(last - 1, first + 1), self._size)
        self._looked = last
        steps = np.arange(self._starts[first], self._starts[last])  # edges to the middle
        start, end = self._back[steps] + 1, self._starts[self._to[steps] + 1]
        lengths = end - start
        ends = np.cumsum(lengths)
        if not ends.size or not ends[-1]:
            return
        inner = np.arange(ends[-1]) - np.repeat(ends - lengths - start, lengths)
        pairs = np.repeat(self._from[steps], lengths) * self._size + self._to[inner]
        pairs, common = np.unique(pairs, return_counts=True)
        one, other = np.divmod(pairs, self._size)
        place = np.minimum(np.searchsorted(self._keys, pairs), self._keys.size - 1)
        joined = self._keys[place] == pairs
        np.maximum.at(self._sums, common, self._degrees[one] + self._degrees[other] - 2 * joined)

    def _largest_sum(self) -> int:
        """Return the most neighbours that two nodes have together, each other not counted."""
        best = 0
        degrees = self._degrees
        for one in range(self._size - 1):
            here = int(degrees[one])
            if here + int(degrees[one + 1]) <= best:
                break
            neighbours = self._to[self._starts[one] : self._starts[one + 1]]
            neighbours = neighbours[neighbours > one]
            if neighbours.size:
                best = max(best, here + int(degrees[neighbours[0]]) - 2)
            # The first node after this one that is no neighbour of it.
            gaps = np.flatnonzero(neighbours != np.arange(one + 1, one + 1 + neighbours.size))
            apart = one + 1 + (int(gaps[0]) if gaps.size else neighbours.size)
            if apart < self._size:
                best = max(best, here + int(degrees[apart]))
        return best


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
        """Return a smooth bound for a rate and a floor that were read for it."""
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
