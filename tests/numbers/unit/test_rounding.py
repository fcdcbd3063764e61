# SPDX-License-Identifier: Apache-2.0
import math
import sys
from fractions import Fraction

import pytest

from sordino.numbers.rational import down, reading, up, up_as_printed

NUMBERS = [
    Fraction(1, 10), Fraction(3, 10), Fraction(1, 3), Fraction(2, 3), Fraction(0), Fraction(1),
    Fraction(-1, 3), Fraction(10**40 + 1), Fraction(1, 10**320), Fraction(2**53 + 1),
    Fraction(1, 2**1074), Fraction(1, 2**1080), Fraction(4, 3) * 10**200,
]  # fmt: skip


@pytest.mark.parametrize("x", NUMBERS, ids=str)
def test_up_is_the_least_double_that_is_not_below(x: Fraction) -> None:
    assert Fraction(up(x)) >= x
    assert Fraction(math.nextafter(up(x), -math.inf)) < x


@pytest.mark.parametrize("x", NUMBERS, ids=str)
def test_down_is_the_greatest_double_that_is_not_above(x: Fraction) -> None:
    assert Fraction(down(x)) <= x
    assert Fraction(math.nextafter(down(x), math.inf)) > x


@pytest.mark.parametrize("x", NUMBERS, ids=str)
def test_up_as_printed_is_the_least_double_that_does_not_read_below(x: Fraction) -> None:
    assert reading(up_as_printed(x)) >= x
    assert reading(math.nextafter(up_as_printed(x), -math.inf)) < x


def test_what_can_be_typed_stays_what_was_typed() -> None:
    for typed in (0.1, 0.2, 0.3, 0.7, 1e-6, 5e-324, 1e23, 123.456):
        assert up_as_printed(Fraction(repr(typed))) == typed


def test_beyond_the_doubles_lies_infinity() -> None:
    huge = Fraction(10**400)
    assert up(huge) == up_as_printed(huge) == math.inf
    assert down(huge) == sys.float_info.max
    assert up(-huge) == -sys.float_info.max
    assert down(-huge) == -math.inf
