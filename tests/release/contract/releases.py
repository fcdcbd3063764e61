# SPDX-License-Identifier: Apache-2.0
"""What the contract suite knows of each other mechanism: examples, neighbours, and its law."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np
from mpmath import mpf

from sordino import (
    AboveThreshold,
    BestOf,
    Constant,
    Exponential,
    KeySelection,
    PrivateBounds,
    ProposeTestRelease,
)
from sordino.mechanisms.bounds import _edge
from sordino.mechanisms.keys.optimal import Threshold
from sordino.mechanisms.keys.selection import Method, Selected
from sordino.mechanisms.smooth import PowerNoise, Smooth
from sordino.sensitivity import smooth
from tests.mechanisms.contract import choices
from tests.mechanisms.unit import test_bounds as ends
from tests.mechanisms.unit import test_propose_test_release as proposals
from tests.mechanisms.unit.choose import sparse
from tests.mechanisms.unit.choose import test_private_candidates as candidates
from tests.mechanisms.unit.smooth import laws as smooth_laws
from tests.sensitivity.unit.brute import Universe

Data = tuple[Any, ...]
Law = dict[Any, float]
Pair = tuple[Data, Data]


@dataclass(frozen=True, repr=False)
class Release(choices.Enrolled):
    """With how it is used on data, the law of what it tells, and neighbours."""

    epsilon: Fraction  # what was asked for
    delta: Fraction
    draw: Callable[[Any, Data], Any]
    law: Callable[[Any, Data], Law]
    neighbours: Callable[[], Iterator[Pair]]


# Smooth sensitivity: the median of three records from 0 to 4, one of which is replaced.


def medians(mechanism: Smooth) -> Release:
    universe = Universe(3, 4)

    def given(m: Smooth, data: Data) -> tuple[float, float]:
        return data[1], smooth.median(data, bounds=(0, 4), beta=m.beta, floor=m.floor)

    return Release(
        mechanism,
        mechanism.epsilon,
        mechanism.delta,
        lambda m, data: m.release(*given(m, data)),
        lambda m, data: smooth_laws.law(m, *given(m, data)),
        lambda: ((d, o) for d in universe.data for o in sorted(set(universe.neighbours(d)))),
    )


# Keys: how many units have each of two keys; a count above TOP is told as TOP.

MOST, TOP = 7, 30


def selected(mechanism: KeySelection) -> Release:
    def drawn(m: KeySelection, counts: Data) -> Data:
        found = m.release(np.array(counts))
        if not isinstance(found, Selected):
            return tuple(found.tolist())
        told = zip(found.kept.tolist(), found.counts.tolist(), strict=True)
        return tuple(min(count, TOP) if kept else None for kept, count in told)

    def law(m: KeySelection, counts: Data) -> Law:
        each = [_of_key(m, n).items() for n in counts]
        return {
            tuple(outcome for outcome, _ in keys): math.prod(p for _, p in keys)
            for keys in product(*each)
        }

    return Release(
        mechanism, mechanism.epsilon, mechanism.delta, drawn, law, lambda: _counts(mechanism)
    )


def _of_key(m: KeySelection, n: int) -> Law:
    """The law of what is told of a key that n units have."""
    if m.threshold is None:
        kept = m.probability(n)
        return {True: kept, False: 1 - kept}
    noise = cast("Threshold", m._rule).noise

    def tail(y: int) -> float:
        return float(noise.tail(y - n)) if n else 0.0

    tails = [tail(y) for y in range(m.threshold, TOP + 1)]
    told = [a - b for a, b in zip(tails, [*tails[1:], 0.0], strict=True)]
    return {None: 1 - tails[0]} | dict(zip(range(m.threshold, TOP + 1), told, strict=True))


def _counts(m: KeySelection) -> Iterator[Pair]:
    """A unit has one key, or both if it may; it comes, or changes into any other one."""
    units = [(0, 0), (1, 0), (0, 1), *([(1, 1)] if m.groups > 1 else [])]
    for others in product(range(MOST), repeat=2):
        for one, other in product(units, repeat=2):
            if one < other and (m.neighbours == "replace_one" or one == (0, 0)):
                here, there = (
                    tuple(a + b for a, b in zip(others, unit, strict=True)) for unit in (one, other)
                )
                yield here, there


# Propose, test, release: the median of five records, with the true distance.

FAR = proposals.distances(proposals.median, proposals.BOUND)
WIDE = 60


def proposed(mechanism: ProposeTestRelease) -> Release:
    def drawn(m: ProposeTestRelease, data: Data) -> Any:
        found = m.release(proposals.median(data), distance=FAR[data])
        return None if found is None else max(-WIDE, min(found, WIDE))

    def law(m: ProposeTestRelease, data: Data) -> Law:
        refused, *told = proposals.law(m, proposals.median(data), FAR[data], WIDE)
        places = range(-WIDE, WIDE + 1)
        return {None: float(refused)} | dict(zip(places, map(float, told), strict=True))

    return Release(
        mechanism,
        mechanism.epsilon,
        mechanism.delta,
        drawn,
        law,
        lambda: ((x, y) for x in FAR for y in sorted(proposals.neighbours(x))),
    )


# Bounds: up to three units among five cells.


def bounded(mechanism: PrivateBounds) -> Release:
    def law(m: PrivateBounds, data: Data) -> Law:
        counts, last = ends.cell_counts(data), m.cells - 1
        lows = enumerate(ends.law(m, counts)) if m.side != "upper" else [(None, mpf(1))]
        highs = enumerate(ends.law(m, counts[::-1])) if m.side != "lower" else [(None, mpf(1))]
        found: Law = {}
        for (first, p), (back, q) in product(list(lows), list(highs)):
            low, high = first, None if back is None else last - back
            if low is not None and high is not None and low > high:
                low, high = high, low
            told = (
                None if low is None else int(-_edge(last - low, m.powers)),
                None if high is None else int(_edge(high, m.powers)),
            )
            found[told] = found.get(told, 0.0) + float(p * q)
        return found

    return Release(
        mechanism,
        mechanism.epsilon,
        Fraction(0),
        lambda m, data: m.release(np.array(data, dtype=float)),
        law,
        lambda: iter(ends.pairs(str(mechanism.neighbours), mechanism.rows)),
    )


# The sparse vector technique: three questions with values from -2 to 2.

LENGTH, REACH = 3, 2


def asked(mechanism: AboveThreshold) -> Release:
    def law(m: AboveThreshold, queries: Data) -> Law:
        first, second = sparse.rates(m)
        return {
            run: sparse.chance(queries, run, first, second)
            for run in sparse.patterns(LENGTH, m.positives)
        }

    def neighbours() -> Iterator[Pair]:
        length = int(mechanism.sensitivity)
        for queries in product(range(-REACH, REACH + 1), repeat=LENGTH):
            for change in product(
                range(0 if mechanism.monotone else -length, length + 1), repeat=LENGTH
            ):
                yield queries, tuple(a + b for a, b in zip(queries, change, strict=True))

    return Release(
        mechanism,
        mechanism.epsilon,
        Fraction(0),
        lambda m, queries: tuple(m.start().ask_many(list(queries)).tolist()),
        law,
        neighbours,
    )


# The best of several runs: each chooses one of three candidates by its score, and the last is best.

RUN = Exponential(sensitivity=1, epsilon=1)


def repeated(mechanism: BestOf, epsilon: str) -> Release:
    def law(m: BestOf, scores: Data) -> Law:
        pgf = (
            candidates.poisson(mpf(m.expected_runs))
            if m.eta is None or m.gamma is None
            else candidates.negative_binomial(m.eta, m.gamma)
        )
        each = [mpf(p) for p in RUN.probabilities(list(scores)).tolist()]
        found = candidates.best(each, [0, 1, 2], pgf)
        return dict(zip([0, 1, 2, None], map(float, found), strict=True))

    return Release(
        mechanism,
        Fraction(epsilon),
        mechanism.delta or Fraction(0),
        lambda m, scores: m.release(lambda: RUN.release(list(scores)), score=lambda place: place),
        law,
        lambda: choices.moved(3, 1, (1, 1, 1), 2),
    )


# Always the same, whatever the data are: any two data sets are neighbours.


def silent(mechanism: Constant) -> Release:
    return Release(
        mechanism,
        Fraction(0),
        Fraction(0),
        lambda m, data: m.release(data),
        lambda m, _: {m.value: 1.0},
        lambda: iter([((0,), (1,)), ((), (9, 9, 9))]),
    )


def _smooth(**arguments: Any) -> Release:
    fine: dict[str, Any] = {"step": Fraction(1, 2), "floor": Fraction(1, 8), "bounds": (-20, 24)}
    return medians(Smooth(**fine | arguments))


def _keys(method: Method, **arguments: Any) -> Release:
    usual: dict[str, Any] = {"epsilon": 1, "delta": 0.05, "neighbours": "add_remove"}
    return selected(KeySelection(method=method, **usual | arguments))


EXAMPLES: dict[type, list[Release]] = {
    Smooth: [
        _smooth(noise="cauchy", epsilon=1),
        _smooth(noise="lomax", epsilon=1),
        _smooth(noise="power", epsilon=1),
        _smooth(noise=PowerNoise(gamma=1.5), epsilon=1, beta=0.75),
        _smooth(noise="student", epsilon=2),
        _smooth(noise="laplace", epsilon=1, delta=0.01),
        _smooth(noise="cauchy", epsilon=1, calibration="nissim"),
        _smooth(noise=PowerNoise(gamma=3), epsilon=1, calibration="nissim"),
    ],
    KeySelection: [
        _keys("optimal"),
        _keys("optimal", groups=2),
        _keys("optimal", neighbours="replace_one"),
        _keys("laplace"),
        _keys("laplace", groups=2, neighbours="replace_one", epsilon=3),
        _keys("gaussian"),
        _keys("gaussian", groups=2),
        _keys("gaussian", delta=1e-3),
        _keys("gaussian", neighbours="replace_one", epsilon=2),
        _keys("laplace", neighbours="replace_one", epsilon=3, delta=0.01),
    ],
    ProposeTestRelease: [
        proposed(ProposeTestRelease(bound=proposals.BOUND, epsilon=2, delta=0.05)),
        proposed(ProposeTestRelease(bound=proposals.BOUND, epsilon=2, delta=0.05, share=0.75)),
    ],
    PrivateBounds: [
        bounded(PrivateBounds(epsilon=3, neighbours="add_remove", powers=ends.POWERS)),
        bounded(PrivateBounds(epsilon=2, neighbours="replace_one", powers=ends.POWERS, rows=2)),
        bounded(
            PrivateBounds(epsilon=3, neighbours="add_remove", side="upper", powers=ends.POWERS)
        ),
    ],
    AboveThreshold: [
        asked(AboveThreshold(threshold=0, epsilon=1)),
        asked(AboveThreshold(threshold=0, epsilon=2, positives=2)),
        asked(AboveThreshold(threshold=0, epsilon=1, monotone=True, positives=2)),
        asked(AboveThreshold(threshold=0, sensitivity=2, epsilon=1, split=0.5)),
    ],
    BestOf: [
        repeated(BestOf(loss=RUN, expected_runs=4), "3"),
        repeated(BestOf(loss=RUN, gamma=0.1, distribution="logarithmic"), "2"),
        repeated(BestOf(loss=RUN, expected_runs=4, delta=0.1), "3"),
        repeated(BestOf(loss=RUN, expected_runs=2, distribution="poisson"), "1.924235"),
    ],
    Constant: [silent(Constant(7))],
}
EVERY = [release for releases in EXAMPLES.values() for release in releases]
