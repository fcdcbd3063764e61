# SPDX-License-Identifier: Apache-2.0
"""How other libraries choose and find quantiles, where they are installed (extra ``bench``).

Each peer is set up for the pure epsilon and the relation that is asked for, with everything that
it offers to make use of them. OpenDP states the price of a scale itself, so the scale is the one
whose stated price is epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Choice: TypeAlias = Callable[[], int]
# scores, epsilon, monotone -> a choice; each score moves by at most 1
Chooser: TypeAlias = Callable[[Array, float, bool], Choice]
# data, quantiles, epsilon, largest value, step between candidates -> a draw of all quantiles
Ranker: TypeAlias = Callable[[Array, Sequence[float], float, int, int], Callable[[], list[float]]]

WIDTH = 1_000  # of the leaves of a tree
BRANCHES = 8
SLOW = ("diffprivlib quantile",)


def has(name: str) -> bool:
    return find_spec(name) is not None


def choosers() -> dict[str, Chooser]:
    """Return every mechanism of a peer that chooses an index at a pure epsilon."""
    found: dict[str, Chooser] = {}
    if has("opendp"):  # its other noise, Gumbel's, is priced in zCDP only
        found["OpenDP noisy max (exponential noise)"] = _opendp_noisy_max
    if has("diffprivlib"):
        found["diffprivlib Exponential"] = partial(_diffprivlib, "Exponential")
        found["diffprivlib PermuteAndFlip"] = partial(_diffprivlib, "PermuteAndFlip")
    return found


def rankers() -> dict[str, Ranker]:
    """Return every peer's way to quantiles at a pure epsilon, neighbours add_remove.

    Those that take several quantiles one by one get an even share of epsilon for each. A draw that
    fails is not a number.
    """
    found: dict[str, Ranker] = {}
    if has("diffprivlib"):
        found["diffprivlib quantile"] = _diffprivlib_quantile
    if has("opendp"):
        found["OpenDP private quantile"] = _opendp_quantile
        found["OpenDP tree of counts"] = _opendp_tree
    return found


def _opendp() -> Any:
    import opendp.prelude as dp  # an optional peer

    dp.enable_features("contrib")
    return dp


def _scale(make: Callable[[float], Any], epsilon: float) -> float:
    """Return the scale that a measurement needs: its price falls as one over the scale."""
    return float(make(1.0).map(1)) / epsilon


def _opendp_noisy_max(scores: Array, epsilon: float, monotone: bool) -> Choice:
    dp = _opendp()
    if scores.dtype.kind == "f":
        domain, kind = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), "f64"
    else:
        domain, kind = dp.vector_domain(dp.atom_domain(T="i64")), "i64"
    metric = dp.linf_distance(T=kind, monotonic=monotone)

    def make(scale: float) -> Any:
        return dp.m.make_noisy_max(domain, metric, dp.max_divergence(), scale=scale)

    one = 1.0 if kind == "f64" else 1
    choice = make(float(make(1.0).map(one)) / epsilon)
    return lambda: int(choice(scores))


def _diffprivlib(name: str, scores: Array, epsilon: float, monotone: bool) -> Choice:
    from diffprivlib import mechanisms  # an optional peer

    kind, listed = getattr(mechanisms, name), scores.tolist()
    return lambda: int(
        kind(epsilon=epsilon, sensitivity=1, utility=listed, monotonic=monotone).randomise()
    )


def _diffprivlib_quantile(
    data: Array, quantiles: Sequence[float], epsilon: float, largest: int, _step: int
) -> Callable[[], list[float]]:
    from diffprivlib.tools import quantile  # an optional peer

    def draw() -> list[float]:
        try:
            with np.errstate(invalid="ignore"):
                found = quantile(data, list(quantiles), epsilon=epsilon, bounds=(0, largest))
        except RuntimeError:  # all weights are zero: a value is shared by too many records
            return [math.nan] * len(quantiles)
        return sorted(np.ravel(found).tolist())

    return draw


def _opendp_quantile(
    data: Array, quantiles: Sequence[float], epsilon: float, largest: int, step: int
) -> Callable[[], list[float]]:
    dp = _opendp()
    space = (
        dp.vector_domain(dp.atom_domain(T=float, nan=False)),
        dp.symmetric_distance(),
    )
    candidates = np.arange(0, largest + 1, step, dtype=float).tolist()

    def one(level: float) -> Any:
        def make(scale: float) -> Any:
            return dp.m.make_private_quantile(
                *space, dp.max_divergence(), candidates=candidates, alpha=level, scale=scale
            )

        return make(_scale(make, epsilon / len(quantiles)))

    chosen = [one(level) for level in quantiles]
    return lambda: sorted(float(measurement(data)) for measurement in chosen)


def _opendp_tree(
    data: Array, quantiles: Sequence[float], epsilon: float, largest: int, step: int
) -> Callable[[], list[float]]:
    dp = _opendp()
    width = max(step, WIDTH)  # around multiples of it, so that rounding finds the bin again
    edges = np.arange(-width / 2, largest + width, width).tolist()
    leaves = len(edges) - 1
    counts = (
        (dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance())
        >> dp.t.then_find_bin(edges=edges[1:-1])
        >> dp.t.then_count_by_categories(categories=list(range(leaves)), null_category=False)
        >> dp.t.then_b_ary_tree(leaf_count=leaves, branching_factor=BRANCHES)
    )

    def make(scale: float) -> Any:
        return counts >> dp.m.then_laplace(scale=scale)

    after = dp.t.make_consistent_b_ary_tree(BRANCHES)
    read = dp.t.make_quantiles_from_counts(edges, list(quantiles))
    measured = make(_scale(make, epsilon)) >> after >> read
    return lambda: [float(value) for value in measured(data)]
