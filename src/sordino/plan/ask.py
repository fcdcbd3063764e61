# SPDX-License-Identifier: Apache-2.0
"""How much a question may cost, in the currency of the budget that pays for it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache

from sordino.catalog.model import Purse
from sordino.errors import MissingBound
from sordino.numbers.rational import Number, positive, probability
from sordino.privacy.budget import Budget

_MOST_SLACK = Fraction(1, 10**6)
_QUESTIONS = 10  # that may discover keys if nobody states a delta


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question may cost: an amount of epsilon or of rho, and how it was asked for."""

    amount: Fraction
    rho: bool
    epsilon: Fraction | None

    @property
    def about(self) -> float:
        """The epsilon of a pure loss of this price, about."""
        return math.sqrt(2 * self.amount) if self.rho else float(self.amount)


def read_asked(purse: Purse, *, epsilon: Number | None = None, rho: Number | None = None) -> Asked:
    """Return the amount that is asked for: an epsilon, or a rho where the budget counts rho.

    In a budget that counts rho an epsilon stands for the largest rho that is (epsilon, delta)-
    private, with the delta of the budget.

    >>> purse = Purse(Budget(epsilon=3, delta=1e-6, failures=0))
    >>> read_asked(purse, epsilon=1).amount
    Fraction(2435597, 100000000)
    """
    kind = purse.budget.currency.kind
    if (epsilon is None) == (rho is None):
        raise ValueError("ask with an epsilon, or with a rho where the budget counts rho")
    if kind == "epsilon":
        if epsilon is None:
            raise ValueError("this budget counts epsilon; ask with an epsilon instead of a rho")
        exact = positive("epsilon", epsilon)
        return Asked(exact, rho=False, epsilon=exact)
    if kind != "rho":
        raise ValueError("questions are paid for in epsilon or in rho, not in one Rényi order")
    if rho is not None:
        return Asked(positive("rho", rho), rho=True, epsilon=None)
    exact = positive("epsilon", epsilon)
    if not purse.budget.slack:
        raise ValueError("this budget counts rho and has no delta; ask with a rho instead")
    return Asked(_rho_for(exact, purse.budget.slack), rho=True, epsilon=exact)


def read_slack(purse: Purse, delta: Number | None) -> Fraction:
    """Return the delta that discovering keys costs: as stated, else a tenth of all, or 1e-6."""
    if not purse.slack:
        raise MissingBound(
            "no_delta",
            "keys must be discovered here, and the budget has no delta for that",
            why="that a key is there at all may tell that one person is",
            hint="declare the keys of the column, or a budget with a delta",
        )
    if delta is not None:
        return probability("delta", delta)
    return min(Fraction(purse.slack) / _QUESTIONS, _MOST_SLACK)


@lru_cache(maxsize=256)
def _rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    return Budget(epsilon=epsilon, delta=delta, failures=0).cap.value


@dataclass(frozen=True, slots=True)
class Options:
    """How noisy counts are shown.

    ``nonnegative`` shows 0 for counts below 0. ``integer`` shows numbers of the type INTEGER as
    whole ones. ``consistent`` makes the counts of all groups whole and not negative in such a way
    that they add up to the total of the noisy counts, which clipping alone would push up.
    """

    nonnegative: bool = False
    integer: bool = True
    consistent: bool = False

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be True or False")
