# SPDX-License-Identifier: Apache-2.0
"""Graphs whose nodes grow together, and whether a cut of few edges lies between two of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


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
