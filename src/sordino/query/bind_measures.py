# SPDX-License-Identifier: Apache-2.0
"""Aggregates of the question itself: from syntax to measures, each of them once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from sordino.query import literals
from sordino.query.bind_arguments import (
    Aggregate,
    argument,
    bounded,
    counted,
    number,
    unwrapped,
)
from sordino.query.bind_columns import is_aggregate, is_unit
from sordino.query.bind_scalar import Hook
from sordino.query.refusals import refusal
from sordino.query.scope import Columns, Reading
from sordino.query.tree import Kind, Measure, MeasureRef, Scalar
from sordino.query.types import Type

TOP = 100  # values that TOP lists at most

_WITHIN = "write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"

_NUMERIC: dict[type[exp.Expr], Kind] = {
    exp.Sum: Kind.SUM,
    exp.Avg: Kind.AVG,
    exp.Variance: Kind.VARIANCE,
    exp.VariancePop: Kind.VARIANCE,
    exp.Stddev: Kind.STDDEV,
    exp.StddevPop: Kind.STDDEV,
    exp.StddevSamp: Kind.STDDEV,
    exp.Min: Kind.MIN,
    exp.Max: Kind.MAX,
}


@dataclass(slots=True)
class Measures:
    """The measures that a question needs; equal ones are one."""

    columns: Columns
    hook: Hook  # what names mean inside an aggregate
    reading: Reading
    found: list[tuple[Measure, Type]] = field(default_factory=list)

    def ref(self, node: exp.Expr) -> MeasureRef:
        """Return the place of an aggregate among the measures."""
        measure, kind = _measure(node, _Inside(self._inside, self.columns, self.reading))
        for index, (known, known_kind) in enumerate(self.found):
            if known == measure:
                return MeasureRef(index, known_kind)
        self.found.append((measure, kind))
        return MeasureRef(len(self.found) - 1, kind)

    def _inside(self, node: exp.Expr) -> Scalar | None:
        if is_aggregate(node):
            raise refusal(
                "nested_aggregate",
                node,
                "an aggregate cannot stand inside another one",
                why="each row would then depend on the rows of other people",
                hint="compute it per person in an inner query that is grouped by the unit",
            )
        return self.hook(node)


@dataclass(frozen=True, slots=True)
class _Inside:
    """What names mean inside an aggregate."""

    hook: Hook
    columns: Columns
    reading: Reading


def _measure(node: exp.Expr, inside: _Inside) -> tuple[Measure, Type]:
    aggregate = unwrapped(node, inside.hook)
    function = aggregate.function
    if isinstance(function, exp.Count):
        return _count(aggregate, inside)
    if type(function) in _NUMERIC:
        return _numeric(aggregate, function.this, _NUMERIC[type(function)], inside)
    rule = _RULES.get(type(function))
    if rule is None:
        raise refusal("function", node, "this aggregate is not answered", hint="see docs/sql.md")
    return rule(aggregate, inside)


def _count(aggregate: Aggregate, inside: _Inside) -> tuple[Measure, Type]:
    if isinstance(aggregate.function.this, exp.Distinct):
        return _count_distinct(aggregate, inside)
    return _count_if(aggregate, inside)


def _count_if(aggregate: Aggregate, inside: _Inside) -> tuple[Measure, Type]:
    return Measure(Kind.COUNT, counted(aggregate, inside.hook, inside.columns)), Type.REAL


def _median(aggregate: Aggregate, inside: _Inside) -> tuple[Measure, Type]:
    return _quantile(aggregate, aggregate.function.this, Fraction(1, 2), inside)


def _stated(aggregate: Aggregate, inside: _Inside) -> tuple[Measure, Type]:
    """QUANTILE(x, q)."""
    share = aggregate.function.args.get("quantile")
    if share is None:
        raise refusal(
            "function", aggregate.node, "QUANTILE lacks its share", hint="QUANTILE(x, 0.5)"
        )
    return _quantile(aggregate, aggregate.function.this, _share(share), inside)


def _mode(aggregate: Aggregate, inside: _Inside) -> tuple[Measure, Type]:
    if aggregate.function.this is None:
        raise refusal("function", aggregate.node, "MODE takes a value", hint="write MODE(x)")
    return _voted(aggregate, aggregate.function.this, None, inside)


def _numeric(
    aggregate: Aggregate, node: exp.Expr, kind: Kind, inside: _Inside
) -> tuple[Measure, Type]:
    scalar, range_ = bounded(number(aggregate, node, inside.hook), node)
    return Measure(kind, scalar, range_), Type.REAL


def _quantile(
    aggregate: Aggregate, node: exp.Expr, quantile: Fraction, inside: _Inside
) -> tuple[Measure, Type]:
    scalar, range_ = bounded(number(aggregate, node, inside.hook), node)
    return Measure(Kind.QUANTILE, scalar, range_, quantile=quantile), Type.REAL


def _percentile(aggregate: Aggregate, inside: _Inside) -> tuple[Measure, Type]:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x), or QUANTILE_CONT(x, q)."""
    function = aggregate.function
    if isinstance(function, exp.PercentileCont):
        share = function.args.get("expression")
        if share is None:
            raise refusal(
                "function",
                function,
                "PERCENTILE_CONT lacks WITHIN GROUP",
                hint=_WITHIN,
            )
        return _quantile(aggregate, function.this, _share(share), inside)
    within, order = function.this, function.args.get("expression")
    if not isinstance(within, exp.PercentileCont) or not isinstance(order, exp.Order):
        raise refusal("function", function, "only PERCENTILE_CONT has WITHIN GROUP", hint=_WITHIN)
    if len(order.expressions) != 1:
        raise refusal("function", function, "WITHIN GROUP orders by one value", hint=_WITHIN)
    share = _share(within.this)
    ordered = order.expressions[0]
    return _quantile(
        aggregate, ordered.this, 1 - share if ordered.args.get("desc") else share, inside
    )


