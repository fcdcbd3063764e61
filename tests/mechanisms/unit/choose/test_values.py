# SPDX-License-Identifier: Apache-2.0
import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sordino.mechanisms.choose.scores import VALUES
from sordino.numbers.columns import read_finite, read_numbers

DAY = datetime.date(2020, 1, 1)


def test_numbers_of_every_type_are_read_as_they_print() -> None:
    tenth = Fraction(-1, 10)
    for value in (-0.1, np.float32(-0.1), np.float64(-0.1), Decimal("-0.1"), tenth):
        assert read_finite("low", value) == tenth
    assert read_finite("low", np.int16(-7)) == -7
    assert read_finite("low", 2**100) == 2**100


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float32("-inf"), Decimal("sNaN")])
def test_what_is_not_finite_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^low must be a finite number, got -?(nan|inf|snan)"):
        read_finite("low", value)


@pytest.mark.parametrize(
    "value",
    [DAY, datetime.datetime(2020, 1, 1), datetime.timedelta(3), np.datetime64(DAY)],
    ids=lambda value: type(value).__name__,
)
def test_dates_are_to_be_turned_into_numbers(value: Any) -> None:
    kind = type(value).__name__
    hint = r"; turn dates into numbers, such as \(d - START\)\.dt\.days$"
    with pytest.raises(TypeError, match=f"^low must be a finite number, .* type {kind}{hint}"):
        read_finite("low", value)
    with pytest.raises(TypeError, match=f"^values must be numbers, not {kind}{hint}"):
        read_numbers(VALUES, [value])


def test_columns_of_dates_are_to_be_turned_into_numbers_too() -> None:
    days = np.array(["2020-01-01"], dtype="M8[ns]")
    columns = [days, days - days, pd.Series(days), pd.Series(days).dt.tz_localize("UTC")]
    columns.append([pd.Timestamp(DAY)])
    for column in columns:
        with pytest.raises(TypeError, match=r"^values must be numbers, .*; turn dates into"):
            read_numbers(VALUES, column)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1"], "values must be numbers, not str"),
        (np.array(["1"]), "values must be numbers, not an array of strings"),
        ([True], "values must be numbers, not booleans; turn them into 0 and 1 with int"),
        ([[1], [2, 3]], "values must be numbers, not list"),
        ([[1], [2]], "values must be numbers, not list"),
        ({1: 2}, "values must be a list or a column of numbers, got a value of type dict"),
    ],
    ids=["text", "texts", "booleans", "uneven", "table", "mapping"],
)
def test_what_is_no_column_is_told_by_its_type(values: Any, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        read_numbers(VALUES, values)
    assert str(raised.value).startswith(message)
    assert "release" not in str(raised.value)
