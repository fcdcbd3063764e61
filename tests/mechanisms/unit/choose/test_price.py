# SPDX-License-Identifier: Apache-2.0
"""The price that earns most: revenues, privacy by computation under both relations, refusals."""

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sordino.mechanisms.choose import Exponential, PermuteAndFlip, best_price
from sordino.mechanisms.choose.price import dearest, price_accuracy, revenues
from tests.mechanisms.unit.choose.universes import (
    RELATIONS,
    Floats,
    Pairs,
    Relation,
    Scores,
    neighbours,
    worst,
)
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

PRICES = [1, 2, 3, 4]
UNITS = [1, 2, math.inf]


def earned(units: float, bids: list[Any]) -> Scores:
    return tuple(revenues(bids, PRICES, units=units))


def auctions(relation: Relation, units: float) -> Pairs:
    return neighbours(range(5), 5, relation, partial(earned, units))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("units", UNITS)
def test_a_bid_moves_all_revenues_the_same_way_and_by_no_more_than_the_dearest_price(
    relation: Relation, units: float
) -> None:
    moves = [
        [b - a for a, b in zip(here, there, strict=True)]
        for here, there in auctions(relation, units)
    ]
    assert all(min(move) >= 0 or max(move) <= 0 for move in moves)
    most = max(max(map(abs, move)) for move in moves)
    assert most == 4 == dearest([Fraction(price) for price in PRICES], None)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_no_neighbouring_bids_lose_more_than_epsilon(
    relation: Relation, units: float, epsilon: float
) -> None:
    mechanism = PermuteAndFlip(sensitivity=4, epsilon=epsilon, monotone=True)

    def law(scores: Scores) -> Floats:
        found: Floats = mechanism.probabilities(list(scores))
        return found

    loss, _ = worst(law, auctions(relation, units))
    assert 0.65 * epsilon < loss <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(
    ("prices", "options", "sensitivity"),
    [
        ([1, 3, 3.01, 4, 4.01], {}, 4.01),
        ([1, 3, 3.01, 4, 4.01], {"units": 1}, 4.01),
        ([1, 3, 3.01, 4, 4.01], {"highest_bid": 4}, 4),
        ([Fraction(10, 3), 3, Fraction(7, 2)], {"units": 2}, Fraction(7, 2)),
    ],
    ids=str,
)
def test_draws_follow_the_law_of_monotone_revenues(
    prices: list[Any], options: dict[str, Any], sensitivity: Any
) -> None:
    bids = [3, 4, 3.5, 1, 7]
    exact = Fraction(str(sensitivity))
    law = PermuteAndFlip(sensitivity=exact, epsilon=2, monotone=True).probabilities(
        revenues(bids, prices, **options)
    )
    with replay(SeededBits(20271)):
        drawn = [best_price(bids, prices, epsilon=2, **options) for _ in range(250)]
    assert_fits(drawn, dict(zip(prices, law.tolist(), strict=True)))


def test_one_item_and_unlimited_supply() -> None:
    prices = [3, 3.01, 4, 4.01]
    one, many = revenues([3, 4], prices, units=1), revenues([3, 4], prices)
    assert one == [3, Fraction("3.01"), 4, 0]
    assert many == [6, Fraction("3.01"), 4, 0]
    as_in_notes = Exponential(sensitivity=4.01, epsilon=1)
    assert as_in_notes.probabilities(one) == pytest.approx(
        [0.26164481317535, 0.26197125706712, 0.29639001000015, 0.17999391975738], rel=1e-12
    )
    assert as_in_notes.probabilities(many) == pytest.approx(
        [0.33998249087757, 0.23417674804277, 0.26494375555261, 0.16089700552705], rel=1e-12
    )


def test_a_bid_equal_to_a_price_reaches_it() -> None:
    assert revenues([0.7] * 10, [0.69, 0.7, 0.71]) == [Fraction("6.9"), 7, 0]
    assert revenues([Decimal("0.70")] * 2, [0.7]) == [Fraction("1.4")]
    assert revenues([Fraction(7, 10), 1], [Decimal("0.7")]) == [Fraction("1.4")]


@pytest.mark.parametrize(
    "bids",
    [[3, 4], (3, 4), np.array([4, 3], dtype=np.uint8), pd.Series([3, 4], index=[8, 9]),
     pl.Series([3.0, 4.0]), [3, Decimal(4)], [3.0, math.inf], np.array([3, 4, 0, 1])[:2]],
    ids=lambda bids: type(bids).__name__,
)  # fmt: skip
def test_bids_come_in_many_ways(bids: Any) -> None:
    assert revenues(bids, [3, 4]) == [6, 4]


