# SPDX-License-Identifier: Apache-2.0
"""What a ledger says is left of its budgets."""

from __future__ import annotations

from collections.abc import Iterable

from sordino.ledger.history import standing
from sordino.ledger.ledger import Ledger
from sordino.ledger.left import Budgets, Left


def left_of(ledger: Ledger, spaces: Iterable[str], who: str) -> Budgets:
    """Return what is left of the budgets of id spaces, for an analyst and in all."""
    stands = {one.people: one for one in standing(ledger, who=who)}
    found = []
    for people in spaces:
        one = stands[people]
        own = one.part(who)
        left = one.left if own is None else own.left
        found.append(
            Left(people, who, left.price, left.delta, one.left.price, one.cap.price, one.question)
        )
    return Budgets(found)
