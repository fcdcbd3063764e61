# SPDX-License-Identifier: Apache-2.0
"""The number of triangles of a private graph, and how far one edge can move it.

Adding or removing the edge between two nodes moves the number by how many neighbours they have in
common. Only two numbers of a pair matter: that one, and how many neighbours both have together. Of
all pairs those are kept that no other pair beats in both. Nodes are looked at by falling degrees,
until what is left cannot count any more.
"""

from __future__ import annotations

import numpy as np

from sordino.exact.rational import Integer
from sordino.sensitivity.changes import read_changes
from sordino.sensitivity.graphs import Edges, Floats, Places
from sordino.sensitivity.order_statistics import certified
from sordino.sensitivity.windows import reach

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
        """Return a smooth bound for a rate and a floor that were read for it.

        Guarantee: as for the class.
        """
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
