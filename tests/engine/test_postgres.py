# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL besides what engines have in common: which tables and snapshots, and what fails."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from sordino.catalog.model import Catalog, Column, Frame, PostgresTable, Table
from sordino.engine.opening import open_engine
from sordino.engine.postgres.connection import connect, place_of
from sordino.engine.postgres.engine import PostgresEngine
from sordino.engine.postgres.role import main
from sordino.errors import CatalogError, SealedError, Unsupported
from sordino.plan.plan import Bounded, Cells, RowCount, Shares
from sordino.query.operations import call
from sordino.query.tree import Field, JoinPublic, Key, Literal, Where
from sordino.query.types import Type
from tests.engine.engines import RECEIPT, catalog, frame, instead, rows_of, scan, table
from tests.engine.stored import Stored, database, owner

TYPES = {"who": Type.INTEGER, "city": Type.TEXT}
COUNT = Bounded(scan("t", TYPES), (), Shares(rows=10), (Cells((RowCount(),)),))
ANSWER = [{(2 * 2**16,)}]
SLOW = "SELECT count(*) AS s0 FROM generate_series(1, 1000000000) AS a"


@pytest.fixture
def engine() -> Iterator[Stored]:
    held = frame(TYPES, [(1, "ulm"), (2, "bonn")])
    opened = Stored(catalog(table("t", TYPES, held, unit="who")))
    yield opened
    opened.close()


@pytest.fixture
def address() -> str:
    """Return the address of a database with nothing in it."""
    found = database()
    owner(found).execute("DROP SCHEMA IF EXISTS held, more, public CASCADE")
    owner(found).execute("CREATE SCHEMA public")
    return found


def declared(address: str, name: str, **columns: Type) -> Catalog:
    made = tuple(Column(column, kind) for column, kind in columns.items())
    return Catalog((Table("t", PostgresTable(address, name), made, unit="who"),))


def refusal(address: str, *statements: str, name: str = "t", **columns: Type) -> str:
    """Return why a table is refused that some statements make."""
    for statement in statements:
        owner(address).execute(statement)
    with pytest.raises(CatalogError) as caught:
        open_engine(declared(address, name, **(columns or {"who": Type.INTEGER}))).close()
    return str(caught.value)


MADE = "CREATE TABLE t (who bigint, city text, n integer)"


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        ((MADE, "CREATE VIEW v AS SELECT who FROM t"), "is a view, which may mix rows"),
        ((MADE, "ALTER TABLE t ENABLE ROW LEVEL SECURITY"), ""),
        (("CREATE TABLE t (n int, who int GENERATED ALWAYS AS (1 / n) VIRTUAL)",), "is computed"),
        (("CREATE TABLE t (city text)",), "has no column 'who'; it has city"),
        (('CREATE TABLE "T" (who bigint)',), "is not there"),
        (("CREATE TABLE t (who jsonb)",), "of the type jsonb, which is not read"),
        (("CREATE TABLE t (who bigint[])",), "of the type bigint[], which is not read"),
        (("CREATE TABLE t (who float8)", ""), ""),
        (("CREATE TABLE t (who timestamp)",), "but its source has timestamp"),
        (("CREATE SEQUENCE t",), "is a sequence"),
    ],
)  # fmt: skip
def test_what_is_computed_as_it_is_read_is_refused(
    address: str, statements: tuple[str, ...], text: str
) -> None:
    every = [statement for statement in statements if statement]
    name = "v" if "VIEW" in every[-1] else "t"
    if not text:  # whoever owns a table sees all of its rows, and a number may be an id
        for statement in every:
            owner(address).execute(statement)
        open_engine(declared(address, name, who=Type.INTEGER)).close()
        return
    assert text in refusal(address, *every, name=name)


def test_rows_that_a_policy_may_hide_are_refused(address: str) -> None:
    for statement in (
        MADE,
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY p ON t USING (who = 1)",
        "INSERT INTO t VALUES (1), (2)",
    ):
        owner(address).execute(statement)
    reader = as_reader(address, "GRANT SELECT ON t TO reader")
    assert "row security" in refusal(reader)
    owner(address).execute("ALTER TABLE t DISABLE ROW LEVEL SECURITY")
    open_engine(declared(reader, "t", who=Type.INTEGER)).close()


