# SPDX-License-Identifier: Apache-2.0
"""What is left of a budget, for an analyst and in all, in the owner's words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sordino.ledger.history import standing
from sordino.ledger.ledger import Ledger
from sordino.privacy.currency import Price


@dataclass(frozen=True, slots=True)
class Left:
    """What an analyst may still spend on the people of one id space.

    ``left`` and ``delta`` are for them, ``in_all`` is for everybody together, ``cap`` is what there
    was, and ``question`` the most for one question; None: there is no such limit.

    >>> from sordino.privacy import Budget
    >>> cap, half = Budget(epsilon=1).cap, Budget(epsilon=0.5).cap
    >>> print(Left("patients", "ann", half, Fraction(0), half, cap))
    patients: epsilon 0.5 of epsilon 1 left
    >>> print(Left("patients", "ann", half, Fraction(0), cap, cap))
    patients: epsilon 0.5 left for 'ann', epsilon 1 of epsilon 1 in all
    """

    people: str
    who: str
    left: Price
    delta: Fraction
    in_all: Price
    cap: Price
    question: Price | None = None

    def __str__(self) -> str:
        if self.left == self.in_all:
            said = f"{self.people}: {self.left} of {self.cap} left"
        else:
            whose = f"{self.left} left for {self.who!r}"
            said = f"{self.people}: {whose}, {self.in_all} of {self.cap} in all"
        if self.question is not None and self.question.nanos < self.left.nanos:
            said += f", at most {self.question} for one question"
        if self.delta:
            said += f", and delta {float(self.delta):.3g} to discover keys"
        return said


class Budgets(tuple[Left, ...]):
    """What is left, by id space; it is shown in words."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


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
