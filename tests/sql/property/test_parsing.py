# SPDX-License-Identifier: Apache-2.0
"""Reading and rounding, on numbers that hypothesis thinks of."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sordino.mechanisms.additive import from_grid, to_grid
from sordino.numbers.rational import down, positive, reading, up, up_as_printed, written

typed = st.floats(min_value=1e-130, max_value=1e130)
fractions = st.fractions(min_value=-(10**40), max_value=10**40)
anything = st.one_of(
    st.none(), st.booleans(), st.text(), st.binary(), st.integers(), st.floats(), st.decimals(),
    st.fractions(), st.complex_numbers(), st.lists(st.floats()),
    st.floats(width=32).map(np.float32),
)  # fmt: skip


@given(typed)
def test_a_double_is_read_as_it_prints(x: float) -> None:
    assert positive("x", x) == Fraction(repr(x))
    assert float(positive("x", x)) == x
    assert positive("x", Decimal(repr(x))) == positive("x", x)


@given(typed)
def test_what_was_read_is_written_back(x: float) -> None:
    number = positive("x", x)
    text = written(number)
    back = eval(text, {"Fraction": Fraction})  # noqa: S307 - our own text
    assert positive("x", back) == number


@given(anything)
def test_reading_gives_a_positive_fraction_or_a_plain_refusal(value: object) -> None:
    try:
        number = positive("x", value)
    except (TypeError, ValueError) as error:
        message = str(error)
        assert message.startswith("x must be a ")
        assert len(message) < 200
    else:
        assert isinstance(number, Fraction)
        assert number > 0


@given(fractions)
def test_rounding_brackets_every_fraction(x: Fraction) -> None:
    assert Fraction(down(x)) <= x <= Fraction(up(x))
    assert up(x) in {down(x), math.nextafter(down(x), math.inf)}
    assert reading(math.nextafter(up_as_printed(x), -math.inf)) < x <= reading(up_as_printed(x))


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-900, 900))
def test_the_grid_is_within_half_a_step(x: float, exponent: int) -> None:
    steps = to_grid(x, exponent)
    assert abs(Fraction(x) - steps * Fraction(2) ** exponent) * 2 <= Fraction(2) ** exponent
    assert to_grid(x, exponent) == round(Fraction(x) / Fraction(2) ** exponent)


@given(st.integers(-(2**53), 2**53), st.integers(-900, 900))
def test_whole_numbers_of_steps_survive_the_way_there_and_back(steps: int, exponent: int) -> None:
    assert to_grid(from_grid(steps, exponent), exponent) == steps
