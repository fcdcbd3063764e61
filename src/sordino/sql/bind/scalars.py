# SPDX-License-Identifier: Apache-2.0
"""Expressions: from syntax to typed scalars.

What a column, an aggregate or a window means depends on the clause; a function that is asked first
for every node decides it. All else is the same everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import TypeAlias

from sqlglot import exp

from sordino.query.operations import MANY, OPERATIONS, Operation, call, misfit
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Type
from sordino.sql.refusals import refusal

_DIGITS = 30
_TEXT = 1_000
_WHOLE = re.compile(r"\d+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")


def literal(node: exp.Literal) -> Literal:
    """Return a number or a text as a literal; numbers are finite and at most 2**53 in size."""
    text = str(node.this)
    if node.is_string:
        if len(text) > _TEXT:
            raise refusal(
                "literal", node, f"a text has at most {_TEXT} characters", hint="shorten it"
            )
        return Literal(text, Type.TEXT)
    if len(text) > _DIGITS:
        raise refusal(
            "literal", node, f"a number has at most {_DIGITS} characters", hint="shorten it"
        )
    if _WHOLE.fullmatch(text):
        whole = int(text)
        if whole > 2**53:
            raise refusal(
                "literal", node, "a whole number is at most 2**53", hint="write it as 1e18"
            )
        return Literal(whole, Type.INTEGER)
    try:
        number = float(text)
    except ValueError:
        raise refusal("literal", node, "this is not a number", hint="write 1.5") from None
    if not math.isfinite(number):
        raise refusal("literal", node, "a number must be finite", hint="write a smaller one")
    return Literal(number, Type.REAL)


def negated(value: Literal) -> Literal | None:
    """Return a number with the other sign, or None for what is no number."""
    match value.value:
        case bool() | str() | date() | None:
            return None
        case number:
            return Literal(0 - number, value.type)  # never a negative zero


def timed(value: Literal, kind: Type, node: exp.Expr) -> Literal:
    """Return a text as the day or moment that it writes."""
    text = str(value.value).strip()
    pattern = _DAY if kind is Type.DATE else _MOMENT
    try:
        if not pattern.fullmatch(text):
            raise ValueError(text)
        if kind is Type.DATE:
            return Literal(date.fromisoformat(text), kind)
        return Literal(datetime.fromisoformat(text), kind)
    except ValueError:
        what, example = "day", "'2024-05-01'"
        if kind is Type.TIMESTAMP:
            what, example = "moment", "'2024-05-01 12:00:00'"
        raise refusal(
            "literal", node, f"this text is not a {what}", hint=f"write it as in {example}"
        ) from None


def whole(node: exp.Expr | None, low: int, high: int, *, code: str, what: str) -> int:
    """Return a whole number that is written out and within bounds, or refuse the node."""
    sign = 1
    at = node
    while isinstance(at, exp.Paren | exp.Neg):
        sign = -sign if isinstance(at, exp.Neg) else sign
        at = at.this
    if isinstance(at, exp.Literal) and not at.is_string and _WHOLE.fullmatch(str(at.this)):
        value = sign * int(str(at.this)[:_DIGITS])
        if low <= value <= high:
            return value
    raise refusal(
        code, node, f"{what} must be a whole number from {low} to {high}", hint="write it out"
    )


_ORDER = ("eq", "neq", "lt", "lte", "gt", "gte")
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
        row = OPERATIONS[name]
        spoken = row.sql.spoken or row.sql.sign or name.upper().replace("_", " ")
        timed = any(argument.type.is_time for argument in arguments)
        hint = row.arguments.hint_for_times if timed else row.arguments.hint
        raise refusal("type", node, spoken + reason.removeprefix(name), hint=hint)
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
            return timed(scalar, kind, node)
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


Hook: TypeAlias = "Callable[[exp.Expr], Scalar | None]"

# Nodes that mean an operation; where several share one, a rule below tells them apart.
_NODES: dict[type[exp.Expr], str] = {
    getattr(exp, node): row.name for row in OPERATIONS.values() for node in row.sql.nodes
}
_CALLED = {
    function.name: row.name
    for row in OPERATIONS.values()
    for function in row.sql.functions
    if function.unknown
}


def _by_word(node: str) -> dict[str, Operation]:
    """Return the operations that share a node, by the word that tells them apart."""
    sharing = (row for row in OPERATIONS.values() if node in row.sql.nodes)
    return {word: row for row in sharing for word in row.sql.words}


_PARTS, _UNITS, _CASTS = _by_word("Extract"), _by_word("DateTrunc"), _by_word("Cast")


def bind(node: exp.Expr, hook: Hook) -> Scalar:
    """Return the scalar that an expression means; the hook is asked first for every node."""
    found = hook(node)
    if found is not None:
        return found
    rule = _RULES.get(type(node))
    if rule is not None:
        return rule(node, hook)
    name = _NODES.get(type(node))
    if name in _ORDER:
        return compared(name, node, bind(node.this, hook), bind(node.expression, hook))
    if name is not None:
        children = [node.this, *filter(None, [node.args.get("expression")])]
        return _plain(name, node, children, hook)
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


def _plain(name: str, node: exp.Expr, children: list[exp.Expr], hook: Hook) -> Scalar:
    bound = [bind(child, hook) for child in children]
    logic = name in ("and", "or", "not")
    kind = Type.BOOLEAN if logic else Type.INTEGER
    return checked(name, node, *(Literal(None, kind) if is_null(b) else b for b in bound))


def _inside(node: exp.Expr, hook: Hook) -> Scalar:
    return bind(node.this, hook)


def _literal(node: exp.Expr, _hook: Hook) -> Scalar:
    return literal(node) if isinstance(node, exp.Literal) else NULL


def _boolean(node: exp.Expr, _hook: Hook) -> Scalar:
    return Literal(bool(node.this), Type.BOOLEAN)


def _neg(node: exp.Expr, hook: Hook) -> Scalar:
    inner = bind(node.this, hook)
    folded = negated(inner) if isinstance(inner, Literal) else None
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
        digits = whole(given, 0, 9, code="literal", what="the number of digits")
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
        first = whole(start, 1, 10_000, code="literal", what="the start of a substring")
    if length is not None:
        many = whole(length, 0, 10_000, code="literal", what="the length of a substring")
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
    return checked(operation.name, node, bind(inner, hook))


def _truncate(node: exp.Expr, hook: Hook) -> Scalar:
    unit = str(node.args["unit"].name).casefold()
    if unit not in _UNITS:
        raise refusal(
            "function",
            node,
            f"a day is not cut to {unit!r}",
            hint=f"use {', '.join(_UNITS)}",
        )
    return checked(_UNITS[unit].name, node, bind(node.this, hook))


def _cast(node: exp.Expr, hook: Hook) -> Scalar:
    target = "DATE" if isinstance(node, exp.Date) else node.args["to"].this.name
    if target not in _CASTS:
        raise refusal(
            "type",
            node,
            f"{str(target).lower()} is not a type here",
            hint="use DOUBLE, BIGINT, BOOLEAN, DATE, TIMESTAMP or VARCHAR",
        )
    inner = bind(node.this, hook)
    name, kind = _CASTS[target].name, _CASTS[target].gives((inner,))
    if is_null(inner):
        return Literal(None, kind)
    if isinstance(inner, Literal) and inner.type is Type.TEXT and kind.is_time:
        return timed(inner, kind, node)
    return inner if inner.type is kind else checked(name, node, inner)


def _anonymous(node: exp.Expr, hook: Hook) -> Scalar:
    name, arguments = str(node.this).casefold(), node.expressions
    if name == "clamp":
        return _clamp(node, arguments, hook)
    if name == "dow" and len(arguments) == 1:
        return _part(node, name, arguments[0], hook)
    if name in ("date_part", "datepart") and len(arguments) == 2:
        return _part(node, str(arguments[0].name), arguments[1], hook)
    if name in _CALLED:
        return _plain(_CALLED[name], node, arguments, hook)
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
