# SPDX-License-Identifier: Apache-2.0
"""How things look in a terminal, and in a pipe: consoles, tables, facts, gauges."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TextIO, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sordino.answer.render import printable

# Widths in places of a terminal. In a pipe nobody is served by folding.
WIDTH_OF_PIPE, MIN_WIDTH_OF_TERMINAL = 10_000, 60
GAP_AFTER_NAME, GAP_BETWEEN_COLUMNS = 2, 3
WIDTH_OF_GAUGE = 24
_BLANKS = re.compile(r" +\n")


class _Trimmed:
    """A stream in which no line ends with blanks, as the cells of tables do."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text of whole lines."""
        return self._stream.write(_BLANKS.sub("\n", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def console_for(*, errors: bool = False) -> Console:
    """Return a console for standard output or error; lines are folded in a terminal alone."""
    stream = sys.stderr if errors else sys.stdout
    trimmed = None if stream.isatty() else cast("TextIO", _Trimmed(stream))
    console = Console(file=trimmed, stderr=errors, highlight=False)
    folded = stream.isatty() or "COLUMNS" in os.environ
    console.width = max(console.width, MIN_WIDTH_OF_TERMINAL) if folded else WIDTH_OF_PIPE
    return console


def table_with(*titles: str, gap: int = GAP_BETWEEN_COLUMNS) -> Table:
    """Return an empty table without lines whose headings are dim."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def facts_of(facts: Iterable[tuple[str, str]]) -> Table:
    """Return names and what there is to say of each, side by side."""
    table = Table.grid(padding=(0, GAP_AFTER_NAME, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(Text(printable(name)), Text(printable(text)))
    return table


def show_facts(console: Console, facts: list[tuple[str, str]], *, whole: tuple[str, str]) -> None:
    """Print facts, and a last one that is never folded, so that it can be copied.

    Where it does not fit beside its name, it stands below it.
    """
    console.print(facts_of(facts))
    name, text = whole
    side = max(len(one) for one, _ in (*facts, whole)) + GAP_AFTER_NAME
    fits = side + len(text) <= console.options.max_width
    console.print(Text(name.ljust(side) if fits else name, "dim"), end="" if fits else "\n")
    console.print(Text(printable(text)), soft_wrap=True)


def notes_of(notes: Iterable[str]) -> Table:
    """Return remarks, one below the other."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for note in notes:
        table.add_row("-", Text(printable(note)), style="dim")
    return table


def gauge(part: Fraction, console: Console) -> Text:
    """Return a bar that is as full as a part from 0 to 1; not empty while anything is left."""
    full = min(WIDTH_OF_GAUGE, max(round(part * WIDTH_OF_GAUGE), 1 if part else 0))
    filled, empty = ("#", ".") if console.options.ascii_only else ("━", "─")
    return Text.assemble((filled * full, "cyan"), (empty * (WIDTH_OF_GAUGE - full), "dim"))


def plain(text: str, console: Console) -> str:
    """Return a text that the console can write, whatever letters it knows."""
    return text.replace("±", "+/-") if console.options.ascii_only else text
