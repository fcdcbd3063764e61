# SPDX-License-Identifier: Apache-2.0
"""Choosing the grid and the tilt of a composition: nothing here can make a bound wrong, only loose.

A tilt is the order of a Rényi divergence less 1, and the best one is where the bound of that order
is the least. How much a grid adds to the logarithm of the moment at this tilt is how much it adds
to the result; so a grid is halved until that is small, which tells more than any variance does
where a rare large loss decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sordino.privacy.convolve import Cumulants, Masses, above, below, unbounded, window_points
from sordino.privacy.leaf import PROFILE_ERROR, Leaf

Part = tuple[Leaf, int]

_FINENESS = 6e-5  # of epsilon: what halving the grid may still change
_FINENESS_OF_DELTA = 2e-5
_LEAST_SHARE = 0.01  # of tilt * epsilon; where it is smaller, delta is hardly below its largest
_MOST_POINTS = 1 << 22
MOST_WINDOW = 1 << 22
_MOST_MEASURED = 1 << 20
_START = 0.04  # of the standard deviation of one loss: the first grid
_ZERO = 2.0**-26  # the first grid where all losses are zero
_WIDE = 8.0  # a loss whose variance is not known is taken to reach so many deviations
_COARSEST = 4.0  # a few steps must not reach beyond the range of doubles
_FINEST_START = 64  # by how much more than the first grid asks for the atoms may be met
_MOST_ATOMS = 64
_MANY_PARTS = 256  # with more the first grid is taken
_MANY_START = 0.02
_ROUNDS = 12
_STRONGEST = 16
_WINDOW = 24.0  # about the width of a window, in standard deviations
_UNKNOWN = 1e-60
_LEAST_LOG = -115.0  # deltas below e^-115 are bounded by what is cut off, whatever the grid
_NEARLY = 1 - 1e-9
_SMALL = 1e-7  # of delta: what may be cut off a single leaf and counted as unbounded
_SMALLER = 1e-9  # of Chernoff's bound on delta, which may be larger than delta
_LOGS = (-14.0, 36.0)  # logarithms of tilts
_SCAN = 2.0
_TILT_PRECISION = 0.05  # of its logarithm
_WEAKEST = 0.05  # tilt times the largest loss
_WEAK_SCAN = 0.7
_ROUNDED = 4e-14  # about what rounding adds for each use with an unlikely loss
_LEFT_OUT = 1e-18  # about the mass outside a window
_UNSEEN = 1e-5  # of delta
_BESIDE = 1e-5  # of the probability of unbounded losses: deltas so small hardly add to it
_GOLDEN = (math.sqrt(5) - 1) / 2
_EXACT = 2.0**28  # tilted exponents up to which doubles are precise enough
_OFF = 4 * PROFILE_ERROR  # more than the profile and the moment of one use are off by together
_EXPONENT = 8 * 2.0**-53  # of a tilted loss, relatively


@dataclass(frozen=True, slots=True)
class Aim:
    """What is asked of a composition: the epsilon of a delta, or the delta of an epsilon."""

    delta: float | None = None
    epsilon: float = 0.0
    floor: float = 0.0  # an epsilon, or a delta, that is needed in any case

    def reached(self, cost: float, unbounded: float) -> bool:
        """Tell whether a cost is so small that nobody need know it better.

        Of a delta this is what unbounded losses have by themselves, or hardly less.
        """
        if self.delta is not None:
            return unbounded == 0 and cost <= self.floor * _NEARLY
        most = max(self.floor * _NEARLY - unbounded, _BESIDE * unbounded)
        return cost < _LEAST_LOG or (most > 0 and cost <= math.log(most))

    def cost(self, total: float, tilt: float) -> float:
        """Return the epsilon, or the logarithm of delta, that one Rényi order gives."""
        found = total - tilt * math.log1p(1 / tilt) - math.log1p(tilt)
        if self.delta is not None:
            return (found - math.log(self.delta)) / tilt
        return found - tilt * self.epsilon

    def normal_tilt(self, variance: float) -> float:
        """Return about the best tilt for a normal loss of this variance."""
        least = 1 / math.sqrt(variance)
        if self.delta is not None:
            return max(math.sqrt(-2 * math.log(self.delta) / variance), least)
        return max(self.epsilon / variance - 0.5, least)

    def tail(self, uses: int, cost: float | None = None) -> float:
        """Return what may be cut off each use."""
        if self.delta is not None:
            return self.delta * _SMALL / uses
        if cost is None:
            return _UNKNOWN / uses
        return max(math.exp(min(cost, 0.0)) * _SMALLER, _UNKNOWN) / uses

    def fineness(self, total: float, tilt: float) -> float:
        """Return by how much halving the grid may still change the logarithm of the moment."""
        if self.delta is None:
            return _FINENESS_OF_DELTA
        return _FINENESS * max(tilt * self.cost(total, tilt), _LEAST_SHARE)


@dataclass(frozen=True, slots=True)
class Grid:
    """Losses on a grid, how often each is used, and a tilt that goes well with them.

    Guarantee: none by itself; ``above`` and ``below`` say what the masses bound.
    """

    masses: list[Masses]
    times: list[int]
    cumulants: Cumulants
    tilt: float

    def cost(self, aim: Aim) -> float:
        """Return the epsilon, or the logarithm of delta, that the order of the tilt gives."""
        return aim.cost(self.cumulants.total(self.tilt), self.tilt)

    def is_enough(self, aim: Aim) -> bool:
        """Tell whether the order of the tilt is certain to give so little that no more is asked.

        What profiles and moments are off by adds up over all uses.
        """
        off = _OFF * sum(self.times) + _EXPONENT * self.tilt * self.cumulants.largest
        cost = aim.cost(self.cumulants.total(self.tilt) + off, self.tilt)
        return aim.reached(cost, unbounded(self.masses, self.times))

    def tilted(self, tilt: float) -> Grid:
        """Return the same masses with another tilt."""
        return replace(self, tilt=tilt)

    @property
    def step(self) -> float:
        """The distance of neighbouring losses."""
        return self.masses[0].step

    @property
    def top(self) -> float:
        """The largest sum of losses that are bounded."""
        tops = (n * float(part.losses[-1]) for part, n in zip(self.masses, self.times, strict=True))
        return sum(tops)


class Grids:
    """The grids of a composition, from above and from below, for one order of the pairs."""

    def __init__(self, parts: Sequence[Part], aim: Aim, *, reverse: bool) -> None:
        self._parts, self._aim, self._reverse = parts, aim, reverse
        self._times = [n for _, n in parts]
        self.uses = sum(self._times)
        self._tail = aim.tail(self.uses)
        self._steps = _Steps(parts, self._tail)
        self.few = len(parts) <= _MANY_PARTS

    def first(self) -> Grid:
        """Return a coarse grid of bounds from above."""
        grid = self.above(self._steps.first(), tilt=1.0)
        if not self.few:  # so many losses together are nearly normal
            return grid.tilted(self._aim.normal_tilt(grid.cumulants.deviation(0.0) ** 2))
        tilt = best_tilt(grid.cumulants, self._aim)
        if self._aim.delta is None:
            # At a tilt that says nothing any grid is fine enough: a coarse one must not lead there.
            wide = max(grid.cumulants.deviation(0.0), grid.cumulants.longest)
            tilt = max(tilt, 1 / wide)
            cost = self._aim.cost(grid.cumulants.total(tilt), tilt)
            self._tail = self._aim.tail(self.uses, cost)
            return self.above(grid.step, tilt=tilt)  # grids are compared that end at one place
        return grid.tilted(tilt)

    def above(self, step: float, *, tilt: float) -> Grid:
        """Return bounds from above on a grid of this step."""
        return self._grid(above, step, tilt)

    def below(self, step: float, *, tilt: float) -> Grid:
        """Return bounds from below on a grid of this step."""
        return self._grid(below, step, tilt)

    def _grid(self, bound: Callable[..., Masses], step: float, tilt: float) -> Grid:
        masses = [
            bound(leaf, step=step, tail=self._tail, reverse=self._reverse)
            for leaf, _ in self._parts
        ]
        return Grid(masses, self._times, Cumulants(masses, self._times), tilt)

    def finer(self, step: float, times: int) -> float:
        """Return a step that is so many times as fine."""
        return self._steps.finer(step, times)

    def points(self, step: float) -> float:
        """Return about how many points the longest leaf has on a grid of this step."""
        return self._steps.longest / step

    def is_possible(self, step: float, grid: Grid) -> bool:
        """Tell whether a step leaves so few points as can be handled."""
        width = max(_WINDOW * grid.cumulants.deviation(grid.tilt), self._steps.longest)
        return step >= width / _MOST_POINTS

    def possible_factor(self, grid: Grid, factor: int) -> int:
        """Return by how much finer a grid may be, at most, without taking long."""
        width = max(
            window_points(grid.cumulants, grid.tilt, grid.step) * grid.step, self._steps.longest
        )
        return min(factor, int(_MOST_MEASURED * grid.step / width))

    def fine(self, grid: Grid, *, points: float = math.inf) -> Grid:
        """Return a grid so fine that halving it changes the moment of the best tilt no more.

        It stops before one leaf has more ``points``.
        """
        aim, step = self._aim, grid.step
        for _ in range(_ROUNDS):
            if grid.is_enough(aim):
                break
            before, halved = grid, self.finer(step, 2)
            if not self.is_possible(halved, grid) or self.points(halved) > points:
                break
            grid, step = self.above(halved, tilt=grid.tilt), halved
            after = grid.cumulants.total(grid.tilt)
            # A bound that is no profile of any pair may fall as well as rise on a coarser grid.
            excess = abs(before.cumulants.total(grid.tilt) - after)
            most = aim.fineness(after, grid.tilt)
            if excess <= most:
                break
            grid = grid.tilted(best_tilt(grid.cumulants, aim, near=grid.tilt))
            # The excess falls with the square of the step, or with the step itself.
            ahead = math.ceil(min(math.sqrt(excess / most) / 2, _STRONGEST))
            if self.points(step) * ahead > points:
                ahead = int(points / self.points(step))
            finer = self.finer(step, ahead)
            if ahead >= 2 and self.is_possible(finer, before):
                grid, step = self.above(finer, tilt=grid.tilt), finer
        while window_points(grid.cumulants, grid.tilt, step) > MOST_WINDOW:
            step *= 2  # a rare large loss makes a window wider than its deviation tells
            grid = self.above(step, tilt=grid.tilt)
        return grid


def best_tilt(cumulants: Cumulants, aim: Aim, *, near: float | None = None) -> float:
    """Return about the tilt at which the bound of one Rényi order is the least."""
    largest = math.log(_EXACT / cumulants.largest)

    def cost(log: float) -> float:
        tilt = math.exp(log)
        return aim.cost(cumulants.total(tilt), tilt)

    low, high = _LOGS[0], max(min(_LOGS[1], largest), _LOGS[0] + _SCAN)
    if near is not None:
        low, high = max(low, math.log(near) - _SCAN / 2), min(high, math.log(near) + _SCAN / 2)
    else:
        low, high = _scan(cost, low, high)
    while high - low > _TILT_PRECISION:
        first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, second) if cost(first) < cost(second) else (first, high)
    return math.exp((low + high) / 2)


def weak_tilt(grid: Grid, factor: int, *, epsilon: float, delta: float) -> float:
    """Return about the weakest tilt at which rounding is small beside delta on a finer grid.

    Where single large losses decide, no tilt brings them to the middle, and strong ones make the
    window wide. So the error itself is estimated: that of the transforms, and what is outside.
    """
    cumulants = grid.cumulants
    low = math.log(_WEAKEST / cumulants.longest)
    high = max(min(_LOGS[1], math.log(_EXACT / cumulants.largest)), low + _SCAN)
    best, least = low, math.inf
    for place in range(math.ceil((high - low) / _WEAK_SCAN) + 1):
        log = low + place * _WEAK_SCAN
        tilt = math.exp(log)
        weights = math.sqrt(factor / (2 * grid.step * tilt * (tilt + 1) * (2 * tilt + 1)))
        restless = min(factor * cumulants.restless(tilt), sum(grid.times))
        rounded = _ROUNDED * restless * weights + _LEFT_OUT
        error = math.log(rounded) + cumulants.total(tilt) - tilt * epsilon
        if error < least:
            best, least = log, error
        if least <= math.log(_UNSEEN * delta):
            break
    return math.exp(best)


def _scan(cost: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return the neighbours of the least cost among evenly spaced places."""
    count = math.ceil((high - low) / _SCAN)
    places = [low + (high - low) * j / count for j in range(count + 1)]
    costs = [cost(place) for place in places]
    best = costs.index(min(costs))
    return places[max(best - 1, 0)], places[min(best + 1, count)]


