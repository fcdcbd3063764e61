# SPDX-License-Identifier: Apache-2.0
"""Budgets: how much may be lost in all, when every question may depend on earlier answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import get_args

from sordino.errors import BudgetExceeded
from sordino.exact.rational import Number, positive, probability_or_zero, written
from sordino.exact.rounding import reading, up_as_printed
from sordino.privacy.calibrate import least
from sordino.privacy.currency import (
    LARGEST_ORDER,
    NANO,
    PURE,
    ZCDP,
    Currency,
    Price,
    Priceable,
    one_order,
)
from sordino.privacy.leaf import Relation

_MOST = NANO  # units; every sum of prices that a budget allows then fits into 64 bits
_BREAKS = (
    "{} cannot keep a budget: it holds for parameters that were fixed beforehand, and between "
    "questions they are chosen after seeing answers, which breaks it; use it inside one plan, and "
    "leave accountant out here"
)
_REFUSED = {
    "pld": _BREAKS.format("the distribution of the loss (PLD)"),
    "kov": _BREAKS.format("the optimal composition theorem (Kairouz, Oh, Viswanath)"),
    "advanced": (
        "the advanced composition theorem is proved for parameters that were fixed beforehand, and "
        "between questions they are chosen after seeing answers; leave accountant out: a budget "
        "with a delta counts rho, which may be so chosen and never grants less"
    ),
}

_RELATIONS: tuple[Relation, ...] = get_args(Relation)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget:
    """The most that may be lost in all: a currency, a cap in it, and what the cap guarantees.

    With epsilon alone, epsilons are added up. With epsilon and delta the budget counts rho, the
    currency of zCDP, and its cap is the largest rho that keeps the promise; give an order to count
    the divergence of that one Rényi order instead. With rho, or with renyi and an order, the cap is
    given directly; a delta then only serves to say which epsilon it guarantees.

    >>> Budget(epsilon=1)
    Budget(epsilon=1)
    >>> budget = Budget(epsilon=1, delta=1e-6)
    >>> budget
    Budget(rho=0.02435597, delta=1e-06)
    >>> str(budget.currency), budget.delta, round(budget.epsilon, 6)
    ('rho', 1e-06, 1.0)
    >>> Budget(epsilon=1, delta=1e-6, accountant="pld")
    Traceback (most recent call last):
    ValueError: the distribution of the loss (PLD) cannot keep a budget: it holds for parameters \
that were fixed beforehand, and between questions they are chosen after seeing answers, which \
breaks it; use it inside one plan, and leave accountant out here

    Guarantee:
        Neighbours: as stated by ``neighbours``; losses stated for others are refused.
        Loss: whatever a Filter, or a ledger that adds prices up in the same way, grants within the
            cap is (epsilon, delta)-private in all, even if every question and its parameters were
            chosen after seeing the answers to the earlier ones.
        Numerics: the cap is rounded down to whole nano-units, prices are rounded up.
        Proof: docs/proofs/budgets.md, theorems 1 to 3.
    """

    cap: Price
    slack: Fraction
    neighbours: Relation | None

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        renyi: Number | None = None,
        order: Number | None = None,
        neighbours: Relation | None = None,
        accountant: None = None,
    ) -> None:
        _refuse_accountant(accountant)
        check_relation(neighbours)
        if sum(amount is not None for amount in (epsilon, rho, renyi)) != 1:
            raise ValueError(
                "give exactly one of epsilon, rho and renyi: "
                "epsilon alone or with delta, rho, or renyi with its order"
            )
        slack = Fraction(0) if delta is None else probability_or_zero("delta", delta)
        if epsilon is None:
            cap = _direct(rho, renyi, order)
        else:
            cap = _promised(positive("epsilon", epsilon), slack, order)
        object.__setattr__(self, "cap", cap)
        object.__setattr__(self, "slack", slack)
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def currency(self) -> Currency:
        """What the budget counts in."""
        return self.cap.currency

    @property
    def epsilon(self) -> float:
        """The epsilon that the cap guarantees together with delta; infinite if that needs one."""
        return self.currency.epsilon(self.cap.value, delta=self.slack)

    @property
    def delta(self) -> float:
        """The delta that goes with epsilon; 0.0 if none was given."""
        return up_as_printed(self.slack) if self.slack else 0.0

    def price(self, loss: Priceable) -> Price:
        """Return what a loss costs, or refuse one that has no price in this currency."""
        price = self.currency.price(loss)
        same_neighbours(self.neighbours, loss.neighbours)
        return price

    def explain(self) -> str:
        """Say in words what is counted, and what that guarantees.

        >>> print(Budget(epsilon=1).explain())
        counts epsilon: all prices together stay within epsilon 1, which guarantees epsilon 1.0 \
