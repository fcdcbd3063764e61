# SPDX-License-Identifier: Apache-2.0
"""The law of the door in plain Python: what leaves it for one cell, by its meaning alone.

A cell is what a value of a source means, whatever the source and its type are: None, a truth value,
a Fraction, a float that is no number of that kind (NaN or infinite), text, a UUID, a Day, a Moment,
or Junk that means nothing. Nothing here is taken from the code that reads sources.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import TypeAlias
from uuid import UUID

from sordino.query.types import Type, Value

LONGEST = 10_000  # characters of a text that is a value
_FIRST = date(1, 1, 1).toordinal() - date(1970, 1, 1).toordinal()
_LAST = date(9999, 12, 31).toordinal() - date(1970, 1, 1).toordinal()
_DAY = 86_400 * 10**9
_YES, _NO = {"true", "t", "yes", "y", "1"}, {"false", "f", "no", "n", "0"}
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?"
    r"(Z|([+-])(\d\d)(?::?(\d\d))?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Day:
    """A day, counted from 1970; without a number it is infinite."""

    number: int | None


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment in nanoseconds from 1970, in UTC; without a number it is infinite."""

    ticks: int | None


@dataclass(frozen=True, slots=True)
class Junk:
    """Bytes that are no text, or an object that is no value at all."""

    name: object


Cell: TypeAlias = "bool | Fraction | float | str | UUID | Day | Moment | Junk | None"


class _Any:
    """What the law says nothing of, such as how a day before the year 1 is spelt."""

    def __repr__(self) -> str:
        return "anything"


ANY = _Any()


def leaves(cell: Cell, kind: Type, *, objects: bool = False) -> Value | _Any:
    """Return what a cell is as a value of a declared type; None is missing.

    ``objects`` are cells of a column in which every row may have a class of its own: there a truth
    value is no number, and a text is no number either.
    """
    match cell:
        case bool():
            return _of_truth(cell, kind, objects=objects)
        case Fraction():
            return _of_number(cell, kind, objects=objects)
        case float():
            return cell if kind is Type.REAL and cell == cell else None  # noqa: PLR0124  # NaN
        case str():
            return _of_text(cell, kind, objects=objects)
        case UUID():
            return str(cell) if kind is Type.TEXT else None
        case Day(number=number):
            return _of_day(number, kind, objects=objects)
        case Moment(ticks=ticks):
            return _of_moment(ticks, kind)
        case _:
            return None


def identity(cell: Cell, kind: Type, *, objects: bool = False) -> Hashable:
    """Return what tells an id from all others, or None for a row without one.

    In a column of one class ids are equal if they are as values of the declared type, uncut; among
    objects, of which each has its own class, only those of one class or of equal value are.
    """
    if isinstance(cell, str) and kind is Type.INTEGER and not objects:
        return int(cell) if re.fullmatch("0|-?[1-9][0-9]{0,18}", cell) and _fits(cell) else None
    value = leaves(cell, kind, objects=objects)
    if value is None or kind is not Type.TEXT:
        return value if isinstance(value, Hashable) else None
    if objects:
        return type(cell).__name__, cell
    if isinstance(cell, str):
        return cell
    return value if isinstance(value, str) else cell


def _fits(text: str) -> bool:
    return -(2**63) <= int(text) < 2**63


def _of_truth(cell: bool, kind: Type, *, objects: bool) -> Value:
    if kind is Type.BOOLEAN:
        return cell
    if objects:
        return None
    kinds: dict[Type, Value] = {
        Type.INTEGER: int(cell),
        Type.REAL: float(cell),
        Type.TEXT: str(cell).lower(),
    }
    return kinds.get(kind)


def _of_number(cell: Fraction, kind: Type, *, objects: bool) -> Value:
    whole = cell.denominator == 1
    match kind:
        case Type.INTEGER:
            return int(cell) if whole and -(2**63) <= cell < 2**63 else None
        case Type.REAL:
            return _nearest(cell)
        case Type.TEXT:
            if max(abs(cell.numerator), cell.denominator) >= 2**4096:
                return None
            return str(cell)
        case Type.BOOLEAN:
            return None if objects or not whole else cell != 0
        case _:
            return None


def _nearest(cell: Fraction) -> float:
    try:
        return cell.numerator / cell.denominator
    except OverflowError:
        return float("inf") if cell > 0 else float("-inf")


def _of_text(cell: str, kind: Type, *, objects: bool) -> Value | _Any:
    if kind is Type.TEXT:
        if any("\ud800" <= character <= "\udfff" for character in cell):
            return None
        return cell[:LONGEST].replace("\0", "")
    if objects:
        return None
    match kind:
        case Type.INTEGER:
            whole = re.fullmatch(r" *([+-]?[0-9]{1,40}) *", cell)
            return int(whole[1]) if whole and _fits(whole[1]) else None
        case Type.REAL:
            return _real_text(cell)
        case Type.BOOLEAN:
            word = cell.lower() if cell.isascii() else ""
            return True if word in _YES else False if word in _NO else None
        case Type.DATE:
            return _day_text(cell)
        case _:
            return _moment_text(cell)


def _real_text(cell: str) -> float | None:
    plain = r" *([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) *"
    number = re.fullmatch(plain, cell)
    found = float(number[1]) if number else float("inf")
    return None if abs(found) == float("inf") else found + 0.0  # which makes -0.0 a zero


def _day_text(cell: str) -> date | None:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", cell, re.ASCII):
        return None
    try:
        return date.fromisoformat(cell)
    except ValueError:
        return None


def _moment_text(cell: str) -> datetime | _Any | None:
    """Return a moment; of the hour 24, which some editions of ISO 8601 have, nothing is said."""
    parts = _MOMENT.fullmatch(cell)
    if parts is None or cell[11:13] == "24":
        return None if parts is None else ANY
    year, month, day, hour, minute, second = (int(part or 0) for part in parts.groups()[:6])
    part, _, sign, hours, minutes = parts.groups()[6:]
    try:
        rest = int((part or "").ljust(6, "0"))
        moment = datetime(year, month, day, hour, minute, second, rest)
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        return moment + offset if sign == "-" else moment - offset
    except (ValueError, OverflowError):
        return None


def _of_day(number: int | None, kind: Type, *, objects: bool) -> Value | _Any:
    inside = number is not None and _FIRST <= number <= _LAST
    if kind is Type.TEXT and not objects:
        return (date(1970, 1, 1) + timedelta(days=number or 0)).isoformat() if inside else ANY
    if not inside or kind not in (Type.DATE, Type.TIMESTAMP):
        return None
    day = datetime(1970, 1, 1) + timedelta(days=number or 0)
    return day.date() if kind is Type.DATE else day


def _of_moment(ticks: int | None, kind: Type) -> Value:
    if ticks is None or not _FIRST <= ticks // _DAY <= _LAST:
        return None
    if kind not in (Type.DATE, Type.TIMESTAMP):
        return None
    moment = datetime(1970, 1, 1) + timedelta(microseconds=ticks // 1000)
    return moment.date() if kind is Type.DATE else moment
