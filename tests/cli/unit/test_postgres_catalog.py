# SPDX-License-Identifier: Apache-2.0
"""From the address of a PostgreSQL database to an answer, by commands alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sordino as so
from sordino.catalog.toml import read_all
from sordino.cli.main import app
from sordino.errors import CatalogError
from tests.engine.stored import database, owner

MADE = (
    "DROP SCHEMA IF EXISTS clinic CASCADE",
    "CREATE SCHEMA clinic",
    "CREATE TABLE clinic.visits (person bigint, ward text, cost numeric(8, 2), seen timestamptz)",
    "CREATE TABLE clinic.notes (person bigint, words jsonb)",
    "CREATE VIEW clinic.recent AS SELECT * FROM clinic.visits",
    "INSERT INTO clinic.visits SELECT n, chr(97 + n % 3), n % 100, now() "
    "FROM generate_series(1, 3000) AS n",
)


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a database with a few tables, and be in an empty folder."""
    monkeypatch.chdir(tmp_path)
    address = database()
    for statement in MADE:
        owner(address).execute(statement)
    return address


def run(*words: str) -> str:
    """Run a command that ends well, and return what it printed."""
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_catalog_is_drafted_from_a_schema_and_asked(clinic: str) -> None:
    told = run("init", clinic, "--unit", "person", "--bounds", "cost=0:100")
    assert "recent" in told
    draft = Path("sordino.toml").read_text()
    assert f'postgres = "{clinic}"\ntable = "clinic.visits"' in draft
    assert "words: its type jsonb has no counterpart here" in draft
    assert "bounds = [0, 100]" in draft
    ward = 'ward = "text"'
    Path("sordino.toml").write_text(
        draft.replace(ward, 'ward = { type = "text", keys = ["a", "b", "c"] }#')
    )
    run("check")
    sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward"
    assert "epsilon 0.5" in run("explain", sql, "--epsilon", "0.5")
    answer = json.loads(run("ask", sql, "--epsilon", "0.5", "--json"))
    assert [row["ward"] for row in _rows(answer)] == ["a", "b", "c"]
    assert all(abs(float(row["n"]) - 1000) < 200 for row in _rows(answer))
    private = json.loads(run("check", "--read", "--json"))["private"]
    assert "3000" in json.dumps(private)


def _rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer["rows"]
    return [
        {name: cell["value"] if isinstance(cell, dict) else cell for name, cell in row.items()}
        for row in found
    ]


def test_rehearsals_need_no_database_for_private_tables(tmp_path: Path) -> None:
    path = tmp_path / "sordino.toml"
    path.write_text(
        '[budget]\nepsilon = 1\n[tables.t]\npostgres = "postgresql:///x?host=/nowhere"\n'
        'table = "a.b"\nunit = "id"\n[tables.t.columns]\nid = "integer"\n'
    )
    with so.rehearse(path) as data:
        assert data.ask("SELECT COUNT(*) FROM t", epsilon=1)


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ('postgres = "postgresql://me:secret@db/x"\ntable = "t"', "PGPASSFILE"),
        ('postgres = "postgresql://db/x?password=secret"\ntable = "t"', "no place for one"),
        ('postgres = "mysql://db/x"\ntable = "t"', "must be an address"),
        ('postgres = "postgresql://db/x"', "state both or neither"),
        ('postgres = "postgresql://db/x"\ntable = "a..b"', "must be a name such as"),
        ('postgres = "postgresql://db/x"\nparquet = "x.parquet"\ntable = "t"', "exactly one of"),
        ('postgres = "postgresql://db/x"\ntable = "t"\nseparator = ";"', "is for csv files"),
        ('parquet = "x.parquet"\nversion = "1"', "version is for tables of servers"),
        ('spark = "sc://h"\ntable = "a.b"\ndelta = "/x"', "exactly one of table, parquet, delta"),
        ('spark = "sc://h/;token=abc"\ntable = "a.b"', "SPARK_CONNECT_TOKEN"),
        ('parquet = "x.parquet"\ndelta = "/x"', "state spark, too"),
    ],
)
def test_what_is_wrong_with_a_table_of_a_server_is_said(
    tmp_path: Path, entries: str, text: str
) -> None:
    path = tmp_path / "sordino.toml"
    columns = 'unit = "id"\n[tables.t.columns]\nid = "integer"\n'
    path.write_text(f"[budget]\nepsilon = 1\n[tables.t]\n{entries}\n{columns}")
    assert text in read_all(path).mistakes[0]
    assert "secret" not in " ".join(read_all(path).mistakes)


def test_an_engine_that_is_not_installed_is_named_with_its_extra(
    clinic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init", clinic, "--unit", "person")
    monkeypatch.setitem(__import__("sys").modules, "sordino.engine.postgres.engine", None)
    with pytest.raises(CatalogError, match=r"pip install 'sordino\[postgres\]'"):
        so.open(Path("sordino.toml"))
