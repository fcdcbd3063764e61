# SPDX-License-Identifier: Apache-2.0
"""What the operations give for values: the meaning that the engine's SQL must agree with."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, DecimalException
from typing import TypeAlias

from sordino.query.doubtful import Doubtful, doubtful
from sordino.query.operations import NO, YES
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Type, Value

Values: TypeAlias = "Sequence[Value]"
Rule: TypeAlias = "Callable[..., Value]"

_LARGEST = 2**63
_WRITTEN = re.compile(
    r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?"
)


def evaluate(scalar: Scalar, row: Mapping[str, Value], *, sure: bool = False) -> Value:
    """Return the value of a scalar on a row, which gives a value for the name of each field.

    With ``sure`` it raises ``Doubtful`` where engines may differ on that value.

    >>> from sordino.query.operations import call
    >>> age = Field("f0", Type.INTEGER, "age")
    >>> evaluate(call("div", age, Literal(0, Type.INTEGER)), {"f0": 37}) is None
    True
    """
    match scalar:
        case Literal(value=value):
            return value
        case Field(name=name):
            return row[name]
        case Call(operation=operation, arguments=arguments, type=kind):
            values = [evaluate(argument, row, sure=sure) for argument in arguments]
            return apply(operation, values, kind, sure=sure)


def apply(operation: str, values: Values, kind: Type, *, sure: bool = False) -> Value:
    """Return what an operation gives for values; ``kind`` is the type of its result.

    It never fails for values of the types that the operation takes, but that it raises ``Doubtful``
    if it has to be ``sure`` and engines may differ.
    """
    if sure and doubtful(operation, values):
        raise Doubtful
    special = _WITH_MISSING.get(operation)
    if special is not None:
        return _fitted(special(*values), kind)
    if any(value is None for value in values):
        return None
    try:
        result = _RULES[operation](*values)
    except (ValueError, OverflowError, ZeroDivisionError, DecimalException):
        return None
    return _fitted(result, kind)


def _fitted(value: Value, kind: Type) -> Value:
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
    return whole if -_LARGEST <= whole < _LARGEST else None


# Missing values take part in these. -------------------------------------------------------------


def _and(left: Value, right: Value) -> Value:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Value, right: Value) -> Value:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _nullif(value: Value, other: Value) -> Value:
    return None if value is not None and value == other else value


def _case(*values: Value) -> Value:
    for condition, value in zip(values[:-1:2], values[1::2], strict=True):
        if condition is True:
            return value
    return values[-1]


def _in(value: Value, *choices: Value) -> Value:
    if value is None:
        return None
    if any(choice is not None and choice == value for choice in choices):
        return True
    return None if None in choices else False


def _extreme(pick: Callable[..., float]) -> Rule:
    def applied(*values: float | None) -> float | None:
        there = [value for value in values if value is not None]
        return pick(there) if there else None

    return applied


def _is_null(value: Value) -> bool:
    return value is None


_WITH_MISSING: dict[str, Rule] = {
    "and": _and,
    "or": _or,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "case": _case,
    "in": _in,
    "greatest": _extreme(max),
    "least": _extreme(min),
    "is_null": _is_null,
}
SEE_MISSING = frozenset(_WITH_MISSING)  # operations that may give a value for a missing one


# All values are there in these. -----------------------------------------------------------------


def _div(left: float, right: float) -> float | None:
    return None if right == 0 else float(left) / float(right)


def _mul(left: float, right: float) -> float:
    return float(left) * float(right)


def _floor(value: float) -> float:
    return math.floor(value) if math.isfinite(value) else value


def _ceil(value: float) -> float:
    return math.ceil(value) if math.isfinite(value) else value


def _round(value: float, digits: int) -> float:
    """Round half away from zero, as an engine does: scaled, rounded, and scaled back."""
    scale = 10.0**digits
    scaled = abs(float(value)) * scale
    if not math.isfinite(scaled):
        return value
    whole = math.floor(scaled)
    return math.copysign((whole + (scaled - whole >= 0.5)) / scale, value)


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def like(text: str, pattern: str) -> bool:
    """Tell whether text fits a pattern: ``%`` stands for any text and ``_`` for one character.

    >>> like("influenza", "%flu%"), like("flu", "f_"), like("a%", "a%")
    (True, False, True)
    """
    at, mark, star, resume = 0, 0, -1, 0
    while at < len(text):
        if mark < len(pattern) and pattern[mark] == "%":
            star, resume = mark, at
            mark += 1
        elif mark < len(pattern) and pattern[mark] in ("_", text[at]):
            at, mark = at + 1, mark + 1
        elif star >= 0:
            resume += 1
            at, mark = resume, star + 1
        else:
            return False
    return all(sign == "%" for sign in pattern[mark:])


def _substring(text: str, start: int, length: int) -> str:
    first = max(start, 1)
    return text[first - 1 : max(start + length, first) - 1]


def _quarter(day: date) -> int:
    return (day.month - 1) // 3 + 1


def _truncated(*, to_month: bool = False, to_year: bool = False) -> Rule:
    def applied(day: date) -> date:
        whole = _midnight(day)
        whole = whole.replace(day=1) if to_month or to_year else whole
        return whole.replace(month=1) if to_year else whole

    return applied


def _midnight(day: date) -> date:
    if isinstance(day, datetime):
        return day.replace(hour=0, minute=0, second=0, microsecond=0)
    return day


def _trunc_quarter(day: date) -> date:
    return _midnight(day).replace(month=3 * _quarter(day) - 2, day=1)


def _trunc_hour(day: date) -> date:
    if isinstance(day, datetime):
        return day - timedelta(minutes=day.minute, seconds=day.second, microseconds=day.microsecond)
    return day


def _to_real(value: float | str) -> float:
    return float(value.strip()) if isinstance(value, str) else float(value)


def _to_integer(value: float | str) -> float:
    """Numbers are rounded with ties to even, and what is written with ties away from zero."""
    if isinstance(value, str):
        if not abs(float(value)) < _LARGEST:
            return math.inf
        return int(Decimal(value.strip()).to_integral_value(ROUND_HALF_UP))
    return value


def _to_boolean(value: float | str) -> bool | None:
    if isinstance(value, str):
        word = value.strip(" ").lower()
        return True if word in YES else False if word in NO else None
    return value != 0


def _to_date(value: date | str) -> date:
    if isinstance(value, str):
        return _to_timestamp(value).date()
    return value.date() if isinstance(value, datetime) else value


def _to_timestamp(value: date | str) -> datetime:
    if isinstance(value, str):
        found = _WRITTEN.fullmatch(value.strip())
        if found is None:
            raise ValueError(value)
        *parts, rest = found.groups(default="0")
        year, month, day, hour, minute, second = map(int, parts)
        return datetime(year, month, day, hour, minute, second, int(rest.ljust(6, "0")))
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _to_text(value: object) -> str:
    if isinstance(value, float):
        return str(value + 0.0)  # -0.0 is 0.0, and reads like it
    return str(value).lower() if isinstance(value, bool) else str(value)


_RULES: dict[str, Rule] = {
    "add": lambda left, right: float(left) + float(right),
    "sub": lambda left, right: float(left) - float(right),
    "mul": _mul,
    "div": _div,
    "neg": lambda value: -float(value),
    "abs": lambda value: abs(float(value)),
    "floor": _floor,
    "ceil": _ceil,
    "round": _round,
    "clamp": _clamp,
    "not": lambda value: not value,
    "eq": lambda left, right: left == right,
    "neq": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "lte": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "gte": lambda left, right: left >= right,
    "like": like,
    "ilike": lambda text, pattern: like(text.lower(), pattern.lower()),
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda text: text.strip(" "),
    "length": len,
    "substring": _substring,
    "year": lambda day: day.year,
    "quarter": _quarter,
    "month": lambda day: day.month,
    "day": lambda day: day.day,
    "dow": lambda day: day.isoweekday() % 7,
    "hour": lambda day: day.hour if isinstance(day, datetime) else 0,
    "trunc_year": _truncated(to_year=True),
    "trunc_quarter": _trunc_quarter,
    "trunc_month": _truncated(to_month=True),
    "trunc_day": _truncated(),
    "trunc_hour": _trunc_hour,
    "to_real": _to_real,
    "to_integer": _to_integer,
    "to_boolean": _to_boolean,
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "to_text": _to_text,
}
