# SPDX-License-Identifier: Apache-2.0
"""Limits of a mean from reports of a window, valid for any people.

The reports also bound their own variance. Many reports are judged by the normal law and by the
inequality of Berry and Esseen, which says how far a sum can be from normal, and few by that of
Bernstein. Which of the two is used depends on public numbers alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

from sordino.local.window import Window

_ESSEEN = 0.56  # for sums of independent numbers whose laws differ (Shevtsova 2010)
_SPREAD_SHARE = 0.05  # of the chance to be wrong, spent on the bound of the variance
_MARGIN = 1e-9  # more than doubles can be off


def window_limits(
    window: Window, people: int, total: int, squares: int, confidence: Fraction
) -> tuple[float, float]:
    """Return limits of the mean of t; they may lie beyond -1 and 1.

    ``total`` is the sum of y over all reports, and ``squares`` that of y^2.

    Guarantee: none needed; each report is already private.
    """
    alpha = float(1 - confidence)
    mean = float(Fraction(total, people) / window.gain)
    square = float(Fraction(squares, people) / window.gain**2)
    most = largest_square(window, people, square, alpha * _SPREAD_SHARE)
    deviations, shift = deviations_and_shift(window, people, alpha * (1 - _SPREAD_SHARE) / 2)
    ratio = deviations**2 / people
    low = _lower_root(mean - shift, most, ratio) - _MARGIN
    return low, -_lower_root(-mean - shift, most, ratio) + _MARGIN


def deviations_and_shift(window: Window, people: int, tail: float) -> tuple[float, float]:
    """Return how far a mean estimate is off at most, except with the chance ``tail`` on each side.

    It is so many standard deviations of the mean, and so much more.

    Guarantee: none needed; public inputs only.
    """
    farthest = float(window.summit + 1)
    floor, nats = float(window.floor), -math.log(tail)
    skewed = min(farthest / math.sqrt(floor), math.sqrt(window.central_fourth) / floor)
    normal = tail - _ESSEEN * skewed / math.sqrt(people)
    if normal > 0 and (deviations := -NormalDist().inv_cdf(normal)) ** 2 < 2 * nats:
        return deviations, 0.0
    return math.sqrt(2 * nats), farthest * nats / (3 * people)


def largest_square(window: Window, people: int, square: float, alpha: float) -> float:
    """Return a bound of the mean square of an estimate, wrong with chance at most alpha.

    ``square`` is the one that was seen.

    Guarantee: none needed; each report is already private.
    """
    nats = -math.log(alpha) / (2 * people)
    by_range = float(window.summit) ** 2 * math.sqrt(nats)
    by_fourth = 2 * math.sqrt(window.fourth) * math.sqrt(nats)
    always = float(window.floor + window.rise + 1)
    return min(square + min(by_range, by_fourth), always) * (1 + _MARGIN)


def _lower_root(mean: float, most: float, ratio: float) -> float:
    """Return a t that is at most every t with mean - t <= sqrt(ratio (most - t^2))."""
    room = math.sqrt(max(ratio * (most * (1 + ratio) - mean * mean), 0.0))
    return min(mean, (mean - room * (1 + _MARGIN)) / (1 + ratio))
