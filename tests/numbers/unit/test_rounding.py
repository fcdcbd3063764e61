# SPDX-License-Identifier: Apache-2.0
import math
import random
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


def test_between_two_doubles_it_is_the_same_at_a_tie_and_beside_their_decimals() -> None:
    dice = random.Random(1)  # noqa: S311 - which doubles are tried is no secret
    ends = [0.0, 5e-324, sys.float_info.min, sys.float_info.max]
    powers = [2.0**k for k in range(-1074, 1024, 31)]
    drawn = [math.ldexp(dice.random(), dice.randrange(-1080, 1024)) for _ in range(300)]
    for low in (*ends, *powers, *drawn):
        high = math.nextafter(low, math.inf)
        decimal = Fraction(reading(low))
        tie = (Fraction(low) + (Fraction(high) if high < math.inf else 2**1024)) / 2
        for middle in (decimal, tie):
            for x in (middle, middle + Fraction(1, 10**400), middle - Fraction(1, 10**400)):
                for signed in (x, -x):
                    found = up_as_printed(signed)
                    assert reading(found) >= signed
                    assert reading(math.nextafter(found, -math.inf)) < signed
                    assert found or math.copysign(1, found) == 1


def test_what_can_be_typed_stays_what_was_typed() -> None:
    for typed in (0.1, 0.2, 0.3, 0.7, 1e-6, 5e-324, 1e23, 123.456):
        assert up_as_printed(Fraction(repr(typed))) == typed


def test_beyond_the_doubles_lies_infinity() -> None:
    huge = Fraction(10**400)
    assert up(huge) == up_as_printed(huge) == math.inf
    assert down(huge) == sys.float_info.max
    assert up(-huge) == -sys.float_info.max
    assert down(-huge) == -math.inf
