# SPDX-License-Identifier: Apache-2.0
"""`init` writes a catalog and never over another; `check` leaves with 1 if it cannot be used."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner

from sordino.catalog.toml import read_catalog
from sordino.cli import catalog as command
from sordino.cli.catalog import DraftRequest, check_catalog
from sordino.cli.main import app
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError


def write_draft(files: list[Path], **stated: Any) -> None:
    """Write a draft as `sordino init` does, and let its errors through."""
    command.write_draft(DraftRequest(files=list(map(str, files)), **stated))


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "visits.csv"
    path.write_text("id,age,disease\n1,30,flu\n", "utf-8")
    return path


def test_a_draft_is_written_and_passes_the_check(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_draft(
        [visits], unit=["id"], guess_types=True, bounds=["age=0:110"], declare_public=["disease"]
    )
    assert "go through its 1 line marked TODO" in capsys.readouterr().out
    made = read_catalog("sordino.toml")
    assert [column.keys for column in made.tables[0].columns] == [None, None, ("flu",)]
    check_catalog()
    assert "sordino.toml can be used: 0 errors, 0 warnings, 1 note" in capsys.readouterr().out


def test_a_catalog_is_not_written_over_by_accident(visits: Path) -> None:
    Path("sordino.toml").write_text("mine")
    with pytest.raises(CatalogError, match="add --force"):
        write_draft([visits])
    assert Path("sordino.toml").read_text() == "mine"
    write_draft([visits], force=True)
    assert "[budget]" in Path("sordino.toml").read_text()


def test_a_catalog_may_lie_in_another_folder(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sub").mkdir()
    write_draft([visits], unit=["id"], output=Path("sub/my.toml"))
    assert "then: sordino check sub/my.toml" in capsys.readouterr().out
    check_catalog(Path("sub/my.toml"))


@pytest.mark.parametrize("entry", ["age", "age=5", "=0:1", "0:1"])
def test_bounds_are_written_in_one_way(visits: Path, entry: str) -> None:
    with pytest.raises(CatalogError, match="column=low:high"):
        write_draft([visits], bounds=[entry])
    assert not Path("sordino.toml").exists()


def test_a_catalog_that_cannot_be_used_leaves_with_1(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_draft([visits])
    with pytest.raises(typer.Exit) as left:
        check_catalog()
    assert left.value.exit_code == 1
    assert "cannot be used yet: 1 error," in capsys.readouterr().out


def test_findings_are_told_to_programs_as_json(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_draft([visits], unit=["id"])
    visits.unlink()
    capsys.readouterr()
    with pytest.raises(typer.Exit):
        check_catalog(as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found[0]["severity"] == "error"
    assert "there is no file" in found[0]["message"]
    assert set(found[0]) == {"severity", "where", "message", "hint"}


def test_a_catalog_that_is_not_there_is_a_wrong_request(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CatalogError, match=r"there is no file 'nope\.toml'"):
        check_catalog(Path("nope.toml"))
    Path("sordino.toml").write_text("[budget", "utf-8")
    with pytest.raises(typer.Exit) as left:
        check_catalog()
    assert left.value.exit_code == 1
    assert visits.exists()
    assert "correct that in" in capsys.readouterr().out


def test_the_catalog_may_be_named_as_other_commands_take_it(visits: Path) -> None:
    write_draft([visits], unit=["id"], output=Path("my.toml"))
    for arguments, code in (
        (["my.toml"], 0),
        (["--catalog", "my.toml"], 0),
        ([], 2),
        (["my.toml", "--catalog", "my.toml"], 2),
    ):
        done = CliRunner().invoke(app, ["check", *arguments])
        assert done.exit_code == code, done.output


def test_findings_are_not_folded_in_a_pipe(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    write_draft([visits])
    done = CliRunner().invoke(app, ["check"])
    assert done.exit_code == 1
    found = json.loads(CliRunner().invoke(app, ["check", "--json"]).stdout)
    assert len(done.stdout.splitlines()) == len(found) + 2


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE visits(id INTEGER, age INTEGER, older INTEGER AS (age + 1))"
        )
        connection.execute("CREATE VIEW old AS SELECT id, age FROM visits WHERE age > 80")
    return path


def test_what_is_drafted_of_a_database_can_be_opened(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_draft([database], unit=["id"], bounds=["age=0:110"])
    text = Path("sordino.toml").read_text()
    assert "# The view old is left out" in text
    assert "# older: " in text
    assert [table.name for table in read_catalog("sordino.toml").tables] == ["visits"]
    check_catalog()
    assert "can be used" in capsys.readouterr().out


def test_a_database_of_views_alone_is_not_drafted(tmp_path: Path) -> None:
    path = tmp_path / "views.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE VIEW ones AS SELECT 1 AS id")
    with pytest.raises(CatalogError, match=r"only views \('?ones.*CREATE TABLE"):
        write_draft([path], output=tmp_path / "sordino.toml")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('table = "visits"', 'table = "old"', "by CREATE TABLE ... AS"),
        ("[tables.visits.columns]", "[tables.visits.columns]\nolder = 'integer'", "GENERATED"),
    ],
)
def test_what_opening_refuses_the_check_refuses(
    database: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    said: str,
) -> None:
    write_draft([database], unit=["id"], bounds=["age=0:110"])
    path = Path("sordino.toml")
    path.write_text(path.read_text().replace(old, new))
    capsys.readouterr()
    with pytest.raises(typer.Exit):
        check_catalog(as_json=True)
    finding = json.loads(capsys.readouterr().out)[0]
    assert finding["severity"] == "error"
    assert said in finding["message"] + finding["hint"]
    with pytest.raises(CatalogError):
        DuckdbEngine(read_catalog(path))


def test_what_only_opening_sees_is_an_error_of_the_check(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_draft([visits], unit=["id"], guess_types=True)
    path = Path("sordino.toml")
    parent = """
