# SPDX-License-Identifier: Apache-2.0
"""`explain` prices a question and says what is left; it makes no ledger and charges nothing."""

import json
from pathlib import Path

import pytest

from tests.cli.unit.conftest import CATALOG, Run

COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def test_no_ledger_is_made(run: Run, clinic: Path) -> None:
    done = run("explain", COUNT, "--epsilon", "0.1")
    assert done.exit_code == 0, done.output
    assert "price       epsilon 0.1; the whole budget is epsilon 1" in done.stdout
    assert "left        epsilon 1 of epsilon 1, about 10 questions like this one" in done.stdout
    assert sorted(path.name for path in clinic.iterdir()) == ["sordino.toml", "visits.csv"]


def test_what_is_left_is_what_the_ledger_says(run: Run) -> None:
    run("ask", COUNT, "--epsilon", "0.4")
    told = json.loads(run("explain", COUNT, "--epsilon", "0.1", "--json").stdout)
    assert told["price"] == "epsilon 0.1"
    assert told["left"] == "epsilon 0.6 of epsilon 1, about 6 questions like this one"
    assert told["columns"][0]["column"] == "n"
    assert told["releases"]
    assert "left        epsilon 0.6" in run("explain", COUNT, "--within", "1000").stdout


def test_a_broken_ledger_does_not_keep_from_explaining(run: Run, clinic: Path) -> None:
    (clinic / "sordino.ledger").write_text("this is no ledger, however long one looks at it")
    done = run("explain", COUNT, "--epsilon", "0.1")
    assert done.exit_code == 0
    assert "left        not known: the ledger " in done.stdout


@pytest.mark.parametrize("name", ["plan.svg", "plan.dot"])
def test_the_plan_can_be_drawn(run: Run, clinic: Path, name: str) -> None:
    assert run("explain", COUNT, "--epsilon", "0.1", "--picture", name).stderr == f"wrote {name}\n"
    assert (clinic / name).stat().st_size > 100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["SELECT agee FROM visits", "--epsilon", "1"], "there is no column 'agee'"),
        ([COUNT], "say what the answer may cost"),
        ([COUNT, "--epsilon", "0.1", "--picture", "plan.png"], "ending in .svg or .dot"),
        ([COUNT, "--epsilon", "0.1", "--rows", "0"], "rows"),
    ],
)
def test_a_wrong_request_leaves_with_2(run: Run, arguments: list[str], said: str) -> None:
    done = run("explain", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert set(json.loads(run("explain", *arguments, "--json").stderr)) == {
        *("code", "message", "why", "hint", "span"),
    }


def test_the_most_for_one_question_is_known_beforehand(run: Run, clinic: Path) -> None:
    stated = CATALOG.replace("epsilon = 1\n", "epsilon = 1\nquestion = 0.3\n")
    (clinic / "sordino.toml").write_text(stated, "utf-8")
    done = run("explain", COUNT, "--epsilon", "0.5")
    assert done.exit_code == 0
    assert "epsilon 1 of epsilon 1; refused: one question may cost at most epsilon 0.3\n" in (
        done.stdout
    )
    assert "refused" not in run("explain", COUNT, "--epsilon", "0.3").stdout
    refused = json.loads(run("ask", COUNT, "--epsilon", "0.5", "--json").stderr)
    assert refused["code"] == "question_too_dear"
    assert refused["hint"]


def test_a_ledger_that_would_refuse_is_warned_of(run: Run, clinic: Path) -> None:
    run("ask", COUNT, "--epsilon", "0.1")
    (clinic / "sordino.toml").write_text(CATALOG.replace("epsilon = 1", "epsilon = 2"), "utf-8")
    done = run("explain", COUNT, "--epsilon", "0.1")
    assert done.exit_code == 0
    assert "warning: no question is answered: the catalog and the ledger differ" in done.stdout
    checked = run("check")
    assert checked.exit_code == 1
    assert "the ledger  the catalog and the ledger differ" in checked.stdout
    (clinic / "sordino.toml").write_text(CATALOG, "utf-8")
    assert run("check").exit_code == 0
    (clinic / "sordino.ledger").unlink()
    (warning,) = json.loads(run("explain", COUNT, "--epsilon", "0.1", "--json").stdout)["warnings"]
    assert "its anchor has seen entry 3" in warning
    found = run("check", "--json")
    assert found.exit_code == 1
    assert "its anchor has seen entry 3" in json.loads(found.stdout)[0]["message"]
    assert not (clinic / "sordino.ledger").exists()


def test_the_number_of_a_plan_is_the_one_that_history_shows(run: Run) -> None:
    number = json.loads(run("explain", COUNT, "--epsilon", "0.1", "--json").stdout)["plan"]
    assert f"plan        {number}\n" in run("explain", COUNT, "--epsilon", "0.1").stdout
    asked = json.loads(run("ask", COUNT, "--epsilon", "0.1", "--json").stdout)
    assert asked["plan"] == number
    assert f"charge of epsilon 0.1, plan {number} " in run("history").stdout
