# SPDX-License-Identifier: Apache-2.0
"""Profiles of discrete Gaussian noise on vectors: one epsilon certified, or many at once.

Between two losses of the lattice a profile is linear in e^epsilon. So for many epsilons two sums
are kept for each loss: the profile at it, and how steeply it rises towards smaller epsilons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.numbers.balls import Ball, ball, pi, round_up
from sordino.numbers.normal import WIDE, hermite_tail, hockey_stick, tail, total
from sordino.privacy.gaussian import any_lattice_deltas, normal_deltas
from sordino.privacy.leaf import Floats

LARGEST_LISTED = 64  # squared sensitivity up to which all shifts are listed
NARROWEST_LISTED = Fraction(1, 8)  # variances for which they are
WIDEST_LISTED = Fraction(256)
FINE = Fraction(2) ** 80  # variance from which the grid is as good as the real line
MOST_COORDINATES = 2**16
_FINE_ERROR = Fraction(1, 2**60)
_FARTHEST_FINE = 2**20  # squared sensitivity over variance
_REACH = 100.0  # terms below exp(-100) are left out, and bounded by _LEFT_OUT
_LEFT_OUT = 1e-40
_MARGIN = 1 + 1e-10
WIDEST_SUMMED = Fraction(2) ** 22  # variance up to which the terms of one integer are added up
_SUMMED_REACH = 40.0  # standard deviations; the terms beyond are no doubles
_ROWS = 4096
_Residues: TypeAlias = tuple[int, Floats, Floats, Floats]
_SUMS: Shelf[_Sums] = Shelf(16 * MEGABYTE, weigh=lambda sums: sums.level.nbytes + sums.rise.nbytes)
_RESIDUES: Shelf[_Residues] = Shelf(
    16 * MEGABYTE, weigh=lambda found: sum(array.nbytes for array in found[1:])
)


def scalar_delta(*, variance: Fraction, shift: int, epsilon: Fraction) -> float:
    """Return the profile of discrete Gaussian noise on one integer.

    Guarantee:
        Neighbours: any change that moves the integer by at most ``shift``.
        Loss: the least delta for this epsilon.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/gaussian.md, theorem 3 (Canonne, Kamath, Steinke 2020, theorem 7).
    """
    return round_up(lambda: _scalar(variance, shift, epsilon))


def _scalar(variance: Fraction, shift: int, epsilon: Fraction) -> Ball:
    first = math.floor(epsilon * variance / shift + Fraction(shift, 2)) + 1
    near, far = tail(variance, first - shift), tail(variance, first)
    return (near - ball(epsilon).exp() * far) / total(variance)


def fine_delta(
    *, variance: Fraction, squared_sensitivity: int, coordinates: int, epsilon: Fraction
) -> float:
    """Return a bound on the profile of noise on a grid so fine that it is nearly continuous.

    Guarantee:
        Neighbours: any change that moves at most ``coordinates`` integers by a squared L2 norm of
            at most ``squared_sensitivity``.
        Loss: a delta for this epsilon, 2**-60 above that of real noise; 1.0 unless the variance is
            at least 2**80, the coordinates at most 2**16 and the norm at most 2**10 sigma.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/gaussian.md, theorem 6.
    """
    ratio = squared_sensitivity / variance
    if variance < FINE or coordinates > MOST_COORDINATES or ratio > _FARTHEST_FINE:
        return 1.0
    return min(round_up(lambda: hockey_stick(ratio, epsilon) + ball(_FINE_ERROR)), 1.0)


def wide_delta(*, variance: Fraction, squared_sensitivity: int, epsilon: Fraction) -> float:
    """Return a bound on the profile for shifts of any number of coordinates, for wide noise.

    Guarantee:
        Neighbours: any change that moves a vector of integers by a squared L2 norm of at most
            ``squared_sensitivity``.
        Loss: a delta for this epsilon. It is close to the least one when the variance is larger
            than the squared sensitivity, and 1.0 when it is much smaller.
        Numerics: rounded up, from certified balls.
        Proof: docs/proofs/gaussian.md, theorems 4 and 5.
    """
    norm = squared_sensitivity
    if 2 * variance < norm or norm < 2:
        return 1.0
    if variance >= WIDE:

        def bound() -> Ball:
            return _unevenness(variance, norm) * _any_spacing(variance, norm, epsilon)

        return min(round_up(bound), 1.0)
    spacings = [g for g in range(1, math.isqrt(norm) + 1) if norm % (g * g) == 0]

    def one(g: int) -> float:
        spread, shift = variance * norm / (g * g), norm // g
        return round_up(lambda: _unevenness(variance, norm) * _scalar(spread, shift, epsilon))

    return min(max(map(one, spacings)), 1.0)


def _unevenness(variance: Fraction, norm: int) -> Ball:
    """Bound how much more often than on average a residue of k.x modulo norm occurs."""
    angle = pi() / (ball(norm).sqrt() if norm > 4 else 2)
    decay = (-(2 * ball(variance) - ball(Fraction(1, 2))) * angle.sin() ** 2).exp()
    wave = (-2 * pi() * pi() * ball(variance / norm)).exp()
    ripple = 2 * wave / (1 - wave)
    return (1 + (norm - 1) * decay) * (1 + ripple) / (1 - ripple)


def _any_spacing(variance: Fraction, norm: int, epsilon: Fraction) -> Ball:
    """Bound the profile on every lattice that is no coarser than the integers, at any offset."""
    sigma, mu, price = ball(variance).sqrt(), ball(norm / variance).sqrt(), ball(epsilon)
    start = price / mu - mu / 2
    height = (-start * start / 2).exp()
    ends = hermite_tail(3, start) if start >= 0 else 2 * hermite_tail(3, 0 * start)
    ends += price.exp() * hermite_tail(3, start + mu)
    third = ball(3).sqrt() / 216
    excess = height * mu / 24 + third * (2 * price * height + ends) / sigma
    return hockey_stick(norm / variance, epsilon) + excess / (ball(variance) * (2 * pi()).sqrt())


def listed_delta(*, variance: Fraction, squared_sensitivity: int, epsilon: Fraction) -> float:
    """Return the profile for shifts of any number of coordinates, by listing all of them.

    Guarantee:
        Neighbours: any change that moves a vector of integers by a squared L2 norm of at most
            ``squared_sensitivity``, which is at most 64.
        Loss: the least delta for this epsilon; 1.0 unless the variance is from 1/8 to 256.
        Numerics: sums of positive doubles, then raised by a relative 1e-10 and by 1e-40; the
            comment below shows that this is more than their error.
        Proof: docs/proofs/gaussian.md, theorem 4.
    """
    # Errors. Exponents are below 700 for s, below 150 for x, and take at most four roundings, so
    # terms are off by a relative 4e-13 and 6e-14, the last places of exp and expm1 included. Sums
    # of n positive doubles add n * 2**-53, and n < 4000 here: 5e-13. So the gains are off by less
    # than 2e-12. A residue of up to 64 coordinates is a product of as many quotients of such
    # sums, with 64 additions each: 64 * (2 * 6e-13 + 64 * 2**-53) < 8e-11. All is below 1e-10.
    # The terms left out of one coordinate have a mass below 1e-42, and so have those left out of
    # the gain of one residue, because s reaches a whole period further: all 65 are below 1e-40.
    norm = squared_sensitivity
    if not NARROWEST_LISTED <= variance <= WIDEST_LISTED or not 1 <= norm <= LARGEST_LISTED:
        return 1.0
    spread, start = variance * norm, epsilon * variance - Fraction(norm, 2)
    first = math.floor(start) + 1
    reach = math.isqrt(math.ceil(2 * _REACH * spread)) + norm
    s = np.arange(-reach, reach + 1)
    weight = np.exp(-(s * s) / float(2 * spread))
    ahead = float(first - start) + np.maximum(s - first, 0)
    gain = np.where(s >= first, -np.expm1(-ahead / float(variance)), 0.0)
    gains = np.bincount(s % norm, weight * gain, norm) / np.bincount(s % norm, weight, norm)
    worst = float((_residues(float(variance), norm) @ gains).max())
    return min(worst * _MARGIN + _LEFT_OUT, 1.0)


def _residues(variance: float, norm: int) -> Floats:
    """Return how often k.x has each residue modulo norm; a row for each k of that length."""
    reach = math.isqrt(math.ceil(2 * _REACH * variance)) + 1
    x = np.arange(-reach, reach + 1)
    weight = np.exp(-(x * x) / (2 * variance))
    weight /= weight.sum()
    turn = (np.arange(norm)[:, None] - np.arange(norm)) % norm

    def moves(k: int) -> Floats:
        """Return the matrix that adds one coordinate which moves by k."""
        matrix: Floats = np.bincount(k * x % norm, weight, norm)[turn]
        return matrix

    start = np.zeros(norm)
    start[0] = 1.0
    rows = [(norm, start)]
    for k in range(math.isqrt(norm), 1, -1):
        matrix, longer = moves(k), []
        for rest, row in rows:
            left, grown = rest, row
            while left >= 0:
                longer.append((left, grown))
                left, grown = left - k * k, matrix @ grown
        rows = longer
    # What is left of the length is filled with coordinates that move by one: see the proof.
    powers, matrix = [np.eye(norm)], moves(1)
    for _ in range(norm):
        powers.append(matrix @ powers[-1])
    return np.array([powers[rest] @ row for rest, row in rows])


@dataclass(frozen=True, slots=True)
class _Sums:
    """For the losses shift * (2 y - shift) / (2 variance), y = first, first + 1, ..."""

    first: int
    level: Floats
    rise: Floats


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
    reach = math.ceil(_SUMMED_REACH * math.sqrt(variance)) + 3
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
    reach = (math.isqrt(math.ceil(2 * _REACH * spread)) // norm + 2) * norm
    s = np.arange(-reach, reach)
    mass = np.exp(-(s * s) / (2 * spread)).reshape(-1, norm)
    mass /= mass.sum(axis=0)
    fall, kept = math.exp(-norm / variance), -math.expm1(-norm / variance)
    level, rise = np.zeros((mass.shape[0] + 1, norm)), np.zeros((mass.shape[0] + 1, norm))
    for block in range(mass.shape[0] - 1, -1, -1):
        level[block] = level[block + 1] + rise[block + 1] * kept
        rise[block] = mass[block] + fall * rise[block + 1]
    return -reach, level.ravel(), rise.ravel(), _residues(float(variance), norm).T
