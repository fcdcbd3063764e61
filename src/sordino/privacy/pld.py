# SPDX-License-Identifier: Apache-2.0
"""The distribution of a composed privacy loss, bracketed from both sides.

The losses of independent uses add up, so their distributions are convolved, by FFT. Before that
each is tilted by exp(tilt * loss), which moves the part that decides a small delta to the middle,
where the rounding of the FFT does not reach it. Steps that may fail are taken off before, and
Gaussian noise is added up before: both are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeVar

import numpy as np

from sordino.numbers.balls import SMALLEST, Ball, ball, round_up
from sordino.numbers.normal import hockey_stick
from sordino.numbers.rational import (
    Number,
    down,
    nonnegative,
    probability,
    readable,
    reading,
    up,
    up_as_printed,
)
from sordino.privacy.band import Band, band
from sordino.privacy.convolve import NUDGE, Composed, convolve, tilted, unbounded, window_points
from sordino.privacy.gaussian import ContinuousGaussian, is_far
from sordino.privacy.grids import MOST_WINDOW, Aim, Grid, Grids, Part, best_tilt, weak_tilt
from sordino.privacy.leaf import PROFILE_ERROR, Floats, Leaf, crossing
from sordino.privacy.pure import Approximate, Pure
from sordino.privacy.repeated import Failures
from sordino.privacy.search import least

X = TypeVar("X", float, Floats)

_MOST_USES = 10**9  # beyond, the rounding of the transforms hides everything
_LARGEST_LOG = 600.0
_SUMS = 4e-9  # relative error of two sums of up to 2**22 positive doubles, one inside the other
_TRIES = 4
_DECEIVED = 0.6  # of the bound by a moment: an epsilon so much smaller is not told by moments
_SHORT = 1 << 13  # points of one leaf on a grid that is quickly composed
_FEW_USES = 1000  # for so few the window is not long either
_LONG = 1 << 16  # points of one leaf on a grid that is not
_COARSE = 0.5  # a first grid that is coarser than this tells nothing
_FINENESS = 5e-5  # of epsilon: what a finer grid may still change
_FINENESS_BELOW = 2e-4  # of the moment: what may lie between both bounds on a delta
_REFINEMENTS = 12
_STRONGEST = 8.0
_BETWEEN_ORDERS = 1.5
_HARDLY = 0.8  # of the width of a bracket: a finer grid that leaves more is the last
_NARROW = 1e-4  # of epsilon: a bracket that need not be narrower
_MANY = 48  # different losses, for which another try takes long
_HIDDEN = 1e-5  # of delta: a larger error of the transforms asks for another tilt
_WEAKER = 4.0
_MOVES = np.array([1e-15, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 0.5])  # to the safe side
_GUESSES = 3
_ALL = 1 - 1e-16
_TURN = 0.01  # two tilts closer than this are the same
_LARGEST_RATIO = 2**40  # of Gaussian noise; beyond, delta is not computed
_ENDS = (True, False)  # whether it is the lower one
_SMALLEST_SCALE = 2.0**-1022  # the smallest double with all of its digits
_TINY = 1e-300  # stands for a delta of 0 in bounds from below


@dataclass(frozen=True, slots=True)
class Bracket:
    """A number that is certain to lie between two others."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Pld:
    """The privacy loss distribution of a composition: leaves, each with how often it is used.

    Guarantee:
        Neighbours: those of the leaves.
        Loss: ``upper`` is an epsilon (a delta) of the composition of all uses, chosen beforehand;
            no accountant that knows the leaves' profiles alone could go below ``lower``.
        Numerics: the grid, the cut tails, wrapping around and the rounding of the FFT are all
            added to ``upper`` and taken off ``lower``. Failures are added up exactly, and so is
            Gaussian noise on the real line.
        Proof: docs/proofs/pld.md.
    """

    parts: tuple[Part, ...]

    def epsilon(self, *, delta: Number) -> Bracket:
        """Bracket the epsilon that goes with a delta between 0 and 1."""
        target = probability("delta", delta)
        lower, upper = (self._worse(partial(_epsilon, self.parts, target, end)) for end in _ENDS)
        return _bracket(lower, upper)

    def delta(self, *, epsilon: Number) -> Bracket:
        """Bracket the delta that goes with an epsilon."""
        exact = nonnegative("epsilon", epsilon)
        lower, upper = (self._worse(partial(_delta, self.parts, exact, end)) for end in _ENDS)
        return _bracket(lower, upper)

    def epsilon_upper(self, *, delta: Number) -> float:
        """Return the upper end of the bracket alone, in half the time."""
        target = probability("delta", delta)
        return self._worse(partial(_epsilon, self.parts, target, False))

    def delta_upper(self, *, epsilon: Number) -> float:
        """Return the upper end of the bracket alone, in half the time."""
        exact = nonnegative("epsilon", epsilon)
        return self._worse(partial(_delta, self.parts, exact, False))

    def _worse(self, find: Callable[[bool, float], float]) -> float:
        """Return the larger result of both orders; the second need not be known below the first."""
        found = find(False, 0.0)
        if all(leaf.symmetric for leaf, _ in self.parts):
            return found
        return max(found, find(True, found))


