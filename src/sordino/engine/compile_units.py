# SPDX-License-Identifier: Apache-2.0
"""Numbers as whole steps of public grids, and what is computed from all rows of one unit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from sordino.engine.scalars import Scope, Term, clamped, kept_between
from sordino.query.tree import UnitKind, UnitMeasure
from sordino.query.types import Range, Type

_SUM_BITS = 52  # of a value that is added up for one unit
_NEAR = 2**20  # more rows of values up to this than any table has add up within 64 bits
_LARGEST = 53  # bits of what infinity becomes, where the range goes beyond all doubles
_FINEST, _COARSEST = -1_074, 1_024 - _SUM_BITS  # the step of the smallest and largest doubles


def measure_text(scope: Scope, measure: UnitMeasure, kind: Type, *, over: str) -> str:
    """Return an aggregate over the rows of a unit; sums are of whole numbers, and exact.

    ``over`` is the window, or empty under GROUP BY.
    """
    writer = scope.writer
    if measure.argument is None:
        return writer.as_type(f"count(*){over}", kind)
    term = scope.scalar(measure.argument)
    match measure.kind:
        case UnitKind.COUNT | UnitKind.MIN | UnitKind.MAX:
            return writer.as_type(f"{measure.kind}({term.text}){over}", kind)
        case UnitKind.SUM | UnitKind.AVG:
            size, value = _in_steps(scope, term, measure.range)
            total = writer.as_type(f"sum({value}){over}", Type.REAL)
            if measure.kind is UnitKind.AVG:
                total = f"({total} / NULLIF(count({value}){over}, 0))"
            return writer.as_type(f"({total} * {writer.value(size, Type.REAL)})", kind)
    assert_never(measure.kind)


def _in_steps(scope: Scope, term: Term, public: Range | None) -> tuple[float, str]:
    """Return a public step, and a value clamped to its range as a whole number of steps."""
    if public is None:
        raise ValueError("a sum over the rows of a unit needs a range")
    exponent = unit_exponent(public, whole=term.type is Type.INTEGER)
    size = Fraction(2) ** exponent
    low = max(math.ceil(public.low / size), -(2**_LARGEST))
    high = min(math.floor(public.high / size), 2**_LARGEST)
    return 2.0**exponent, whole_steps(scope, term, low, high, exponent)


def unit_exponent(public: Range, *, whole: bool) -> int:
    """Return the power of two in whose steps values of one unit are added up.

    Whole numbers stay exact where 52 bits hold the range.
    """
    size = max(abs(public.low), abs(public.high))
    bits = size.numerator.bit_length() - size.denominator.bit_length() + 1
    if whole and bits <= _SUM_BITS and public.low.denominator == public.high.denominator == 1:
        return 0
    return min(max(bits - _SUM_BITS, _FINEST), _COARSEST)


def whole_steps(
    scope: Scope,
    term: Term,
    low: int,
    high: int,
    exponent: int,
    *,
    alone: bool = False,
    added: bool = False,
) -> str:
    """Return a clean number in steps of 2 ** exponent, rounded, and clamped to whole numbers.

    Clamping comes before rounding here, which gives the same since both ends are whole; so what is
    rounded always fits. A missing number stays missing. ``alone`` if rows carry no unit, and
    ``added`` if their numbers are added up and nothing else: a missing one may then become 0.
    """
    writer = scope.writer
    near = alone and max(abs(low), abs(high)) <= _NEAR
    if term.type is Type.INTEGER and exponent == 0:
        value = scope.once(term).text
        first, last = writer.integer(low), writer.integer(high)
        if near:
            return kept_between(value, first, last, missing=not (added and low == 0))
        return clamped(writer, value, first, last)
    number = scope.real(term)
    if exponent:
        step = writer.value(2.0**exponent, Type.REAL)
        number = Term(f"({number.text} / {step})", Type.REAL)
    value = scope.once(number).text
    ends = (writer.value(float(low), Type.REAL), writer.value(float(high), Type.REAL))
    inside = clamped(writer, value, *ends)
    return writer.as_type(inside, Type.INTEGER)  # to the nearest, ties to even
