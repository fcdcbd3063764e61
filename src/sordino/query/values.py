# SPDX-License-Identifier: Apache-2.0
"""What operations give for single values: the meaning that the engine's SQL must agree with.

Text that engines and Python may read differently is told apart, so that no list of keys rests on
it: they fold letters beyond ASCII in different ways, disagree on which are spaces, and one reads
``0x1F`` as a number where another reads none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import TypeAlias

from sordino.query.types import LARGEST_INTEGER, Value

Rule: TypeAlias = "Callable[..., Value]"

YES, NO = ("true", "t", "1"), ("false", "f", "0")  # text that is a truth value
_PLAIN = re.compile(r"[ -~]*")
_NUMBER = re.compile(r" *[-+]?\d{1,15}(\.\d{1,15})? *", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_SPECIAL = ("nan", "inf", "infinity", "epoch", "now", "today", "yesterday", "tomorrow")
_WRITTEN = re.compile(
    r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?"
)


# Text on which engines agree. --------------------------------------------------------------------


def plain_text(text: str) -> bool:
    """Tell whether text has nothing but the printable characters of ASCII."""
    return _PLAIN.fullmatch(text) is not None


def _written(form: re.Pattern[str]) -> Callable[[str], bool]:
    """Return a test for text of one form, or for text that everybody reads as something else."""

    def agreed(text: str) -> bool:
        if form.fullmatch(text):
            return True
        word = text.strip(" +-").lower()
        return plain_text(text) and not _DIGIT.search(text) and word not in _SPECIAL

    return agreed


number_text, moment_text = _written(_NUMBER), _written(_MOMENT)


# Missing values take part in these. -------------------------------------------------------------


def both(left: Value, right: Value) -> Value:
    """Return whether both are true."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: Value, right: Value) -> Value:
    """Return whether one is true."""
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def coalesce(*values: Value) -> Value:
    """Return the first value that is there."""
    return next((value for value in values if value is not None), None)


def null_if(value: Value, other: Value) -> Value:
    """Return a value, but nothing if it equals another."""
    return None if value is not None and value == other else value


def branch(*values: Value) -> Value:
    """Return the value of the first condition that is true, or the last value."""
    for condition, value in zip(values[:-1:2], values[1::2], strict=True):
        if condition is True:
            return value
    return values[-1]


def listed(value: Value, *choices: Value) -> Value:
    """Return whether a value is among others."""
    if value is None:
        return None
    if any(choice is not None and choice == value for choice in choices):
        return True
    return None if None in choices else False


def extreme(pick: Callable[..., float]) -> Rule:
    """Return a rule that picks among the values that are there."""

    def applied(*values: float | None) -> float | None:
        there = [value for value in values if value is not None]
        return pick(there) if there else None

    return applied


def is_null(value: Value) -> bool:
    """Return whether a value is missing."""
    return value is None


# All values are there in these. -----------------------------------------------------------------


def divided(left: float, right: float) -> float | None:
    """Return a quotient; nothing is divided by 0."""
    return None if right == 0 else float(left) / float(right)


def multiplied(left: float, right: float) -> float:
    """Return a product."""
    return float(left) * float(right)


def floor(value: float) -> float:
    """Round down."""
    return math.floor(value) if math.isfinite(value) else value


def ceil(value: float) -> float:
    """Round up."""
    return math.ceil(value) if math.isfinite(value) else value


def rounded(value: float, digits: int) -> float:
    """Round half away from zero, as an engine does: scaled, rounded, and scaled back."""
    scale = 10.0**digits
    scaled = abs(float(value)) * scale
    if not math.isfinite(scaled):
        return value
    whole = math.floor(scaled)
    return math.copysign((whole + (scaled - whole >= 0.5)) / scale, value)


def clamp(value: float, low: float, high: float) -> float:
    """Return the number between two ends that is nearest."""
    return min(max(value, low), high)


def like(text: str, pattern: str) -> bool:
    """Tell whether text fits a pattern: ``%`` stands for any text and ``_`` for one character.

    >>> like("influenza", "%flu%"), like("flu", "f_"), like("a%", "a%")
    (True, False, True)
    """
    at, mark, star, resume = 0, 0, -1, 0
    while at < len(text):
        if mark < len(pattern) and pattern[mark] == "%":
            star, resume = mark, at
            mark += 1
        elif mark < len(pattern) and pattern[mark] in ("_", text[at]):
            at, mark = at + 1, mark + 1
        elif star >= 0:
            resume += 1
            at, mark = resume, star + 1
        else:
            return False
    return all(sign == "%" for sign in pattern[mark:])


def substring(text: str, start: int, length: int) -> str:
    """Return some characters from a place on, which is counted from 1."""
    first = max(start, 1)
    return text[first - 1 : max(start + length, first) - 1]


def quarter(day: date) -> int:
    """Return the quarter of a day."""
    return (day.month - 1) // 3 + 1


def truncated(*, to_month: bool = False, to_year: bool = False) -> Rule:
    """Return a rule that cuts a moment to its day, month or year."""

    def applied(day: date) -> date:
        whole = _midnight(day)
        whole = whole.replace(day=1) if to_month or to_year else whole
        return whole.replace(month=1) if to_year else whole

    return applied


def _midnight(day: date) -> date:
    if isinstance(day, datetime):
        return day.replace(hour=0, minute=0, second=0, microsecond=0)
    return day


def trunc_quarter(day: date) -> date:
    """Cut to the first day of the quarter."""
    return _midnight(day).replace(month=3 * quarter(day) - 2, day=1)


def trunc_hour(day: date) -> date:
    """Cut a moment to its hour."""
    if isinstance(day, datetime):
        return day - timedelta(minutes=day.minute, seconds=day.second, microseconds=day.microsecond)
    return day


def to_real(value: float | str) -> float:
    """Return a number as a double."""
    return float(value.strip()) if isinstance(value, str) else float(value)


def to_integer(value: float | str) -> float:
    """Numbers are rounded with ties to even, and what is written with ties away from zero."""
    if isinstance(value, str):
        if not abs(float(value)) < LARGEST_INTEGER:
            return math.inf
        return int(Decimal(value.strip()).to_integral_value(ROUND_HALF_UP))
    return value


def to_boolean(value: float | str) -> bool | None:
    """Return a number or text as a truth value."""
    if isinstance(value, str):
        word = value.strip(" ").lower()
        return True if word in YES else False if word in NO else None
    return value != 0


def to_date(value: date | str) -> date:
    """Return a moment or text as a day."""
    if isinstance(value, str):
        return to_timestamp(value).date()
    return value.date() if isinstance(value, datetime) else value


def to_timestamp(value: date | str) -> datetime:
    """Return a day or text as a moment."""
    if isinstance(value, str):
        found = _WRITTEN.fullmatch(value.strip())
        if found is None:
            raise ValueError(value)
        *parts, rest = found.groups(default="0")
        year, month, day, hour, minute, second = map(int, parts)
        return datetime(year, month, day, hour, minute, second, int(rest.ljust(6, "0")))
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def to_text(value: object) -> str:
    """Return a value as it is written."""
    if isinstance(value, float):
        return str(value + 0.0)  # -0.0 is 0.0, and reads like it
    return str(value).lower() if isinstance(value, bool) else str(value)