def test_nobody_may_bid() -> None:
    assert revenues([], [1, 2]) == [0, 0]
    with replay(SeededBits(20272)):
        drawn = [best_price([], [1, 2], epsilon=1) for _ in range(250)]
    assert_fits(drawn, {1: 0.5, 2: 0.5})


@pytest.mark.parametrize(
    "prices",
    [
        [1, 3],
        (1, 3),
        np.array([1, 3]),
        range(1, 4, 2),
        pd.Series([1, 3], index=[8, 9]),
        pl.Series([1, 3]),
        [1, 3.0],
    ],
    ids=lambda prices: type(prices).__name__,
)
def test_prices_come_in_many_ways(prices: Any) -> None:
    assert best_price([3, 4] * 900, prices, epsilon=1) == 3


def test_prices_without_a_common_coin_are_compared_as_fractions() -> None:
    primes = [p for p in range(2, 2000) if all(p % q for q in range(2, math.isqrt(p) + 1))]
    prices = [1 - Fraction(1, p) for p in primes]
    assert best_price([1.0] * 10**6, prices, epsilon=1) > Fraction(9, 10)


def test_a_highest_bid_makes_the_noise_smaller_and_dearer_prices_unsold() -> None:
    assert dearest([Fraction(1), Fraction(2)], 1.5) == 1
    assert revenues([9, 1], [1, 2], highest_bid=1.5) == [2, 0]
    with pytest.raises(ValueError, match=r"^highest_bid is below every price, so nothing could"):
        best_price([1], [3, 4], epsilon=1, highest_bid=2)


def test_prices_taken_from_the_bids_are_refused() -> None:
    """E-X16."""
    bids, table = [3, 4], pd.DataFrame({"bid": [3, 4], "price": [3, 4]})
    column = table["bid"]
    for given, prices, how in (
        (bids, bids, "are the bids themselves"),
        (column, column, "are the bids themselves"),
        (column, table["price"], "come from the table of the bids"),
    ):
        with pytest.raises(
            ValueError, match=f"^the prices {how}; list the prices without looking at the bids$"
        ):
            best_price(given, prices, epsilon=1)


@pytest.mark.parametrize(
    ("bids", "prices", "options", "error", "message"),
    [
        ([1], [], {}, ValueError, "there is no price to choose: the list is empty"),
        ([1], [1, 1.0], {}, ValueError, "a candidate is listed twice"),
        ([1], [1, 0], {}, ValueError, "a price must be a positive number, got 0"),
        ([1], [1, -1], {}, ValueError, "a price must be a positive number, got -1"),
        ([1], [1, math.nan], {}, ValueError, "a price must be a positive number, got nan"),
        ([1], ["1"], {}, TypeError, "a price must be a positive number, got '1'"),
        ([41957, math.nan], [1], {}, ValueError, "some bids are missing; leave them out"),
        ([41957, None], [1], {}, ValueError, "some bids are missing; leave them out"),
        (pd.Series([41957, None]), [1], {}, ValueError, "some bids are missing; leave them out"),
        (
            pd.Series([41957, None], dtype="Int64"),
            [1],
            {},
            ValueError,
            "some bids are missing; leave them out",
        ),
        (pl.Series([41957, None]), [1], {}, ValueError, "some bids are missing; leave them out"),
        ([1], 5, {}, TypeError, "prices must be a list, got a value of type int"),
        ([1], "5", {}, TypeError, "prices must be a list, got a value of type str"),
        ([1], {5: 1}, {}, TypeError, "prices must be a list, got a value of type dict"),
        ([1], {5, 1}, {}, TypeError, "prices must be a list, got a value of type set"),
        (["41957"], [1], {}, TypeError, "bids must be a list of numbers"),
        ([True], [1], {}, TypeError, "bids must be a list of numbers"),
        ([[41957]], [1], {}, TypeError, "bids must be a list of numbers"),
        (41957, [1], {}, TypeError, "bids must be a list of numbers"),
        ([1], [1], {"units": 0}, ValueError, "units must be a positive whole number of items"),
        ([1], [1], {"units": 1.5}, ValueError, "units must be a positive whole number of items"),
        ([1], [1], {"units": True}, ValueError, "units must be a positive whole number of items"),
        ([1], [1], {"highest_bid": 0}, ValueError, "highest_bid must be a positive number, got 0"),
        ([1], [1], {"epsilon": 0}, ValueError, "epsilon must be a positive number, got 0"),
        ([1], [1], {"epsilon": math.nan}, ValueError, "epsilon must be a positive number, got nan"),
    ],
)
def test_bad_input_is_refused_without_quoting_a_bid(
    bids: Any, prices: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}") as raised:
        best_price(bids, prices, **{"epsilon": 1} | options)
    assert "41957" not in str(raised.value)


