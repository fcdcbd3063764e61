# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from time import perf_counter

import numpy as np
import pytest

from sordino.numbers.rational import (
    brief,
    confidence_level,
    is_integer,
    nonnegative,
    positive,
    positive_whole,
    probability,
    probability_or_zero,
    written,
)

WRONG_TYPES = [True, np.True_, "1", None, 1j, [1], np.array(1.0), np.array([1.0]), object(), b"1",
               np.timedelta64(1, "D"), np.timedelta64(1, "s"), np.datetime64(1, "D")]  # fmt: skip
WRONG_VALUES = [
    float("nan"), float("inf"), -float("inf"), 0, 0.0, -0.0, -1, -0.5, np.float32("nan"),
    Decimal("nan"), Decimal("snan"), Decimal("inf"), Fraction(0), np.int64(0),
]  # fmt: skip
HOSTILE: list[tuple[object, str]] = [
    (Decimal("1e-1000000"), "at least 1e-154, got 1E-1000000"),
    (Decimal("1e1000000"), "at most 1e154, got 1E+1000000"),
    (Decimal("1e-999999999999"), "at least 1e-154, got 1E-999999999999"),
    (1e-300, "at least 1e-154, got 1e-300"),
    (1e300, "at most 1e154, got 1e+300"),
    (10**400, "at most 1e154, got a value of type int"),
    (1 << 513, "at most 1e154, got a value of type int"),
    (Fraction(1, 10**400), "at least 1e-154, got a value of type Fraction"),
    (Fraction((1 << 600) + 1, 3), "at most 1e154, got a value of type Fraction"),
    (Fraction(10**200, 10**200 + 1), "at most 154 digits, got a value of type Fraction"),
    (Decimal("1." + "1" * 10**5), "at most 154 digits, got a value of type Decimal"),
]


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


@pytest.mark.parametrize(("value", "limit"), HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_number_is_refused_at_once_and_told_its_limit(value: object, limit: str) -> None:
    began = perf_counter()
    with pytest.raises(ValueError, match=r"^epsilon must be ") as caught:
        positive("epsilon", value)
    assert perf_counter() - began < 0.05
    assert str(caught.value) == f"epsilon must be a number of {limit}"


def test_the_limits_that_are_named_are_themselves_accepted() -> None:
    for value in (1e-154, 1e154, Decimal("1e-154"), 10**154, Decimal("0." + "1" * 154)):
        assert positive("epsilon", value) > 0


@pytest.mark.parametrize("value", [-1e300, -1e-300, -(10**400), Decimal("-1e1000000")])
def test_a_negative_number_of_any_size_is_told_so(value: object) -> None:
    with pytest.raises(ValueError, match=r"^epsilon must be a positive number, got "):
        positive("epsilon", value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (95, "got 95; write 95 % as 0.95"),
        (99.9, "got 99.9; write 99.9 % as 0.999"),
        (np.float32(99.9), "got 99.9; write 99.9 % as 0.999"),
        (Fraction(200, 3), "got 200/3; write 200/3 % as Fraction(2, 3)"),
        (1, "got 1"),
        (100, "got 100"),
        (-95, "got -95"),
        (1e300, "got 1e+300"),
    ],
)
def test_a_confidence_in_percent_is_answered_with_how_to_write_it(value: object, hint: str) -> None:
    with pytest.raises(ValueError, match=r"^confidence must be ") as caught:
        confidence_level(value)
    rule = "confidence must be a number between 0 and 1, both excluded"
    assert str(caught.value) == f"{rule}, {hint}"


def test_a_range_with_zero_says_so() -> None:
    with pytest.raises(ValueError, match=r"^delta must be a number of at least 0 and below 1, got"):
        probability_or_zero("delta", 1)


def test_messages_shorten_long_numbers() -> None:
    assert [brief(Fraction(x)) for x in (3, "0.1", "1/3")] == ["3", "0.1", "Fraction(1, 3)"]
    assert brief(Fraction(2**300)) == "2.04e+90"


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
