# SPDX-License-Identifier: Apache-2.0
from io import StringIO

import pytest

from sordino.session import progress


def test_a_quick_question_shows_no_bar() -> None:
    out = StringIO()
    with progress.ProgressBar(out) as bar:
        bar(0.5)
    assert out.getvalue() == ""


def test_a_slow_question_shows_a_bar_and_wipes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    out = StringIO()
    with progress.ProgressBar(out) as bar:
        bar(0.5)
        assert out.getvalue() == f"\rasking [{'#' * 15}{'.' * 15}]  50%"
        bar(7.0)
        assert out.getvalue().endswith("100%")
    assert out.getvalue().endswith(" \r")


def test_nobody_watches_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", StringIO())
    assert progress.is_watched() is False
