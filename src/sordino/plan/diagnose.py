# SPDX-License-Identifier: Apache-2.0
"""What is counted besides on request: how many rows had a value beyond its public range."""

from __future__ import annotations

from fractions import Fraction

from sordino.plan.bounded import RowCount
from sordino.plan.naming import in_words, written
from sordino.query.tree import Call, Literal, Query, Scalar
from sordino.query.types import Range, Type


def crowded_title(people: str) -> str:
    """Return the title of the number of units of which not all counts.

    Guarantee: none needed; public inputs only.
    """
    return f"{people} with more rows than count in full"


def clamped_rows(query: Query, *, weighed: bool) -> list[tuple[str, RowCount]]:
    """Return for each argument with a range a count of the rows whose value lies outside.

    ``weighed`` says that a row of a unit with many counts as a part of one; the title says so.

    Guarantee: none needed; public inputs only.
    """
    found: dict[RowCount, str] = {}
    for measure in query.measures:
        if measure.argument is not None and measure.range is not None:
            outside = _outside(_inside(measure.argument), measure.range)
            title = _title(_inside(measure.argument), measure.range, weighed=weighed)
            found.setdefault(outside, title)
    return [(title, count) for count, title in found.items()]


def _inside(argument: Scalar) -> Scalar:
    """Return what a clamp is about."""
    if isinstance(argument, Call) and argument.operation == "clamp":
        return argument.arguments[0]
    return argument


def _title(value: Scalar, public: Range, *, weighed: bool) -> str:
    rows = "rows, weighed," if weighed else "rows"
    return f"{rows} with {written(value)} outside {in_words(public)}"


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
