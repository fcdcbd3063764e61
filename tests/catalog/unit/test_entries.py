# SPDX-License-Identifier: Apache-2.0
"""Python objects are read by their exact values, ids stay apart, and no object makes it fail."""

from __future__ import annotations

import enum
import itertools
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.catalog.arrow import read_entries
from sordino.query.types import Type, Value


def read(kind: Type, value: object) -> Value:
    return read_entries(kind, [value])[0]


class Liar:
    """Says that it is text."""

    __class__ = property(lambda _: str)


class Hostile:
    """Answers everything with an error."""

    def _fail(self, *_: object) -> Any:
        raise RuntimeError

    __class__ = property(_fail)
    __eq__ = __ne__ = __hash__ = __float__ = __index__ = __bool__ = __str__ = __repr__ = _fail


class OddText(str):
    __slots__ = ()
    __eq__ = __ne__ = __hash__ = __str__ = encode = Hostile._fail  # type: ignore[assignment]


class OddInteger(int):
    __index__ = __int__ = bit_length = as_integer_ratio = __float__ = Hostile._fail


class OddReal(float):
    __slots__ = ()
    __float__ = as_integer_ratio = is_integer = Hostile._fail


class OddDecimal(Decimal):
    __float__ = as_tuple = as_integer_ratio = is_nan = Hostile._fail


class OddMoment(datetime):
    year = utcoffset = astimezone = timetuple = property(Hostile._fail)


class OddZone(tzinfo):
    utcoffset = dst = tzname = Hostile._fail

    def __repr__(self) -> str:
        return "OddZone()"


class Number(enum.IntEnum):
    THREE = 3


def changed(numerator: object, denominator: object) -> Fraction:
    fraction = Fraction(1, 2)
    fraction._numerator, fraction._denominator = numerator, denominator  # type: ignore[attr-defined]
    return fraction


NOTHING = [
    None, pd.NA, pd.NaT, Liar(), Hostile(), object(), b"x", np.bytes_(b"x"), 1j, [1], (), {},
    np.array([1]), timedelta(1), np.timedelta64(1, "s"), pd.Period("2020"), pd.Interval(0, 1),
    changed("x", 2), changed(1, 0), changed(1, -1), changed(1, "x"), datetime(2020, 1, 1).time(),
]  # fmt: skip


@pytest.mark.parametrize("kind", list(Type))
def test_objects_that_are_nothing_of_the_kind_are_missing(kind: Type) -> None:
    assert read_entries(kind, NOTHING) == [None] * len(NOTHING)


@pytest.mark.parametrize(
    ("value", "whole", "text"),
    [
        (10**18 + 1, 10**18 + 1, "\x001000000000000000001"),
        (Decimal("1000000000000000001.00"), 10**18 + 1, "\x001000000000000000001"),
        (Fraction(2**62 + 1), 2**62 + 1, f"\x00{2**62 + 1}"),
        (np.longdouble(3), 3, "\x003"),
        (np.int8(-3), -3, "\x00-3"),
        (np.float16(0.5), None, "\x001/2"),
        (-0.0, 0, "\x000"),
        (Decimal("-0E+999999999"), 0, "\x000"),
        (Decimal("1E+999999999"), None, None),
        (Decimal("1E-999999999"), None, None),
        (Decimal("sNaN"), None, None),
        (Decimal("-Infinity"), None, None),
        (float("nan"), None, None),
        (float("inf"), None, None),
        (np.longdouble("inf"), None, None),
        (10**5000, None, None),
        (Fraction(1, 10**5000), None, None),
        (2**63, None, f"\x00{2**63}"),
        (-(2**63), -(2**63), f"\x00{-(2**63)}"),
        (Fraction(1, 3), None, "\x001/3"),
        (True, None, None),
        (np.True_, None, None),
        (Number.THREE, 3, "\x003"),
        (OddInteger(7), 7, "\x007"),
        (OddReal(7.0), 7, "\x007"),
        (OddDecimal(7), 7, "\x007"),
        ("7", None, "7"),
        (np.str_("7"), None, "7"),
        (OddText("seven"), None, "seven"),
        ("", None, ""),
        ("\x007", None, "\0\x007"),
        ("\ud800", None, None),
        ("a\udfff", None, None),
        (UUID(int=7), None, f"\0{UUID(int=7)}"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_and_texts_are_read_exactly(
    value: object, whole: int | None, text: str | None
) -> None:
    assert read(Type.INTEGER, value) == whole
    assert read(Type.TEXT, value) == text


NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.fractions(),
    st.decimals(),
    st.integers(-128, 127).map(np.int8),
    st.floats(width=32).map(np.float32),
    st.floats(width=16).map(np.float16),
    st.floats().map(np.longdouble),
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 70)).map(
        lambda pair: np.longdouble(pair[0]) / np.longdouble(2) ** pair[1]
    ),
)
IDS = st.one_of(NUMBERS, st.text(st.characters()), st.uuids(), NUMBERS.map(str))


