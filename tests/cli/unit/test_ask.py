# SPDX-License-Identifier: Apache-2.0
"""`ask` shows the answer, the price and what is left, and checks what it can before the charge."""

import csv
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import SealedError
from sordino.session.session import Session
from tests.cli.unit.conftest import CATALOG, Run

COUNT = "SELECT COUNT(*) AS n FROM visits"
WARDS = "SELECT ward, COUNT(*) AS n, AVG(age) AS age FROM visits GROUP BY ward"


def test_an_answer_is_shown_with_its_price_and_what_is_left(run: Run) -> None:
    done = run("ask", WARDS, "--epsilon", "0.2")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["ward", "n", "age"]
    assert lines[1].startswith("north")
    assert "±" in lines[1] or " to " in lines[1]
    assert "price       epsilon 0.2" in done.stdout
    assert "left        epsilon 0.8 of epsilon 1, about 4 more questions like this" in done.stdout
    assert "receipt     people:2:" in done.stdout
    assert "- not covered: of each person at most 2 rows count" in done.stdout


def test_the_same_question_again_costs_nothing_and_a_fresh_one_does(run: Run) -> None:
    first = json.loads(run("ask", COUNT, "--epsilon", "0.3", "--json").stdout)
    again = run("ask", COUNT, "--epsilon", "0.3")
    assert "answered before: nothing was charged (epsilon 0.3 then)" in again.stdout
    assert "left        epsilon 0.7 of epsilon 1" in again.stdout
    told = json.loads(run("ask", COUNT, "--epsilon", "0.3", "--json").stdout)
    assert (first["again"], told["again"]) == (False, True)
    assert told["rows"] == first["rows"]
    fresh = json.loads(run("ask", COUNT, "--epsilon", "0.3", "--fresh", "--json").stdout)
    assert fresh["again"] is False
    assert fresh["left_nanos"] == 400_000_000


def test_json_has_the_rows_with_their_error_bars_and_the_price(run: Run) -> None:
    told = json.loads(run("ask", WARDS, "--epsilon", "0.5", "--json").stdout)
    assert [column["title"] for column in told["columns"]] == ["ward", "n", "age"]
    assert [row["ward"] for row in told["rows"]] == ["north", "south"]
    cell = told["rows"][0]["n"]
    assert cell["low"] <= cell["value"] <= cell["high"]
    assert told["price"] == "epsilon 0.5"
    assert (told["price_nanos"], told["left_nanos"]) == (500_000_000, 500_000_000)
    assert told["more_like_this"] == 1
    assert told["receipt"].startswith("people:2:")
    assert (told["people"], told["who"], told["confidence"]) == ("people", "owner", 0.95)


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [("0.5", "enough for one more question"), ("0.6", "not enough for another question")],
)
def test_how_many_more_questions_fit_is_rounded_down(run: Run, epsilon: str, words: str) -> None:
    assert f", {words} like this one" in run("ask", COUNT, "--epsilon", epsilon).stdout


def test_what_is_beyond_the_budget_leaves_with_3_and_charges_nothing(run: Run) -> None:
    done = run("ask", COUNT, "--epsilon", "1.5")
    assert done.exit_code == 3
    assert done.stdout == ""
    assert done.stderr.startswith("sordino: this asks for epsilon 1.5, but epsilon 1 is left")
    told = json.loads(run("ask", COUNT, "--epsilon", "1.5", "--json").stderr)
    assert told["code"] == "budget_exceeded"
    assert told["hint"] == "epsilon 1 or less would fit"
    assert "epsilon 1 of epsilon 1 left" in run("budget").stdout


