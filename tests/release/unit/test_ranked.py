# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sordino.plan.plan import Ranked, Ranks
from sordino.release.draw import Pile, draw_quantiles, piles
from tests.release.unit.plans import AGE

HALF, LEVEL = Fraction(1, 2), Fraction(975, 1000)


AGES = Ranks(AGE, 0, 120, 0)


def ranked(
    quantile: Fraction | None, toward: int | None = None, epsilon: int = 4, ranks: Ranks = AGES
) -> Ranked:
    share = Fraction(epsilon)
    return Ranked(ranks, 0, quantile, toward, share, share, weight=4, mechanism="permute_and_flip")


def pile(values: list[int], weight: int = 4) -> Pile:
    buckets, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    return Pile(buckets, counts * weight)


def test_rows_are_sorted_into_their_groups_and_others_left_out() -> None:
    table = pa.table({"v": [5, 1, 7, 2], "s0": [10, 20, 30, 40]})
    found = piles(table, np.array([1, 0, -1, 1]), 3)
    assert [x.buckets.tolist() for x in found] == [[1], [2, 5], []]
    assert [x.counts.tolist() for x in found] == [[20], [40, 10], []]


def test_records_stay_in_order_so_that_draws_need_not_sort_them() -> None:
    start = Pile(np.array([2, 5]), np.array([40, 10]))
    below, above = start.with_records(0, 7), start.with_records(9, 7)
    assert (below.buckets.tolist(), below.counts.tolist()) == ([0, 2, 5], [7, 40, 10])
    assert (above.buckets.tolist(), above.counts.tolist()) == ([2, 5, 9], [40, 10, 7])
    assert start.flipped(10).buckets.tolist() == [4, 7]
    assert start.flipped(10).counts.tolist() == [10, 40]


@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential"])
def test_a_median_of_many_rows_is_found_and_held(mechanism: str) -> None:
    rule = Ranked(AGES, 0, HALF, None, Fraction(4), Fraction(4), 4, mechanism)  # type: ignore[arg-type]
    found = draw_quantiles(rule, [pile([30] * 400 + [50] * 600)], LEVEL)
    assert (found.value[0], found.low[0], found.high[0]) == (50.0, 50.0, 50.0)


def test_of_a_group_without_rows_nothing_is_known_but_the_public_range() -> None:
    found = draw_quantiles(ranked(HALF), [pile([])] * 20, LEVEL)
    # Each end is the bound itself with probability 0.975 at least.
    assert sum(found.low == 0.0) >= 10
    assert sum(found.high == 120.0) >= 10


@pytest.mark.parametrize(("toward", "expected"), [(0, 20.0), (1, 60.0)])
def test_an_extreme_lies_at_the_end_that_was_asked_for(toward: int, expected: float) -> None:
    values = [20] * 300 + [40] * 4000 + [60] * 300
    found = draw_quantiles(ranked(None, toward), [pile(values)], LEVEL)
    assert found.value[0] == expected
    assert (found.low[0], found.high[0]) == ((0.0, 20.0) if toward == 0 else (60.0, 120.0))


def test_the_quantiles_0_and_1_are_the_extremes() -> None:
    values = [20] * 300 + [40] * 4000 + [60] * 300
    found = [draw_quantiles(ranked(Fraction(q)), [pile(values)], LEVEL) for q in (0, 1)]
    assert [x.value[0] for x in found] == [20.0, 60.0]


def test_buckets_become_their_middles_and_ends_their_outer_edges() -> None:
    ranks = Ranks(AGE, low=-8, high=10, exponent=-1, width=4)  # values from -4 to 5
    found = draw_quantiles(
        ranked(HALF, ranks=ranks), [Pile(np.array([4]), np.array([10**6]))], LEVEL
    )
    # The last bucket has only the steps 8, 9 and 10.
    assert (found.value[0], found.low[0], found.high[0]) == (4.5, 4.0, 5.0)


def test_an_end_that_cannot_be_drawn_is_the_public_bound() -> None:
    rule = Ranked(AGES, 0, 1 - Fraction(1, 10**15), None, Fraction(4), Fraction(4), 4)
    found = draw_quantiles(rule, [pile([60] * 1000)], LEVEL)
    assert found.low[0] == 0.0


def test_of_a_tiny_epsilon_an_extreme_says_nothing() -> None:
    rule = Ranked(AGES, 0, None, 0, Fraction(1, 10**10), Fraction(1, 10**10), 4)
    found = draw_quantiles(rule, [pile([60] * 1000)], LEVEL)
    assert (found.low[0], found.high[0]) == (0.0, 120.0)