@given(st.lists(IDS, max_size=8), st.data())
def test_two_ids_become_one_only_if_they_are_equal(ids: list[Any], data: st.DataObject) -> None:
    more = [data.draw(st.sampled_from([int, float, Fraction, Decimal, str])) for _ in ids]
    every = [*ids]
    for value, kind in zip(ids, more, strict=True):
        try:
            every.append(kind(value))
        except (ValueError, TypeError, OverflowError, ArithmeticError):
            continue
    texts = read_entries(Type.TEXT, every)
    for (one, left), (other, right) in itertools.combinations(zip(every, texts, strict=True), 2):
        if left is not None and left == right:
            assert exact(one) == exact(other)
        elif left is not None and right is not None:
            assert exact(one) != exact(other)


def exact(value: Any) -> object:
    """Return a number by its value, and everything else by its class and itself."""
    if isinstance(value, str | UUID):
        return type(value).__name__, value
    return Fraction(*ratio(value))


def ratio(value: Any) -> tuple[int, int]:
    found: tuple[int, int] = (
        (int(value), 1) if isinstance(value, np.integer) else value.as_integer_ratio()
    )
    return found


@given(NUMBERS)
def test_a_whole_number_is_never_rounded(value: Any) -> None:
    whole = read(Type.INTEGER, value)
    try:
        above, below = ratio(value)
    except (ValueError, OverflowError):
        assert whole is None
        return
    fits = below == 1 and -(2**63) <= above < 2**63
    assert whole == (above if fits else None)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (10**400, float("inf")),
        (-(10**400), float("-inf")),
        (Fraction(-(10**400), 3), float("-inf")),
        (Decimal("1E+999999999"), float("inf")),
        (np.longdouble("1e4000"), float("inf")),
        (Decimal("1E-999999999"), 0.0),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 3), 1 / 3),
        (2**53 + 1, 2.0**53),
        (OddDecimal("0.5"), 0.5),
        (Decimal("sNaN"), None),
        (float("nan"), None),
        ("1", None),
        (True, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_real_number_is_the_nearest_double(value: object, wanted: float | None) -> None:
    if wanted == float("inf") and float(np.finfo(np.longdouble).maxexp) < 2000:
        pytest.skip("a long double is a double here")
    assert read(Type.REAL, value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (date(1, 1, 1), datetime(1, 1, 1)),
        (datetime.max, datetime.max),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-9))), None),
        (datetime(2020, 1, 1, tzinfo=OddZone()), None),
        (OddMoment(2020, 1, 1), datetime(2020, 1, 1)),
        (pd.Timestamp("1969-12-31 23:59:59.999999999"), datetime(1969, 12, 31, 23, 59, 59, 999999)),
        (pd.Timestamp("2020-01-01", tz="Europe/Berlin"), datetime(2019, 12, 31, 23)),
        (pd.Timestamp(np.datetime64(2**38, "s")), None),
        (np.datetime64("2020-01-01"), datetime(2020, 1, 1)),
        (np.datetime64(2**62, "s"), None),
        (np.datetime64("NaT"), None),
        ("2020-01-01", None),
        (5, None),
    ],
    ids=repr,
)
def test_a_moment_is_one_of_utc(value: object, wanted: datetime | None) -> None:
    assert read(Type.TIMESTAMP, value) == wanted
    assert read(Type.DATE, value) == (None if wanted is None else wanted.date())
