# SPDX-License-Identifier: Apache-2.0
"""What an aggregate is computed from: its argument, its filter, and the bounds of its values."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sordino.errors import QueryError
from sordino.query import ranges
from sordino.query.bind_columns import is_aggregate, is_unit
from sordino.query.bind_scalar import Hook, bind, condition
from sordino.query.bind_types import NULL, choice, is_null
from sordino.query.operations import call, range_of
from sordino.query.refusals import refusal
from sordino.query.scope import Columns
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Range, Type

ONE = Literal(1, Type.INTEGER)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate as it is written: the function itself, and the condition of FILTER, if any."""

    node: exp.Expr
    function: exp.Expr
    kept: Scalar | None


def unwrapped(node: exp.Expr, hook: Hook) -> Aggregate:
    """Return the function of an aggregate and its filter."""
    if not isinstance(node, exp.Filter):
        return Aggregate(node, node, None)
    inside = node.this
    if isinstance(inside, exp.Filter) or not is_aggregate(inside):
        raise refusal("construct", node, "FILTER follows an aggregate", hint="use WHERE")
    return Aggregate(node, inside, condition(node.args["expression"].this, hook))


def argument(aggregate: Aggregate, node: exp.Expr, hook: Hook) -> Scalar:
    """Return an argument; where the filter is not true, it is missing."""
    if isinstance(node, exp.Distinct):
        raise refusal(
            "distinct",
            aggregate.node,
            "DISTINCT is answered in COUNT alone",
            why="whether a value counts would depend on the rows of other people",
            hint="leave DISTINCT out",
        )
    if isinstance(node, exp.Star):
        raise refusal("star", aggregate.node, "only COUNT takes *", hint="name a column")
    bound = bind(node, hook)
    if is_null(bound):
        raise refusal("type", node, "an aggregate of NULL says nothing", hint="name a column")
    return filtered(aggregate, bound)


def filtered(aggregate: Aggregate, scalar: Scalar) -> Scalar:
    """Return a scalar that is missing where the filter is not true."""
    if aggregate.kept is None:
        return scalar
    return choice(aggregate.node, [aggregate.kept], [scalar], NULL)


def counted(aggregate: Aggregate, hook: Hook, columns: Columns) -> Scalar | None:
    """Return what COUNT or COUNT_IF counts: rows for None, or else values that are there.

    Every row belongs to somebody, so that counting the unit is counting rows.
    """
    function = aggregate.function
    if isinstance(function, exp.Count):
        if isinstance(function.this, exp.Star) or is_unit(function.this, columns):
            return None if aggregate.kept is None else filtered(aggregate, ONE)
        return argument(aggregate, function.this, hook)
    inner = function.this if isinstance(function, exp.CountIf) else function.expressions[0]
    met = choice(function, [condition(inner, hook)], [ONE], NULL)
    return filtered(aggregate, met)


def number(aggregate: Aggregate, node: exp.Expr, hook: Hook) -> Scalar:
    """Return an argument that is a number; true and false count as 1 and 0."""
    bound = argument(aggregate, node, hook)
    if bound.type is Type.BOOLEAN:
        return call("to_integer", bound)
    if not bound.type.is_number:
        hint = "use a part of it, as in year(x)" if bound.type.is_time else "use MODE or COUNT"
        raise refusal("type", node, f"this aggregate takes numbers, not {bound.type}", hint=hint)
    return bound


def bounded(scalar: Scalar, node: exp.Expr) -> tuple[Scalar, Range]:
    """Return an argument and the interval that its values are clamped to.

    A CLAMP around the whole argument says it. Otherwise it follows from declared bounds.
    """
    known = range_of(scalar)
    if isinstance(scalar, Call) and scalar.operation == "clamp":
        scalar = scalar.arguments[0]
    if known is None:
        raise no_bounds(scalar, node)
    if not ranges.is_finite(known):
        raise refusal(
            "no_bounds",
            node,
            "the bounds of this value are too far apart",
            why="their distance is beyond what double precision holds",
            hint="give it narrower ones with CLAMP(x, lo, hi)",
        )
    if known.low >= known.high:
        raise refusal(
            "no_bounds",
            node,
            "the bounds of this value leave one number only",
            hint="give it wider ones with CLAMP(x, lo, hi)",
        )
    return scalar, known


def no_bounds(scalar: Scalar, node: exp.Expr) -> QueryError:
    """Return why a value without bounds cannot be added up."""
    what = scalar.title if isinstance(scalar, Field) else "this value"
    return refusal(
        "no_bounds",
        node,
        f"no bounds are known for {what}",
        why="one person could move the answer by any amount",
        hint="write CLAMP(x, lo, hi) around it, with ends that you know without the data",
    )
