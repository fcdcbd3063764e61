# SPDX-License-Identifier: Apache-2.0
"""An answer as text: an aligned table, the price, and what the error bars do not cover."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

from sordino.answer.column import Column
from sordino.answer.labels import cut, key_texts, places
from sordino.answer.numbers import printable, with_error

if TYPE_CHECKING:
    from sordino.answer.answer import Answer

_MOST_ROWS = 60  # shown; the ends of a longer answer
_NARROWEST = 60  # of a line, however narrow the terminal
_SHORTEST = 12  # that a text is cut to
_LINE = 96
_BETWEEN = "  "


def as_text(answer: Answer) -> str:
    """Return the table, and below it the price and the notes.

    Guarantee: none needed; an answer is already private.
    """
    rows = shown_rows(len(answer))
    wide = max(shutil.get_terminal_size().columns, _NARROWEST)
    blocks = _fitted(answer.columns, [_cells(column, rows) for column in answer.columns], wide)
    lines = [_BETWEEN.join(cells).rstrip() for cells in zip(*blocks, strict=True)]
    if len(rows) < len(answer):
        hidden = f"... {len(answer) - len(rows):,} more rows"
        lines.insert(2 + len(rows) // 2, hidden)
    if not len(answer):
        lines.append("(no rows)")
    lines += ["", summary(answer)]
    for note in answer.notes:
        most = min(_LINE, wide)
        lines += textwrap.wrap(printable(note), most, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def summary(answer: Answer) -> str:
    """Say what the answer cost, what is left and how sure its error bars are.

    Guarantee: none needed; public inputs only.
    """
    charge = answer.charge
    slack = f" and delta {float(charge.slack):.3g} for keys" if charge.slack else ""
    sure = f"each ± holds with {100 * float(answer.confidence):.6g} %, by itself"
    if answer.again:
        return f"given before, and now for nothing; its price was {charge.price}{slack}; {sure}"
    return f"price {charge.price}{slack}; {charge.left} left; {sure}"


def shown_rows(rows: int) -> list[int]:
    """Return the rows that are shown: all, or the ends of a long answer.

    Guarantee: none needed; public inputs only.
    """
    if rows <= _MOST_ROWS:
        return list(range(rows))
    half = _MOST_ROWS // 2
    return [*range(half), *range(rows - half, rows)]


def with_bar(column: Column, row: int) -> tuple[str, str]:
    """Return a value and its error bar as texts: ± and a half-width, or a range.

    Guarantee: none needed; an answer is already private.
    """
    cell = column.cell(row)
    return with_error(cell.value, cell.half_width, cell.low, cell.high)


def _cells(column: Column, rows: list[int]) -> list[str]:
    """Return the title of a column and its cells; values and error bars are aligned."""
    title = printable(column.title)
    if not column.noisy:
        return [title, *key_texts(column, rows)]
    pairs = [with_bar(column, row) for row in rows]
    left = max((places(value) for value, _ in pairs), default=0)
    right = max((places(error) for _, error in pairs), default=0)
    return [title, *(f"{_pad(v, left, right=True)} {_pad(e, right)}" for v, e in pairs)]


def _fitted(columns: tuple[Column, ...], cells: list[list[str]], wide: int) -> list[list[str]]:
    """Return columns as lines of one width each; texts are cut if the line would be too long."""
    sizes = [max(map(places, column)) for column in cells]
    spare = wide - len(_BETWEEN) * (len(sizes) - 1)
    soft = [not column.noisy for column in columns]
    most = max(sizes, default=0)
    while most > _SHORTEST and spare < sum(
        min(size, most) if cuttable else size for size, cuttable in zip(sizes, soft, strict=True)
    ):
        most -= 1
    return [
        _block(column, [cut(text, most) for text in texts] if cuttable else texts)
        for column, texts, cuttable in zip(columns, cells, soft, strict=True)
    ]


def _block(column: Column, texts: list[str]) -> list[str]:
    right = column.type.is_number and not column.listed
    width = max(map(places, texts))
    title, *cells = (_pad(text, width, right=right) for text in texts)
    return [title, "-" * width, *cells]


def _pad(text: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - places(text))
    return space + text if right else text + space
