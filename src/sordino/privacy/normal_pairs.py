# SPDX-License-Identifier: Apache-2.0
"""Losses as pairs of normal laws: Gaussian differential privacy, whose squares of mu add up.

A loss is mu-GDP if it is no easier to tell two neighbours apart than N(0, 1) and N(mu, 1).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist
from typing import cast

from sordino.numbers.balls import Ball, ball, is_positive
from sordino.numbers.normal import tail, total, upper_mass
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.gaussian import ContinuousGaussian
from sordino.privacy.leaf import Leaf
from sordino.privacy.loss import Loss

_STANDARD = NormalDist()
_NONE = Fraction(0)
_WIDEST = 4  # squared sensitivity over variance, beyond which no price is known for the lattice
_LARGEST_SQUARE = Fraction(25, 4)  # of a mu for which so few failures are enough
_REACH = 12  # standard deviations, within which lattices are compared with the normal law
_BEYOND = Fraction(1, 10**21)  # the probability to fail of each coordinate that moves
_WIDE = 1 << 20  # variance from which on they are compared within 20, since many coordinates move
_FAR_BEYOND = Fraction(1, 10**69)
_LISTED = 1 << 14  # variance up to which every point within reach is looked at
_SURCHARGE = 15  # over the variance: what the step of a wider lattice is too long by, at most
_WIDE_SURCHARGE = 40  # the same, within 20 standard deviations
_MARGIN = 2.0**-36
_TRIES = 12
_WIDEST_HALF = 30.0  # of a mu: half of it, beyond which no epsilon is looked for
_SURE_DIGITS = 9  # of an epsilon that are right in any case
_SMALL, _LARGE = 1e-4, 700.0  # epsilons between which doubles give the quantile of a response
_KEPT = 1024


def squared_mu(loss: object) -> tuple[Fraction, Fraction] | None:
    """Return the square of a mu for which a loss is mu-GDP unless it fails, and how often it fails.

    None if no mu is known. Gaussian noise has its own mu, up to a little for the lattice; the
    exponential mechanism has half of that of a pure loss, nearly, and whatever else has a largest
    loss has a mu that follows from it.

    >>> from sordino.privacy import losses
    >>> squared_mu(2 * losses.gaussian(sigma=10))
    (Fraction(1, 50), Fraction(0, 1))
    >>> squared_mu(losses.concentrated(rho=1)) is None
    True

    Guarantee:
        Neighbours: those of the loss.
        Loss: the laws for two neighbours are P = (1 - d) P' + d P'' and Q = (1 - d) Q' + d Q'',
            where d is at most the second number and P' and Q' are mu-GDP, both ways round.
        Numerics: fractions, rounded up; certified by balls.
        Proof: docs/proofs/budgets.md, theorems 8 to 11.
    """
    square, failures = _NONE, _NONE
    for leaf, times in loss.parts if isinstance(loss, Loss) else ((cast("Leaf", loss), 1),):
        one = _of_leaf(leaf)
        if one is None:
            return None
        square, failures = square + times * one[0], failures + times * one[1]
    return square, failures


def _of_leaf(leaf: Leaf) -> tuple[Fraction, Fraction] | None:
    if isinstance(leaf, ContinuousGaussian):
        return leaf.squared_sensitivity / leaf.variance, _NONE
    if isinstance(leaf, DiscreteGaussian):
        norm, variance = leaf.squared_sensitivity, leaf.variance
        if norm > _WIDEST * variance:
            return None
        square = norm * squared_step(variance)
        if square > _LARGEST_SQUARE:
            return None
        moved = norm if leaf.coordinates is None else min(norm, leaf.coordinates)
        return square, moved * (_FAR_BEYOND if variance >= _WIDE else _BEYOND)
    if isinstance(leaf, BoundedRange):
        return _squared_from_pure(leaf.bound / 2), _NONE
    pure = leaf.pure
    return None if pure is None else (_squared_from_pure(pure), _NONE)


@lru_cache(maxsize=_KEPT)
def squared_step(variance: Fraction) -> Fraction:
    """Return the square of a mu for discrete Gaussian noise that moves by one step.

    >>> round(float(squared_step(Fraction(100)) * 100), 4)  # 1 if the noise were continuous
    1.0008

    Guarantee:
        Neighbours: two that move the noise by one step; k steps have k times this mu.
        Loss: every test by a threshold within 12 standard deviations, or 20 where the variance
            is at least 2**20, has at most the power that it has between N(0, 1) and N(mu, 1).
        Numerics: every threshold was compared with certified balls, or a proved surcharge is added.
        Proof: docs/proofs/budgets.md, theorem 10.
    """
    if variance >= _LISTED:
        surcharge = _WIDE_SURCHARGE if variance >= _WIDE else _SURCHARGE
        return (1 + surcharge / variance) ** 2 / variance
    last = _reach(variance)
    quantiles = _quantiles(variance, last)
    margin = Fraction(_MARGIN)
    for _ in range(_TRIES):
        if _are_certain(variance, quantiles, margin):
            steps = [b - a + 2 * margin for a, b in pairwise(quantiles)]
            return max(2 * (quantiles[0] + margin), *steps) ** 2
        margin *= 16
    raise ArithmeticError(f"the steps of noise of variance {float(variance):g} stay uncertain")


def _reach(variance: Fraction) -> int:
    """Return the first integer that is no less than so many standard deviations."""
    return math.isqrt(math.ceil(_REACH**2 * variance)) + 1


def _quantiles(variance: Fraction, last: int) -> list[Fraction]:
    """Return about the z for which N(0, 1) exceeds z as often as the noise is n or more.

    They are for n = 1, ..., last + 1.
    """
    width = 2 * float(variance)
    far = last + 1 + math.isqrt(math.ceil(80 * variance)) + 2
    weights = [math.exp(-n * n / width) for n in range(far + 1)]
    whole = 2 * math.fsum(weights) - 1
    found, beyond = [], 0.0
    for n in range(far, 0, -1):
        beyond += weights[n]
        if n <= last + 1:
            found.append(Fraction(-_STANDARD.inv_cdf(beyond / whole)))
    return found[::-1]


def _are_certain(variance: Fraction, quantiles: list[Fraction], margin: Fraction) -> bool:
    """Tell whether each quantile is off by less than a margin."""

    def worst() -> Ball:
        whole, beyond = total(variance), tail(variance, len(quantiles) + 1)
        for n in range(len(quantiles), 0, -1):
            beyond += (-ball(Fraction(n * n) / (2 * variance))).exp()
            mass, z = beyond / whole, quantiles[n - 1]
            below = upper_mass(ball(z - margin)) / mass - 1
            above = 1 - upper_mass(ball(z + margin)) / mass
            for gap in (below, above):
                if not gap > 0:
                    return gap
        return ball(1)

    return is_positive(worst)


@lru_cache(maxsize=_KEPT)
def largest_pure(square: Fraction) -> Fraction:
    """Return nearly the largest epsilon whose square of a mu is at most this.

    >>> float(largest_pure(Fraction(1)))
    0.8069653455

    Guarantee:
        Neighbours: those of the loss.
        Loss: whatever is private with this epsilon is mu-GDP, where mu is the root of the square.
        Numerics: the square that follows from the epsilon is certified by balls and compared.
        Proof: docs/proofs/budgets.md, theorem 9.
    """
    half = min(math.sqrt(square) / 2, _WIDEST_HALF)
    if half < _SMALL:
        rough = half * math.sqrt(8 / math.pi)
    else:
        above = math.erfc(half / math.sqrt(2)) / 2
        rough = math.log1p(-above) - math.log(above)
    for attempt in range(_TRIES):
        epsilon = Fraction(f"{rough * (1 - 10.0 ** (attempt - _SURE_DIGITS)):.9e}")
        if _squared_from_pure(epsilon) <= square:
            return epsilon
    raise ArithmeticError(f"no epsilon was found for the square {float(square):g} of a mu")


@lru_cache(maxsize=_KEPT)
def _squared_from_pure(epsilon: Fraction) -> Fraction:
    """Return the square of a mu for which whatever is epsilon-private is mu-GDP."""
    if epsilon == 0:
        return _NONE
    rough = float(epsilon)
    if rough < _SMALL:
        half = rough * math.sqrt(math.pi / 8)
    elif rough < _LARGE:
        half = -_STANDARD.inv_cdf(1 / (1 + math.exp(rough)))
    else:
        half = math.sqrt(2 * rough)
    for attempt in range(_TRIES):
        mu = Fraction(half) * (1 + Fraction(4**attempt, 1 << 40))

        def excess(mu: Fraction = mu) -> Ball:
            return 1 / (1 + ball(epsilon).exp()) - upper_mass(ball(mu))

        if is_positive(excess):
            return 4 * mu * mu
    raise ArithmeticError(f"no mu was found for epsilon {rough:g}")
