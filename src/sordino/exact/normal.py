# SPDX-License-Identifier: Apache-2.0
"""Certified sums of exp(-n*n / (2 variance)) over integers, and the same on the real line.

``tail`` adds up the terms one by one while they are few and uses the Euler-Maclaurin formula with
a proved remainder when they are many; docs/proofs/gaussian.md derives it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.exact.balls import Ball, ball, bits, pi

WIDE = Fraction(4096)  # variance from which sums are replaced by integrals with corrections
FARTHEST = 40  # standard deviations; exp(-40**2 / 2) is less than every positive double
_BERNOULLI = (Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66))
_ORDER = 2 * len(_BERNOULLI)


def total(variance: Fraction) -> Ball:
    """Return the sum over all integers."""
    if variance < 1:
        return 1 + 2 * tail(variance, 1)
    # Poisson summation turns the sum into one over the frequencies, which fall off at once.
    ratio = (-2 * pi() * pi() * ball(variance)).exp()
    terms = 1 + 2 * (ratio + ratio**4)
    rest = 3 * ratio**9
    return (2 * pi() * ball(variance)).sqrt() * terms.union(terms + rest)


def tail(variance: Fraction, start: int) -> Ball:
    """Return the sum over all integers from ``start`` on."""
    if start <= 0:
        return total(variance) - tail(variance, 1 - start)
    if start * start > FARTHEST**2 * max(variance, Fraction(1)):
        return _far_tail(variance, start)
    return _direct_tail(variance, start) if variance < WIDE else _wide_tail(variance, start)


def _far_tail(variance: Fraction, start: int) -> Ball:
    """Bound the sum between its first term and a geometric series."""
    first = (-ball(Fraction(start * start) / (2 * variance))).exp()
    ratio = (-ball(Fraction(2 * start + 1) / (2 * variance))).exp()
    return first.union(first / (1 - ratio))


def _direct_tail(variance: Fraction, start: int) -> Ball:
    """Add the terms until the rest is below the precision; the rest is at most geometric."""
    reach = math.isqrt(start * start + int(2 * variance * bits()) + 1) + 2
    term = (-ball(Fraction(start * start) / (2 * variance))).exp()
    ratio = (-ball(Fraction(2 * start + 1) / (2 * variance))).exp()
    step = (-ball(1 / variance)).exp()
    result = term * 0
    for _ in range(reach - start):
        result += term
        term *= ratio
        ratio *= step
    return result.union(result + term / (1 - ratio))


def _wide_tail(variance: Fraction, start: int) -> Ball:
    """Apply the Euler-Maclaurin formula up to the ninth derivative."""
    sigma = ball(variance).sqrt()
    at = start / sigma
    first = (-at * at / 2).exp()
    hermite = [1 + 0 * at, at]
    for n in range(1, _ORDER):
        hermite.append(at * hermite[n] - n * hermite[n - 1])
    result = sigma * (pi() / 2).sqrt() * (at / ball(2).sqrt()).erfc() + first / 2
    for j, number in enumerate(_BERNOULLI, 1):
        weight = ball(number / math.factorial(2 * j))
        result += weight * sigma ** (1 - 2 * j) * hermite[2 * j - 1] * first
    weight = ball(abs(_BERNOULLI[-1]) / math.factorial(_ORDER))
    rest = weight * sigma ** (1 - _ORDER) * hermite_tail(_ORDER, at)
    return (result - rest).union(result + rest)


def hermite_tail(order: int, start: Ball) -> Ball:
    """Bound the integral of abs(He_order(u)) exp(-u*u / 2) over u >= start, for start >= 0.

    Any z > 0 gives a bound; this one is nearly the best.
    """
    rough = float(start.mid())
    z = ball(Fraction((math.sqrt(rough * rough + 4 * order) - rough) / 2))
    growth = math.factorial(order) / z**order * (z * z).exp()
    return growth * (pi() / 2).sqrt() * ((start - z) / ball(2).sqrt()).erfc()


def hockey_stick(ratio: Fraction, epsilon: Fraction) -> Ball:
    """Return the profile of N(0, 1) against N(mu, 1) at epsilon, where mu squared is ``ratio``."""
    mu = ball(ratio).sqrt()
    centre = ball(epsilon) / mu
    return upper_mass(centre - mu / 2) - ball(epsilon).exp() * upper_mass(centre + mu / 2)


def upper_mass(x: Ball) -> Ball:
    """Return the probability that a standard normal variable exceeds ``x``."""
    return (x / ball(2).sqrt()).erfc() / 2
