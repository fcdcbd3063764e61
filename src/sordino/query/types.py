# SPDX-License-Identifier: Apache-2.0
"""The six types a column can have, what fits in them, and public intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Literal, TypeAlias

Value: TypeAlias = "int | float | str | bool | date | datetime | None"
ColumnKind: TypeAlias = Literal["key", "measure", "diagnostic"]  # of a column of an answer

LARGEST_INTEGER = 2**63  # whole numbers below it are kept


class Type(StrEnum):
    """What values a column or an expression has; every one may also be missing."""

    INTEGER = "integer"  # 64 bits
    REAL = "real"  # a double
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"  # without a time zone

    @property
    def is_number(self) -> bool:
        """Tell whether it can be added up."""
        return self in (Type.INTEGER, Type.REAL)

    @property
    def is_time(self) -> bool:
        """Tell whether it is a day or a moment."""
        return self in (Type.DATE, Type.TIMESTAMP)


# The Arrow type of each type; a column of any length needs another one for text.
ARROW_TYPES = {
    Type.INTEGER: "int64",
    Type.REAL: "float64",
    Type.TEXT: "string",
    Type.BOOLEAN: "bool",
    Type.DATE: "date32",
    Type.TIMESTAMP: "timestamp[us]",
}


@dataclass(frozen=True, slots=True)
class Range:
    """A public interval of numbers: what an aggregate clamps to if the analyst states nothing else.

    Values may lie outside; nothing that is proved rests on them lying inside.
    """

    low: Fraction
    high: Fraction


def fitted(value: Value, kind: Type) -> Value:
    """Return a result in its type; what does not fit is missing."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if kind is Type.INTEGER and isinstance(value, int | float):
        return _whole(value)
    if kind is Type.REAL and isinstance(value, int | float):
        return float(value)
    return value


def _whole(value: float) -> int | None:
    """Return the nearest whole number, ties to even, if 64 bits hold it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    whole = round(value)
    return whole if -LARGEST_INTEGER <= whole < LARGEST_INTEGER else None
