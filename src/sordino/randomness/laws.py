# SPDX-License-Identifier: Apache-2.0
"""Distributions on the integers, given by cumulative probabilities that can be refined for ever.

A law numbers its outcomes by consecutive integers j and encloses ``F(j) = P(outcome <= j)`` at
any precision. ``Table`` draws from any law. Parameters are exact rationals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Protocol

from sordino.numbers.interval import Interval, coarsen, exp_neg, one_minus, over, times

_GUARD = 32


class Law(Protocol):
    """A distribution on consecutive integers with computable cumulative probabilities."""

    @property
    def lowest(self) -> int | None:
        """The least outcome, or None if there is none."""
        ...

    @property
    def highest(self) -> int | None:
        """The greatest outcome, or None if there is none."""
        ...

    def reach(self, precision: int) -> tuple[int, int]:
        """Return outcomes (a, b) with F(a) < 2**-precision (or a lowest) and likewise above b."""
        ...

    def cumulative(self, first: int, last: int, precision: int) -> list[Interval]:
        """Enclose F(first), ..., F(last), each at most a few units wide."""
        ...


class _TwoSided:
    """A law on all integers, given by its two tails."""

    @property
    def lowest(self) -> None:
        return None

    @property
    def highest(self) -> None:
        return None

    def tails(self, count: int, precision: int) -> tuple[list[Interval], list[Interval]]:
        """Enclose P(outcome <= -1-c) and P(outcome > c) for c = 0, ..., count - 1."""
        raise NotImplementedError

    def cumulative(self, first: int, last: int, precision: int) -> list[Interval]:
        down, up = self.tails(max(-first, last + 1), precision)
        bounds = [down[-1 - j] for j in range(first, min(last, -1) + 1)]
        one = 1 << precision  # and one_minus, written out
        bounds += [(max(one - high, 0), one - low) for low, high in up[max(first, 0) : last + 1]]
        return bounds


def _powers(ratio: Interval, precision: int) -> Iterator[Interval]:
    """Yield enclosures of 1, r, r**2, ..."""
    power = (1 << precision, 1 << precision)
    while True:
        yield power
        power = times(power, ratio, precision)


def _scaled_powers(rate: Fraction, by: Interval, count: int, work: int) -> list[Interval]:
    """Enclose s, s r, s r**2, ... for r = exp(-rate), with fewer bits by the guard.

    These are ``times`` and ``coarsen``, written out: each parameter of noise that is new to a
    process takes thousands of such steps.
    """
    ratio_low, ratio_high = exp_neg(rate, work)
    by_low, by_high = by
    low = high = 1 << work
    shift, found = work + _GUARD, []
    for _ in range(count):
        found.append(((low * by_low) >> shift, -((-high * by_high) >> shift)))
        low, high = (low * ratio_low) >> work, -((-high * ratio_high) >> work)
    return found


@dataclass(frozen=True)
class SignedGeometric(_TwoSided):
    """Outcome H >= 0 or ~H = -1-H, with P(H) prop. to exp(-rate H), ~ chosen with q/(1+q).

    Here q = exp(-unit). With ``unit == rate`` this is the discrete Laplace distribution of scale
    1/rate itself; otherwise H is its leading digits.
    """

    rate: Fraction
    unit: Fraction

    def reach(self, precision: int) -> tuple[int, int]:
        far = _exponential_reach(self.rate, precision)
        return -far - 1, far

    def tails(self, count: int, precision: int) -> tuple[list[Interval], list[Interval]]:
        work = precision + _GUARD
        one = (1 << work, 1 << work)
        q = exp_neg(self.unit, work)
        both = (q[0] + (1 << work), q[1] + (1 << work))
        return (
            _scaled_powers(self.rate, over(q, both, work), count, work),
            _scaled_powers(self.rate, over(one, both, work), count + 1, work)[1:],
        )


@dataclass(frozen=True)
class Geometric:
    """Outcome h >= 0 with P(h) prop. to exp(-rate h)."""

    rate: Fraction
    lowest: int = 0
    highest: None = None

    def reach(self, precision: int) -> tuple[int, int]:
        return 0, _exponential_reach(self.rate, precision)

    def cumulative(self, first: int, last: int, precision: int) -> list[Interval]:
        work = precision + _GUARD
        powers = islice(_powers(exp_neg(self.rate, work), work), first + 1, last + 2)
        return [coarsen(one_minus(power, work), _GUARD) for power in powers]


@dataclass(frozen=True)
class Digit:
    """Outcome 0 <= d < count with P(d) prop. to exp(-rate d): one digit of a geometric number."""

    rate: Fraction
    count: int
    lowest: int = 0

    @property
    def highest(self) -> int:
        return self.count - 1

    def reach(self, precision: int) -> tuple[int, int]:
        del precision  # the last outcome needs no threshold, whatever the precision
        return 0, self.count - 2

    def cumulative(self, first: int, last: int, precision: int) -> list[Interval]:
        # 1 - q**n loses as many bits as the rate is small: work with that many more.
        work = precision + _GUARD + max(0, -_log2(self.rate)) * 2
        powers = list(islice(_powers(exp_neg(self.rate, work), work), first + 1, last + 2))
        whole = one_minus(exp_neg(self.rate * self.count, work), work)
        parts = [one_minus(power, work) for power in powers]
        return [coarsen(over(part, whole, work), work - precision) for part in parts]


@dataclass(frozen=True)
class _OfVariance(_TwoSided):
    variance: Fraction

    def reach(self, precision: int) -> tuple[int, int]:
        far = _gaussian_reach(self.variance, precision)
        return -far - 1, far


class Gaussian(_OfVariance):
    """Outcome x with P(x) prop. to exp(-x*x / (2 variance)): the discrete Gaussian."""

    def tails(self, count: int, precision: int) -> tuple[list[Interval], list[Interval]]:
        work = precision + _GUARD
        sums = _gaussian_tails(self.variance, count + 1, work)
        one = 1 << work
        whole = (2 * sums[0][0] - one, 2 * sums[0][1] - one)  # every x, counting 0 once
        shares = [coarsen(over(part, whole, work), _GUARD) for part in sums[1:]]
        return shares, shares


class SignedHalfGaussian(_OfVariance):
    """Outcome c >= 0 or ~c with a fair sign and P(c) prop. to exp(-c*c / (2 variance))."""

    def tails(self, count: int, precision: int) -> tuple[list[Interval], list[Interval]]:
        work = precision + _GUARD
        sums = _gaussian_tails(self.variance, count + 1, work)
        up = [coarsen(over(part, sums[0], work), _GUARD + 1) for part in sums[1:]]
        half = 1 << (precision - 1)
        return [(half, half), *up[:-1]], up


def _exponential_reach(rate: Fraction, precision: int) -> int:
    """Return h with exp(-rate h) < 2**-precision / 2."""
    return int((Fraction(7, 10) * precision + 1) / rate) + 1


def _gaussian_reach(variance: Fraction, precision: int) -> int:
    """Return x with exp(-x*x / (2 variance)) < 2**-precision."""
    return math.isqrt(int(variance * Fraction(7, 5) * precision)) + 1  # 7/10 > ln 2


def _gaussian_tails(variance: Fraction, count: int, precision: int) -> list[Interval]:
    """Enclose T(c) = sum over x >= c of exp(-x*x / (2 variance)), c = 0, ..., count - 1.

    Weights follow w(x+1) = w(x) a(x), a(x+1) = a(x) r with r = exp(-1/variance), in integers that
    are cut downwards. Each start is below its true value by less than 2 units, so after n steps
    a(x) is by at most 3n + 2 and w(x) by at most 3 (n + 1)(n + 2) / 2 < ``error``.
    """
    far = max(_gaussian_reach(variance, precision), count) + 1
    error = 2 * (far + 2) * (far + 3)
    extra = error.bit_length() + far.bit_length() + 2
    work = precision + extra
    weight = 1 << work
    step = exp_neg(1 / (2 * variance), work)[0]
    ratio = exp_neg(1 / variance, work)[0]
    weights = []
    for _ in range(far):
        weights.append(weight)
        weight = (weight * step) >> work
        step = (step * ratio) >> work
    # Beyond ``far`` the weights fall at least geometrically with ratio step: at x >= far the
    # ratio a(x) <= exp(-x/variance), so the rest is below w(far) / (1 - a(far)).
    rest = _rest(variance, far, work)
    tails: list[Interval] = []
    low, high = 0, rest
    for weight in reversed(weights):
        low += weight
        high += weight + error
        tails.append((low, high))
    tails.reverse()
    return [coarsen(tail, extra) for tail in tails[:count]]


def _rest(variance: Fraction, far: int, work: int) -> int:
    first = exp_neg(Fraction(far * far) / (2 * variance), work)[1]
    fall = one_minus(exp_neg(Fraction(far) / variance, work), work)
    if fall[0] == 0:
        raise ArithmeticError("the Gaussian tail cannot be bounded at this precision")
    return -((-first << work) // fall[0])


def _log2(x: Fraction) -> int:
    return x.numerator.bit_length() - x.denominator.bit_length()
