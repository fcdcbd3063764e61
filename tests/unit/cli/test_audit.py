# SPDX-License-Identifier: Apache-2.0
"""The command that audits: a function of a file, or sordino itself.

What is audited draws from seeded generators, so what is found is the same each time; sordino itself
is audited with a false-alarm rate of 1e-9.
"""

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from sordino.auditing.own import cases
from sordino.auditing.own_functions import function_cases
from sordino.auditing.own_plans import plans
from sordino.cli import audit, audit_own
from sordino.cli.audit_target import read_value
from sordino.cli.main import app

MODULE = """
import numpy as np

rng = np.random.default_rng(7)
number = 3


def careful(bit):
    return bit if rng.random() < 0.7 else 1 - bit


def hasty(bit):
    return bit if rng.random() < 0.9 else 1 - bit


def many(count, runs):
    return count + rng.laplace(0, 1, runs)


def named(who):
    return "<b>" if who == "alice" else "no"


class Kept:
    @staticmethod
    def constant(data):
        return 0

    def __init__(self):
        self.neighbours = (["a"], [])

    def __call__(self, data):
        return len(data)


own = Kept()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "shaky.py").write_text(MODULE, "utf-8")
    (tmp_path / "torn.py").write_text("1 / 0\n", "utf-8")
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(3)\n", "utf-8")
    (tmp_path / "needing.py").write_text("import no_such_thing\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = list(sys.path)
    yield tmp_path
    assert sys.path == path
    for name in ("shaky", "torn", "leaving", "needing"):
        sys.modules.pop(name, None)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["audit", *arguments])


def test_a_violation_is_told_and_leaves_with_1(folder: Path) -> None:
    done = run("shaky:hasty", "--epsilon", "1", "--neighbours", "1", "0", "--runs", "20000")
    assert done.exit_code == 1
    assert done.output.startswith("violation: shaky:hasty\n")
    for word in ("promised     epsilon 1", "with 99.9 % confidence", "worst event", "runs on 1"):
        assert word in done.output
    assert list(folder.glob("*.html")) == []


def test_a_mechanism_that_keeps_its_promise_leaves_with_0(folder: Path) -> None:
    assert folder.is_dir()
    done = run("shaky:careful", "--epsilon", "1", "--neighbours", "1", "0", "--runs", "4000")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("no violation found: shaky:careful\n")
    assert "proves nothing" in done.output


def test_the_picture_and_the_page_are_written(folder: Path) -> None:
    done = run(
        *("shaky:many", "--batch", "--epsilon", "0.5", "--neighbours", "3", "2"),
        *("--plot", "a.png", "--report", "a.html"),
    )
    assert done.exit_code == 1
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "a.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 1
    assert "Audit of shaky:many" in page
    assert done.output.endswith("\ndrawn to a.png\nwritten to a.html\n")


def test_json_has_the_report(folder: Path) -> None:
    assert folder.is_dir()
    done = run(
        *("shaky:many", "--batch", "--epsilon", "0.5", "--delta", "1e-6", "--json"),
        *("--neighbours", "3", "-2", "--confidence", "0.99"),
    )
    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert told["mechanism"] == "shaky:many"
    assert told["verdict"] == "violation"
    assert told["lower_bound"] > told["epsilon"] == 0.5
    assert told["delta"] == 1e-6
    assert told["confidence"] == 0.99


def test_words_are_neighbours_and_methods_can_be_named(folder: Path) -> None:
    assert folder.is_dir()
    asked = ("--epsilon", "1", "--runs", "2000")
    assert run("shaky:named", *asked, "--neighbours", "alice", "bob").exit_code == 1
    assert run("shaky:Kept.constant", *asked, "--neighbours", "alice", "bob").exit_code == 0


def test_a_mechanism_may_name_its_neighbours(folder: Path) -> None:
    assert folder.is_dir()
    assert run("shaky:own", "--epsilon", "1", "--runs", "2000").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shaky"], "'shaky' does not name a function; write module:function"),
        (["shaky:"], "does not name a function"),
        (["../shaky:careful"], "does not name a function"),
        (["nowhere:careful"], "there is no module 'nowhere'; go to the folder that holds it"),
        (["shaky.part:careful"], "there is no module 'shaky.part'"),
        (["shaky:carefull"], "module shaky has no carefull; did you mean careful?"),
        (["shaky:zzz"], "module shaky has no zzz; write module:function"),
        (["shaky:number"], "shaky:number is of type int and cannot be called"),
        (["torn:f"], "importing torn failed with ZeroDivisionError: division by zero; see that"),
        (["leaving:f"], "importing leaving failed with SystemExit: 3"),
        (["needing:f"], "importing needing failed with ModuleNotFoundError: No module named"),
        (["shaky:careful", "--neighbours", "[1", "0"], "the neighbour [1 cannot be read; write it"),
        (["shaky:careful", "--epsilon", "x"], "epsilon must be a number, got 'x'"),
        (["shaky:careful", "--epsilon", "-1"], "epsilon"),
        (["shaky:careful", "--delta", "2"], "delta"),
        (["shaky:careful", "--confidence", "1"], "confidence"),
        (["shaky:careful", "--runs", "1"], "runs"),
        (["shaky:many"], "on both inputs, every time"),
    ],
)
def test_what_is_wrong_is_one_sentence(folder: Path, arguments: list[str], said: str) -> None:
    assert folder.is_dir()
    given = {"--epsilon": ["1"], "--neighbours": ["1", "0"]}
    words = [*arguments]
    for option, values in given.items():
        words += [] if option in arguments else [option, *values]
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("sordino: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_promise_and_the_neighbours_must_be_given(folder: Path) -> None:
    assert folder.is_dir()
    assert "such as --epsilon 1" in run("shaky:careful", "--neighbours", "1", "0").stderr
    assert "such as --neighbours 3 2" in run("shaky:careful", "--epsilon", "1").stderr


@pytest.mark.parametrize(
    "option", [["--epsilon", "1"], ["--neighbours", "1", "0"], ["--batch"], ["--plot", "a.png"]]
)
def test_options_for_a_function_are_refused_without_one(option: list[str]) -> None:
    done = run(*option)
    assert done.exit_code == 2
    assert f"{option[0]} goes with a function to audit" in done.stderr


@pytest.mark.parametrize("option", ["--plot", "--report"])
def test_a_file_that_cannot_be_written_is_one_sentence(folder: Path, option: str) -> None:
    asked = ("--epsilon", "1", "--neighbours", "1", "0", "--runs", "2000")
    done = run("shaky:hasty", *asked, option, str(folder / "no" / "file.svg"))
    assert done.exit_code == 2
    assert "could not be written: there is no folder" in done.stderr
    assert done.stdout == ""


def test_what_was_found_is_shown_even_if_the_picture_fails(folder: Path) -> None:
    asked = ("--epsilon", "1", "--neighbours", "1", "0", "--runs", "2000")
    done = run("shaky:hasty", *asked, "--plot", str(folder / "file.zzz"))
    assert done.exit_code == 2
    assert done.stdout.startswith("violation: ")
    assert "file.zzz could not be drawn: " in done.stderr
    done = run("shaky:hasty", *asked, "--report", str(folder))
    assert done.exit_code == 2
    assert done.stdout.startswith("violation: ")
    assert "could not be written: " in done.stderr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-2.5", -2.5),
        ("[1, 2]", [1, 2]),
        ("{'a': (1,)}", {"a": (1,)}),
        ("None", None),
        ("True", True),
        ("'3'", "3"),
        ("alice", "alice"),
        ("two words", "two words"),
        ("", ""),
    ],
)
def test_values_are_read_as_python_writes_them(text: str, value: object) -> None:
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audit a few mechanisms and plans of sordino instead of all, and fold no line."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(audit_own, "cases", lambda: islice(cases(), 4))
    monkeypatch.setattr(audit_own, "function_cases", lambda: islice(function_cases(), 1))
    monkeypatch.setattr(audit_own, "plan_cases", lambda: iter(()))
    monkeypatch.setattr(audit_own, "plans", lambda: islice(plans(), 1))


@pytest.mark.usefixtures("few")
def test_sordino_audits_itself(folder: Path) -> None:
    done = run("--runs", "1000", "--confidence", "0.999999999", "--report", "own.html")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[1].split() == ["what", "epsilon,", "delta", "least", "exact", "verdict"]
    verdicts = [line.split()[-1] for line in lines[2:8]]
    assert verdicts == ["holds", "holds", "found", "holds", "found", "found"]
    assert "violations none found" in done.output
    page = (folder / "own.html").read_text("utf-8")
    assert page.count("<section>") == 6
    assert "sordino, audited by itself" in page


@pytest.mark.usefixtures("few")
def test_sordino_audits_itself_for_programs() -> None:
    done = run("--runs", "1000", "--confidence", "0.999999999", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == told["violations"] == 0
    assert told["confidence"] == 0.999999999
    first, *_, last = told["audits"]
    assert first["sampled"]["confidence"] == pytest.approx(1 - 1e-9 / 5, abs=1e-14)
    assert first["verified"]["verdict"] == "holds"
    assert last["name"].startswith("SELECT ")
    assert last["findings"] == []


@pytest.mark.usefixtures("few")
def test_a_violation_of_its_own_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(cases())
    wrong = [replace(first, name="worse than it says", epsilon=0.5)]
    monkeypatch.setattr(audit_own, "cases", lambda: iter(wrong))
    done = run("--runs", "1000")
    assert done.exit_code == 1
    assert done.output.splitlines()[2].endswith("violation")
    assert "\nworse than it says: " in done.output
    assert "violations 1" in done.output


def test_a_terminal_gets_a_bar_and_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_terminal in (True, False):
        screen = io.StringIO()
        console = Console(file=screen, force_terminal=is_terminal, width=100)
        monkeypatch.setattr(audit, "console_for", lambda *, errors, to=console: to if errors else 0)
        with audit.bar(as_json=False) as begin:
            begin("1 of 2: Quantiles([0.5])")(1, 2)
            step = begin("2 of 2: Laplace")
            step(300, 1_000)
            step(1_000, 1_000)
        told = screen.getvalue()
        assert ("2 of 2: Laplace" in told) is is_terminal
        assert ("1,000 runs" in told) is is_terminal
        assert is_terminal or told == ""


def test_a_confidence_that_is_none_is_refused_before_anything_runs() -> None:
    done = run("--confidence", "1")
    assert done.exit_code == 2
    assert "confidence must lie between 0 and 1, got 1" in done.stderr
