# SPDX-License-Identifier: Apache-2.0
"""Types of scalars that meet: what becomes of them, and which do not fit."""

from __future__ import annotations

from sqlglot import exp

from sordino.query import literals
from sordino.query.operations import OPERATIONS, call, misfit
from sordino.query.refusals import refusal
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Type

_ORDER = {"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_SPOKEN = {
    **_ORDER,
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "neg": "-", "dow": "DAYOFWEEK"},
    **{f"trunc_{part}": "DATE_TRUNC" for part in ("year", "quarter", "month", "day", "hour")},
    "to_real": "CAST AS DOUBLE",
    "to_integer": "CAST AS BIGINT",
    "to_boolean": "CAST AS BOOLEAN",
    "to_date": "CAST AS DATE",
    "to_timestamp": "CAST AS TIMESTAMP",
    "to_text": "CAST AS VARCHAR",
}
NULL = Literal(None, Type.TEXT)  # takes the type of what it stands beside


def is_null(scalar: Scalar) -> bool:
    """Tell whether a scalar is the word NULL."""
    return isinstance(scalar, Literal) and scalar.value is None


def compared(name: str, node: exp.Expr, *arguments: Scalar) -> Call:
    """Return a comparison of scalars that are first brought to one type."""
    if name in _ORDER and any(is_null(argument) for argument in arguments):
        column = node.find(exp.Column)
        what = f"{column.name if column is not None else 'x'} IS {'NOT ' * (name == 'neq')}NULL"
        raise refusal("type", node, "a comparison with NULL is never true", hint=f"write {what}")
    return checked(name, node, *alike(node, arguments))


def checked(name: str, node: exp.Expr, *arguments: Scalar) -> Call:
    """Return an operation, or refuse arguments of the wrong types."""
    reason = misfit(name, tuple(argument.type for argument in arguments))
    if reason is not None:
        spoken = _SPOKEN.get(name, name.upper().replace("_", " ")) + reason.removeprefix(name)
        raise refusal("type", node, spoken, hint=_fitting(name, arguments))
    return call(name, *arguments)


def _fitting(name: str, arguments: tuple[Scalar, ...]) -> str:
    """Return what to write for arguments that do not fit an operation."""
    wants = OPERATIONS[name].wants
    timed = any(argument.type.is_time for argument in arguments)
    if wants == "numbers" and timed and name in ("greatest", "least"):
        return "write CASE WHEN x > y THEN x ELSE y END"
    if timed and "day" not in wants and wants != "text":
        return "use a part of it, as in year(x)"
    hints = {
        "text": "cast the value, as in CAST(x AS VARCHAR)",
        "a truth value": "compare it with something, as in x > 0",
        "truth values": "compare it with something, as in x > 0",
        "a day or a moment": "cast the value, as in CAST(x AS DATE)",
        "a day, a moment or text": "days are written as in DATE '2024-05-01'",
    }
    return hints.get(wants, "cast the value, as in CAST(x AS DOUBLE)")


def alike(node: exp.Expr, scalars: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """Return scalars in one type: whole numbers become real beside real ones, days moments."""
    kinds = {scalar.type for scalar in scalars if not is_null(scalar)}
    texts = [s for s in scalars if isinstance(s, Literal) and s.type is Type.TEXT]
    times = {kind for kind in kinds if kind.is_time}
    if times and texts:
        kinds.discard(Type.TEXT)
    if len(kinds) <= 1:
        kind = next(iter(kinds), Type.TEXT)
    elif kinds == {Type.INTEGER, Type.REAL}:
        kind = Type.REAL
    elif kinds == {Type.DATE, Type.TIMESTAMP}:
        kind = Type.TIMESTAMP
    else:
        raise refusal(
            "type",
            node,
            f"values of different types meet here: {', '.join(sorted(kinds))}",
            hint=_meeting(kinds, scalars),
        )
    return tuple(_as(scalar, kind, node) for scalar in scalars)


def _meeting(kinds: set[Type], scalars: tuple[Scalar, ...]) -> str:
    """Return what to write where values of different types meet."""
    name = next((s.title for s in scalars if isinstance(s, Field) and s.title), "x")
    number = any(kind.is_number for kind in kinds)
    written = [s for s in scalars if isinstance(s, Literal) and s.value is not None]
    if number and any(kind.is_time for kind in kinds):
        return f"write a day, as in DATE '2024-01-01', or take its year, as in year({name})"
    if number and any(literal.type is Type.TEXT for literal in written):
        return "write numbers without quotes"
    if number and Type.TEXT in kinds and written:
        return "write text in single quotes, or cast it, as in CAST(x AS DOUBLE)"
    if number and Type.BOOLEAN in kinds:
        return f"write {name} = TRUE, or {name} alone"
    return "cast one of them, as in CAST(x AS VARCHAR)"


def _as(scalar: Scalar, kind: Type, node: exp.Expr) -> Scalar:
    if scalar.type is kind:
        return scalar
    if isinstance(scalar, Literal):
        if scalar.value is None:
            return Literal(None, kind)
        if scalar.type is Type.TEXT:
            return literals.timed(scalar, kind, node)
        if isinstance(scalar.value, int) and kind is Type.REAL:
            return Literal(float(scalar.value), kind)
    return call("to_real" if kind is Type.REAL else "to_timestamp", scalar)


def choice(
    node: exp.Expr, conditions: list[Scalar], values: list[Scalar], default: Scalar
) -> Scalar:
    """Return the value of the first condition that is true, or else the default."""
    *values, default = alike(node, (*values, default))
    branches = [part for pair in zip(conditions, values, strict=True) for part in pair]
    return checked("case", node, *branches, default)
