# SPDX-License-Identifier: Apache-2.0
"""Scalars written as the analyst would know them again; for people, never for an engine."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from sordino.query.operations import OPERATIONS
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Range

_LONGEST = 40
_LARGE = 10**15


def written(scalar: Scalar) -> str:
    """Write a scalar as the analyst would know it again."""
    text = _scalar(scalar)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def named(scalar: Scalar) -> str:
    """Write a scalar in full, or return nothing where that would be too long to be read."""
    text = _scalar(scalar)
    return text if len(text) <= _LONGEST else ""


def in_words(public: Range) -> str:
    """Write a public range as people read it.

    >>> in_words(Range(Fraction(0), Fraction(3570)))
    '0 to 3,570'
    """
    return f"{_end(public.low)} to {_end(public.high)}"


def _end(x: Fraction) -> str:
    if x.denominator == 1 and abs(x) < _LARGE:
        return f"{x.numerator:,}"
    text = f"{float(x):.6g}"
    return text if "e" in text else f"{float(text):,.12g}"


def _scalar(scalar: Scalar) -> str:
    match scalar:
        case Field():
            return scalar.title
        case Literal():
            return repr(scalar.value) if isinstance(scalar.value, str) else str(scalar.value)
        case Call(operation=operation, arguments=(first, second)) if OPERATIONS[operation].sql.sign:
            return f"{_scalar(first)} {OPERATIONS[operation].sql.sign} {_scalar(second)}"
        case Call():
            return f"{scalar.operation}({', '.join(map(_scalar, scalar.arguments))})"
        case _:
            assert_never(scalar)
