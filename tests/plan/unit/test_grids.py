# SPDX-License-Identifier: Apache-2.0
"""Which whole numbers values become."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.plan.aggregates import MOST_BUCKETS, bits_for, buckets_for, grid_for
from sordino.plan.plan import Shares
from sordino.query.types import Range

ENDS = st.fractions(min_value=-(10**12), max_value=10**12, max_denominator=1000)
RANGES = st.tuples(ENDS, ENDS).map(lambda pair: Range(min(pair), max(pair)))


@given(RANGES, st.integers(12, 31), st.booleans(), st.booleans())
def test_a_grid_lies_inside_its_range_and_has_no_more_bits(
    public: Range, bits: int, whole: bool, centred: bool
) -> None:
    grid = grid_for(public, bits=bits, whole=whole, centred=centred)
    assert grid.low <= grid.high
    assert max(abs(grid.low), abs(grid.high)) <= 2**bits
    if grid.low < grid.high:
        assert public.low <= grid.low * grid.step
        assert grid.high * grid.step <= public.high


@given(RANGES, st.booleans())
def test_ranks_have_at_most_65536_buckets_of_numbers_of_32_bits(public: Range, whole: bool) -> None:
    grid, width = buckets_for(public, whole=whole)
    assert (grid.high - grid.low) // width + 1 <= MOST_BUCKETS
    assert max(abs(grid.low), abs(grid.high)) <= 2**31


def test_integers_stay_exact_as_long_as_bits_suffice() -> None:
    public = Range(Fraction(-5), Fraction(4000))
    assert grid_for(public, bits=12, whole=True).exponent == 0
    assert grid_for(Range(Fraction(0), Fraction(4097)), bits=12, whole=True).exponent == 1


def test_a_range_without_a_step_inside_becomes_one_step() -> None:
    third = Fraction(1, 3)
    grid = grid_for(Range(third, third), bits=12, whole=False)
    assert grid.low == grid.high
    assert abs(grid.low * grid.step - third) <= grid.step


def test_a_range_of_zero_is_zero() -> None:
    assert grid_for(Range(Fraction(0), Fraction(0)), bits=12, whole=False).low == 0
    assert buckets_for(Range(Fraction(0), Fraction(0)), whole=False)[0].high == 0


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("shares", [Shares(rows=1, alone=True), Shares(rows=10), Shares(rows=1000)])
def test_bits_leave_room_for_noise_unless_epsilon_is_tiny(shares: Shares, epsilon: float) -> None:
    bits = bits_for(shares, epsilon)
    assert 12 <= bits <= 31
    scale = shares.rows * shares.steps * 2.0**bits / epsilon
    assert bits == 12 or scale * 32 <= 2.0**50
