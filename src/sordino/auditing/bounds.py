# SPDX-License-Identifier: Apache-2.0
"""What counts prove: bounds of a probability, and of the privacy loss that two of them show."""

from __future__ import annotations

import functools
import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.theorems.counts import highest, lowest

Floats: TypeAlias = npt.NDArray[np.float64]

_RARE = 64  # hits below which an event is rare


def least_epsilon(
    hits: tuple[int, int], runs: tuple[int, int], *, delta: float = 0.0, alpha: float
) -> float:
    """Return an epsilon that two counts of one event prove, wrong with chance at most alpha.

    The event is hit ``hits[0]`` times in ``runs[0]`` runs on one input and ``hits[1]`` times in
    ``runs[1]`` runs on the other. A mechanism with a smaller epsilon at this delta would have to
    break one of two bounds, each of which fails with chance alpha / 2.

    >>> round(least_epsilon((600, 200), (1000, 1000), alpha=0.05), 12)
    0.922426843593

    Guarantee: none needed; it sees counts of invented data only.
    """
    low = float(lowest(hits[0], runs[0], alpha / 2)) - delta
    high = float(highest(hits[1], runs[1], alpha / 2))
    return math.log(low / high) if low > 0 else -math.inf


def guessed_epsilon(
    hits: Floats, others: Floats, runs: tuple[int, int], *, delta: float, alpha: float
) -> Floats:
    """Return about what `least_epsilon` would give, for whole arrays of counts at once.

    Rare events are bounded by Poisson's law, the others as Wilson does. That chooses an event and
    proves nothing.

    Guarantee: none needed; it sees counts of invented data only.
    """
    lows, highs, deviations = _rare(alpha / 2)
    low = _guess(hits, runs[0], lows, -deviations) - delta
    high = _guess(others, runs[1], highs, deviations)
    return np.where(low > 0, np.log(np.maximum(low, 1e-300)) - np.log(high), -np.inf)


def shares(alpha: float, rounds: int) -> list[float]:
    """Split the chance of a false alarm over rounds: half for the last, the rest for the others.

    >>> shares(0.01, 3)
    [0.0025, 0.0025, 0.005]

    Guarantee: none needed; it sees no data.
    """
    if rounds == 1:
        return [alpha]
    return [alpha / 2 / (rounds - 1)] * (rounds - 1) + [alpha / 2]


@functools.cache
def _rare(tail: float) -> tuple[Floats, Floats, float]:
    """Return bounds of the mean of a Poisson law for few hits, and normal deviations for many."""
    from scipy.special import gammaincinv, ndtri  # slow to load, and only an audit needs it

    hits = np.arange(_RARE)
    lows = np.where(hits > 0, gammaincinv(np.maximum(hits, 1), tail), 0.0)
    return lows, gammaincinv(hits + 1.0, 1.0 - tail), float(-ndtri(tail))


def _guess(hits: Floats, runs: int, rare: Floats, deviations: float) -> Floats:
    share, square = hits / runs, deviations**2
    spread = np.sqrt(share * (1 - share) / runs + square / (4 * runs * runs))
    wilson = (share + square / (2 * runs) + deviations * spread) / (1 + square / runs)
    few = rare[np.minimum(hits, _RARE - 1).astype(np.intp)] / runs
    return np.where(hits < _RARE, np.minimum(few, 1.0), wilson)