def _bracket(lower: float, upper: float) -> Bracket:
    if lower > upper:
        raise ArithmeticError("the two bounds of a composition contradict each other")
    return Bracket(lower, upper)


def _epsilon(
    parts: Sequence[Part], target: Fraction, lower: bool, reverse: bool, floor: float
) -> float:
    """Take the failures off, and look for the epsilon of what is left."""
    failures, rest = _gathered(parts)
    room = failures.room(target)
    if room < 0:
        return math.inf
    if room == 0 or not rest:
        if lower and rest:
            return _epsilon_at(rest, Aim(delta=_TINY, floor=floor), reverse, True)
        return _largest(rest)
    if failures.counts:
        left = _double(lambda: failures.left(target), upwards=lower)
    else:
        left = up(target) if lower else down(target)
    if left <= 0:
        return _largest(rest)
    whole = _only_gaussian(rest)
    if whole is not None:
        exact = Fraction(left) if failures.counts else target
        return _gaussian_epsilon(whole, exact, lower)
    found = _epsilon_at(rest, Aim(delta=left, floor=floor), reverse, lower)
    return found if lower else min(found, _largest(rest))


def _delta(
    parts: Sequence[Part], epsilon: Fraction, lower: bool, reverse: bool, floor: float
) -> float:
    """Find the delta without the failures, and add them."""
    failures, rest = _gathered(parts)
    whole = _only_gaussian(rest)
    if whole is not None:
        found = _gaussian_delta(whole, epsilon, lower)
    else:
        floor = 0.0 if failures.counts else floor
        found = _delta_at(rest, epsilon, reverse, lower, floor) if rest else 0.0
    if not failures.counts:
        return found
    exact = Fraction(reading(found))
    total = _double(lambda: failures.total(ball(exact)), upwards=not lower)
    return min(max(total, 0.0), 1.0)


def _gathered(parts: Sequence[Part]) -> tuple[Failures, list[Part]]:
    """Take the failures off, and add Gaussian noise up, which is one use of Gaussian noise."""
    deltas: dict[Fraction, int] = {}
    rest: dict[Leaf, int] = {}
    ratio = Fraction(0)
    for stated, times in parts:
        leaf = stated
        if isinstance(leaf, Approximate):
            deltas[leaf.slack] = deltas.get(leaf.slack, 0) + times
            leaf = Pure(epsilon=leaf.bound)
        if isinstance(leaf, ContinuousGaussian):
            ratio += times * leaf.squared_sensitivity / leaf.variance
        else:
            rest[leaf] = rest.get(leaf, 0) + times
    if ratio:
        rest[ContinuousGaussian(variance=Fraction(1), squared_sensitivity=ratio)] = 1
    return Failures(deltas), list(rest.items())


def _largest(rest: Sequence[Part]) -> float:
    """Return the sum of the largest losses, or infinity."""
    total = Fraction(0)
    for leaf, times in rest:
        if leaf.pure is None:
            return math.inf
        total += times * leaf.pure
    return up_as_printed(total)


def _double(formula: Callable[[], Ball], *, upwards: bool) -> float:
    """Return a double that is on one side of the value of a formula, read as it is or printed."""
    if upwards:
        return math.nextafter(round_up(formula), math.inf)
    return math.nextafter(-round_up(lambda: -formula()), -math.inf)


def _only_gaussian(rest: Sequence[Part]) -> ContinuousGaussian | None:
    leaf = rest[0][0] if len(rest) == 1 else None
    return leaf if isinstance(leaf, ContinuousGaussian) else None


