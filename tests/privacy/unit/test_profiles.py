# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.numbers.balls import ball
from sordino.privacy.leaf import (
    both_signs,
    crossing,
    inverse,
    order_of,
    pure_rho,
    round_down,
    short_of,
    whole_size,
)


def test_a_profile_is_extended_by_that_of_the_other_order() -> None:
    found = both_signs(
        np.array([-1.0, 0.0, 1.0]), lambda a: 0.25 - 0.1 * a, lambda a: 0.2 - 0.1 * a
    )
    assert found == pytest.approx([1 - math.exp(-1) + math.exp(-1) * 0.1, 0.25, 0.15])


def test_a_distance_keeps_its_digits_where_numbers_meet() -> None:
    third = Fraction(1, 3)
    near = np.array([1 / 3, math.nextafter(1 / 3, 1), 0.0])
    exact = [float(third - Fraction(float(x))) for x in near]
    assert short_of(third, near) == pytest.approx(exact, rel=1e-15)


def test_orders_are_read_as_they_print() -> None:
    assert order_of(1.1) == Fraction(11, 10)
    assert order_of(2) == 2
    assert order_of(np.float64(2.5)) == Fraction(5, 2)
    assert order_of(Fraction(7, 3)) == Fraction(7, 3)
    assert order_of(math.inf) is None


def test_rounding_down_is_below() -> None:
    assert Fraction(repr(round_down(lambda: ball(Fraction(1, 3))))) <= Fraction(1, 3)
    assert round_down(lambda: ball(Fraction(1, 3))) == pytest.approx(1 / 3, rel=1e-15)


def test_sizes_are_whole() -> None:
    assert whole_size(3) == 3
    with pytest.raises(ValueError, match="positive whole number, got 0"):
        whole_size(0)


def test_rho_of_a_pure_loss() -> None:
    assert pure_rho(Fraction(1)) == pytest.approx(0.46211715726001, rel=1e-13)
    assert pure_rho(Fraction(1, 10**9)) == pytest.approx(0.5e-18, rel=1e-12)


def test_a_profile_is_inverted() -> None:
    def delta(epsilon: Fraction) -> float:
        return math.exp(-float(epsilon)) / 2

    target = Fraction(1, 1000)
    found = inverse(delta, lambda at: np.exp(-at) / 2, target=target, high=50.0)
    assert found == pytest.approx(math.log(500), rel=1e-14)
    assert delta(Fraction(repr(found))) <= 0.001
    assert inverse(delta, lambda at: np.exp(-at) / 2, target=Fraction(3, 4), high=50.0) == 0.0
    assert crossing(lambda at: np.exp(-at), 0.5, 8.0) == pytest.approx(math.log(2), rel=1e-12)
