# SPDX-License-Identifier: Apache-2.0
"""`init` writes a catalog and never over another; `check` leaves with 1 if it cannot be used."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sordino.cli.catalog import check, init
from sordino.cli.main import app
from sordino.errors import CatalogError
from sordino.query.toml import read_catalog


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "visits.csv"
    path.write_text("id,age,disease\n1,30,flu\n", "utf-8")
    return path


def test_a_draft_is_written_and_passes_the_check(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init([visits], unit="id", guess_types=True, bounds=["age=0:110"], declare_public=["disease"])
    assert "go through its 1 lines marked TODO" in capsys.readouterr().out
    made = read_catalog("sordino.toml")
    assert [column.keys for column in made.tables[0].columns] == [None, None, ("flu",)]
    check()
    assert "sordino.toml can be used: 0 errors, 0 warnings, 1 note" in capsys.readouterr().out


def test_a_catalog_is_not_written_over_by_accident(visits: Path) -> None:
    Path("sordino.toml").write_text("mine")
    with pytest.raises(CatalogError, match="add --force"):
        init([visits])
    assert Path("sordino.toml").read_text() == "mine"
    init([visits], force=True)
    assert "[budget]" in Path("sordino.toml").read_text()


def test_a_catalog_may_lie_in_another_folder(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sub").mkdir()
    init([visits], unit="id", output=Path("sub/my.toml"))
    assert "then: sordino check sub/my.toml" in capsys.readouterr().out
    check(Path("sub/my.toml"))


@pytest.mark.parametrize("entry", ["age", "age=5", "=0:1", "0:1"])
def test_bounds_are_written_in_one_way(visits: Path, entry: str) -> None:
    with pytest.raises(CatalogError, match="column=low:high"):
        init([visits], bounds=[entry])
    assert not Path("sordino.toml").exists()


def test_a_catalog_that_cannot_be_used_leaves_with_1(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init([visits])
    with pytest.raises(typer.Exit) as left:
        check()
    assert left.value.exit_code == 1
    assert "cannot be used yet: 1 error," in capsys.readouterr().out


def test_findings_are_told_to_programs_as_json(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init([visits], unit="id")
    visits.unlink()
    capsys.readouterr()
    with pytest.raises(typer.Exit):
        check(as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found[0]["severity"] == "error"
    assert "there is no file" in found[0]["message"]
    assert set(found[0]) == {"severity", "where", "message", "hint"}


def test_a_catalog_that_is_not_there_is_a_wrong_request(
    visits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CatalogError, match=r"there is no file 'nope\.toml'"):
        check(Path("nope.toml"))
    Path("sordino.toml").write_text("[budget", "utf-8")
    with pytest.raises(typer.Exit) as left:
        check()
    assert left.value.exit_code == 1
    assert visits.exists()
    assert "correct the file" in capsys.readouterr().out


def test_the_catalog_may_be_named_as_other_commands_take_it(visits: Path) -> None:
    init([visits], unit="id", output=Path("my.toml"))
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
    init([visits])
    done = CliRunner().invoke(app, ["check"])
    assert done.exit_code == 1
    found = json.loads(CliRunner().invoke(app, ["check", "--json"]).stdout)
    assert len(done.stdout.splitlines()) == len(found) + 2
