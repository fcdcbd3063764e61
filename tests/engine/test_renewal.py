# SPDX-License-Identifier: Apache-2.0
"""A database that takes the place of another has the same rows, whoever is at work meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sordino as so
from sordino.engine.duckdb import connection as duckdb_connection
from sordino.engine.duckdb import engine as duckdb_engine
from sordino.engine.duckdb.connection import Database
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError
from sordino.session.session import Session
from tests.session.unit.clinic import written_later

DEAR = 10**4  # an epsilon at which an answer is exact
SQL = "SELECT COUNT(*) AS n FROM visits"
COLUMNS = 'unit = "row"\n[tables.visits.columns]\nx = { type = "integer", bounds = [0, 9] }\n'


def opened(folder: Path, source: str, columns: str = COLUMNS) -> Session:
    catalog = folder / "sordino.toml"
    catalog.write_text(
        f"[budget]\nepsilon = 1000000\n[tables.visits]\n{source}\n{columns}", "utf-8"
    )
    return so.open(catalog, ledger="memory")


def counted(session: Session) -> Any:
    return session.ask(SQL, epsilon=DEAR, fresh=True).cell(0, "n").value


def engine_of(session: Session) -> DuckdbEngine:
    engine = session._engine
    assert isinstance(engine, DuckdbEngine)
    return engine


def renewed(engine: DuckdbEngine) -> None:
    """Put another database in the place of an engine's, as the next question would."""
    before = engine.database
    before._served = duckdb_connection._WORN
    assert engine._alive((), renew=True) is not before


@pytest.fixture
def csv(tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "visits.csv").write_text("x\n" + "5\n" * 80, "utf-8")
    with opened(tmp_path, 'csv = "visits.csv"') as session:
        yield session