[tables.more]
csv = "visits.csv"
parent = "visits.day"
via = "day"
[tables.more.columns]
day = "date"
"""
    text = path.read_text().replace(
        'csv = "visits.csv"', 'csv = "visits.csv"\ndate_format = "%d.%m.%y"'
    )
    path.write_text(text + 'day = "date"\n' + parent)
    visits.write_text("id,age,disease,day\n", "utf-8")
    with pytest.raises(typer.Exit):
        check_catalog(as_json=True)
    out = capsys.readouterr().out
    assert "several texts of a format would become one id" in out
    assert "declare it as text" in out


def test_the_next_step_names_the_catalog(visits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_draft([visits], unit=["id"], output=Path("other.toml"))
    check_catalog(Path("other.toml"))
    assert "sordino check other.toml --read" in capsys.readouterr().out


@pytest.mark.parametrize("entry", ["file", "anchor"])
def test_a_ledger_that_cannot_be_written_is_an_error(
    visits: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.chdir(visits.parent)
    write_draft([visits], unit=["id"])
    path = Path("sordino.toml")
    text = path.read_text("utf-8")
    path.write_text(f'{text}\n[ledger]\n{entry} = "away/books"\n', "utf-8")
    capsys.readouterr()
    with pytest.raises(typer.Exit):
        check_catalog(path, as_json=True)
    said = [finding["message"] for finding in json.loads(capsys.readouterr().out)]
    what = "ledger" if entry == "file" else "anchor"
    assert any(one.startswith("there is no folder") and f"the {what}" in one for one in said)
    Path("away").mkdir()
    check_catalog(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    capsys.readouterr()
    with pytest.raises(typer.Exit):
        check_catalog(path)
    told = " ".join(capsys.readouterr().out.split())  # whatever the width of the terminal
    assert "cannot be written" in told
    with pytest.raises(typer.Exit):
        check_catalog(path, as_json=True)
    said = [finding["message"] for finding in json.loads(capsys.readouterr().out)]
    assert any("cannot be written by who runs this" in one for one in said)


def test_a_draft_that_cannot_be_written_is_a_wrong_request(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = CliRunner().invoke(app, ["init", str(visits), "--output", "away/sordino.toml"])
    assert (done.exit_code, "there is no folder 'away'" in done.output) == (2, True)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    done = CliRunner().invoke(app, ["init", str(visits)])
    assert (done.exit_code, "cannot be written: permission denied" in done.output) == (2, True)


def test_a_file_that_may_not_be_read_is_told_so(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, **_: object) -> None:
        raise PermissionError(13, f"Failed to open local file '{path}'. Detail: [errno 13]")

    monkeypatch.setattr(pa, "input_stream", refuse)
    with pytest.raises(CatalogError, match="cannot be read: permission denied; let") as raised:
        write_draft([visits])
    assert "Detail" not in str(raised.value)


def test_a_database_that_another_program_has_open_is_told_which(visits: Path) -> None:
    path = visits.parent / "t.duckdb"
    holding = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(flush=True); input()"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS id")
    write_draft([path], unit=["id"])
    catalog = read_catalog("sordino.toml")
    with subprocess.Popen(
        [sys.executable, "-c", holding, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        said = rf"t\.duckdb' is open in another program \(.*, process {other.pid}\); close it there"
        with pytest.raises(CatalogError, match=said) as raised:
            DuckdbEngine(catalog)
        assert "http" not in str(raised.value)
        with pytest.raises(CatalogError, match=said):
            write_draft([path], force=True)
        other.communicate(b"\n")


def test_views_that_are_left_out_are_told(visits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = visits.parent / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS id")
        connection.execute("CREATE VIEW ones AS SELECT 1 AS id")
    write_draft([path], unit=["id"])
    assert "note: the view ones is left out" in capsys.readouterr().out
    write_draft([path], unit=["id"], force=True, as_json=True)
    assert "the view ones" in json.loads(capsys.readouterr().out)["remarks"][0]
