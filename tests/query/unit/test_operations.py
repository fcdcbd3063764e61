# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.query import ranges
from sordino.query.operations import call, evaluate, misfit, range_of
from sordino.query.tree import Field, Literal
from sordino.query.types import Range, Type

ONE = Literal(1, Type.INTEGER)
HALF = Literal(0.5, Type.REAL)
TEXT = Literal("a", Type.TEXT)
YES = Literal(True, Type.BOOLEAN)
ENDS = st.tuples(st.integers(-50, 50), st.integers(-50, 50)).map(
    lambda pair: (min(pair), max(pair))
)


def number(low: int, high: int, name: str = "x") -> Field:
    return Field(name, Type.INTEGER, name, Range(Fraction(low), Fraction(high)))


def test_whole_numbers_stay_whole_but_in_quotients() -> None:
    assert call("add", ONE, ONE).type is Type.INTEGER
    assert call("add", ONE, HALF).type is Type.REAL
    assert call("div", ONE, ONE).type is Type.REAL
    assert call("floor", HALF).type is Type.INTEGER
    assert call("round", HALF, Literal(0, Type.INTEGER)).type is Type.INTEGER
    assert call("round", HALF, Literal(2, Type.INTEGER)).type is Type.REAL


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("add", (Type.INTEGER, Type.TEXT)),
        ("add", (Type.INTEGER,)),
        ("eq", (Type.INTEGER, Type.TEXT)),
        ("lower", (Type.DATE,)),
        ("year", (Type.INTEGER,)),
        ("case", (Type.BOOLEAN, Type.TEXT, Type.INTEGER)),
        ("case", (Type.TEXT, Type.TEXT, Type.TEXT)),
        ("case", (Type.BOOLEAN, Type.TEXT, Type.BOOLEAN, Type.TEXT)),
        ("not", (Type.INTEGER,)),
        ("substring", (Type.TEXT, Type.TEXT, Type.INTEGER)),
        ("to_date", (Type.REAL,)),
        ("round", (Type.REAL, Type.REAL)),
    ],
)
def test_wrong_types_are_told_and_not_built(name: str, types: tuple[Type, ...]) -> None:
    assert misfit(name, types)
    with pytest.raises(TypeError, match=name):
        call(name, *(Literal(None, kind) for kind in types))


def test_bounds_flow_through_expressions() -> None:
    x = number(0, 120)
    assert range_of(call("mul", x, Literal(-2, Type.INTEGER))) == Range(Fraction(-240), Fraction(0))
    assert range_of(call("clamp", Field("n", Type.REAL, "n"), ONE, Literal(9, Type.INTEGER))) == (
        Range(Fraction(1), Fraction(9))
    )
    assert range_of(call("div", ONE, x)) is None
    assert range_of(call("case", YES, x, Literal(None, Type.INTEGER))) == x.range
    assert range_of(call("case", YES, x, Literal(500, Type.INTEGER))) == (
        Range(Fraction(0), Fraction(500))
    )
    assert range_of(call("least", x, Literal(7, Type.INTEGER))) == Range(Fraction(0), Fraction(7))
    assert range_of(call("greatest", x, ONE)) == Range(Fraction(1), Fraction(120))
    assert range_of(call("length", TEXT)) == Range(Fraction(0), Fraction(10_000))
    assert range_of(call("to_integer", YES)) == Range(Fraction(0), Fraction(1))
    assert range_of(call("add", x, Field("n", Type.REAL, "n"))) is None


def test_the_years_of_a_day_come_from_its_bounds() -> None:
    day = Field("d", Type.DATE, "day", Range(Fraction(2020), Fraction(2024)))
    assert range_of(call("year", call("trunc_month", day))) == day.range
    assert range_of(call("month", day)) == Range(Fraction(1), Fraction(12))


def test_intervals_that_grow_without_end_are_forgotten() -> None:
    x = number(0, 2**50)
    scalar = call("mul", x, x)
    for _ in range(12):
        scalar = call("mul", scalar, scalar)
    assert scalar.range is None


@given(ENDS, ENDS, st.data())
def test_results_lie_in_the_range_of_the_operation(
    first: tuple[int, int], second: tuple[int, int], data: st.DataObject
) -> None:
    x, y = number(*first, name="x"), number(*second, name="y")
    digits = Literal(0, Type.INTEGER)
    scalars = [
        *(call(name, x, y) for name in ("add", "sub", "mul", "div", "greatest", "least")),
        *(call(name, x) for name in ("neg", "abs", "floor", "ceil", "to_real")),
        call("round", call("div", x, Literal(7, Type.INTEGER)), digits),
        call("coalesce", x, y),
        call("nullif", x, y),
    ]
    row = {"x": data.draw(st.integers(*first)), "y": data.draw(st.integers(*second))}
    for scalar in scalars:
        value = evaluate(scalar, row)
        if value is not None and scalar.range is not None:
            assert isinstance(value, int | float)
            assert scalar.range.low - Fraction(1, 10**9) <= Fraction(value)
            assert Fraction(value) <= scalar.range.high + Fraction(1, 10**9)


def test_rounding_an_interval_goes_away_from_zero_at_halves() -> None:
    assert ranges.rounded(Range(Fraction(-5, 2), Fraction(5, 2)), 0) == (
        Range(Fraction(-3), Fraction(3))
    )
