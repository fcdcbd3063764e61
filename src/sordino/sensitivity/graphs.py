# SPDX-License-Identifier: Apache-2.0
"""Private graphs on public nodes: what a list of edges says about each pair of nodes.

A graph is one record for each pair of nodes: whether there is an edge, or what it weighs. Rows that
say nothing about a pair, since an end is no node or both are the same, are left out, and rows about
the same pair count as one. So a row more or less is at most one record that is replaced.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import is_integer, positive_whole
from sordino.sensitivity.order_statistics import read_values

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
