# SPDX-License-Identifier: Apache-2.0
"""Questions as they are sent: every number as a decimal text, so that no digit is lost."""

from __future__ import annotations

from decimal import ROUND_UP, Context, Decimal, Inexact
from fractions import Fraction
from typing import Any

from sordino.plan.ask import Ask, Epsilon, Percent, Rho, Width, Within

_EXACT = Context(prec=400, Emin=-(10**6), Emax=10**6, rounding=ROUND_UP, traps=[Inexact])
_USUAL_CONFIDENCE = Fraction(95, 100)


def question_of(ask: Ask) -> dict[str, Any]:
    """Return a question with its terms as JSON values.

    >>> from sordino.plan.ask import read_ask
    >>> question_of(read_ask("SELECT COUNT(*) FROM visits", epsilon=0.1))
    {'sql': 'SELECT COUNT(*) FROM visits', 'epsilon': '0.1'}
    """
    found: dict[str, Any] = {"sql": ask.sql, **_price(ask.price)}
    if ask.confidence != _USUAL_CONFIDENCE:
        found["confidence"] = decimal_text("confidence", ask.confidence)
    if ask.delta is not None:
        found["delta"] = decimal_text("delta", ask.delta)
    for name in ("rows", "groups", "rows_per_group"):
        if getattr(ask.limits, name) is not None:
            found[name] = getattr(ask.limits, name)
    if ask.expected_rows is not None:
        found["expected_rows"] = decimal_text("expected_rows", ask.expected_rows)
    flags = {
        "diagnostics": ask.diagnostics,
        "nonnegative": ask.options.nonnegative,
        "consistent": ask.options.consistent,
        "fresh": ask.fresh,
    }
    found |= {name: True for name, stated in flags.items() if stated}
    return found if ask.options.integer else {**found, "integer": False}


def _price(price: Epsilon | Rho | Within) -> dict[str, Any]:
    match price:
        case Epsilon(amount):
            return {"epsilon": decimal_text("epsilon", amount)}
        case Rho(amount):
            return {"rho": decimal_text("rho", amount)}
        case Within(widths):
            if isinstance(widths, tuple):
                return {"within": {name: _width(width) for name, width in widths}}
            return {"within": _width(widths)}


def _width(width: Width) -> str:
    return width.text if isinstance(width, Percent) else decimal_text("within", width)


def decimal_text(name: str, number: Fraction) -> str:
    """Write a number as a decimal, every digit of it.

    >>> decimal_text("epsilon", Fraction(1, 8)), decimal_text("delta", Fraction(1, 10**9))
    ('0.125', '1E-9')
    """
    try:
        return str(_EXACT.divide(Decimal(number.numerator), Decimal(number.denominator)))
    except Inexact:
        raise ValueError(
            f"{name} must be a decimal to be sent to a server, got {number}; state it as such"
        ) from None
