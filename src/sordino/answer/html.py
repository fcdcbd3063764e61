# SPDX-License-Identifier: Apache-2.0
"""An answer as a piece of HTML for notebooks; every text in it is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sordino.answer.column import Column
from sordino.answer.labels import key_texts
from sordino.answer.numbers import printable
from sordino.answer.text import shown_rows, summary, with_bar

if TYPE_CHECKING:
    from sordino.answer.answer import Answer

_STYLE = """
.sordino{font:14px/1.45 system-ui,sans-serif;color:inherit}
.sordino table{border-collapse:collapse;margin:0 0 .6em;font-variant-numeric:tabular-nums}
.sordino th{font-weight:600;text-align:left;border-bottom:1px solid currentColor}
.sordino th,.sordino td{padding:.25em .9em .25em 0;background:none}
.sordino td{border-top:1px solid rgba(128,128,128,.25)}
.sordino .n{text-align:right}
.sordino .w{opacity:.62}
.sordino p{margin:.2em 0}
.sordino ul{margin:.2em 0 0;padding-left:1.2em;opacity:.75;font-size:13px;max-width:52em}
"""


def as_html(answer: Answer) -> str:
    """Return the table, the price and the notes.

    Guarantee: none needed; an answer is already private.
    """
    rows = shown_rows(len(answer))
    head = "".join(_head(column) for column in answer.columns)
    lines = ["".join(_cell(column, row) for column in answer.columns) for row in rows]
    if len(rows) < len(answer):
        more = f"{len(answer) - len(rows):,} more rows"
        lines.insert(len(rows) // 2, f'<td colspan="{len(answer.columns)}" class="w">{more}</td>')
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    notes = "".join(f"<li>{escape(printable(note))}</li>" for note in answer.notes)
    return (
        f'<div class="sordino"><style>{_STYLE}</style>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{escape(summary(answer))}</p><ul>{notes}</ul></div>"
    )


def _head(column: Column) -> str:
    return f"<th{_side(column)}>{escape(printable(column.title))}</th>"


def _cell(column: Column, row: int) -> str:
    if not column.noisy:
        (text,) = key_texts(column, [row])
        return f"<td{_side(column)}>{escape(text)}</td>"
    value, error = map(escape, with_bar(column, row))
    return f'<td class="n">{value} <span class="w">{error}</span></td>'


def _side(column: Column) -> str:
    return ' class="n"' if column.type.is_number and not column.listed else ""
