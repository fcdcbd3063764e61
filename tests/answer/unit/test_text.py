# SPDX-License-Identifier: Apache-2.0
import math
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.answer import Column
from sordino.answer.answer import half_width
from sordino.answer.render import key_texts, number_pair, plain, printable, with_error
from sordino.query.types import Type
from tests.answer.unit.sample import COUNTS, FULL, KEYS, SURE, answer


def test_an_answer_is_an_aligned_table_with_its_price_and_notes() -> None:
    lines = str(answer(KEYS, COUNTS)).splitlines()
    assert lines[0].split() == ["disease", "n"]
    assert set(lines[1]) == {"-", " "}
    assert lines[2].split() == ["flu", "1,204", "±", "31"]
    assert lines[3].split() == ["a<b>\\x1b[31m", "-3", "±", "31"]
    assert len({line.index("±") for line in lines[2:5]}) == 1
    assert lines[6].startswith("price epsilon 0.5; epsilon 1.5 left; each ± holds with 95 %")
    assert lines[7] == "- limits are not covered"


def test_where_no_error_bar_can_be_given_there_is_a_question_mark() -> None:
    assert "null ± ?" in str(FULL)


def test_no_text_can_reach_the_terminal_as_a_command() -> None:
    assert "\x1b" not in str(FULL)
    assert "\x1b" not in str(answer(Column("a\x1b[2J", Type.TEXT, "key", ("x",)), notes=("\x07",)))


def test_a_long_answer_is_cut_in_the_middle_and_says_so() -> None:
    values = tuple(range(1000))
    ends = tuple(map(float, values))
    text = str(answer(Column("n", Type.INTEGER, "measure", values, ends, ends, SURE)))
    assert "... 940 more rows" in text
    assert "999 ± 0" in text


def test_an_answer_without_rows_says_so() -> None:
    assert "(no rows)" in str(answer(Column("n", Type.INTEGER, "measure", (), (), (), SURE)))


def test_years_among_the_keys_are_no_quantities() -> None:
    assert "2024" in str(answer(Column("year", Type.INTEGER, "key", (2024,))))


@pytest.mark.parametrize(
    ("value", "width", "shown"),
    [
        (1204, 31.0, ("1,204", "31")),
        (1204, 30.2, ("1,204", "31")),
        (0.123456, 0.00123, ("0.1235", "0.0013")),
        (5.0, 2.0, ("5.0", "2.0")),
        (5, 2.0, ("5", "2")),
        (12, 3.2, ("12", "4")),
        (27.281, 0.08, ("27.281", "0.080")),
        (27.2, 0.0995, ("27.200", "0.100")),
        (12.34, 1.0, ("12.3", "1.1")),
        (12.5, 1.0, ("12.5", "1.0")),
        (7, 0.0, ("7", "0")),
        (-0.0001, 0.5, ("0.00", "0.51")),
        (1e30, 1e20, ("1e+30", "1e+20")),
    ],
)
def test_numbers_have_the_digits_that_their_error_bars_leave(
    value: float, width: float, shown: tuple[str, str]
) -> None:
    assert number_pair(value, width) == shown


@given(
    st.floats(-1e12, 1e12) | st.integers(-(10**12), 10**12),
    st.floats(1e-5, 1e12),
)
def test_the_half_width_that_is_shown_is_never_too_small(value: float, width: float) -> None:
    number, error = number_pair(value, width)
    shown = float(error.replace(",", ""))
    assert shown >= width
    assert shown <= (1.2 * width + 1 if isinstance(value, int) else 1.2 * width)
    assert len(number.partition(".")[2]) == len(error.partition(".")[2])


def test_an_interval_that_lies_unevenly_is_shown_by_its_ends() -> None:
    column = Column("n", Type.INTEGER, "measure", (0, 5), (0.0, 1.0), (31.0, 10.5), SURE)
    assert str(column.cell(0)) == "0 (0 to 31)"
    assert str(column.cell(1)) == "5 ± 6"
    assert "0 (0 to 31)" in str(answer(column))
    skewed = Column("x", Type.REAL, "measure", (2.718,), (2.5,), (4.118,), SURE)
    assert str(skewed.cell(0)) == "2.7 (2.5 to 4.2)"


@given(st.floats(-1e9, 1e9), st.floats(0, 1e6), st.floats(1e-3, 1e6))
def test_the_ends_that_are_shown_hold_those_that_were_found(
    value: float, below: float, above: float
) -> None:
    low, high = value - below, value + above
    _, error = with_error(value, half_width(value, low, high), low, high)
    if error.startswith("("):
        ends = [float(end.replace(",", "")) for end in error[1:-1].split(" to ")]
        assert ends[0] <= low
        assert ends[1] >= high


def test_texts_are_cut_only_where_the_line_is_longer_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "Saint-Rémy-" + "x" * 60 + "-de-Provence"
    long = answer(Column("town", Type.TEXT, "key", (name,) * 3), COUNTS)
    monkeypatch.setenv("COLUMNS", "120")
    assert name in str(long)
    monkeypatch.setenv("COLUMNS", "20")
    lines = str(long).splitlines()
    assert max(map(len, lines[:5])) == 60
    assert "Saint-Rémy-" in lines[2]
    assert "…" in lines[2]
    assert "-de-Provence" in lines[2]
    assert "1,204 ± 31" in lines[2]


def test_moments_at_midnight_are_days() -> None:
    days = Column("d", Type.TIMESTAMP, "key", (datetime(2024, 1, 1), None))
    hours = Column("h", Type.TIMESTAMP, "key", (datetime(2024, 1, 1), datetime(2024, 1, 1, 5)))
    assert key_texts(days, range(2)) == ["2024-01-01", "null"]
    assert key_texts(hours, range(2)) == ["2024-01-01 00:00:00", "2024-01-01 05:00:00"]


@given(st.text())
def test_a_value_is_one_line(text: str) -> None:
    assert printable(text).isprintable()
    assert plain(text) == printable(text)


def test_an_infinite_value_is_shown() -> None:
    assert plain(math.inf) == "inf"
