# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions and aggregates of a parsed statement, evaluated in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any, TypeAlias

from sqlglot import exp

from sordino.query.types import Type
from tests.engine.reference import scalars

Outputs: TypeAlias = "Sequence[tuple[str, exp.Expression]]"

_BINARY: dict[type[exp.Expression], str] = {
    exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div", exp.EQ: "eq", exp.NEQ: "neq",
    exp.LT: "lt", exp.LTE: "lte", exp.GT: "gt", exp.GTE: "gte", exp.And: "and", exp.Or: "or",
    exp.Like: "like", exp.ILike: "ilike", exp.Nullif: "nullif",
}  # fmt: skip
_UNARY: dict[type[exp.Expression], str] = {
    exp.Neg: "neg", exp.Not: "not", exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil",
    exp.Lower: "lower", exp.Upper: "upper", exp.Trim: "trim", exp.Length: "length",
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Day: "day",
    exp.DayOfWeek: "dow", exp.Hour: "hour",
}  # fmt: skip
_LISTED: dict[type[exp.Expression], str] = {
    exp.Greatest: "greatest", exp.Least: "least", exp.Coalesce: "coalesce",
}  # fmt: skip
_TYPES = {
    "DOUBLE": Type.REAL, "FLOAT": Type.REAL, "INT": Type.INTEGER, "BIGINT": Type.INTEGER,
    "BOOLEAN": Type.BOOLEAN, "DATE": Type.DATE, "TIMESTAMP": Type.TIMESTAMP,
    "TIMESTAMPNTZ": Type.TIMESTAMP, "TEXT": Type.TEXT, "VARCHAR": Type.TEXT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Env:
    """One row, with the alias and the name of each value."""

    columns: tuple[tuple[str, str], ...]
    row: tuple[Any, ...]

    def find(self, alias: str, name: str) -> Any:
        for (owner, own), value in zip(self.columns, self.row, strict=True):
            if own == name and alias in ("", owner):
                return value
        raise AssertionError(f"the reference finds no column {alias}.{name}")


def evaluated(node: exp.Expression, env: Env) -> Any:
    """Return the value of a scalar expression for a row."""
    return compute(node, lambda n: leaf(n, env))


def leaf(node: exp.Expression, env: Env) -> Any:
    if isinstance(node, exp.Column):
        return env.find(node.table.casefold(), node.name.casefold())
    if isinstance(node, exp.Window):
        return env.find("#window", node.sql())
    return MORE


MORE = object()
Leaf: TypeAlias = "Callable[[exp.Expression], Any]"


def compute(node: exp.Expression, at: Leaf) -> Any:
    """Return the value of an expression whose leaves are given by a function."""
    found = at(node)
    if found is not MORE:
        return found
    kind = type(node)
    if kind in (exp.Paren, exp.Alias):
        return compute(node.this, at)
    if kind in _BINARY:
        made = _call(_BINARY[kind], node.this, node.expression, at=at)
        negated = node.args.get("negate") and made is not None
        return not made if negated else made
    if kind in _UNARY:
        return _call(_UNARY[kind], node.this, at=at)
    if kind in _LISTED:
        return _call(_LISTED[kind], node.this, *node.expressions, at=at)
    if kind in _SPECIAL:
        return _SPECIAL[kind](node, at)
    raise AssertionError(f"the reference does not know {kind.__name__}")


def _call(operation: str, *nodes: exp.Expression, at: Leaf) -> Any:
    values = _alike([compute(n, at) for n in nodes])
    numbers = [v for v in values if v is not None]
    whole = all(type(v) is int for v in numbers) and operation != "div"
    whole |= operation in ("floor", "ceil")
    return scalars.call(operation, values, Type.INTEGER if whole else Type.REAL)


def _alike(values: list[Any]) -> list[Any]:
    """Return the values, with texts read as days or moments where others are."""
    if any(isinstance(v, datetime) for v in values):
        return [scalars.cast(v, Type.TIMESTAMP) for v in values]
    if any(isinstance(v, date) for v in values):
        return [scalars.cast(v, Type.DATE) for v in values]
    return values


def _literal(node: exp.Expression, at: Leaf) -> Any:
    del at
    if node.args["is_string"]:
        return node.this
    return int(node.this) if node.this.isdigit() else float(node.this)


def _between(node: exp.Expression, at: Leaf) -> Any:
    x, low, high = node.this, node.args["low"], node.args["high"]
    both = [_call("gte", x, low, at=at), _call("lte", x, high, at=at)]
    return scalars.call("and", both, Type.BOOLEAN)


def _in(node: exp.Expression, at: Leaf) -> Any:
    return scalars.call(
        "or", [_call("eq", node.this, one, at=at) for one in node.expressions], Type.BOOLEAN
    )


def _is(node: exp.Expression, at: Leaf) -> Any:
    value = compute(node.this, at)
    if isinstance(node.expression, exp.Null):
        return value is None
    return value is compute(node.expression, at)


def _case(node: exp.Expression, at: Leaf) -> Any:
    for one in node.args["ifs"]:
        if node.this is not None:
            fits = _call("eq", node.this, one.this, at=at)
        else:
            fits = compute(one.this, at)
        if fits is True:
            return compute(one.args["true"], at)
    default = node.args.get("default")
    return None if default is None else compute(default, at)


def _if(node: exp.Expression, at: Leaf) -> Any:
    if compute(node.this, at) is True:
        return compute(node.args["true"], at)
    default = node.args.get("false")
    return None if default is None else compute(default, at)


def _round(node: exp.Expression, at: Leaf) -> Any:
    digits = node.args.get("decimals")
    many = 0 if digits is None else compute(digits, at)
    type_ = Type.REAL if many else Type.INTEGER
    return scalars.call("round", [compute(node.this, at), many], type_)


def _substring(node: exp.Expression, at: Leaf) -> Any:
    ends = [compute(node.args[name], at) for name in ("start", "length")]
    return scalars.call("substring", [compute(node.this, at), *ends], Type.TEXT)


def _left(node: exp.Expression, at: Leaf) -> Any:
    values = [compute(node.this, at), 1, compute(node.expression, at)]
    return scalars.call("substring", values, Type.TEXT)


def _extract(node: exp.Expression, at: Leaf) -> Any:
    part = {"dayofweek": "dow"}.get(node.name.casefold(), node.name.casefold())
    return scalars.call(part, [compute(node.expression, at)], Type.INTEGER)


def _trunc(node: exp.Expression, at: Leaf) -> Any:
    value = compute(node.this, at)
    if value is None:
        return None
    type_ = Type.TIMESTAMP if isinstance(value, datetime) else Type.DATE
    return scalars.call(f"trunc_{node.args['unit'].name.casefold()}", [value], type_)


def _cast(node: exp.Expression, at: Leaf) -> Any:
    return scalars.cast(compute(node.this, at), _TYPES[node.args["to"].this.name])


def _anonymous(node: exp.Expression, at: Leaf) -> Any:
    name = node.name.casefold()
    if name == "clamp":
        x, low, high = (compute(e, at) for e in node.expressions)
        whole = all(type(v) is int for v in (x, low, high))
        return scalars.call("clamp", [x, low, high], Type.INTEGER if whole else Type.REAL)
    if name == "date_part":
        part, value = (compute(e, at) for e in node.expressions)
        return scalars.call(part, [value], Type.INTEGER)
    if name in ("dow", "hour", "quarter"):
        return scalars.call(name, [compute(node.expressions[0], at)], Type.INTEGER)
    raise AssertionError(f"the reference does not know {name}")


_SPECIAL: dict[type[exp.Expression], Callable[[exp.Expression, Leaf], Any]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda node, _: bool(node.this),
    exp.Null: lambda _node, _at: None,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Round: _round,
    exp.Substring: _substring,
    exp.Left: _left,
    exp.Extract: _extract,
    exp.TimestampTrunc: _trunc,
    exp.DateTrunc: _trunc,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Anonymous: _anonymous,
}


# Aggregates: one value for several rows. ---------------------------------------------------------


def aggregate(node: exp.Expression, envs: list[Env], outputs: Outputs) -> Any:
    """Return the value of an expression over aggregates of rows; names may be of outputs."""
    named = dict(outputs)

    def at(inner: exp.Expression) -> Any:
        if is_aggregate(inner):
            return _aggregated(inner, envs)
        if isinstance(inner, exp.Column):
            name = inner.name.casefold()
            columns = {own for _, own in envs[0].columns} if envs else set()
            if name in named and (not inner.table) and named[name] is not inner:
                target = named[name]
                if name not in columns or target.find(*AGGREGATES):
                    return aggregate(target, envs, ())
        return leaf(inner, envs[0]) if envs else MORE

    return compute(node, at)


AGGREGATES: tuple[type[exp.Expression], ...] = (
    exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Variance, exp.VariancePop, exp.Stddev,
    exp.StddevPop, exp.StddevSamp, exp.Median, exp.Quantile, exp.PercentileCont, exp.WithinGroup,
    exp.Min, exp.Max, exp.Mode, exp.Filter,
)  # fmt: skip


def is_aggregate(node: exp.Expression) -> bool:
    top = isinstance(node, exp.Anonymous) and node.name.casefold() in ("top", "histogram")
    return top or isinstance(node, AGGREGATES)


def _aggregated(node: exp.Expression, envs: list[Env]) -> Any:
    if isinstance(node, exp.Filter):
        kept = [env for env in envs if evaluated(node.expression.this, env) is True]
        return _aggregated(node.this, kept)
    if isinstance(node, exp.Count):
        return _count(node, envs)
    if isinstance(node, exp.Anonymous):
        values = [evaluated(node.expressions[1], env) for env in envs]
        return most_frequent(values, int(node.expressions[0].name))
    argument = node.this
    if isinstance(node, exp.WithinGroup):
        argument = node.expression.expressions[0].this
    values = [v for v in (evaluated(argument, env) for env in envs) if v is not None]
    if isinstance(node, exp.CountIf):
        return sum(v is True for v in values)
    if isinstance(node, exp.Mode):
        found = most_frequent(values, 1)
        return found[0] if found else None
    return _numeric(node, values)


def _numeric(node: exp.Expression, values: list[Any]) -> Any:
    if not values:
        return None
    if isinstance(node, exp.Min | exp.Max):
        return min(values) if isinstance(node, exp.Min) else max(values)
    exact = [Fraction(v) for v in values]
    if isinstance(node, exp.Sum):
        return _plain(sum(exact), all(type(v) is int for v in values))
    mean = sum(exact) / len(exact)
    if isinstance(node, exp.Avg):
        return float(mean)
    if isinstance(
        node, exp.Variance | exp.VariancePop | exp.Stddev | exp.StddevPop | exp.StddevSamp
    ):
        spread = float(sum((x - mean) ** 2 for x in exact) / len(exact))
        return spread if isinstance(node, exp.Variance | exp.VariancePop) else math.sqrt(spread)
    return quantile(sorted(values), _share(node))


def _plain(value: Fraction | int, whole: bool) -> Any:
    return int(value) if whole else float(value)


def _share(node: exp.Expression) -> float:
    if isinstance(node, exp.Median):
        return 0.5
    if isinstance(node, exp.WithinGroup):
        share = float(node.this.this.name)
        return 1 - share if node.expression.expressions[0].args.get("desc") else share
    if isinstance(node, exp.Quantile):
        return float(node.args["quantile"].name)
    return float(node.expression.name)


def quantile(values: list[Any], share: float) -> Any:
    """Return the value at a share of the sorted ones: the least with at least that many below."""
    place = max(0, math.ceil(Fraction(f"{share:.9f}") * len(values)) - 1)
    return values[place]


def _count(node: exp.Count, envs: list[Env]) -> int:
    if isinstance(node.this, exp.Star):
        return len(envs)
    if isinstance(node.this, exp.Distinct):
        values = {evaluated(node.this.expressions[0], env) for env in envs}
        return len(values - {None})
    return sum(evaluated(node.this, env) is not None for env in envs)


def most_frequent(values: list[Any], many: int) -> list[Any]:
    """Return the values that occur most, most first; ties by their order."""
    found: dict[Any, int] = {}
    for value in values:
        if value is not None:
            found[value] = found.get(value, 0) + 1
    return sorted(found, key=lambda v: (-found[v], str(v)))[:many]
