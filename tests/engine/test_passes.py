# SPDX-License-Identifier: Apache-2.0
"""A question in several passes over the data: the same integers, within the memory there is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.catalog.model import Catalog, Column, ParquetFile, Table
from sordino.engine.compile.passes import COLLECTED, can_be_split, compile_passes
from sordino.engine.compile.results import parts_of
from sordino.engine.duckdb import engine as engine_module
from sordino.engine.duckdb.dialect import DUCKDB
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.duckdb.passes import InPasses, how_many_passes, memory_of
from sordino.errors import CatalogError, SealedError
from sordino.plan.plan import (
    FINE,
    Bounded,
    Cells,
    Crowded,
    Distinct,
    RowCount,
    Shares,
    Total,
    UnitCount,
)
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.engines import RECEIPT, ThreePasses, catalog, frame, rows_of, scan, table
from tests.engine.test_parents import Pairs, counted, declared, pairs, small
from tests.session.attack.neighbours.asked import asked
from tests.support.trace import by_group, look, unsealed

WORLDS, QUESTIONS = 12, 12
TYPES = {"who": Type.INTEGER, "city": Type.INTEGER, "paid": Type.INTEGER}
CITY, PAID = (Field(name, Type.INTEGER, name) for name in ("city", "paid"))
BY_CITY = Bounded(
    scan("t", TYPES),
    (Key(CITY, "city", None),),
    Shares(rows=6, groups=3),
    (Cells((RowCount(), Total(PAID, 0, 50, 0), UnitCount())), Distinct(PAID, 4), Crowded()),
)


def in_passes(engine: DuckdbEngine, bounded: Bounded, many: int, *, salt: int = 7) -> list[Any]:
    """Return what a question gives in so many passes, part by part."""
    passes = compile_passes(bounded, engine.catalog, salt=salt, bases=engine.bases, dialect=DUCKDB)
    with engine.database.connection() as connection:
        found = InPasses(passes, many)(connection)
    return [by_group(part) for part in parts_of(found, passes.merged)]


@pytest.mark.parametrize("seed", range(WORLDS))
def test_random_questions_give_the_same_integers_in_any_number_of_passes(seed: int) -> None:
    compared = 0
    with asked(f"passes {seed}") as world:
        for sql, prepared in world.questions(QUESTIONS):
            bounded = prepared.plan.bounded
            assert isinstance(world.engine, DuckdbEngine)
            if not can_be_split(bounded, world.engine.catalog):
                continue
            whole = list(look(world.engine, prepared, salt=7))
            for many in (1, 2, 5):
                assert in_passes(world.engine, bounded, many) == whole, sql
            compared += 1
    assert compared


@settings(max_examples=15, deadline=None)
@given(pairs, pairs, st.lists(small, max_size=8), st.sampled_from(["home", "who"]))
def test_units_of_parents_are_in_one_pass_with_all_rows_below(
    people: Pairs, stays: Pairs, bills: list[int | None], key: str
) -> None:
    made = declared(people, stays, bills, key)
    assert list(counted(made, ThreePasses)) == list(counted(made))


def test_every_row_is_in_one_pass_and_every_unit_too() -> None:
    held = frame(TYPES, [(who % 50, who % 7, who) for who in range(400)])
    made = catalog(table("t", TYPES, held, unit="who"))
    bounded = Bounded(scan("t", TYPES), (), Shares(rows=400), (Cells((RowCount(), UnitCount())),))
    with closing(DuckdbEngine(made, threads=2)) as engine:
        passes = compile_passes(bounded, made, salt=3, bases=engine.bases, dialect=DUCKDB)
        found = []
        with engine.database.connection() as connection:
            for place in range(8):
                bound = list(passes.each.in_pass(place, 8).parameters)
                found += connection.execute(passes.each.sql, bound).fetchall()
    rows, units = zip(*found, strict=True)
    assert (sum(rows), sum(units)) == (400 * FINE, 50)
    assert max(units) < 50  # they are spread over the passes


def test_text_that_is_not_utf_8_is_missing_in_every_pass(tmp_path: Path) -> None:
    path, names = tmp_path / "t.parquet", [b"ulm", b"\xff", b"bonn", b"ulm"] * 25
    texts = pa.array(names, pa.binary()).view(pa.string())
    pq.write_table(pa.table({"who": list(range(100)), "city": texts}), path)
    columns = (Column("who", Type.INTEGER), Column("city", Type.TEXT))
    made = Catalog((Table("t", ParquetFile(path), columns, unit="who"),))
    city = Field("city", Type.TEXT, "city")
    rows = Scan("t", ((city, "city"),))
    bounded = Bounded(rows, (Key(city, "city", None),), Shares(rows=1), (Cells((RowCount(),)),))
    with closing(ThreePasses(made, threads=1)) as engine:
        (found,) = rows_of(engine, bounded)
        assert engine.database.broken == {str(path)}
    assert found == {("ulm", 50 * FINE), ("bonn", 25 * FINE), (None, 25 * FINE)}


def test_rows_that_are_units_are_read_in_one_pass() -> None:
    held = frame(TYPES, [(1, 1, 1)])
    made = catalog(table("t", TYPES, held, unit="row"))
    bounded = Bounded(scan("t", TYPES), (), Shares(rows=1, alone=True), (Cells((RowCount(),)),))
    assert not can_be_split(bounded, made)
    with closing(DuckdbEngine(made)) as engine, pytest.raises(ValueError, match="one pass"):
        compile_passes(bounded, made, salt=1, bases=engine.bases, dialect=DUCKDB)


# Memory. -----------------------------------------------------------------------------------------

ROWS, PEOPLE, CITIES = 600_000, 60_000, 1_000
LITTLE = "32MB"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of rows of which one pass does not fit into little memory."""
    draw = np.random.default_rng(3)
    columns = {
        "who": draw.integers(0, PEOPLE, ROWS),
        "city": draw.integers(0, CITIES, ROWS),
        "paid": draw.integers(0, 60, ROWS),
    }
    path = tmp_path_factory.mktemp("crowd") / "t.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def of_file(path: Path) -> Catalog:
    columns = tuple(Column(name, kind) for name, kind in TYPES.items())
    return Catalog((Table("t", ParquetFile(path), columns, unit="who"),))