def as_reader(address: str, *grants: str) -> str:
    """Return the address with a role that has been given no more than is said."""
    connection = owner(address)
    if not connection.execute("SELECT FROM pg_roles WHERE rolname = 'reader'").fetchall():
        connection.execute("CREATE ROLE reader LOGIN")
    for grant in grants:
        connection.execute(grant)
    return make_conninfo(address, user="reader")


def test_a_role_that_may_not_read_is_told_so(address: str) -> None:
    owner(address).execute(MADE)
    assert "GRANT SELECT" in refusal(as_reader(address))


def test_partitions_and_stored_views_are_read_and_foreign_parts_are_not(address: str) -> None:
    for statement in (
        "CREATE TABLE p (who bigint, city text) PARTITION BY RANGE (who)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)",
        "INSERT INTO p VALUES (1, 'ulm'), (11, 'bonn'), (12, NULL)",
        "CREATE MATERIALIZED VIEW m AS SELECT who, city FROM p WHERE who > 5",
        "CREATE TABLE parent (who bigint, city text)",
        "CREATE TABLE child () INHERITS (parent)",
        "INSERT INTO child VALUES (1, 'ulm'), (2, 'bonn')",
    ):
        owner(address).execute(statement)
    for name, many in (("p", 3), ("m", 2), ("parent", 2)):
        engine = open_engine(declared(address, name, who=Type.INTEGER, city=Type.TEXT))
        assert rows_of(engine, COUNT) == [{(many * 2**16,)}]
        engine.close()
    owner(address).execute("CREATE FOREIGN DATA WRAPPER none")
    owner(address).execute("CREATE SERVER nowhere FOREIGN DATA WRAPPER none")
    owner(address).execute("CREATE FOREIGN TABLE far () INHERITS (parent) SERVER nowhere")
    assert "a part 'far' that is not stored" in refusal(address, name="parent")
    owner(address).execute("DROP FOREIGN DATA WRAPPER none CASCADE")


def test_casts_that_somebody_added_between_types_of_the_system_are_refused(address: str) -> None:
    for statement in (
        MADE,
        "CREATE FUNCTION odd(bigint) RETURNS date LANGUAGE sql AS 'SELECT date ''2000-01-01'''",
        "CREATE CAST (bigint AS date) WITH FUNCTION odd(bigint) AS IMPLICIT",
    ):
        owner(address).execute(statement)
    assert "casts of its own" in refusal(address)
    owner(address).execute("DROP CAST (bigint AS date)")
    open_engine(declared(address, "t", who=Type.INTEGER)).close()


def test_functions_and_settings_of_the_server_change_nothing(address: str) -> None:
    """Names are looked for in the system alone, and settings that mean something are stated."""
    name = owner(address).info.dbname
    for statement in (
        MADE,
        "INSERT INTO t VALUES (1, 'ulm', 3), (2, 'bonn', NULL)",
        "CREATE FUNCTION public.lower(text) RETURNS text LANGUAGE sql AS 'SELECT ''x'''",
        "CREATE FUNCTION public.never(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false'",
        "CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.never)",
        f'ALTER DATABASE "{name}" SET search_path = public, pg_catalog',
        f'ALTER DATABASE "{name}" SET transform_null_equals = on',
        f"ALTER DATABASE \"{name}\" SET timezone = 'Asia/Tokyo'",
        f"ALTER DATABASE \"{name}\" SET datestyle = 'German'",
    ):
        owner(address).execute(statement)
    engine = open_engine(declared(address, "t", who=Type.INTEGER, city=Type.TEXT))
    city = Field("city", Type.TEXT, "city")
    rows = Where(COUNT.rows, call("eq", call("lower", city), Literal("ulm", Type.TEXT)))
    assert rows_of(engine, replace(COUNT, rows=rows)) == [{(2**16,)}]
    engine.close()
    owner(address).execute(f'ALTER DATABASE "{name}" RESET ALL')


# Versions, and tables that change. ----------------------------------------------------------------


def test_a_version_is_another_one_once_rows_were_written(engine: Stored) -> None:
    before = engine.version(["t"])
    assert engine.version(["t"]) == before
    rows_of(engine, COUNT)
    assert engine.version(["t"]) == before  # to ask writes nothing
    owner(engine.address).execute("INSERT INTO held.t0 VALUES (3, 'jena')")
    assert engine.version(["t"]) != before


