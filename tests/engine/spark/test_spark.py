# SPDX-License-Identifier: Apache-2.0
"""What is special about Spark: its settings, its files, what crosses the wire, and lost servers."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from threading import Timer
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.engine.compile.dialect import Writer, select
from sordino.engine.compile.statement import Statement
from sordino.engine.spark.connection import Connection, arguments
from sordino.engine.spark.dialect import SPARK
from sordino.engine.spark.engine import SparkEngine
from sordino.engine.spark.settings import settle
from sordino.errors import CatalogError, SealedError, Unsupported
from sordino.plan.plan import Shares
from sordino.query.types import Type
from tests.engine.engines import RECEIPT, rows_of
from tests.engine.lake import folder
from tests.engine.spark.clinic import BY_CITY, EXPECTED, ROWS, STEPS, TYPES, asked, opened, stored
from tests.support.spark import own_server, shared


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    held = Connection(shared().address)
    yield held
    held.close()


@pytest.fixture
def engine() -> Iterator[SparkEngine]:
    held = opened(shared().address, stored(folder()))
    yield held
    held.close()


# Settings. ----------------------------------------------------------------------------------------


def test_a_session_has_its_own_settings_whatever_the_server_prefers(
    connection: Connection,
) -> None:
    conf = connection.session.conf
    for name, value in {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.caseSensitive": "false",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.files.ignoreCorruptFiles": "true",
    }.items():
        conf.set(name, value)
    settle(connection.session)
    held = conf.getAll
    assert held["spark.sql.ansi.enabled"] == "true"
    assert held["spark.sql.session.timeZone"] == "UTC"
    assert not [name for name in held if name.startswith("spark.sql.legacy.")]


@pytest.mark.filterwarnings("ignore:The SQL config")
def test_a_server_that_computes_otherwise_is_refused(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino.engine.spark.settings._OLD", ())
    connection.session.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        with pytest.raises(CatalogError, match="a backslash begins an escape"):
            settle(connection.session)
    finally:
        connection.session.conf.unset("spark.sql.parser.escapedStringLiterals")
    settle(connection.session)


# Bound values. ------------------------------------------------------------------------------------


def test_text_comes_back_as_it_was_bound(connection: Connection) -> None:
    draw = random.Random(5)  # noqa: S311 - texts of a test
    signs = "\\'\"`$:;-/*%_{}\0\n\r\t\x1a\x7fnrZ0ux4a \N{GRINNING FACE}\N{LINE SEPARATOR}\ufeff"
    texts = ["".join(draw.choices(signs, k=draw.randint(0, 12))) for _ in range(300)]
    writer = Writer(SPARK)
    columns = [f"{writer.value(text, Type.TEXT)} AS t{n}" for n, text in enumerate(texts)]
    sql, bound, _ = writer.statement(f"SELECT {', '.join(columns)}")
    assert list(connection.rows(sql, bound).to_pylist()[0].values()) == texts
    writer = Writer(SPARK)
    sql, bound, _ = writer.statement(select(["c"], writer.values(texts, Type.TEXT)) + " ORDER BY v")
    assert connection.rows(sql, bound).column(0).to_pylist() == texts


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Type.INTEGER, [0, -1, 2**63 - 1, -(2**63), None]),
        (Type.REAL, [0.1, -0.0, 5e-324, 1.7976931348623157e308, float("inf"), None]),
        (Type.BOOLEAN, [True, False, None]),
        (Type.DATE, [date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31), None]),
        (Type.TIMESTAMP, [datetime(1, 1, 1), datetime(1900, 1, 1, 3, 4, 5, 6), None]),
    ],
)
def test_other_values_come_back_as_they_were_bound(
    connection: Connection, kind: Type, values: list[Any]
) -> None:
    writer = Writer(SPARK)
    columns = [f"{writer.value(value, kind)} AS v{n}" for n, value in enumerate(values)]
    sql, bound, _ = writer.statement(f"SELECT {', '.join(columns)}")
    assert list(connection.rows(sql, bound).to_pylist()[0].values()) == values
    writer = Writer(SPARK)
    sql, bound, _ = writer.statement(select(["c"], writer.values(values, kind)) + " ORDER BY v")
    assert connection.rows(sql, bound).column(0).to_pylist() == values


def test_what_is_bound_has_no_sign_that_could_end_a_text() -> None:
    bound = arguments(["'; DROP TABLE t; --", ["\\'", None], 5])
    assert all(isinstance(v, int) or set(str(v)) <= set("0123456789ABCDEF") for v in bound.values())


# Sums. --------------------------------------------------------------------------------------------


def test_sums_beyond_64_bits_are_exact(connection: Connection) -> None:
    draw = random.Random(6)  # noqa: S311 - numbers of a test
    ends = [2**63 - 1, -(2**63), 2**42, -(2**42), 2**21 - 1, -1, 0, 1]
    for _ in range(3):
        numbers = [draw.choice(ends) for _ in range(40)] + [2**63 - 1] * draw.randint(0, 5)
        rows = ", ".join(
            f"({f'{n}L' if n > -(2**63) else '-9223372036854775807L - 1'})" for n in numbers
        )
        total, near = Writer(SPARK).total("x"), Writer(SPARK).total("x % 1048576", 2**20)
        sql = select([f"{total} AS s", f"{near} AS n"], f"VALUES {rows} AS t(x)")
        (row,) = connection.rows(sql).to_pylist()
        assert int(row["s"]) == sum(numbers)
        signed = [abs(n) % 2**20 * (1 if n >= 0 else -1) for n in numbers]
        assert row["n"] == sum(signed)
    nothing = "VALUES (CAST(NULL AS BIGINT)) AS t(x)"
    none = connection.rows(select([f"{Writer(SPARK).total('x')} AS s"], nothing))
    assert none.to_pylist() == [{"s": None}]


# Files. -------------------------------------------------------------------------------------------


def test_a_change_of_files_is_another_version_and_is_read(engine: SparkEngine) -> None:
    assert asked(engine) == EXPECTED
    before = engine.version(["t"])
    assert engine.version(["t"]) == before
    place = Path(engine._sources["t"].source.name)
    pq.write_table(ROWS, place / "more.parquet")
    assert engine.version(["t"]) != before
    assert asked(engine) != EXPECTED
    (place / "more.parquet").unlink()
    assert engine.version(["t"]) == before
    assert asked(engine) == EXPECTED


def test_a_version_tells_no_length_of_a_file() -> None:
    place = stored(folder())
    file, engine = place / "rows.parquet", opened(shared().address, place)
    os.utime(file, (10**9, 10**9))
    before, size = engine.version(["t"]), file.stat().st_size
    source, connection = engine._sources["t"], engine._connection
    stamp = source.stamp(connection)
    stored(place, pa.concat_tables([ROWS] * 50))
    os.utime(file, (10**9, 10**9))
    assert file.stat().st_size != size
    assert engine.version(["t"]) == before
    assert source.stamp(connection) != stamp
    engine.close()


def test_files_that_change_while_they_are_read_fail_the_question(
    engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.load(BY_CITY)
    answer = Connection.answer

    def slow(held: Connection, *given: Any) -> Any:
        table = answer(held, *given)
        pq.write_table(ROWS, Path(engine._sources["t"].source.name) / "late.parquet")
        return table

    monkeypatch.setattr(Connection, "answer", slow)
    with pytest.raises(SealedError):
        engine.run(BY_CITY, RECEIPT, salt=7)


def test_files_with_other_types_are_refused(engine: SparkEngine) -> None:
    held = ROWS.set_column(0, "who", pa.array(["1", "1", "2", "3"]))
    pq.write_table(held, Path(engine._sources["t"].source.name) / "rows.parquet")
    with pytest.raises(CatalogError, match="have changed"):
        engine.load(BY_CITY)
    with pytest.raises(SealedError):
        engine.run(BY_CITY, RECEIPT, salt=7)


def test_odd_names_of_columns_and_folders_are_read_as_they_are() -> None:
    place = folder()
    names = ["who.x", "ci`ty", "WHO.x"]
    stored(place / "odd=3", ROWS.rename_columns(names))
    types = dict(zip(names, TYPES.values(), strict=True))
    engine = opened(shared().address, place, types=types, unit="who.x")
    engine.load(BY_CITY)
    found = engine.fetch(select(["c0", "c1", "c2"], engine.bases["t"].source), ())
    assert sorted(found, key=str) == sorted(zip(*ROWS.to_pydict().values(), strict=True), key=str)
    engine.close()
    with pytest.raises(CatalogError, match="no column 'odd'"):
        opened(shared().address, place, types={"odd": Type.INTEGER, **types}, unit="odd")


def test_moments_and_decimals_beyond_what_spark_has_are_told_before_the_charge() -> None:
    far = pa.array([0, 2**62, None], pa.int64()).cast(pa.timestamp("ms"), safe=False)
    held = pa.table({"who": [1, 2, 3], "city": ["ulm"] * 3, "paid": [1, 2, 3], "at": far})
    types = {**TYPES, "at": Type.TIMESTAMP}
    engine = opened(shared().address, stored(folder(), held), types=types)
    engine.prepare(BY_CITY)
    with pytest.raises(CatalogError, match="nothing was charged"):
        engine.load(BY_CITY)
    engine.close()


def test_every_value_of_a_file_is_read_or_missing() -> None:
    """What no text, no day and no number is, is missing, and fails no question."""
    broken = pa.StringArray.from_buffers(
        3, pa.py_buffer(b"\0\0\0\0\2\0\0\0\4\0\0\0\6\0\0\0"), pa.py_buffer(b"\xffaok\0b")
    )
    micros = pa.array([0, 2**63 - 1, -(2**63)], pa.timestamp("us"))
    held = pa.table(
        {
            "who": [1, 2, 3],
            "text": broken,
            "day": pa.array([0, 2**31 - 1, -(2**31)], pa.date32()),
            "at": micros,
            "zoned": pa.array([0, 2**63 - 1, -(2**63)], pa.timestamp("us", "UTC")),
            "real": pa.array([float("nan"), float("-inf"), -0.0]),
            "small": pa.array([float("nan"), 1.5, 3e9], pa.float32()),
            "exact": pa.array(["1.50", "99.00", "-7.00"]).cast(pa.decimal128(38, 2)),
            "large": pa.array([2**64 - 1, 5, 0], pa.uint64()),
        }
    )
    types = {
        "who": Type.INTEGER, "text": Type.TEXT, "day": Type.DATE, "at": Type.TIMESTAMP,
        "zoned": Type.TIMESTAMP, "real": Type.REAL, "small": Type.INTEGER, "exact": Type.INTEGER,
        "large": Type.INTEGER,
    }  # fmt: skip
    engine = opened(shared().address, stored(folder(), held), types=types)
    writer = Writer(SPARK)
    table = engine.catalog.tables[0]
    base = engine.bases["t"]
    texts = [
        f"{base.value(writer, column, whole=False)} AS d{n}"
        for n, column in enumerate(table.columns)
    ]
    engine.load(BY_CITY)
    found = engine.fetch(select(texts, base.source), ())
    begin = datetime(1970, 1, 1)
    assert sorted(found) == [
        (1, None, date(1970, 1, 1), begin, begin, None, None, None, None),
        (2, "ok", None, None, None, float("-inf"), None, 99, 5),
        (3, "b", None, None, None, 0.0, 3_000_000_000, -7, 0),
    ]
    engine.close()


# Tables of a catalog. -----------------------------------------------------------------------------


def test_tables_are_read_and_views_are_not(connection: Connection) -> None:
    place = stored(folder())
    name = f"held_{abs(hash(place))}"
    connection.rows(f"CREATE TABLE {name} USING parquet LOCATION '{place}'")
    connection.rows(f"CREATE VIEW {name}_seen AS " + select(["*"], name))
    try:
        engine = opened(shared().address, f"default.{name}", form="table")
        assert asked(engine) == EXPECTED
        before = engine.version(["t"])
        pq.write_table(ROWS, place / "more.parquet")
        assert engine.version(["t"]) != before
        assert asked(engine) != EXPECTED
        engine.close()
        with pytest.raises(CatalogError, match="is a view"):
            opened(shared().address, f"default.{name}_seen", form="table")
    finally:
        connection.rows(f"DROP VIEW {name}_seen")
        connection.rows(f"DROP TABLE {name}")


def test_other_tables_want_a_word_for_their_rows(connection: Connection) -> None:
    name = f"lines_{random.randint(0, 10**9)}"  # noqa: S311 - a name
    connection.rows(f"CREATE TABLE {name} USING csv AS SELECT 1L AS who, 'ulm' AS city, 5L AS paid")
    try:
        with pytest.raises(CatalogError, match="version ="):
            opened(shared().address, f"default.{name}", form="table")
        engine = opened(shared().address, f"default.{name}", form="table", version="1")
        assert asked(engine) == {("ulm", STEPS, 5 * STEPS)}
        other = opened(shared().address, f"default.{name}", form="table", version="2")
        assert engine.version(["t"]) != other.version(["t"])
        for held in (engine, other):
            held.close()
    finally:
        connection.rows(f"DROP TABLE {name}")


def test_paths_of_other_formats_and_places_that_are_not_there_are_refused() -> None:
    with pytest.raises(CatalogError, match="a path of delta"):
        opened(shared().address, "/nowhere", form="delta")
    with pytest.raises(CatalogError, match="cannot read it"):
        opened(shared().address, "/nowhere/at/all")
    with pytest.raises(CatalogError, match="no column 'age'"):
        opened(shared().address, stored(folder()), types={**TYPES, "age": Type.INTEGER})
    held = ROWS.set_column(0, "who", pa.array([0] * 4, pa.timestamp("us", "UTC")))
    moments = stored(folder(), held)
    with pytest.raises(CatalogError, match="several would become one id"):
        opened(shared().address, moments, types={**TYPES, "who": Type.TIMESTAMP})


# What crosses. ------------------------------------------------------------------------------------


def test_only_the_sums_of_groups_come_here(
    engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = pa.table(
        {
            "who": list(range(50_000)),
            "city": ["ulm", "bonn"] * 25_000,
            "paid": [1] * 50_000,
        }
    )
    stored(Path(engine._sources["t"].source.name), many)
    stub, crossed = engine._connection.session.client._stub, []
    execute = stub.ExecutePlan

    def counted(*given: Any, **more: Any) -> Iterator[Any]:
        for answer in execute(*given, **more):
            if answer.HasField("arrow_batch"):
                crossed.append((answer.arrow_batch.row_count, len(answer.arrow_batch.data)))
            yield answer

    monkeypatch.setattr(stub, "ExecutePlan", counted)
    (cells,) = rows_of(engine, BY_CITY)
    assert cells == {(city, 25_000 * STEPS, 25_000 * STEPS) for city in ("ulm", "bonn")}
    assert crossed  # else nothing was seen
    assert sum(rows for rows, _ in crossed) <= 2 + 2  # the groups, and a word before and after
    assert sum(size for _, size in crossed) < 10_000


def test_no_word_of_a_failure_tells_a_value(
    engine: SparkEngine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    engine.load(BY_CITY)
    view = engine.bases["t"].source

    def other(bounded: Any, *, salt: int) -> Statement:
        made = SparkEngine.statement(engine, bounded, salt=salt)
        sql = select(["CAST(concat('secret', c1) AS BIGINT) AS k0", "1L AS s0", "1L AS s1"], view)
        return Statement(sql, (), made.columns, made.wide, {}, made.types, made.most)

    monkeypatch.setattr(engine, "statement", other, raising=False)
    with caplog.at_level(logging.DEBUG), pytest.raises(SealedError) as caught:
        engine.run(BY_CITY, RECEIPT, salt=7)
    told = capfd.readouterr()
    assert "NumberFormat" in caplog.text
    for said in (str(caught.value), caplog.text, told.out, told.err):
        assert "secret" not in said
        assert "ulm" not in said


# Time, interrupts, and lost servers. --------------------------------------------------------------


def slow_statement(engine: SparkEngine, patch: pytest.MonkeyPatch, *, seconds: int = 60) -> None:
    def other(bounded: Any, *, salt: int) -> Statement:
        made = SparkEngine.statement(engine, bounded, salt=salt)
        wait = f"java_method('java.lang.Thread', 'sleep', {seconds * 1_000}L)"
        sql = select([f"{wait} AS k0", "1L AS s0", "1L AS s1"], engine.bases["t"].source)
        return Statement(sql, (), made.columns, made.wide, {}, made.types, made.most)

    patch.setattr(engine, "statement", other, raising=False)


def test_a_deadline_ends_a_question_and_the_next_one_is_answered(engine: SparkEngine) -> None:
    assert asked(engine) == EXPECTED
    with pytest.MonkeyPatch.context() as patch:
        slow_statement(engine, patch)
        begun = time.monotonic()
        with pytest.raises(SealedError):
            engine.run(BY_CITY, RECEIPT, salt=7, deadline=1.5)
        assert time.monotonic() - begun < 60
    with pytest.raises(SealedError):
        engine.run(BY_CITY, RECEIPT, salt=7, deadline=0)
    assert asked(engine) == EXPECTED


def test_a_session_that_was_lost_is_opened_anew(engine: SparkEngine) -> None:
    assert asked(engine) == EXPECTED
    engine._connection.session.client.release_session()  # as a server does after an hour
    assert rows_of(engine, BY_CITY) == [EXPECTED]
    assert asked(engine) == EXPECTED


def test_a_server_that_is_killed_seals_the_question_and_the_next_one_is_answered() -> None:
    with own_server() as server:
        engine = opened(server.address, stored(server.folder / "held"))
        assert asked(engine) == EXPECTED
        with pytest.MonkeyPatch.context() as patch:
            slow_statement(engine, patch)
            timer = Timer(2.0, server.kill)
            timer.start()
            with pytest.raises(SealedError):
                engine.run(BY_CITY, RECEIPT, salt=7)
            timer.join()
        with pytest.raises(CatalogError, match="cannot be asked"):
            engine.prepare(BY_CITY)
        with pytest.raises(SealedError):
            engine.run(BY_CITY, RECEIPT, salt=7)
        server.start()
        assert asked(engine) == EXPECTED
        engine.close()


def test_rows_that_are_units_get_no_numbers_that_could_change() -> None:
    engine = opened(shared().address, stored(folder()), unit="row")
    with pytest.raises(Unsupported, match="have no id"):
        engine.prepare(BY_CITY)
    alone = replace(BY_CITY, shares=Shares(rows=1, alone=True))
    assert asked(engine, alone) == {("ulm", 2, 12), ("bonn", 1, 6)}
    engine.close()


def test_a_program_without_a_file_can_ask() -> None:
    """The client takes one for doctests of Spark, and would end it."""
    told = (
        "from sordino.engine.spark.connection import Connection; "
        f"connection = Connection({shared().address!r}); connection.close(); print('opened')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", told], capture_output=True, text=True, check=False
    )
    assert done.stdout == "opened\n", done.stderr


def test_a_closed_engine_answers_nothing(engine: SparkEngine) -> None:
    engine.close()
    with pytest.raises(ValueError, match="closed"):
        engine.version(["t"])
    with pytest.raises(SealedError):
        engine.run(BY_CITY, RECEIPT, salt=7)


def test_a_server_that_is_not_there_is_told_by_its_address() -> None:
    with pytest.raises(CatalogError, match="cannot be asked"):
        opened("sc://127.0.0.1:1", "/nowhere")
