# SPDX-License-Identifier: Apache-2.0
"""Adding up independent losses on one grid: tilted, convolved by FFT, with every error counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.privacy.band import OUTSIDE, Row, Spectrum, Tilted
from sordino.privacy.leaf import PROFILE_ERROR, Floats, Leaf

_ON_THE_GRID = 1e-9  # steps; a bound this close to a grid point is taken to be on it

# Profiles are taken a little outside the grid for bounds from above and a little inside it for
# bounds from below, so that an atom on the grid is on the safe side of its point in doubles.
NUDGE = 1e-13

_FARTHEST = 690.0  # exp of a larger loss is no double

_PASSES = 8  # over whole arrays, before a hull is walked point by point
_UNIT = 2.0**-53
_ROUNDING = 8 * _UNIT  # of one butterfly of an FFT, generously
_POWER = 32 * _UNIT  # of a power of a complex number, for each unit of its exponent
_LOGARITHM = 256 * _UNIT  # of a sum of logarithms of 1 + v, for each unit of the sizes of all v
_CALM = 0.75  # a loss with this tilted mass is set aside before its row is transformed
_DEEPEST = -30.0  # logarithm of the mass of calm rows below which it is not worth setting aside
_LOGS = 750.0  # no double has a larger logarithm, in size
_TRIMMED = 1e-18  # tilted masses below this are cut off the ends of intermediate results
_DIRECT = 48  # so many different leaves are transformed at full length; more are joined in pairs
_NORMAL_FACTORS = (1.0, 3.0, 6.0, 9.0)  # changes of the tilt, in inverse deviations of the sum
_RARE_FACTORS = (3.0, 8.0, 20.0, 50.0)  # in inverse sizes of the largest loss, where it is rare
_FAR = 5.0  # deviations of the sum: a single loss that is larger is rare
_ROWS = 512
_WORKERS = 2  # threads of a transform of many rows


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
    # Nor is anything right of it but the atom at infinity.
    high[-1] = leaf.unbounded(reverse=reverse) * (1 - PROFILE_ERROR)
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


@dataclass(frozen=True, slots=True)
class Composed:
    """The tilted distribution of a sum of losses, on a window.

    The probability of the loss l is ``mass * exp(log_scale - tilt * l)``. ``error`` bounds, in
    tilted units, what a delta can be off by, and ``relative`` the error of all masses beside that.

    Guarantee: none by itself; ``Pld`` says what it bounds.
    """

    step: float
    first: int
    mass: Floats
    tilt: float
    log_scale: float
    infinity: float
    error: float
    relative: float

    @property
    def size(self) -> int:
        """How many losses the window has."""
        return self.mass.size

    @property
    def losses(self) -> Floats:
        """The losses that the masses belong to."""
        return np.arange(self.first, self.first + self.mass.size, dtype=np.float64) * self.step


class Cumulants:
    """Logarithms of the moment generating functions of all parts together."""

    def __init__(self, parts: Sequence[Masses], times: Sequence[int]) -> None:
        self._losses = np.concatenate([part.losses for part in parts])
        with np.errstate(divide="ignore"):  # a loss without mass has the logarithm -inf
            self._log_mass = np.log(np.concatenate([part.mass for part in parts]))
        self.starts = np.cumsum([0, *(part.mass.size for part in parts[:-1])])
        self._lengths = np.array([part.mass.size for part in parts])
        self._times = np.asarray(times, dtype=np.float64)
        extremes = [max(abs(part.first), abs(part.first + part.mass.size - 1)) for part in parts]
        self.longest = parts[0].step * max(extremes)
        self.largest = parts[0].step * float(np.asarray(extremes, dtype=np.float64) @ self._times)

    def logs(self, tilt: float) -> Floats:
        """Return the logarithm of E exp(tilt * loss) for each part."""
        highest, rest = self._logs(tilt)
        return highest + rest

    def _logs(self, tilt: float) -> tuple[Floats, Floats]:
        """Return the logarithm of the largest term for each part, and what the others add to it."""
        exponents = tilt * self._losses + self._log_mass
        highest: Floats = np.maximum.reduceat(exponents, self.starts)
        exponents -= np.repeat(highest, self._lengths)
        np.exp(exponents, out=exponents)
        return highest, np.log(np.add.reduceat(exponents, self.starts))

    def restless(self, tilt: float) -> float:
        """Return about how many of all uses have another loss than the most likely one."""
        return float(-np.expm1(-self._logs(tilt)[1]) @ self._times)

    @property
    def is_calm(self) -> bool:
        """Whether every part has nearly all of its mass in one place."""
        return bool((-self._logs(0.0)[1] >= math.log(_CALM)).all())

    def tilted(self, tilt: float, logs: Floats) -> Floats:
        """Return the masses of all parts in a row, each part tilted to a total of 1."""
        exponents = tilt * self._losses + self._log_mass
        exponents -= np.repeat(logs, self._lengths)
        found: Floats = np.exp(exponents, out=exponents)
        return found

    def deviation(self, tilt: float) -> float:
        """Return the standard deviation of the tilted sum."""
        mass = self.tilted(tilt, self.logs(tilt))
        means = np.add.reduceat(mass * self._losses, self.starts)
        squares = np.add.reduceat(mass * self._losses**2, self.starts)
        return math.sqrt(max(float((squares - means**2) @ self._times), 0.0))

    @property
    def range(self) -> tuple[float, float]:
        """Return the least and the largest sum of losses."""
        ends = np.append(self.starts[1:], self._losses.size) - 1
        return (
            float(self._losses[self.starts] @ self._times),
            float(self._losses[ends] @ self._times),
        )

    def total(self, tilt: float) -> float:
        """Return the logarithm of E exp(tilt * loss) for the whole composition."""
        return float(self.logs(tilt) @ self._times)


def window_points(cumulants: Cumulants, tilt: float, step: float) -> float:
    """Return how many points the window of a tilt has."""
    low, high = _window(cumulants, tilt, cumulants.total(tilt), step)
    return (high - low) / step


def tilted(
    parts: Sequence[Masses], times: Sequence[int], cumulants: Cumulants, *, tilt: float
) -> Tilted:
    """Return the parts with their losses weighted by exp(tilt * loss), ready to be composed."""
    step = parts[0].step
    logs = cumulants.logs(tilt)
    log_scale = float(logs @ np.asarray(times, dtype=np.float64))
    low, high = _window(cumulants, tilt, log_scale, step)
    masses = np.split(cumulants.tilted(tilt, logs), cumulants.starts[1:])
    return Tilted(
        step=step,
        tilt=tilt,
        log_scale=log_scale,
        first=math.floor(low / step),
        last=math.ceil(high / step),
        rows=[(part.first, mass) for part, mass in zip(parts, masses, strict=True)],
        times=list(times),
        infinity=unbounded(parts, times),
        relative=8 * _UNIT * (tilt * cumulants.largest + _LOGS * sum(times) + abs(log_scale)),
    )


def convolve(whole: Tilted) -> Composed:
    """Compose tilted parts on their window.

    Guarantee: none by itself; ``Pld`` says what the result bounds.
    """
    from scipy import fft  # takes 0.3 s to load, which only accounting should pay

    step, tilt, rows, times = whole.step, whole.tilt, whole.rows, whole.times
    size = fft.next_fast_len(whole.last - whole.first + 1, real=True)
    trimmed, powers = 0.0, times
    if len(rows) > _DIRECT:
        repeated = [_repeat(row, n) for row, n in zip(rows, times, strict=True)]
        rows, trimmed = _join([row for row, _ in repeated])
        trimmed += math.fsum(cut for _, cut in repeated)
        powers = [1]
    product = _Product(size)
    for row, n in zip(rows, powers, strict=True):
        product.multiply(row, n)
    mass, most, root = product.masses(whole.first)
    weight = math.exp(-tilt * math.log1p(1 / tilt) - math.log1p(tilt))  # the largest there is
    counted = min(float(size) * weight, weight + 1 / (step * tilt * (tilt + 1)))
    squares = min(
        float(size) * weight**2, weight**2 + 1 / (2 * step * tilt * (tilt + 1) * (2 * tilt + 1))
    )
    error = min(most * counted, root * math.sqrt(squares))
    error += (2 * math.exp(-OUTSIDE) + trimmed) * weight
    return Composed(
        step, whole.first, mass, tilt, whole.log_scale, whole.infinity, error, whole.relative
    )


class _Product:
    """The spectrum of a convolution, with what rounding may have done to it at each frequency.

    A row with nearly all of its mass in one place is transformed without that mass, whose
    transform is known: what is rounded then is only the rest.
    """

    def __init__(self, size: int) -> None:
        self._size, self._offset = size, 0
        self._slip = _ROUNDING * math.log2(max(size, 2))
        half = size // 2 + 1
        self._calm = 0.0  # the logarithm of the mass that was set aside, of all rows together
        self._growth, self._turn = np.zeros(half), np.zeros(half)  # by what the rest changes it
        self._calm_error = 0.0  # relative, at every frequency
        self._plain: Spectrum | None = None
        self._moduli: Floats | float = 1.0
        self._slopes: Floats | float = 0.0

    def multiply(self, row: Row, times: int) -> None:
        """Convolve with a row as often as it is used."""
        from scipy import fft

        first, mass = row
        peak = int(np.argmax(mass))
        aside = float(mass[peak])
        self._offset += (first + peak) * times
        once = fft.rfft(self._placed(mass, peak, without=aside >= _CALM), self._size)
        if aside >= _CALM:
            real, imaginary = once.real / aside, once.imag / aside
            self._growth += (times / 2) * np.log1p(real * (2 + real) + imaginary * imaginary)
            self._turn += times * np.arctan2(imaginary, 1 + real)
            self._calm += times * math.log(aside)
            rest = float(mass[:peak].sum() + mass[peak + 1 :].sum())
            self._calm_error += 2 * times * (self._slip + _LOGARITHM) * rest
            return
        power = once**times if times != 1 else once
        self._plain = power if self._plain is None else self._plain * power
        # What an error of the transform grows to in the product, frequency by frequency.
        modulus = np.abs(once) + self._slip
        share = modulus ** (times - 1) if times != 1 else 1.0
        own = (self._slip + _POWER) * times
        self._slopes = (self._slopes * modulus + own * self._moduli) * share
        self._moduli = self._moduli * modulus * share

    def masses(self, start: int) -> tuple[Floats, float, float]:
        """Return the masses from a place on, the most one is off by, and the norm of all errors."""
        from scipy import fft

        aside = math.exp(self._calm) if self._plain is None and self._calm > _DEEPEST else 0.0
        if aside:
            rise, sine = np.expm1(self._growth), np.sin(self._turn / 2)
            back, across = 2 * sine * sine, (2 + 2 * rise) * sine * np.cos(self._turn / 2)
            spectrum = (aside + 0j) * (rise * (1 - back) - back + 1j * across)
            whole = aside * (1 + rise)
            sizes = aside * (np.abs(rise) + np.abs(across) + back)
        else:
            whole = np.exp(self._growth + self._calm)
            spectrum = whole * np.exp(1j * self._turn) if self._calm else whole + 0j
            if self._plain is not None:
                spectrum *= self._plain
            sizes = whole * self._moduli
        places = np.arange(start, start + self._size)
        mass = fft.irfft(spectrum, self._size)[(places - self._offset) % self._size]
        if 0 <= self._offset - start < self._size:
            mass[self._offset - start] += aside
        rounded = math.expm1(self._calm_error)
        errors = whole * (self._slopes * (1 + rounded) + rounded * self._moduli)
        errors += (self._slip + _POWER) * sizes
        most = float(errors.sum()) * 2 / self._size
        root = math.sqrt(float(errors @ errors) * 2 / self._size)
        return np.maximum(mass, 0.0), most, root

    def _placed(self, mass: Floats, peak: int, *, without: bool) -> Floats:
        """Return a row around its peak, which comes to the first place or is left out."""
        if mass.size > self._size:
            places = (np.arange(mass.size) - peak) % self._size
            around = np.bincount(places, mass, self._size).astype(np.float64)
        else:
            around = np.zeros(self._size)
            around[: mass.size - peak] = mass[peak:]
            if peak:
                around[-peak:] = mass[:peak]
        if without:
            around[0] -= mass[peak]
        return around


def unbounded(parts: Sequence[Masses], times: Sequence[int]) -> float:
    """Return the probability that at least one of the losses is unbounded."""
    if any(part.infinity >= 1 for part in parts):
        return 1.0
    logs = [n * math.log1p(-part.infinity) for part, n in zip(parts, times, strict=True)]
    return abs(math.expm1(math.fsum(logs)))


def _window(
    cumulants: Cumulants, tilt: float, log_scale: float, step: float
) -> tuple[float, float]:
    """Return losses that leave out exp(-42) of the tilted mass on either side, by Chernoff."""
    high, low = math.inf, -math.inf
    width = max(cumulants.deviation(tilt), step)
    aways = {factor / width for factor in _NORMAL_FACTORS}
    if cumulants.longest > _FAR * width:
        aways |= {factor / cumulants.longest for factor in _RARE_FACTORS}
    for away in aways:
        high = min(high, (cumulants.total(tilt + away) - log_scale + OUTSIDE) / away)
        low = max(low, (log_scale - cumulants.total(tilt - away) - OUTSIDE) / away)
    bottom, top = cumulants.range
    return max(low, bottom - step), min(high, top + step)


def _repeat(row: Row, times: int) -> tuple[Row, float]:
    """Compose a row with itself, by squaring; also return the tilted mass that was cut off."""
    power, lost, whole = row, 0.0, None
    while True:
        if times & 1:
            whole, cut = (power, 0.0) if whole is None else _join_two(whole, power)
            lost += cut
        times >>= 1
        if not times:
            return whole or power, lost
        power, cut = _join_two(power, power)
        lost += cut * times  # the square is used that often


def _join_two(one: Row, other: Row) -> tuple[Row, float]:
    ((joined,), cut) = _join_pairs([one, other])
    return joined, cut


def _join(rows: list[Row]) -> tuple[list[Row], float]:
    """Convolve many short rows into one, in pairs of like length, many pairs at a time."""
    lost = 0.0
    while len(rows) > 1:
        rows.sort(key=lambda row: row[1].size)
        joined = [rows.pop()] if len(rows) % 2 else []
        for at in range(0, len(rows), _ROWS):
            pieces, cut = _join_pairs(rows[at : at + _ROWS])
            joined += pieces
            lost += cut
        rows = joined
    return rows, lost


def _join_pairs(rows: list[Row]) -> tuple[list[Row], float]:
    from scipy import fft  # as above

    longest = max(mass.size for _, mass in rows)
    length = 2 * longest - 1
    size = fft.next_fast_len(length, real=True)
    block = np.zeros((len(rows), size))
    for place, (_, mass) in enumerate(rows):
        block[place, : mass.size] = mass
    spectra = fft.rfft(block, axis=1, workers=_WORKERS)
    product = spectra[0::2] * spectra[1::2]
    both = fft.irfft(product, size, axis=1, workers=_WORKERS)[:, :length]
    errors = np.abs(spectra[0::2]) + np.abs(spectra[1::2]) + np.abs(product)
    errors *= _ROUNDING * math.log2(max(size, 2))
    rounded = np.sqrt(2 * length / size * np.einsum("ij,ij->i", errors, errors))
    np.maximum(both, 0.0, out=both)
    # Cut the ends where no row has more than rounding, so that lengths grow with the spread.
    use = np.flatnonzero(both.max(axis=0) > _TRIMMED)
    low, high = int(use[0]), int(use[-1]) + 1
    cut = float(both[:, :low].sum() + both[:, high:].sum() + rounded.sum())
    firsts = [a[0] + b[0] + low for a, b in zip(rows[0::2], rows[1::2], strict=True)]
    return list(zip(firsts, both[:, low:high], strict=True)), cut
