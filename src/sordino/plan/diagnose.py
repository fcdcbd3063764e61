# SPDX-License-Identifier: Apache-2.0
"""What is counted besides on request: how many rows had a value beyond its public range."""

from __future__ import annotations

from fractions import Fraction

from sordino.exact.rational import brief
from sordino.plan.bounded import RowCount
from sordino.plan.naming import written
from sordino.query.tree import Call, Literal, Query, Scalar
from sordino.query.types import Range, Type


def clamped_rows(query: Query) -> list[tuple[str, RowCount]]:
    """Return for each argument with a range a count of the rows whose value lies outside.

    Guarantee: none needed; public inputs only.
    """
    found: dict[RowCount, str] = {}
    for measure in query.measures:
        if measure.argument is not None and measure.range is not None:
            outside = _outside(_inside(measure.argument), measure.range)
            found.setdefault(outside, _title(_inside(measure.argument), measure.range))
    return [(title, count) for count, title in found.items()]


def _inside(argument: Scalar) -> Scalar:
    """Return what a clamp is about."""
    if isinstance(argument, Call) and argument.operation == "clamp":
        return argument.arguments[0]
    return argument


def _title(value: Scalar, public: Range) -> str:
    return f"rows with {written(value)} outside {brief(public.low)} to {brief(public.high)}"


def _outside(value: Scalar, public: Range) -> RowCount:
    low = Call("lt", (value, _literal(public.low, value)), Type.BOOLEAN)
    high = Call("gt", (value, _literal(public.high, value)), Type.BOOLEAN)
    either = Call("or", (low, high), Type.BOOLEAN)
    one, missing = Literal(1, Type.INTEGER), Literal(None, Type.INTEGER)
    known = Range(Fraction(1), Fraction(1))
    return RowCount(Call("case", (either, one, missing), Type.INTEGER, known))


def _literal(end: Fraction, beside: Scalar) -> Literal:
    if beside.type is Type.INTEGER and end.denominator == 1:
        return Literal(end.numerator, Type.INTEGER)
    return Literal(float(end), Type.REAL)
