# SPDX-License-Identifier: Apache-2.0
"""Values that go in and come out: parameters, the types of columns, and the names of PEP 249.

In the place of a question mark a value is written so that it cannot be read as anything else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Integral

from sordino.query.types import Type
from sordino.sql.parse import LONGEST
from sordino.sql.whitelist import words

_MARKS = ("?", "?::")  # a mark before a cast is one word with it
_APART = " \t\n\r(,)"  # signs that join nothing beside them


def bound(sql: str, values: Sequence[object] | None) -> str:
    """Return a question with each ``?`` replaced by a value; those in texts and comments stay.

    >>> bound("SELECT COUNT(*) FROM t WHERE name = ? AND n > ? -- ?", ["O'Neill", 5])
    "SELECT COUNT(*) FROM t WHERE name = 'O''Neill' AND n > 5 -- ?"

    Raises:
        TypeError: for values that are no list, or of a kind that cannot be written.
        ValueError: for too few or too many values, and for numbers that are not finite.
    """
    if not isinstance(sql, str):
        raise TypeError(f"a question is a text, not {type(sql).__name__}")
    given = _listed(values)
    marks = _marks(sql)
    if marks is None:
        return sql  # it cannot be read, and whoever reads it next says why
    if len(marks) != len(given):
        raise ValueError(
            f"question marks: {len(marks)}, values: {len(given)}; give one value for each mark"
        )
    parts, start = [], 0
    for mark, value in zip(marks, given, strict=True):
        before, after = sql[mark - 1 : mark], sql[mark + 1 : mark + 2]
        parts += [sql[start:mark], _space(before), literal(value), _space(after)]
        start = mark + 1
    return "".join([*parts, sql[start:]])


def literal(value: object) -> str:
    """Return a value as it is written in SQL.

    >>> print(literal(None), literal(True), literal(-3), literal("it's"), literal(date(2024, 5, 1)))
    NULL TRUE -3 'it''s' DATE '2024-05-01'
    """
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, date):
        return _timed(value)
    if isinstance(value, Integral | float | Decimal):
        return _number(value)
    raise TypeError(
        f"a value is None, a truth value, a number, a text, a date or a datetime, not {type(value)}"
    )


def _listed(values: Sequence[object] | None) -> Sequence[object]:
    if values is None:
        return ()
    if isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray):
        return values
    raise TypeError(
        f"values are given as a list, one for each question mark, not as {type(values).__name__}"
    )


def _marks(sql: str) -> list[int] | None:
    """Return where question marks stand for values, or None for a text that cannot be read."""
    if "?" not in sql:
        return []
    if len(sql) > LONGEST:
        return None
    try:
        tokens = words(sql).tokens
    except Exception:  # a question that fails here is refused again where it is read
        return None
    return [t.start for t in tokens if t.text in _MARKS and sql[t.start] == "?"]


def _space(sign: str) -> str:
    """Return what keeps a value apart from a sign: a minus before -5 would begin a comment."""
    return "" if sign in _APART else " "


def _number(value: Integral | float | Decimal) -> str:
    """Return a truth value or a number as it is written, whatever its class would print."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Integral):
        return int.__repr__(int(value))
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise ValueError("a number must be finite; give None for a missing value")
    return float.__repr__(value) if isinstance(value, float) else Decimal.__str__(value)


def _timed(value: date) -> str:
    if not isinstance(value, datetime):
        return f"DATE {_quoted(value.isoformat())}"
    if value.tzinfo is not None:
        raise ValueError("a moment has no time zone here; give one without tzinfo")
    return f"TIMESTAMP {_quoted(value.isoformat(sep=' '))}"


def _quoted(text: str) -> str:
    doubled = str.replace(text, "'", "''")
    return f"'{doubled}'"


_LIST = "[]"
_CODES = {
    Type.INTEGER: "BIGINT",
    Type.REAL: "DOUBLE",
    Type.TEXT: "VARCHAR",
    Type.BOOLEAN: "BOOLEAN",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}


def type_code(kind: Type, *, listed: bool = False) -> str:
    """Return the name of a type in SQL; a list of several values has brackets after it.

    >>> type_code(Type.INTEGER), type_code(Type.TEXT, listed=True)
    ('BIGINT', 'VARCHAR[]')
    """
    return _CODES[kind] + _LIST * listed


@dataclass(frozen=True, slots=True, eq=False)
class TypeObject:
    """A family of types: it equals the code of each of its members, and of lists of them.

    >>> TypeObject("NUMBER", frozenset({"BIGINT", "DOUBLE"})) == "BIGINT"
    True
    """

    name: str
    codes: frozenset[str]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return self.codes == other.codes and self.name == other.name
        return isinstance(other, str) and other.removesuffix(_LIST) in self.codes

    __hash__ = None  # type: ignore[assignment]  # what equals several codes has no hash of its own

    def __repr__(self) -> str:
        return self.name


STRING = TypeObject("STRING", frozenset({"VARCHAR"}))
NUMBER = TypeObject("NUMBER", frozenset({"BIGINT", "DOUBLE", "BOOLEAN"}))
DATETIME = TypeObject("DATETIME", frozenset({"DATE", "TIMESTAMP"}))
BINARY = TypeObject("BINARY", frozenset())  # no answer has bytes
ROWID = TypeObject("ROWID", frozenset())  # no answer has rows of the data

Date = date
Time = time
Timestamp = datetime
Binary = bytes


def DateFromTicks(ticks: float) -> date:  # noqa: N802 - the name is the interface's
    """Return the day of a number of seconds since 1970, where this machine is."""
    return date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> time:  # noqa: N802 - the name is the interface's
    """Return the time of day of a number of seconds since 1970, where this machine is."""
    return datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime:  # noqa: N802 - the name is the interface's
    """Return the moment of a number of seconds since 1970, where this machine is."""
    return datetime.fromtimestamp(ticks)
