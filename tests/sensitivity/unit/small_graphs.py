# SPDX-License-Identifier: Apache-2.0
"""All graphs on a few nodes, as bits of integers, and what is true of them by definition."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[Any]
Edge = tuple[int, int]


class AllGraphs:
    """Every graph on so many nodes; bit i of its number says whether it has edge i."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.pairs = list(itertools.combinations(range(nodes), 2))
        self.numbers = np.arange(1 << len(self.pairs))
        bit = {pair: 1 << place for place, pair in enumerate(self.pairs)}
        self.triangles = np.zeros(self.numbers.size, dtype=np.int64)
        for a, b, c in itertools.combinations(range(nodes), 3):
            mask = bit[a, b] | bit[b, c] | bit[a, c]
            self.triangles += (self.numbers & mask) == mask

    def edges(self, number: int) -> list[Edge]:
        return [pair for place, pair in enumerate(self.pairs) if number >> place & 1]

    def within(self, last: int) -> Iterator[Table]:
        """Yield A(0), A(1), ..., A(last) of the number of triangles, for all graphs."""
        flips = [self.numbers ^ (1 << place) for place in range(len(self.pairs))]
        most = np.max([abs(self.triangles - self.triangles[flip]) for flip in flips], axis=0)
        yield most
        for _ in range(last):
            most = np.max([most, *(most[flip] for flip in flips)], axis=0)
            yield most

    def shapes(self) -> list[int]:
        """Return one graph of every shape: the least of all numbers that its nodes can give it."""
        least = self.numbers
        place = {pair: number for number, pair in enumerate(self.pairs)}
        for names in itertools.permutations(range(self.nodes)):
            renamed = np.zeros_like(self.numbers)
            for number, (a, b) in enumerate(self.pairs):
                target = place[min(names[a], names[b]), max(names[a], names[b])]
                renamed |= (self.numbers >> number & 1) << target
            least = np.minimum(least, renamed)
        return np.flatnonzero(least == self.numbers).tolist()


def smoothed(within: Sequence[float], beta: float) -> float:
    """Return the largest faded A(k)."""
    return max(value * math.exp(-beta * k) for k, value in enumerate(within))


class AllWeights:
    """Every choice of weights, from a short list, for the given pairs of nodes."""

    def __init__(self, nodes: int, pairs: list[Edge], weights: list[int]) -> None:
        self.pairs, self.weights = pairs, weights
        self.shape = (len(weights),) * len(pairs)
        table = np.array(weights)
        costs: list[Table] = []
        for tree in itertools.combinations(range(len(pairs)), nodes - 1):
            if _spans(nodes, [pairs[place] for place in tree]):
                cost = np.zeros((1,) * len(pairs), dtype=np.int64)
                for place in tree:
                    along = [1] * len(pairs)
                    along[place] = len(weights)
                    cost = cost + table.reshape(along)
                costs.append(np.broadcast_to(cost, self.shape))
        self.costs = np.min(costs, axis=0)

    def within(self, last: int) -> Iterator[Table]:
        """Yield A(0), A(1), ..., A(last) of the least cost of a spanning tree, for all weights."""
        axes = range(len(self.pairs))
        most = np.max(
            [
                np.maximum(
                    self.costs.max(axis=axis, keepdims=True) - self.costs,
                    self.costs - self.costs.min(axis=axis, keepdims=True),
                )
                for axis in axes
            ],
            axis=0,
        )
        yield most
        for _ in range(last):
            around = [np.broadcast_to(most.max(axis=a, keepdims=True), self.shape) for a in axes]
            most = np.max(around, axis=0)
            yield most

    def edges(self, place: tuple[int, ...]) -> list[tuple[int, int, int]]:
        return [(*pair, self.weights[w]) for pair, w in zip(self.pairs, place, strict=True)]


def _spans(nodes: int, tree: list[Edge]) -> bool:
    names = list(range(nodes))
    for a, b in tree:
        if names[a] == names[b]:
            return False
        names = [names[a] if name == names[b] else name for name in names]
    return True
