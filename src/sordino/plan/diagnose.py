# SPDX-License-Identifier: Apache-2.0
"""What is counted besides on request: how many rows had a value beyond its public range."""

from __future__ import annotations

from fractions import Fraction

from sordino.plan.bounded import RowCount
from sordino.query.tree import Call, Literal, Measure, Query, Scalar
from sordino.query.types import Range, Type


def clamped_rows(query: Query) -> list[tuple[str, RowCount]]:
    """Return for each argument with a range a count of the rows whose value lies outside.

    Guarantee: none needed; public inputs only.
    """
    found: dict[RowCount, str] = {}
    for measure in query.measures:
        outside = _outside(measure)
        if outside is not None and outside not in found:
            found[outside] = f"rows clamped for measure {query.measures.index(measure) + 1}"
    return [(title, count) for count, title in found.items()]


def _outside(measure: Measure) -> RowCount | None:
    if measure.argument is None or measure.range is None:
        return None
    value = measure.argument
    if isinstance(value, Call) and value.operation == "clamp":
        value = value.arguments[0]
    low = Call("lt", (value, _literal(measure.range.low, value)), Type.BOOLEAN)
    high = Call("gt", (value, _literal(measure.range.high, value)), Type.BOOLEAN)
    either = Call("or", (low, high), Type.BOOLEAN)
    one, missing = Literal(1, Type.INTEGER), Literal(None, Type.INTEGER)
    known = Range(Fraction(1), Fraction(1))
    return RowCount(Call("case", (either, one, missing), Type.INTEGER, known))


def _literal(end: Fraction, beside: Scalar) -> Literal:
    if beside.type is Type.INTEGER and end.denominator == 1:
        return Literal(end.numerator, Type.INTEGER)
    return Literal(float(end), Type.REAL)
