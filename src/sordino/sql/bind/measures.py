# SPDX-License-Identifier: Apache-2.0
"""Aggregates of the question itself: from syntax to measures, each of them once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from sordino.errors import QueryError
from sordino.query import ranges
from sordino.query.aggregates import AGGREGATES
from sordino.query.operations import call, range_of
from sordino.query.tree import Call, Field, Kind, Literal, Measure, MeasureRef, Scalar
from sordino.query.types import Range, Type
from sordino.sql.bind import scalars
from sordino.sql.bind.scalars import NULL, Hook, bind, choice, condition, is_null
from sordino.sql.bind.scope import Columns, Reading, is_aggregate, is_unit
from sordino.sql.refusals import refusal

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


TOP = 100  # values that TOP lists at most

_WITHIN = "write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"

NUMERIC: dict[type[exp.Expr], Kind] = {
    getattr(exp, node): row.kind for row in AGGREGATES.values() if row.numeric for node in row.nodes
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
    if type(function) in NUMERIC:
        return _numeric(aggregate, function.this, NUMERIC[type(function)], inside)
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
        value = scalars.literal(node).value
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
        many = scalars.whole(arguments[0], 1, TOP, code="literal", what="the length of TOP")
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
