# SPDX-License-Identifier: Apache-2.0
import inspect
import warnings
from collections.abc import Iterator
from datetime import date

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sordino as so
from sordino import dbapi

GROUPS = "SELECT ward, COUNT(*) AS n FROM data GROUP BY ward"
WARDS = ("north", "south", "west")
FRAME = pa.table(
    {
        "ward": ["north", "south"] * 500,
        "cost": [float(k % 97) for k in range(1_000)],
        "day": [date(2024, 1 + k % 12, 1) for k in range(1_000)],
    }
)


@pytest.fixture
def session() -> Iterator[so.Session]:
    with so.table(
        FRAME,
        unit="row",
        bounds={"cost": (0, 100), "day": (2024, 2024)},
        keys={"ward": WARDS},
        epsilon=100,
    ) as opened:
        yield opened


@pytest.fixture
def cursor(session: so.Session) -> dbapi.Cursor:
    return dbapi.connect(session, epsilon=1).cursor()


def names(cursor: dbapi.Cursor) -> list[str]:
    assert cursor.description is not None
    return [column[0] for column in cursor.description]


def left(session: so.Session) -> str:
    return str(session.budget[0].left)


def test_rows_are_the_values_of_the_answer(cursor: dbapi.Cursor) -> None:
    rows = cursor.execute(GROUPS).fetchall()
    assert [row[0] for row in rows] == list(WARDS)
    assert rows == [(row["ward"].value, row["n"].value) for row in cursor.answer]
    assert cursor.rowcount == 3
    assert cursor.fetchall() == []


def test_the_whole_answer_is_at_hand(cursor: dbapi.Cursor) -> None:
    cursor.execute(GROUPS)
    cell = cursor.answer.cell(0, "n")
    assert cell.half_width is not None
    assert str(cursor.answer.price) == "epsilon 1"


def test_rows_are_fetched_one_by_one_or_several_at_a_time(cursor: dbapi.Cursor) -> None:
    rows = cursor.execute(GROUPS).fetchall()
    assert list(cursor.execute(GROUPS)) == rows
    assert cursor.fetchone() is None
    cursor.execute(GROUPS)
    assert [cursor.fetchone(), cursor.fetchone(), cursor.fetchone(), cursor.fetchone()] == [
        *rows,
        None,
    ]
    cursor.execute(GROUPS)
    assert (cursor.fetchmany(), cursor.fetchmany(5), cursor.fetchmany()) == (rows[:1], rows[1:], [])
    cursor.arraysize = 2
    cursor.execute(GROUPS)
    assert (cursor.fetchmany(), cursor.fetchall()) == (rows[:2], rows[2:])
    with pytest.raises(dbapi.ProgrammingError, match="at least 0"):
        cursor.fetchmany(-1)


def test_a_description_has_names_and_types(cursor: dbapi.Cursor) -> None:
    cursor.execute(
        "SELECT day, COUNT(*) AS n, AVG(cost) AS mean, TOP(2, ward) AS most, COUNT(*) > 5 AS many "
        "FROM data GROUP BY day LIMIT 5"
    )
    assert cursor.description is not None
    assert all(column[2:] == (None,) * 5 for column in cursor.description)
    assert {column[0]: column[1] for column in cursor.description} == {
        "day": "DATE",
        "n": "BIGINT",
        "mean": "DOUBLE",
        "most": "VARCHAR[]",
        "many": "BOOLEAN",
    }
    row = cursor.fetchone()
    assert row is not None
    assert [type(value) for value in row] == [date, int, float, list, bool]
    families = [dbapi.DATETIME, dbapi.NUMBER, dbapi.NUMBER, dbapi.STRING, dbapi.NUMBER]
    assert [column[1] for column in cursor.description] == families


def test_intervals_stand_beside_noisy_columns(session: so.Session) -> None:
    cursor = dbapi.connect(session, epsilon=1, intervals=True).cursor()
    cursor.execute("SELECT ward, COUNT(*) AS n, AVG(cost) AS n_low FROM data GROUP BY ward")
    assert names(cursor) == ["ward", "n", "n_low_2", "n_high", "n_low", "n_low_low", "n_low_high"]
    for at, row in enumerate(cursor):
        cell = cursor.answer.cell(at, "n")
        assert row[1:4] == (cell.value, cell.low, cell.high)


def test_before_a_question_there_is_nothing_to_fetch(cursor: dbapi.Cursor) -> None:
    assert cursor.description is None
    assert cursor.rowcount == -1
    for use in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, lambda: cursor.answer):
        with pytest.raises(dbapi.ProgrammingError, match="call execute first"):
            use()


def test_after_a_refusal_the_last_answer_is_gone(cursor: dbapi.Cursor) -> None:
    cursor.execute(GROUPS)
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("SELECT ward FROM data")
    assert cursor.description is None
    with pytest.raises(dbapi.ProgrammingError, match="call execute first"):
        cursor.fetchall()


