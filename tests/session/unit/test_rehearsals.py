# SPDX-License-Identifier: Apache-2.0
"""A rehearsal has the price of the question in earnest, costs nothing, and says what it is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sordino as so
from sordino.answer import Answer
from sordino.answer.answer import REHEARSAL, from_bytes, to_bytes
from sordino.errors import UnknownName
from sordino.ledger.entry import read_seen
from sordino.session import Rehearsal, Session, service
from tests.fixtures.hospital import hospital
from tests.fixtures.sql_cases import accepted
from tests.session.unit.clinic import SQL, charges, clinic

MARK = "REHEARSAL ON INVENTED ROWS"
BY_COST = "SELECT COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE cost > 4"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with so.open(clinic(tmp_path), who="ann") as opened:
        yield opened


def test_a_rehearsal_costs_nothing_and_has_the_true_price(session: Session) -> None:
    before = session.budget
    answer = session.rehearse(BY_COST, epsilon=1)
    assert (session.budget, charges(session)) == (before, 0)
    assert answer.price == session.explain(BY_COST, epsilon=1).price
    assert answer.charge.who == "ann"
    assert session.ask(BY_COST, epsilon=1).titles == answer.titles


def test_a_rehearsal_does_not_look_at_the_data(session: Session) -> None:
    """The clinic has a hundred visits of a hundred people; the invented one has others."""
    count = session.rehearse("SELECT COUNT(DISTINCT person) AS n FROM visits", epsilon=1000)
    assert 900 < float(count.cell(0, "n")) <= 1000


def test_a_rehearsal_says_what_it_is_wherever_it_is_shown(session: Session) -> None:
    answer = session.rehearse(SQL, epsilon=1)
    assert answer.rehearsed
    assert answer.notes[0] == REHEARSAL
    assert REHEARSAL.startswith("rehearsal on invented rows")
    assert str(answer).startswith(MARK)
    assert "nothing was charged; in earnest the price is epsilon 1;" in str(answer)
    assert f'<p class="r">{MARK}</p><table>' in answer._repr_html_()
    assert repr(answer) == "<rehearsal on invented rows: 1 row of n>"
    table = answer.to_arrow()
    assert table.column_names[0] == "rehearsal"
    assert table.column(0).to_pylist() == ["invented rows"]
    shape = service.answer_to_json(answer, session.budget[0])
    assert next(iter(shape.items())) == ("rehearsal", REHEARSAL)
    assert shape["receipt"] is None
    assert answer.record()["rehearsal"] is True
    assert answer.certificate().startswith(f"{MARK}: THIS CERTIFIES NOTHING")
    with pytest.raises(ValueError, match="a receipt is written as"):
        read_seen(answer.receipt)  # so that no ledger is held to it


def test_the_marks_outlive_being_written(session: Session) -> None:
    answer = session.rehearse(SQL, epsilon=1)
    assert from_bytes(to_bytes(answer)) == answer
    assert from_bytes(to_bytes(answer)).rehearsed
    earnest = session.ask(SQL, epsilon=1)
    assert not earnest.rehearsed
    assert "rehears" not in json.dumps(service.answer_to_json(earnest, session.budget[0]))
    assert "rehears" not in str(earnest) + str(earnest._repr_html_()) + earnest.certificate()


def test_a_column_of_the_question_keeps_its_name(session: Session) -> None:
    answer = session.rehearse("SELECT COUNT(*) AS rehearsal FROM visits", epsilon=1)
    assert answer.to_arrow().column_names[:2] == ["rehearsal_2", "rehearsal"]


def test_a_picture_says_that_it_is_a_rehearsal(session: Session) -> None:
    figure = session.rehearse(SQL, epsilon=1).plot()
    assert MARK in figure.get_supxlabel()


def test_a_refusal_is_that_of_the_question_in_earnest(session: Session) -> None:
    for ask in (session.ask, session.rehearse):
        with pytest.raises(UnknownName, match="no column 'csot'"):
            ask("SELECT SUM(csot) FROM visits", epsilon=1)


def test_a_closed_session_rehearses_no_more(session: Session) -> None:
    session.rehearse(SQL, epsilon=1)
    session.close()
    with pytest.raises(ValueError, match="this session is closed"):
        session.rehearse(SQL, epsilon=1)


def test_who_has_the_catalog_alone_can_rehearse(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path, ledger="memory") as opened:
        price = opened.explain(BY_COST, epsilon=1).price
    (tmp_path / "visits.parquet").unlink()
    with so.rehearse(path) as rehearsal:
        assert isinstance(rehearsal, Rehearsal)
        assert repr(rehearsal) == "<rehearsal on invented rows of visits>"
        assert rehearsal.ask(BY_COST, epsilon=1).price == price
        assert rehearsal.explain(BY_COST, epsilon=1).price == price
        assert rehearsal.plan(BY_COST, epsilon=1).columns[0].title == "n"
    assert not (tmp_path / "sordino.ledger").exists()


def test_keys_come_from_the_public_table_as_it_is(tmp_path: Path) -> None:
    pq.write_table(pa.table({"name": ["ash", "elm"]}), tmp_path / "cities.parquet")
    (tmp_path / "sordino.toml").write_text(
        """[budget]
epsilon = 1000
[tables.people]
parquet = "not there.parquet"
unit = "row"
columns.city = { type = "text", keys_from = "cities.name" }
[tables.cities]
parquet = "cities.parquet"
public = true
columns.name = "text"
""",
        "utf-8",
    )
    with so.rehearse(tmp_path / "sordino.toml") as rehearsal:
        sql = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
        answer = rehearsal.ask(sql, epsilon=500)
    assert [cell.value for cell in answer["city"]] == ["ash", "elm"]
    assert all(float(cell) > 0 for cell in answer["n"])


@pytest.fixture(scope="module")
def rehearsal() -> Iterator[Rehearsal]:
    with so.rehearse(hospital()) as made:
        yield made


@pytest.mark.parametrize("sql", accepted()[::4])
def test_any_question_can_be_rehearsed(sql: str, rehearsal: Rehearsal) -> None:
    answer: Answer = rehearsal.ask(sql, epsilon=3)
    assert answer.rehearsed
    assert answer.titles == tuple(c.title for c in rehearsal.plan(sql, epsilon=3).columns)
