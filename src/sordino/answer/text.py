# SPDX-License-Identifier: Apache-2.0
"""An answer as text: an aligned table, the price, and what the error bars do not cover."""

from __future__ import annotations

import textwrap
import unicodedata
from typing import TYPE_CHECKING

from sordino.answer.column import Column
from sordino.answer.numbers import UNKNOWN, number_pair, plain, printable

if TYPE_CHECKING:
    from sordino.answer.answer import Answer

_MOST_ROWS = 60  # shown; the ends of a longer answer
_WIDEST = 48  # of a text in a cell
_LINE = 96


def as_text(answer: Answer) -> str:
    """Return the table, and below it the price and the notes.

    Guarantee: none needed; an answer is already private.
    """
    rows = shown_rows(len(answer))
    blocks = [_block(column, rows) for column in answer.columns]
    lines = ["  ".join(cells).rstrip() for cells in zip(*blocks, strict=True)]
    if len(rows) < len(answer):
        hidden = f"... {len(answer) - len(rows):,} more rows"
        lines.insert(2 + len(rows) // 2, hidden)
    if not len(answer):
        lines.append("(no rows)")
    lines += ["", summary(answer)]
    for note in answer.notes:
        lines += textwrap.wrap(printable(note), _LINE, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def summary(answer: Answer) -> str:
    """Say what the answer cost, what is left and how sure its error bars are.

    Guarantee: none needed; public inputs only.
    """
    charge = answer.charge
    slack = f" and delta {float(charge.slack):.3g} for keys" if charge.slack else ""
    sure = f"each ± holds with {100 * float(answer.confidence):.6g} %, by itself"
    return f"price {charge.price}{slack}; {charge.left} left; {sure}"


def shown_rows(rows: int) -> list[int]:
    """Return the rows that are shown: all, or the ends of a long answer.

    Guarantee: none needed; public inputs only.
    """
    if rows <= _MOST_ROWS:
        return list(range(rows))
    half = _MOST_ROWS // 2
    return [*range(half), *range(rows - half, rows)]


def _block(column: Column, rows: list[int]) -> list[str]:
    """Return a column as lines of one width: the title, a rule, and the cells."""
    title = _cut(printable(column.title))
    right = column.type.is_number and not column.listed
    cells = _pairs(column, rows) if column.noisy else [_cut(_value(column, i)) for i in rows]
    width = max(map(_width, [title, *cells]))
    lines = [_pad(title, width, right=right), "-" * width]
    return lines + [_pad(cell, width, right=right) for cell in cells]


def _value(column: Column, row: int) -> str:
    value = column.values[row]
    if column.kind == "key" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # a year is no quantity
    return plain(value)


def _pairs(column: Column, rows: list[int]) -> list[str]:
    """Return values and half-widths, each aligned to the right."""
    pairs = [pair(column, row) for row in rows]
    left = max((_width(value) for value, _ in pairs), default=0)
    right = max((_width(width) for _, width in pairs), default=0)
    return [f"{_pad(v, left, right=True)} ± {_pad(w, right, right=False)}" for v, w in pairs]


def pair(column: Column, row: int) -> tuple[str, str]:
    """Return a value and its half-width as texts, with a question mark where it has none.

    Guarantee: none needed; an answer is already private.
    """
    cell = column.cell(row)
    found = number_pair(cell.value, cell.half_width)
    return (found[0], found[1]) if len(found) == 2 else (found[0], UNKNOWN)


def _cut(text: str) -> str:
    return text if _width(text) <= _WIDEST else text[: _WIDEST // 2] + "…"


def _width(text: str) -> int:
    """Return how many places a text takes in a terminal."""
    return sum(_places(character) for character in text)


def _places(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _pad(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
