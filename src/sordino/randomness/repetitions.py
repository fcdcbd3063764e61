# SPDX-License-Identifier: Apache-2.0
"""Exact draws of how often to run something: truncated negative binomial and Poisson numbers.

A number K is the least k with U < F(k), where U is uniform and F(k) is summed term by term: each
probability is the one before times a rational ratio. Sums are kept in certified intervals, and U
is looked at more closely only where an interval does not decide.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from sordino.numbers.balls import Ball, ball, ceiling
from sordino.numbers.interval import Interval, coarsen, exp_neg
from sordino.randomness.coins import below_one
from sordino.randomness.entropy import Bits
from sordino.randomness.tables import WORD_BITS, LazyUniform

_GUARD = 64  # sums of fewer than 2**32 terms are off by less than the last bit that is used
_PIECE = 64  # a Poisson number of a larger mean is the sum of several


def draw_negative_binomial(eta: Fraction, gamma: Fraction, bits: Bits) -> int:
    """Draw K >= 1 with P(k) prop. to (1 - gamma)**k (eta)(eta + 1)...(eta + k - 1) / k!.

    For eta = 1 it is geometric; for eta = 0, as a limit, P(k) is prop. to (1 - gamma)**k / k. The
    parameters are rational, eta > -1 and 0 < gamma < 1.
    """
    if eta == 1:
        return draw_geometric(gamma, bits)
    if eta <= -1 or not 0 < gamma < 1:
        raise ValueError("eta must be above -1 and gamma between 0 and 1")
    # Errors grow as the terms do, which is by no more than the first one is small.
    growth = max(int(eta + 1), 1) * _bits_of(1 / gamma)

    fall = (1 - gamma) / eta.denominator

    def ratio(k: int) -> tuple[int, int]:  # (1 - gamma) (k + eta) / (k + 1)
        return (
            fall.numerator * (k * eta.denominator + eta.numerator),
            fall.denominator * (k + 1),
        )

    return _walk(1, lambda precision: _first(eta, gamma, precision), ratio, growth, bits)


def draw_geometric(gamma: Fraction, bits: Bits) -> int:
    """Draw K >= 1 with P(k) = gamma (1 - gamma)**(k - 1): toss a coin until it shows heads."""
    if not 0 < gamma < 1:
        raise ValueError("gamma must lie between 0 and 1")
    k = 1
    while below_one(gamma.denominator, bits) >= gamma.numerator:
        k += 1
    return k


def draw_poisson(mean: Fraction, bits: Bits) -> int:
    """Draw K >= 0 with P(k) = exp(-mean) mean**k / k!."""
    if mean <= 0:
        raise ValueError("mean must be positive")
    pieces = -(-mean // _PIECE)
    each = mean / pieces

    def first(precision: int) -> Interval:
        return exp_neg(each, precision)

    def ratio(k: int) -> tuple[int, int]:
        return each.numerator, each.denominator * (k + 1)

    growth = 2 * int(each) + 2  # exp(mean) < 4**mean
    return sum(_walk(0, first, ratio, growth, bits) for _ in range(pieces))


def _walk(
    start: int,
    first: Callable[[int], Interval],
    ratio: Callable[[int], tuple[int, int]],
    growth: int,
    bits: Bits,
) -> int:
    """Return the least k with U < F(k).

    ``first(p)`` encloses P(start), and ``ratio(k)`` is P(k + 1) / P(k), as two integers.
    """
    number = LazyUniform(bits.integer(WORD_BITS), WORD_BITS, bits)
    sums = _Sums(start, first, ratio, growth)
    k = start
    while not number.below(lambda width: sums.at(k, width)):  # noqa: B023 - called at once
        k += 1
    return k


class _Sums:
    """Running sums at one precision, started again when another one is asked for."""

    __slots__ = ("_first", "_growth", "_k", "_ratio", "_start", "_sum", "_term", "_width")

    def __init__(
        self,
        start: int,
        first: Callable[[int], Interval],
        ratio: Callable[[int], tuple[int, int]],
        growth: int,
    ) -> None:
        self._start, self._first, self._ratio, self._growth = start, first, ratio, growth
        self._width = 0

    def at(self, k: int, width: int) -> Interval:
        """Enclose F(k) at a precision of ``width`` bits."""
        extra = _GUARD + self._growth
        if width != self._width:
            self._width, self._k = width, self._start
            self._term = self._sum = self._first(width + extra)
        while self._k < k:
            up, down = self._ratio(self._k)
            low, high = self._term
            self._term = low * up // down, -(-high * up // down)
            self._sum = self._sum[0] + self._term[0], self._sum[1] + self._term[1]
            self._k += 1
        return coarsen(self._sum, extra)


@lru_cache(maxsize=64)
def _first(eta: Fraction, gamma: Fraction, precision: int) -> Interval:
    """Enclose P(K = 1) for a truncated negative binomial number."""
    scale = 1 << precision

    def formula() -> Ball:
        if eta == 0:
            return ball((1 - gamma) * scale) / -ball(gamma).log()
        return ball(eta * (1 - gamma) * scale) / (-ball(eta) * ball(gamma).log()).expm1()

    return -ceiling(lambda: -formula()), ceiling(formula)


def _bits_of(x: Fraction) -> int:
    return x.numerator.bit_length() - x.denominator.bit_length() + 1
