# SPDX-License-Identifier: Apache-2.0
"""The laws of sordino's own mechanisms, written down from their parameters alone.

They share no code with the samplers, so that a law that is verified and a sampler that is audited
are two looks at one mechanism.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.bounds import PrivateBounds
from sordino.mechanisms.choose import AboveThreshold, BestOf, Quantiles
from sordino.mechanisms.gaussian import Gaussian
from sordino.mechanisms.keys.selection import KeySelection
from sordino.mechanisms.laplace import Laplace
from sordino.mechanisms.propose_test_release import ProposeTestRelease
from sordino.mechanisms.smooth import Smooth
from sordino.numbers.balls import ball

Law: TypeAlias = "dict[Any, float]"
Floats: TypeAlias = npt.NDArray[np.float64]

_FARTHEST = 9  # Outputs beyond it count as the last one.


def _laplace(eta: float, centre: int) -> Floats:
    """The probabilities of -reach, ..., reach, of which the ends have all that lies beyond."""
    places = np.arange(-_FARTHEST, _FARTHEST + 1) - centre
    base = math.exp(-eta)
    inside = np.exp(-eta * np.abs(places)) * (1 - base) / (1 + base)
    ends = np.exp(-eta * np.abs(places)) / (1 + base)
    inside[[0, -1]] = ends[[0, -1]]
    return inside


def laplace_law(mechanism: Laplace) -> Callable[[Any], Law]:
    """Return the law of whole noise on one number, or on several."""
    eta = float(mechanism.noise.eta)

    def law(value: Any) -> Law:
        each = [_laplace(eta, centre).tolist() for centre in np.atleast_1d(value).tolist()]
        places = range(-_FARTHEST, _FARTHEST + 1)
        return {
            outputs: math.prod(chances)
            for outputs, chances in zip(
                itertools.product(places, repeat=len(each)), itertools.product(*each), strict=True
            )
        }

    return law


def gaussian_law(mechanism: Gaussian) -> Callable[[Any], Law]:
    """Return the law of whole noise on one number; what lies beyond 12 sigma is below 1e-30."""
    far = math.ceil(12 * mechanism.sigma)

    def law(value: Any) -> Law:
        places = np.arange(-far, far + 1)
        weights = np.exp(-(places**2) / float(2 * mechanism.variance))
        chances = (weights / weights.sum()).tolist()
        return dict(zip((places + int(value)).tolist(), chances, strict=True))

    return law


def point_law(mechanism: Quantiles) -> Callable[[Any], Law]:
    """Return the law of one quantile of whole numbers, point by point."""

    def law(values: Any) -> Law:
        found: Law = {}
        for first, last, chance in mechanism.probabilities(list(values)):
            points = range(int(first), int(last) + 1)
            found.update(dict.fromkeys(points, chance / len(points)))
        return found

    return law


def key_law(mechanism: KeySelection) -> Callable[[Any], Law]:
    """Return the law of what is told of one key that so many units have.

    Where the noisy count is told it has Laplace noise, of a rate that all keys of a unit share, and
    -1 stands for no count.
    """
    rate = float(mechanism.epsilon / mechanism.moves)

    def law(units: Any) -> Law:
        kept = mechanism.probability(units)
        if mechanism.threshold is None:
            return {True: kept, False: 1 - kept}
        places = range(mechanism.threshold, mechanism.threshold + 2 * _FARTHEST)
        tails = _at_least(np.array(places) - units, rate) if units else None
        told = [0.0] * len(places) if tails is None else (-np.diff([*tails, 0.0])).tolist()
        return {-1: 1 - sum(told)} | dict(zip(places, told, strict=True))

    return law


def best_law(mechanism: BestOf, chances: Callable[[Any], Floats]) -> Callable[[Any], Law]:
    """Return the law of the best of a geometric number of runs, where later outcomes are better."""
    stop = float(mechanism.gamma or 0)

    def law(data: Any) -> Law:
        below = np.cumsum([0.0, *chances(data)])
        all_below = stop * below / (1 - (1 - stop) * below)
        return dict(enumerate(np.diff(all_below).tolist()))

    return law


def proposal_law(mechanism: ProposeTestRelease) -> Callable[[Any], Law]:
    """Return the law for a value and a distance: None if refused, otherwise the noisy value."""
    eta = float(mechanism.laplace.noise.eta)

    def law(data: Any) -> Law:
        value, distance = data
        passes = mechanism.probability(distance)
        told = (passes * _laplace(eta, value)).tolist()
        return {None: 1 - passes} | dict(zip(range(-_FARTHEST, _FARTHEST + 1), told, strict=True))

    return law


def upper_law(mechanism: PrivateBounds, values: tuple[float, ...]) -> Callable[[Any], Law]:
    """Return the law of the cell of the upper bound; ``values`` has one number of each cell."""

    def law(data: Any) -> Law:
        counts = np.array([data.count(value) for value in values], dtype=np.int64)
        off = mechanism.ranks_off(counts[::-1])
        weights = np.exp(-float(mechanism.rate) * off)
        return dict(enumerate((weights / weights.sum()).tolist()))

    return law


def threshold_law(mechanism: AboveThreshold) -> Callable[[Any], Law]:
    """Return the law of the answers of the sparse vector technique for whole values."""
    first = float(mechanism.grid / mechanism.threshold_scale)
    second = float(mechanism.grid / mechanism.value_scale)
    start = mechanism.threshold / mechanism.grid

    def law(values: Any) -> Law:
        far = int(45 / first)
        levels = np.arange(-far, far + 1)
        base = math.exp(-first)
        chance = (1 - base) / (1 + base) * np.exp(-first * np.abs(levels))
        above = [
            _at_least(levels + int(start - value / mechanism.grid), second) for value in values
        ]
        found: Law = {}
        for answers in itertools.product([False, True], repeat=len(values)):
            asked = _until(answers, mechanism.positives)
            if asked not in found:
                factors = [p if yes else 1 - p for p, yes in zip(above, asked, strict=False)]
                found[asked] = float(math.prod(factors, start=chance).sum())
        return found

    return law


def _at_least(places: npt.NDArray[Any], eta: float) -> Floats:
    """The probability that whole Laplace noise is at least each place."""
    base = math.exp(-eta)
    tail = np.exp(-eta * np.where(places > 0, places, 1 - places)) / (1 + base)
    return np.where(places > 0, tail, 1 - tail)


def _until(answers: tuple[bool, ...], positives: int) -> tuple[bool, ...]:
    """Return the answers up to the last one that is given."""
    seen = list(itertools.accumulate(map(int, answers)))
    return answers[: seen.index(positives) + 1] if positives in seen else answers


def smooth_law(mechanism: Smooth) -> Callable[[Any], Law]:
    """Return the law for a value and its smooth bound, on the grid between the bounds."""

    def law(data: Any) -> Law:
        value, bound = (Fraction(x) for x in data)
        low, high = (math.floor(Fraction(end) / mechanism.step) for end in mechanism.bounds or ())
        scale = mechanism.scale_factor * max(bound, mechanism.floor)
        edges = [(place + Fraction(1, 2)) * mechanism.step for place in range(low, high)]
        inside = [float(mechanism.noise.cumulative(ball((edge - value) / scale))) for edge in edges]
        chances = np.diff([0.0, *inside, 1.0]).tolist()
        return dict(zip(range(low, high + 1), chances, strict=True))

    return law
