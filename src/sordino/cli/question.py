# SPDX-License-Identifier: Apache-2.0
"""A question as it was typed: SQL, what it may cost, and how much of one unit counts."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sordino.numbers.rational import decimal_of
from sordino.session.session import Asked

_STANDARD_INPUT = "-"
_PRICES = ("epsilon", "rho", "within")


@dataclass(frozen=True, slots=True)
class Wish:
    """What was said besides the SQL; numbers are still texts."""

    epsilon: str | None = None
    rho: str | None = None
    within: str | None = None
    confidence: str = "0.95"
    delta: str | None = None
    rows: int | None = None
    groups: int | None = None
    rows_per_group: int | None = None
    expected_rows: str | None = None
    diagnostics: bool = False

    @property
    def priced(self) -> bool:
        """Whether a price, or how far off an answer may be, was said."""
        return any(price is not None for price in (self.epsilon, self.rho, self.within))

    def with_(self, name: str, value: str) -> Wish:
        """Return the same wish with one word changed; a price takes the place of another one."""
        forgotten: dict[str, Any] = dict.fromkeys(_PRICES) if name in _PRICES else {}
        return replace(self, **{**forgotten, name: value})

    def asked(self) -> Asked:
        """Return the arguments of ``Session.ask``; raises ValueError for what is no number."""
        if sum(price is not None for price in (self.epsilon, self.rho, self.within)) != 1:
            raise ValueError(
                "say what the answer may cost, such as --epsilon 0.5, or how far off it may be, "
                "such as --within 50; one of the two"
            )
        return {
            "epsilon": _number("epsilon", self.epsilon),
            "rho": _number("rho", self.rho),
            "within": _width(self.within),
            "confidence": decimal_of("confidence", self.confidence),
            "delta": _number("delta", self.delta),
            "rows": self.rows,
            "groups": self.groups,
            "rows_per_group": self.rows_per_group,
            "expected_rows": _number("expected rows", self.expected_rows),
            "diagnostics": self.diagnostics,
        }


def read_sql(text: str) -> str:
    """Return the question, from standard input if it is a dash."""
    return sys.stdin.read() if text == _STANDARD_INPUT else text


def _number(name: str, text: str | None) -> Decimal | None:
    return None if text is None else decimal_of(name, text)


def _width(text: str | None) -> Decimal | str | None:
    if text is None or not text.endswith("%"):
        return _number("within", text)
    decimal_of("within", text[:-1])
    return text
