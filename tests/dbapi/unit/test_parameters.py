# SPDX-License-Identifier: Apache-2.0
import dataclasses
import math
from collections.abc import Iterator
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.catalog.frames import frame_catalog
from sordino.dbapi.types import bound, literal
from sordino.errors import QueryError
from sordino.query.tree import Literal
from sordino.sql.parse import parse

CATALOG = frame_catalog(
    {"ward": ["a"], "cost": [1.0], "day": [date(2024, 5, 1)]},
    unit="row",
    types={"ward": "text", "cost": "real", "day": "date"},
    epsilon=1,
)
SIGNS = "'\"\\-/*;?$e%_ \n)(:,`#"
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
LETTERS = st.characters(exclude_categories=("Cc", "Cs"), exclude_characters=TURNING)
TEXTS = st.text(st.sampled_from(SIGNS) | LETTERS, max_size=60)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
DAYS = st.dates()
MOMENTS = st.datetimes()


class Colour(StrEnum):
    RED = "it's red"


class Size(IntEnum):
    LARGE = 3


def literals(node: object) -> Iterator[object]:
    """The values that stand anywhere in a question."""
    if isinstance(node, Literal):
        yield node.value
    elif isinstance(node, tuple):
        for part in node:
            yield from literals(part)
    elif dataclasses.is_dataclass(node):
        for field in dataclasses.fields(node):
            yield from literals(getattr(node, field.name))


def read(template: str, *values: object) -> list[object]:
    """The values that the reader of questions finds in a condition."""
    asked = f"SELECT COUNT(*) FROM data WHERE {template}"  # noqa: S608 - nothing runs it
    question = parse(bound(asked, values), CATALOG)
    return list(literals(question.rows))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (False, "FALSE"),
        (0, "0"),
        (-12, "-12"),
        (0.1, "0.1"),
        (1e22, "1e+22"),
        (Decimal("-2.50"), "-2.50"),
        ("", "''"),
        ("it's", "'it''s'"),
        ("'; DROP TABLE data; --", "'''; DROP TABLE data; --'"),
        ("back\\slash'", "'back\\slash'''"),
        (date(2024, 5, 1), "DATE '2024-05-01'"),
        (datetime(2024, 5, 1, 12), "TIMESTAMP '2024-05-01 12:00:00'"),
        (np.int64(7), "7"),
        (np.float64(2.5), "2.5"),
        (pd.Timestamp("2024-05-01 12:00"), "TIMESTAMP '2024-05-01 12:00:00'"),
        (Colour.RED, "'it''s red'"),
        (Size.LARGE, "3"),
    ],
)
def test_a_value_is_written_as_sql_reads_it(value: object, written: str) -> None:
    assert literal(value) == written


@pytest.mark.parametrize("value", [math.nan, -math.inf, Decimal("sNaN"), Decimal("Infinity")])
def test_a_number_that_is_not_finite_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        literal(value)


@pytest.mark.parametrize("value", [b"bytes", time(12), object(), [1, 2], 1j])
def test_a_value_of_another_kind_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="a value is None, a truth value, a number"):
        literal(value)


def test_a_moment_with_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        literal(datetime(2024, 5, 1, tzinfo=timezone.utc))  # noqa: UP017 - one of many zones


@given(TEXTS)
def test_any_text_is_read_back_as_it_was_given(text: str) -> None:
    assert read("ward = ?", text) == [text]


@given(TEXTS, TEXTS)
def test_texts_side_by_side_stay_apart(first: str, second: str) -> None:
    assert read("ward IN (?,?) AND cost > ?", first, second, 5) == [first, second, 5]


@given(NUMBERS)
def test_any_number_is_read_back_as_it_was_given(number: float) -> None:
    assert read("cost > ?", number) == [number]
    assert read("cost>?AND ward = 'a'", number) == [number, "a"]


@given(DAYS, MOMENTS)
def test_any_day_and_moment_is_read_back(day: date, moment: datetime) -> None:
    assert read("day >= ? AND day < ?", day, moment) == [day, moment]


@given(st.integers(0, 2**53), TEXTS)
def test_a_minus_before_a_negative_number_begins_no_comment(number: int, text: str) -> None:
    assert len(read("cost > -? AND ward = ?", -number, text)) == 2


def test_truth_values_and_missing_ones_are_read_back() -> None:
    assert read("(cost > 1) = ? AND ward = COALESCE(ward, ?)", True, None) == [1, True, None]


def test_a_mark_may_stand_before_a_cast() -> None:
    assert read("cost > ?::DOUBLE", 5) == read("cost > 5::DOUBLE")


@pytest.mark.parametrize(
    "kept",
    ["ward = '?'", "ward = 'it''s ?'", 'ward = "?"', "cost > 1 -- ?", "cost > /* ? '?' */ 1"],
)
def test_marks_in_texts_names_and_comments_are_left_alone(kept: str) -> None:
    assert bound(kept, []) == kept
    assert bound(f"cost < ? AND {kept}", [5]) == f"cost < 5 AND {kept}"


def test_a_text_beside_a_letter_is_no_text_with_escapes() -> None:
    written = bound("SELECT COUNT(*) FROM data WHERE ward = e?", ["\\' OR 1 = 1 --"])
    assert written.endswith("e '\\'' OR 1 = 1 --'")
    with pytest.raises(QueryError):
        parse(written, CATALOG)


@pytest.mark.parametrize("values", [None, [], ["a"], ["a", 1, 2]])
def test_too_few_or_too_many_values_are_refused(values: list[object] | None) -> None:
    with pytest.raises(ValueError, match="give one value for each mark"):
        bound("ward = ? AND cost > ?", values)


@pytest.mark.parametrize("values", ["ab", b"ab", {"a": 1, "b": 2}, {1, 2}, 5])
def test_values_that_are_no_list_are_refused(values: object) -> None:
    with pytest.raises(TypeError, match="given as a list"):
        bound("ward = ? AND cost > ?", values)  # type: ignore[arg-type]  # the point of the test


@pytest.mark.parametrize("text", ["ward = 'open ?", "ward = ? /* open", "?" * 20_001])
def test_a_text_that_cannot_be_read_is_left_to_be_refused(text: str) -> None:
    assert bound(text, ["a"]) == text
    with pytest.raises(QueryError):
        parse(text, CATALOG)


def test_a_question_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="a question is a text, not int"):
        bound(5, [])  # type: ignore[arg-type]  # the point of the test
