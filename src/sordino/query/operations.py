# SPDX-License-Identifier: Apache-2.0
"""The operations that a question may use on single values: what they take, and what they give.

Each is total: for whatever values, it gives a value or a missing one and never fails. What it gives
for given values is in ``query.evaluate``; the engine emits SQL that does the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sordino.query import ranges
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Range, Type

Types: TypeAlias = "tuple[Type, ...]"
Takes: TypeAlias = "Callable[[Types], bool]"
Gives: TypeAlias = "Callable[[tuple[Scalar, ...]], Type]"
Ranges: TypeAlias = "Callable[[tuple[Scalar, ...]], Range | None]"

MANY = 1_000  # arguments that greatest, least, coalesce, case and in take at most
YES, NO = ("true", "t", "1"), ("false", "f", "0")  # text that is a truth value


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: how many arguments, of which types, and the type and range of the result.

    ``wants`` says in words what ``takes`` checks, for messages. A range is a public guess of where
    values lie; nothing that is proved rests on it.
    """

    name: str
    fewest: int
    most: int
    wants: str
    takes: Takes
    gives: Gives
    range: Ranges


def call(name: str, *arguments: Scalar) -> Call:
    """Return the operation on arguments that fit it, with its type and range.

    >>> from sordino.query.tree import Literal
    >>> call("add", Literal(1, Type.INTEGER), Literal(2.5, Type.REAL)).type
    <Type.REAL: 'real'>
    """
    reason = misfit(name, tuple(argument.type for argument in arguments))
    if reason is not None:
        raise TypeError(reason)
    operation = OPERATIONS[name]
    return Call(name, arguments, operation.gives(arguments), operation.range(arguments))


def misfit(name: str, types: Types) -> str | None:
    """Say why arguments of these types do not fit an operation, or return None if they do.

    >>> misfit("lower", (Type.DATE,))
    'lower takes text, not date'
    """
    operation = OPERATIONS[name]
    if not operation.fewest <= len(types) <= operation.most:
        count = str(operation.fewest)
        if operation.most != operation.fewest:
            count += f" to {operation.most}"
        return f"{name} takes {count} values, not {len(types)}"
    if not operation.takes(types):
        return f"{name} takes {operation.wants}, not {', '.join(types)}"
    return None


def range_of(scalar: Scalar) -> Range | None:
    """Return where the numbers of a scalar are expected to lie; for days and moments, the years."""
    match scalar:
        case Literal(value=value):
            return ranges.of_literal(value)
        case Field(range=known) | Call(range=known):
            return known


# What they take. ---------------------------------------------------------------------------------


def _every(*wanted: Type) -> Takes:
    return lambda types: all(kind in wanted for kind in types)


def _alike(types: Types) -> bool:
    return len(set(types)) == 1


def _branches(types: Types) -> bool:
    """Conditions at even places but the last, and values of one type at the others."""
    if len(types) % 2 == 0:
        return False
    values = {*types[1::2], types[-1]}
    return all(kind is Type.BOOLEAN for kind in types[:-1:2]) and len(values) == 1


def _starts(first: Type, *rest: Type) -> Takes:
    return lambda types: types == (first, *rest)[: len(types)]


def _digits(types: Types) -> bool:
    return types[0].is_number and types[1] is Type.INTEGER


def _anything(types: Types) -> bool:
    return bool(types)


_NUMBERS = _every(Type.INTEGER, Type.REAL)
_TEXTS = _every(Type.TEXT)
_TIMES = _every(Type.DATE, Type.TIMESTAMP)
_LOGIC = _every(Type.BOOLEAN)
_COUNTED = _every(Type.INTEGER, Type.REAL, Type.BOOLEAN, Type.TEXT)
_DATED = _every(Type.DATE, Type.TIMESTAMP, Type.TEXT)


# What they give. ---------------------------------------------------------------------------------


def _always(kind: Type) -> Gives:
    return lambda _arguments: kind


def _number(arguments: tuple[Scalar, ...]) -> Type:
    whole = all(argument.type is Type.INTEGER for argument in arguments)
    return Type.INTEGER if whole else Type.REAL


def _rounded(arguments: tuple[Scalar, ...]) -> Type:
    """Without digits after the point a rounded number is whole."""
    return Type.INTEGER if arguments[1] == Literal(0, Type.INTEGER) else Type.REAL


def _first(arguments: tuple[Scalar, ...]) -> Type:
    return arguments[0].type


def _last(arguments: tuple[Scalar, ...]) -> Type:
    return arguments[-1].type


# Where the results lie. --------------------------------------------------------------------------


def _on(rule: Callable[..., Range | None]) -> Ranges:
    """Return a rule on the ranges of all arguments; without one of them there is no range."""

    def applied(arguments: tuple[Scalar, ...]) -> Range | None:
        known = [range_of(argument) for argument in arguments]
        present = [range_ for range_ in known if range_ is not None]
        return ranges.kept(rule(*present)) if len(present) == len(known) else None

    return applied


def _unknown(_arguments: tuple[Scalar, ...]) -> Range | None:
    return None


def _within(low: int, high: int) -> Ranges:
    return lambda _arguments: Range(Fraction(low), Fraction(high))


def _same(arguments: tuple[Scalar, ...]) -> Range | None:
    return range_of(arguments[0])


def _round(arguments: tuple[Scalar, ...]) -> Range | None:
    known, digits = range_of(arguments[0]), arguments[1]
    if known is None or not isinstance(digits, Literal) or not isinstance(digits.value, int):
        return None
    return ranges.rounded(known, digits.value)


def _clamp(arguments: tuple[Scalar, ...]) -> Range | None:
    low, high = range_of(arguments[1]), range_of(arguments[2])
    return None if low is None or high is None else Range(low.low, high.high)


