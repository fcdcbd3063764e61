# SPDX-License-Identifier: Apache-2.0
"""The prompt: in a pipe, and in a terminal of its own."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino.cli.repl.input import drop_typed_ahead
from tests.cli.unit.conftest import CATALOG, Run

COUNT = "SELECT COUNT(*) AS n FROM visits"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")

# The terminal becomes that of the process, so that Ctrl-C interrupts it, whatever the test runner
# does with interrupts.
START = """
import fcntl, signal, termios
signal.signal(signal.SIGINT, signal.default_int_handler)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from sordino.cli.main import run
run()
"""


def test_a_pipe_is_answered_without_a_prompt(run: Run) -> None:
    done = run("repl", "--epsilon", "0.1", "--yes", typed=f"{COUNT};\n\n{COUNT}\nWHERE age > 50")
    assert done.exit_code == 0, done.output
    assert "sordino>" not in done.output
    assert "\x1b" not in done.output
    assert done.stdout.count("price       epsilon 0.1") == 2
    assert "left        epsilon 0.8 of epsilon 1" in done.stdout


def test_a_pipe_needs_somebody_who_has_agreed(run: Run) -> None:
    done = run("repl", "--epsilon", "0.1", typed=f"{COUNT};\n")
    assert done.exit_code == 2
    assert "add --yes" in done.stderr
    assert "epsilon 1 of epsilon 1 left" in run("budget").stdout


def test_errors_of_a_pipe_do_not_end_it_and_the_first_one_is_the_exit_code(run: Run) -> None:
    lines = f"{COUNT};\n\\epsilon 3\n{COUNT};\nSELECT agee FROM visits;\n\\epsilon 0.1\n{COUNT};\n"
    done = run("repl", "--yes", typed=lines)
    assert done.exit_code == 2  # no price was said yet
    assert "say first what a question may cost" in done.stderr
    assert "this asks for epsilon 3, but epsilon 1 is left" in done.stderr
    assert "\n         ^^^^\n" in done.stderr
    assert "price       epsilon 0.1" in done.stdout
    assert run("repl", "--yes", "--epsilon", "3", typed=COUNT).exit_code == 3


def test_answers_and_errors_are_lines_of_json_if_wanted(run: Run) -> None:
    lines = f"{COUNT};\n{COUNT};\nSELECT agee FROM visits;\n"
    done = run("repl", "--yes", "--epsilon", "0.1", "--json", typed=lines)
    assert [json.loads(line)["again"] for line in done.stdout.splitlines()] == [False, True]
    assert json.loads(done.stderr)["code"] == "unknown_column"


def test_commands_say_and_change_what_holds(run: Run) -> None:
    lines = [
        *("\\epsilon", "\\epsilon 0.2", "\\within 50", "\\epsilon", "\\confidence 0.9", "\\delta"),
        *("\\who", "\\who alice", "\\tables", "\\help", "\\history", "\\epsilon 0.1", f"{COUNT};"),
        *("\\fresh", "\\history 1", "\\budget", "\\quit", f"{COUNT} WHERE age > 3;"),
    ]
    done = run("repl", "--yes", typed="\n".join(lines))
    assert done.exit_code == 0, done.output
    said = done.stdout
    assert said.startswith(
        "no epsilon is stated\nepsilon 0.2\nwithin 50\nno epsilon is stated\nconfidence 0.9\n"
        "no delta is stated\nowner is charged\nalice is charged\n"
    )
    assert "north, south" in said
    assert "whose row it is" in said
    assert "0 to 100" in said
    assert "nothing has been asked yet" in said
    assert said.count("price       epsilon 0.1") == 2  # the second one is fresh
    assert "alice  answer to 4" in said
    assert "epsilon 0.8 of epsilon 1 left" in said
    assert said.count("receipt") == 2  # what follows \quit is not asked


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("\\nonsense", "there is no command \\nonsense; \\help lists them"),
        ("\\epsilon much", "epsilon must be a number, got 'much'"),
        ("\\confidence x", "confidence must be a number"),
        ("\\who *", "'*' stands for all analysts without a share"),
        ("\\history many", "\\history takes how many entries to show, got 'many'"),
        ("\\fresh", "nothing was asked yet"),
        ("\\", "there is no command"),
    ],
)
def test_a_wrong_command_is_told_in_one_sentence(run: Run, line: str, said: str) -> None:
    done = run("repl", "--yes", typed=f"{line}\n")
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_wrong_price_at_the_start_is_refused_at_once(run: Run) -> None:
    assert run("repl", "--yes", "--epsilon", "much", typed="").exit_code == 2
    assert run("repl", "--yes", "--epsilon", "1", "--within", "1", typed="").exit_code == 2


class Typist:
    """Somebody at a terminal: types, and waits for what is to be read."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.held, other = pty.openpty()
        environment = {
            **os.environ,
            **{"TERM": "xterm", "XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "100"},
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, "repl", *arguments],
            cwd=folder,
            env=environment,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self.raw = b""
        self.at = 0  # the place up to which it was read

    def type(self, text: str) -> None:
        os.write(self.held, text.encode())

    def wait_for(self, words: str) -> str:
        """Read until words appear after those waited for before; return what stands between."""
        end = time.monotonic() + 60
        while (found := ESCAPES.sub("", self.said).find(words, self.at)) < 0:
            assert time.monotonic() < end, f"{words!r} did not appear in {self.said!r}"
            if select.select([self.held], [], [], 1)[0]:
                self.raw += os.read(self.held, 65_536)
        began, self.at = self.at, found + len(words)
        return ESCAPES.sub("", self.said)[began : self.at]

    def interrupt(self, words: str) -> None:
        """Press Ctrl-C until words appear: one that comes too early waits for the next key."""
        end = time.monotonic() + 60
        while words not in ESCAPES.sub("", self.said)[self.at :]:
            assert time.monotonic() < end, f"{words!r} did not appear in {self.said!r}"
            self.type("\x03")
            while select.select([self.held], [], [], 2)[0]:
                self.raw += os.read(self.held, 65_536)
        self.at = len(ESCAPES.sub("", self.said))

    @property
    def said(self) -> str:
        return self.raw.decode("utf-8", "ignore")

    def leave(self) -> int:
        """Press Ctrl-D, which is for a prompt that is there."""
        self.type("\x04")
        return self.process.wait(60)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.held)


