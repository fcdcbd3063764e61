# SPDX-License-Identifier: Apache-2.0
"""Private numbers of graphs: triangles, and the cost of a minimum spanning tree."""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.exact.rational import Number, positive
from sordino.mechanisms.smooth.mechanism import Calibration, NoiseName, Smooth
from sordino.mechanisms.smooth.noise import Noise
from sordino.mechanisms.smooth.statistics import default_step
from sordino.sensitivity.order_statistics import read_beta, read_floor
from sordino.sensitivity.smooth import local_spanning_tree, local_triangles

_LEAST_TRIANGLES = Fraction(1, 1024)  # the floor of a bound that is seldom below one triangle


def triangles(
    edges: object,
    *,
    nodes: object,
    epsilon: Number,
    delta: Number = 0,
    noise: NoiseName | Noise = "cauchy",
    beta: Number | None = None,
    calibration: Calibration = "exact",
    step: Number = 1,
    floor: Number | None = None,
    clamp: bool = True,
) -> float:
    """Release the number of triangles of a graph whose edges are private.

    ``edges`` are rows of two ends: a list of pairs, an array or a table. ``nodes``, which are
    public, are a number n, for 0 to n - 1, or a list of names. Rows about other ends, about twice
    the same node or about a pair that was there before are left out: an error would tell about one.

    ``noise``, ``beta`` and ``calibration`` are those of Smooth. Results are multiples of ``step``,
    whole numbers by default; unless ``clamp`` is False they are no less than 0 and no more than all
    triangles that so many nodes can have. The ``floor`` of the smooth bound is 1/1024 by default.

    >>> isinstance(triangles([(0, 1), (1, 2), (0, 2)], nodes=10, epsilon=1), float)
    True

    Guarantee:
        Neighbours: one edge added or removed; the nodes are public. As one record for each pair of
            nodes this is replace_one. Nothing is promised about all edges of a node at once.
        Loss: epsilon, or (epsilon, delta), for each call.
        Numerics: exact; the smooth bound is rounded up in a way that keeps it smooth.
        Proof: docs/proofs/graphs.md, theorems 1 and 2; docs/proofs/smooth.md.
    """
    graph = local_triangles(edges, nodes=nodes)
    size = graph.most + 2
    made = Smooth(
        noise=noise, epsilon=epsilon, delta=delta, beta=beta, calibration=calibration, step=step,
        floor=_LEAST_TRIANGLES if floor is None else floor,
        bounds=(0, math.comb(size, 3)) if clamp else None,
    )  # fmt: skip
    least = read_floor(made.floor, float(graph.most))
    return made.release(graph.count, graph.smooth(read_beta(made.beta), least))


def spanning_tree(
    edges: object,
    *,
    nodes: object,
    largest: Number,
    epsilon: Number,
    delta: Number = 0,
    noise: NoiseName | Noise = "cauchy",
    beta: Number | None = None,
    calibration: Calibration = "exact",
    step: Number | None = None,
    floor: Number | None = None,
    clamp: bool = True,
) -> float:
    """Release the cost of a minimum spanning tree of a graph whose edges and weights are private.

    ``edges`` are rows of two ends and a weight, which is clamped to 0 and ``largest``, a public
    number. A pair of nodes without an edge costs ``largest`` too, so there is always a tree.
    ``nodes`` and rows that are left out are as for triangles; of several rows about a pair the
    lightest counts, and a missing weight counts as the largest.

    Results are multiples of ``step``, by default a power of two of about 2**-30 of the largest
    weight, which is also the ``floor`` of the smooth bound. Noise is small where every node has
    several light edges: a node with a single edge is enough to make it as wide as ``largest``.

    >>> roads = [(0, 1, 2.5), (1, 2, 1.5), (0, 2, 3)]
    >>> 0 <= spanning_tree(roads, nodes=3, largest=10, epsilon=1) <= 20
    True

    Guarantee:
        Neighbours: the weight of one pair of nodes replaced by another one between 0 and
            ``largest``; so one edge added or removed too. The nodes are public.
        Loss: epsilon, or (epsilon, delta), for each call.
        Numerics: exact; the smooth bound is rounded up in a way that keeps it smooth.
        Proof: docs/proofs/graphs.md, theorems 3 and 4; docs/proofs/smooth.md.
    """
    tree = local_spanning_tree(edges, nodes=nodes, largest=largest)
    made = Smooth(
        noise=noise, epsilon=epsilon, delta=delta, beta=beta, calibration=calibration,
        step=default_step(positive("largest", largest)) if step is None else step,
        floor=floor,
        bounds=(0, Fraction(tree.largest) * (tree.nodes - 1)) if clamp else None,
    )  # fmt: skip
    least = read_floor(made.floor, tree.largest)
    return made.release(tree.cost, tree.smooth(read_beta(made.beta), least))
