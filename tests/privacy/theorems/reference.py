# SPDX-License-Identifier: Apache-2.0
"""Slow and simple: pairs of finite laws, their products and profiles, with many digits."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, TypeAlias

from mpmath import mp, mpf

Real: TypeAlias = Any  # a number of mpmath, which has no types
Pair: TypeAlias = list[tuple[Real, Real]]  # for each output, its probability in both cases


def real(x: float | Fraction) -> Real:
    """The decimal that a double prints as, or a fraction."""
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(repr(x))


def response(epsilon: float, delta: float = 0) -> Pair:
    """Randomized response, which reveals everything with probability delta."""
    e, d = mp.exp(real(epsilon)), real(delta)
    truth, lie = (1 - d) * e / (1 + e), (1 - d) / (1 + e)
    answers = [(truth, lie), (lie, truth)]
    return [(d, mpf(0)), *answers, (mpf(0), d)] if delta else answers


def two_outcomes(width: float | Real, t: Real) -> Pair:
    """Two outputs with log ratios t and t - width."""
    p = (mp.exp(-t) - mp.exp(-width)) / (1 - mp.exp(-width))
    return [(p * mp.exp(t), p), ((1 - p) * mp.exp(t - width), 1 - p)]


def together(pairs: Iterable[Pair]) -> Pair:
    """Independent outputs side by side."""
    return [(prod(p for p, _ in c), prod(q for _, q in c)) for c in product(*pairs)]


def profile(pair: Pair, at: float | Real) -> Real:
    """The largest difference P(S) - e^at Q(S) over all sets S of outputs."""
    factor = mp.exp(real(at) if isinstance(at, float | int | Fraction) else at)
    return sum((max(p - factor * q, mpf(0)) for p, q in pair), start=mpf(0))


def both_ways(pair: Pair, at: float) -> Real:
    return max(profile(pair, at), profile([(q, p) for p, q in pair], at))


def renyi(pair: Pair, order: float | Real) -> Real:
    total = sum((p**order * q ** (1 - order) for p, q in pair if p), start=mpf(0))
    return mp.log(total) / (order - 1)


def agrees(found: float, exact: Real, digits: int = 12) -> bool:
    """Whether a result is an upper bound that is right to so many digits."""
    high = exact * (1 + mpf(10) ** -digits) + mpf(10) ** -320
    low = exact * (1 - mpf(10) ** -40) - mpf(10) ** -55  # it is worked out to some 60 places
    return bool(low <= real(found) <= high)
