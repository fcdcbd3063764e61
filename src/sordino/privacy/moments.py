# SPDX-License-Identifier: Apache-2.0
"""Divergences from profiles: every one of them is an integral of both profiles of a pair.

With H the profile of (P, Q) and G that of (Q, P), as functions of epsilon,

    E_Q (P/Q)**t - 1 = t (t - 1) times the integral of e^((t-1) a) H(a) + e^(-t a) G(a)

over a >= 0, and this integral at t = 1 is the Kullback-Leibler divergence. Between the points of a
table a profile lies below its chord in e^a, so the integral of the chords is a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino.privacy.leaf import Floats
from sordino.privacy.profiles import Curve

_NODES = 1 << 14
_NEAREST = 1e-14  # of the whole range: where the points begin to be close
_STEEPEST = 1.0  # largest change of the exponent inside a cell
_MARGIN = 1 + 2.0**-32  # more than the errors of profiles, quadrature and sums
_GAUSS = np.polynomial.legendre.leggauss(5)


@dataclass(frozen=True, slots=True)
class Table:
    """A profile at points from 0 to the largest loss, close to each other near 0.

    Guarantee: none by itself; ``weighted`` says what it bounds.
    """

    points: Floats
    values: Floats

    @property
    def top(self) -> float:
        """The last point."""
        return float(self.points[-1])

    @property
    def rest(self) -> float:
        """The profile at the last point."""
        return float(self.values[-1])


def tabulate(profile: Curve, top: float) -> Table:
    """Return a profile at many points from 0 to ``top``."""
    points = np.concatenate([[0.0], np.geomspace(_NEAREST * top, top, _NODES)])
    return Table(points, profile(points))


def weighted(table: Table, rate: float) -> float:
    """Return a bound on the integral of e^(rate a) times the profile, over the table.

    Guarantee:
        Neighbours: those of the profile.
        Loss: a bound from above, infinite where ``rate`` is too large for the table.
        Numerics: doubles, raised by a relative 2**-32, which is more than their error.
        Proof: docs/proofs/leaves.md, theorem 9.
    """
    points, values = table.points, table.values
    gaps = np.diff(points)
    if rate * float(gaps.max()) > _STEEPEST or rate * table.top > 700:
        return math.inf
    total = 0.0
    for at, weight in zip(*(side.tolist() for side in _GAUSS), strict=True):
        share = (1 + at) / 2
        chord = np.expm1(-share * gaps) / np.expm1(-gaps)  # how far back from the right, in e^a
        inside = values[1:] + (values[:-1] - values[1:]) * chord
        total += weight / 2 * float((gaps * np.exp(rate * (points[1:] - share * gaps))) @ inside)
    return total * _MARGIN