def _share(node: exp.Expr) -> Fraction:
    """Return the share of a quantile, from 0 to 1, that is written out."""
    if isinstance(node, exp.Literal) and not node.is_string:
        value = literals.literal(node).value
        if isinstance(value, int | float) and 0 <= value <= 1:
            return Fraction(str(value))
    raise refusal(
        "literal", node, "the share of a quantile is a number from 0 to 1", hint="write 0.5"
    )


def _named(aggregate: Aggregate, inside: _Inside) -> tuple[Measure, Type]:
    function = aggregate.function
    name, arguments = str(function.this).casefold(), function.expressions
    if name == "countif" and len(arguments) == 1:
        return Measure(Kind.COUNT, counted(aggregate, inside.hook, inside.columns)), Type.REAL
    if name == "top" and len(arguments) == 2:
        many = literals.whole(arguments[0], 1, TOP, code="literal", what="the length of TOP")
        return _voted(aggregate, arguments[1], many, inside)
    if name == "histogram":
        raise refusal(
            "histogram",
            function,
            "HISTOGRAM must be the only aggregate of a question",
            why="its bins become rows of the answer",
            hint="write SELECT HISTOGRAM(x, 10) FROM ... with keys at most",
        )
    raise refusal("function", function, f"{function.this} is not written so", hint="TOP(3, x)")


def _voted(
    aggregate: Aggregate, node: exp.Expr, many: int | None, inside: _Inside
) -> tuple[Measure, Type]:
    scalar = argument(aggregate, node, inside.hook)
    domain = inside.reading.domain(scalar, node)
    if domain is None or scalar.type is Type.REAL:
        raise refusal(
            "no_keys",
            node,
            "MODE and TOP choose from a public list, and there is none for this value",
            why="a value that only one person has would be told",
            hint="let the owner declare keys, or use a CASE with few values",
        )
    candidates = tuple(value for value in domain if value is not None)
    if many is not None and many > len(candidates):
        raise refusal(
            "literal",
            aggregate.node,
            f"TOP asks for {many} of {len(candidates)} values",
            hint=f"write TOP({len(candidates)}, x)",
        )
    kind = Kind.MODE if many is None else Kind.TOP
    return Measure(kind, scalar, count=many, domain=candidates), scalar.type


def _count_distinct(aggregate: Aggregate, inside: _Inside) -> tuple[Measure, Type]:
    parts = aggregate.function.this.expressions
    if len(parts) != 1 or isinstance(parts[0], exp.Star | exp.Tuple):
        raise refusal(
            "distinct", aggregate.node, "COUNT(DISTINCT x) takes one value", hint="name one column"
        )
    node = parts[0]
    if not is_unit(node, inside.columns):
        scalar = argument(aggregate, node, inside.hook)
        return Measure(Kind.COUNT_DISTINCT, scalar), Type.INTEGER
    if aggregate.kept is not None:
        raise refusal(
            "unit_column", aggregate.node, "people are counted without FILTER", hint="use WHERE"
        )
    return Measure(Kind.COUNT_UNITS), Type.INTEGER


_RULES: dict[type[exp.Expr], Callable[[Aggregate, _Inside], tuple[Measure, Type]]] = {
    exp.CountIf: _count_if,
    exp.Median: _median,
    exp.Quantile: _stated,
    exp.PercentileCont: _percentile,
    exp.WithinGroup: _percentile,
    exp.Mode: _mode,
    exp.Anonymous: _named,
}