def _gaussian_delta(whole: ContinuousGaussian, epsilon: Fraction, lower: bool) -> float:
    if not lower:
        return whole.delta(epsilon=epsilon)
    ratio = whole.squared_sensitivity
    if ratio > _LARGEST_RATIO or is_far(ratio=ratio, epsilon=epsilon):
        return 0.0
    return max(_double(lambda: hockey_stick(ratio, epsilon), upwards=False), 0.0)


def _gaussian_epsilon(whole: ContinuousGaussian, target: Fraction, lower: bool) -> float:
    found = whole.epsilon(delta=readable(target))
    if not lower:
        return found
    for share in (1e-12, 1e-9, 1e-6):
        less = found * (1 - share)
        if math.isfinite(less) and _gaussian_delta(whole, Fraction(less), True) >= target:
            return less
    return 0.0


def _epsilon_at(rest: Sequence[Part], aim: Aim, reverse: bool, lower: bool) -> float:
    if len(rest) == 1 and rest[0][1] == 1 and aim.delta is not None:
        leaf = rest[0][0]
        upper = leaf.epsilon(delta=readable(Fraction(aim.delta)))
        return min(_single_below(leaf, aim.delta, reverse), upper) if lower else upper
    if _uses(rest) > _MOST_USES:
        return 0.0 if lower else math.inf
    grids = Grids(rest, aim, reverse=reverse)
    upper, grid = _upper_epsilon(grids, aim)
    if not lower or upper <= aim.floor:
        return max(upper, aim.floor)
    return _lower_epsilon(grids, grid, aim, upper)


def _single_below(leaf: Leaf, delta: float, reverse: bool) -> float:
    """Return an epsilon at which the profile of a single use is certainly not below delta."""

    def profile(epsilons: Floats) -> Floats:
        return leaf.profile(epsilons, reverse=reverse) * (1 - 2 * PROFILE_ERROR)

    left, right = leaf.reach(delta / 2)
    high = max(-left if reverse else right, 0.0)
    about = crossing(profile, delta, high)
    tried = np.append(about * (1 - _MOVES), 0.0)
    fits = tried[profile(tried) >= delta]
    return float(fits[0]) if fits.size else 0.0


def _upper_epsilon(grids: Grids, aim: Aim) -> tuple[float, Grid]:
    """Return a bound from above, and the grid that it was found on; the floor is low enough."""
    delta = aim.delta or 0.0
    grid = grids.first()
    if not grids.few:
        return _fine_epsilon(grids, grid, aim)
    calm = grid.cumulants.is_calm and grid.step < _COARSE
    rough, found = _settled(grid, grids, delta, lower=False, tries=_TRIES if calm else 1)
    if rough <= aim.floor:  # a coarse grid is enough for what does not decide
        return aim.floor, found
    if calm and rough <= _DECEIVED * grid.cost(aim):
        return _measured(grids, found, aim, rough)
    many = calm and grids.uses > _FEW_USES
    first, grid = grid, grids.fine(grid, points=_SHORT if many else math.inf)
    if many and grids.points(grid.step / 2) > _SHORT:
        # What is seen already on rows that are not long yet need not be seen on long ones.
        rough, found = _settled(grid, grids, delta, lower=False)
        deceived = aim.floor < rough <= _DECEIVED * grid.cost(aim)
        if deceived and aim.floor > 0:
            rough = _measured(grids, found, aim, rough)[0]
        if rough <= aim.floor:
            return aim.floor, found
        grid = grids.fine(first)
        if deceived and grids.points(grid.step) > _LONG:
            chosen = _narrower(grid, epsilon=rough, delta=delta)
            epsilon, found = _settled(chosen, grids, delta, lower=False, tries=2)
            return _measured(grids, found, aim, min(epsilon, rough))
    return _fine_epsilon(grids, grid, aim)


def _fine_epsilon(grids: Grids, grid: Grid, aim: Aim) -> tuple[float, Grid]:
    """Return a bound from above on a grid that is fine enough for its moment."""
    delta = aim.delta or 0.0
    if grid.is_enough(aim):
        return aim.floor, grid
    epsilon, found = _settled(grid, grids, delta, lower=False)
    if grids.few and aim.floor < epsilon <= _DECEIVED * grid.cost(aim):
        return _measured(grids, found, aim, epsilon)
    return epsilon, found


def _narrower(grid: Grid, *, epsilon: float, delta: float) -> Grid:
    """Return the grid with its tilt or the weakest one that will do, whose window is narrower."""
    tilts = weak_tilt(grid, 1, epsilon=epsilon, delta=delta), grid.tilt
    windows = [window_points(grid.cumulants, tilt, grid.step) for tilt in tilts]
    return grid.tilted(tilts[windows.index(min(windows))])


