# SPDX-License-Identifier: Apache-2.0
"""What the connection refuses, tried straight on it: files, networks, extensions, settings, DDL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog.model import Catalog, Column, Frame, ParquetFile, Table
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.query.types import Type

SECRET = pa.table({"v": [1, 2, 3]})  # a variable that a replacement scan would find

PROBES = [
    "SELECT * FROM read_csv('{other}')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_parquet('{other}')",
    "SELECT * FROM '{other}'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM parquet_schema('{other}')",
    "SELECT * FROM parquet_metadata('{other}')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('https://example.com/x.parquet')",
    "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{mine}'",
    "COPY (SELECT 1 AS v) TO '{folder}/out.parquet' (FORMAT parquet)",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}/out'",
    "ATTACH '{folder}/new.duckdb' AS n",
    "ATTACH ':memory:' AS n",
    "ATTACH '{other}' AS n",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{folder}/evil.duckdb_extension'",
    "SET threads = 1",
    "SET enable_external_access = true",
    "SET allowed_paths = ['/etc/passwd']",
    "SET lock_configuration = false",
    "SET python_enable_replacements = true",
    "RESET memory_limit",
    "PRAGMA threads = 1",
    "CREATE TABLE x (a INTEGER)",
    "CREATE VIEW x AS SELECT 1",
    "CREATE MACRO x() AS 1",
    "CREATE SCHEMA x",
    "CREATE SECRET s (TYPE s3)",
    "CREATE SEQUENCE x",
    "SELECT * FROM SECRET",
    "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
]
NAMES = ["SECRET", "PROBES", "pa", "pq", "duckdb", "hardened", "connection", "request", "t", "Path"]


@pytest.fixture(scope="module")
def hardened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DuckdbEngine, Path]]:
    folder = tmp_path_factory.mktemp("hardened")
    for name in ("mine", "other"):
        pq.write_table(SECRET, folder / f"{name}.parquet")
    columns = (Column("v", Type.INTEGER),)
    engine = DuckdbEngine(
        Catalog(
            (
                Table("mine", ParquetFile(folder / "mine.parquet"), columns, unit="row"),
                Table("held", Frame(SECRET), columns, unit="row"),
            )
        )
    )
    yield engine, folder
    engine.close()


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_fails(hardened: tuple[DuckdbEngine, Path], probe: str) -> None:
    engine, folder = hardened
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    paths = {name: folder / f"{name}.parquet" for name in ("mine", "other")}
    text = probe.format(folder=folder, **paths)
    with engine.database.connection() as connection, pytest.raises(duckdb.Error):
        connection.execute(text).fetchall()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_of_python_is_no_table(hardened: tuple[DuckdbEngine, Path], name: str) -> None:
    with hardened[0].database.connection() as connection, pytest.raises(duckdb.Error):
        connection.table(name).fetchall()


def test_declared_sources_can_be_read(hardened: tuple[DuckdbEngine, Path]) -> None:
    with hardened[0].database.connection() as connection:
        for name in ("t0", "t1"):
            assert connection.table(name).sum("v").fetchall() == [(6,)]


def test_what_is_made_on_one_connection_is_not_seen_on_another(
    hardened: tuple[DuckdbEngine, Path],
) -> None:
    database = hardened[0].database
    with database.connection() as one, database.connection() as two:
        one.execute("CREATE TEMP TABLE mark (a INTEGER)")
        with pytest.raises(duckdb.Error):
            two.execute("SELECT * FROM mark")
        one.execute("DROP TABLE mark")
