# SPDX-License-Identifier: Apache-2.0
"""Expressions: from syntax to typed scalars.

What a column, an aggregate or a window means depends on the clause; a function that is asked first
for every node decides it. All else is the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from sordino.query import literals
from sordino.query.bind_types import NULL, alike, checked, choice, compared, is_null
from sordino.query.operations import MANY
from sordino.query.refusals import refusal
from sordino.query.tree import Literal, Scalar
from sordino.query.types import Type

Hook: TypeAlias = "Callable[[exp.Expr], Scalar | None]"

_PLAIN: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "sub",
    exp.Mul: "mul",
    exp.Div: "div",
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.And: "and",
    exp.Or: "or",
    exp.Not: "not",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Trim: "trim",
    exp.Length: "length",
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfWeek: "dow",
    exp.Hour: "hour",
}
_COMPARED: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "neq",
    exp.LT: "lt",
    exp.LTE: "lte",
    exp.GT: "gt",
    exp.GTE: "gte",
}
_PARTS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "day": "day",
    "dayofmonth": "day",
    "dow": "dow",
    "dayofweek": "dow",
    "hour": "hour",
}
_TRUNCATED = ("year", "quarter", "month", "day", "hour")
_CASTS: dict[str, tuple[str, Type]] = {
    **dict.fromkeys(("DOUBLE", "FLOAT", "REAL"), ("to_real", Type.REAL)),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), ("to_integer", Type.INTEGER)),
    "BOOLEAN": ("to_boolean", Type.BOOLEAN),
    "DATE": ("to_date", Type.DATE),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), ("to_timestamp", Type.TIMESTAMP)),
    **dict.fromkeys(("TEXT", "VARCHAR"), ("to_text", Type.TEXT)),
}


def bind(node: exp.Expr, hook: Hook) -> Scalar:
    """Return the scalar that an expression means; the hook is asked first for every node."""
    found = hook(node)
    if found is not None:
        return found
    rule = _RULES.get(type(node))
    if rule is not None:
        return rule(node, hook)
    if type(node) in _PLAIN:
        return _plain(node, hook)
    if type(node) in _COMPARED:
        return compared(
            _COMPARED[type(node)], node, bind(node.this, hook), bind(node.expression, hook)
        )
    raise refusal("construct", node, "this cannot stand here", hint="docs/sql.md says what can")


def condition(node: exp.Expr, hook: Hook) -> Scalar:
    """Return a condition: a scalar that is true or false."""
    found = bind(node, hook)
    if is_null(found):
        return Literal(None, Type.BOOLEAN)
    if found.type is not Type.BOOLEAN:
        raise refusal(
            "type",
            node,
            f"a condition is true or false, but this is {found.type}",
            hint="compare it with something",
        )
    return found


def _plain(node: exp.Expr, hook: Hook) -> Scalar:
    name = _PLAIN[type(node)]
    children = [node.this] if node.args.get("expression") is None else [node.this, node.expression]
    bound = [bind(child, hook) for child in children]
    logic = name in ("and", "or", "not")
    kind = Type.BOOLEAN if logic else Type.INTEGER
    return checked(name, node, *(Literal(None, kind) if is_null(b) else b for b in bound))


def _inside(node: exp.Expr, hook: Hook) -> Scalar:
    return bind(node.this, hook)


def _literal(node: exp.Expr, _hook: Hook) -> Scalar:
    return literals.literal(node) if isinstance(node, exp.Literal) else NULL


def _boolean(node: exp.Expr, _hook: Hook) -> Scalar:
    return Literal(bool(node.this), Type.BOOLEAN)


def _neg(node: exp.Expr, hook: Hook) -> Scalar:
    inner = bind(node.this, hook)
    folded = literals.negated(inner) if isinstance(inner, Literal) else None
    return folded or checked("neg", node, inner)


def _is(node: exp.Expr, hook: Hook) -> Scalar:
    inner, wanted = bind(node.this, hook), node.expression
    if isinstance(wanted, exp.Null):
        return checked("is_null", node, inner)
    if isinstance(wanted, exp.Boolean):
        truth = inner if wanted.this else checked("not", node, inner)
        return checked("coalesce", node, truth, Literal(False, Type.BOOLEAN))
    raise refusal("construct", node, "IS takes NULL, TRUE or FALSE", hint="write IS NULL")


def _between(node: exp.Expr, hook: Hook) -> Scalar:
    parts = (bind(node.this, hook), bind(node.args["low"], hook), bind(node.args["high"], hook))
    value, low, high = alike(node, parts)
    return checked("and", node, checked("gte", node, value, low), checked("lte", node, value, high))


def _in(node: exp.Expr, hook: Hook) -> Scalar:
    if not 1 <= len(node.expressions) <= MANY:
        raise refusal("in_list", node, f"IN takes 1 to {MANY} values", hint="list fewer values")
    choices = tuple(bind(choice, hook) for choice in node.expressions)
    if not all(isinstance(choice, Literal) for choice in choices):
        raise refusal(
            "in_list",
            node,
            "IN takes values that are written out",
            hint="compare columns with = and OR",
        )
    return checked("in", node, *alike(node, (bind(node.this, hook), *choices)))


def _like(node: exp.Expr, hook: Hook) -> Scalar:
    pattern = bind(node.expression, hook)
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise refusal("like", node, "LIKE takes a pattern in quotes", hint="write it out")
    if len(pattern.value) > 200:
        raise refusal("like", node, "a pattern has at most 200 characters", hint="shorten it")
    name = "like" if isinstance(node, exp.Like) else "ilike"
    met = checked(name, node, bind(node.this, hook), pattern)
    return checked("not", node, met) if node.args.get("negate") else met


def _several(name: str, *, numbers: bool) -> Callable[[exp.Expr, Hook], Scalar]:
    def rule(node: exp.Expr, hook: Hook) -> Scalar:
        bound = tuple(bind(child, hook) for child in (node.this, *node.expressions))
        if numbers:
            bound = tuple(Literal(None, Type.INTEGER) if is_null(b) else b for b in bound)
            return checked(name, node, *bound)
        return checked(name, node, *alike(node, bound))

    return rule


def _nullif(node: exp.Expr, hook: Hook) -> Scalar:
    return compared("nullif", node, bind(node.this, hook), bind(node.expression, hook))


def _case(node: exp.Expr, hook: Hook) -> Scalar:
    subject = None if node.this is None else bind(node.this, hook)
    conditions: list[Scalar] = []
    values: list[Scalar] = []
    for branch in node.args["ifs"]:
        if subject is None:
            conditions.append(condition(branch.this, hook))
        else:
            conditions.append(compared("eq", branch, subject, bind(branch.this, hook)))
        values.append(bind(branch.args["true"], hook))
    default = node.args.get("default")
    return choice(node, conditions, values, NULL if default is None else bind(default, hook))


def _if(node: exp.Expr, hook: Hook) -> Scalar:
    other = node.args.get("false")
    default = NULL if other is None else bind(other, hook)
    return choice(node, [condition(node.this, hook)], [bind(node.args["true"], hook)], default)


def _round(node: exp.Expr, hook: Hook) -> Scalar:
    given = node.args.get("decimals")
    digits = 0
    if given is not None:
        digits = literals.whole(given, 0, 9, code="literal", what="the number of digits")
    return checked("round", node, bind(node.this, hook), Literal(digits, Type.INTEGER))


def _substring(node: exp.Expr, hook: Hook) -> Scalar:
    start = length = None
    if isinstance(node, exp.Left):
        length = node.args.get("expression")
    else:
        start, length = node.args.get("start"), node.args.get("length")
    if start is None and length is None:
        raise refusal(
            "function", node, "SUBSTRING lacks its start", hint="write SUBSTRING(x, 1, 3)"
        )
    first, many = 1, 10_000
    if start is not None:
        first = literals.whole(start, 1, 10_000, code="literal", what="the start of a substring")
    if length is not None:
        many = literals.whole(length, 0, 10_000, code="literal", what="the length of a substring")
    places = (Literal(first, Type.INTEGER), Literal(many, Type.INTEGER))
    return checked("substring", node, bind(node.this, hook), *places)


def _extract(node: exp.Expr, hook: Hook) -> Scalar:
    return _part(node, str(node.this.name), node.expression, hook)


def _part(node: exp.Expr, name: str, inner: exp.Expr, hook: Hook) -> Scalar:
    operation = _PARTS.get(name.casefold())
    if operation is None:
        raise refusal(
            "function", node, f"{name!r} is not a part of a day", hint=f"use {', '.join(_PARTS)}"
        )
    return checked(operation, node, bind(inner, hook))


def _truncate(node: exp.Expr, hook: Hook) -> Scalar:
    unit = str(node.args["unit"].name).casefold()
    if unit not in _TRUNCATED:
        raise refusal(
            "function",
            node,
            f"a day is not cut to {unit!r}",
            hint=f"use {', '.join(_TRUNCATED)}",
        )
    return checked(f"trunc_{unit}", node, bind(node.this, hook))


def _cast(node: exp.Expr, hook: Hook) -> Scalar:
    target = "DATE" if isinstance(node, exp.Date) else node.args["to"].this.name
    if target not in _CASTS:
        raise refusal(
            "type",
            node,
            f"{str(target).lower()} is not a type here",
            hint="use DOUBLE, BIGINT, BOOLEAN, DATE, TIMESTAMP or VARCHAR",
        )
    name, kind = _CASTS[target]
    inner = bind(node.this, hook)
    if is_null(inner):
        return Literal(None, kind)
    if isinstance(inner, Literal) and inner.type is Type.TEXT and kind.is_time:
        return literals.timed(inner, kind, node)
    return inner if inner.type is kind else checked(name, node, inner)


def _anonymous(node: exp.Expr, hook: Hook) -> Scalar:
    name, arguments = str(node.this).casefold(), node.expressions
    if name == "clamp":
        return _clamp(node, arguments, hook)
    if name == "dow" and len(arguments) == 1:
        return _part(node, name, arguments[0], hook)
    if name in ("date_part", "datepart") and len(arguments) == 2:
        return _part(node, str(arguments[0].name), arguments[1], hook)
    raise refusal("function", node, f"{node.this} cannot stand here", hint="see docs/sql.md")


def _clamp(node: exp.Expr, arguments: list[exp.Expr], hook: Hook) -> Scalar:
    if len(arguments) != 3:
        raise refusal("function", node, "CLAMP takes three values", hint="write CLAMP(x, 0, 100)")
    value, low, high = (bind(argument, hook) for argument in arguments)
    if is_null(value):
        value = Literal(None, Type.INTEGER)
    ends = [end.value for end in (low, high) if isinstance(end, Literal) and end.type.is_number]
    numbers = [end for end in ends if isinstance(end, int | float)]
    if len(numbers) < 2 or numbers[0] >= numbers[1]:
        raise refusal(
            "literal",
            node,
            "CLAMP takes a low end and a larger high end, both written out",
            hint="write CLAMP(x, 0, 100)",
        )
    if not math.isfinite(float(numbers[1]) - float(numbers[0])):
        raise refusal(
            "literal",
            node,
            "the ends of CLAMP are too far apart",
            hint="write CLAMP(x, -1e300, 1e300)",
        )
    return checked("clamp", node, value, low, high)


_RULES: dict[type[exp.Expr], Callable[[exp.Expr, Hook], Scalar]] = {
    exp.Paren: _inside,
    exp.Literal: _literal,
    exp.Null: _literal,
    exp.Boolean: _boolean,
    exp.Neg: _neg,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Coalesce: _several("coalesce", numbers=False),
    exp.Greatest: _several("greatest", numbers=True),
    exp.Least: _several("least", numbers=True),
    exp.Nullif: _nullif,
    exp.Case: _case,
    exp.If: _if,
    exp.Round: _round,
    exp.Substring: _substring,
    exp.Left: _substring,
    exp.Extract: _extract,
    exp.DateTrunc: _truncate,
    exp.TimestampTrunc: _truncate,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Date: _cast,
    exp.Anonymous: _anonymous,
}