class _Steps:
    """Which steps there are: pieces of the common measure of all atoms, or any."""

    def __init__(self, parts: Sequence[Part], tail: float) -> None:
        reaches = [leaf.reach(tail) for leaf, _ in parts]
        self.longest = max(high - low for low, high in reaches)
        many = len(parts) > _MANY_PARTS
        squares = 0.0
        for (leaf, n), (low, high) in zip(parts, reaches, strict=True):
            squares += n * _square(leaf, (high - low) / _WIDE, quick=many)
        uses = sum(n for _, n in parts)
        start = (_MANY_START if many else _START) * math.sqrt(squares / uses)
        self._first = max(start, self.longest / _MOST_POINTS) or _ZERO
        common = _common([leaf for leaf, _ in parts])
        self._measure = common if common * _FINEST_START >= self._first else 0.0

    def first(self) -> float:
        step = self._measure or self._first
        return step / math.ceil(step / _COARSEST)

    def finer(self, step: float, times: int) -> float:
        pieces = round(self._measure / step)
        if not pieces:  # nothing to be met, or a step so wide that the atoms are not
            return step / times
        return self._measure / (pieces * times)


def _square(leaf: Leaf, wide: float, *, quick: bool) -> float:
    """Return about the square of a loss, or more."""
    if quick and leaf.pure is not None:
        return min(float(leaf.pure), 1.0) * float(leaf.pure)
    return 2 * leaf.rho if math.isfinite(leaf.rho) else wide * wide


def _common(leaves: Sequence[Leaf]) -> float:
    """Return the largest number that all atoms are multiples of, or 0 if there are none."""
    if len(leaves) > _MOST_ATOMS:
        return 0.0
    atoms = {abs(atom) for leaf in leaves for atom in leaf.atoms if atom}
    if not atoms or len(atoms) > _MOST_ATOMS:
        return 0.0
    denominator = math.lcm(*(atom.denominator for atom in atoms))
    return float(Fraction(math.gcd(*(int(atom * denominator) for atom in atoms)), denominator))