def test_a_version_stays_until_a_writer_is_done(engine: Stored) -> None:
    before = engine.version(["t"])
    with psycopg.connect(engine.address) as one, psycopg.connect(engine.address) as two:
        one.execute("INSERT INTO held.t0 VALUES (3, 'jena')")
        two.execute("INSERT INTO held.t0 VALUES (4, 'kiel')")
        assert engine.version(["t"]) == before  # nobody else sees these rows
        two.commit()
        between = engine.version(["t"])
        one.commit()
    assert len({before, between, engine.version(["t"])}) == 3


def test_the_owners_word_for_a_version_stays(engine: Stored) -> None:
    (held,) = engine.catalog.tables
    assert isinstance(held.source, PostgresTable)

    def version(word: str) -> str:
        source = PostgresTable(engine.address, "held.t0", word)
        made = PostgresEngine(Catalog((replace(held, source=source),)), engine.address)
        try:
            return made.version(["t"])
        finally:
            made.close()

    before = version("2024-05")
    owner(engine.address).execute("INSERT INTO held.t0 VALUES (3, 'jena')")
    assert version("2024-05") == before != version("2024-06")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE held.t0 RENAME TO gone",
        "DROP TABLE held.t0",
        "ALTER TABLE held.t0 ALTER COLUMN who TYPE text",
        "ALTER TABLE held.t0 RENAME COLUMN city TO town",
        "ALTER TABLE held.t0 ADD COLUMN more integer",
        "DROP TABLE held.t0; CREATE TABLE held.t0 (who bigint, city text)",
    ],
)
def test_a_table_that_changed_is_refused_before_the_charge_and_sealed_after_it(
    engine: Stored, change: str
) -> None:
    engine.prepare(COUNT)
    owner(engine.address).execute(change)
    with pytest.raises(CatalogError):
        engine.prepare(COUNT)
    with pytest.raises(SealedError):
        engine.run(COUNT, RECEIPT, salt=1)


