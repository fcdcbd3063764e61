# SPDX-License-Identifier: Apache-2.0
"""Keys as texts: years without commas, days without a time, long names cut in the middle."""

from __future__ import annotations

import unicodedata
from datetime import datetime, time

from sordino.answer.column import Column
from sordino.answer.numbers import plain

_DOTS = "…"


def key_texts(column: Column, rows: list[int] | range) -> list[str]:
    """Return the texts of a column without error bars.

    Guarantee: none needed; an answer is already private.
    """
    values = [column.values[row] for row in rows]
    moments = [value for value in column.values if isinstance(value, datetime)]
    days = bool(moments) and all(moment.time() == time() for moment in moments)
    found = []
    for value in values:
        if days and isinstance(value, datetime):
            found.append(plain(value.date()))
        elif column.kind == "key" and isinstance(value, int) and not isinstance(value, bool):
            found.append(str(value))  # a year is no quantity
        else:
            found.append(plain(value))
    return found


def cut(text: str, most: int) -> str:
    """Return a text that takes at most so many places, without its middle if it took more.

    >>> cut("Saint-Rémy-de-Provence", 12)
    'Saint-…vence'

    Guarantee: none needed; an answer is already private.
    """
    if places(text) <= most:
        return text
    head, tail = "", ""
    for at in range(len(text)):
        longer = (head + text[at], tail)
        if places("".join(longer)) > most - 1:
            break
        head = longer[0]
        longer = (head, text[-1 - at] + tail)
        if places("".join(longer)) > most - 1:
            break
        tail = longer[1]
    return f"{head}{_DOTS}{tail}"


def distinct(texts: list[str], most: int) -> list[str]:
    """Cut texts in the middle; where two would be the same, number them.

    >>> distinct(["a" * 20 + "x" + "b" * 20, "a" * 20 + "y" + "b" * 20], 11)
    ['aaaaa…bbbbb', 'aaa…bbb (2)']

    Guarantee: none needed; an answer is already private.
    """
    seen: dict[str, int] = {}
    found = []
    for text in texts:
        short = cut(text, most)
        seen[short] = seen.get(short, 0) + 1
        if short != text and seen[short] > 1:
            mark = f" ({seen[short]})"
            short = cut(text, most - len(mark)) + mark
        found.append(short)
    return found


def places(text: str) -> int:
    """Return how many places a text takes in a terminal.

    Guarantee: none needed; an answer is already private.
    """
    if text.isascii():
        return len(text)
    return sum(_places(character) for character in text)


def _places(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
