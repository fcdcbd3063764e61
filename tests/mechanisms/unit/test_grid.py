# SPDX-License-Identifier: Apache-2.0
import math
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest

from sordino.mechanisms.additive import (
    exponent_for,
    from_grid,
    l1_on_grid,
    l2_on_grid,
    to_grid,
)
from sordino.numbers.rational import written_real


@pytest.mark.parametrize("width", ["1", "0.999", "1e-200", "3e150", "2"])
def test_the_noise_is_two_to_the_forty_steps_wide(width: str) -> None:
    steps = Fraction(width) / Fraction(2) ** exponent_for(Fraction(width) ** 2)
    assert 2**40 <= steps < 2**41


def test_widths_beyond_the_doubles_are_refused() -> None:
    for width, side in ((Fraction(10) ** 400, "at most"), (Fraction(1, 10**400), "at least")):
        with pytest.raises(ValueError, match=f"the noise on real values must be {side}"):
            exponent_for(width**2)


@pytest.mark.parametrize("exponent", [-60, -1, 0, 1, 40])
def test_rounding_is_to_the_nearest_step_and_to_the_even_one_at_a_tie(exponent: int) -> None:
    for half in range(-9, 10):
        exact = math.ldexp(half, exponent - 1)
        assert to_grid(exact, exponent) == round(Fraction(half, 2))
        assert to_grid(math.nextafter(exact, math.inf), exponent) == math.floor(
            Fraction(half + 1, 2)
        )


@pytest.mark.parametrize("exponent", [-60, -1, 0, 1, 40])
def test_fractions_and_decimals_are_rounded_like_the_numbers_they_are(exponent: int) -> None:
    step = Fraction(2) ** exponent
    for half in range(-9, 10):
        assert to_grid(half * step / 2, exponent) == round(Fraction(half, 2))
        beyond = half * step / 2 + Fraction(1, 10**99)
        assert to_grid(beyond, exponent) == math.floor(Fraction(half + 1, 2))
    assert to_grid(Decimal("2.5"), 0) == 2
    assert to_grid(Decimal("2.5" + "0" * 60 + "1"), 0) == 3


def test_rounding_takes_numbers_of_any_size() -> None:
    assert to_grid(10**400 + 1, 1) == 5 * 10**399
    assert to_grid(sys.float_info.max, -900) == int(sys.float_info.max) << 900
    assert to_grid(5e-324, -900) == 0


def test_steps_become_the_nearest_double_and_never_infinity() -> None:
    assert from_grid(2**53 + 1, 0) == 2.0**53
    assert from_grid(2**53 + 3, 0) == 2.0**53 + 4
    assert from_grid(3, -2) == 0.75
    assert from_grid(10**400, -3) == sys.float_info.max
    assert from_grid(-(10**400), 3) == -sys.float_info.max
    assert from_grid(2**1024 - 1, 0) == sys.float_info.max


def test_neighbours_are_never_further_apart_on_the_grid_than_stated() -> None:
    """Points around the ties, where rounding moves two values apart by a whole step."""
    points = [Fraction(n, 2) + Fraction(e, 1000) for n in range(-5, 6) for e in (-1, 0, 1)]
    for sensitivity in (
        Fraction(1, 1000),
        Fraction(1, 2),
        Fraction(1),
        Fraction(3, 2),
        Fraction(3),
    ):
        scalar = l2_on_grid(sensitivity, 0, 1)
        pair = l2_on_grid(sensitivity, 0, 2)
        for x, y in product(points, points):
            if abs(x - y) <= sensitivity:
                assert (round(x) - round(y)) ** 2 <= scalar
        for u, v in product(points[:12], points[:12]):
            for x, y in product(points[:12], points[:12]):
                far = (x - u) ** 2 + (y - v) ** 2 <= sensitivity**2
                moved = (round(x) - round(u)) ** 2 + (round(y) - round(v)) ** 2
                assert not far or moved <= pair


def test_a_whole_sensitivity_needs_one_step_more() -> None:
    """The values 1.5 and 0.5 are one apart and round to 2 and 0."""
    assert (to_grid(1.5, 0) - to_grid(0.5, 0)) ** 2 == 4 == l2_on_grid(Fraction(1), 0, 1)


def test_sensitivities_on_the_grid_by_hand() -> None:
    assert l1_on_grid(Fraction(7, 2), 0) == 3 + 2**16
    assert l1_on_grid(Fraction(1), -10) == 1024 + 2**16
    assert l2_on_grid(Fraction(1), -10, 2**16) == (1024 + 256) ** 2
    assert l2_on_grid(Fraction(1, 3), 0, 4) == math.floor(Fraction(7, 3) ** 2)
    assert l2_on_grid(Fraction(1), 0, 5) == 16


def test_a_real_sensitivity_is_written_with_a_point() -> None:
    assert written_real(Fraction(3)) == "3.0"
    assert written_real(Fraction(1, 3)) == "Fraction(1, 3)"
