# SPDX-License-Identifier: Apache-2.0
"""What is left of a budget, for an analyst and in all, in the owner's words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

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

    def of(self, people: str) -> Left:
        """Return what is left of the budget of one id space."""
        return next(one for one in self if one.people == people)


def and_delta(price: Price, delta: Fraction) -> str:
    """Write a price, and a delta for discovering keys if there is one.

    >>> from sordino.privacy.currency import PURE
    >>> and_delta(Price(PURE, 500_000_000), Fraction(1, 10**7))
    'epsilon 0.5 and delta 1e-07'
    """
    return f"{price} and delta {float(delta):.3g}" if delta else str(price)


def more_like(price: Price, delta: Fraction, left: Price, delta_left: Fraction) -> int:
    """Return how many more questions of a price fit into what is left.

    >>> from sordino.privacy.currency import PURE
    >>> more_like(Price(PURE, 3), Fraction(0), Price(PURE, 10), Fraction(0))
    3
    """
    count = left.nanos // price.nanos
    return min(count, int(delta_left // delta)) if delta else count


def more_in_words(count: int, *, more: str = "more ") -> str:
    """Say how many more questions fit, or how many do if none was asked yet.

    >>> more_in_words(37), more_in_words(1, more="")
    ('about 37 more questions like this one', 'enough for one question like this one')
    """
    if count > 1:
        return f"about {count:,} {more}questions like this one"
    enough = f"enough for one {more}" if count else f"not enough for {'another' if more else 'a'} "
    return f"{enough}question like this one"


def left_in_words(left: Left, price: Price, delta: Fraction, *, more: str = "more ") -> str:
    """Say what is left, whose it is, and for how many questions of a price that is enough."""
    if left.left == left.in_all:
        amount, separator = f"{left.left} of {left.cap}", ", "
    else:
        amount = f"{left.left} left for {left.who!r}, {left.in_all} of {left.cap} in all"
        separator = "; "
    if is_too_dear(left, price):
        return f"{amount}; refused: one question may cost at most {left.question}"
    return (
        amount
        + separator
        + more_in_words(more_like(price, delta, left.left, left.delta), more=more)
    )


def is_too_dear(left: Left, price: Price) -> bool:
    """Tell whether a price is more than one question may cost."""
    return left.question is not None and price.nanos > left.question.nanos
