# SPDX-License-Identifier: Apache-2.0
"""Reading public bounds and keys: what an owner typed, as values of a declared type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, assert_never

import numpy as np

from sordino.errors import CatalogError
from sordino.numbers.rational import brief, finite, is_integer
from sordino.query.types import ARROW_TYPES, Range, Type, Value

MOST_KEYS = 1_000_000  # of one column
LONGEST_TEXT = 10_000  # characters; longer values of the data are cut there
LEAST_INTEGER, LARGEST_INTEGER = -(2**63), 2**63 - 1
FIRST_YEAR, LAST_YEAR = 1, 9999

# A column of any length needs text of 64 bits.
LONG_ARROW_TYPES = ARROW_TYPES | {Type.TEXT: "large_string"}


class Conversion(NamedTuple):
    """How a column of one type is read as one of another.

    ``doubtful``: some values are missing afterwards, or hardly meant so. ``in_memory``: also when a
    frame is handed over, where a text is never taken for something else.
    """

    doubtful: bool
    in_memory: bool


# What a source may be declared as, by the type that it holds and the one that is declared.
CONVERSIONS: dict[tuple[Type, Type], Conversion] = {
    (Type.INTEGER, Type.REAL): Conversion(doubtful=False, in_memory=True),
    (Type.INTEGER, Type.TEXT): Conversion(doubtful=False, in_memory=True),
    (Type.INTEGER, Type.BOOLEAN): Conversion(doubtful=True, in_memory=False),
    (Type.REAL, Type.INTEGER): Conversion(doubtful=True, in_memory=True),
    (Type.BOOLEAN, Type.INTEGER): Conversion(doubtful=False, in_memory=False),
    (Type.BOOLEAN, Type.REAL): Conversion(doubtful=False, in_memory=False),
    (Type.BOOLEAN, Type.TEXT): Conversion(doubtful=False, in_memory=False),
    (Type.DATE, Type.TEXT): Conversion(doubtful=False, in_memory=False),
    (Type.DATE, Type.TIMESTAMP): Conversion(doubtful=False, in_memory=True),
    (Type.TIMESTAMP, Type.DATE): Conversion(doubtful=False, in_memory=True),
    **{(Type.TEXT, kind): Conversion(doubtful=True, in_memory=False) for kind in Type},
    **{(kind, kind): Conversion(doubtful=False, in_memory=True) for kind in Type},
}


def read_type(text: object) -> Type:
    """Read the name of a type.

    >>> read_type("integer")
    <Type.INTEGER: 'integer'>
    """
    if isinstance(text, str) and text in set(Type):
        return Type(text)
    known = ", ".join(Type)
    raise CatalogError(f"{_shown(text)} is not a type; the types are {known}")


def read_bounds(kind: Type, bounds: object) -> Range:
    """Read two ends; for days and moments they are years, or days whose years count.

    >>> read_bounds(Type.DATE, (date(2023, 1, 1), 2024))
    Range(low=Fraction(2023, 1), high=Fraction(2024, 1))
    """
    if not (kind.is_number or kind.is_time):
        raise CatalogError(
            f"bounds are for numbers and times, and a column of type {kind} has none"
        )
    low, high = _pair(bounds)
    if kind.is_time:
        return _years(low, high)
    try:
        found = Range(finite("the lower bound", low), finite("the upper bound", high))
    except (TypeError, ValueError) as error:
        raise CatalogError(str(error)) from None
    if found.low >= found.high:
        raise CatalogError(
            f"the lower bound {brief(found.low)} must be below the upper bound {brief(found.high)}"
        )
    if kind is Type.INTEGER:
        _check_whole(found)
    return found


def read_keys(kind: Type, keys: Iterable[object]) -> tuple[Value, ...]:
    """Read a list of keys, in the order that answers will have.

    >>> read_keys(Type.TEXT, ["flu", "asthma"])
    ('flu', 'asthma')
    """
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise CatalogError(f"keys must be a list of values of type {kind}, got {_shown(keys)}")
    found: list[Value] = []
    for key in keys:
        found.append(None if key is None else read_value(kind, key))
        if len(found) > MOST_KEYS:
            raise CatalogError(f"a column may have at most {MOST_KEYS:,} keys")
    if not found:
        raise CatalogError("keys must not be an empty list; leave it out to have keys discovered")
    seen: set[Value] = set()
    for value in found:
        if value in seen:
            raise CatalogError(f"the key {_shown(value)} stands twice in the list")
        seen.add(value)
    return tuple(found)


def keys_between(kind: Type, first: object, last: object) -> tuple[Value, ...]:
    """Return all whole numbers, or all days, from the first to the last.

    >>> keys_between(Type.INTEGER, 1, 4)
    (1, 2, 3, 4)
    """
    low, high = read_value(kind, first), read_value(kind, last)
    if isinstance(low, date) and isinstance(high, date):
        day, many = low, (high - low).days + 1
        _check_many(many)
        return tuple(day + timedelta(days=step) for step in range(many))
    if isinstance(low, int) and isinstance(high, int):
        _check_many(high - low + 1)
        return tuple(range(low, high + 1))
    raise CatalogError(f"keys from ... to ... are for integers and dates, not for type {kind}")


def read_value(kind: Type, value: object) -> Value:
    """Read one value that rows may be grouped by.

    >>> read_value(Type.INTEGER, "7")
    Traceback (most recent call last):
    sordino.errors.CatalogError: '7' is not a value of type integer
    """
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    found: Value
    match kind:
        case Type.INTEGER:
            found = _integer(value)
        case Type.TEXT:
            found = _text(value)
        case Type.BOOLEAN:
            found = value if isinstance(value, bool) else None
        case Type.DATE:
            found = value if isinstance(value, date) and not isinstance(value, datetime) else None
        case Type.TIMESTAMP:
            found = _moment(value)
        case Type.REAL:
            raise CatalogError(
                "a column of type real cannot have keys; declare it as integer, or group by "
                "HISTOGRAM or FLOOR of it"
            )
        case _:
            assert_never(kind)
    if found is None:
        raise CatalogError(f"{_shown(value)} is not a value of type {kind}")
    return found


def _pair(bounds: object) -> tuple[Any, Any]:
    if isinstance(bounds, Range):
        return bounds.low, bounds.high
    if isinstance(bounds, tuple | list) and len(bounds) == 2:
        return bounds[0], bounds[1]
    raise CatalogError(f"bounds must be two values, [low, high], got {_shown(bounds)}")


def _years(low: object, high: object) -> Range:
    first, last = _year(low), _year(high)
    if first > last:
        raise CatalogError(f"the first year {first} must not be after the last year {last}")
    return Range(finite("year", first), finite("year", last))


def _year(value: object) -> int:
    year = value.year if isinstance(value, date) else value
    try:
        found = finite("year", year)
    except (TypeError, ValueError):
        found = finite("year", 0)
    if found.denominator != 1 or not FIRST_YEAR <= found <= LAST_YEAR:
        raise CatalogError(
            f"bounds of days and moments must be dates or years from {FIRST_YEAR} to {LAST_YEAR}, "
            f"got {_shown(value)}" + ("; write it without quotes" if _is_day(value) else "")
        )
    return int(found)


def _is_day(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d{4}(-\d\d-\d\d)?", value) is not None


def _check_whole(found: Range) -> None:
    for end in (found.low, found.high):
        if end.denominator != 1 or not LEAST_INTEGER <= end <= LARGEST_INTEGER:
            raise CatalogError(
                f"bounds of a column of type integer must be whole numbers of 64 bits, "
                f"got {brief(end)}"
            )


def _check_many(many: int) -> None:
    if not 1 <= many <= MOST_KEYS:
        raise CatalogError(f"keys from ... to ... must be at least 1 and at most {MOST_KEYS:,}")


def _integer(value: object) -> int | None:
    if is_integer(value) and LEAST_INTEGER <= value <= LARGEST_INTEGER:
        return int(value)
    return None


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    if len(value) > LONGEST_TEXT or "\0" in value or not _is_unicode(value):
        raise CatalogError(
            f"a key must be text of at most {LONGEST_TEXT:,} characters without NUL or lone "
            "surrogates, because no value of the data has them"
        )
    return value


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _moment(value: object) -> datetime | None:
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is not None:
        try:
            value = value.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            return None
    return datetime(
        *value.timetuple()[:6], value.microsecond
    )  # also if it is of another library's class


def _shown(value: object) -> str:
    """Quote what the owner typed, or only name its type if it is long."""
    text = str(value) if isinstance(value, date) else repr(value)
    return text if len(text) <= 60 else f"a value of type {type(value).__name__}"
