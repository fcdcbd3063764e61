# SPDX-License-Identifier: Apache-2.0
"""What a ledger is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sordino.privacy.currency import Price
from sordino.privacy.loss import Loss


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a charge was made; an engine looks at data for nothing less.

    ``number`` counts the charges of the ledger from 1. ``left`` and ``slack_left`` are what remains
    of the budget and of the delta for keys after the charge.
    """

    number: int
    people: str
    price: Price
    slack: Fraction
    left: Price
    slack_left: Fraction
    fingerprint: str


class Ledger(Protocol):
    """Charges losses and keeps answers."""

    def charge(
        self, people: str, loss: Loss, *, slack: Fraction, fingerprint: str, who: str
    ) -> Receipt:
        """Charge a loss, or raise BudgetExceeded and charge nothing."""
        ...

    def record(self, receipt: Receipt, body: bytes) -> None:
        """Keep the answer that a charge paid for; a second answer for one charge is refused."""
        ...

    def left(self, people: str) -> tuple[Price, Fraction]:
        """Return what may still be spent: of the budget, and of the delta for keys."""
        ...