@contextmanager
def opened(path: Path, memory: str, *, spill: str | None = None) -> Iterator[DuckdbEngine]:
    engine = DuckdbEngine(of_file(path), threads=1, memory_limit=memory, spill_limit=spill)
    with closing(engine):
        yield engine


@pytest.fixture(scope="module")
def whole(crowd: Path) -> list[set[Any]]:
    with opened(crowd, "4GB") as engine:
        return rows_of(engine, BY_CITY)


def test_what_does_not_fit_in_one_pass_is_answered_in_several(
    crowd: Path, whole: list[set[Any]]
) -> None:
    with opened(crowd, LITTLE, spill="1MB") as engine:  # nothing to fall back on but passes
        assert rows_of(engine, BY_CITY) == whole
        with engine.database.connection() as connection:
            tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert (COLLECTED,) not in tables


def test_where_memory_ends_there_are_more_passes(
    crowd: Path, whole: list[set[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    carry_out = InPasses.__call__

    def counting(self: InPasses, connection: Any) -> Any:
        tried.append(self.many)
        return carry_out(self, connection)

    monkeypatch.setattr(InPasses, "__call__", counting)
    monkeypatch.setattr(engine_module, "how_many_passes", lambda *_: 1)
    with opened(crowd, LITTLE, spill="1MB") as engine:
        assert rows_of(engine, BY_CITY) == whole
    assert tried
    assert tried == [4**place for place in range(1, len(tried) + 1)]


def test_a_question_that_never_fits_is_sealed_in_the_end(
    crowd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> Any:
        raise duckdb.OutOfMemoryException("it is full")

    with opened(crowd, LITTLE, spill="1MB") as engine:
        with monkeypatch.context() as patch:
            patch.setattr(InPasses, "__call__", full)
            patch.setattr(engine, "_can_pass", lambda _: True, raising=False)
            with pytest.raises(SealedError):
                engine.run(BY_CITY, RECEIPT, salt=1)
        assert rows_of(engine, BY_CITY)


def test_what_duckdb_does_not_carry_out_in_passes_is_tried_in_one(
    crowd: Path, whole: list[set[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> Any:
        raise duckdb.BinderException("no")

    monkeypatch.setattr(InPasses, "__call__", failing)
    monkeypatch.setattr(engine_module, "how_many_passes", lambda *_: 2)
    with opened(crowd, "4GB") as engine:
        assert rows_of(engine, BY_CITY) == whole


def test_all_passes_are_over_the_same_file(crowd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carry_out = InPasses.__call__
    before = crowd.stat()

    def writing(self: InPasses, connection: Any) -> Any:
        found = carry_out(self, connection)
        os.utime(crowd, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
        return found

    with opened(crowd, LITTLE) as engine, monkeypatch.context() as patch:
        patch.setattr(engine, "_can_pass", lambda _: True, raising=False)
        patch.setattr(InPasses, "__call__", writing)
        with pytest.raises(SealedError):
            engine.run(BY_CITY, RECEIPT, salt=1)
    os.utime(crowd, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("is_watched", [False, True])
def test_a_question_that_was_ended_in_a_pass_leaves_nothing_to_the_next(
    crowd: Path, whole: list[set[Any]], is_watched: bool
) -> None:
    def progress(_: float) -> None:
        pass

    with opened(crowd, LITTLE) as engine:
        for deadline in (0.001, 0.02, 0.05):
            with pytest.raises(SealedError):
                engine.run(
                    BY_CITY,
                    RECEIPT,
                    salt=1,
                    deadline=deadline,
                    progress=progress if is_watched else None,
                )
        again = unsealed(engine.run(BY_CITY, RECEIPT, salt=7, progress=progress))
        assert rows_of(engine, BY_CITY) == whole
    assert [len(part) for part in again] == [len(part) for part in whole]


def test_progress_goes_through_all_passes(crowd: Path) -> None:
    told: list[float] = []
    with opened(crowd, LITTLE) as engine:
        engine.run(BY_CITY, RECEIPT, salt=1, progress=told.append)
    assert told[-1] == 1
    assert told == sorted(told)
    assert all(0 <= share <= 1 for share in told)


def test_passes_grow_with_rows_and_shrink_with_memory() -> None:
    plain = Bounded(scan("t", TYPES), (), Shares(rows=6), (Cells((RowCount(),)),))
    assert how_many_passes(BY_CITY, 0, 10**9) == 1
    assert how_many_passes(BY_CITY, 10**6, 2 * 10**9) == 1
    assert how_many_passes(BY_CITY, 10**8, 2 * 10**9) == 8
    assert how_many_passes(plain, 10**8, 2 * 10**9) == 2
    assert how_many_passes(BY_CITY, 10**12, 10**9) == 256


@pytest.mark.parametrize(
    ("said", "meant"), [("100MB", 10**8), ("2GB", 2 * 10**9), ("3GiB", 3 * 2**30)]
)
def test_a_limit_of_memory_is_read_back(said: str, meant: int) -> None:
    with closing(duckdb.connect(config={"memory_limit": said})) as connection:
        assert abs(memory_of(connection) - meant) <= 0.06 * meant


def test_threads_are_as_many_as_fit_into_memory(crowd: Path) -> None:
    for wanted, limit, most in ((8, "100MB", 3), (8, "20MB", 1), (2, "4GB", 2)):
        engine = DuckdbEngine(of_file(crowd), threads=wanted, memory_limit=limit)
        with closing(engine), engine.database.connection() as connection:
            found = connection.execute("SELECT current_setting('threads')").fetchall()
        assert found == [(most,)]


def test_too_little_memory_is_refused_when_a_catalog_is_opened(crowd: Path) -> None:
    with pytest.raises(CatalogError, match="needs memory_limit = 16 MB at least"):
        DuckdbEngine(of_file(crowd), memory_limit="8MB")
