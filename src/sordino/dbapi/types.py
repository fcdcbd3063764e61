# SPDX-License-Identifier: Apache-2.0
"""What type a column of an answer has, and the names by which PEP 249 makes values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time

from sordino.query.types import Type

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
