# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sordino
from sordino.cli.main import app


def output(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_version_is_the_version_of_the_package() -> None:
    assert output("--version") == f"sordino {sordino.__version__}\n"


def test_the_help_names_every_command() -> None:
    help_text = output("--help")
    names = "demo init check explain ask repl budget history ledger account choose audit"
    for name in names.split():
        assert f"\n  {name} " in help_text


def test_the_demo_prints_its_page(tmp_path: Path) -> None:
    assert "what is left" in output("demo", str(tmp_path))


@pytest.mark.parametrize("arguments", [["nonsense"], ["demo", "--seed", "1"]])
def test_unknown_words_are_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2


def test_the_short_option_shows_the_same_help() -> None:
    assert output("-h") == output("--help")
    assert output("demo", "-h") == output("demo", "--help")


def start(
    *arguments: str, stdout: int | None = subprocess.PIPE, folder: Path | None = None
) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "sordino", *arguments],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_summary_of_every_command_fits_on_its_line() -> None:
    _, said, _ = start("--help")
    assert "..." not in said.partition("Commands:")[2]


def test_the_package_can_be_run_as_a_module() -> None:
    assert start("--version") == (0, f"sordino {sordino.__version__}\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("argument", ["demo", "--help", "--version"])
def test_a_full_device_is_told_in_one_line(argument: str, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        code, _, said = start(argument, stdout=full.fileno(), folder=tmp_path)
    assert code == 1
    assert said == "sordino: cannot write the output: No space left on device\n"


def test_the_demo_in_json_has_all_answers(tmp_path: Path) -> None:
    told = json.loads(output("demo", str(tmp_path / "d"), "--json"))
    assert [len(answer["rows"]) > 0 for answer in told["answers"]] == [True] * 6
    assert told["answers"][-1]["left_nanos"] > 0


def test_a_draft_is_told_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("id,age\n1,30\n", "utf-8")
    told = json.loads(output("init", "visits.csv", "--unit", "id", "--json"))
    assert told == {"wrote": "sordino.toml", "todo": 2, "remarks": []}
