# SPDX-License-Identifier: Apache-2.0
"""What a count proves about the chance behind it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = "int | npt.NDArray[Any]"


def lowest(hits: Counts, runs: int, alpha: float) -> Floats:
    """Return the least probability that so many hits allow, wrong with chance at most alpha.

    >>> float(lowest(900, 1000, 0.025))
    0.8797120634813074
    """
    from scipy.special import betaincinv  # scipy is slow to load

    hits = np.asarray(hits, dtype=np.float64)
    inner = np.maximum(hits, 1.0)
    return np.where(hits > 0, betaincinv(inner, runs - inner + 1.0, alpha), 0.0)


def highest(hits: Counts, runs: int, alpha: float) -> Floats:
    """Return the largest probability that so many hits allow, wrong with chance at most alpha.

    >>> round(float(highest(0, 1000, 0.025)), 12)
    0.003682083897
    """
    from scipy.special import betainccinv  # scipy is slow to load

    hits = np.asarray(hits, dtype=np.float64)
    inner = np.minimum(hits, runs - 1.0)
    return np.where(hits < runs, betainccinv(inner + 1.0, runs - inner, alpha), 1.0)


def mean_limits(hits: Counts, runs: int, alpha: float) -> tuple[Floats, Floats]:
    """Return limits of the mean chance of independent coins, whose chances may all differ.

    One of both limits is wrong with a chance of at most alpha.

    They are those of Clopper and Pearson, which hold for equal chances, and at least one hit away
    from the count on either side: so far from its mean no sum of coins has larger tails than that
    of equal ones (Hoeffding 1956).

    >>> low, high = mean_limits(1, 1000, 0.05)
    >>> float(low), round(float(high), 6)
    (0.0, 0.005559)
    """
    counts = np.asarray(hits, dtype=np.float64)
    low = np.minimum(lowest(hits, runs, alpha / 2), np.maximum(counts - 1, 0) / runs)
    high = np.maximum(highest(hits, runs, alpha / 2), np.minimum(counts + 1, runs) / runs)
    return low, high
