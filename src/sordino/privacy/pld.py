# SPDX-License-Identifier: Apache-2.0
"""The distribution of a composed privacy loss, bracketed from both sides.

The losses of independent uses add up, so their distributions are convolved, by FFT. Before that
each is tilted by exp(tilt * loss), which moves the part that decides a small delta to the middle,
where the rounding of the FFT does not reach it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino.privacy.convolve import Composed, Cumulants, convolve, unbounded
from sordino.privacy.dots import NUDGE, above, below
from sordino.privacy.leaf import PROFILE_ERROR, Floats, Leaf

_FINENESS = 1e-4  # aimed at: variance added by the grid, relative to the variance there is
_MOST_POINTS = 1 << 22
_COARSE = 1500
_MANY = 1 << 18  # points beyond which the tilt is guessed instead of searched for
_FINER = 4  # how much finer the grid may be for the sake of meeting all atoms
_LEAST_VARIANCE = 2.0**-40
_MOST_ATOMS = 64
_MOST_USES = 10**9  # beyond, the rounding of the transforms hides everything
_MANY_PARTS = 256  # for so many the variance of pure ones is guessed from their epsilon
_UNKNOWN = 1e-60
_LARGEST_LOG = 600.0
_LEAST_LOG_TILT = -2.0
_TILT_PRECISION = 0.05  # of its logarithm
_SMALL = 1e-7  # of delta: what may be cut off a single leaf and counted as unbounded


@dataclass(frozen=True, slots=True)
class Bracket:
    """A number that is certain to lie between two others.

    Guarantee: none needed; public inputs only.
    """

    lower: float
    upper: float


Part = tuple[Leaf, int]


@dataclass(frozen=True, slots=True)
class Pld:
    """The privacy loss distribution of a composition: leaves, each with how often it is used.

    Guarantee:
        Neighbours: those of the leaves.
        Loss: ``upper`` is an epsilon (a delta) of the composition of all uses, chosen beforehand;
            no accountant that knows the leaves' profiles alone could go below ``lower``.
        Numerics: the grid, the cut tails, wrapping around and the rounding of the FFT are all
            added to ``upper`` and taken off ``lower``.
        Proof: docs/proofs/pld.md.
    """

    parts: tuple[Part, ...]

    def epsilon(self, *, delta: float) -> Bracket:
        """Bracket the epsilon that goes with a delta between 0 and 1."""
        return self._both_ways(lambda way, lower: _epsilon(self.parts, delta, way, lower))

    def delta(self, *, epsilon: float) -> Bracket:
        """Bracket the delta that goes with an epsilon."""
        return self._both_ways(lambda way, lower: _delta(self.parts, epsilon, way, lower))

    def epsilon_upper(self, *, delta: float) -> float:
        """Return the upper end of the bracket alone, in half the time."""
        return max(_epsilon(self.parts, delta, way, False) for way in self._ways())

    def delta_upper(self, *, epsilon: float) -> float:
        """Return the upper end of the bracket alone, in half the time."""
        return max(_delta(self.parts, epsilon, way, False) for way in self._ways())

    def _ways(self) -> tuple[bool, ...]:
        return (False,) if all(leaf.symmetric for leaf, _ in self.parts) else (False, True)

    def _both_ways(self, find: Callable[[bool, bool], float]) -> Bracket:
        ways = self._ways()
        upper = max(find(way, False) for way in ways)
        lower = max(find(way, True) for way in ways)
        if lower > upper:
            raise ArithmeticError("the two bounds of a composition contradict each other")
        return Bracket(lower, upper)


def _epsilon(parts: Sequence[Part], delta: float, reverse: bool, lower: bool) -> float:
    if _uses(parts) > _MOST_USES:
        return 0.0 if lower else math.inf
    composed = _compose(parts, reverse, lower, delta=delta)
    deltas = _deltas(composed, _uses(parts), lower)
    losses = composed.losses
    if lower:
        place = int(np.flatnonzero(deltas >= delta)[-1]) + 1 if (deltas >= delta).any() else 0
    else:
        place = int(np.flatnonzero(deltas <= delta)[0]) if (deltas <= delta).any() else deltas.size
    if place == 0:
        return 0.0 if lower else max(float(losses[0]) * (1 + 2 * NUDGE), 0.0)
    if place == deltas.size:
        return max(float(losses[-1]), 0.0) if lower else math.inf
    # In exp(epsilon) delta is convex, so the chord is above it between two points of the grid;
    # the bound from below is straight there but for its margin, which is on the safe side too.
    share = (deltas[place - 1] - delta) / (deltas[place - 1] - deltas[place])
    found = float(losses[place - 1]) + math.log1p(share * math.expm1(composed.step))
    return max(found * (1 - 2 * NUDGE if lower else 1 + 2 * NUDGE), 0.0)


def _delta(parts: Sequence[Part], epsilon: float, reverse: bool, lower: bool) -> float:
    whole = [None if leaf.pure is None else n * leaf.pure for leaf, n in parts]
    if all(part is not None for part in whole) and epsilon >= sum(filter(None, whole)):
        return 0.0
    if _uses(parts) > _MOST_USES:
        return 0.0 if lower else 1.0
    composed = _compose(parts, reverse, lower, epsilon=epsilon)
    epsilon *= 1 + 2 * NUDGE if lower else 1 - 2 * NUDGE
    ahead = composed.losses - epsilon
    use = ahead > 0
    gain = composed.mass[use] * np.exp(-composed.tilt * ahead[use]) * -np.expm1(-ahead[use])
    scale = math.exp(min(composed.log_scale - composed.tilt * epsilon, _LARGEST_LOG))
    if lower:
        finite = max(float(gain.sum()) * (1 - 1e-9) - composed.error, 0.0) * scale
        return min(finite + composed.infinity, 1.0) * (1 - 1e-12)
    found = (float(gain.sum()) + composed.error) * scale + composed.infinity
    return min(found * _margin(_uses(parts)), 1.0)


def _deltas(composed: Composed, uses: int, lower: bool) -> Floats:
    """Return delta at each loss of the window, taken as epsilon."""
    tilt, step = composed.tilt, composed.step
    gain = _sums(composed.mass, tilt * step) - _sums(composed.mass, (tilt + 1) * step)
    np.maximum(gain, 0.0, out=gain)
    scale = np.exp(np.minimum(composed.log_scale - tilt * composed.losses, _LARGEST_LOG))
    if lower:
        finite = np.maximum(gain * (1 - 1e-9) - composed.error, 0.0) * scale
        return (finite + composed.infinity) * (1 - 1e-12)
    deltas = (gain * (1 + 1e-9) + composed.error) * scale + composed.infinity
    return np.minimum.accumulate(deltas * _margin(uses))


def _sums(mass: Floats, fall: float) -> Floats:
    """Return, for each place, the sum of the masses from there on, falling by exp(-fall) a place.

    The sums are taken in blocks over which the factor does not run out of range.
    """
    size = max(1, min(mass.size, int(_LARGEST_LOG / fall)))
    out = np.empty(mass.size)
    rest = 0.0
    for start in range((mass.size - 1) // size * size, -1, -size):
        block = mass[start : start + size]
        weights = np.exp(-fall * np.arange(block.size))
        sums = np.cumsum((block * weights)[::-1])[::-1] + rest * weights[-1] * math.exp(-fall)
        out[start : start + size] = sums / weights
        rest = float(out[start])
    return out


def _margin(uses: int) -> float:
    """The factor by which profiles that are each off by 2**-36 are off together."""
    return math.exp(uses * math.log1p(2 * PROFILE_ERROR))


def _uses(parts: Sequence[Part]) -> int:
    return sum(times for _, times in parts)


def _compose(
    parts: Sequence[Part],
    reverse: bool,
    lower: bool,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
) -> Composed:
    uses = _uses(parts)
    tail = (delta * _SMALL if delta is not None else _UNKNOWN) / uses
    times = [n for _, n in parts]
    quick = len(parts) > _MANY_PARTS
    variance = sum(n * _variance(leaf, tail, reverse, quick=quick) for leaf, n in parts)
    step = _step(parts, variance, uses, tail) * (2 if quick else 1)
    make = below if lower else above
    masses = [make(leaf, step=step, tail=tail, reverse=reverse) for leaf, _ in parts]
    cumulants = Cumulants(masses, times)
    top = sum(n * float(part.losses[-1]) for part, n in zip(masses, times, strict=True))
    if epsilon is not None and epsilon >= top:  # nothing but unbounded losses is beyond
        return Composed(step, 0, np.zeros(1), 0.0, 0.0, unbounded(masses, times), 0.0)
    tilt = _tilt(cumulants, variance, delta, epsilon)
    return convolve(masses, times, cumulants, tilt=tilt)


def _variance(leaf: Leaf, tail: float, reverse: bool, *, quick: bool) -> float:
    """Return about the variance of the loss: twice rho, or measured on a coarse grid."""
    if quick and leaf.pure is not None:
        return min(float(leaf.pure), 1.0) * float(leaf.pure)
    if math.isfinite(leaf.rho):
        return 2 * leaf.rho
    low, high = leaf.reach(tail)
    if high <= low:  # every loss that is bounded is 0
        return _LEAST_VARIANCE
    rough = above(leaf, step=(high - low) / _COARSE, tail=tail, reverse=reverse)
    losses = rough.losses
    weight = float(rough.mass.sum())
    if weight == 0:
        return _LEAST_VARIANCE
    mean = float(rough.mass @ losses) / weight
    return float(rough.mass @ (losses - mean) ** 2) / weight


def _step(parts: Sequence[Part], variance: float, uses: int, tail: float) -> float:
    """Choose the grid: fine enough for the spread, and through the atoms where that is possible."""
    step = math.sqrt(_FINENESS * variance / uses)
    longest = max(high - low for low, high in (leaf.reach(tail) for leaf, _ in parts))
    step = max(step, longest / _MOST_POINTS, 24 * math.sqrt(variance) / _MOST_POINTS)
    if len(parts) > _MOST_ATOMS:
        return step
    atoms = {abs(atom) for leaf, _ in parts for atom in leaf.atoms if atom}
    if not atoms or len(atoms) > _MOST_ATOMS:
        return step
    common = _divisor(atoms)
    pieces = math.ceil(common / step) if common > 0 else 0
    aligned = float(common / pieces) if pieces else 0.0
    return aligned if aligned >= step / _FINER else step


def _divisor(atoms: set[Fraction]) -> Fraction:
    """Return the largest number that all of these are multiples of."""
    below_ = math.lcm(*(atom.denominator for atom in atoms))
    return Fraction(math.gcd(*(int(atom * below_) for atom in atoms)), below_)


def _tilt(
    cumulants: Cumulants, variance: float, delta: float | None, epsilon: float | None
) -> float:
    """Choose the tilt whose Chernoff bound is about the best; a poor one costs precision only."""

    def cost(log: float) -> float:
        tilt = math.exp(log)
        if delta is not None:
            return (cumulants.total(tilt) - math.log(delta)) / tilt
        return cumulants.total(tilt) - tilt * (epsilon or 0.0)

    if delta is not None:
        guess = math.sqrt(-2 * math.log(delta) / variance)
    else:
        guess = max(((epsilon or 0.0) - variance / 2) / variance, 0.0)
        if guess * math.sqrt(variance) < 1:
            return 0.0
    if cumulants.points > _MANY:
        return guess
    low, high = min(_LEAST_LOG_TILT, math.log(guess) - 4), math.log(guess) + 4
    golden = (math.sqrt(5) - 1) / 2
    while high - low > _TILT_PRECISION:
        first, second = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, second) if cost(first) < cost(second) else (first, high)
    return math.exp((low + high) / 2)
