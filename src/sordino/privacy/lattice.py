# SPDX-License-Identifier: Apache-2.0
"""Profiles of discrete Gaussian noise at many epsilons at once, as sums over the integers.

Between two losses of the lattice a profile is linear in e^epsilon. So two sums are kept for each
loss: the profile at it, and how steeply it rises towards smaller epsilons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.numbers.balls import round_up
from sordino.numbers.normal import WIDE, total
from sordino.privacy.leaf import Floats
from sordino.privacy.normal_profiles import any_lattice_deltas, normal_deltas
from sordino.privacy.vectors import (
    _FARTHEST_FINE,
    _FINE_ERROR,
    FINE,
    LARGEST_LISTED,
    MOST_COORDINATES,
    NARROWEST_LISTED,
    WIDEST_LISTED,
    _residues,
    _unevenness,
)

WIDEST_SUMMED = Fraction(2) ** 22  # variance up to which the terms of one integer are added up
_REACH = 40.0  # standard deviations; the terms beyond are no doubles
_LISTED_REACH = 100.0  # terms below exp(-100) are left out, and bounded by _LEFT_OUT
_LEFT_OUT = 1e-40
_MARGIN = 1 + 1e-10
_ROWS = 4096


@dataclass(frozen=True, slots=True)
class _Sums:
    """For the losses shift * (2 y - shift) / (2 variance), y = first, first + 1, ..."""

    first: int
    level: Floats
    rise: Floats


_Residues: TypeAlias = tuple[int, Floats, Floats, Floats]

_SUMS: Shelf[_Sums] = Shelf(16 * MEGABYTE, weigh=lambda sums: sums.level.nbytes + sums.rise.nbytes)
_RESIDUES: Shelf[_Residues] = Shelf(
    16 * MEGABYTE, weigh=lambda found: sum(array.nbytes for array in found[1:])
)


def scalar_deltas(variance: Fraction, shift: int, epsilons: Floats) -> Floats:
    """Return the profile of noise on one integer at each epsilon that is not negative.

    Guarantee:
        Neighbours: any change that moves the integer by at most ``shift``.
        Loss: the least delta for each epsilon, up to a variance of 2**22; beyond it a bound that
            is above it by about epsilon / (24 variance) relatively.
        Numerics: doubles, off by less than 2**-36 relatively as long as they are normal.
        Proof: docs/proofs/gaussian.md, theorems 3 and 5; docs/proofs/leaves.md, theorem 11.
    """
    if variance > WIDEST_SUMMED:
        return any_lattice_deltas(variance, shift * shift, epsilons)
    return _summed(variance, shift, epsilons)


def _summed(variance: Fraction, shift: int, epsilons: Floats) -> Floats:
    sums = _sums(variance, shift)
    scale, half = float(shift / variance), shift / 2
    place = np.floor(np.minimum(epsilons / scale + half, 2.0**52)).astype(np.int64) + 1
    index = np.clip(place - sums.first, 0, sums.level.size - 1)
    gap = np.maximum((index + sums.first - half) * scale - epsilons, 0.0)
    found: Floats = sums.level[index] - sums.rise[index] * np.expm1(-gap)
    return found


@kept_on(_SUMS)
def _sums(variance: Fraction, shift: int) -> _Sums:
    first = shift // 2 + 1
    reach = math.ceil(_REACH * math.sqrt(variance)) + 3
    away = np.arange(first - shift, reach + 1, dtype=np.float64)
    # The sum is at least as large as stated, so that the probabilities are off by one rounding.
    mass = np.exp(-away * away / float(2 * variance)) / round_up(lambda: total(variance))
    fall, kept = math.exp(-shift / variance), -math.expm1(-shift / variance)
    level, rise = np.zeros(mass.size + 1), np.zeros(mass.size + 1)
    above, steep = 0.0, 0.0
    for place in range(mass.size - 1, -1, -1):
        above += steep * kept
        steep = mass[place] + fall * steep
        level[place], rise[place] = above, steep
    return _Sums(first, level, rise)


def fine_deltas(variance: Fraction, norm: int, coordinates: int, epsilons: Floats) -> Floats:
    """Bound the profile of noise on a grid so fine that it is nearly continuous.

    Guarantee:
        Neighbours: any change that moves at most ``coordinates`` integers by a squared L2 norm of
            at most ``norm``.
        Loss: a delta for each epsilon that is not negative, 2**-60 above that of real noise; 1.0
            where this is not proved.
        Numerics: doubles, off by less than 2**-36 relatively.
        Proof: docs/proofs/gaussian.md, theorem 6.
    """
    ratio = norm / variance
    if variance < FINE or coordinates > MOST_COORDINATES or ratio > _FARTHEST_FINE:
        return np.ones(epsilons.shape)
    return np.minimum(normal_deltas(ratio, epsilons) + float(_FINE_ERROR), 1.0)


def wide_deltas(variance: Fraction, norm: int, epsilons: Floats) -> Floats:
    """Bound the profile for shifts of any number of coordinates, for wide noise.

    Guarantee:
        Neighbours: any change that moves a vector of integers by a squared L2 norm of at most
            ``norm``.
        Loss: a delta for each epsilon that is not negative; 1.0 for noise that is not wide.
        Numerics: doubles, off by less than 2**-36 relatively as long as they are normal.
        Proof: docs/proofs/gaussian.md, theorem 5.
    """
    if 2 * variance < norm or norm < 2:
        return np.ones(epsilons.shape)
    factor = round_up(lambda: _unevenness(variance, norm))
    if variance >= WIDE:
        found = any_lattice_deltas(variance, norm, epsilons)
    else:
        spacings = [g for g in range(1, math.isqrt(norm) + 1) if norm % (g * g) == 0]
        found = np.maximum.reduce(
            [_summed(variance * norm / (g * g), norm // g, epsilons) for g in spacings]
        )
    return np.minimum(factor * found, 1.0)


def listed_deltas(variance: Fraction, norm: int, epsilons: Floats) -> Floats:
    """Return the profile for shifts of any number of coordinates, by listing all of them.

    Guarantee:
        Neighbours: any change that moves a vector of integers by a squared L2 norm of at most
            ``norm``, which is at most 64.
        Loss: the least delta for each epsilon that is not negative; 1.0 unless the variance is
            from 1/8 to 256.
        Numerics: sums of positive doubles, raised by a relative 1e-10 and by 1e-40, which is more
            than their error.
        Proof: docs/proofs/gaussian.md, theorem 4.
    """
    if not NARROWEST_LISTED <= variance <= WIDEST_LISTED or not 1 <= norm <= LARGEST_LISTED:
        return np.ones(epsilons.shape)
    lowest, level, rise, rows = _by_residue(variance, norm)
    found = np.empty(epsilons.shape)
    for start in range(0, epsilons.size, _ROWS):
        block = epsilons[start : start + _ROWS, None]
        first = np.floor(block * float(variance) - norm / 2).astype(np.int64) + 1
        place = first + (np.arange(norm) - first) % norm  # the least of each residue from there on
        index = np.minimum(place - lowest, level.size - 1)
        gap = np.maximum((2 * place + norm) / float(2 * variance) - block, 0.0)
        gains = level[index] - rise[index] * np.expm1(-gap)
        found[start : start + _ROWS] = (gains @ rows).max(axis=1)
    return np.minimum(found * _MARGIN + _LEFT_OUT, 1.0)


@kept_on(_RESIDUES)
def _by_residue(variance: Fraction, norm: int) -> _Residues:
    """Return, for each s, the sums over its residue modulo norm; and how often each occurs."""
    spread = float(variance * norm)
    reach = (math.isqrt(math.ceil(2 * _LISTED_REACH * spread)) // norm + 2) * norm
    s = np.arange(-reach, reach)
    mass = np.exp(-(s * s) / (2 * spread)).reshape(-1, norm)
    mass /= mass.sum(axis=0)
    fall, kept = math.exp(-norm / variance), -math.expm1(-norm / variance)
    level, rise = np.zeros((mass.shape[0] + 1, norm)), np.zeros((mass.shape[0] + 1, norm))
    for block in range(mass.shape[0] - 1, -1, -1):
        level[block] = level[block + 1] + rise[block + 1] * kept
        rise[block] = mass[block] + fall * rise[block + 1]
    return -reach, level.ravel(), rise.ravel(), _residues(float(variance), norm).T
