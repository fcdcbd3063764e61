# SPDX-License-Identifier: Apache-2.0
"""Small universes written out: all data sets, all neighbours, and laws draw by draw."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product

import pytest
from scipy.stats import chi2

from sordino.mechanisms.choose.interval import Interval
from sordino.mechanisms.choose.quantiles.ranks import Records, read_records
from sordino.randomness.entropy import Bits
from sordino.randomness.selection import Found, Levels
from tests.support.seeded import SeededBits
from tests.support.tape import replay

Choices = tuple[int, ...]
Data = tuple[int, ...]  # how many records there are at each point
RELATIONS = ("add_remove", "replace_one")


def check_often(
    law: Mapping[Choices, float], release: Callable[[], Iterable[int]], times: int, seed: int
) -> None:
    """Let a release come as often as a law says; alpha is 1e-6, and the tape is seeded."""
    assert sum(law.values()) == pytest.approx(1, rel=1e-12)
    with replay(SeededBits(seed)):
        drawn = Counter(tuple(release()) for _ in range(times))
    statistic = sum((drawn[s] - times * p) ** 2 / (times * p) for s, p in law.items())
    assert statistic < chi2.isf(1e-6, len(law) - 1)


def data_sets(points: int, most: int) -> list[Data]:
    """All data sets of at most so many records."""
    return [data for data in product(range(most + 1), repeat=points) if sum(data) <= most]


def neighbours(data: Data, relation: str) -> Iterator[Data]:
    """The neighbours of a data set that have one record more, or one elsewhere."""
    for to in range(len(data)):
        more = tuple(n + (at == to) for at, n in enumerate(data))
        if relation == "add_remove":
            yield more
            continue
        for source in range(len(data)):
            if source != to and data[source]:
                yield tuple(n - (at == source) for at, n in enumerate(more))


def pairs(points: int, most: int, relation: str) -> Iterator[tuple[Data, Data]]:
    """All pairs of neighbours; the second of two may have one record more than ``most``."""
    for data in data_sets(points, most):
        for other in neighbours(data, relation):
            yield data, other


def records_of(data: Data, interval: Interval | None = None) -> Records:
    grid = interval or Interval(0, len(data) - 1)
    return read_records(grid, list(range(len(data))), list(data))


def exponents_of(levels: Levels) -> dict[int, tuple[Fraction, int]]:
    """For each candidate its exponent and how often it is counted, found rank by rank."""
    found: dict[int, tuple[Fraction, int]] = {}
    for level, count in enumerate(levels.counts):
        floor = float(levels.floor(level))
        assert abs(levels.floors[level] - floor) <= 2.0**-49 * floor
        for rank in range(int(count)):
            candidate, excess = levels.find(level, rank)
            assert excess >= 0
            exponent = levels.floor(level) + excess
            before, times = found.get(candidate, (exponent, 0))
            assert before == exponent
            found[candidate] = exponent, times + 1
    return found


def law_of(levels: Levels) -> dict[int, float]:
    found = exponents_of(levels)
    least = min(exponent for exponent, _ in found.values())
    weights = {c: n * math.exp(-float(x - least)) for c, (x, n) in found.items()}
    total = math.fsum(weights.values())
    return {candidate: weight / total for candidate, weight in weights.items()}


def law_of_run(
    monkeypatch: pytest.MonkeyPatch, module: object, run: Callable[[], tuple[int, ...]]
) -> dict[tuple[int, ...], float]:
    """The law of code that makes several draws: every outcome of every draw is tried in turn."""
    script: list[int] = []
    chances: list[float] = []
    widths: list[int] = []

    def scripted(levels: Levels, bits: Bits) -> tuple[int, Found]:  # noqa: ARG001 - no bits needed
        law = sorted(law_of(levels).items())
        at = len(chances)
        if at == len(script):
            script.append(0)
        candidate, chance = law[script[at]]
        chances.append(chance)
        widths.append(len(law))
        return 0, Found(candidate, Fraction(0))

    monkeypatch.setattr(module, "by_weight", scripted)
    found: dict[tuple[int, ...], float] = {}
    while True:
        chances.clear()
        widths.clear()
        outcome = run()
        found[outcome] = found.get(outcome, 0.0) + math.prod(chances)
        while script and script[-1] == widths[len(script) - 1] - 1:
            script.pop()
        if not script:
            return found
        script[-1] += 1


def largest_loss(one: dict[tuple[int, ...], float], two: dict[tuple[int, ...], float]) -> float:
    assert one.keys() == two.keys()
    return max(abs(math.log(one[outcome] / two[outcome])) for outcome in one)
