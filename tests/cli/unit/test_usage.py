# SPDX-License-Identifier: Apache-2.0
"""Wrong words on the command line are told like every other error."""

import json

import pytest
from typer.testing import CliRunner

from sordino.cli.main import app

WRONG = [
    (["nonsense"], "no such command 'nonsense'", "sordino"),
    (["--seed", "1"], "no such option: --seed", "sordino"),
    (["ask"], "missing argument", "sordino ask"),
    (["history", "--last", "many"], "invalid value for '--last'", "sordino history"),
    (["ledger", "verify", "--seed", "1"], "no such option: --seed", "sordino ledger verify"),
    (["ledger", "nonsense"], "no such command 'nonsense'", "sordino ledger"),
    (
        ["ask", "SELECT 1", "--epsilon", "--fresh"],
        "--epsilon needs a value, and --fresh",
        "sordino ask",
    ),
    (["ledger", "amend", "--by", "--why", "x"], "--by needs a value", "sordino ledger amend"),
]


@pytest.mark.parametrize(("arguments", "message", "path"), WRONG)
def test_wrong_words_are_one_sentence_or_one_line_of_json(
    arguments: list[str], message: str, path: str
) -> None:
    done = CliRunner().invoke(app, arguments, prog_name="sordino")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sordino: {message}")
    assert done.stderr.endswith(f"\nhint: see '{path} --help'\n")
    done = CliRunner().invoke(app, [*arguments, "--json"], prog_name="sordino")
    assert (done.exit_code, done.stdout) == (2, "")
    told = json.loads(done.stderr)
    assert list(told) == ["code", "message", "why", "hint", "span"]
    assert (told["code"], told["hint"]) == ("argument", f"see '{path} --help'")
    assert told["message"].startswith(message)


def test_an_option_does_not_swallow_the_one_behind_it() -> None:
    done = CliRunner().invoke(app, ["ask", "SELECT 1", "--epsilon", "--json"])
    assert done.exit_code == 2
    assert json.loads(done.stderr)["message"] == "--epsilon needs a value, and --json follows it"


@pytest.mark.parametrize("arguments", [[], ["ledger"]])
def test_no_words_at_all_show_the_help(arguments: list[str]) -> None:
    assert "Commands:" in CliRunner().invoke(app, arguments).output