def test_a_price_can_be_stated_for_one_question(session: so.Session, cursor: dbapi.Cursor) -> None:
    cursor.execute(GROUPS, epsilon=0.25)
    assert left(session) == "epsilon 99.75"
    cursor.execute("SELECT COUNT(*) AS n FROM data", within=50)
    half = cursor.answer.cell(0, "n").half_width
    assert half is not None
    assert 3 < half <= 50
    cursor.execute(GROUPS, confidence=0.5)
    assert str(cursor.answer.price) == "epsilon 1"
    assert cursor.answer.confidence == 0.5


def test_without_a_price_nothing_is_asked(session: so.Session) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="say what the answer may cost"):
        dbapi.connect(session).cursor().execute(GROUPS)
    assert left(session) == "epsilon 100"


def test_an_argument_that_is_not_known_is_refused(
    session: so.Session, cursor: dbapi.Cursor
) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="'price' is not known here"):
        cursor.execute(GROUPS, price=1)  # type: ignore[call-arg]  # the point of the test
    assert left(session) == "epsilon 100"


def test_a_question_takes_all_that_a_session_takes() -> None:
    taken = set(inspect.signature(so.Session.ask).parameters) - {"self", "sql"}
    assert set(dbapi.Terms.__annotations__) == taken


def test_the_same_question_with_the_same_values_costs_nothing_again(
    session: so.Session, cursor: dbapi.Cursor
) -> None:
    asked = "SELECT COUNT(*) AS n FROM data WHERE ward = ? AND cost < ?"
    first = cursor.execute(asked, ["north", 50]).fetchall()
    assert cursor.execute(asked, ("north", 50)).fetchall() == first
    assert cursor.execute(asked.replace("?", "'north'", 1).replace("?", "50")).fetchall() == first
    assert left(session) == "epsilon 99"
    cursor.execute(asked, ["south", 50])
    cursor.execute(asked, ["south", 50], fresh=True)
    assert left(session) == "epsilon 97"


def test_values_of_the_wrong_number_cost_nothing(session: so.Session, cursor: dbapi.Cursor) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="give one value for each mark"):
        cursor.execute("SELECT COUNT(*) AS n FROM data WHERE ward = ?")
    assert left(session) == "epsilon 100"


def test_many_questions_at_once_are_refused(session: so.Session, cursor: dbapi.Cursor) -> None:
    with pytest.raises(dbapi.NotSupportedError, match="call execute for each"):
        cursor.executemany("SELECT COUNT(*) FROM data WHERE ward = ?", [["north"], ["south"]])
    assert left(session) == "epsilon 100"


def test_a_closed_cursor_cannot_be_used(session: so.Session, cursor: dbapi.Cursor) -> None:
    with cursor:
        cursor.setinputsizes([1])
        cursor.setoutputsize(1, 0)
        cursor.execute(GROUPS)
    for use in (cursor.fetchall, lambda: cursor.execute(GROUPS, fresh=True)):
        with pytest.raises(dbapi.InterfaceError, match="cursor is closed"):
            use()
    assert left(session) == "epsilon 99"


def read_sql(sql: str, connection: dbapi.Connection, **options: object) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "pandas only supports SQLAlchemy", UserWarning)
        return pd.read_sql(sql, connection, **options)


def test_pandas_reads_an_answer(session: so.Session) -> None:
    connection = dbapi.connect(session, epsilon=1, intervals=True)
    frame = read_sql(f"{GROUPS} HAVING COUNT(*) > ?", connection, params=[-1_000])
    assert list(frame.columns) == ["ward", "n", "n_low", "n_high"]
    assert list(frame["ward"]) == list(WARDS)
    assert (frame["n_low"] <= frame["n"]).all()
    assert frame["n"].dtype == "int64"
    assert left(session) == "epsilon 99"


def test_pandas_shows_why_a_question_is_refused(session: so.Session) -> None:
    connection = dbapi.connect(session, epsilon=101)
    errors = dbapi.OperationalError, pd.errors.DatabaseError  # pandas wraps it or not, by version
    with pytest.raises(errors, match="this asks for epsilon 101, but epsilon 100 is left"):
        read_sql(GROUPS, connection)


def test_polars_reads_an_answer(session: so.Session) -> None:
    asked = "SELECT ward, COUNT(*) AS n, MIN(cost) AS low, TOP(1, day) AS busy FROM data"
    frame = pl.read_database(
        f"{asked} WHERE cost < ? GROUP BY ward",
        dbapi.connect(session, epsilon=1),
        execute_options={"parameters": [50], "epsilon": 0.5},
    )
    assert frame.schema == {
        "ward": pl.String,
        "n": pl.Int64,
        "low": pl.Float64,
        "busy": pl.List(pl.Date),
    }
    assert frame["ward"].to_list() == list(WARDS)
    assert left(session) == "epsilon 99.5"


def test_polars_reads_in_batches(session: so.Session) -> None:
    batches = pl.read_database(
        GROUPS, dbapi.connect(session, epsilon=1), iter_batches=True, batch_size=2
    )
    assert [len(batch) for batch in batches] == [2, 1]
    assert left(session) == "epsilon 99"
