# SPDX-License-Identifier: Apache-2.0
"""Certified sums of exp(-n*n / (2 variance)) over integers, and the same on the real line.

``mean_size`` and ``second_moment`` are those of the law with these weights. ``tail`` adds up the
terms one by one while they are few and uses the Euler-Maclaurin formula with a proved remainder
when they are many; docs/proofs/gaussian.md derives it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.numbers.balls import Ball, ball, bits, pi

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


def mean_size(variance: Fraction) -> Ball:
    """Return the mean of abs(x) under the law with these weights."""
    if variance >= WIDE:
        return 2 * _wide_sum(variance) / total(variance)
    return 2 * _moment_sum(variance, 1) / total(variance)


def second_moment(variance: Fraction) -> Ball:
    """Return the mean of x*x under the law with these weights; it is at most the variance."""
    if variance >= 1:
        # The derivative of Poisson's formula; the terms that are left out are far below these.
        ratio = (-2 * pi() * pi() * ball(variance)).exp()
        terms = ratio + 4 * ratio**4
        missing = terms.union(terms + 10 * ratio**9)
        whole = 1 + 2 * (ratio + ratio**4)
        share = 8 * pi() * pi() * ball(variance) * missing / whole.union(whole + 3 * ratio**9)
        return ball(variance) * (1 - share)
    return 2 * _moment_sum(variance, 2) / total(variance)


def _moment_sum(variance: Fraction, power: int) -> Ball:
    """Add n**power exp(-n*n / (2 variance)) over n >= 1 until the rest is below the precision."""
    reach = math.isqrt(int(2 * variance * bits()) + 1) + 2
    result = ball(0)
    for n in range(1, reach):
        result += n**power * (-ball(Fraction(n * n) / (2 * variance))).exp()
    # From here on each term is the one before times at most this ratio, which falls with n.
    first = reach**power * (-ball(Fraction(reach * reach) / (2 * variance))).exp()
    step = (-ball(Fraction(2 * reach + 1) / (2 * variance))).exp()
    ratio = ball(Fraction(reach + 1, reach) ** power) * step
    return result.union(result + first / (1 - ratio))


def _wide_sum(variance: Fraction) -> Ball:
    """Sum n exp(-n*n / (2 variance)) over n >= 0 by the Euler-Maclaurin formula.

    The derivatives at 0 of x exp(-x*x / (2 variance)) are Hermite numbers: 1, -3 / variance, ...
    """
    sigma, zero = ball(variance).sqrt(), ball(0)
    result, number = ball(variance), 1
    for j, bernoulli in enumerate(_BERNOULLI, 1):
        result -= ball(bernoulli / math.factorial(2 * j) * number / variance ** (j - 1))
        number *= -(2 * j + 1)
    weight = ball(abs(_BERNOULLI[-1]) / math.factorial(_ORDER))
    rest = weight * sigma ** (2 - _ORDER) * hermite_tail(_ORDER + 1, zero)
    return (result - rest).union(result + rest)


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
