# SPDX-License-Identifier: Apache-2.0
"""`history` lists entries, the newest last."""

import json
from pathlib import Path

import pytest

from tests.cli.unit.conftest import CATALOG, Run

COUNT = "SELECT COUNT(*) AS n FROM visits"


def test_before_the_first_question_there_is_nothing_and_nothing_is_made(
    run: Run, clinic: Path
) -> None:
    assert run("history").stdout == "nothing has been asked yet\n"
    assert json.loads(run("history", "--json").stdout) == []
    assert not (clinic / "sordino.ledger").exists()


def test_entries_tell_when_who_what_and_what_was_left(run: Run, clinic: Path) -> None:
    shares = '[analysts.alice]\nshare = 0.5\nreserved = 0.2\n[analysts."*"]\nshare = 0.4\n'
    stated = CATALOG.replace("epsilon = 1\n", "epsilon = 1\nquestion = 0.3\n")
    (clinic / "sordino.toml").write_text(f"{stated}{shares}", "utf-8")
    run("ask", COUNT, "--epsilon", "0.1")
    run("ask", COUNT, "--epsilon", "0.2", "--who", "alice")
    head, *lines = run("history").stdout.splitlines()
    assert head.split() == ["number", "when", "who", "what", "left"]
    assert [int(line.split()[0]) for line in lines] == [1, 2, 3, 4, 5, 6]
    assert "opened: epsilon 1, one question epsilon 0.3, all others epsilon 0.4 each" in lines[0]
    assert "share of alice: epsilon 0.5, kept epsilon 0.2" in lines[1]
    assert "owner  charge of epsilon 0.1, plan " in lines[2]
    assert lines[2].rstrip().endswith("epsilon 0.9")
    assert lines[3].endswith("  owner  answer to 3: SELECT COUNT(*) AS n FROM visits")
    assert "alice  charge of epsilon 0.2, plan " in lines[4]


def test_only_the_newest_and_only_those_of_an_analyst_if_wanted(run: Run) -> None:
    for k in range(3):
        run("ask", COUNT, "--epsilon", f"0.1{k}", "--who", "alice")
        run("ask", COUNT, "--epsilon", f"0.1{k}", "--who", "bob")
    told = json.loads(run("history", "--last", "3", "--json").stdout)
    assert [entry["number"] for entry in told] == [11, 12, 13]
    told = json.loads(run("history", "--who", "alice", "--last", "3", "--json").stdout)
    assert [entry["number"] for entry in told] == [7, 10, 11]
    assert {entry["who"] for entry in told} == {"alice"}
    assert run("history", "--last", "0").exit_code == 2


def test_a_narrow_terminal_folds_what_and_cuts_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ask", COUNT, "--epsilon", "0.1")
    monkeypatch.setenv("COLUMNS", "40")
    done = run("history")
    assert max(map(len, done.stdout.splitlines())) <= 60
    assert "…" not in done.stdout


def test_a_long_question_is_shortened_to_the_terminal_and_whole_for_programs(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = " AND ".join(f"age <> {k}" for k in range(30))
    sql = f"{COUNT}\n WHERE {many}"
    assert run("ask", sql, "--epsilon", "0.1").exit_code == 0
    assert f"answer to 2: {' '.join(sql.split())}" in run("history").stdout
    told = json.loads(run("history", "--json").stdout)
    assert [entry["question"] for entry in told] == [None, sql, sql]
    monkeypatch.setenv("COLUMNS", "80")
    done = run("history")
    assert "..." in done.stdout
    assert "age <> 29" not in done.stdout
    assert len(done.stdout.splitlines()) < 12


def test_what_matches_nothing_is_told_to_be_so(run: Run) -> None:
    run("ask", COUNT, "--epsilon", "0.1")
    assert run("history", "--who", "zoe").stdout == "nothing is on record for 'zoe'\n"
    assert json.loads(run("history", "--who", "zoe", "--json").stdout) == []
    done = run("history", "--people", "nobody")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "sordino: there is no id space 'nobody'; there are people\n"
