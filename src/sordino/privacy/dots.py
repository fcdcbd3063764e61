# SPDX-License-Identifier: Apache-2.0
"""Losses on a grid: pairs that are a little easier, or a little harder, to tell apart.

The profile H of a pair (P, Q), as a function of x = exp(epsilon), is convex and falls from 1. A
pair whose losses are all multiples of ``step`` has a profile that is piecewise linear with kinks
at the grid. The one through the points of H lies above H (connect the dots). Lowering each point
by what the chords next to it rise above H gives one below it; where the lowered points are no
longer convex, their convex hull is still below. Both errors are of second order in the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.privacy.leaf import PROFILE_ERROR, Floats, Leaf

_ON_THE_GRID = 1e-9  # steps; a bound this close to a grid point is taken to be on it

# Profiles are taken a little outside the grid for bounds from above and a little inside it for
# bounds from below, so that an atom on the grid is on the safe side of its point in doubles.
NUDGE = 1e-13

_FARTHEST = 690.0  # exp of a larger loss is no double

_PASSES = 8  # over whole arrays, before a hull is walked point by point


@dataclass(frozen=True, slots=True)
class Masses:
    """P-probabilities of the losses step * (first, first + 1, ...), and of an unbounded loss.

    Guarantee: none by itself; ``above`` and ``below`` say what their results bound.
    """

    step: float
    first: int
    mass: Floats
    infinity: float

    @property
    def losses(self) -> Floats:
        """The losses that the masses belong to."""
        return np.arange(self.first, self.first + self.mass.size, dtype=np.float64) * self.step


def above(leaf: Leaf, *, step: float, tail: float, reverse: bool = False) -> Masses:
    """Return a pair on the grid that dominates a leaf.

    Guarantee:
        Neighbours: those of the leaf.
        Loss: at every epsilon the profile of the result, with its losses and its values raised by
            1e-13 and 2**-36 of themselves, is at least the leaf's.
        Numerics: doubles; the factor covers the error of the leaf's profile, and masses that
            rounding made negative are raised to zero, which only raises the profile.
        Proof: docs/proofs/pld.md, theorem 1.
    """
    points = _points(leaf, step * (1 + NUDGE), tail, reverse)
    mass = _even_kinks(points, step * (1 + NUDGE))
    return Masses(step, points.first, np.maximum(mass, 0.0), float(points.high[-1]))


def below(leaf: Leaf, *, step: float, tail: float, reverse: bool = False) -> Masses:
    """Return a pair on the grid that a leaf dominates.

    Guarantee:
        Neighbours: those of the leaf.
        Loss: at every epsilon the profile of the result, with its losses lowered by 1e-13 of
            themselves, is at most the leaf's.
        Numerics: doubles; every point is lowered by 2**-36 of itself more than the chords ask.
        Proof: docs/proofs/pld.md, theorem 2.
    """
    points = _points(leaf, step * (1 - NUDGE), tail, reverse)
    drop = _drop(points, step * (1 - NUDGE))
    high, low = points.high - drop, points.low - drop
    low[0] = min(low[0], 0.0)  # left of the grid nothing but 1 - x is certain
    high[0] = low[0] - math.expm1(points.epsilons[0])
    high[-1] = leaf.infinity * (1 - PROFILE_ERROR)  # nor right of it but the atom at infinity
    changed = _flatten(points, high, leaf)
    low[changed:] = high[changed:] + np.expm1(points.epsilons[changed:])
    kept, mass = _hull(points.epsilons, high, low, points.zero)
    spread = np.zeros(points.epsilons.size)
    spread[kept] = np.maximum(mass, 0.0)
    return Masses(step, points.first, spread, float(high[-1]))


def _flatten(points: _Points, high: Floats, leaf: Leaf) -> int:
    """Let the lowered points end at the level of the last one, and stay below H while doing so.

    Returns the first place that may have changed.

    H falls, so in the cell before the first point at that level it is no lower than at its end.
    Where the largest loss has a probability of its own, H also comes down to that loss at least
    as steeply as the probability says.
    """
    level = high[-1]
    place = int(np.flatnonzero(high <= level)[0])
    if place > 0:
        certain = max(points.high[place], level)
        if leaf.pure is not None and points.epsilons[place] <= leaf.pure:
            cell = points.epsilons[place] - points.epsilons[place - 1]
            certain = max(certain, level + leaf.summit * -math.expm1(-cell) * (1 - 1e-9))
        high[place - 1] = min(high[place - 1], certain)
    high[place:] = level
    return max(place - 1, 0)


@dataclass(frozen=True, slots=True)
class _Points:
    """A profile on the grid: ``high`` is H, ``low`` is H - (1 - x), each without cancellation."""

    first: int
    zero: int  # the place of epsilon = 0
    epsilons: Floats
    high: Floats
    low: Floats


def _points(leaf: Leaf, step: float, tail: float, reverse: bool) -> _Points:
    left, right = leaf.reach(tail)
    if reverse:
        left, right = -right, -left
    left, right = max(left, -_FARTHEST), min(right, _FARTHEST)  # what is beyond counts as unbounded
    first = min(math.floor(left / step - _ON_THE_GRID) - 1, -3)
    last = max(math.ceil(right / step + _ON_THE_GRID) + 1, 3)
    epsilons: Floats = np.arange(first, last + 1, dtype=np.float64) * step
    zero = -first
    if leaf.symmetric:  # one half of the grid serves both sides
        half = leaf.profile(np.arange(max(zero, last) + 1, dtype=np.float64) * step)
        ahead, behind = half[: last + 1], half[zero::-1]
    else:
        ahead = leaf.profile(epsilons[zero:], reverse=reverse)
        behind = leaf.profile(-epsilons[: zero + 1], reverse=not reverse)
    low = np.concatenate(
        [np.exp(epsilons[: zero + 1]) * behind, ahead[1:] + np.expm1(epsilons[zero + 1 :])]
    )
    high = np.concatenate([low[:zero] - np.expm1(epsilons[:zero]), ahead])
    return _Points(first, zero, epsilons, high, low)


def _kinks(epsilons: Floats, high: Floats, low: Floats, zero: int) -> Floats:
    """Return x times the change of slope at each point: the P-mass of its loss.

    Slopes of ``low`` exceed those of ``high`` by 1, so changes of slope are the same; each point
    uses the function that is small on its side of epsilon = 0.
    """
    gaps = np.diff(epsilons)
    return _changes(np.expm1(gaps), -np.expm1(-gaps), high, low, zero)


def _even_kinks(points: _Points, step: float) -> Floats:
    """Return the same for the points of a grid."""
    size = points.epsilons.size - 1
    rise, fall = np.full(size, math.expm1(step)), np.full(size, -math.expm1(-step))
    return _changes(rise, fall, points.high, points.low, points.zero)


def _changes(rise: Floats, fall: Floats, high: Floats, low: Floats, zero: int) -> Floats:
    mass = np.empty(high.size)
    behind, ahead = low[1 : zero + 1] - low[:zero], high[zero:] - high[zero - 1 : -1]
    if zero > 0:
        mass[:zero] = behind / rise[:zero]
        mass[0] -= low[0]
        mass[1:zero] -= behind[:-1] / fall[: zero - 1]
        mass[zero:] = ahead / -fall[zero - 1 :]
        mass[zero:-1] += ahead[1:] / rise[zero:]
        return mass
    steps = np.diff(high)
    mass[0] = steps[0] / rise[0] - (high[0] - 1.0)
    mass[1:-1] = steps[1:] / rise[1:] - steps[:-1] / fall[:-1]
    mass[-1] = -steps[-1] / fall[-1]
    return mass


def _drop(points: _Points, step: float) -> Floats:
    """Return how far each point must be lowered so that the chords beside it lie below H.

    In a cell H lies above the two neighbouring chords, prolonged; where they meet, the chord of
    the cell is at most ab / (a + b) above H, with a and b the changes of slope at its ends.
    """
    mass = np.maximum(_even_kinks(points, step), 0.0)
    left, right = mass[:-1], mass[1:] * math.exp(-step)
    both = left + right
    gap = np.divide(left * right, both, out=np.zeros(both.size), where=both > 0) * math.expm1(step)
    drop = np.zeros(mass.size)
    drop[:-1] = gap
    np.maximum(drop[1:], gap, out=drop[1:])
    values = np.where(np.arange(mass.size) < points.zero, points.low, points.high)
    return drop * (1 + 1e-6) + 4 * PROFILE_ERROR * values


def _hull(
    epsilons: Floats, high: Floats, low: Floats, zero: int
) -> tuple[npt.NDArray[np.intp], Floats]:
    """Drop points until the rest are convex; return the places kept and their masses.

    Whole arrays at first, which is enough where few points are dented; then one by one.
    """
    kept = np.arange(epsilons.size)
    for attempt in range(_PASSES + 1):
        if attempt == _PASSES:
            kept = _chain(kept, epsilons, high, low, zero)
        at = int(np.searchsorted(kept, zero))
        mass = _kinks(epsilons[kept], high[kept], low[kept], at)
        dented = mass < 0
        dented[-1] = False
        if not dented.any():
            break
        # Of dented neighbours only the first may go: the next may be convex without it.
        dented[1:] &= ~dented[:-1]
        if attempt < _PASSES:
            kept = kept[~dented]
    return kept, mass


def _chain(
    kept: npt.NDArray[np.intp], epsilons: Floats, high: Floats, low: Floats, zero: int
) -> npt.NDArray[np.intp]:
    """Return the places of the lower convex hull, by one walk from left to right."""
    places, at = kept.tolist(), epsilons.tolist()
    sides = (low.tolist(), high.tolist())
    hull: list[int] = []
    for new in places:
        while hull:
            middle = hull[-1]
            values = sides[middle >= zero]
            after = (values[new] - values[middle]) / math.expm1(at[new] - at[middle])
            if len(hull) == 1:
                before = sides[0][middle]
                after = (sides[0][new] - sides[0][middle]) / math.expm1(at[new] - at[middle])
            else:
                gap = at[middle] - at[hull[-2]]
                before = (values[middle] - values[hull[-2]]) / -math.expm1(-gap)
            if after >= before:
                break
            hull.pop()
        hull.append(new)
    return np.array(hull)