def _measured(grids: Grids, grid: Grid, aim: Aim, epsilon: float) -> tuple[float, Grid]:
    """Refine a grid until the epsilon itself hardly changes, where a moment does not tell it."""
    delta, least, factor, before_left = aim.delta or 0.0, epsilon, 2, math.inf
    for _ in range(_REFINEMENTS):
        if least <= aim.floor or not 0 < epsilon < math.inf:
            break
        tilt = weak_tilt(grid, factor, epsilon=epsilon, delta=delta)
        factor = grids.possible_factor(grid.tilted(tilt), factor)
        if factor < 2:
            break
        step, before = grids.finer(grid.step, factor), epsilon
        epsilon, grid = _settled(grids.above(step, tilt=tilt), grids, delta, lower=False, tries=2)
        least = min(least, epsilon)
        # The excess falls with the step where nearly all losses are small beside it, and with its
        # square where they are not.
        left = abs(before - epsilon) / (factor - 1)
        squared = left < before_left / factor**_BETWEEN_ORDERS
        if squared:
            left /= factor + 1
        if left <= _FINENESS * epsilon:
            break
        wanted = left / (_FINENESS * max(epsilon, _TINY))
        wanted = math.sqrt(wanted) if squared else wanted
        factor, before_left = math.ceil(min(max(wanted, 2.0), _STRONGEST)), left
    return least, grid


def _lower_epsilon(grids: Grids, grid: Grid, aim: Aim, upper: float) -> float:
    """Return a bound from below, on the grid of the bound from above or on a finer one."""
    delta, step, greatest = aim.delta or 0.0, grid.step, 0.0
    for _ in range(_TRIES):
        before = greatest
        # What lies one step before the largest loss must not vanish beside it.
        under = grids.below(step, tilt=min(grid.tilt, _LARGEST_LOG / step))
        greatest = max(greatest, _settled(under, grids, delta, lower=True)[0])
        hardly = upper - greatest > _HARDLY * (upper - before)
        if upper - greatest <= _NARROW * upper or not grids.few or hardly:
            break
        if grids.possible_factor(under, 2) < 2:
            break
        step = grids.finer(step, 2)
    return greatest


def _settled(
    grid: Grid, grids: Grids, delta: float, *, lower: bool, tries: int = _TRIES
) -> tuple[float, Grid]:
    """Return the epsilon of a grid, with other tilts as long as rounding hides too much."""
    best, chosen, tilt = 0.0 if lower else math.inf, grid.tilt, grid.tilt
    for _ in range(tries):
        whole = tilted(grid.masses, grid.times, grid.cumulants, tilt=tilt)
        composed = band(whole) or convolve(whole)
        epsilon, well = _crossing(composed, grids.uses, delta, lower)
        if epsilon > best if lower else epsilon < best:
            best, chosen = epsilon, tilt
        elif 0.0 < best < math.inf:
            break
        seen = 0.0 < epsilon < math.inf
        if well or (seen and len(grid.masses) > _MANY):
            break
        aim = Aim(epsilon=epsilon)
        other = best_tilt(grid.cumulants, aim, near=tilt) if seen else tilt / _WEAKER
        tilt = other if abs(other / tilt - 1) > _TURN else tilt / _WEAKER
        if window_points(grid.cumulants, tilt, grid.step) > MOST_WINDOW:
            break
    return best, grid.tilted(chosen)