@pytest.fixture
def typist(clinic: Path) -> Iterator[Typist]:
    typist = Typist(clinic, "--epsilon", "0.1")
    yield typist
    typist.close()


def test_a_price_is_shown_and_enter_agrees(typist: Typist, run: Run, clinic: Path) -> None:
    typist.wait_for("sordino> ")
    typist.type("SELECT COUNT(*) AS n\n")
    typist.wait_for("     ... ")
    typist.type("FROM vis\t;\n")
    said = typist.wait_for("anything else cancels: ")
    assert "FROM visits" in said  # completed
    assert "price  epsilon 0.1" in said
    assert "left   epsilon 1 of epsilon 1, about 10 questions like this one" in said
    assert "n      ± " in said
    typist.type("no\n")
    assert "cancelled; nothing was charged" in typist.wait_for("sordino> ")
    typist.type("\x1b[A\n")  # up: the statement again, on one line
    typist.wait_for("anything else cancels: ")
    typist.type("\n")
    assert "left        epsilon 0.9 of epsilon 1" in typist.wait_for("sordino> ")
    typist.type("\x1b[A\n")
    assert "answered before: nothing was charged" in typist.wait_for("sordino> ")
    assert typist.leave() == 0
    assert "\x1b[" in typist.said  # colours
    history = (clinic / "state/sordino/history").read_text("utf-8").splitlines()
    assert history == ["SELECT COUNT(*) AS n FROM visits;"] * 3
    assert "epsilon 0.9 of epsilon 1 left" in run("budget").stdout


def test_an_interrupt_cancels_and_errors_are_underlined(typist: Typist) -> None:
    typist.wait_for("sordino> ")
    typist.type("SELECT nonsense\n")
    typist.wait_for("     ... ")
    typist.interrupt("sordino> ")
    typist.type("SELECT agee FROM visits;\n")
    said = typist.wait_for("hint: ")
    assert "there is no column 'agee' in visits" in said
    assert "\n         ^^^^" in said
    typist.wait_for("sordino> ")
    typist.type("\\epsilon 2\n")
    typist.wait_for("sordino> ")
    typist.type("SELECT COUNT(*) FROM visits;\n")
    said = typist.wait_for("this costs more than the whole budget")
    assert "epsilon 1 of epsilon 1, not enough for a question like this one" in said
    typist.wait_for("sordino> ")
    assert typist.leave() == 0


def test_what_is_pasted_confirms_no_charge(typist: Typist, run: Run) -> None:
    typist.wait_for("sordino> ")
    typist.type(f"{COUNT};\n\n{COUNT} WHERE age > 50;\n\ny\n\n")
    typist.wait_for("anything else cancels: ")
    typist.type("no\n")
    assert "cancelled; nothing was charged" in typist.wait_for("sordino> ")
    assert "epsilon 1 of epsilon 1 left" in run("budget").stdout
    assert run("history").stdout == "nothing has been asked yet\n"
    for left, agreed in (("0.9", "y"), ("0.8", "YES"), ("0.7", "")):
        typist.type(f"{COUNT} WHERE age > {left};\n")
        typist.wait_for("anything else cancels: ")
        typist.type(f"{agreed}\n")
        assert f"left        epsilon {left} of epsilon 1" in typist.wait_for("sordino> ")
    assert typist.leave() == 0


def test_what_arrives_piece_by_piece_is_dropped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sordino.cli.repl.input._MOMENT", 1.0)
    held, other = pty.openpty()
    try:
        os.write(held, b"\n\n")
        sender = threading.Thread(target=_send, args=(held, 5))
        sender.start()
        drop_typed_ahead(other)
        sender.join()
        assert not select.select([other], [], [], 0)[0]
        os.write(held, b"y\n")
        assert os.read(other, 100) == b"y\n"
    finally:
        os.close(held)
    with pytest.raises(EOFError):
        drop_typed_ahead(other)
    os.close(other)


def _send(terminal: int, pieces: int) -> None:
    for _ in range(pieces):
        time.sleep(0.02)
        os.write(terminal, b"\n")


def test_a_question_that_is_too_dear_is_refused_before_it_is_asked(clinic: Path) -> None:
    stated = CATALOG.replace("epsilon = 1\n", "epsilon = 1\nquestion = 0.3\n")
    (clinic / "sordino.toml").write_text(stated, "utf-8")
    typist = Typist(clinic, "--epsilon", "0.5")
    try:
        typist.wait_for("sordino> ")
        typist.type("help\n")
        typist.wait_for("\\quit")
        typist.wait_for("sordino> ")
        typist.type(f"{COUNT};\n")
        said = typist.wait_for("sordino> ")
        assert "refused: one question may cost at most epsilon 0.3" in said
        assert "anything else cancels" not in said
        assert typist.leave() == 0
    finally:
        typist.close()
