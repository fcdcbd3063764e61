# SPDX-License-Identifier: Apache-2.0
"""What goes wrong after the charge: one constant error, and an engine that can go on."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog.model import Catalog, Column, ParquetFile, Table
from sordino.engine.duckdb import engine as engine_module
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import SealedError
from sordino.plan.plan import Bounded, Cells, RowCount, Shares
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.engines import RECEIPT, catalog, frame, instead, rows_of, scan, table

TYPES = {"who": Type.INTEGER, "city": Type.TEXT}
CITY = Field("city", Type.TEXT, "city")
COUNT = Bounded(scan("t", TYPES), (), Shares(rows=10), (Cells((RowCount(),)),))
ANSWER = [{(2 * 2**16,)}]
SLOW = "SELECT count(*) AS s0 FROM range(1000000000) AS a, range(1000000000) AS b"


@pytest.fixture
def engine() -> Iterator[DuckdbEngine]:
    held = frame(TYPES, [(1, "ulm"), (2, "bonn")])
    opened = DuckdbEngine(catalog(table("t", TYPES, held, unit="who")), threads=2)
    yield opened
    opened.close()


def test_a_failure_says_no_value_of_a_row_to_anybody(
    engine: DuckdbEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        instead(engine, patch, "SELECT CAST(city AS INTEGER) AS s0 FROM t0")
        with caplog.at_level(logging.ERROR, "sordino.owner"), pytest.raises(SealedError) as caught:
            engine.run(COUNT, RECEIPT, salt=1)
    assert str(caught.value) == str(SealedError())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "ulm" not in str(caught.value)
    assert "ConversionException" in caplog.text
    assert "ulm" not in caplog.text
    assert "bonn" not in caplog.text
    assert rows_of(engine, COUNT) == ANSWER


def test_a_file_that_goes_bad_is_a_failure_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"city": ["ulm"]}), path)
    held = Table("t", ParquetFile(path), (Column("city", Type.TEXT),), unit="row")
    engine = DuckdbEngine(Catalog((held,)))
    path.write_bytes(b"PAR1 no more")
    bounded = Bounded(
        Scan("t", ((CITY, "city"),)),
        (Key(CITY, "city", None),),
        Shares(rows=1, alone=True),
        (Cells((RowCount(),)),),
    )
    with pytest.raises(SealedError):
        engine.run(bounded, RECEIPT, salt=1)
    engine.close()


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("watched", [False, True])
def test_the_keyboard_interrupts_a_question_and_the_engine_goes_on(
    engine: DuckdbEngine, monkeypatch: pytest.MonkeyPatch, watched: bool
) -> None:
    def press() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest ignore it
    try:
        with monkeypatch.context() as patch:
            instead(engine, patch, SLOW)
            thread = threading.Thread(target=press)
            start = time.monotonic()
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                engine.run(COUNT, RECEIPT, salt=1, progress=_ignore if watched else None)
            thread.join()
    finally:
        signal.signal(signal.SIGINT, heard)
    assert time.monotonic() - start < 10
    assert rows_of(engine, COUNT) == ANSWER


def _ignore(done: float) -> None:
    assert 0 <= done <= 1


def test_progress_ends_at_one(engine: DuckdbEngine) -> None:
    seen: list[float] = []
    engine.run(COUNT, RECEIPT, salt=1, progress=seen.append)
    assert seen[-1] == 1.0
    assert all(0 <= done <= 1 for done in seen)


def test_progress_is_told_while_a_question_runs(
    engine: DuckdbEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "_LOOK", 0.01)
    slow = "SELECT count(*) AS s0 FROM range(3000000) AS a WHERE md5(a.range::VARCHAR) < '8'"
    instead(engine, monkeypatch, slow)
    seen: list[float] = []
    engine.run(COUNT, RECEIPT, salt=1, progress=seen.append)
    assert len(seen) > 1


def test_threads_share_an_engine(engine: DuckdbEngine) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: rows_of(engine, COUNT), range(40)))
    assert answers == [ANSWER] * 40


def test_a_lent_connection_does_not_come_back_with_old_rows(engine: DuckdbEngine) -> None:
    with engine.database.connection():
        engine.swap("t", frame(TYPES, [(1, "ulm")]))
    assert rows_of(engine, COUNT) == [{(2**16,)}]
