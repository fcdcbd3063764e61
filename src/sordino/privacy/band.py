# SPDX-License-Identifier: Apache-2.0
"""A sum of many losses by the few frequencies that matter: its transform fades away beyond them.

What is asked of a composition is a sum over all losses, each with a weight. That sum is also one
over all frequencies, of which those of a nearly normal sum are negligible from a low one on. So
neither a transform of a whole window nor its inverse is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.privacy.leaf import Floats

_UNIT = 2.0**-53
OUTSIDE = 42.0  # a window leaves out exp(-42) of the tilted mass at either end
_MANY = 48  # so many different losses are joined in pairs, which takes no longer
_FADED = 42.0  # a transform of exp(-42) or less is negligible; what that adds is counted
_SLACK = 1 + 1e-6  # more than the rounding of moments
_SPREAD = 8  # places where a transform is looked at, for each time that it turns round
_TERMS = 8  # of the Taylor series inside a block
_TURN = 1 / 32  # the largest angle from the middle of a block to its end
_MOST_WORK = 1 << 22  # angles; beyond, a transform of the window is quicker
_CLOSE = 1e-9  # more than the rounding of a place
_HALF = 0.5
_SMALL = 0.5  # largest size of v for which log(1 + v) is taken
_ROUNDED = 16 * _UNIT  # of an angle, its sine, and the first term that a block leaves out
_LOGARITHM = 256 * _UNIT  # of a sum of logarithms of 1 + v, for each unit of the sizes of all v
_LAST = 256 * _UNIT  # of an exponential of it, and of a weight's transform
_BUTTERFLY = 8 * _UNIT  # of an FFT, generously

Spectrum = npt.NDArray[np.complex128]
Row = tuple[int, Floats]  # the place of the first mass, and the masses


@dataclass(frozen=True, slots=True, kw_only=True)
class Tilted:
    """Tilted parts of a composition, and the window of their sum.

    Each row has a total of 1. Less than exp(-OUTSIDE) of the tilted sum is before the ``first``
    place and after the ``last`` one.

    Guarantee: none by itself; ``Pld`` says what its composition bounds.
    """

    step: float
    tilt: float
    log_scale: float
    first: int
    last: int
    rows: list[Row]
    times: list[int]
    infinity: float
    relative: float


@dataclass(frozen=True, slots=True)
class Band:
    """The tilted distribution of a sum of losses, by its transform at low frequencies.

    ``first`` and ``size`` are its window, as of ``convolve.Composed``, and so are ``error`` and
    ``relative``. ``gains`` and ``slopes`` are the products of the transforms of the distribution
    and of the weights.

    Guarantee: none by itself; ``Pld`` says what it bounds.
    """

    step: float
    first: int
    size: int
    tilt: float
    log_scale: float
    infinity: float
    error: float
    relative: float
    centre: int
    angle: float
    gains: Spectrum
    slopes: Spectrum

    def gain(self, place: int) -> float:
        """Return delta at a loss of the window as epsilon, but for its scale and its errors."""
        return self._sum(self.gains, place)

    def slope(self, place: int) -> float:
        """Return the sum of the masses from a place on, falling by exp(-(tilt + 1) * step) each."""
        return self._sum(self.slopes, place)

    def _sum(self, products: Spectrum, place: int) -> float:
        turns = np.arange(products.size) * (-self.angle * (self.first + place - self.centre))
        return _dot(np.cos(turns), products.real) - _dot(np.sin(turns), products.imag)


@dataclass(frozen=True, slots=True)
class _Spread:
    """A tilted row around its centre, and what its moments say of its transform."""

    centre: int
    places: Floats
    mass: Floats
    size: float  # the mean distance from the centre
    square: float  # the variance
    bend: float  # |transform|**2 <= 1 - w**2 square (1 - w**2 bend) at the frequency w
    off: float  # by how much the masses do not add up to 1

    @classmethod
    def of(cls, row: Row, step: float) -> _Spread:
        first, mass = row
        places = np.arange(first, first + mass.size, dtype=np.float64)
        centre = first + int(np.searchsorted(np.cumsum(mass), _HALF))  # no other is closer to all
        places -= centre
        losses = places * step
        mean = _dot(losses, mass)
        squares = (losses - mean) ** 2
        square, fourth = _dot(squares, mass), _dot(squares * squares, mass)
        bend = (2 * fourth + 6 * square**2) / (24 * square) if square > 0 else 0.0
        return cls(
            centre,
            places,
            mass,
            _dot(np.abs(losses), mass) * _SLACK,
            square / _SLACK,
            bend * _SLACK,
            abs(math.fsum(mass.tolist()) - 1) + _UNIT,
        )


def band(whole: Tilted) -> Band | None:
    """Compose tilted parts, or return None where it takes more than a few frequencies.

    Guarantee: none by itself; ``Pld`` says what the result bounds.
    """
    step, tilt, times = whole.step, whole.tilt, whole.times
    if len(times) > _MANY:
        return None
    spreads = [_Spread.of(row, step) for row in whole.rows]
    first, size = whole.first, whole.last - whole.first + 1
    period = size + math.ceil(OUTSIDE / (tilt * step))
    last = _last_frequency(spreads, times, step)
    if last is None:
        return None
    angle = 2 * math.pi / period
    count = math.ceil(last * step / angle) + 1
    if _work(spreads, count, angle) > _MOST_WORK or 2 * count >= period:
        return None
    frequencies = np.arange(count, dtype=np.float64) * angle
    growth, turn, off = np.zeros(count), np.zeros(count), np.zeros(count)
    for spread, n in zip(spreads, times, strict=True):
        real, imaginary, wrong = _transform(spread, frequencies, step)
        if np.hypot(real, imaginary).max() > _SMALL:
            return None
        growth += (n / 2) * np.log1p(real * (2 + real) + imaginary * imaginary)
        turn += n * np.arctan2(imaginary, 1 + real)
        off += n * wrong
    spectrum = np.exp(growth) * np.exp(1j * turn)
    spectrum *= 2 / period  # each stands for its negative too
    spectrum[0] /= 2
    # The weights exp(-tilt t) (1 - exp(-t)) at t = step, 2 step, ... and exp(-(tilt + 1) t) at
    # t = 0, step, ..., as geometric series.
    near, far = (_one_less(at * step, frequencies) for at in (tilt, tilt + 1))
    rise = -math.exp(-tilt * step) * math.expm1(-step)
    gains, slopes = rise * np.exp(-1j * frequencies) / (near * far), 1 / far
    # A place between two is bounded by the gain and at most a step times the slope.
    weights = np.abs(gains) + step * np.abs(slopes)
    sizes = np.abs(spectrum) * weights
    centre = sum(n * spread.centre for spread, n in zip(spreads, times, strict=True))
    turned = count * angle * max(abs(first - centre), abs(first + size - centre))
    error = _dot(np.expm1(off), sizes)
    error += ((count + 8 * turned) * _UNIT + _LAST) * float(sizes.sum())
    error += math.exp(-_FADED) * float(weights[0]) + 8 * math.exp(-OUTSIDE) * (1 + step)
    return Band(
        step,
        first,
        size,
        tilt,
        whole.log_scale,
        whole.infinity,
        error,
        whole.relative,
        centre,
        angle,
        spectrum * gains,
        spectrum * slopes,
    )


def _dot(one: Floats, other: Floats) -> float:
    """Return a sum of products, in one thread: others would spin for longer than the sum takes."""
    return float(np.einsum("i,i->", one, other))


def _one_less(fall: float, angles: Floats) -> Spectrum:
    """Return 1 - exp(-fall - i angle), with all digits where both are small."""
    half = np.sin(angles / 2)
    real = -math.expm1(-fall) + 2 * math.exp(-fall) * half * half
    return real + 1j * math.exp(-fall) * np.sin(angles)


def _last_frequency(spreads: Sequence[_Spread], times: Sequence[int], step: float) -> float | None:
    """Return a frequency beyond which the transform of the sum is negligible, if one is low."""
    whole = sum(n * spread.square for spread, n in zip(spreads, times, strict=True))
    bend = max(spread.bend for spread in spreads)
    room = 1 - 8 * _FADED * bend / whole if whole > 0 and bend > 0 else -1.0
    if not room >= 0:
        return None
    # Up to 1 / sqrt(2 bend) the moments tell that it fades; beyond, so do samples.
    begin = math.sqrt(1 / (2 * bend))
    if not _stays_faded(spreads, times, step, begin):
        return None
    return math.sqrt((1 - math.sqrt(room)) / (2 * bend)) * _SLACK


def _stays_faded(
    spreads: Sequence[_Spread], times: Sequence[int], step: float, begin: float
) -> bool:
    """Tell whether the transform of the sum is negligible at all frequencies from one on."""
    from scipy import fft  # takes 0.3 s to load, which only accounting should pay

    # A row with one rare loss turns round once while the frequency grows by 2 pi over that loss.
    longest = max(spread.square / spread.size for spread in spreads if spread.size)
    length = fft.next_fast_len(math.ceil(_SPREAD * 2 * math.pi * longest / step) + 64, real=True)
    half = math.pi / (length * step)
    start = max(math.floor(begin / (2 * half) * (1 - _CLOSE)), 0)
    logs: Floats | float = 0.0
    for spread, n in zip(spreads, times, strict=True):
        folded = np.zeros(-(-spread.mass.size // length) * length)
        folded[: spread.mass.size] = spread.mass
        moduli = np.abs(fft.rfft(folded.reshape(-1, length).sum(axis=0))[start:])
        slip = _BUTTERFLY * math.log2(length) + 2 * folded.size / length * _UNIT + spread.off
        squares = (moduli * (1 + _ROUNDED) + slip) ** 2
        # Between two places a square is largest at one of them, or flat no farther from one than
        # half their distance. Beyond the last it goes back the way it came.
        most = np.maximum(squares, np.append(squares[1:], squares[-1:]))
        most += half**2 * spread.square * _SLACK**2
        logs = logs + (n / 2) * np.log(np.minimum(most, 1.0))
    return bool(np.max(logs, initial=-math.inf) <= -_FADED)


def _block(spread: _Spread, count: int, angle: float) -> int:
    """Return how many neighbouring places turn by so little that a short series has them all."""
    return max(1, min(int(2 * _TURN / (count * angle)), spread.mass.size))


def _work(spreads: Sequence[_Spread], count: int, angle: float) -> int:
    return sum(count * (s.mass.size // _block(s, count, angle) + 1) for s in spreads)


def _transform(spread: _Spread, frequencies: Floats, step: float) -> tuple[Floats, Floats, Floats]:
    """Return the transform less 1, around the centre, and what its logarithm may be off by.

    Frequencies are angles for each place. Places are taken in blocks, inside of which the powers
    of the distance from the middle are summed before.
    """
    size = _block(spread, frequencies.size, float(frequencies[1]))
    ahead = (int(spread.places[0]) + size // 2) % size  # a block has its middle in the centre
    blocks = -(-(ahead + spread.mass.size) // size)
    group = math.isqrt(blocks) + 1  # blocks are added up in groups, so that rounding is small
    groups = -(-blocks // group)
    padded = np.zeros(groups * group * size)
    padded[ahead : ahead + spread.mass.size] = spread.mass
    inside = np.arange(size, dtype=np.float64) - size // 2
    terms = _TERMS if size > 1 else 1
    powers = inside[:, None] ** np.arange(terms)
    sums = np.einsum("bi,it->bt", padded.reshape(-1, size), powers)
    middles = spread.places[0] - ahead + size // 2 + np.arange(groups * group) * float(size)
    halves = frequencies[:, None] * (middles / 2)
    sine = np.sin(halves)
    grouped = sums.reshape(groups, group, terms)

    def added(weights: Floats) -> Floats:
        rows = weights.reshape(-1, groups, group)
        found: Floats = np.einsum("fgb,gbt->fgt", rows, grouped).sum(axis=1)
        return found

    short, high = added(-2 * sine * sine), added(2 * sine * np.cos(halves))
    short[:, 1:] += grouped.sum(axis=1).sum(axis=0)[1:]
    factors = (1j * frequencies[:, None]) ** np.arange(terms)
    factors = factors / np.array([math.factorial(t) for t in range(terms)])
    found = (factors * (short + 1j * high)).sum(axis=1)
    apart = _dot(np.abs(inside), padded.reshape(-1, size).sum(axis=0))
    reach = (spread.size / step + 2 * apart) * _SLACK
    slip = (2 * (size + group + groups) + 64) * _UNIT + _ROUNDED + spread.off
    return found.real, found.imag, frequencies * (reach * (4 * slip + _LOGARITHM))
