# SPDX-License-Identifier: Apache-2.0
"""Python values one by one, as values of a declared type; what does not fit is missing.

Numbers are read by their exact value, whatever class they are of. As text a number, and an id of
class UUID, begins with NUL, which text of a person's own does not: so the number 1 and the text "1"
are two ids in one column. Where text is a value and no id, the engine takes NUL off.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np

from sordino.query.types import Type, Value
from sordino.query.values import LARGEST_INTEGER, LEAST_INTEGER

_Number: TypeAlias = "int | float | Decimal | Fraction | np.longdouble"

_NUL = "\0"
_MOST_BITS = 4096  # of a number that is an id: all doubles have fewer
_MOST_DIGITS = 1200
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # years 1 to 9999, from 1970
_IN_A_DAY = {"D": 1, "h": 24, "m": 1440} | {
    unit: 86_400 * rate for unit, rate in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9))
}


def read_entries(kind: Type, values: Iterable[object]) -> list[Value]:
    r"""Return values of a type; it never fails, whatever the values are.

    >>> read_entries(Type.INTEGER, [1, 2.0, 2.5, "3", None, 2**70])
    [1, 2, None, None, None, None]
    >>> read_entries(Type.TEXT, ["1", 1, 1.0, Decimal("0.5")])
    ['1', '\x001', '\x001', '\x001/2']
    """
    read = _READERS[kind]
    return [_entry(read, value) for value in values]


def moments(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return moments as microseconds; those outside the years 1 to 9999 are missing.

    That is tested in the unit that they are in, because numpy wraps around when it leaves one.
    Units may be multiples, such as three days; of the fine ones there must be at most 10**9 in a
    second.
    """
    unit, size = np.datetime_data(values.dtype)
    if unit in _IN_A_DAY:
        low, high = _FIRST_DAY * _IN_A_DAY[unit], (_LAST_DAY + 1) * _IN_A_DAY[unit] - 1
    else:
        ends = (np.datetime64(day).astype(f"M8[{unit}]") for day in ("0001-01-01", "9999-12-31"))
        low, high = (int(end.astype(np.int64)) for end in ends)
    first = -(-max(low, LEAST_INTEGER + 1) // size)
    last = min(high, LARGEST_INTEGER) // size
    plain = values.astype(values.dtype.newbyteorder("="))
    ticks = plain.view(np.int64)
    inside = (ticks >= first) & (ticks <= last)
    return np.where(inside, plain, np.datetime64("NaT")).astype("M8[us]")


def _entry(read: Callable[[Any], Value], value: object) -> Value:
    """Return a value as it is read; a zone, or a changed Fraction, can answer with any error."""
    try:
        return read(value)
    except Exception:  # whatever it is, the value is none of the type
        return None


def _number(value: object) -> _Number | None:
    """Return a number as one of a plain class with the same value; a truth value is no number.

    Classes are those that values really have, because what ``__class__`` says may be a lie, and
    methods are those of the plain classes, because a derived class may have changed its own.
    """
    kind = type(value)
    if kind is bool:
        return None
    rules = (plain for family, plain in _PLAIN if issubclass(kind, family))
    rule = next(rules, None)
    return None if rule is None else rule(value)


def _fraction(value: Fraction) -> Fraction | None:
    """Return a fraction; of a derived class, or with changed parts, it is no number."""
    whole = type(value) is Fraction and type(value.numerator) is type(value.denominator) is int
    return value if whole and value.denominator > 0 else None


_PLAIN: tuple[tuple[Any, Callable[[Any], _Number | None]], ...] = (
    (int, int.__index__),
    (float, float.__pos__),
    (Decimal, Decimal),
    (Fraction, _fraction),
    ((np.integer, np.floating), np.generic.item),  # a long double stays one
)


def _ratio(value: object) -> tuple[int, int] | None:
    """Return the exact value of a number in lowest terms, if it is finite and not too long."""
    number = _number(value)
    if number is None:
        return None
    if isinstance(number, Decimal):
        return _decimal_ratio(number)
    if isinstance(number, float | np.longdouble) and not np.isfinite(number):
        return None
    above, below = number.as_integer_ratio()
    return (above, below) if max(above.bit_length(), below.bit_length()) <= _MOST_BITS else None


def _decimal_ratio(number: Decimal) -> tuple[int, int] | None:
    """Return the exact value of a Decimal; a long exponent is not written out."""
    if not number:
        return 0, 1
    sign, digits, exponent = number.as_tuple()
    if isinstance(exponent, str) or max(len(digits), abs(exponent)) > _MOST_DIGITS:
        return None
    above = int("".join(map(str, digits))) * (-1 if sign else 1)
    power = 10 ** abs(exponent)
    return (Fraction(above, power) if exponent < 0 else Fraction(above * power)).as_integer_ratio()


def _real(value: object) -> float | None:
    """Return the nearest double; a number beyond the largest one is infinite."""
    number = _number(value)
    if number is None:
        return None
    try:
        with np.errstate(over="ignore"):
            real = float(number)
    except OverflowError:
        real = math.inf if number > 0 else -math.inf
    return None if math.isnan(real) else real


def _integer(value: object) -> int | None:
    ratio = _ratio(value)
    if ratio is None or ratio[1] != 1:
        return None
    return ratio[0] if LEAST_INTEGER <= ratio[0] <= LARGEST_INTEGER else None


def _text(value: object) -> str | None:
    kind = type(value)
    if issubclass(kind, str):
        return _unicode(str.__str__(value))
    if kind is UUID:
        return f"{_NUL}{value}"
    ratio = _ratio(value)
    if ratio is None:
        return None
    above, below = ratio
    return f"{_NUL}{above}" if below == 1 else f"{_NUL}{above}/{below}"


def _unicode(text: str) -> str | None:
    """Return text that is valid Unicode; what begins with NUL itself gets a second one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return _NUL + text if text.startswith(_NUL) else text


def _boolean(value: object) -> bool | None:
    return bool(value) if type(value) in (bool, np.bool_) else None


def _moment(value: object) -> datetime | None:
    """Return a moment without a zone, in UTC if it had one; what is no date is missing."""
    kind = type(value)
    if issubclass(kind, np.datetime64):
        return _numpy_moment(value)
    if kind.__module__.partition(".")[0] == "pandas":  # a Timestamp may be after the year 9999
        return _numpy_moment(value.to_datetime64()) if _is_timestamp(kind) else None  # type: ignore[attr-defined]
    if not issubclass(kind, date):
        return None
    day = (part.__get__(value) for part in (date.year, date.month, date.day))
    if not issubclass(kind, datetime):
        return datetime(*day)
    parts = (datetime.hour, datetime.minute, datetime.second, datetime.microsecond)
    moment = datetime(*day, *(part.__get__(value) for part in parts))
    offset = datetime.utcoffset(value)  # type: ignore[arg-type]
    return moment - (offset or timedelta(0))


def _is_timestamp(kind: type) -> bool:
    return kind is getattr(sys.modules.get("pandas"), "Timestamp", None)


def _numpy_moment(value: Any) -> datetime | None:
    array = np.array([value])
    if np.datetime_data(array.dtype)[0] == "generic":
        return None
    moment: datetime | None = moments(array).tolist()[0]
    return moment


def _day(value: object) -> date | None:
    moment = _moment(value)
    return None if moment is None else moment.date()


_READERS: dict[Type, Callable[[Any], Value]] = {
    Type.INTEGER: _integer,
    Type.REAL: _real,
    Type.TEXT: _text,
    Type.BOOLEAN: _boolean,
    Type.DATE: _day,
    Type.TIMESTAMP: _moment,
}
