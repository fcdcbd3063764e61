# SPDX-License-Identifier: Apache-2.0
"""Invented values of one column, most as it is declared, and some on purpose otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from sordino.catalog.model import Column
from sordino.catalog.values import FIRST_YEAR, LARGEST_INTEGER, LAST_YEAR, LONG_ARROW_TYPES
from sordino.mock.draws import Draws, skewed
from sordino.query.types import Range, Type, Value

MISSING, OUTSIDE, UNDECLARED = 0.03, 0.02, 0.04  # how often; outside at either end

Mask = npt.NDArray[np.bool_]

_WORDS = 24  # different texts where nothing is declared
_NUMBERS = 200  # different whole numbers there
_YEARS = (2020, 2024)
_EPOCH = date(1970, 1, 1)
_SECONDS_OF_DAY, _MICROSECONDS = 86_400, 10**6
_FARTHEST = 2.0**63 - 1024  # the largest double that is a whole number of 64 bits


def invent(column: Column, draws: Draws, keys: Sequence[Value] | None) -> Any:
    """Return an Arrow array for a column; ``keys`` are its public values, if there are any."""
    import pyarrow as pa  # takes long to import

    missing = draws.rare("missing", MISSING)
    if keys:
        return _keys(column.type, draws, keys, missing)
    match column.type:
        case Type.TEXT:
            words = [f"{column.name} {number}" for number in range(1, _WORDS + 1)]
            places = pa.array(skewed(draws.hashes("value"), _WORDS), mask=missing)
            return pa.array(words, arrow_of(Type.TEXT)).take(places)
        case Type.BOOLEAN:
            return pa.array(draws.share("value") < 1 / 3, mask=missing)
        case Type.INTEGER | Type.REAL:
            numbers = _spread(column.bounds, draws, _NUMBERS)
            whole = column.type is Type.INTEGER
            return pa.array(_whole(numbers) if whole else numbers, mask=missing)
        case Type.DATE:
            days = pa.array(_days(column.bounds, draws).astype(np.int32), mask=missing)
            return days.view(arrow_of(Type.DATE))
        case Type.TIMESTAMP:
            seconds = (draws.share("second") * _SECONDS_OF_DAY).astype(np.int64)
            moments = (_days(column.bounds, draws) * _SECONDS_OF_DAY + seconds) * _MICROSECONDS
            return pa.array(moments, mask=missing).view(arrow_of(Type.TIMESTAMP))
        case _:
            assert_never(column.type)


def identifiers(kind: Type, word: str, numbers: npt.NDArray[np.int64], missing: Mask) -> Any:
    """Return ids: equal for equal numbers, and different for different ones but truth values."""
    import pyarrow as pa  # as above

    match kind:
        case Type.TEXT:
            texts = [f"{word} {number}" for number in numbers.tolist()]
            return pa.array(texts, arrow_of(kind), mask=missing)
        case Type.BOOLEAN:
            return pa.array(numbers % 2 == 1, mask=missing)
        case Type.INTEGER:
            return pa.array(numbers, mask=missing)
        case Type.REAL:
            return pa.array(numbers.astype(np.float64), mask=missing)
        case Type.DATE:
            return pa.array(numbers.astype(np.int32), mask=missing).view(arrow_of(kind))
        case Type.TIMESTAMP:
            return pa.array(numbers * _MICROSECONDS, mask=missing).view(arrow_of(kind))
        case _:
            assert_never(kind)


def arrow_of(kind: Type) -> Any:
    """Return the Arrow type of a type."""
    import pyarrow as pa  # as above

    name = LONG_ARROW_TYPES[kind]
    return pa.timestamp("us") if kind is Type.TIMESTAMP else pa.type_for_alias(name)


def _keys(kind: Type, draws: Draws, keys: Sequence[Value], missing: Mask) -> Any:
    """Return public values, the first most often, and now and then one that nobody declared."""
    import pyarrow as pa  # as above

    places = skewed(draws.hashes("value"), len(keys))
    strange = undeclared(kind, keys)
    if strange is not None:
        places = np.where(draws.rare("undeclared", UNDECLARED), len(keys), places)
    known = pa.array([*keys, strange], arrow_of(kind))
    return known.take(pa.array(places, mask=missing))


def undeclared(kind: Type, keys: Sequence[Value]) -> Value:
    """Return a value that is not among the keys; None where there is no other one.

    >>> undeclared(Type.TEXT, ["a", "b"]), undeclared(Type.INTEGER, [3, 1, 2])
    ('not declared', 4)
    """
    if kind is Type.TEXT:
        text = "not declared"
        while text in keys:
            text += "!"
        return text
    if kind is Type.BOOLEAN:
        return next((value for value in (True, False) if value not in keys), None)
    step: Any = timedelta(days=1) if kind.is_time else 1
    largest: Any = max(key for key in keys if key is not None)
    try:
        beyond = largest + step
    except OverflowError:  # after the last day there is
        return None
    return None if kind is Type.INTEGER and beyond > LARGEST_INTEGER else beyond


def _spread(bounds: Range | None, draws: Draws, usual: int) -> npt.NDArray[np.float64]:
    """Return numbers around the middle of their bounds, and a few outside at either end."""
    if bounds is None:
        return np.round(-np.log1p(-draws.share("value")) * usual / 8, 2)
    low, high = float(bounds.low), float(bounds.high)
    middle = (draws.share("value") + draws.share("other")) / 2
    far = draws.share("far")
    with np.errstate(over="ignore"):
        width = min(high - low, np.finfo(np.float64).max) or 1.0
        numbers = low * (1 - middle) + high * middle
        numbers = np.where(draws.rare("above", OUTSIDE), high + width * (0.01 + far), numbers)
        return np.where(draws.rare("below", OUTSIDE), low - width * (0.01 + far), numbers)


def _whole(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the nearest whole numbers; those outside of bounds stay outside."""
    return np.clip(np.rint(numbers), -_FARTHEST, _FARTHEST).astype(np.int64)


def _days(bounds: Range | None, draws: Draws) -> npt.NDArray[np.int64]:
    """Return days since 1970 within public years, and a few in the year before and after."""
    years = _YEARS if bounds is None else (int(bounds.low), int(bounds.high))
    first, last = (date(years[0], 1, 1) - _EPOCH).days, (date(years[1], 12, 31) - _EPOCH).days
    share = draws.share("value")
    days = first + (share * (last - first + 1)).astype(np.int64)
    if bounds is not None and years[1] < LAST_YEAR:
        days = np.where(draws.rare("above", OUTSIDE), last + 1 + (share * 365).astype(int), days)
    if bounds is not None and years[0] > FIRST_YEAR:
        days = np.where(draws.rare("below", OUTSIDE), first - 1 - (share * 365).astype(int), days)
    return days.astype(np.int64)