def test_rows_that_are_read_while_a_database_is_replaced_are_counted(
    csv: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, load, turns = engine_of(csv), Database.load, iter([True])

    def meanwhile(database: Database, name: str) -> None:
        if next(turns, False):
            renewed(engine)  # before these rows are there, and another one has to read them, too
        load(database, name)

    monkeypatch.setattr(Database, "load", meanwhile)
    assert counted(csv) == 80
    assert counted(csv) == 80


@pytest.mark.parametrize("place", [1, 2, 3])
def test_rows_are_counted_whenever_a_database_is_replaced(
    csv: Session, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """A question looks for its database several times, and each time it may be another one."""
    engine, alive, looks = engine_of(csv), DuckdbEngine._alive, [0]

    def replaced(asked: DuckdbEngine, names: Iterable[str], *, renew: bool = False) -> Database:
        looks[0] += 1
        if looks[0] == place:
            asked.database._served = duckdb_connection._WORN
            return alive(asked, names, renew=True)
        return alive(asked, names, renew=renew)

    monkeypatch.setattr(DuckdbEngine, "_alive", replaced)
    assert counted(csv) == 80
    assert counted(csv) == 80
    assert engine.database.is_loaded("t0")


def test_rows_are_read_once_and_carried_over(csv: Session, tmp_path: Path) -> None:
    assert counted(csv) == 80
    (tmp_path / "visits.csv").unlink()
    renewed(engine_of(csv))
    assert counted(csv) == 80
    assert engine_of(csv).database.loaded("t0") is not None


def test_many_threads_meet_renewals(csv: Session) -> None:
    engine, wrong, stop = engine_of(csv), list[object](), threading.Event()

    def renew() -> None:
        while not stop.is_set():
            renewed(engine)

    def ask() -> None:
        for _ in range(15):
            try:
                if (n := counted(csv)) != 80:
                    wrong.append(n)
            except Exception as error:
                wrong.append(error)

    restless = threading.Thread(target=renew)
    askers = [threading.Thread(target=ask) for _ in range(3)]
    for thread in (restless, *askers):
        thread.start()
    for thread in askers:
        thread.join()
    stop.set()
    restless.join()
    assert wrong == []


def test_rows_put_in_place_of_others_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = pa.table({"x": [1] * 80}), pa.table({"x": [1] * 50})
    with so.table(before, unit="row", name="visits", epsilon=10**6) as session:
        engine, swap = engine_of(session), Database.swap
        other = threading.Thread(target=renewed, args=(engine,))

        def meanwhile(database: Database, name: str, frame: Any) -> None:
            other.start()  # it has to wait, or it would take the rows of before with it
            other.join(0.3)
            swap(database, name, frame)

        monkeypatch.setattr(Database, "swap", meanwhile)
        engine.swap("visits", after)
        other.join()
        assert counted(session) == 50


ARROW = {
    "milliseconds": pa.array([datetime(2020, 1, 1)] * 80, pa.timestamp("ms")),
    "decimals": pa.array([Decimal("1.5")] * 80, pa.decimal128(38, 2)),
}


@pytest.mark.parametrize("kind", ARROW)
def test_files_that_arrow_reads_may_be_written_again(tmp_path: Path, kind: str) -> None:
    file, x = tmp_path / "visits.parquet", ARROW[kind]
    declared = "timestamp" if kind == "milliseconds" else "real"
    columns = f'unit = "row"\n[tables.visits.columns]\nx = "{declared}"\n'
    pq.write_table(pa.table({"x": x}), file)
    with opened(tmp_path, 'parquet = "visits.parquet"', columns) as session:
        assert counted(session) == 80
        pq.write_table(pa.table({"x": x[:50]}), file)
        written_later(file)
        assert counted(session) == 50
        pq.write_table(pa.table({"x": pa.array(["a"] * 50)}), file)
        written_later(file)
        with pytest.raises(CatalogError):
            session.ask(SQL, epsilon=1)


def test_attached_files_stay_locked(tmp_path: Path) -> None:
    file = tmp_path / "visits.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS x FROM range(80)")
    write = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('DELETE FROM visits')"
    with opened(tmp_path, 'duckdb = "visits.duckdb"\ntable = "visits"') as session:
        engine_of(session).database._served = duckdb_connection._WORN
        assert counted(session) == 80
        other = subprocess.run(
            [sys.executable, "-c", write, str(file)], capture_output=True, text=True, check=False
        )
        assert "lock" in other.stderr
        assert counted(session) == 80


def two_tables(folder: Path) -> Session:
    for name in ("visits", "others"):
        pq.write_table(pa.table({"x": [1] * 80}), folder / f"{name}.parquet")
    others = COLUMNS.replace("visits", "others")
    return opened(
        folder,
        'parquet = "visits.parquet"',
        f'{COLUMNS}[tables.others]\nparquet = "others.parquet"\n{others}',
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.unlink(missing_ok=True),
        lambda file: file.write_bytes(b"PAR1"),
    ],
)
def test_files_that_a_question_does_not_read_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], object]
) -> None:
    with two_tables(tmp_path) as session:
        run = DuckdbEngine.run

        def later(engine: DuckdbEngine, *given: Any, **more: Any) -> Any:
            spoil(tmp_path / "others.parquet")  # after the charge
            return run(engine, *given, **more)

        monkeypatch.setattr(DuckdbEngine, "run", later)
        assert counted(session) == 80
        assert not session.ask(SQL, epsilon=DEAR, fresh=True).again


def test_a_fatal_error_costs_nobody_else_a_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"x": [1] * 80}), tmp_path / "visits.parquet")
    with opened(tmp_path, 'parquet = "visits.parquet"') as session:
        engine, connection = engine_of(session), Database.connection
        broken = engine.database

        def fatal(database: Database, **more: Any) -> Any:
            if database is broken:
                raise duckdb.FatalException("it can do nothing any more")
            return connection(database, **more)

        monkeypatch.setattr(Database, "connection", fatal)
        with pytest.raises(duckdb.FatalException):
            duckdb_engine._read(broken, lambda: duckdb_engine._fetched(broken, "SELECT 1", []))
        assert counted(session) == 80


def test_a_session_closes_when_what_was_charged_is_answered(csv: Session) -> None:
    outcomes: list[object] = []
    begun, run = threading.Event(), DuckdbEngine.run

    def slow(engine: DuckdbEngine, *given: Any, **more: Any) -> Any:
        begun.set()
        time.sleep(0.3)
        return run(engine, *given, **more)

    def ask() -> None:
        try:
            outcomes.append(counted(csv))
        except Exception as error:
            outcomes.append(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckdbEngine, "run", slow)
        asker = threading.Thread(target=ask)
        asker.start()
        begun.wait()
        closers = [threading.Thread(target=csv.close) for _ in range(2)]
        for thread in closers:
            thread.start()
        for thread in (asker, *closers):
            thread.join()
    assert outcomes == [80]
    with pytest.raises(ValueError, match="closed"):
        csv.ask(SQL, epsilon=1)
    with pytest.raises(ValueError, match="closed"):
        engine_of(csv)._alive(())
