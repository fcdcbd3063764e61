# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.numbers.balls import coarsen, exp_neg, one_minus, over, times

rationals = st.fractions(min_value=0, max_value=2000, max_denominator=10**12)


def exact_exp(x: Fraction, precision: int) -> mpmath.mpf:
    mpmath.mp.prec = precision + 200 + int(3 * x)
    return mpmath.ldexp(mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator), precision)


@given(x=rationals, precision=st.integers(8, 400))
def test_the_exponential_lies_strictly_inside_its_enclosure(x: Fraction, precision: int) -> None:
    low, high = exp_neg(x, precision)
    true = exact_exp(x, precision)
    if x == 0:
        assert low == high == 1 << precision
    else:
        assert low < true < high
        assert high - low <= 2


def test_a_tiny_rate_and_a_huge_one_are_enclosed() -> None:
    for x in (Fraction(1, 1 << 60), Fraction(1, 3 << 70), Fraction(1 << 20), Fraction(10**9, 7)):
        low, high = exp_neg(x, 128)
        assert 0 <= low < high <= low + 2
        if x < 1:
            assert low < exact_exp(x, 128) < high


def test_a_negative_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        exp_neg(Fraction(-1), 64)


def test_an_absurd_precision_is_refused() -> None:
    with pytest.raises(ValueError, match="more than any draw can need"):
        exp_neg(Fraction(1), 1 << 16)


pairs = st.tuples(st.integers(1, 1 << 70), st.integers(0, 1 << 20))


@given(a=pairs, b=pairs, s=st.integers(0, 1 << 10), t=st.integers(0, 1 << 10))
def test_products_and_quotients_enclose_every_pair_of_members(
    a: tuple[int, int], b: tuple[int, int], s: int, t: int
) -> None:
    precision = 64
    low_high_a, low_high_b = (a[0], a[0] + a[1]), (b[0], b[0] + b[1])
    x = Fraction(a[0]) + Fraction(a[1] * s, 1 << 10)
    y = Fraction(b[0]) + Fraction(b[1] * t, 1 << 10)
    low, high = times(low_high_a, low_high_b, precision)
    assert low <= x * y / (1 << precision) <= high
    low, high = over(low_high_a, low_high_b, precision)
    assert low <= x / y * (1 << precision) <= high


@given(low=st.integers(0, 1 << 64), width=st.integers(0, 9), bits=st.integers(0, 70))
def test_coarsening_only_widens(low: int, width: int, bits: int) -> None:
    down, up = coarsen((low, low + width), bits)
    assert down << bits <= low
    assert up << bits >= low + width
    assert up - down <= (width >> bits) + 2


def test_one_minus_never_goes_below_zero() -> None:
    assert one_minus((10, 20), 4) == (0, 6)
