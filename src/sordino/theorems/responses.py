# SPDX-License-Identifier: Apache-2.0
"""Randomized responses of different epsilons in doubles: every number is an upper bound.

All masses are positive and are only added and multiplied, so their relative errors stay small
however small they are. The margin counts the roundings; it takes 4 units in the last place for
each value of exp and expm1, more than any common library needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.rounding import up
from sordino.theorems.lies import Lies, count_lies

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

MOST_LISTED = 20  # so many steps are listed one by one
_MOST_CELLS = 2**16
_FEWEST_CELLS = 2**10
_MOST_CLASSES = 2**13
_WORK = 2**28  # cells times masses
_ROUNDING = 2.0**-53
_UNDERFLOW = 1e-305  # more than all that is lost where doubles end


@dataclass(frozen=True, slots=True)
class Atoms:
    """Losses with their probabilities, and how likely the loss is beyond all of them."""

    losses: Floats
    masses: Floats
    beyond: float
    margin: float  # relative error of the masses
    shift: float  # absolute error of the losses

    def delta(self, at: Fraction) -> float:
        """Return an upper bound on the profile at an epsilon."""
        least = math.nextafter(float(at), -math.inf) * (1 - 4 * _ROUNDING)
        ahead = self.losses - (least - self.shift)
        above = ahead > 0
        gains = self.masses[above] * -np.expm1(-ahead[above])
        # Gains and their sum, which numpy takes in pairs, are off by less than 300 roundings.
        return (float(gains.sum()) + self.beyond) * (1 + self.margin + 300 * _ROUNDING)


def listed(steps: Mapping[Fraction, int]) -> Atoms:
    """List all combinations of true answers and lies, for at most 20 steps."""
    losses, masses = np.zeros(1), np.ones(1)
    for epsilon, n in sorted(steps.items()):
        price, odds = float(epsilon), math.exp(-epsilon)
        for _ in range(n):
            losses = np.concatenate([losses + price, losses - price])
            masses = np.concatenate([masses / (1 + odds), masses * (odds / (1 + odds))])
    total = float(sum(n * epsilon for epsilon, n in steps.items()))
    # A step takes two roundings of a loss below the total, and at most twenty of a mass.
    return Atoms(losses, masses, _UNDERFLOW, 400 * _ROUNDING, 64 * total * _ROUNDING)


def on_grid(steps: Mapping[Fraction, int], *, reach: float) -> Atoms:
    """Add up the losses on a grid; about e**-reach of the mass is counted as infinite loss."""
    classes = sorted(_merged(steps).items())
    mean = sum(n * float(e) * math.tanh(float(e) / 2) for e, n in classes)
    wide = math.sqrt(2 * reach * sum(n * float(e) ** 2 for e, n in classes))
    laws = [count_lies(e, n, reach) for e, n in classes]
    most = sum(2 * len(law.masses) for law in laws)
    step = _step([e for e, _ in classes], min(mean + 2 * wide, 2 * float(_total(classes))), most)
    highest = sum(n * math.ceil(e / step) for e, n in classes)
    last = min(highest, math.ceil(Fraction(mean + wide) / step))
    first = max(-highest, math.floor(-Fraction(wide) / step))
    start, masses, beyond, rounds = 0, np.ones(1), _UNDERFLOW, 0
    for (epsilon, n), law in zip(classes, laws, strict=True):
        places, weights = _spread(law, n, epsilon / step, float(step))
        start, masses = start + int(places.min()), _add(masses, places - places.min(), weights)
        start, masses, over = _cut(start, masses, first, last)
        beyond += over + law.fewer
        rounds += len(weights) + 10 * len(law.masses) + 60
    losses = np.arange(start, start + len(masses), dtype=np.float64) * float(step)
    return Atoms(losses, masses, beyond, 1.01 * rounds * _ROUNDING, 8 * _ROUNDING * (mean + wide))


def _total(classes: list[tuple[Fraction, int]]) -> Fraction:
    return sum((n * epsilon for epsilon, n in classes), start=Fraction(0))


def _merged(steps: Mapping[Fraction, int]) -> Mapping[Fraction, int]:
    """Round epsilons up to fewer and fewer bits until not too many different ones are left."""
    if len(steps) <= _MOST_CLASSES:
        return steps
    parts, exponents = np.frexp([up(epsilon) for epsilon in steps])
    for bits in range(24, 0, -1):
        rounded = np.ldexp(np.ceil(np.ldexp(parts, bits)), exponents - bits)
        values, inverse = np.unique(rounded, return_inverse=True)
        if len(values) <= _MOST_CLASSES:
            break
    counts = np.bincount(inverse, list(steps.values()))
    return {Fraction(e): int(n) for e, n in zip(values.tolist(), counts.tolist(), strict=True)}


def _step(epsilons: list[Fraction], width: float, masses: int) -> Fraction:
    """Return the distance of grid points: one that all epsilons are multiples of, if possible."""
    unit = Fraction(
        math.gcd(*(epsilon.numerator for epsilon in epsilons)),
        math.lcm(*(epsilon.denominator for epsilon in epsilons)),
    )
    cells = min(max(_WORK // masses, _FEWEST_CELLS), _MOST_CELLS)
    return max(unit, Fraction(width / cells))


def _spread(law: Lies, times: int, slope: Fraction, step: float) -> tuple[Integers, Floats]:
    """Put each loss on the two grid points around it; ``slope`` is epsilon in grid steps.

    The shares are such that a step which lands on either point, and then forgets on which, is the
    step that was there before: the mass is kept in both cases of the data.
    """
    losses = [(times - 2 * lies) * slope.numerator for lies in law.places()]
    parts = [divmod(loss, slope.denominator) for loss in losses]
    below = np.array([whole for whole, _ in parts])
    over = np.array([rest / slope.denominator for _, rest in parts])
    under = np.array([(slope.denominator - rest) / slope.denominator for _, rest in parts])
    lower = law.masses * np.exp(-over * step) * np.expm1(-under * step) / math.expm1(-step)
    upper = law.masses * np.expm1(-over * step) / math.expm1(-step)
    places, weights = np.concatenate([below, below + 1]), np.concatenate([lower, upper])
    return places[weights > 0], weights[weights > 0]


def _add(masses: Floats, places: Integers, weights: Floats) -> Floats:
    """Add a loss, given by its places from 0 on and their weights, to the losses so far.

    One shift for each of the fewer masses: numpy's own convolution waits for other threads.
    """
    few, many = sorted((masses, np.bincount(places, weights)), key=np.count_nonzero)
    result = np.zeros(len(masses) + int(places.max()))
    for place in np.flatnonzero(few).tolist():
        result[place : place + len(many)] += few[place] * many
    return result


def _cut(start: int, masses: Floats, first: int, last: int) -> tuple[int, Floats, float]:
    """Lift what is below ``first`` to it, and take away what is above ``last``."""
    over = float(masses[max(last + 1 - start, 0) :].sum())
    masses = masses[: max(last + 1 - start, 0)]
    if start >= first:
        return start, masses, over
    lifted = masses[first - start :].copy()
    lifted[0] += masses[: first - start].sum()
    return first, lifted, over