at delta 0.0, even if each question is chosen after seeing the answers to the earlier ones
        """
        name = {"epsilon": "epsilon", "rho": "rho (zCDP)", "renyi": f"{self.currency}"}
        text = (
            f"counts {name[self.currency.kind]}: all prices together stay within {self.cap}, which "
            f"guarantees epsilon {self.epsilon!r} at delta {self.delta!r}, even if each question "
            "is chosen after seeing the answers to the earlier ones"
        )
        is_open = self.slack == 0 and self.currency != PURE
        return text + ("; give a delta to have a finite epsilon" if is_open else "")

    def __repr__(self) -> str:
        order = self.currency.order
        parts = [f"{self.currency.kind}={str(self.cap).split()[1]}"]
        parts += [f"order={written(order)}"] if order is not None else []
        parts += [f"delta={written(self.slack)}"] if self.slack else []
        parts += [f"neighbours={self.neighbours!r}"] if self.neighbours else []
        return f"Budget({', '.join(parts)})"


class Filter:
    """Spends a budget: grants losses one after the other as long as their prices stay in the cap.

    >>> from sordino.privacy.pure import Pure
    >>> purse = Filter(Budget(epsilon=1))
    >>> str(purse.spend(Pure(epsilon=Fraction(3, 4)))), str(purse.left)
    ('epsilon 0.75', 'epsilon 0.25')
    >>> purse.spend(Pure(epsilon=Fraction(1, 2)))
    Traceback (most recent call last):
    sordino.errors.BudgetExceeded: this asks for epsilon 0.5, but epsilon 0.25 is left; \