def test_a_question_that_is_too_dear_leaves_with_3(run: Run, clinic: Path) -> None:
    stated = CATALOG.replace("epsilon = 1\n", "epsilon = 1\nquestion = 0.1\n")
    (clinic / "sordino.toml").write_text(stated, "utf-8")
    done = run("ask", COUNT, "--epsilon", "0.2")
    assert (done.exit_code, "one question may cost at most epsilon 0.1" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["SELECT agee FROM visits", "--epsilon", "1"], "         ^^^^"),
        ([COUNT], "say what the answer may cost"),
        ([COUNT, "--epsilon", "0.1", "--within", "5"], "one of the two"),
        ([COUNT, "--epsilon", "much"], "epsilon must be a number, got 'much'"),
        ([COUNT, "--epsilon", "0.1", "--catalog", "none.toml"], "there is no file 'none.toml'"),
        ([COUNT, "--epsilon", "0.1", "--receipt", "nonsense"], "people:number:hash"),
        ([COUNT, "--epsilon", "0.1", "--plot", "x.txt"], "ending in .png, .svg, .pdf"),
        ([COUNT, "--epsilon", "0.1", "--plot", "none/x.png"], "there is no folder 'none'"),
        ([COUNT, "--epsilon", "0.1", "--csv", "."], "'.' is a folder"),
        ([COUNT, "--epsilon", "0.1", "--csv", "visits.csv"], "belongs to the catalog"),
        ([COUNT, "--epsilon", "0.1", "--csv", "sordino.toml"], "belongs to the catalog"),
    ],
)
def test_a_wrong_request_leaves_with_2_and_charges_nothing(
    run: Run, clinic: Path, arguments: list[str], said: str
) -> None:
    done = run("ask", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert "epsilon 1 of epsilon 1 left" in run("budget").stdout
    assert "id,age,ward" in (clinic / "visits.csv").read_text("utf-8")


def test_an_answer_is_never_written_over_the_ledger(run: Run, clinic: Path) -> None:
    run("ask", COUNT, "--epsilon", "0.1")
    for name in ("sordino.ledger", "sordino.ledger.heads"):
        done = run("ask", COUNT, "--epsilon", "0.1", "--fresh", "--csv", name)
        assert (done.exit_code, "belongs to the catalog" in done.stderr) == (2, True)
    assert run("ledger", "verify").exit_code == 0
    assert (clinic / "sordino.ledger").stat().st_size > 0


def test_a_ledger_that_cannot_be_used_leaves_with_4(run: Run, clinic: Path) -> None:
    (clinic / "sordino.ledger").write_text("this is no ledger, however long one looks at it")
    done = run("ask", COUNT, "--epsilon", "0.1")
    assert done.exit_code == 4
    assert done.stderr.startswith("sordino: the ledger ")
    assert json.loads(run("ask", COUNT, "--epsilon", "0.1", "--json").stderr)["code"] == "ledger"


def test_a_ledger_that_lacks_a_receipt_leaves_with_4(run: Run, clinic: Path) -> None:
    told = json.loads(run("ask", COUNT, "--epsilon", "0.1", "--json").stdout)
    held = run("ask", COUNT, "--epsilon", "0.1", "--receipt", told["receipt"])
    assert held.exit_code == 0
    for name in ("sordino.ledger", "sordino.ledger.heads"):
        (clinic / name).unlink()
    lost = run("ask", COUNT, "--epsilon", "0.1", "--receipt", told["receipt"])
    assert lost.exit_code == 4
    assert "entry 2 of 'people'" in lost.stderr


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def asked_in_vain(run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> Result:
    monkeypatch.setattr(Session, "answer", raising(error))
    return run("ask", COUNT, "--epsilon", "0.1")


def test_what_fails_after_the_charge_leaves_with_1(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = asked_in_vain(run, monkeypatch, SealedError())
    assert done.exit_code == 1
    assert done.stderr.startswith("sordino: the question could not be answered; the charge stays")


def test_an_interrupt_leaves_with_130_and_says_where_a_charge_can_be_seen(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = asked_in_vain(run, monkeypatch, KeyboardInterrupt())
    assert done.exit_code == 130
    assert done.stderr == (
        "sordino: interrupted; if a charge was made, 'sordino history' shows it, and asking the "
        "same again is answered without paying again\n"
    )
    told = json.loads(run("ask", COUNT, "--epsilon", "0.1", "--json").stderr)
    assert (told["code"], "'sordino history'" in told["hint"]) == ("interrupted", True)


def test_it_is_said_that_a_charge_was_made_before(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    plain, told = ("ask", COUNT, "--epsilon", "0.1"), ("ask", WARDS, "--epsilon", "0.1", "--json")
    with monkeypatch.context() as patch:
        patch.setattr(DuckdbEngine, "run", interrupt)
        assert [run(*plain).exit_code, run(*told).exit_code] == [130, 130]
    assert "paid before, and not answered: nothing more was charged" in run(*plain).output
    assert "answered before: nothing was charged" in run(*plain).output
    first, second = (json.loads(run(*told).stdout) for _ in range(2))
    assert (first["taken_up"], first["again"], first["left"]) == (True, False, "epsilon 0.8")
    assert (second["taken_up"], second["again"]) == (False, True)


def test_a_question_may_come_from_standard_input(run: Run) -> None:
    assert run("ask", "-", "--epsilon", "0.1", typed=COUNT).exit_code == 0


def test_who_asks_is_charged_and_named(run: Run) -> None:
    done = run("ask", COUNT, "--epsilon", "0.1", "--who", "alice")
    assert "epsilon 0.9 of epsilon 1" in done.stdout
    other = json.loads(run("ask", COUNT, "--epsilon", "0.1", "--who", "bob", "--json").stdout)
    assert (other["who"], other["again"]) == ("bob", False)


def test_an_answer_can_be_written_as_csv_and_drawn(run: Run, clinic: Path) -> None:
    done = run("ask", WARDS, "--epsilon", "0.5", "--csv", "out.csv", "--plot", "out.png")
    assert done.exit_code == 0
    assert done.stderr == "wrote out.csv\nwrote out.png\n"
    with (clinic / "out.csv").open(encoding="utf-8", newline="") as file:
        head, north, south = csv.reader(file)
    assert head[:5] == ["ward", "n", "n_half_width", "n_low", "n_high"]
    assert (north[0], south[0]) == ("north", "south")
    assert (clinic / "out.png").read_bytes().startswith(b"\x89PNG")


def test_counts_below_zero_are_shown_as_zero_if_wanted(run: Run) -> None:
    sql = "SELECT COUNT(*) AS n FROM visits WHERE age > 99"
    for consistent in ("--nonnegative", "--consistent"):
        told = json.loads(
            run("ask", sql, "--epsilon", "0.01", "--fresh", consistent, "--json").stdout
        )
        assert told["rows"][0]["n"]["value"] >= 0


def test_a_pipe_gets_no_colours_and_no_folded_lines(run: Run) -> None:
    done = run("ask", WARDS, "--epsilon", "0.1")
    assert "\x1b" not in done.output
    (receipt,) = (line for line in done.stdout.splitlines() if line.startswith("receipt"))
    assert len(receipt.split()[1].split(":")[2]) == 64


def test_a_key_with_signs_that_a_terminal_acts_on_is_shown_harmless(run: Run, clinic: Path) -> None:
    text = CATALOG.replace('"north"', '"no\\u001b[31mrth"')
    (clinic / "sordino.toml").write_text(text, "utf-8")
    done = run("ask", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "0.1")
    assert "\x1b" not in done.output
    assert r"no\x1b[31mrth" in done.output


def test_nothing_is_released_that_is_not_in_the_ledger(run: Run, clinic: Path) -> None:
    told = json.loads(run("ask", COUNT, "--epsilon", "0.1", "--json").stdout)
    connection = sqlite3.connect(clinic / "sordino.ledger")
    try:
        ((body,),) = connection.execute(
            "SELECT bytes FROM entries WHERE kind = 'answer'"
        ).fetchall()
    finally:
        connection.close()
    assert json.loads(body)["columns"][0]["values"] == [told["rows"][0]["n"]["value"]]


def test_what_is_left_says_whose_it_is_where_there_are_shares(run: Run, clinic: Path) -> None:
    (clinic / "sordino.toml").write_text(f"{CATALOG}\n[analysts.alice]\nshare = 0.5\n", "utf-8")
    done = run("ask", COUNT, "--epsilon", "0.1", "--who", "alice")
    assert (
        "left        epsilon 0.4 left for 'alice', epsilon 0.9 of epsilon 1 in all; about 4 "
        in (done.stdout)
    )
    assert done.stderr == ""


def test_a_name_that_the_catalog_does_not_know_is_noted_and_the_star_is_refused(
    run: Run, clinic: Path
) -> None:
    named = f'{CATALOG}\n[analysts.alice]\nshare = 0.5\n[analysts."*"]\n'
    (clinic / "sordino.toml").write_text(named, "utf-8")
    asked = "ask", COUNT, "--epsilon", "0.1", "--who"
    assert "note: the catalog does not name 'alise', only alice" in run(*asked, "alise").stderr
    assert run(*asked, "alise", "--json").stderr == ""
    assert "not name 'alise'" in run("budget", "--who", "alise").stderr
    assert run("ask", COUNT, "--epsilon", "0.1").stderr == ""
    (clinic / "sordino.toml").write_text(f"{CATALOG}\n[analysts.alice]\nshare = 0.5\n", "utf-8")
    assert "only alice; 'alise' may not ask" in run("budget", "--who", "alise").stderr
    (clinic / "sordino.toml").write_text(named, "utf-8")
    for command in (asked, ("explain", *asked[1:]), ("budget", "--who")):
        done = run(*command, "*")
        assert (done.exit_code, "'*' stands for all" in done.stderr) == (2, True)
    assert run("repl", "--yes", "--who", "*", typed="").exit_code == 2


@pytest.mark.parametrize(
    "sql", [COUNT, "SELECT ward, COUNT(*) AS n, SUM(age) FROM visits GROUP BY 1"]
)
def test_a_width_that_is_too_dear_is_told_which_would_fit(run: Run, sql: str) -> None:
    done = run("ask", sql, "--within", "1")
    assert done.exit_code == 3
    assert "or less would fit, and so would --within " in done.stderr
    width = done.stderr.split()[-1]
    assert run("ask", sql, "--within", width).exit_code == 0


def test_no_width_is_told_where_nothing_is_left_or_none_was_asked_for(run: Run) -> None:
    assert "--within" not in run("ask", COUNT, "--epsilon", "2").stderr
    assert run("ask", COUNT, "--epsilon", "1").exit_code == 0
    done = run("ask", COUNT, "--within", "1")
    assert (done.exit_code, "--within" in done.stderr) == (3, False)


def test_who_may_not_ask_is_told_so_once(run: Run, clinic: Path) -> None:
    (clinic / "sordino.toml").write_text(f"{CATALOG}\n[analysts.alice]\nshare = 0.5\n", "utf-8")
    told = run("ask", COUNT, "--epsilon", "0.1", "--who", "alise").stderr
    assert told.startswith("sordino: 'alise' is not among the analysts")


def test_where_analysts_are_named_nobody_else_is_answered(run: Run, clinic: Path) -> None:
    (clinic / "sordino.toml").write_text(f"{CATALOG}\n[analysts.alice]\nshare = 0.5\n", "utf-8")
    for who in (("--who", "alise"), ()):
        done = run("ask", COUNT, "--epsilon", "0.1", *who)
        assert done.exit_code != 0
        assert "is not among the analysts that the catalog names, who are 'alice'" in done.stderr
        assert '[analysts."*"] for everybody' in done.stderr
        assert "may not ask" in run("budget", *who).stderr
    assert run("ask", COUNT, "--epsilon", "0.1", "--who", "alice").exit_code == 0


def test_the_receipt_stays_on_one_line_however_narrow_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in ("40", "80", "100"):
        monkeypatch.setenv("COLUMNS", width)
        done = run("ask", COUNT, "--epsilon", "0.1")
        receipt = json.loads(run("ask", COUNT, "--epsilon", "0.1", "--json").stdout)["receipt"]
        line = f"receipt     {receipt}" if width == "100" else receipt
        assert line in done.stdout.splitlines()
        verified = run("ledger", "verify", "--receipt", receipt)
        head = json.loads(run("ledger", "verify", "--json").stdout)[0]["head"]
        assert sum(head in line for line in verified.stdout.splitlines()) == 1


def test_a_decimal_comma_is_told_to_be_one(run: Run) -> None:
    done = run("ask", COUNT, "--epsilon", "0,1")
    assert done.stderr == "sordino: epsilon must be a number, got '0,1'; write 0.1\n"
    assert "write 1." not in run("ask", COUNT, "--epsilon", "1,000,000").stderr


def test_no_line_in_a_pipe_ends_with_blanks(run: Run) -> None:
    for command in (["ask"], ["explain"]):
        done = run(*command, WARDS, "--epsilon", "0.1")
        assert done.stdout
        assert all(line == line.rstrip() for line in done.stdout.splitlines())
    for command in (["history"], ["budget"], ["check"], ["ledger", "verify"]):
        done = run(*command)
        assert done.stdout
        assert all(line == line.rstrip() for line in done.stdout.splitlines())
