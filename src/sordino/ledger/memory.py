# SPDX-License-Identifier: Apache-2.0
"""A ledger in the memory of one process: it ends with the process."""

from __future__ import annotations

from fractions import Fraction
from threading import Lock

from sordino.errors import BudgetExceeded, LedgerError
from sordino.exact.rational import written
from sordino.ledger.protocol import Receipt
from sordino.privacy.budget import Filter
from sordino.privacy.currency import Price
from sordino.privacy.loss import Loss
from sordino.query.catalog import Catalog


class MemoryLedger:
    """Charges against the budgets of a catalog for as long as the process lives.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: what is granted for the people of an id space keeps to their purse.
        Numerics: sums of integers and fractions.
        Proof: docs/proofs/queries.md, theorem 6.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._filters = {people: Filter(purse.budget) for people, purse in catalog.purses}
        self._slacks = {people: Fraction(purse.slack) for people, purse in catalog.purses}
        self._answers: dict[int, bytes] = {}
        self._charges = 0
        self._lock = Lock()

    def charge(
        self, people: str, loss: Loss, *, slack: Fraction, fingerprint: str, who: str
    ) -> Receipt:
        """Charge a loss and a slack together, or neither.

        Guarantee: as for MemoryLedger.
        """
        del who  # all who share the process share the budget
        with self._lock:
            spend, rest = self._filter(people), self._slacks[people] - slack
            if rest < 0:
                left = self._slacks[people]
                raise BudgetExceeded(
                    f"delta {written(slack)} to discover keys",
                    f"delta {written(left)}",
                    "ask for declared keys, or with a smaller delta",
                )
            price = spend.spend(loss)
            self._slacks[people] = rest
            self._charges += 1
            return Receipt(
                number=self._charges,
                people=people,
                price=price,
                slack=slack,
                left=spend.left,
                slack_left=rest,
                fingerprint=fingerprint,
            )

    def record(self, receipt: Receipt, body: bytes) -> None:
        """Keep the answer of a charge.

        Guarantee: none needed; an answer is already private.
        """
        with self._lock:
            if not 1 <= receipt.number <= self._charges or receipt.number in self._answers:
                raise LedgerError("a charge pays for one answer, and this one has been recorded")
            self._answers[receipt.number] = body

    def left(self, people: str) -> tuple[Price, Fraction]:
        """Return what may still be spent.

        Guarantee: none needed; it depends on what was spent alone.
        """
        return self._filter(people).left, self._slacks[people]

    def _filter(self, people: str) -> Filter:
        try:
            return self._filters[people]
        except KeyError:
            raise LedgerError(f"no budget is declared for {people!r}") from None
