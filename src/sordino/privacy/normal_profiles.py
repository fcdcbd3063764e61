# SPDX-License-Identifier: Apache-2.0
"""Profiles of Gaussian noise at many epsilons at once, without cancellation far out.

With z = epsilon / mu - mu / 2, the density f and the ratio R(z) = P(X > z) / f(z), the profile is
f(z) (R(z) - R(z + mu)). The two ratios are nearly equal where the noise is wide; then their
difference is taken as the integral of -R', which is 1 - z R(z) and positive.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sordino.privacy.leaf import Floats

_ROOT_TWO = math.sqrt(2)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_FARTHEST = 100.0  # standard deviations; the density there is no double
_NARROW, _WIDE = 0.5, 0.05  # mu up to which 6 and 3 points of Gauss's rule are enough
_FEW, _MORE = np.polynomial.legendre.leggauss(3), np.polynomial.legendre.leggauss(6)


def normal_deltas(ratio: Fraction, epsilons: Floats) -> Floats:
    """Return the profile of real Gaussian noise at each epsilon that is not negative.

    Guarantee:
        Neighbours: any change that moves a vector of reals by a squared L2 norm of at most
            ``ratio`` times the variance.
        Loss: the least delta for each epsilon.
        Numerics: doubles, off by less than 2**-36 relatively as long as they are normal.
        Proof: docs/proofs/gaussian.md, theorem 1; docs/proofs/leaves.md, theorem 11.
    """
    from scipy.special import ndtr  # takes long to load, which only accounting should pay

    mu = math.sqrt(ratio)
    at = _places(mu, epsilons)
    if mu <= _NARROW:
        points, weights = _FEW if mu <= _WIDE else _MORE
        inside = np.zeros(at.shape)
        for point, weight in zip(points, weights, strict=True):
            z = at + mu * (1 + point) / 2
            inside += weight / 2 * (1 - z * _ratio(z))
        narrow: Floats = _height(at) / _ROOT_TWO_PI * (mu * inside)
        return narrow
    near = np.maximum(at, 0.0)
    ahead = _height(near) * (_ratio(near) - _ratio(near + mu))
    behind = ndtr(-at) * _ROOT_TWO_PI - _height(at) * _ratio(at + mu)
    found: Floats = np.where(at >= 0, ahead, behind) / _ROOT_TWO_PI
    return found


def any_lattice_deltas(variance: Fraction, norm: int, epsilons: Floats) -> Floats:
    """Bound the profile on every lattice that is no coarser than the integers, at any offset.

    Guarantee:
        Neighbours: any change that moves a value on the lattice by sqrt(norm), where the noise on
            it is a Gaussian of this variance, at least 4096.
        Loss: a delta for each epsilon, above that of real noise by about epsilon / (24 variance).
        Numerics: doubles, off by less than 2**-36 relatively as long as they are normal.
        Proof: docs/proofs/gaussian.md, theorem 5.
    """
    mu, sigma = math.sqrt(norm / variance), math.sqrt(variance)
    at = _places(mu, epsilons)
    height = _height(at)
    ends = np.where(at >= 0, _third_tail(np.maximum(at, 0.0)) * height, 2 * _third_tail(0.0 * at))
    ends += _third_tail(at + mu) * height
    third = math.sqrt(3) / 216
    excess = height * mu / 24 + third * (2 * epsilons * height + ends) / sigma
    found: Floats = normal_deltas(norm / variance, epsilons) + excess / (
        float(variance) * _ROOT_TWO_PI
    )
    return found


def normal_reach(ratio: Fraction, tail: float) -> float:
    """Return an epsilon at which the profile of Gaussian noise is below ``tail``."""
    mu = math.sqrt(ratio)
    return mu * mu / 2 + mu * math.sqrt(2 * max(-math.log(tail), 0.0))


def _places(mu: float, epsilons: Floats) -> Floats:
    found: Floats = np.minimum(epsilons / mu, _FARTHEST + mu / 2) - mu / 2
    return found


def _height(z: Floats) -> Floats:
    found: Floats = np.exp(-z * z / 2)
    return found


def _ratio(z: Floats) -> Floats:
    """Return the probability beyond z over the density at z."""
    from scipy.special import erfcx  # takes long to load, which only accounting should pay

    found: Floats = _ROOT_HALF_PI * erfcx(z / _ROOT_TWO)
    return found


def _third_tail(start: Floats) -> Floats:
    """Bound the integral of abs(u**3 - 3 u) exp(-u*u / 2) over u >= start, over exp(-start**2 / 2).

    Any z > 0 gives a bound; this one is nearly the best.
    """
    z = 6 / (np.sqrt(start * start + 12) + start)
    found: Floats = 6 / z**3 * np.exp(z * z / 2 + start * z) * _ratio(start - z)
    return found
