# SPDX-License-Identifier: Apache-2.0
"""What operations give: for values of a row, and for noisy numbers with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import DecimalException

from sordino.query.operations import OPERATIONS
from sordino.query.ranges import Uncertain, exactly
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Type, Value, fitted

SEE_MISSING = frozenset(row.name for row in OPERATIONS.values() if row.sees_missing)


class Doubtful(Exception):
    """An operation meets text on which engines may differ."""


def doubtful(operation: str, given: Sequence[Value]) -> bool:
    """Tell whether engines may differ on what an operation gives for values.

    >>> doubtful("upper", ["flu"]), doubtful("upper", ["stra\u00dfe"])
    (False, True)
    >>> doubtful("to_integer", ["31"]), doubtful("to_integer", ["0x1F"])
    (False, True)
    """
    agreed = OPERATIONS[operation].agreed
    if agreed is None:
        return False
    return not all(agreed(value) for value in given if isinstance(value, str))


def evaluate(scalar: Scalar, row: Mapping[str, Value], *, sure: bool = False) -> Value:
    """Return the value of a scalar on a row, which gives a value for the name of each field.

    With ``sure`` it raises ``Doubtful`` where engines may differ on that value.

    >>> age = Field("f0", Type.INTEGER, "age")
    >>> from sordino.query.operations import call
    >>> evaluate(call("div", age, Literal(0, Type.INTEGER)), {"f0": 37}) is None
    True
    """
    match scalar:
        case Literal(value=value):
            return value
        case Field(name=name):
            return row[name]
        case Call(operation=operation, arguments=arguments, type=kind):
            given = [evaluate(argument, row, sure=sure) for argument in arguments]
            return apply(operation, given, kind, sure=sure)


def apply(operation: str, given: Sequence[Value], kind: Type, *, sure: bool = False) -> Value:
    """Return what an operation gives for values; ``kind`` is the type of its result.

    It never fails for values of the types that the operation takes, but that it raises ``Doubtful``
    if it has to be ``sure`` and engines may differ.
    """
    if sure and doubtful(operation, given):
        raise Doubtful
    row = OPERATIONS[operation]
    if not row.sees_missing and any(value is None for value in given):
        return None
    try:
        result = row.value(*given)
    except (ValueError, OverflowError, ZeroDivisionError, DecimalException):
        return None
    return fitted(result, kind)


def operate(operation: str, given: Sequence[Uncertain], kind: Type) -> Uncertain:
    """Return what an operation gives for noisy values.

    Intervals hold whatever the exact operation gives before it is rounded to a type.
    """
    value = apply(operation, [x.value for x in given], kind)
    if all(x.sure for x in given):
        return exactly(value)
    behind = OPERATIONS[operation].behind
    return Uncertain(value) if behind is None else behind(value, given)