def _hull(arguments: tuple[Scalar, ...]) -> Range | None:
    there = tuple(a for a in arguments if not (isinstance(a, Literal) and a.value is None))
    return _on(ranges.hull)(there) if there else None


def _values(arguments: tuple[Scalar, ...]) -> Range | None:
    return _hull((*arguments[1::2], arguments[-1]))


def _greatest(arguments: tuple[Scalar, ...]) -> Range | None:
    floors = [r.low for a in arguments if isinstance(a, Literal) and (r := range_of(a))]
    known = _hull(arguments)
    return known and Range(max([known.low, *floors]), known.high)


def _least(arguments: tuple[Scalar, ...]) -> Range | None:
    tops = [r.high for a in arguments if isinstance(a, Literal) and (r := range_of(a))]
    known = _hull(arguments)
    return known and Range(known.low, min([known.high, *tops]))


def _cast(arguments: tuple[Scalar, ...]) -> Range | None:
    """A cast between numbers, or between times, keeps the range; a truth value becomes 0 or 1."""
    kind = arguments[0].type
    if kind is Type.BOOLEAN:
        return Range(Fraction(0), Fraction(1))
    return None if kind is Type.TEXT else range_of(arguments[0])


def _cast_whole(arguments: tuple[Scalar, ...]) -> Range | None:
    known = _cast(arguments)
    return known and ranges.rounded(known, 0)


def _table() -> dict[str, Operation]:
    number, integer, real = _number, _always(Type.INTEGER), _always(Type.REAL)
    text, truth = _always(Type.TEXT), _always(Type.BOOLEAN)
    numbers, comparable = "numbers", "values of one type"
    rows: list[Operation] = [
        Operation("add", 2, 2, numbers, _NUMBERS, number, _on(ranges.add)),
        Operation("sub", 2, 2, numbers, _NUMBERS, number, _on(ranges.sub)),
        Operation("mul", 2, 2, numbers, _NUMBERS, number, _on(ranges.mul)),
        Operation("div", 2, 2, numbers, _NUMBERS, real, _on(ranges.div)),
        Operation("neg", 1, 1, numbers, _NUMBERS, number, _on(ranges.neg)),
        Operation("abs", 1, 1, numbers, _NUMBERS, number, _on(ranges.absolute)),
        Operation("floor", 1, 1, numbers, _NUMBERS, integer, _on(ranges.floor)),
        Operation("ceil", 1, 1, numbers, _NUMBERS, integer, _on(ranges.ceil)),
        Operation("round", 2, 2, "a number and digits", _digits, _rounded, _round),
        Operation("greatest", 1, MANY, numbers, _NUMBERS, number, _greatest),
        Operation("least", 1, MANY, numbers, _NUMBERS, number, _least),
        Operation("clamp", 3, 3, numbers, _NUMBERS, number, _clamp),
        Operation("coalesce", 1, MANY, comparable, _alike, _first, _hull),
        Operation("nullif", 2, 2, comparable, _alike, _first, _same),
        Operation("is_null", 1, 1, "any value", _anything, truth, _unknown),
        Operation("and", 2, 2, "truth values", _LOGIC, truth, _unknown),
        Operation("or", 2, 2, "truth values", _LOGIC, truth, _unknown),
        Operation("not", 1, 1, "a truth value", _LOGIC, truth, _unknown),
        Operation("in", 2, MANY + 1, comparable, _alike, truth, _unknown),
        Operation("like", 2, 2, "text", _TEXTS, truth, _unknown),
        Operation("ilike", 2, 2, "text", _TEXTS, truth, _unknown),
        Operation("case", 3, MANY, "conditions and values of one type", _branches, _last, _values),
        Operation("lower", 1, 1, "text", _TEXTS, text, _unknown),
        Operation("upper", 1, 1, "text", _TEXTS, text, _unknown),
        Operation("trim", 1, 1, "text", _TEXTS, text, _unknown),
        Operation("length", 1, 1, "text", _TEXTS, integer, _within(0, 10_000)),
        Operation(
            "substring",
            3,
            3,
            "text, a start and a length",
            _starts(Type.TEXT, Type.INTEGER, Type.INTEGER),
            text,
            _unknown,
        ),
        Operation("to_real", 1, 1, "a number, text or a truth value", _COUNTED, real, _cast),
        Operation(
            "to_integer", 1, 1, "a number, text or a truth value", _COUNTED, integer, _cast_whole
        ),
        Operation("to_boolean", 1, 1, "a number, text or truth", _COUNTED, truth, _unknown),
        Operation("to_date", 1, 1, "a day, a moment or text", _DATED, _always(Type.DATE), _cast),
        Operation(
            "to_timestamp", 1, 1, "a day, a moment or text", _DATED, _always(Type.TIMESTAMP), _cast
        ),
        Operation("to_text", 1, 1, "any value", _anything, text, _unknown),
    ]
    rows += [
        Operation(name, 2, 2, comparable, _alike, truth, _unknown)
        for name in ("eq", "neq", "lt", "lte", "gt", "gte")
    ]
    rows += [
        Operation(name, 1, 1, "a day or a moment", _TIMES, integer, range_)
        for name, range_ in (
            ("year", _same),
            ("quarter", _within(1, 4)),
            ("month", _within(1, 12)),
            ("day", _within(1, 31)),
            ("dow", _within(0, 6)),
            ("hour", _within(0, 23)),
        )
    ]
    rows += [
        Operation(f"trunc_{part}", 1, 1, "a day or a moment", _TIMES, _first, _same)
        for part in ("year", "quarter", "month", "day", "hour")
    ]
    return {row.name: row for row in rows}


OPERATIONS = _table()
