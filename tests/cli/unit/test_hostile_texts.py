# SPDX-License-Identifier: Apache-2.0
"""Texts that somebody wrote into the data, or into a catalog, do nothing where they are shown."""

import csv
from pathlib import Path

import pytest

from tests.cli.unit.conftest import CATALOG, Run

HOSTILE = ["=cmd()", "+1", "-2", "@x", "\x1b[31mred", "\u202eabc", "[red]x[/red]", "a\rb", "\tx"]
WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def hostile(clinic: Path) -> Path:
    escaped = ", ".join('"' + "".join(f"\\U{ord(c):08x}" for c in text) + '"' for text in HOSTILE)
    stated = CATALOG.replace('keys = ["north", "south"]', f"keys = [{escaped}]")
    (clinic / "sordino.toml").write_text(stated, "utf-8")
    return clinic


def test_no_key_in_a_csv_file_is_a_formula_or_steers_a_terminal(run: Run, hostile: Path) -> None:
    done = run("ask", WARDS, "--epsilon", "0.5", "--csv", "out.csv")
    assert done.exit_code == 0, done.stderr
    text = (hostile / "out.csv").read_text("utf-8")
    assert text.replace("\n", "").isprintable()
    head, *rows = csv.reader(text.splitlines())
    assert head == ["ward", "n", "n_half_width", "n_low", "n_high"]
    assert sorted(row[0] for row in rows) == sorted(
        [
            "'=cmd()",
            "'+1",
            "'-2",
            "'@x",
            "\\x1b[31mred",
            "\\u202eabc",
            "[red]x[/red]",
            "a\\rb",
            "\\tx",
        ]
    )
    assert all(float(cell) is not None for row in rows for cell in row[1:])


def test_titles_in_a_csv_file_are_texts_too(run: Run, clinic: Path) -> None:
    run("ask", 'SELECT COUNT(*) AS "=1+1" FROM visits', "--epsilon", "0.5", "--csv", "out.csv")
    assert (clinic / "out.csv").read_text("utf-8").startswith("'=1+1,'=1+1_half_width,")


def test_no_key_in_a_terminal_is_obeyed(run: Run, hostile: Path) -> None:
    assert hostile.exists()
    for command in (["ask", WARDS, "--epsilon", "0.1"], ["explain", WARDS, "--epsilon", "0.1"]):
        shown = run(*command).stdout
        assert shown
        assert all(line.isprintable() for line in shown.splitlines())
    shown = run("ask", WARDS, "--epsilon", "0.1").stdout
    assert "[red]x[/red]" in shown
    assert "\\x1b[31mred" in shown


def test_entries_of_a_ledger_are_no_formulas(run: Run, clinic: Path) -> None:
    run("ask", WARDS, "--epsilon", "0.1", "--who", "=cmd()")
    (clinic / "sordino.toml").write_text(CATALOG.replace("epsilon = 1", "epsilon = 2"), "utf-8")
    run("ledger", "amend", "--by", "@ann", "--why", "-1+1")
    done = run("ledger", "export", "--format", "csv")
    cells = [cell for row in csv.reader(done.stdout.splitlines()) for cell in row]
    assert {"'=cmd()", "'@ann", "'-1+1"} <= set(cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\x1b[31m", "\x9b1m", "\u200f"])
def test_a_refused_question_steers_no_terminal(run: Run, clinic: Path, mark: str) -> None:
    assert clinic.exists()
    for sql in (f"SELECT nope{mark} FROM visits", f"SELECT\tnope AS {mark}x FROM visits"):  # noqa: S608
        done = run("ask", sql, "--epsilon", "0.1")
        assert done.exit_code == 2
        assert "nope" in done.stderr
        assert all(line.isprintable() for line in done.stderr.splitlines())
        typed = run("repl", "--epsilon", "0.1", "--yes", typed=f"{sql};\n")
        assert "nope" in typed.stderr
        assert all(line.isprintable() for line in typed.stderr.splitlines())
