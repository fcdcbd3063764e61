# SPDX-License-Identifier: Apache-2.0
"""Every scalar operation in plain Python: total, three-valued, arithmetic in doubles."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

from sordino.query.types import Type

INT64 = 2**63


def number(value: Any) -> float | None:
    """Return a double, or None where nothing is there or it is not a number."""
    if value is None:
        return None
    try:
        made = float(value)
    except OverflowError:
        return None
    return None if math.isnan(made) else made


def whole(value: float | None) -> int | None:
    """Return a double as a 64-bit integer, or None if it does not fit."""
    if value is None or not math.isfinite(value):
        return None
    made = round(value)
    return made if -INT64 <= made < INT64 else None


def away(value: float, digits: int = 0) -> float:
    """Return a double rounded half away from zero."""
    if not math.isfinite(value):
        return value
    power = 10.0**digits
    moved = value * power
    if not math.isfinite(moved) or abs(moved) >= 2**53:
        return value
    floor = math.floor(abs(moved))
    near = floor + 1 if abs(moved) - floor >= 0.5 else floor
    return math.copysign(near, value) / power


def _times(a: float, b: float) -> float:
    return a * b


def _over(a: float, b: float) -> float | None:
    if b == 0:
        return None
    return a / b


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": _times,
    "div": _over,
    "neg": lambda a: 0.0 - a,
    "abs": abs,
    "floor": lambda a: a if math.isinf(a) else float(math.floor(a)),
    "ceil": lambda a: a if math.isinf(a) else float(math.ceil(a)),
    "clamp": lambda x, low, high: min(max(x, low), high),
}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "neq": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
}

_TEXT: dict[str, Callable[..., Any]] = {
    "lower": lambda x: x.lower(),
    "upper": lambda x: x.upper(),
    "trim": lambda x: x.strip(" "),
    "length": len,
    "substring": lambda x, start, many: x[max(0, start - 1) : max(0, start - 1 + many)],
}

_TIME: dict[str, Callable[[Any], Any]] = {
    "year": lambda x: x.year,
    "quarter": lambda x: (x.month + 2) // 3,
    "month": lambda x: x.month,
    "day": lambda x: x.day,
    "dow": lambda x: x.isoweekday() % 7,
    "hour": lambda x: x.hour if isinstance(x, datetime) else 0,
}


def call(operation: str, values: list[Any], type_: Type) -> Any:
    """Return what an operation gives for the values of its arguments."""
    if operation in _LOGIC:
        return _LOGIC[operation](values)
    if operation in ("greatest", "least"):
        return _extreme(operation, values, type_)
    if type_ is Type.INTEGER and operation in _WHOLE and _all_whole(values):
        return _WHOLE[operation](*values)
    if operation == "round":
        return _fit(_rounded(values), type_)
    return None if any(v is None for v in values) else _there(operation, values, type_)


def _there(operation: str, values: list[Any], type_: Type) -> Any:
    """Return what an operation gives where no value is missing."""
    if operation in _ARITHMETIC:
        numbers = [number(v) for v in values]
        if any(v is None for v in numbers):
            return None
        return _fit(number(_ARITHMETIC[operation](*numbers)), type_)
    if operation in _COMPARE:
        return _compare(operation, *values)
    if operation in _TEXT:
        return _TEXT[operation](*values)
    if operation in _TIME:
        return _TIME[operation](values[0])
    if operation.startswith("trunc_"):
        return _truncated(operation.removeprefix("trunc_"), values[0], type_)
    if operation.startswith("to_"):
        return cast(values[0], Type(operation.removeprefix("to_")))
    raise AssertionError(f"the reference does not know {operation}")


# On integers these stay exact; they need no doubles.
_WHOLE: dict[str, Callable[..., Any]] = {
    "floor": lambda a: a,
    "ceil": lambda a: a,
    "clamp": lambda x, low, high: min(max(x, low), high),
}


def _all_whole(values: list[Any]) -> bool:
    return all(type(v) is int for v in values)


def _rounded(values: list[Any]) -> float | None:
    value = number(values[0])
    digits = int(values[1]) if len(values) > 1 else 0
    return None if value is None else away(value, digits)


def _extreme(operation: str, values: list[Any], type_: Type) -> Any:
    there = [v for v in values if v is not None]
    if not there:
        return None
    best = max(there) if operation == "greatest" else min(there)
    return best if type_ is Type.INTEGER else number(best)


def _fit(value: float | None, type_: Type) -> Any:
    if value is None:
        return None
    if type_ is Type.INTEGER:
        return whole(value)
    return value + 0.0


def _compare(operation: str, a: Any, b: Any) -> bool:
    if isinstance(a, datetime) != isinstance(b, datetime) and isinstance(a, date):
        a, b = _moment(a), _moment(b)
    return _COMPARE[operation](a, b)


def _moment(value: date) -> datetime:
    if isinstance(value, datetime):
        return value
    return datetime(value.year, value.month, value.day)


def _all(values: list[Any]) -> bool | None:
    if any(v is False for v in values):
        return False
    return None if any(v is None for v in values) else True


def _any(values: list[Any]) -> bool | None:
    if any(v is True for v in values):
        return True
    return None if any(v is None for v in values) else False


def _in(values: list[Any]) -> bool | None:
    return _any([call("eq", [values[0], v], Type.BOOLEAN) for v in values[1:]])


def _like(values: list[Any], flags: int = 0) -> bool | None:
    if values[0] is None or values[1] is None:
        return None
    made = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in values[1])
    return re.fullmatch(made, values[0], re.DOTALL | flags) is not None


def _case(values: list[Any]) -> Any:
    for place in range(0, len(values) - 1, 2):
        if values[place] is True:
            return values[place + 1]
    return values[-1] if len(values) % 2 else None


_LOGIC: dict[str, Callable[[list[Any]], Any]] = {
    "and": _all,
    "or": _any,
    "not": lambda v: None if v[0] is None else not v[0],
    "in": _in,
    "like": _like,
    "ilike": lambda v: _like(v, re.IGNORECASE),
    "is_null": lambda v: v[0] is None,
    "coalesce": lambda v: next((x for x in v if x is not None), None),
    "nullif": lambda v: None if call("eq", v, Type.BOOLEAN) else v[0],
    "case": _case,
}


def _truncated(unit: str, value: date, type_: Type) -> Any:
    moment = _moment(value)
    month = {"year": 1, "quarter": moment.month - (moment.month - 1) % 3}.get(unit, moment.month)
    day = 1 if unit in ("year", "quarter", "month") else moment.day
    hour = moment.hour if unit == "hour" else 0
    made = datetime(moment.year, month, day, hour)
    return made.date() if type_ is Type.DATE else made


def cast(value: Any, type_: Type) -> Any:
    """Return a value as another type, or None where it is not one."""
    if value is None:
        return None
    match type_:
        case Type.TEXT:
            return _as_text(value)
        case Type.REAL:
            return _as_real(value)
        case Type.INTEGER:
            return value if type(value) is int else whole(_as_real(value))
        case Type.BOOLEAN:
            return _as_boolean(value)
        case Type.DATE:
            made = _as_moment(value)
            return None if made is None else made.date()
        case Type.TIMESTAMP:
            return _as_moment(value)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return "0.0" if isinstance(value, float) and value == 0 else str(value)


def _as_real(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            return number(float(value.strip()))
        except ValueError:
            return None
    return number(value) if isinstance(value, int | float) else None


def _as_boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(
            value.lower()
        )
    return value != 0 if isinstance(value, int | float) else None


def _as_moment(value: Any) -> datetime | None:
    if isinstance(value, date):
        return _moment(value)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    return None


def base(value: Any, type_: Type) -> Any:
    """Return a stored value as the base view has it; days and moments may be stored as numbers.

    Such a number counts days or microseconds since 1970, as Arrow does.
    """
    if type_.is_time and isinstance(value, int):
        value = _since_1970(value, 86_400_000_000 if type_ is Type.DATE else 1)
    made = cast(value, type_)
    if isinstance(made, float):
        return None if math.isnan(made) else made + 0.0
    if isinstance(made, str):
        return made[:10_000].replace("\0", "")
    return made


def _since_1970(count: int, unit: int) -> datetime | None:
    try:
        return datetime(1970, 1, 1) + timedelta(microseconds=count * unit)
    except OverflowError:
        return None
