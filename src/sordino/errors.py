# SPDX-License-Identifier: Apache-2.0
"""Errors of our own, sorted by what their text may reveal; wrong arguments raise Python's own."""

from __future__ import annotations

from typing import ClassVar


class BudgetError(Exception):
    """A budget says no; the text depends on what was spent, never on the data."""

    code: ClassVar[str] = "budget"


class BudgetExceeded(BudgetError):
    """What was asked for costs more than is left; nothing was charged.

    >>> str(BudgetExceeded("epsilon 0.5", "epsilon 0.25", "epsilon 0.25 or less would fit"))
    'this asks for epsilon 0.5, but epsilon 0.25 is left; epsilon 0.25 or less would fit'
    """

    code: ClassVar[str] = "budget_exceeded"

    def __init__(self, asked: str, left: str, hint: str) -> None:
        super().__init__(asked, left, hint)
        self.asked = asked
        self.left = left
        self.hint = hint

    def __str__(self) -> str:
        return f"this asks for {self.asked}, but {self.left} is left; {self.hint}"