def test_all_parts_of_a_question_see_one_snapshot(engine: Stored) -> None:
    """A writer adds a row for everybody at once, again and again; no answer has half of one."""
    engine.swap("t", frame(TYPES, [(n, "ulm") for n in range(50)]))
    done = threading.Event()

    def write() -> None:
        with psycopg.connect(engine.address, autocommit=True) as writer:
            while not done.is_set():
                writer.execute("INSERT INTO held.t0 SELECT n, 'bonn' FROM generate_series(0, 49) n")
                writer.execute("DELETE FROM held.t0 WHERE city = 'bonn'")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        city = Field("city", Type.TEXT, "city")
        parts = (Cells((RowCount(),)), Cells((RowCount(city),)))
        bounded = Bounded(scan("t", TYPES), (Key(city, "c", None),), Shares(rows=10), parts)
        seen = set()
        for _ in range(60):
            one, two = ({row[0]: row[1] // 2**16 for row in part} for part in
                        rows_of(engine, bounded))  # fmt: skip
            assert one == two
            assert one in ({"ulm": 50}, {"ulm": 50, "bonn": 50})
            seen.add(len(one))
    finally:
        done.set()
        thread.join()
    assert seen == {1, 2}


def test_rows_do_not_vanish_under_a_question(engine: Stored) -> None:
    """Who rewrites a table takes its rows from older snapshots; a question is not older."""
    held = frame(TYPES, [(n, "ulm") for n in range(200)])
    engine.swap("t", held)
    done = threading.Event()

    def rewrite() -> None:
        with psycopg.connect(engine.address, autocommit=True) as writer:
            while not done.is_set():
                writer.execute(
                    "ALTER TABLE held.t0 ALTER COLUMN city SET DATA TYPE text USING city || ''"
                )

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for _ in range(60):
            assert rows_of(engine, COUNT) == [{(200 * 2**16,)}]
    finally:
        done.set()
        thread.join()


# What goes wrong. ---------------------------------------------------------------------------------


def test_a_failure_says_no_value_of_a_row_to_anybody(
    engine: Stored, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        instead(engine, patch, "SELECT CAST(city AS bigint) AS s0 FROM held.t0")
        with caplog.at_level(logging.ERROR, "sordino.owner"), pytest.raises(SealedError) as caught:
            engine.run(COUNT, RECEIPT, salt=1)
    assert str(caught.value) == str(SealedError())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "InvalidTextRepresentation" in caplog.text
    assert "ulm" not in caplog.text
    assert rows_of(engine, COUNT) == ANSWER


def test_nothing_can_be_written_on_a_connection(engine: Stored) -> None:
    with connect(engine.address) as connection:
        for statement in ("INSERT INTO held.t0 VALUES (1)", "CREATE TABLE public.x (a int)"):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                connection.execute(statement)


def test_a_deadline_ends_a_question(engine: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        instead(engine, patch, SLOW)
        with pytest.raises(SealedError):
            engine.run(COUNT, RECEIPT, salt=1, deadline=0.2)
    with pytest.raises(SealedError):
        engine.run(COUNT, RECEIPT, salt=1, deadline=0.0)
    assert rows_of(engine, COUNT) == ANSWER


def test_a_server_that_says_nothing_is_hung_up_on(
    engine: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino.engine.postgres.connection._GRACE", 0.1)
    with monkeypatch.context() as patch:
        instead(engine, patch, SLOW)
        begin = engine._begin
        patch.setattr(engine, "_begin", lambda names, _deadline=None: begin(names))  # no timeout
        with pytest.raises(SealedError):
            engine.run(COUNT, RECEIPT, salt=1, deadline=0.2)
    assert rows_of(engine, COUNT) == ANSWER


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_the_keyboard_interrupts_a_question_and_the_engine_goes_on(
    engine: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest ignore it
    try:
        with monkeypatch.context() as patch:
            instead(engine, patch, SLOW)
            thread = threading.Thread(target=press)
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                engine.run(COUNT, RECEIPT, salt=1)
            thread.join()
    finally:
        signal.signal(signal.SIGINT, heard)
    assert rows_of(engine, COUNT) == ANSWER
    busy = "state = 'active' AND datname = current_database() AND pid <> pg_backend_pid()"
    left = owner(engine.address).execute(f"SELECT FROM pg_stat_activity WHERE {busy}").fetchall()
    assert left == []


def test_threads_share_an_engine(engine: Stored) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: rows_of(engine, COUNT), range(30)))
    assert answers == [ANSWER] * 30


def test_a_connection_that_was_lost_while_idle_is_made_anew(engine: Stored) -> None:
    for _ in range(3):
        assert rows_of(engine, COUNT) == ANSWER
        owner(engine.address).execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'sordino' AND datname = current_database()"
        )
    assert rows_of(engine, COUNT) == ANSWER


def test_a_wrong_password_and_a_server_that_is_not_there_are_refused(address: str) -> None:
    nowhere = make_conninfo(address, host="/nowhere")
    with pytest.raises(CatalogError, match="cannot be reached"):
        open_engine(declared(nowhere, "t", who=Type.INTEGER))
    with pytest.raises(CatalogError, match="cannot be reached"):
        open_engine(declared(make_conninfo(address, user="nobody"), "t", who=Type.INTEGER))


def test_text_with_nul_is_refused_before_the_charge(engine: Stored) -> None:
    city = Field("city", Type.TEXT, "city")
    rows = Where(COUNT.rows, call("eq", city, Literal("a\0b", Type.TEXT)))
    with pytest.raises(Unsupported, match="nothing was charged"):
        engine.prepare(replace(COUNT, rows=rows))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks beside other threads
def test_a_child_has_connections_of_its_own_and_leaves_those_of_its_parent(engine: Stored) -> None:
    assert rows_of(engine, COUNT) == ANSWER
    (parents,) = engine._server._idle[os.getpid()]
    child = os.fork()
    if not child:
        try:
            os._exit(0 if rows_of(engine, COUNT) == ANSWER else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert rows_of(engine, COUNT) == ANSWER
    assert engine._server._idle[os.getpid()] == [parents]  # which is as it was


# Several databases. -------------------------------------------------------------------------------


def test_tables_of_several_databases_are_asked_apart_and_not_joined(engine: Stored) -> None:
    (stored,) = engine.catalog.tables
    public = Table(
        "places",
        Frame(frame({"city": Type.TEXT}, [("ulm",)])),
        (Column("city", Type.TEXT),),
        public=True,
    )
    opened = open_engine(Catalog((stored, public)))
    try:
        opened.prepare(COUNT)
        assert rows_of(opened, COUNT) == ANSWER
        assert opened.public_values("places", "city") == ("ulm",)
        assert opened.version(["t"]) == engine.version(["t"])
        assert opened.version(["t", "places"]) != opened.version(["t"])
        city = Field("city", Type.TEXT, "city")
        joined = JoinPublic(COUNT.rows, "places", ((city, "city"),), (), outer=False)
        with pytest.raises(Unsupported, match="different databases") as caught:
            opened.prepare(replace(COUNT, rows=joined))
        assert "store them in one place" in str(caught.value)
        with pytest.raises(SealedError):
            opened.run(replace(COUNT, rows=joined), RECEIPT, salt=1)
    finally:
        opened.close()


def test_a_public_table_is_handed_over_in_declared_types(address: str) -> None:
    owner(address).execute("CREATE TABLE places (city varchar, people numeric)")
    owner(address).execute("INSERT INTO places VALUES ('ulm', 3), ('bonn', NULL), (NULL, 'NaN')")
    columns = (Column("city", Type.TEXT), Column("people", Type.INTEGER))
    table = Table("places", PostgresTable(address, "places"), columns, public=True)
    engine = open_engine(Catalog((table,)))
    assert engine.public_values("places", "city") == ("bonn", "ulm")
    held = engine.public_table("places").to_pylist()
    assert sorted(map(_pair, held)) == [("", None), ("bonn", None), ("ulm", 3)]
    engine.close()


def _pair(row: dict[str, Any]) -> tuple[str, Any]:
    return row["city"] or "", row["people"]


def test_an_address_is_told_without_users_and_options() -> None:
    assert place_of("postgresql://me@db.example/clinic?sslmode=require") == "'clinic' at db.example"
    assert place_of("postgresql:///clinic?host=/run/pg") == "'clinic' at this machine"


def test_other_machines_have_to_prove_who_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def refused(**stated: Any) -> Any:
        seen.append(stated.get("sslmode"))
        raise psycopg.OperationalError("no")

    monkeypatch.delenv("PGSSLMODE", raising=False)
    monkeypatch.setattr(psycopg, "connect", refused)
    for address in (
        "postgresql://db.example/clinic",
        "postgresql://192.0.2.7/clinic",
        "postgresql://localhost,db.example/clinic",
        "postgresql://db.example/clinic?sslmode=require",
        "postgresql://127.0.0.1/clinic",
        "postgresql://[::1]/clinic",
        "postgresql:///clinic?host=/run/pg",
        "postgresql:///?service=clinic",
    ):
        with pytest.raises(CatalogError, match="cannot be reached"):
            connect(address)
    full = "verify-full"
    assert seen == [full, full, full, "require", None, None, None, full]


def test_the_role_may_read_the_declared_tables_and_nothing_else(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for statement in (
        MADE,
        "INSERT INTO t VALUES (1, 'ulm', 1), (2, 'bonn', 2)",
        "CREATE TABLE other (who bigint)",
        "DROP ROLE IF EXISTS minimal",
    ):
        owner(address).execute(statement)
    path = tmp_path / "sordino.toml"
    columns = 'unit = "who"\n[tables.t.columns]\nwho = "integer"\ncity = "text"\n'
    path.write_text(
        f'[budget]\nepsilon = 1\n[tables.t]\npostgres = "{address}"\ntable = "t"\n{columns}'
    )
    assert main([str(path), "minimal"]) == 0
    for statement in capsys.readouterr().out.strip().split(";\n"):
        owner(address).execute(statement.rstrip(";"))
    reader = make_conninfo(address, user="minimal")
    engine = open_engine(declared(reader, "t", who=Type.INTEGER, city=Type.TEXT))
    assert rows_of(engine, COUNT) == ANSWER
    engine.close()
    assert "GRANT SELECT" in refusal(reader, name="other")
    with psycopg.connect(reader, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        for statement in ("INSERT INTO t VALUES (3)", "CREATE TEMP TABLE x (a int)",
                          "CREATE TABLE x (a int)", "SELECT FROM other"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
    owner(address).execute("DROP OWNED BY minimal; DROP ROLE minimal")
