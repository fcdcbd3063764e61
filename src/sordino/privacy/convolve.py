# SPDX-License-Identifier: Apache-2.0
"""Adding up independent losses on one grid: tilted, convolved by FFT, with every error counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino.privacy.dots import Masses
from sordino.privacy.leaf import Floats

_OUTSIDE = 42.0  # the window leaves out exp(-42) of the tilted mass at either end
_UNIT = 2.0**-53
_ROUNDING = 8 * _UNIT  # of one butterfly of an FFT, generously
_POWER = 32 * _UNIT  # of a power of a complex number, for each unit of its exponent
_LOGS = 750.0  # no double has a larger logarithm, in size
_TRIMMED = 1e-18  # tilted masses below this are cut off the ends of intermediate results
_DIRECT = 48  # so many different leaves are transformed at full length; more are joined in pairs
_ROWS = 512
_WORKERS = 2  # threads of a transform of many rows


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
        self.largest = parts[0].step * float(np.asarray(extremes, dtype=np.float64) @ self._times)

    def logs(self, tilt: float) -> Floats:
        """Return the logarithm of E exp(tilt * loss) for each part."""
        exponents = tilt * self._losses + self._log_mass
        highest = np.maximum.reduceat(exponents, self.starts)
        exponents -= np.repeat(highest, self._lengths)
        np.exp(exponents, out=exponents)
        logs: Floats = highest + np.log(np.add.reduceat(exponents, self.starts))
        return logs

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


Row = tuple[int, Floats]  # the place of the first mass, and the masses


def convolve(
    parts: Sequence[Masses],
    times: Sequence[int],
    cumulants: Cumulants,
    *,
    tilt: float,
) -> Composed:
    """Compose masses on one grid.

    Guarantee: none by itself; ``Pld`` says what the result bounds.
    """
    from scipy import fft  # takes 0.3 s to load, which only accounting should pay

    step = parts[0].step
    logs = cumulants.logs(tilt)
    log_scale = float(logs @ np.asarray(times, dtype=np.float64))
    low, high = _window(cumulants, tilt, log_scale, step)
    start, stop = math.floor(low / step), math.ceil(high / step)
    size = fft.next_fast_len(stop - start + 1, real=True)
    tilted = np.split(cumulants.tilted(tilt, logs), cumulants.starts[1:])
    rows: list[Row] = [(part.first, mass) for part, mass in zip(parts, tilted, strict=True)]
    spectrum, offset, trimmed = np.ones(size // 2 + 1, dtype=np.complex128), 0, 0.0
    slip = _ROUNDING * math.log2(max(size, 2))
    moduli, slopes = np.ones(spectrum.size), np.zeros(spectrum.size)
    powers = list(times)
    if len(rows) > _DIRECT:
        repeated = [_repeat(row, n) for row, n in zip(rows, times, strict=True)]
        rows, trimmed = _join([row for row, _ in repeated])
        trimmed += math.fsum(cut for _, cut in repeated)
        powers = [1]
    for (first, mass), n in zip(rows, powers, strict=True):
        folded = mass
        if mass.size > size:
            folded = np.bincount(np.arange(mass.size) % size, mass, size).astype(np.float64)
        once = fft.rfft(folded, size)
        spectrum *= once**n if n != 1 else once
        # What an error of the transform grows to in the product, frequency by frequency.
        modulus = np.abs(once) + slip
        share = modulus ** (n - 1) if n != 1 else 1.0
        slopes = (slopes * modulus + n * moduli) * share
        moduli = moduli * modulus * share
        offset += first * n
    places = np.arange(start, start + size)
    mass = np.maximum(fft.irfft(spectrum, size)[(places - offset) % size], 0.0)
    each = ((slip + _POWER) * float(slopes.sum()) + slip * float(moduli.sum())) * 2 / size
    weight = math.exp(-tilt * math.log1p(1 / tilt) - math.log1p(tilt))  # the largest there is
    counted = min(float(size) * weight, weight + 1 / (step * tilt * (tilt + 1)))
    error = each * counted + (2 * math.exp(-_OUTSIDE) + trimmed) * weight
    relative = 8 * _UNIT * (tilt * cumulants.largest + _LOGS * sum(times) + abs(log_scale))
    return Composed(step, start, mass, tilt, log_scale, unbounded(parts, times), error, relative)


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
    for factor in (1.0, 3.0, 6.0, 9.0):
        away = factor / width
        high = min(high, (cumulants.total(tilt + away) - log_scale + _OUTSIDE) / away)
        low = max(low, (log_scale - cumulants.total(tilt - away) - _OUTSIDE) / away)
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
    both = fft.irfft(spectra[0::2] * spectra[1::2], size, axis=1, workers=_WORKERS)[:, :length]
    np.maximum(both, 0.0, out=both)
    # Cut the ends where no row has more than rounding, so that lengths grow with the spread.
    use = np.flatnonzero(both.max(axis=0) > _TRIMMED)
    low, high = int(use[0]), int(use[-1]) + 1
    cut = float(both[:, :low].sum() + both[:, high:].sum())
    firsts = [a[0] + b[0] + low for a, b in zip(rows[0::2], rows[1::2], strict=True)]
    return list(zip(firsts, both[:, low:high], strict=True)), cut