def _crossing(
    composed: Composed | Band, uses: int, delta: float, lower: bool
) -> tuple[float, bool]:
    """Return the epsilon of a delta, and whether another tilt would hardly do better.

    Delta falls from one loss of the grid to the next as a straight line in exp(epsilon), to which
    an error is added that grows with the tilt; a place between the two is guessed, moved to the
    safe side until the bound holds there, and tried.
    """
    if isinstance(composed, Band):
        found = _faded_place(composed, uses, delta, lower)
    else:
        found = _place(composed, uses, delta, lower)
    if found is None:
        last = (composed.first + composed.size - 1) * composed.step
        return (max(last, 0.0) if lower else math.inf), composed.infinity > delta
    place, level, slope = found
    start = (composed.first + place) * composed.step
    scale = _scale(composed, start) if lower else max(_scale(composed, start), _SMALLEST_SCALE)
    most = composed.step if place else 0.0

    def fits(back: float) -> bool:
        here = level - slope * math.expm1(-back)
        error = composed.error * math.exp(min(composed.tilt * back, _LARGEST_LOG))
        if lower:
            return bool(_low_delta(composed, here, error, scale) >= delta)
        return bool(_high_delta(composed, here, error, scale, uses) <= delta)

    guess = 0.0
    for _ in range(_GUESSES):
        error = composed.error * math.exp(min(composed.tilt * guess, _LARGEST_LOG))
        wanted = _wanted(composed, delta, error, scale, uses=uses, lower=lower) - level
        share = min(wanted / slope, _ALL) if slope > 0 and wanted > 0 else 0.0
        guess = min(-math.log1p(-share), most)
    moved = (1 + _MOVES) if lower else (1 - _MOVES)
    backs = [min(back, most) for back in (guess * moved).tolist()] + [most if lower else 0.0]
    back = next((back for back in backs if fits(back)), None)
    if back is None:  # only the bound from below can fail at the end of its cell
        return 0.0, False
    epsilon = start - back
    hidden = composed.error * _scale(composed, epsilon)
    well = hidden <= _HIDDEN * delta and (place > 0 or start <= 0)
    return max(epsilon * (1 - 2 * NUDGE if lower else 1 + 2 * NUDGE), 0.0), well


def _place(
    composed: Composed, uses: int, delta: float, lower: bool
) -> tuple[int, float, float] | None:
    """Return the place before which delta is reached, the gain there, and how it grows."""
    gain = _gains(composed)
    scale = np.exp(np.minimum(composed.log_scale - composed.tilt * composed.losses, _LARGEST_LOG))
    if lower:
        above = np.flatnonzero(_low_delta(composed, gain, 0.0, scale) >= delta)
        place = int(above[-1]) + 1 if above.size else 0
    else:
        scale = np.maximum(scale, _SMALLEST_SCALE)  # one that is no double is raised to one
        below = np.flatnonzero(_high_delta(composed, gain, composed.error, scale, uses) <= delta)
        place = int(below[0]) if below.size else gain.size
    if place == gain.size:
        return None
    falling = np.exp(-(composed.tilt + 1) * composed.step * np.arange(gain.size - place))
    return place, float(gain[place]), float(composed.mass[place:] @ falling)


def _faded_place(
    composed: Band, uses: int, delta: float, lower: bool
) -> tuple[int, float, float] | None:
    """Return the same, by halving the window: every place that is tried is certain by itself."""

    def is_behind(place: int) -> bool:
        gain, scale = level(place), _scale(composed, (composed.first + place) * step)
        if lower:
            return _low_delta(composed, gain, composed.error, scale) < delta
        scale = max(scale, _SMALLEST_SCALE)
        return _high_delta(composed, gain, composed.error, scale, uses) <= delta

    def level(place: int) -> float:
        return max(composed.gain(place), 0.0)

    step = composed.step
    if not is_behind(composed.size - 1):
        return None
    place = least(is_behind, 0, composed.size - 1)
    return place, level(place), max(composed.slope(place), 0.0)


def _delta_at(
    rest: Sequence[Part], exact: Fraction, reverse: bool, lower: bool, floor: float
) -> float:
    largest = [None if leaf.pure is None else n * leaf.pure for leaf, n in rest]
    if all(part is not None for part in largest) and exact >= sum(filter(None, largest)):
        return 0.0
    if _uses(rest) > _MOST_USES:
        return 0.0 if lower else 1.0
    epsilon = up(exact) if lower else down(exact)
    if len(rest) == 1 and rest[0][1] == 1:
        return _single_delta(rest[0][0], exact, epsilon, reverse, lower)
    aim = Aim(epsilon=epsilon, floor=floor)
    grids = Grids(rest, aim, reverse=reverse)
    grid = grids.first()
    if grids.few:
        grid = grids.fine(grid)
    if lower:
        grid = _close_below(grids, grid, aim)
    epsilon *= 1 + 2 * NUDGE if lower else 1 - 2 * NUDGE
    if epsilon >= grid.top:  # nothing but unbounded losses is beyond
        found = unbounded(grid.masses, grid.times)
        return found * (1 - 1e-12) if lower else min(found * _margin(_uses(rest)), 1.0)
    total, error, scale, composed = _gain_at(grid, epsilon)
    if lower:
        found = max(_low_delta(composed, total, error, scale), composed.infinity * (1 - 1e-12))
        return min(found, 1.0) if found > _SMALLEST_SCALE else 0.0
    found = _high_delta(composed, total, error, scale, _uses(rest))
    # Where doubles run out of digits each of up to four roundings takes off half of the least one.
    return min(found + 4 * SMALLEST, 1.0)


