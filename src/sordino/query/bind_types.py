# SPDX-License-Identifier: Apache-2.0
"""Types of scalars that meet: what becomes of them, and which do not fit."""

from __future__ import annotations

from sqlglot import exp

from sordino.query import literals
from sordino.query.operations import call, misfit
from sordino.query.refusals import refusal
from sordino.query.tree import Call, Literal, Scalar
from sordino.query.types import Type

NULL = Literal(None, Type.TEXT)  # takes the type of what it stands beside


def is_null(scalar: Scalar) -> bool:
    """Tell whether a scalar is the word NULL."""
    return isinstance(scalar, Literal) and scalar.value is None


def compared(name: str, node: exp.Expr, *arguments: Scalar) -> Call:
    """Return a comparison of scalars that are first brought to one type."""
    return checked(name, node, *alike(node, arguments))


def checked(name: str, node: exp.Expr, *arguments: Scalar) -> Call:
    """Return an operation, or refuse arguments of the wrong types."""
    reason = misfit(name, tuple(argument.type for argument in arguments))
    if reason is not None:
        raise refusal("type", node, reason, hint="cast the value, as in CAST(x AS DOUBLE)")
    return call(name, *arguments)


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
            hint="cast one of them, as in CAST(x AS DOUBLE)",
        )
    return tuple(_as(scalar, kind, node) for scalar in scalars)


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
