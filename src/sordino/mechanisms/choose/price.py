# SPDX-License-Identifier: Apache-2.0
"""The price that earns most, chosen without giving any bid away."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.candidates import check_distinct, is_from_data
from sordino.mechanisms.choose.exponential import PermuteAndFlip
from sordino.mechanisms.choose.scores import is_table, plain
from sordino.mechanisms.choose.terms import Accuracy, Question, Terms, by_flips
from sordino.numbers.balls import Ball, ball, is_positive
from sordino.numbers.columns import Door, as_doubles, read_numbers
from sordino.numbers.rational import (
    Integer,
    Number,
    covering,
    is_integer,
    positive,
    positive_whole,
    up_as_printed,
)

_SMALLEST_COIN = 256  # bits of how many make one unit of money
_HALVINGS = 40  # of a gap, to find it by doubles
_MARGIN = Fraction(1, 1 << 20)  # what is added before it is certified
_BIDS = "the prices {0}; list the prices without looking at the bids"
_MISSING = "some bids are missing; leave them out"
BIDS = Door(
    rule="bids must be a list of numbers, not {0}",
    shape="bids must be a list of numbers, not {0}",
    missing=_MISSING,
    masked="bids must not be masked; leave out those that are missing",
)
_UNITS = "units must be a positive whole number of items for sale, or math.inf for no limit"


def best_price(
    bids: Any,
    prices: Sequence[Any],
    *,
    epsilon: Number,
    units: float = math.inf,
    highest_bid: Number | None = None,
) -> Any:
    """Return one of the prices, with a revenue close to the largest one.

    ``prices`` are public and fixed without looking at the bids. The revenue of a price is the price
    times the number of bids that reach it, of which ``units`` at most are served: 1 for a single
    item, ``math.inf`` for something that can be copied. If no bid can be above ``highest_bid``,
    state it: dearer prices never sell, so the noise is for the dearest one that can.

    A bid can only raise or only lower the revenues of all prices, so this is as accurate as
    permute-and-flip with twice the epsilon, whether a bid is added, removed or replaced. How
    accurate tells ``price_accuracy``; ``revenues`` has the table of what the prices earn, which is
    as private as the bids.

    >>> best_price([3, 4] * 1000, [1, 3, 3.01, 4, 4.01], epsilon=1)
    3

    Guarantee:
        Neighbours: one bid added, removed or replaced; the prices stay the same.
        Loss: epsilon, pure.
        Numerics: exact; a bid reaches a price if it does as a double.
        Proof: docs/proofs/choosing.md, theorem 6.
    """
    if prices is bids:
        raise ValueError(_BIDS.format("are the bids themselves"))
    if is_from_data(prices, bids):
        raise ValueError(_BIDS.format("come from the table of the bids"))
    prices = _as_list(prices)
    found = revenues(bids, prices, units=units, highest_bid=highest_bid)
    exact = [positive("a price", price) for price in prices]
    most = dearest(exact, highest_bid)
    # Whole numbers of the smallest coin: the same choice, and arrays instead of fractions.
    coin = math.lcm(*(price.denominator for price in exact))
    if coin.bit_length() > _SMALLEST_COIN:
        coin = 1
    choice = PermuteAndFlip(sensitivity=most * coin, epsilon=epsilon, monotone=True)
    return plain(prices[choice.release([revenue * coin for revenue in found])])


def revenues(
    bids: Any, prices: Sequence[Any], *, units: float = math.inf, highest_bid: Number | None = None
) -> list[Fraction]:
    """Return what each price earns: not private, to be looked at by the owner of the bids alone.

    These are the scores that ``best_price`` chooses by, without noise: a single bid can decide
    whether a price earns 4 or nothing. They show how far one bid moves the revenues.

    >>> [float(revenue) for revenue in revenues([3, 4], [3, 3.01, 4, 4.01], units=1)]
    [3.0, 3.01, 4.0, 0.0]

    Guarantee: none; the result is as private as the bids.
    """
    _check_units(units)
    exact = _as_prices(prices)
    offered = np.sort(_as_doubles(bids))
    if offered.size and math.isnan(offered[-1]):
        raise ValueError(_MISSING)
    if highest_bid is not None:
        offered = np.minimum(offered, float(covering("highest_bid", highest_bid)))
    at = np.searchsorted(offered, np.array([float(price) for price in exact]))
    sold = (offered.size - at).tolist()
    return [
        price * (count if count < units else int(units))
        for price, count in zip(exact, sold, strict=True)
    ]


def price_accuracy(
    prices: Sequence[Any],
    *,
    epsilon: Number,
    confidence: Number,
    buyers: Integer,
    units: float = math.inf,
    highest_bid: Number | None = None,
) -> Accuracy:
    """Return how far the revenue of the chosen price can be behind the largest one, for any bids.

    ``buyers`` is the largest number of bids there may be. Prices a little below the best one earn
    nearly as much, so that many prices are good ones, and a finer list costs next to nothing: the
    gap does not grow with the logarithm of the number of prices once they are closer together than
    the dearest one over epsilon * buyers. It is at most that of any scores, ``classic`` and the
    means are those of any scores, and all are in units of money.

    >>> coarse, fine = ([k / n for k in range(1, 2 * n)] for n in (100, 1000))
    >>> asked = {"epsilon": 1, "confidence": 0.95, "buyers": 100}
    >>> [round(price_accuracy(prices, **asked).gap, 1) for prices in (coarse, fine)]
    [14.4, 14.9]
    >>> [round(price_accuracy(prices, **asked).classic, 1) for prices in (coarse, fine)]
    [16.5, 21.2]

    Rounded up, from certified balls.
    """
    _check_units(units)
    exact = _as_prices(prices)
    many = positive_whole("buyers", buyers)
    sold = many if many < units else int(units)
    most = dearest(exact, highest_bid)
    rate = Terms(sensitivity=most, epsilon=epsilon, monotone=True).rate
    question = Question(confidence, len(exact))
    general = by_flips(question, rate)
    if not general.gap:
        return general
    crowd = _Crowd(sorted(price for price in exact if price <= most), len(exact), sold, rate)
    gap = Fraction(crowd.about(general.gap, float(question.level)))
    margin = _MARGIN
    while gap * (1 + margin) < general.gap:
        if crowd.keeps_to(gap * (1 + margin), question.level):
            return replace(general, gap=up_as_printed(gap * (1 + margin)))
        margin *= 2
    return general


class _Crowd:
    """Prices in their order, any of which may be the best, with the cheaper ones beside it."""

    def __init__(self, prices: list[Fraction], candidates: int, sold: int, rate: Fraction) -> None:
        self._prices, self._candidates = prices, candidates
        self._sold, self._rate = sold, rate

    def about(self, most: float, level: float) -> float:
        """Return nearly the least gap that the choice keeps to, by doubles; ``most`` is one."""
        prices, steep = np.array(self._prices, dtype=np.float64), float(self._rate) * self._sold
        weights = [1.0]
        for step in np.diff(prices):
            weights.append(1 + weights[-1] * math.exp(-steep * step))
        places, sums = np.arange(1, prices.size + 1), np.array([0.0, *weights])
        low, high = 0.0, most
        for _ in range(_HALVINGS):
            gap = (low + high) / 2
            behind = np.searchsorted(prices, prices - gap / self._sold, side="right")
            dropped = np.exp(-steep * (prices - prices[behind - 1]) * (behind > 0)) * sums[behind]
            bad = (self._candidates - places + behind) * math.exp(-float(self._rate) * gap)
            spare = (1 - level) * (sums[1:] - dropped) - level * bad
            fits = (spare > 0) | (prices * self._sold < gap)
            low, high = (low, gap) if fits.all() else (gap, high)
        return high

    def keeps_to(self, gap: Fraction, level: Fraction) -> bool:
        """Tell whether the choice is less than a gap behind with this confidence, for any bids."""
        # If the best price earns less than the gap, nothing is that far behind.
        first = bisect_left(self._prices, gap / self._sold)
        if first == len(self._prices):
            return True
        return is_positive(lambda: self._margin(first, gap, level))

    def _margin(self, first: int, gap: Fraction, level: Fraction) -> Ball:
        """Return the least of what the prices from ``first`` on have to spare, each as the best.

        The weights of cheaper prices are added up from the cheapest on, relative to that of the
        next one; those that may be too far behind are taken off again.
        """
        weights = [ball(1)]
        for before, price in pairwise(self._prices):
            weights.append(1 + weights[-1] * self._weight(price - before))
        bad, fail = (-ball(self._rate * gap)).exp() * ball(level), ball(1 - level)
        spare = []
        for at in range(first, len(self._prices)):
            price = self._prices[at]
            behind = bisect_right(self._prices, price - gap / self._sold)
            good = weights[at]
            if behind:
                distance = price - self._prices[behind - 1]
                good -= weights[behind - 1] * self._weight(distance)
            spare.append(fail * good - (self._candidates - (at + 1 - behind)) * bad)
        return reduce(lambda least, other: least.min(other), spare)

    def _weight(self, distance: Fraction) -> Ball:
        return (-ball(self._rate * distance * self._sold)).exp()


def _check_units(units: float) -> None:
    if not (is_integer(units) and units >= 1) and units != math.inf:
        raise ValueError(f"{_UNITS}, got {units!r}")


def _as_prices(prices: Any) -> list[Fraction]:
    exact = [positive("a price", price) for price in _as_list(prices)]
    if not exact:
        raise ValueError("there is no price to choose: the list is empty")
    check_distinct(exact)
    return exact


def _as_list(prices: Any) -> list[Any]:
    """Return prices as a list; a mapping or a table would give its names in place of its values."""
    if isinstance(prices, str | bytes | Mapping | Set) or is_table(prices):
        raise TypeError(f"prices must be a list, got a value of type {type(prices).__name__}")
    try:
        return list(prices)
    except TypeError:
        raise TypeError(
            f"prices must be a list, got a value of type {type(prices).__name__}"
        ) from None


def _as_doubles(bids: Any) -> npt.NDArray[np.float64]:
    """Return bids as the nearest doubles, which keeps their order."""
    return as_doubles(read_numbers(BIDS, bids))


def dearest(prices: Sequence[Fraction], highest_bid: Number | None) -> Fraction:
    """Return the dearest price that a bid can reach: how far one bid moves any revenue."""
    if highest_bid is None:
        return max(prices)
    top = float(covering("highest_bid", highest_bid))
    within = [price for price in prices if float(price) <= top]
    if not within:
        raise ValueError("highest_bid is below every price, so nothing could be sold")
    return max(within)
