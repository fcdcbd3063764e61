# SPDX-License-Identifier: Apache-2.0
"""An answer as text: an aligned table, the price, and what the error bars do not cover."""

from __future__ import annotations

import math
import shutil
import textwrap
import unicodedata
from datetime import date, datetime, time
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from html import escape
from typing import TYPE_CHECKING

from sordino.answer.answer import CellValue, Column, End

if TYPE_CHECKING:
    from sordino.answer.answer import Answer


_DIGITS = 2  # that matter of a half-width
_PLAIN = 6  # of a number without one
_LARGEST, _SMALLEST = 16, -7  # powers of ten beyond which numbers are written with an exponent
_LOPSIDED = 1.5  # an interval with a side so many times the other is shown by its ends
_EXACT = Context(prec=800, rounding=ROUND_HALF_EVEN)
_CEILING, _FLOOR = (Context(prec=800, rounding=r) for r in (ROUND_CEILING, ROUND_FLOOR))
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING)
UNKNOWN = "?"


def number_pair(value: CellValue, half_width: float | None) -> tuple[str, ...]:
    """Write a value and its half-width with the digits that matter; the half-width is rounded up.

    >>> number_pair(1234.5678, 0.0123), number_pair(12, 3.5), number_pair(3.25, None)
    (('1,234.568', '0.013'), ('12', '4'), ('3.25',))
    >>> number_pair(123456.7, 12345.6), number_pair(27.281, 0.08), number_pair("flu", None)
    (('123,457', '13,000'), ('27.281', '0.080'), ('flu',))
    """
    if half_width is None or not isinstance(value, int | float) or isinstance(value, bool):
        return (plain(value),)
    exact = _decimal(half_width)
    if not exact:
        return plain(value), "0"
    places = _places(value, exact)
    if places is None:
        return f"{value:.6g}", f"{_UP.create_decimal(exact):.2g}"
    step = Decimal(1).scaleb(places)
    shown = _EXACT.quantize(_decimal(value), step)
    # What rounding the value leaves out is added to the half-width.
    width = _UP.create_decimal(
        _EXACT.add(exact, _EXACT.subtract(shown, _decimal(value)).copy_abs())
    )
    return f"{shown + 0:,f}", f"{_CEILING.quantize(width, step):,f}"


def with_error(value: CellValue, half_width: End, low: End, high: End) -> tuple[str, str]:
    """Write a value and its error bar: ± and a half-width, or both ends if they lie unevenly.

    >>> with_error(12, 3.0, 9.0, 15.0), with_error(0, 31.0, 0.0, 31.0)
    (('12', '± 3'), ('0', '(0 to 31)'))
    >>> with_error(2.5, None, None, None)
    ('2.5', '± ?')
    """
    if half_width is not None and low is not None and high is not None:
        found = _range(value, half_width, low, high)
        if found is not None:
            return found
    pair = number_pair(value, half_width)
    return pair[0], f"± {pair[1] if len(pair) == 2 else UNKNOWN}"


def _range(value: CellValue, half_width: float, low: float, high: float) -> tuple[str, str] | None:
    """Return a value and its interval, or None where ± says the same."""
    if not isinstance(value, int | float) or not half_width:
        return None
    if max(high - value, value - low) <= _LOPSIDED * min(high - value, value - low):
        return None
    places = _places(value, _decimal(half_width))
    if places is None:
        return None
    step = Decimal(1).scaleb(places)
    shown = _EXACT.quantize(_decimal(value), step)
    ends = _FLOOR.quantize(_decimal(low), step), _CEILING.quantize(_decimal(high), step)
    return f"{shown + 0:,f}", f"({ends[0] + 0:,f} to {ends[1] + 0:,f})"


def _decimal(x: float) -> Decimal:
    """Return the decimal that a number is written as; 0.08 is 0.08, and not a little more."""
    return Decimal(x) if isinstance(x, int) else Decimal(repr(x))


def _places(value: float, half_width: Decimal) -> int | None:
    """Return the power of ten of the last decimal, for both; None where an exponent is needed."""
    last = half_width.adjusted() + 1 - _DIGITS
    if not _SMALLEST <= last <= _LARGEST or abs(value) >= 10.0**_LARGEST:
        return None
    return 0 if isinstance(value, int) else min(last, 0)


