# SPDX-License-Identifier: Apache-2.0
"""The command that audits sordino itself, with a false-alarm rate of 1e-9."""

import json
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sordino.auditing import own
from sordino.auditing.own import cases, function_cases, local_cases, plan_cases, plans
from sordino.auditing.own.plans import Checked, Question
from sordino.auditing.replays.differences import Finding
from sordino.cli.main import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["audit", *arguments])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audit a few mechanisms and plans of sordino instead of all, and fold no line."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(own, "cases", lambda: islice(cases(), 4))
    monkeypatch.setattr(own, "function_cases", lambda: islice(function_cases(), 1))
    monkeypatch.setattr(own, "local_cases", lambda: iter(()))
    monkeypatch.setattr(own, "plan_cases", lambda: iter(()))
    monkeypatch.setattr(own, "plans", lambda: islice(plans(), 1))


@pytest.mark.usefixtures("few")
def test_sordino_audits_itself(tmp_path: Path) -> None:
    path = tmp_path / "own.html"
    done = run("--runs", "1000", "--confidence", "0.999999999", "--report", str(path))
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[1].split() == ["what", "epsilon,", "delta", "least", "exact", "verdict"]
    verdicts = [line.split()[-1] for line in lines[2:7]]
    assert verdicts == ["holds", "holds", "found", "holds", "found"]
    assert lines[7] == ""
    told = dict(line.split(maxsplit=1) for line in lines[9:-1])
    assert told["sampled"] == '5; "at least" is what their runs show'
    assert told["verified"].startswith("3 of these from their law")
    assert told["replayed"] == "1 questions in SQL, with findings in none"
    assert told["violations"] == "none found"
    assert told["remark"].startswith("fewer runs than 100,000 see little")
    assert max(map(len, lines[:-1])) <= 80
    page = path.read_text("utf-8")
    assert page.count("<section>") == 6
    assert "sordino, audited by itself" in page
    assert "Laplace(sensitivity=1, epsilon=1)" in page
    assert page.count('<td class="k">sampled, verified</td>') == 3
    assert page.count('<td class="k">replayed</td>') == 1


@pytest.mark.usefixtures("few")
def test_sordino_audits_itself_for_programs() -> None:
    done = run("--runs", "1000", "--confidence", "0.999999999", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == told["violations"] == 0
    assert told["confidence"] == 0.999999999
    first, *_, last = told["audits"]
    assert first["sampled"]["confidence"] == pytest.approx(1 - 1e-9 / 5, abs=1e-14)
    assert first["verified"]["verdict"] == "holds"
    assert first["name"] == "Laplace, a whole number"
    assert first["described"] == "Laplace(sensitivity=1, epsilon=1)"
    assert last["name"].startswith("SELECT ")
    assert last["findings"] == []


@pytest.mark.usefixtures("few")
def test_a_violation_of_its_own_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(cases())
    wrong = [replace(first, name="worse than it says", epsilon=0.5)]
    monkeypatch.setattr(own, "cases", lambda: iter(wrong))
    done = run("--runs", "1000")
    assert done.exit_code == 1
    assert done.output.splitlines()[2].endswith("violation")
    assert "\nworse than it says: " in done.output
    assert re.search(r"^violations +1$", done.output, re.MULTILINE)


@pytest.mark.usefixtures("few")
def test_a_question_that_tells_neighbours_apart_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Finding("sensitivity", "the sum moved by 7")
    monkeypatch.setattr(Question, "check", lambda _: Checked((wrong,), 4))
    done = run("--runs", "1000", "--confidence", "0.999999999")
    assert done.exit_code == 1
    assert re.search(r"^SELECT COUNT.* violation$", done.output, re.MULTILINE)
    assert "the sum moved by 7" in done.output
    assert re.search(
        r"^replayed +1 questions in SQL, with findings in 1$", done.output, re.MULTILINE
    )


def test_every_name_leaves_room_for_the_numbers() -> None:
    every = [*cases(), *function_cases(), *local_cases(), *plan_cases()]
    assert max(len(case.name) for case in every) <= 34
    assert len({case.name for case in every}) == len(every)


def test_a_confidence_that_is_none_is_refused_before_anything_runs() -> None:
    done = run("--confidence", "1")
    assert done.exit_code == 2
    assert "confidence must lie between 0 and 1, got 1" in done.stderr
