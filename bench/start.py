# SPDX-License-Identifier: Apache-2.0
"""How long it takes until sordino is there: importing it, and asking the command line for help."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.timing import best_of

MOST_SECONDS = 0.4


def run(console: Console) -> int:
    table = Table(title="start-up, bytecode compiled")
    for heading in ("what", "measured", "at most", ""):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    script = str(Path(sys.executable).with_name("sordino"))
    commands = {
        "import sordino": [sys.executable, "-c", "import sordino"],
        "sordino --help": [script, "--help"],
    }
    missed = 0
    for what, command in commands.items():

        def start(command: list[str] = command) -> None:
            subprocess.run(command, check=True, capture_output=True)

        value = best_of(5, start)[0]
        reached = value <= MOST_SECONDS
        missed += not reached
        verdict = "[green]reached[/]" if reached else "[red]short[/]"
        table.add_row(what, f"{value:.2f} s", f"{MOST_SECONDS:g} s", verdict)
    console.print(table)
    return missed
