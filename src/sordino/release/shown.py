# SPDX-License-Identifier: Apache-2.0
"""Noisy counts as they are shown: whole, not negative, adding up to their total; all on request."""

from __future__ import annotations

import math

import numpy as np

from sordino.release.noise import Doubles, Span
from sordino.release.options import Options


def shown(span: Span, options: Options, *, whole: bool, count: bool, fine: bool = False) -> Span:
    """Return numbers as they are shown; intervals keep holding the exact ones.

    ``whole`` says that the type is INTEGER, ``count`` that the exact number cannot be negative.
    ``fine`` says that the noisy number has a step below 1: rounding moves it by up to a half, and
    all half-widths grow by that half, so that equal noise is shown with equal half-widths.

    Guarantee: post-processing of noisy numbers.
    """
    value, low, high = span.value, span.low, span.high
    if count and options.consistent:
        value = adding_up(value)
    elif whole and options.integer:
        value = np.rint(value)
        if fine:
            low = np.minimum(value - (span.value - low) - 0.5, low)
            high = np.maximum(value + (high - span.value) + 0.5, high)
    if count and (options.nonnegative or options.consistent):
        value, low, high = (np.maximum(x, 0.0) for x in (value, low, high))
    return Span(value, np.minimum(low, value), np.maximum(high, value))


def adding_up(noisy: Doubles) -> Doubles:
    """Return whole numbers that are not negative, next to noisy ones, and have their total.

    They are the nearest point, by the sum of squares, of those with this total that are not
    negative; then each is rounded down and the largest remainders are rounded up. A total below 0
    becomes 0.

    >>> adding_up(np.array([10.4, -3.0, 5.2])).tolist()
    [9.0, 0.0, 4.0]

    Guarantee: post-processing of noisy numbers.
    """
    total = max(round(math.fsum(noisy.tolist())), 0)
    if not noisy.size:
        return noisy
    near = np.maximum(noisy - _excess(noisy, total), 0.0)
    whole = np.floor(near)
    missing = total - int(whole.sum())
    order = np.argsort(whole - near, kind="stable")  # the largest remainders first
    whole[order[: max(missing, 0)]] += 1
    return whole


def _excess(noisy: Doubles, total: int) -> float:
    """Return what to take off each number so that those that stay above 0 have the total."""
    sizes = np.sort(noisy)[::-1]
    off = (np.cumsum(sizes) - total) / np.arange(1, sizes.size + 1)
    above = np.flatnonzero(sizes > off)
    return float(off[above[-1]]) if above.size else float(sizes[0])
