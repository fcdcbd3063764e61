# SPDX-License-Identifier: Apache-2.0
import sys
from io import StringIO

import pytest

from sordino.session import progress


def test_a_quick_question_shows_no_bar() -> None:
    out = StringIO()
    with progress.ProgressBar("asking", out) as bar:
        bar(0.5)
    assert out.getvalue() == ""


def test_a_slow_question_shows_a_bar_and_wipes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    out = StringIO()
    with progress.ProgressBar("asking", out) as bar:
        bar(0.5)
        assert out.getvalue() == f"\rasking [{'#' * 15}{'.' * 15}]  50%"
        bar(7.0)
        assert out.getvalue().endswith("100%")
    assert out.getvalue().endswith(" \r")


def test_an_amount_takes_the_place_of_a_percentage_and_nothing_is_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setenv("COLUMNS", "40")
    out = StringIO()
    with progress.ProgressBar("asking", out) as bar:
        bar(None)
        bar(None, "7 rows")
        bar(0.5, "3 of 6")
        bar.doing = "a name that is longer than this terminal is wide"
        bar(0.5, "3 of 6")
    shown = out.getvalue().split("\r")[1:]
    assert shown[:3] == ["asking", "asking: 7 rows", f"asking [{'#' * 12}{'.' * 11}] 3 of 6"]
    assert shown[3] == bar.doing[:39]
    assert shown[4:] == [" " * 39, ""]


def test_nobody_watches_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", StringIO())
    assert progress.is_watched() is False
    with progress.watched("asking") as bar:
        assert bar is None


def test_a_terminal_and_a_notebook_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with progress.watched("asking") as bar:
        assert isinstance(bar, progress.ProgressBar)
    with progress.watched("asking", quiet=True) as nothing:
        assert nothing is None
