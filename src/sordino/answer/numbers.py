# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them: as many digits as their error bars leave."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal

from sordino.answer.column import Held

_DIGITS = 2  # that matter of a half-width
_PLAIN = 6  # of a number without one
_LARGEST, _SMALLEST = 16, -7  # powers of ten beyond which numbers are written with an exponent
_EXACT = Context(prec=800, rounding=ROUND_HALF_EVEN)
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING)
UNKNOWN = "?"


def number_pair(value: Held, half_width: float | None) -> tuple[str, ...]:
    """Write a value and its half-width with the digits that matter; the half-width is rounded up.

    >>> number_pair(1234.5678, 0.0123), number_pair(12, 3.5), number_pair(3.25, None)
    (('1,234.568', '0.013'), ('12', '3.5'), ('3.25',))
    >>> number_pair(123456.7, 12345.6), number_pair("flu", None)
    (('123,457', '13,000'), ('flu',))

    Guarantee: none needed; an answer is already private.
    """
    if half_width is None or not isinstance(value, int | float) or isinstance(value, bool):
        return (plain(value),)
    exact = Decimal(half_width)
    if not exact:
        return plain(value), "0"
    last = exact.adjusted() + 1 - _DIGITS
    if not _SMALLEST <= last <= _LARGEST or not _fits(value):
        return f"{value:.6g}", f"{_UP.create_decimal(exact):.2g}"
    places = 0 if float(value).is_integer() else min(last, 0)
    shown = _EXACT.quantize(Decimal(value), Decimal(1).scaleb(places))
    # What rounding the value leaves out is added to the half-width.
    width = _UP.create_decimal(_EXACT.add(exact, _EXACT.subtract(shown, Decimal(value)).copy_abs()))
    return f"{shown + 0:,f}", f"{_trimmed(width):,f}"


def plain(value: Held) -> str:
    """Write a value on one line that nothing inside it can break.

    >>> plain(None), plain(True), plain(("x", "y")), plain(1e21)
    ('null', 'true', 'x, y', '1e+21')

    Guarantee: none needed; an answer is already private.
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

    Guarantee: none needed; an answer is already private.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _fits(value: float) -> bool:
    return abs(value) < 10.0**_LARGEST


def _trimmed(width: Decimal) -> Decimal:
    """Return a half-width without zeros behind the point."""
    whole = width == width.to_integral_value()
    return _EXACT.quantize(width, Decimal(1)) if whole else width.normalize()
