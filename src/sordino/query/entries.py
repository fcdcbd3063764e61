# SPDX-License-Identifier: Apache-2.0
"""Python values one by one, as values of a declared type; what does not fit is missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from uuid import UUID

import numpy as np

from sordino.query.types import Type, Value
from sordino.query.values import LARGEST_INTEGER, LEAST_INTEGER


def read_entries(kind: Type, values: Iterable[object]) -> list[Value]:
    """Return values of a type; it never fails, whatever the values are.

    >>> read_entries(Type.INTEGER, [1, 2.0, 2.5, "3", None, 2**70])
    [1, 2, None, None, None, None]
    """
    read = _READERS[kind]
    return [read(value) for value in values]


def _number(value: object) -> float | None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal):
        return None
    try:
        found = float(value)
    except (OverflowError, ValueError):
        return None
    return None if math.isnan(found) else found


def _integer(value: object) -> int | None:
    if isinstance(value, bool | np.bool_):
        return None
    if not isinstance(value, Integral):
        real = _number(value)
        if real is None or not real.is_integer():
            return None
        value = int(real)
    found = int(value)
    return found if LEAST_INTEGER <= found <= LARGEST_INTEGER else None


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, UUID):
        return str(value)
    whole = _integer(value)
    return None if whole is None else str(whole)


def _boolean(value: object) -> bool | None:
    return bool(value) if isinstance(value, bool | np.bool_) else None


def _moment(value: object) -> datetime | None:
    """Return a moment without a zone; what is no date at all, such as NaT, is missing."""
    if not isinstance(value, date) or value != value:  # noqa: PLR0124 - NaT differs from itself
        return None
    try:
        if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)
        if value.tzinfo is not None:
            value = value.astimezone(UTC)
        return datetime(*value.timetuple()[:6], value.microsecond)
    except (OverflowError, ValueError):
        return None


def _day(value: object) -> date | None:
    moment = _moment(value)
    return None if moment is None else moment.date()


_READERS: dict[Type, Callable[[Any], Value]] = {
    Type.INTEGER: _integer,
    Type.REAL: _number,
    Type.TEXT: _text,
    Type.BOOLEAN: _boolean,
    Type.DATE: _day,
    Type.TIMESTAMP: _moment,
}
