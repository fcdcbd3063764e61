# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them: as many digits as their error bars leave."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from sordino.answer.column import End, Held

_DIGITS = 2  # that matter of a half-width
_PLAIN = 6  # of a number without one
_LARGEST, _SMALLEST = 16, -7  # powers of ten beyond which numbers are written with an exponent
_LOPSIDED = 1.5  # an interval with a side so many times the other is shown by its ends
_EXACT = Context(prec=800, rounding=ROUND_HALF_EVEN)
_CEILING, _FLOOR = (Context(prec=800, rounding=r) for r in (ROUND_CEILING, ROUND_FLOOR))
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING)
UNKNOWN = "?"


def number_pair(value: Held, half_width: float | None) -> tuple[str, ...]:
    """Write a value and its half-width with the digits that matter; the half-width is rounded up.

    >>> number_pair(1234.5678, 0.0123), number_pair(12, 3.5), number_pair(3.25, None)
    (('1,234.568', '0.013'), ('12', '4'), ('3.25',))
    >>> number_pair(123456.7, 12345.6), number_pair(27.281, 0.08), number_pair("flu", None)
    (('123,457', '13,000'), ('27.281', '0.080'), ('flu',))

    Guarantee: none needed; an answer is already private.
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


def with_error(value: Held, half_width: End, low: End, high: End) -> tuple[str, str]:
    """Write a value and its error bar: ± and a half-width, or both ends if they lie unevenly.

    >>> with_error(12, 3.0, 9.0, 15.0), with_error(0, 31.0, 0.0, 31.0)
    (('12', '± 3'), ('0', '(0 to 31)'))
    >>> with_error(2.5, None, None, None)
    ('2.5', '± ?')

    Guarantee: none needed; an answer is already private.
    """
    if half_width is not None and low is not None and high is not None:
        found = _range(value, half_width, low, high)
        if found is not None:
            return found
    pair = number_pair(value, half_width)
    return pair[0], f"± {pair[1] if len(pair) == 2 else UNKNOWN}"


def _range(value: Held, half_width: float, low: float, high: float) -> tuple[str, str] | None:
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


def several(count: float, noun: str) -> str:
    """Write how many of something there are, to three digits.

    >>> several(1, "row"), several(61234, "row"), several(0.125, "row")
    ('1 row', '61,200 rows', '0.125 rows')

    Guarantee: none needed; public inputs only.
    """
    text = plain(int(count)) if isinstance(count, int) else f"{float(f'{count:.3g}'):,.12g}"
    if isinstance(count, int) and count > 9999:
        text = plain(int(float(f"{count:.3g}")))
    return f"{text} {noun}{'' if count == 1 else 's'}"
