# SPDX-License-Identifier: Apache-2.0
"""The price that earns most, chosen without giving any bid away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import Number, covering, is_integer, positive
from sordino.mechanisms.choose.candidates import check_distinct, is_from_data
from sordino.mechanisms.choose.labels import is_table, plain
from sordino.mechanisms.choose.permute_and_flip import PermuteAndFlip

_SMALLEST_COIN = 256  # bits of how many make one unit of money
_BIDS = "the prices {0}; list the prices without looking at the bids"
_MISSING = "some bids are missing; leave them out"
_ABSENT = {"NoneType", "NAType", "NaTType"}
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
    permute-and-flip with twice the epsilon, whether a bid is added, removed or replaced.

    >>> best_price([3, 4] * 1000, [1, 3, 3.01, 4, 4.01], epsilon=1)
    3
    >>> revenues([3, 4], [3, 3.01, 4, 4.01], units=1)
    [Fraction(3, 1), Fraction(301, 100), Fraction(4, 1), Fraction(0, 1)]

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
    """Return what each price earns.

    Guarantee: none; the result is as private as the bids.
    """
    if not (is_integer(units) and units >= 1) and units != math.inf:
        raise ValueError(f"{_UNITS}, got {units!r}")
    exact = [positive("a price", price) for price in _as_list(prices)]
    if not exact:
        raise ValueError("there is no price to choose: the list is empty")
    check_distinct(exact)
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
    if isinstance(bids, np.ma.MaskedArray):
        raise TypeError("bids must not be masked; leave out those that are missing")
    offered = np.asarray(bids)
    kind = offered.dtype.kind if offered.size else "f"
    if kind == "O" and offered.ndim == 1:
        kinds = set(map(type, offered.tolist()))
        if any(kind.__name__ in _ABSENT for kind in kinds):
            raise ValueError(_MISSING)
        kind = "f" if kinds <= {int, float, Decimal, Fraction} else kind
    if offered.ndim != 1 or kind not in "iuf":
        raise TypeError("bids must be a list of numbers")
    try:
        return offered.astype(np.float64)
    except OverflowError:  # an integer beyond the doubles reaches every price
        return np.array([_double(bid) for bid in offered.tolist()])


def dearest(prices: Sequence[Fraction], highest_bid: Number | None) -> Fraction:
    """Return the dearest price that a bid can reach: how far one bid moves any revenue.

    Guarantee: none needed; public inputs only.
    """
    if highest_bid is None:
        return max(prices)
    top = float(covering("highest_bid", highest_bid))
    within = [price for price in prices if float(price) <= top]
    if not within:
        raise ValueError("highest_bid is below every price, so nothing could be sold")
    return max(within)


def _double(bid: Any) -> float:
    try:
        return float(bid)
    except OverflowError:
        return math.inf if bid > 0 else -math.inf
