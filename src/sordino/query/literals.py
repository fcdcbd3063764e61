# SPDX-License-Identifier: Apache-2.0
"""Values that the analyst writes: numbers, texts, days and moments."""

from __future__ import annotations

import math
import re
from datetime import date, datetime

from sqlglot import exp

from sordino.query.refusals import refusal
from sordino.query.tree import Literal
from sordino.query.types import Type

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
