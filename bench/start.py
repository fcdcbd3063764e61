# SPDX-License-Identifier: Apache-2.0
"""How long it takes until sordino is there: imported, with its help shown, a mechanism made.

And through how many files of sordino the first question of a process runs, from ``session.ask`` to
its answer: whoever wants to know what happens to a question has to read no more.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from rich.console import Console

import sordino as so
from bench.asks import clinic
from bench.timing import Figures, Work, best_of

ROUNDS = 5
MOST_TO_START = 0.4  # seconds
MOST_TO_MAKE = {1: 0.1, 8: 1.0, 1000: 1.0, 0.5: 1.0}  # seconds, by sensitivity
MOST_FILES = 60
QUESTION = (
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost, MEDIAN(age) AS age FROM visits "
    "WHERE age >= 18 GROUP BY ward HAVING n > 10 ORDER BY n DESC"
)
_THOUSANDTHS = count(1_234)


def run(console: Console) -> int:
    """Print the table; return how many figures fall short."""
    figures = Figures("start-up, bytecode compiled, and making a mechanism")
    for what, work, most in _works():
        figures.figure(what, best_of(ROUNDS, work)[0], most, "s", ".2g")
    command = [sys.executable, "-m", "bench.start"]
    files = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    figures.figure("files that a first question runs through", len(files), MOST_FILES, "", ".0f")
    return figures.show(console)


def _files(catalog: Path) -> set[str]:
    """Return the files of sordino of which something runs while a question is answered."""
    home = str(Path(so.__file__).parent)
    seen: set[str] = set()

    def enter(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(home):
            seen.add(name)

    with so.open(catalog) as session:
        threading.setprofile(enter)
        sys.setprofile(enter)
        session.ask(QUESTION, epsilon=1)
        sys.setprofile(None)
    return seen


def _works() -> list[tuple[str, Work, float]]:
    script = str(Path(sys.executable).with_name("sordino"))
    commands = {
        "import sordino": [sys.executable, "-c", "import sordino"],
        "sordino --help": [script, "--help"],
    }
    works: list[tuple[str, Work, float]] = [
        (what, partial(_start, how), MOST_TO_START) for what, how in commands.items()
    ]
    for size, most in MOST_TO_MAKE.items():
        works.append((f"Gaussian(sensitivity={size:g}, ...)", partial(_make, size), most))
    return works


def _start(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _make(sensitivity: float) -> None:
    """Make a mechanism for an epsilon that nobody has asked for yet."""
    so.Gaussian(sensitivity=sensitivity, epsilon=next(_THOUSANDTHS) / 1_000, delta=1.1e-6)


if __name__ == "__main__":
    with TemporaryDirectory(prefix="sordino-start-") as folder:
        print(*sorted(_files(clinic(Path(folder)))), sep="\n")