epsilon 0.25 or less would fit

    It lives in the memory of one process and may be shared by its threads. A refusal costs
    nothing and changes nothing; what was granted is never given back.

    Guarantee:
        Neighbours: those of the budget; if it names none, those of the first loss that does.
        Loss: everything granted, together, keeps what the budget guarantees, although each loss
            and its parameters may be chosen after seeing the answers to the earlier ones.
        Numerics: sums of integers; a spend takes the same time however many came before it.
        Proof: docs/proofs/budgets.md, theorems 1 and 2 (Rogers, Roth, Ullman, Vadhan 2016; Feldman
            and Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu 2023).
    """

    __slots__ = ("_lock", "_neighbours", "_spent", "budget")

    def __init__(self, budget: Budget) -> None:
        if not isinstance(budget, Budget):
            raise TypeError(
                f"a filter spends a Budget, not a value of type {type(budget).__name__}"
            )
        self.budget = budget
        self._neighbours = budget.neighbours
        self._spent = 0
        self._lock = Lock()

    def spend(self, loss: Priceable) -> Price:
        """Charge the price of a loss and return it, or raise BudgetExceeded and charge nothing."""
        price = self.budget.price(loss)
        with self._lock:
            neighbours = same_neighbours(self._neighbours, loss.neighbours)
            left = self.budget.cap.nanos - self._spent
            if price.nanos > left:
                currency = self.budget.currency
                raise BudgetExceeded(
                    str(price), str(Price(currency, left)), currency.what_fits(left)
                )
            self._spent += price.nanos
            self._neighbours = neighbours
        return price

    def would_fit(self, loss: Priceable) -> bool:
        """Tell whether a loss would be granted now; nothing is charged or kept aside."""
        price = self.budget.price(loss)
        with self._lock:
            same_neighbours(self._neighbours, loss.neighbours)
            return self._spent + price.nanos <= self.budget.cap.nanos

    @property
    def spent(self) -> Price:
        """The sum of all prices that were granted."""
        return Price(self.budget.currency, self._spent)

    @property
    def left(self) -> Price:
        """What may still be spent."""
        return Price(self.budget.currency, self.budget.cap.nanos - self._spent)

    def __repr__(self) -> str:
        return f"<Filter of {self.budget!r}: {self.left} left>"


def check_relation(neighbours: object) -> None:
    """Refuse what is not the name of a relation between neighbours, nor None.

    Guarantee: none needed; public inputs only.
    """
    if neighbours is not None and neighbours not in _RELATIONS:
        names = " or ".join(map(repr, _RELATIONS))
        shown = repr(neighbours)[:60] if isinstance(neighbours, str) else type(neighbours).__name__
        raise ValueError(f"neighbours must be {names}, got {shown}")


def same_neighbours(ours: Relation | None, theirs: Relation | None) -> Relation | None:
    """Return the relation that two statements hold for together, or refuse if they differ.

    Guarantee: none needed; public inputs only.
    """
    check_relation(theirs)
    if ours is not None and theirs is not None and ours != theirs:
        raise ValueError(
            f"this loss holds for {theirs} neighbours and the budget for {ours}; "
            "losses add up only when all are stated for the same neighbours"
        )
    return theirs if ours is None else ours


def _direct(rho: Number | None, renyi: Number | None, order: Number | None) -> Price:
    """Read a cap that is given in its own currency."""
    if renyi is not None:
        if order is None:
            raise ValueError("renyi needs an order, such as Budget(renyi=1, order=8)")
        return _cap("renyi", positive("renyi", renyi), one_order(order))
    if order is not None:
        raise ValueError("order goes with renyi, or with epsilon and delta, not with rho")
    return _cap("rho", positive("rho", rho), ZCDP)


def _promised(epsilon: Fraction, delta: Fraction, order: Number | None) -> Price:
    """Find the largest cap that keeps a promise of epsilon and delta."""
    pure = _cap("epsilon", epsilon, PURE)
    if order is None and delta == 0:
        return pure
    if delta == 0:
        raise ValueError("order needs a delta too, because one Rényi order bounds no pure epsilon")
    currency = ZCDP if order is None else one_order(order)
    slack = -math.log(delta)
    near = (math.sqrt(slack + epsilon) - math.sqrt(slack)) ** 2 if order is None else epsilon

    def too_much(nanos: int) -> bool:
        return reading(currency.epsilon(Fraction(nanos, NANO), delta=delta)) > epsilon

    most = least(too_much, 1, 4 * _MOST * NANO, near=int(near * NANO)) - 1
    if most == 0:
        enough = math.ceil(1 + slack / epsilon)
        few = order is None or enough >= LARGEST_ORDER
        advice = "a larger epsilon or delta" if few else f"an order above {enough}"
        raise ValueError(
            f"no loss at all fits epsilon {written(epsilon)} at delta {written(delta)} "
            f"when {currency} is counted; take {advice}"
        )
    return Price(currency, most)


def _cap(name: str, amount: Fraction, currency: Currency) -> Price:
    nanos = math.floor(amount * NANO)
    if nanos == 0 or amount > _MOST:
        raise ValueError(f"{name} of a budget must be from 1e-9 to 10**9, got {written(amount)}")
    return Price(currency, nanos)


def _refuse_accountant(accountant: object) -> None:
    """Refuse theorems that do not survive an analyst who chooses parameters on the way."""
    if accountant is None:
        return
    if isinstance(accountant, str) and accountant in _REFUSED:
        raise ValueError(_REFUSED[accountant])
    raise ValueError("accountant is not for choosing; leave it out, and see Budget for the ways")
