# SPDX-License-Identifier: Apache-2.0
import json
from fractions import Fraction

import pytest

from sordino.answer import Cell, Column
from sordino.answer.answer import half_width
from sordino.query.types import Type
from tests.answer.unit.sample import COUNTS, FACTS, FULL, KEYS, SURE, answer


def test_cells_are_found_by_row_and_title() -> None:
    assert FULL.cell(0, "n") == Cell(1204, 31.0, 0.95, 1173.0, 1235.0)
    assert FULL.cell(-1, "n").value == 0
    assert FULL.cell(0, 0).value == "flu"


def test_columns_and_rows_are_found_by_title_and_place() -> None:
    assert [cell.value for cell in FULL["n"]] == [1204, -3, 0]
    assert FULL[1]["cost"].half_width == 1.25
    assert len(FULL) == 3
    assert [row["n"].value for row in FULL] == [1204, -3, 0]


def test_a_row_or_title_that_is_not_there_is_an_error() -> None:
    with pytest.raises(IndexError, match="no row 3; there are 3, from 0 to 2"):
        FULL[3]
    with pytest.raises(IndexError, match="no row -4"):
        FULL.cell(-4, "n")
    with pytest.raises(IndexError, match="the answer has no rows"):
        answer(COUNTS.take([]))[0]
    with pytest.raises(KeyError, match="no column 'm'; there are 'disease'"):
        FULL["m"]


def test_a_cell_is_a_number_where_it_holds_one() -> None:
    assert (int(FULL.cell(0, "n")), float(FULL.cell(0, "cost"))) == (1204, 10.5)
    for cell in (FULL.cell(0, "disease"), FULL.cell(2, "cost")):
        with pytest.raises(TypeError, match="holds no number"):
            float(cell)


def test_a_half_width_reaches_the_farther_end() -> None:
    assert half_width(2.25, 1.0, 3.0) == 1.25
    assert half_width(1.0, 1.0, 1.0) == 0.0


def test_a_half_width_is_never_rounded_down() -> None:
    value, low = 0.1, 1e-17
    assert Fraction(value) - Fraction(half_width(value, low, value)) <= Fraction(low)


def test_keys_and_values_without_an_interval_have_no_half_width() -> None:
    assert FULL.cell(0, "disease") == Cell("flu")
    assert FULL.cell(2, "cost").half_width is None


def test_the_price_and_what_is_left_can_be_read() -> None:
    assert (str(FULL.price), str(FULL.left)) == ("epsilon 0.5", "epsilon 1.5")
    assert FULL.epsilon == 0.5


def test_a_repr_tells_no_numbers() -> None:
    assert repr(FULL) == "<answer: 3 rows of disease, day, n, cost, often, top>"


def test_a_record_is_json_and_always_the_same_text() -> None:
    text = FULL.record_json()
    assert text == FULL.record_json()
    record = json.loads(text)
    assert record["question"] == FACTS["question"]
    assert record["ledger"]["number"] == 3
    assert record["columns"][2] == {"title": "n", "type": "integer"}
    assert next(iter(record)) == "record"


def test_a_record_changes_with_any_number_of_the_answer() -> None:
    other = Column("n", Type.INTEGER, "measure", (1204, -3, 1), COUNTS.low, COUNTS.high, SURE)
    digests = {answer(KEYS, n).record()["answer_sha256"] for n in (COUNTS, other)}
    assert len(digests) == 2


def test_changing_a_record_does_not_change_the_answer() -> None:
    before = FULL.record_json()
    FULL.record()["software"]["name"] = "other"
    FULL.record()["tables"].append("other")
    assert FULL.record_json() == before
