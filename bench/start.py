# SPDX-License-Identifier: Apache-2.0
"""How long it takes until sordino is there: imported, with its help shown, a mechanism made."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from itertools import count
from pathlib import Path

from rich.console import Console

from bench.timing import Figures, Work, best_of
from sordino import Gaussian

ROUNDS = 5
MOST_TO_START = 0.4  # seconds
MOST_TO_MAKE = {1: 0.1, 8: 1.0, 1000: 1.0, 0.5: 1.0}  # seconds, by sensitivity
_THOUSANDTHS = count(1_234)


def run(console: Console) -> int:
    """Print the table; return how many figures fall short."""
    figures = Figures("start-up, bytecode compiled, and making a mechanism")
    for what, work, most in _works():
        figures.figure(what, best_of(ROUNDS, work)[0], most, "s", ".2g")
    return figures.show(console)


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
    Gaussian(sensitivity=sensitivity, epsilon=next(_THOUSANDTHS) / 1_000, delta=1.1e-6)
