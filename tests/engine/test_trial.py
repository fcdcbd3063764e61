# SPDX-License-Identifier: Apache-2.0
"""What the engine cannot carry out is refused before it is charged, whatever the data is."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

import sordino as so
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import QueryError, SealedError, Unsupported
from sordino.plan.plan import Bounded, Cells, RowCount, Shares
from sordino.query.tree import Scan
from sordino.query.types import Type
from sordino.session.session import Session
from tests.engine.engines import RECEIPT, catalog, frame, instead, rows_of, table

HELD = pa.table({"who": [1, 2, 3], "a": [1, 2, 3], "r": [0.5, 1.5, 2.5], "t": ["x", "y", "z"]})
TYPES = {"who": Type.INTEGER, "v": Type.INTEGER}
COUNT = Bounded(Scan("t", ()), (), Shares(rows=1), (Cells((RowCount(),)),))


@pytest.fixture
def data() -> Iterator[Session]:
    with so.table(
        HELD,
        unit="who",
        epsilon=100,
        delta=1e-6,
        bounds={"a": (0, 10), "r": (0, 10)},
        rows=1,
    ) as session:
        yield session


@pytest.mark.parametrize("name", ["LEAST", "GREATEST"])
@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ("data", "a, a, a"),
        ("data", "r, r, r"),
        ("data", "a, 3, a, a"),
        ("data", "a, r, a, r, a, r"),
        ("(SELECT who, a AS p, a AS q, a AS s FROM data)", "p, q, s"),
    ],
)
def test_one_column_may_be_named_many_times(
    data: Session, name: str, source: str, arguments: str
) -> None:
    sql = f"SELECT SUM(CLAMP({name}({arguments}), 0, 10)) AS s FROM {source}"  # noqa: S608 - a question
    answer = data.ask(sql, epsilon=10)
    value = answer.cell(0, "s").value
    assert isinstance(value, int | float)
    assert abs(value - 6) < 40


def test_a_key_that_cannot_be_bound_is_refused_for_nothing(data: Session) -> None:
    sql = "SELECT CAST(1e300 AS BIGINT) AS k, COUNT(*) FROM data GROUP BY k"
    before = str(data.budget)
    for question in (data.ask, data.explain):
        with pytest.raises(QueryError):
            question(sql, epsilon=1)
    assert str(data.budget) == before
    data.ask("SELECT COUNT(*) FROM data", epsilon=1)


@pytest.fixture
def engine() -> Iterator[DuckdbEngine]:
    held = frame(TYPES, [(1, 5), (2, None)])
    opened = DuckdbEngine(catalog(table("t", TYPES, held, unit="who")), threads=1)
    yield opened
    opened.close()


BROKEN = "SELECT error('planned') AS s0 FROM t0"


def test_a_statement_that_fails_is_refused_and_the_trial_goes_on(
    engine: DuckdbEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        instead(engine, patch, BROKEN)
        for _ in range(2):
            with caplog.at_level(logging.ERROR, "sordino.owner"), pytest.raises(Unsupported):
                engine.prepare(COUNT)
    assert "planned" in caplog.text  # it is of the question alone
    engine.prepare(COUNT)
    assert rows_of(engine, COUNT) == [{(2 * 2**16,)}]


def test_a_trial_reads_no_row(engine: DuckdbEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that fails on a row that is there, and on no other, is not refused."""
    failing = "SELECT sum(CASE WHEN v = 5 THEN error('seen') ELSE 0 END)::BIGINT AS s0 FROM t0"
    with monkeypatch.context() as patch:
        instead(engine, patch, failing)
        engine.prepare(COUNT)
        with pytest.raises(SealedError):
            engine.run(COUNT, RECEIPT, salt=1)


def test_a_statement_is_tried_once(engine: DuckdbEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.prepare(COUNT)

    def run(*_: object) -> None:
        pytest.fail("it was tried again")

    monkeypatch.setattr(engine._dry_run, "run", run, raising=False)
    engine.prepare(COUNT)


def test_an_engine_whose_database_broke_answers_again(
    engine: DuckdbEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise duckdb.FatalException("database has been invalidated")

    with monkeypatch.context() as patch:
        patch.setattr("sordino.engine.duckdb.engine._answered", broken)
        with pytest.raises(SealedError):
            engine.run(COUNT, RECEIPT, salt=1)
    first = engine.database
    engine.swap("t", frame(TYPES, [(1, 5)]))
    engine.prepare(COUNT)
    assert engine.database is not first
    assert rows_of(engine, COUNT) == [{(2**16,)}]
