# SPDX-License-Identifier: Apache-2.0
"""Timing by the best of several rounds, ours and theirs in turn on the same machine."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

Work = Callable[[], object]


def seconds(work: Work) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def best_of(rounds: int, *works: Work) -> list[float]:
    """Return the least time of each piece of work, taken in turn, after one unmeasured round."""
    for work in works:
        work()
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]
