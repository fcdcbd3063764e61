# SPDX-License-Identifier: Apache-2.0
"""The command that audits a function of a file.

What is audited draws from seeded generators, so what is found is the same each time.
"""

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sordino.cli import audit
from sordino.cli.audit import read_value
from sordino.cli.main import app
from sordino.session import progress

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


def stopped(bit):
    stopped.runs += 1
    if stopped.runs > 3000:
        raise KeyboardInterrupt
    return careful(bit)


stopped.runs = 0
"""
ODD = """
def __dir__():
    return ["f", "lost"]


def __getattr__(name):
    if name == "broken":
        raise RuntimeError("not today")
    raise AttributeError(name)
"""
LOUD = """
import numpy as np

rng = np.random.default_rng(7)
print("read from a file")


def coin(bit):
    print("the bit is", bit)
    return bit if rng.random() < 0.7 else 1 - bit
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "shaky.py").write_text(MODULE, "utf-8")
    (tmp_path / "loud.py").write_text(LOUD, "utf-8")
    (tmp_path / "odd.py").write_text(ODD, "utf-8")
    (tmp_path / "torn.py").write_text("1 / 0\n", "utf-8")
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(3)\n", "utf-8")
    (tmp_path / "needing.py").write_text("import no_such_thing\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = list(sys.path)
    yield tmp_path
    assert sys.path == path
    for name in ("shaky", "odd", "loud", "torn", "leaving", "needing"):
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
    assert done.output.endswith("proves nothing; so few runs see little.\n")


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
        (["shaky.careful"], "'shaky.careful' does not name a function; write shaky:careful"),
        (["shaky.py:careful"], "names a file; go to its folder and write shaky:careful"),
        (["here/shaky.py"], "names a file; go to its folder and write shaky:function"),
        (["shaky:careful", "--neighbours", "range(3)", "2"], "the neighbour range(3) cannot be"),
        (["../shaky:careful"], "does not name a function"),
        (["nowhere:careful"], "there is no module 'nowhere'; go to the folder that holds it"),
        (["shaky.part:careful"], "there is no module 'shaky.part'"),
        (["shaky:carefull"], "module shaky has no carefull; did you mean careful?"),
        (["shaky:zzz"], "module shaky has no zzz; write module:function"),
        (["shaky:number"], "shaky:number is of type int and cannot be called"),
        (["odd:los"], "module odd has no los; write module:function"),
        (["odd:broken"], "looking up odd:broken failed with RuntimeError: not today"),
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
    name = "file.svg" if option == "--plot" else "file.html"
    done = run("shaky:hasty", *asked, option, str(folder / "no" / name))
    assert done.exit_code == 2
    assert "could not be written: there is no folder" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("option", "name", "endings"),
    [
        ("--plot", "a.gif", ".png or .svg or .pdf"),
        ("--plot", "a", ".png or .svg or .pdf"),
        ("--report", "a.txt", ".html or .htm"),
    ],
)
def test_a_file_of_another_kind_is_refused_before_anything_runs(
    folder: Path, option: str, name: str, endings: str
) -> None:
    done = run("shaky:hasty", "--epsilon", "1", "--neighbours", "1", "0", option, name)
    assert done.exit_code == 2
    assert done.stderr == f"sordino: {option} must name a file that ends in {endings}, got {name}\n"
    assert not (folder / name).exists()


def test_what_a_function_prints_does_not_mix_with_the_report(folder: Path) -> None:
    assert folder.is_dir()
    asked = ("--epsilon", "1", "--neighbours", "1", "0", "--runs", "400")
    done = run("loud:coin", *asked, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["mechanism"] == "loud:coin"
    assert done.stderr.startswith("read from a file\nthe bit is ")
    assert done.stderr.count("the bit is") >= 400
    assert run("loud:coin", *asked).stdout.startswith("no violation found: ")


def test_whoever_interrupts_it_is_told_how_far_it_was(folder: Path) -> None:
    assert folder.is_dir()
    asked = ("--epsilon", "1", "--neighbours", "1", "0", "--runs", "20000")
    done = run("shaky:stopped", *asked)
    assert done.exit_code == 130
    assert done.stdout == ""
    told = done.stderr.splitlines()[-1]
    assert re.fullmatch(
        r"sordino: stopped after [12],\d{3} of 20,000 runs of shaky:stopped; nothing is reported",
        told,
    )


def test_whoever_interrupts_it_at_once_is_told_so(folder: Path) -> None:
    (folder / "shaky.py").write_text("def at_once(bit):\n    raise KeyboardInterrupt\n", "utf-8")
    done = run("shaky:at_once", "--epsilon", "1", "--neighbours", "1", "0")
    assert done.exit_code == 130
    assert "stopped at shaky:at_once, before its first runs were done" in done.stderr


def test_what_was_found_is_shown_even_if_the_picture_fails(folder: Path) -> None:
    asked = ("--epsilon", "1", "--neighbours", "1", "0", "--runs", "2000")
    (folder / "file.png").mkdir()
    done = run("shaky:hasty", *asked, "--plot", str(folder / "file.png"))
    assert done.exit_code == 2
    assert done.stdout.startswith("violation: ")
    assert "file.png could not be drawn: " in done.stderr
    (folder / "file.html").mkdir()
    done = run("shaky:hasty", *asked, "--report", str(folder / "file.html"))
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


def test_a_terminal_gets_a_bar_and_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    for is_terminal in (True, False):
        screen = io.StringIO()
        monkeypatch.setattr("sys.stderr", screen)
        monkeypatch.setattr(screen, "isatty", lambda to=is_terminal: to)
        with audit.bar(as_json=False) as begin:
            begin("1 of 2: Quantiles([0.5])")(1, 2)
            step = begin("2 of 2: Laplace")
            step(300, 1_000)
            step(1_000, 1_000)
        told = screen.getvalue()
        assert ("2 of 2: Laplace" in told) is is_terminal
        assert ("1,000 of 1,000 runs" in told) is is_terminal
        assert is_terminal or told == ""