def plain(value: CellValue) -> str:
    """Write a value on one line that nothing inside it can break.

    >>> plain(None), plain(True), plain(("x", "y")), plain(1e21)
    ('null', 'true', 'x, y', '1e+21')
    """
    match value:
        case tuple():
            shown = ", ".join(map(plain, value))
        case None:
            shown = "null"
        case bool():
            shown = "true" if value else "false"
        case int():
            shown = f"{value:,}"
        case float():
            shown = f"{value:.{_PLAIN}g}"
            if "e" not in shown and math.isfinite(value):
                shown = f"{float(shown):,.12g}"
        case datetime():
            shown = value.isoformat(" ", "seconds")
        case date():
            shown = value.isoformat()
        case str():
            shown = printable(value)
    return shown


def printable(text: str) -> str:
    r"""Return a text with everything escaped that a terminal would act on.

    >>> print(printable("flu\x1b[31m"))
    flu\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


_DOTS = "…"


def key_texts(column: Column, rows: list[int] | range) -> list[str]:
    """Return the texts of a column without error bars."""
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
    """Return how many places a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


_MOST_ROWS = 60  # shown; the ends of a longer answer
_NARROWEST = 60  # of a line, however narrow the terminal
_SHORTEST = 12  # that a text is cut to
_LINE = 96
MARK = "REHEARSAL ON INVENTED ROWS"
_BETWEEN = "  "


def as_text(answer: Answer) -> str:
    """Return the table, and below it the price and the notes; a rehearsal says so above it."""
    rows = shown_rows(len(answer))
    wide = max(shutil.get_terminal_size().columns, _NARROWEST)
    blocks = _fitted(answer.columns, [_cells(column, rows) for column in answer.columns], wide)
    lines = [_BETWEEN.join(cells).rstrip() for cells in zip(*blocks, strict=True)]
    first = 2  # below the titles and the rule
    if answer.rehearsed:
        lines, first = [MARK, "", *lines], first + 2
    if len(rows) < len(answer):
        hidden = f"... {len(answer) - len(rows):,} more rows"
        lines.insert(first + len(rows) // 2, hidden)
    if not len(answer):
        lines.append("(no rows)")
    lines += ["", summary(answer)]
    for note in answer.notes:
        most = min(_LINE, wide)
        lines += textwrap.wrap(printable(note), most, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def summary(answer: Answer) -> str:
    """Say what the answer cost, what is left and how sure its error bars are."""
    charge = answer.charge
    use = " for keys" if answer.facts["delta_for_keys"] != "0" else ""
    slack = f" and delta {float(charge.slack):.3g}{use}" if charge.slack else ""
    sure = f"each ± holds with {100 * float(answer.confidence):.6g} %, by itself"
    if answer.rehearsed:
        return f"nothing was charged; in earnest the price is {charge.price}{slack}; {sure}"
    if answer.again:
        return f"given before, and now for nothing; its price was {charge.price}{slack}; {sure}"
    return f"price {charge.price}{slack}; {charge.left} left; {sure}"


def shown_rows(rows: int) -> list[int]:
    """Return the rows that are shown: all, or the ends of a long answer."""
    if rows <= _MOST_ROWS:
        return list(range(rows))
    half = _MOST_ROWS // 2
    return [*range(half), *range(rows - half, rows)]


def with_bar(column: Column, row: int) -> tuple[str, str]:
    """Return a value and its error bar as texts: ± and a half-width, or a range."""
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


_STYLE = """
.sordino{font:14px/1.45 system-ui,sans-serif;color:inherit}
.sordino table{border-collapse:collapse;margin:0 0 .6em;font-variant-numeric:tabular-nums}
.sordino th{font-weight:600;text-align:left;border-bottom:1px solid currentColor}
.sordino th,.sordino td{padding:.25em .9em .25em 0;background:none}
.sordino td{border-top:1px solid rgba(128,128,128,.25)}
.sordino .n{text-align:right}
.sordino .w{opacity:.62}
.sordino p{margin:.2em 0}
.sordino .r{font-weight:700;color:#a02020}
.sordino ul{margin:.2em 0 0;padding-left:1.2em;opacity:.75;font-size:13px;max-width:52em}
"""


def as_html(answer: Answer) -> str:
    """Return the table, the price and the notes."""
    rows = shown_rows(len(answer))
    head = "".join(_head(column) for column in answer.columns)
    lines = ["".join(_cell(column, row) for column in answer.columns) for row in rows]
    if len(rows) < len(answer):
        more = f"{len(answer) - len(rows):,} more rows"
        lines.insert(len(rows) // 2, f'<td colspan="{len(answer.columns)}" class="w">{more}</td>')
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    banner = f'<p class="r">{MARK}</p>' if answer.rehearsed else ""
    notes = "".join(f"<li>{escape(printable(note))}</li>" for note in answer.notes)
    return (
        f'<div class="sordino"><style>{_STYLE}</style>'
        f"{banner}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
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
