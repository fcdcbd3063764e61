# SPDX-License-Identifier: Apache-2.0
"""Bounds and keys are read as they were typed, and only where they fit the type."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sordino.catalog.values import MOST_KEYS, keys_between, read_bounds, read_keys, read_type
from sordino.errors import CatalogError
from sordino.query.types import Range, Type

NAN, INFINITE = float("nan"), float("inf")


def range_of(low: object, high: object) -> Range:
    return Range(Fraction(str(low)), Fraction(str(high)))


@pytest.mark.parametrize(
    ("kind", "bounds", "wanted"),
    [
        (Type.REAL, (0, 0.1), range_of(0, "0.1")),
        (Type.REAL, [Decimal("-0.3"), 5], range_of("-0.3", 5)),
        (Type.REAL, (np.float32(0.1), np.int8(4)), range_of("0.1", 4)),
        (Type.INTEGER, (0, 120.0), range_of(0, 120)),
        (Type.DATE, (date(2023, 5, 1), date(2024, 1, 1)), range_of(2023, 2024)),
        (Type.TIMESTAMP, (2024, 2024), range_of(2024, 2024)),
    ],
)
def test_bounds_are_the_decimals_they_print_as(kind: Type, bounds: object, wanted: Range) -> None:
    assert read_bounds(kind, bounds) == wanted


@pytest.mark.parametrize(
    ("kind", "bounds", "said"),
    [
        (Type.REAL, (2, 1), "the lower bound 2 must be below the upper bound 1"),
        (Type.REAL, (1, 1), "must be below"),
        (Type.REAL, (NAN, 1), "the lower bound must be a finite number, got nan"),
        (Type.REAL, (0, INFINITE), "the upper bound must be a finite number"),
        (Type.REAL, ("0", 1), "the lower bound must be a finite number, got '0'"),
        (Type.REAL, (True, 2), "finite number"),
        (Type.REAL, 5, "two values"),
        (Type.REAL, (1, 2, 3), "two values"),
        (Type.INTEGER, (0, 1.5), "whole numbers"),
        (Type.INTEGER, (0, 2**64), "64 bits"),
        (Type.TEXT, (0, 1), "a column of type text has none"),
        (Type.BOOLEAN, (0, 1), "a column of type boolean has none"),
        (Type.DATE, (2024, 2023), "the first year 2024 must not be after"),
        (Type.DATE, (0, 2023), "years from 1 to 9999"),
        (Type.DATE, ("2020", 2023), "dates or years"),
        (Type.DATE, (2020.5, 2023), "dates or years"),
    ],
)
def test_wrong_bounds_are_refused_in_one_sentence(kind: Type, bounds: object, said: str) -> None:
    with pytest.raises(CatalogError) as caught:
        read_bounds(kind, bounds)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_keys_keep_their_order_and_may_hold_a_missing_value() -> None:
    assert read_keys(Type.TEXT, ["b", "a", None]) == ("b", "a", None)
    assert read_keys(Type.INTEGER, range(3)) == (0, 1, 2)
    assert read_keys(Type.INTEGER, np.array([5, 4])) == (5, 4)
    assert type(read_keys(Type.INTEGER, np.array([5]))[0]) is int
    assert read_keys(Type.BOOLEAN, [True, np.False_]) == (True, False)


def test_moments_with_a_zone_are_keys_in_utc() -> None:
    noon = datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=1)))
    assert read_keys(Type.TIMESTAMP, [noon]) == (datetime(2024, 1, 1, 11),)
    with pytest.raises(CatalogError, match="stands twice"):
        read_keys(Type.TIMESTAMP, [noon, noon.astimezone(UTC)])


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        (Type.TEXT, ["a", "b", "a"], "the key 'a' stands twice"),
        (Type.TEXT, ["a", 1], "1 is not a value of type text"),
        (Type.TEXT, "abc", "must be a list"),
        (Type.TEXT, 5, "must be a list"),
        (Type.TEXT, [], "empty"),
        (Type.TEXT, ["a\0"], "without NUL"),
        (Type.TEXT, ["\ud800"], "surrogates"),
        (Type.TEXT, ["x" * 10_001], "at most 10,000 characters"),
        (Type.INTEGER, ["1"], "'1' is not a value of type integer"),
        (Type.INTEGER, [1.0], "not a value of type integer"),
        (Type.INTEGER, [True], "not a value of type integer"),
        (Type.INTEGER, [2**63], "not a value of type integer"),
        (Type.BOOLEAN, [1], "not a value of type boolean"),
        (Type.DATE, [datetime(2024, 1, 1)], "not a value of type date"),
        (Type.TIMESTAMP, [date(2024, 1, 1)], "not a value of type timestamp"),
        (Type.REAL, [0.5], "a column of type real cannot have keys"),
        (Type.INTEGER, range(MOST_KEYS + 1), "at most 1,000,000 keys"),
    ],
)
def test_wrong_keys_are_refused_in_one_sentence(kind: Type, keys: object, said: str) -> None:
    with pytest.raises(CatalogError) as caught:
        read_keys(kind, keys)  # type: ignore[arg-type]  # some are wrong on purpose
    assert said in str(caught.value)


def test_keys_from_one_value_to_another_hold_both() -> None:
    assert keys_between(Type.INTEGER, -1, 1) == (-1, 0, 1)
    days = keys_between(Type.DATE, date(2024, 2, 28), date(2024, 3, 1))
    assert days == (date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1))


@pytest.mark.parametrize(
    ("kind", "first", "last"),
    [
        (Type.INTEGER, 2, 1),
        (Type.INTEGER, 0, 2**62),
        (Type.INTEGER, None, 2),
        (Type.TEXT, "a", "c"),
        (Type.DATE, 2020, 2021),
        (Type.REAL, 1, 2),
    ],
)
def test_keys_between_what_has_nothing_between_are_refused(
    kind: Type, first: object, last: object
) -> None:
    with pytest.raises(CatalogError):
        keys_between(kind, first, last)


@pytest.mark.parametrize("text", ["int", "Integer", "", None, 5, ["text"]])
def test_an_unknown_type_is_told_the_known_ones(text: object) -> None:
    with pytest.raises(CatalogError, match="integer, real, text, boolean, date, timestamp"):
        read_type(text)
