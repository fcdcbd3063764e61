# SPDX-License-Identifier: Apache-2.0
"""`budget` shows what is left in all and for each analyst, by the limits on record."""

import json
from pathlib import Path

from tests.cli.unit.conftest import CATALOG, Run

COUNT = "SELECT COUNT(*) AS n FROM visits"
SHARES = (
    CATALOG.replace("epsilon = 1\n", "epsilon = 1\ndelta = 1e-6\nquestion = 0.3\n")
    + """
[analysts.alice]
share = 0.5
reserved = 0.2

[analysts."*"]
share = 0.25
"""
)


def test_a_new_budget_is_whole_and_no_ledger_is_made(run: Run, clinic: Path) -> None:
    done = run("budget")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("people: epsilon 1 of epsilon 1 left\n" + "━" * 24 + "\n")
    assert not (clinic / "sordino.ledger").exists()


def test_shares_and_limits_are_told_in_words(run: Run, clinic: Path) -> None:
    (clinic / "sordino.toml").write_text(SHARES, "utf-8")
    run("ask", COUNT, "--epsilon", "0.1", "--who", "alice")
    run("ask", COUNT, "--epsilon", "0.2", "--who", "bob")
    lines = run("budget", "--who", "bob").stdout.splitlines()
    assert lines[0] == "people: epsilon 0.7 of epsilon 1 left"
    assert lines[1] == "━" * 17 + "─" * 7
    facts = {line[:14].strip(): line[14:].strip() for line in lines[2:8]}
    assert facts["spent"] == "epsilon 0.3"
    assert facts["for bob"] == "epsilon 0.05 and delta 2.5e-07 left"
    assert facts["kept"] == "epsilon 0.2 and delta 2e-07 for alice"
    assert facts["one question"] == "at most epsilon 0.3"
    assert facts["all others"] == "at most epsilon 0.25 and delta 2.5e-07 each"
    assert facts["keys"] == "delta 1e-06 of 1e-06 left to discover them"
    table = [line.split("   ") for line in lines[9:]]
    assert [cells[0].strip() for cells in table] == ["analyst", "alice", "bob"]
    assert table[1][-1].strip() == "epsilon 0.4"


def test_json_has_whole_numbers(run: Run, clinic: Path) -> None:
    (clinic / "sordino.toml").write_text(SHARES, "utf-8")
    run("ask", COUNT, "--epsilon", "0.1", "--who", "alice")
    told = json.loads(run("budget", "--who", "carol", "--json").stdout)
    assert told["who"] == "carol"
    assert told["warning"] == ""
    (space,) = told["people"]
    assert space["spent"] == {"price": "epsilon 0.1", "nanos": 100_000_000, "delta": 0.0}
    assert space["held"]["nanos"] == 100_000_000
    assert space["question_nanos"] == 300_000_000
    assert space["left_for_who"]["nanos"] == 250_000_000
    assert [part["who"] for part in space["analysts"]] == ["alice", "carol"]
    assert space["analysts"][1]["most"]["nanos"] == 250_000_000


def test_limits_that_differ_from_those_on_record_are_pointed_out(run: Run, clinic: Path) -> None:
    run("ask", COUNT, "--epsilon", "0.1")
    (clinic / "sordino.toml").write_text(CATALOG.replace("epsilon = 1", "epsilon = 2"), "utf-8")
    done = run("budget")
    assert done.exit_code == 0
    assert done.stdout.startswith("people: epsilon 0.9 of epsilon 1 left")
    assert "warning: the catalog and the ledger differ" in done.stdout


def test_every_id_space_has_its_own(run: Run, clinic: Path) -> None:
    text = CATALOG.replace("[budget]", "[budget.patients]").replace(
        'unit = "id"', 'unit = "id"\npeople = "patients"'
    )
    nurses = (
        text[text.index("[tables") :].replace("visits]", "shifts]").replace("visits.c", "shifts.c")
    )
    more = nurses.replace('"patients"', '"nurses"').replace("shifts.csv", "visits.csv")
    (clinic / "sordino.toml").write_text(f"{text}\n[budget.nurses]\nepsilon = 5\n{more}", "utf-8")
    done = run("budget")
    assert "nurses: epsilon 5 of epsilon 5 left" in done.stdout, done.output
    assert "patients: epsilon 1 of epsilon 1 left" in done.stdout


def test_a_ledger_that_is_gone_leaves_with_4(run: Run, clinic: Path) -> None:
    run("ask", COUNT, "--epsilon", "0.1")
    (clinic / "sordino.ledger").unlink()
    done = run("budget")
    assert done.exit_code == 4
    assert "its anchor has seen entry" in done.stderr
    assert not (clinic / "sordino.ledger").exists()


def test_a_budget_in_gdp_is_checked_asked_and_shown(run: Run, clinic: Path) -> None:
    text = CATALOG.replace("epsilon = 1\n", 'epsilon = 1\ndelta = 1e-6\ncurrency = "gdp"\n')
    (clinic / "sordino.toml").write_text(text, "utf-8")
    assert run("check").exit_code == 0
    told = run("explain", COUNT, "--epsilon", "0.1")
    assert "gdp 0.0006" in told.stdout
    assert "asked for as epsilon 0.1" in told.stdout
    answer = json.loads(run("ask", COUNT, "--epsilon", "0.1", "--json").stdout)
    assert answer["receipt"].startswith("people:2:")
    assert run("budget").stdout.startswith("people: gdp 0.0517")
    assert "gdp 0.0006" in run("history").stdout
    assert run("ledger", "verify").exit_code == 0
    refused = run("ask", COUNT, "--epsilon", "5")
    assert refused.exit_code != 0
    assert "gdp" in refused.stderr
