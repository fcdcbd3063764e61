# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from time import perf_counter

import numpy as np
import pytest

from sordino.exact.rational import (
    is_integer,
    nonnegative,
    positive,
    positive_whole,
    probability,
    probability_or_zero,
    written,
)

WRONG_TYPES = [True, np.True_, "1", None, 1j, [1], np.array(1.0), np.array([1.0]), object(), b"1"]
WRONG_VALUES = [
    float("nan"), float("inf"), -float("inf"), 0, 0.0, -0.0, -1, -0.5, np.float32("nan"),
    Decimal("nan"), Decimal("snan"), Decimal("inf"), Fraction(0), np.int64(0),
]  # fmt: skip
HOSTILE = [Decimal("1e-1000000"), Decimal("1e1000000"), 10**400, Fraction(1, 10**400), 1e-300,
           Decimal("1." + "1" * 10**5), 1 << 513, Fraction((1 << 600) + 1, 3)]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1, Fraction(1)),
        (1e-6, Fraction(1, 10**6)),
        (1e22, Fraction(10**22)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.10"), Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.longdouble("0.5"), Fraction(1, 2)),
        (np.int8(3), Fraction(3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (2**512 - 1, Fraction(2**512 - 1)),
    ],
)
def test_a_number_is_the_decimal_it_prints_as(typed: object, meant: Fraction) -> None:
    assert positive("epsilon", typed) == meant


@pytest.mark.parametrize("value", WRONG_TYPES, ids=range(len(WRONG_TYPES)))
def test_what_is_no_number_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match=r"^epsilon must be a positive number, got "):
        positive("epsilon", value)


@pytest.mark.parametrize("value", WRONG_VALUES, ids=repr)
def test_a_number_that_is_not_positive_is_a_value_error(value: object) -> None:
    with pytest.raises(ValueError, match=r"^epsilon must be a positive number, got "):
        positive("epsilon", value)


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        (float("nan"), "nan"),
        (np.float64("nan"), "nan"),
        (-1, "-1"),
        (True, "True"),
        ("1", "'1'"),
        (None, "None"),
        (1j, "1j"),
        ([1], "a value of type list"),
        ("x" * 100, "a value of type str"),
        (Decimal("-inf"), "-Infinity"),
    ],
)
def test_the_message_quotes_what_came_in(value: object, quoted: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        positive("epsilon", value)
    assert str(caught.value) == f"epsilon must be a positive number, got {quoted}"


@pytest.mark.parametrize("value", HOSTILE, ids=lambda x: type(x).__name__)
def test_a_hostile_number_is_refused_at_once(value: object) -> None:
    began = perf_counter()
    with pytest.raises(ValueError, match=r"whole numbers below 2\*\*512, got "):
        positive("epsilon", value)
    assert perf_counter() - began < 0.05


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (nonnegative, [0, 0.5, 7], [-1, -1e-9]),
        (probability, [1e-9, 0.5, Decimal("0.999")], [0, 1, 1.5, -0.1]),
        (probability_or_zero, [0, 0.0, 0.5], [1, 1.0, -0.1]),
        (positive_whole, [1, np.int32(5), 10**6], [0, -3]),
    ],
)
def test_each_range_has_its_ends(
    read: Callable[[str, object], object], good: list[object], bad: list[object]
) -> None:
    for value in good:
        assert read("x", value) == Fraction(str(value))
    for value in bad:
        with pytest.raises(ValueError, match=r"^x must be "):
            read("x", value)


def test_a_whole_number_needs_an_integer_type() -> None:
    for value in (1.0, True, "1", Fraction(1), np.True_):
        with pytest.raises(TypeError, match=r"^coordinates must be a positive whole number, got "):
            positive_whole("coordinates", value)
        assert not is_integer(value)


def test_fractions_are_written_as_they_were_typed() -> None:
    for value in (0.1, 3, 1e-6, 0.30000000000000004, Fraction(1, 3), 10**30, Fraction(2, 3**90)):
        number = positive("x", value)
        assert eval(written(number), {"Fraction": Fraction}) is not None  # noqa: S307 - ours
        assert positive("x", eval(written(number), {"Fraction": Fraction})) == number  # noqa: S307
