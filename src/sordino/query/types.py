# SPDX-License-Identifier: Apache-2.0
"""The six types a column can have, and public intervals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Literal, TypeAlias

Value: TypeAlias = "int | float | str | bool | date | datetime | None"
ColumnKind: TypeAlias = Literal["key", "measure", "diagnostic"]  # of a column of an answer


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


@dataclass(frozen=True, slots=True)
class Range:
    """A public interval of numbers: what an aggregate clamps to if the analyst states nothing else.

    Values may lie outside; nothing that is proved rests on them lying inside.
    """

    low: Fraction
    high: Fraction
