# SPDX-License-Identifier: Apache-2.0
"""Where statements end, and what is remembered of them."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sordino.catalog.model import Catalog
from sordino.cli.repl.input import (
    CONTINUED,
    PROMPT,
    Terminal,
    history_file,
    is_ended,
    statements,
)

EMPTY = Catalog(())


def typed(*lines: str | type[BaseException]) -> tuple[Callable[[str], str], list[str]]:
    """Return something that reads these lines, and the prompts it was given."""
    waiting, prompts = list(lines), list[str]()

    def read(prompt: str) -> str:
        prompts.append(prompt)
        line = waiting.pop(0) if waiting else EOFError
        if isinstance(line, str):
            return line
        raise line

    return read, prompts


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("SELECT 1;", True),
        ("SELECT 1 ; ", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1; /* done */", True),
        ("SELECT 1", False),
        ("SELECT 'a;", False),
        ("SELECT 'a;'", False),
        ("SELECT 'it''s';", True),
        ('SELECT "a;', False),
        ("SELECT 1 -- a;", False),
        ("SELECT 1 /* a; */", False),
        (";", True),
    ],
)
def test_a_semicolon_ends_a_statement_unless_it_is_text_or_a_remark(text: str, ended: bool) -> None:
    assert is_ended(text) is ended


def test_a_statement_goes_over_several_lines() -> None:
    read, prompts = typed("SELECT 1", "FROM a;", "", "SELECT 2", "", "\\help", "SELECT 3")
    assert list(statements(read, watched=False)) == [
        "SELECT 1\nFROM a;",
        "SELECT 2",
        "\\help",
        "SELECT 3",
    ]
    assert prompts[:3] == [PROMPT, CONTINUED, PROMPT]


def test_an_interrupt_forgets_what_was_typed_and_the_end_of_input_leaves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    read, prompts = typed("SELECT 1", KeyboardInterrupt, "SELECT 2;", "SELECT 3")
    assert list(statements(read, watched=True)) == ["SELECT 2;"]
    assert prompts[:3] == [PROMPT, CONTINUED, PROMPT]
    assert capsys.readouterr().out == "\n\n"


def test_the_history_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history"
    terminal = Terminal(EMPTY, (), path)
    terminal.remember("SELECT 1\nFROM a;")
    terminal.remember("SELECT 2 -- why\nFROM b;")
    terminal.close()
    assert path.read_text("utf-8").splitlines() == [
        "SELECT 1 FROM a;",
        "SELECT 2 -- why",
        "FROM b;",
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_long_history_is_cut_to_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(f"SELECT {k};\n" for k in range(2_001)), "utf-8")
    Terminal(EMPTY, (), path).close()
    lines = path.read_text("utf-8").splitlines()
    assert (len(lines), lines[-1]) == (1_000, "SELECT 2000;")


def test_a_history_that_cannot_be_kept_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    terminal = Terminal(EMPTY, (), tmp_path / "file" / "history")
    terminal.remember("SELECT 1;")
    terminal.close()


def test_the_history_lies_where_the_state_of_programs_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "sordino" / "history"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for unusable in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", unusable)
        assert history_file() == tmp_path / "home/.local/state/sordino/history"
