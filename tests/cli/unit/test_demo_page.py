# SPDX-License-Identifier: Apache-2.0
from functools import cache
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
from rich.console import Console

from sordino.cli.demo import QUESTIONS, show


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("d")


@cache
def shown(folder: Path, width: int, *, colour: bool = False) -> str:
    """Return the page of a terminal; every test of the same one looks at the same."""
    page = StringIO()
    show(folder, Console(file=page, width=width, force_terminal=colour, highlight=False))
    return page.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut_off(
    folder: Path, width: int
) -> None:
    page = shown(folder, width)
    assert max(map(len, page.splitlines())) <= width
    assert "…" not in page


def test_every_question_is_asked_and_priced_and_the_budget_shown(folder: Path) -> None:
    page = shown(folder, 100)
    for question in QUESTIONS:
        assert question.words in " ".join(page.split())
    assert page.count("epsilon 0.5") >= 4
    assert "± 150" in page
    assert "what is left" in page
    assert "of epsilon 3" in page
    assert "Little Foxley" not in page


def test_a_refusal_is_shown_with_the_clause_underlined(folder: Path) -> None:
    lines = shown(folder, 100).splitlines()
    at = next(i for i, line in enumerate(lines) if "^^^^^^^^^^" in line)
    assert lines[at].index("^") == lines[at - 1].index("patient_id")


def test_the_picture_is_drawn(folder: Path) -> None:
    shown(folder, 100)
    assert (folder / "diseases.png").read_bytes().startswith(b"\x89PNG")


def test_a_pipe_gets_no_colours_and_a_terminal_does(folder: Path) -> None:
    assert "\x1b[" not in shown(folder, 100)
    assert "\x1b[" in shown(folder, 100, colour=True)


def test_a_terminal_that_knows_ascii_alone_gets_ascii(folder: Path) -> None:
    raw = BytesIO()
    page = TextIOWrapper(raw, encoding="ascii")
    show(folder, Console(file=page, width=80, highlight=False))
    page.flush()
    assert b"+/- 150" in raw.getvalue()


def test_the_ledger_is_shown(folder: Path) -> None:
    page = " ".join(shown(folder, 100).split())
    assert "asked again the first question gets its stored answer" in page
    assert "too much this asks for epsilon 3, but epsilon 0.6595 is left" in page
    assert "verified 13 entries, 6 charges, 6 answers" in page