def _gain_at(grid: Grid, epsilon: float) -> tuple[float, float, float, Composed | Band]:
    """Return the gain at an epsilon, its error and the scale of both, and what they are from."""
    whole = tilted(grid.masses, grid.times, grid.cumulants, tilt=grid.tilt)
    few = band(whole)
    place = math.ceil(epsilon / whole.step) - whole.first
    if few is not None and 0 <= place < few.size:
        start = (whole.first + place) * whole.step
        back = max(start - epsilon, 0.0)
        gain = max(few.gain(place), 0.0) - max(few.slope(place), 0.0) * math.expm1(-back)
        error = few.error * math.exp(min(few.tilt * back, _LARGEST_LOG))
        return gain, error, _scale(few, start), few
    composed = convolve(whole)
    ahead = composed.losses - epsilon
    use = ahead > 0
    weights = np.exp(-composed.tilt * ahead[use]) * -np.expm1(-ahead[use])
    gain = float((composed.mass[use] * weights).sum())
    return gain, composed.error, _scale(composed, epsilon), composed


def _single_delta(leaf: Leaf, exact: Fraction, epsilon: float, reverse: bool, lower: bool) -> float:
    if not lower:
        return leaf.delta(epsilon=exact)
    value = float(leaf.profile(np.array([epsilon]), reverse=reverse)[0])
    # Some leaves know of a single use more than their profile, which is then a bound from above.
    return max(min(value * (1 - 2 * PROFILE_ERROR), leaf.delta(epsilon=exact)), 0.0)


def _close_below(grids: Grids, over: Grid, aim: Aim) -> Grid:
    """Return a grid from below whose moment is close to that of a grid from above."""
    wanted, step = over.cumulants.total(over.tilt), over.step
    most = _FINENESS_BELOW * max(over.tilt * over.cost(aim), 1.0)
    for _ in range(_TRIES):
        grid = grids.below(step, tilt=over.tilt)
        close = wanted - grid.cumulants.total(over.tilt) <= most
        finer = grids.finer(step, 2)
        enough = close or over.is_enough(aim)
        if enough or not grids.few or not grids.is_possible(finer, over):
            break
        step = finer
    return grid


def _scale(composed: Composed | Band, epsilon: float) -> float:
    return math.exp(min(composed.log_scale - composed.tilt * epsilon, _LARGEST_LOG))


def _gains(composed: Composed) -> Floats:
    """Return delta, but for its scale and its errors, at each loss of the window as epsilon.

    It is the difference of two sums, by a recurrence in which nothing is subtracted.
    """
    tilt, step = composed.tilt, composed.step
    ahead = np.append(_sums(composed.mass, tilt * step)[1:], 0.0)
    return _sums(ahead * (-math.exp(-tilt * step) * math.expm1(-step)), (tilt + 1) * step)


def _high_delta(composed: Composed | Band, gain: X, error: float, scale: X, uses: int) -> X:
    finite = (gain * (1 + _SUMS) + error) * (1 + 2 * composed.relative) * scale
    return (finite + composed.infinity) * _margin(uses)


def _wanted(
    composed: Composed | Band, delta: float, error: float, scale: float, *, uses: int, lower: bool
) -> float:
    """Return the gain that makes one of these two bounds equal to delta."""
    scale = max(scale, _SMALLEST_SCALE)
    if lower:
        finite = delta / (1 - 1e-12) - composed.infinity
        return (finite / scale + error) / ((1 - _SUMS) * (1 - composed.relative))
    finite = delta / _margin(uses) - composed.infinity
    return (finite / scale / (1 + 2 * composed.relative) - error) / (1 + _SUMS)


def _low_delta(composed: Composed | Band, gain: X, error: float, scale: X) -> X:
    """The points were lowered by the errors of profiles before; nothing but rounding is left."""
    finite = (gain * ((1 - _SUMS) * (1 - composed.relative)) - error) * scale
    return (finite + composed.infinity) * (1 - 1e-12)


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
    """Return the factor by which profiles that are each off by 2**-36 are off together."""
    return math.exp(uses * math.log1p(2 * PROFILE_ERROR))


def _uses(parts: Sequence[Part]) -> int:
    return sum(times for _, times in parts)
