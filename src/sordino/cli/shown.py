# SPDX-License-Identifier: Apache-2.0
"""How things look in a terminal, and in a pipe: tables, prices, gauges."""

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

from sordino.answer import Answer, Column
from sordino.answer.render import key_texts, printable, shown_rows, with_bar
from sordino.privacy.currency import Price
from sordino.session import Left

_UNFOLDED = 10_000  # places of a line in a pipe, where nobody is served by folding
_NARROWEST = 60  # places of a line, however narrow the terminal
_NAME = 8  # places of a key at least
_AFTER_NAME = 2  # places between a name and what there is to say of it
_BETWEEN = 3  # places between two columns
_GAUGE = 24
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
    console.width = max(console.width, _NARROWEST) if folded else _UNFOLDED
    return console


def table_of(answer: Answer, console: Console) -> Table:
    """Return an answer as a table: values in colour, their error bars beside them.

    A terminal gets the ends of a long answer, and a pipe all of it. Where the numbers do not fit
    side by side, they stand below each other: a number that is cut is a wrong one.
    """
    every = range(len(answer))
    rows = shown_rows(len(answer)) if console.is_terminal else list(every)
    titles = [Text(printable(column.title)) for column in answer.columns]
    cells = [_cells(column, rows, console) for column in answer.columns]
    lines: list[list[Text]] = [list(line) for line in zip(*cells, strict=True)]
    if len(rows) < len(every):
        lines.insert(len(rows) // 2, [Text(f"... {len(every) - len(rows):,} more rows", "dim")])
    if not rows:
        lines.append([Text("(no rows)", style="dim")])
    least = [
        max(cell.cell_len for cell in (title, *column)) if one.noisy else _NAME
        for one, title, column in zip(answer.columns, titles, cells, strict=True)
    ]
    if sum(least) + _BETWEEN * len(least) > console.options.max_width:
        return _below_each_other(titles, lines)
    table = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0), header_style="dim")
    for column, title, width in zip(answer.columns, titles, least, strict=True):
        if column.noisy:
            table.add_column(title, no_wrap=True, min_width=width)
        else:
            table.add_column(title, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


def _below_each_other(titles: list[Text], lines: list[list[Text]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", overflow="fold")
    table.add_column(overflow="fold")
    for number, line in enumerate(lines):
        if number:
            table.add_row()
        for title, cell in zip(titles, line, strict=False):
            table.add_row(title, cell)
    return table


def facts_of(facts: Iterable[tuple[str, str]]) -> Table:
    """Return names and what there is to say of each, side by side."""
    table = Table.grid(padding=(0, _AFTER_NAME, 0, 0))
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
    side = max(len(one) for one, _ in (*facts, whole)) + _AFTER_NAME
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
    full = min(_GAUGE, max(round(part * _GAUGE), 1 if part else 0))
    filled, empty = ("#", ".") if console.options.ascii_only else ("━", "─")
    return Text.assemble((filled * full, "cyan"), (empty * (_GAUGE - full), "dim"))


def plain(text: str, console: Console) -> str:
    """Return a text that the console can write, whatever letters it knows."""
    return text.replace("±", "+/-") if console.options.ascii_only else text


def and_delta(price: Price, delta: Fraction) -> str:
    """Write a price, and a delta for discovering keys if there is one.

    >>> from sordino.privacy.currency import PURE
    >>> and_delta(Price(PURE, 500_000_000), Fraction(1, 10**7))
    'epsilon 0.5 and delta 1e-07'
    """
    return f"{price} and delta {float(delta):.3g}" if delta else str(price)


def more_like(price: Price, delta: Fraction, left: Price, delta_left: Fraction) -> int:
    """Return how many more questions of a price fit into what is left.

    >>> from sordino.privacy.currency import PURE
    >>> more_like(Price(PURE, 3), Fraction(0), Price(PURE, 10), Fraction(0))
    3
    """
    many = left.nanos // price.nanos
    return min(many, int(delta_left // delta)) if delta else many


def more_in_words(many: int, *, more: str = "more ") -> str:
    """Say how many more questions fit, or how many do if none was asked yet.

    >>> more_in_words(37), more_in_words(1, more="")
    ('about 37 more questions like this one', 'enough for one question like this one')
    """
    if many > 1:
        return f"about {many:,} {more}questions like this one"
    enough = f"enough for one {more}" if many else f"not enough for {'another' if more else 'a'} "
    return f"{enough}question like this one"


def left_in_words(left: Left, price: Price, delta: Fraction, *, more: str = "more ") -> str:
    """Say what is left, whose it is, and for how many questions of a price that is enough."""
    if left.left == left.in_all:
        said = f"{left.left} of {left.cap}, "
    else:
        said = f"{left.left} left for {left.who!r}, {left.in_all} of {left.cap} in all; "
    if is_too_dear(left, price):
        return f"{said[:-2]}; refused: one question may cost at most {left.question}"
    return said + more_in_words(more_like(price, delta, left.left, left.delta), more=more)


def is_too_dear(left: Left, price: Price) -> bool:
    """Tell whether a price is more than one question may cost."""
    return left.question is not None and price.nanos > left.question.nanos


def _cells(column: Column, rows: list[int], console: Console) -> list[Text]:
    if not column.noisy:
        style = "" if column.kind == "key" else "bold cyan"
        gap = column.gap
        behind = "" if gap is None else f" (at most {gap:,.0f} rows behind the best)"
        return [Text.assemble((text, style), (behind, "dim")) for text in key_texts(column, rows)]
    pairs = [with_bar(column, row) for row in rows]
    wide = max((len(value) for value, _ in pairs), default=0)
    return [
        Text.assemble((value.rjust(wide), "bold cyan"), f" {plain(bar, console)}")
        for value, bar in pairs
    ]
