# SPDX-License-Identifier: Apache-2.0
"""The exact law of the sparse vector technique on small runs, threshold 0."""

import math
from itertools import product

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.above_threshold import AboveThreshold

Floats = npt.NDArray[np.float64]
Pattern = tuple[bool, ...]


def pmf(x: npt.NDArray[np.int64], rate: float) -> Floats:
    q = math.exp(-rate)
    return (1 - q) / (1 + q) * np.exp(-rate * np.abs(x))


def at_least(x: npt.NDArray[np.int64], rate: float) -> Floats:
    """P(noise >= x)."""
    q = math.exp(-rate)
    tail = np.exp(-rate * np.abs(np.where(x > 0, x, 1 - x))) / (1 + q)
    return np.where(x > 0, tail, 1 - tail)


def noise_range(rate: float) -> npt.NDArray[np.int64]:
    far = int(45 / rate)
    return np.arange(-far, far + 1)


def chance(queries: tuple[int, ...], pattern: Pattern, first: float, second: float) -> float:
    """The probability of a pattern of answers, threshold 0, noises of these rates."""
    r = noise_range(first)
    total = pmf(r, first)
    for value, answer in zip(queries, pattern, strict=False):
        total = total * (at_least(r - value, second) if answer else 1 - at_least(r - value, second))
    return float(total.sum())


def patterns(length: int, positives: int) -> list[Pattern]:
    """All runs of answers: they end with the last positive one, or with the last question."""
    found = []
    for answers in product([False, True], repeat=length):
        seen = np.cumsum(answers)
        over = np.flatnonzero(seen == positives)
        stop = int(over[0]) + 1 if over.size else length
        found.append(answers[:stop])
    return sorted(set(found))


def rates(m: AboveThreshold) -> tuple[float, float]:
    return float(m.grid / m.threshold_scale), float(m.grid / m.value_scale)
