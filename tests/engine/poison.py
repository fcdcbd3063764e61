# SPDX-License-Identifier: Apache-2.0
"""Values that break careless engines, by type, and calls of every operation on fields."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from sordino.query.operations import OPERATIONS, call, misfit
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Type

INFINITE = float("inf")
POISON: dict[Type, list[Any]] = {
    Type.INTEGER: [0, 1, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63), None],
    Type.REAL: [
        0.0, 1.5, -2.5, 1e308, -1e308, 5e-324, 1e-10, INFINITE, -INFINITE, 9.3e18, None,
    ],
    Type.TEXT: [
        "", "a", " Ab ", "12", "-7.25", "1e400", "nan", "infinity", "true", "2020-02-30",
        "2020-02-29", "\N{GRINNING FACE}e\N{COMBINING ACUTE ACCENT}", "%_\\'\"$1;--", "x" * 10_000,
        None,
    ],
    Type.BOOLEAN: [True, False, None],
    Type.DATE: [date(1, 1, 1), date(9999, 12, 31), date(2020, 2, 29), date(1969, 12, 31), None],
    Type.TIMESTAMP: [
        datetime(1, 1, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
        datetime(2020, 2, 29, 13, 59, 59),
        None,
    ],
}  # fmt: skip
FIELDS = {kind: [Field(f"{kind}{n}", kind, f"{kind}{n}") for n in range(3)] for kind in Type}
_LITERAL: dict[str, list[tuple[int, ...]]] = {
    "round": [(0,), (2,), (9,)],
    "substring": [(1, 2), (0, 2), (-3, 5), (2, 0), (2, 99)],
}


def calls() -> Iterator[Call]:
    """Every operation on fields of every combination of types that it takes."""
    for name, operation in OPERATIONS.items():
        if name in _LITERAL:
            first = FIELDS[Type.TEXT if name == "substring" else Type.REAL][0]
            for values in _LITERAL[name]:
                yield call(name, first, *(Literal(value, Type.INTEGER) for value in values))
        elif name in ("like", "ilike"):
            for pattern in ("%", "a%", "_", "%\\'%", ""):
                yield call(name, FIELDS[Type.TEXT][0], Literal(pattern, Type.TEXT))
        else:
            for many in range(operation.fewest, min(operation.most, 3) + 1):
                for types in itertools.product(Type, repeat=many):
                    if misfit(name, types) is None:
                        yield call(name, *(FIELDS[t][n] for n, t in enumerate(types)))


def nested() -> list[Scalar]:
    """Sixty expressions of several operations, such as fail where one of them is not total."""
    one, zero, big = (Literal(value, Type.INTEGER) for value in (1, 0, 2**53))
    whole, other = FIELDS[Type.INTEGER][:2]
    real, second = FIELDS[Type.REAL][:2]
    text, flag, day = (FIELDS[kind][0] for kind in (Type.TEXT, Type.BOOLEAN, Type.DATE))
    moment = FIELDS[Type.TIMESTAMP][0]
    numbers: list[Scalar] = [whole, real, call("to_real", text), call("to_integer", text)]
    found: list[Scalar] = []
    for number in numbers:
        found += [
            call("div", one, call("sub", number, Literal(37, Type.INTEGER))),
            call("mul", call("mul", number, number), call("mul", number, number)),
            call("sub", call("mul", number, real), call("mul", second, number)),
            call("abs", call("neg", number)),
            call("floor", call("div", number, Literal(1e-300, Type.REAL))),
            call("to_integer", call("mul", number, Literal(1e300, Type.REAL))),
            call("div", zero, call("mul", number, zero)),
            call("greatest", number, call("div", number, other), big),
            call("clamp", call("add", number, big), real, second),
            call("to_date", call("to_text", number)),
            call("to_timestamp", call("to_text", call("add", number, real))),
            call("case", call("gt", call("to_real", number), real), second, call("neg", real)),
        ]
    found += [
        call("to_real", call("substring", text, one, Literal(3, Type.INTEGER))),
        call("length", call("upper", call("lower", call("trim", text)))),
        call("like", call("lower", text), Literal("%\\", Type.TEXT)),
        call("to_boolean", text),
        call("in", call("to_text", real), Literal("nan", Type.TEXT), Literal(None, Type.TEXT)),
        call("year", call("to_date", text)),
        call("trunc_quarter", day),
        call("trunc_hour", call("to_timestamp", day)),
        call("sub", call("year", moment), call("year", day)),
        call("not", call("or", flag, call("eq", call("to_date", moment), day))),
        call("coalesce", call("nullif", real, second), call("div", real, second)),
        call("is_null", call("sub", real, real)),
    ]
    return found


def fields_of(scalar: Scalar) -> list[Field]:
    """Return the fields of an expression, each once."""
    match scalar:
        case Field():
            return [scalar]
        case Call(arguments=arguments):
            return list(dict.fromkeys(itertools.chain(*map(fields_of, arguments))))
        case _:
            return []
