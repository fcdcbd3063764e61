# SPDX-License-Identifier: Apache-2.0
"""Smooth sensitivity by its definition, over every data set of a small universe."""

import math
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import TypeAlias

import pytest

Data: TypeAlias = tuple[int, ...]  # sorted
Statistic: TypeAlias = Callable[[Data], float]


class Universe:
    """All data sets of some size with values 0, ..., top; neighbours differ in one record."""

    def __init__(self, size: int, top: int) -> None:
        self.size, self.top = size, top
        self.data = list(combinations_with_replacement(range(top + 1), size))

    def neighbours(self, data: Data) -> Iterator[Data]:
        for place in range(self.size):
            rest = data[:place] + data[place + 1 :]
            for value in range(self.top + 1):
                yield tuple(sorted((*rest, value)))

    def local(self, statistic: Statistic) -> dict[Data, float]:
        """The local sensitivity of every data set."""
        return {
            data: max(abs(statistic(data) - statistic(other)) for other in self.neighbours(data))
            for data in self.data
        }

    def smooth(self, statistic: Statistic, beta: float) -> dict[Data, float]:
        """The smallest smooth bound: the largest faded local sensitivity over all data sets."""
        local = self.local(statistic)
        return {
            data: max(local[far] * math.exp(-beta * distance(data, far)) for far in self.data)
            for data in self.data
        }

    def roughness(self, bound: dict[Data, float]) -> float:
        """The largest logarithm of the ratio of a bound between neighbours."""
        return max(
            (math.inf if bound[other] == 0 else math.log(bound[data] / bound[other]))
            for data in self.data
            if bound[data] > 0
            for other in self.neighbours(data)
        )


def distance(one: Data, other: Data) -> int:
    """How many records must be replaced to turn one data set into the other."""
    left = list(other)
    for value in one:
        if value in left:
            left.remove(value)
    return len(left)


def check_smallest(
    universe: Universe, statistic: Statistic, beta: float, found: dict[Data, float]
) -> None:
    """Assert that a bound covers the local sensitivity, is smooth, and is the smallest such one."""
    local, true = universe.local(statistic), universe.smooth(statistic, beta)
    assert all(found[data] >= local[data] for data in universe.data)
    assert universe.roughness(found) <= beta
    for data in universe.data:
        assert found[data] == pytest.approx(true[data], rel=1e-9, abs=0)
