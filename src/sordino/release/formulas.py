# SPDX-License-Identifier: Apache-2.0
"""Means and variances from noisy totals and counts, with intervals."""

from __future__ import annotations

import numpy as np

from sordino.exact.rounding import down, up
from sordino.plan.plan import Mean, Spread
from sordino.release.noise import Doubles, Span

_SLIP = 2.0**-48  # more than a few roundings of doubles can be off, relatively


def mean(formula: Mean, total: Span, count: Span) -> Span:
    """Return offset + total / count within the public range.

    If total and count lie in their intervals, the exact mean lies in the result: the quotient of
    two intervals, or the whole public range where the count may be 0.

    Guarantee: post-processing of noisy numbers; rounded outwards.
    """
    low, high = down(formula.low), up(formula.high)
    offset = float(formula.offset)
    middle = float((formula.low + formula.high) / 2)
    ratio = divide(total, count)
    slip = _SLIP * (abs(offset) + np.maximum(abs(ratio.low), abs(ratio.high)))
    known = count.low > 0
    return Span(
        np.where(count.value > 0, offset + ratio.value, middle),
        np.where(known, offset + ratio.low - slip, low),
        np.where(known, offset + ratio.high + slip, high),
    ).clip(low, high)


def spread(formula: Spread, total: Span, square: Span, count: Span) -> Span:
    """Return square / count - (total / count) ** 2 within its public range, or its root.

    Guarantee: post-processing of noisy numbers; rounded outwards.
    """
    widest = up(((formula.high - formula.low) / 2) ** 2)
    first, second = divide(total, count), divide(square, count)
    below, above = squared(first)
    slip = _SLIP * (abs(second.low) + abs(second.high) + above)
    known = count.low > 0
    variance = Span(
        np.where(count.value > 0, second.value - first.value**2, widest / 2),
        np.where(known, second.low - above - slip, 0.0),
        np.where(known, second.high - below + slip, widest),
    ).clip(0.0, widest)
    if not formula.root:
        return variance
    return Span(
        np.sqrt(variance.value),
        np.maximum(np.sqrt(variance.low) * (1 - _SLIP), 0.0),
        np.minimum(np.sqrt(variance.high) * (1 + _SLIP), up((formula.high - formula.low) / 2)),
    )


def divide(over: Span, under: Span) -> Span:
    """Return the quotient of two intervals; it means something where ``under.low`` is above 0.

    Guarantee: post-processing of noisy numbers; not yet rounded outwards.
    """
    small = np.where(under.low > 0, under.low, 1.0)
    large = np.where(under.high > 0, under.high, 1.0)
    value = np.where(under.value > 0, under.value, 1.0)
    low = np.where(over.low < 0, over.low / small, over.low / large)
    high = np.where(over.high > 0, over.high / small, over.high / large)
    return Span(over.value / value, low, high)


def squared(x: Span) -> tuple[Doubles, Doubles]:
    """Return the least and the largest square of an interval.

    Guarantee: post-processing of noisy numbers; not yet rounded outwards.
    """
    one, other = x.low**2, x.high**2
    inside = (x.low <= 0) & (x.high >= 0)
    return np.where(inside, 0.0, np.minimum(one, other)), np.maximum(one, other)