def all_bids(levels: list[float], buyers: int) -> Iterator[tuple[float, ...]]:
    """All bids of up to so many buyers, each next to a price or below all of them."""
    for many in range(buyers + 1):
        yield from combinations_with_replacement([0.0, *levels], many)


@pytest.mark.parametrize("kind", [PermuteAndFlip, Exponential])
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize(
    ("prices", "epsilon", "highest_bid"),
    [
        ([1, 2, 3, 4], 1, None),
        ([0.9, 0.95, 1.0], 8, None),
        ([8, 9, 9.5, 10], 3, None),
        ([2, 3, 3.5, 6, 9], 4, 3.5),
        ([5], 1, None),
    ],
    ids=str,
)
def test_no_bids_leave_the_choice_further_behind_than_its_accuracy(
    kind: Any, units: float, prices: list[float], epsilon: float, highest_bid: float | None
) -> None:
    """The exact probability of every bad choice, for all bids of up to five buyers."""
    most = dearest([Fraction(str(price)) for price in prices], highest_bid)
    mechanism = kind(sensitivity=most, epsilon=epsilon, monotone=True)
    levels = [price for price in prices if highest_bid is None or price <= highest_bid]
    laws = []
    for bids in all_bids(levels, 5):
        earned = revenues(list(bids), prices, units=units, highest_bid=highest_bid)
        gaps = [float(max(earned) - revenue) for revenue in earned]
        laws.append((gaps, mechanism.probabilities(earned).tolist()))
    for confidence in (0.3, 0.6, 0.9, 0.99):
        gap = price_accuracy(
            prices, epsilon=epsilon, confidence=confidence, buyers=5, units=units,
            highest_bid=highest_bid,
        ).gap  # fmt: skip
        general = PermuteAndFlip(sensitivity=most, epsilon=epsilon, monotone=True).accuracy(
            confidence=confidence, candidates=len(prices)
        )
        if kind is Exponential and gap == general.gap:
            continue  # a bound of permute-and-flip, which is the better mechanism
        least = gap or math.ulp(0.0)
        fails = max(sum(p for g, p in zip(*law, strict=True) if g >= least) for law in laws)
        assert fails <= 1 - confidence + 1e-12


def test_the_structure_of_prices_is_of_use_and_the_bound_is_not_far_from_the_truth() -> None:
    """Bids that all reach the same price, of which every price is tried."""
    prices = [k / 10 for k in range(1, 100)]
    found = price_accuracy(prices, epsilon=2, confidence=0.9, buyers=12)
    general = PermuteAndFlip(sensitivity=9.9, epsilon=2, monotone=True).accuracy(
        confidence=0.9, candidates=len(prices)
    )
    assert found.gap < 0.95 * general.gap
    assert found.classic == general.classic
    mechanism = Exponential(sensitivity=9.9, epsilon=2, monotone=True)
    worst = 0.0
    for price in prices[::7]:
        earned = revenues([price] * 12, prices)
        gaps = [float(max(earned) - revenue) for revenue in earned]
        law = sorted(zip(gaps, mechanism.probabilities(earned).tolist(), strict=True))
        behind, mass = law[-1][0], 0.0
        for gap, p in reversed(law):
            mass += p
            behind = gap
            if mass > 0.1:
                break
        worst = max(worst, behind)
    assert worst <= found.gap <= 1.5 * worst


@pytest.mark.parametrize("buyers", [50, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 3])
@pytest.mark.parametrize("confidence", [0.5, 0.99])
def test_the_gap_stays_below_the_bound_without_the_number_of_prices(
    buyers: int, epsilon: float, confidence: float
) -> None:
    bound = (1 + math.log(epsilon * buyers / (1 - confidence))) / epsilon
    gaps = [
        price_accuracy(
            [Fraction(k, many) for k in range(1, many + 1)],
            epsilon=epsilon, confidence=confidence, buyers=buyers,
        ).gap
        for many in (10, 100, 400)
    ]  # fmt: skip
    assert max(gaps) <= bound


def test_fewer_units_than_buyers_and_sharper_questions() -> None:
    prices = list(range(1, 21))
    asked: dict[str, Any] = {"epsilon": 2, "confidence": 0.9}
    few = price_accuracy(prices, buyers=1000, units=3, **asked)
    assert few == price_accuracy(prices, buyers=3, **asked)
    assert few.gap <= price_accuracy(prices, buyers=4, **asked).gap
    with pytest.raises(ValueError, match=r"^buyers must be a positive whole number"):
        price_accuracy(prices, buyers=0, **asked)
    with pytest.raises(ValueError, match=r"^units must be a positive whole number"):
        price_accuracy(prices, buyers=5, units=0, **asked)
    with pytest.raises(ValueError, match="there is no price to choose"):
        price_accuracy([], buyers=5, **asked)
