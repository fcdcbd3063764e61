# SPDX-License-Identifier: Apache-2.0
"""Budgets and odometers: what may be lost, and was, when questions depend on earlier answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Literal, TypeAlias

from sordino.errors import BudgetExceeded
from sordino.numbers.rational import Number, positive, probability_or_zero, up_as_printed, written
from sordino.privacy.concentrated import epsilon_from_rho
from sordino.privacy.currency import (
    ATTO,
    GDP,
    LARGEST_ORDER,
    NANO,
    PURE,
    ZCDP,
    Currency,
    Price,
    Priceable,
    one_order,
)
from sordino.privacy.leaf import RELATIONS, Relation
from sordino.privacy.search import least

Counted: TypeAlias = Literal["epsilon", "rho", "gdp"]

FAILURES = Fraction(1, 10)  # of a delta, if nothing else is stated
_MOST_ORDERS = 64
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


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget:
    """The most that may be lost in all: a currency, a cap in it, and what the cap guarantees.

    With epsilon alone, epsilons are added up. With epsilon and delta the budget counts rho, the
    currency of zCDP, and its cap is the largest rho that keeps the promise. currency="gdp" counts
    the squares of the mu of Gaussian differential privacy instead, and grants the most where noise
    is Gaussian; an order counts the divergence of that one Rényi order, and several orders are
    counted side by side. Epsilons are added up besides: what is granted fits one of these caps,
    whichever it is. With rho, or with renyi and an order, the cap is given directly; a delta then
    only serves to say which epsilon it guarantees.

    A loss may have a delta of its own, the probability that it fails. Of the delta of a budget
    ``failures`` is the part that these add up to at most: a tenth if nothing is stated, and all of
    it with currency="epsilon", where nothing else needs a delta. The rest turns what is counted
    into epsilon.

    >>> Budget(epsilon=1)
    Budget(epsilon=1)
    >>> budget = Budget(epsilon=1, delta=1e-6)
    >>> [str(cap) for cap in budget.caps]
    ['rho 0.024129622 and delta 1e-07', 'epsilon 1 and delta 1e-07']
    >>> str(budget.currency), budget.delta, budget.epsilon
    ('rho', 1e-06, 1.0)
    >>> str(Budget(epsilon=1, delta=1e-6, failures=0).cap)
    'rho 0.02435597'
    >>> str(Budget(epsilon=1, delta=1e-6, currency="epsilon").cap)
    'epsilon 1 and delta 1e-06'
    >>> Budget(epsilon=1, delta=1e-6, accountant="pld")
    Traceback (most recent call last):
    ValueError: the distribution of the loss (PLD) cannot keep a budget: it holds for parameters \
that were fixed beforehand, and between questions they are chosen after seeing answers, which \
breaks it; use it inside one plan, and leave accountant out here

    Guarantee:
        Neighbours: as stated by ``neighbours``; losses stated for others are refused.
        Loss: whatever a Filter, or a ledger that adds prices up in the same way, grants within the
            caps is (epsilon, delta)-private in all, even if every question and its parameters were
            chosen after seeing the answers to the earlier ones.
        Numerics: caps are rounded down to whole nano-units and parts of 10**18 of a delta, prices
            are rounded up.
        Proof: docs/proofs/budgets.md, theorems 1 to 3, and 6 to 11.
    """

    caps: tuple[Price, ...]
    slack: Fraction
    failures: Fraction
    promise: Fraction | None
    neighbours: Relation | None

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        renyi: Number | None = None,
        order: Number | None = None,
        orders: Sequence[Number] | None = None,
        currency: Counted | None = None,
        failures: Number | None = None,
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
        total = Fraction(0) if delta is None else probability_or_zero("delta", delta)
        promise = None if epsilon is None else positive("epsilon", epsilon)
        if promise is None:
            if orders is not None or currency is not None:
                raise ValueError("orders and currency go with epsilon and delta")
            kept = part_for_failures(total, failures, FAILURES)
            caps: tuple[Price, ...] = (_direct(rho, renyi, order),)
        else:
            counted = _counted(total, order, orders, currency)
            kept = part_for_failures(
                total, failures, Fraction(1) if counted == (PURE,) else FAILURES
            )
            caps = _promised(promise, total - kept, counted)
        attos = math.floor(kept * ATTO)
        object.__setattr__(self, "caps", tuple(Price(c.currency, c.nanos, attos) for c in caps))
        object.__setattr__(self, "slack", total - kept)
        object.__setattr__(self, "failures", kept)
        object.__setattr__(self, "promise", promise)
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def cap(self) -> Price:
        """The most that may be spent, in the currency of the budget."""
        return self.caps[0]

    @property
    def currency(self) -> Currency:
        """What the budget counts in."""
        return self.cap.currency

    @property
    def epsilon(self) -> float:
        """The epsilon that the caps guarantee together with delta; infinite if that needs one."""
        each = self.slack / max(1, sum(cap.currency != PURE for cap in self.caps))
        return max(cap.currency.epsilon(cap.value, delta=each) for cap in self.caps)

    @property
    def delta(self) -> float:
        """The delta that goes with epsilon, failures and all; 0.0 if none was given."""
        total = self.slack + self.failures
        return up_as_printed(total) if total else 0.0

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
        name["gdp"] = "gdp (squares of mu)"
        text = (
            f"counts {name[self.currency.kind]}: all prices together stay within "
            f"{' or within '.join(map(str, self.caps))}, which "
            f"guarantees epsilon {self.epsilon!r} at delta {self.delta!r}, even if each question "
            "is chosen after seeing the answers to the earlier ones"
        )
        is_open = self.slack == 0 and self.currency != PURE
        return text + ("; give a delta to have a finite epsilon" if is_open else "")

    def __repr__(self) -> str:
        orders = [cap.currency.order for cap in self.caps if cap.currency.order is not None]
        if self.promise is None:
            parts = [f"{self.currency.kind}={str(self.cap).split()[1]}"]
        else:
            parts = [f"epsilon={written(self.promise)}"]
        total = self.slack + self.failures
        parts += [f"delta={written(total)}"] if total else []
        if len(orders) == 1:
            parts.append(f"order={written(orders[0])}")
        elif orders:
            parts.append(f"orders=({', '.join(map(written, orders))})")
        whole = self.currency == PURE and total != 0
        parts += ["currency='epsilon'"] if whole else []
        parts += ["currency='gdp'"] if self.currency == GDP else []
        usual = total if whole else total * FAILURES
        parts += [f"failures={written(self.failures)}"] if self.failures != usual else []
        parts += [f"neighbours={self.neighbours!r}"] if self.neighbours else []
        return f"Budget({', '.join(parts)})"


class Filter:
    """Spends a budget: grants losses one after the other as long as their prices stay in a cap.

    >>> from sordino.privacy.pure import Pure
    >>> purse = Filter(Budget(epsilon=1))
    >>> str(purse.spend(Pure(epsilon=Fraction(3, 4)))), str(purse.left)
    ('epsilon 0.75', 'epsilon 0.25')
    >>> purse.spend(Pure(epsilon=Fraction(1, 2)))
    Traceback (most recent call last):
    sordino.errors.BudgetExceeded: this asks for epsilon 0.5, but epsilon 0.25 is left; \
epsilon 0.25 or less would fit

    A budget with several caps grants what fits one of them with all that was granted before.
    Prices are shown in the first currency whose cap still holds.

    >>> from sordino.privacy.pure import Approximate
    >>> purse = Filter(Budget(epsilon=1, delta=1e-6))
    >>> str(purse.spend(Approximate(epsilon=Fraction(3, 10), delta=Fraction(1, 10**8))))
    'epsilon 0.3 and delta 1e-08'
    >>> str(purse.left)
    'epsilon 0.7 and delta 9e-08'

    It lives in the memory of one process and may be shared by its threads. A refusal costs
    nothing and changes nothing; what was granted is never given back.

    Guarantee:
        Neighbours: those of the budget; if it names none, those of the first loss that does.
        Loss: everything granted, together, keeps what the budget guarantees, although each loss
            and its parameters may be chosen after seeing the answers to the earlier ones.
        Numerics: sums of integers; a spend takes the same time however many came before it.
        Proof: docs/proofs/budgets.md, theorems 1, 2, 6 and 7 (Rogers, Roth, Ullman, Vadhan 2016;
            Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu 2023).
    """

    __slots__ = ("_failed", "_lock", "_neighbours", "_sums", "budget")

    def __init__(self, budget: Budget) -> None:
        if not isinstance(budget, Budget):
            raise TypeError(
                f"a filter spends a Budget, not a value of type {type(budget).__name__}"
            )
        self.budget = budget
        self._neighbours = budget.neighbours
        self._sums: tuple[int | None, ...] = (0,) * len(budget.caps)  # None once infinite
        self._failed = 0
        self._lock = Lock()

    def spend(self, loss: Priceable) -> Price:
        """Charge the price of a loss and return it, or raise BudgetExceeded and charge nothing."""
        prices = self._prices(loss)
        with self._lock:
            neighbours = same_neighbours(self._neighbours, loss.neighbours)
            sums, failed = self._after(prices)
            place = self._place(sums)
            if place is None or failed > self.budget.cap.attos:
                raise self._refusal(prices, failing=place is not None)
            self._sums, self._failed, self._neighbours = sums, failed, neighbours
        price = prices[place]
        if price is None:
            raise AssertionError("a cap that holds has a price for all that was granted")
        return price

    def would_fit(self, loss: Priceable) -> bool:
        """Tell whether a loss would be granted now; nothing is charged or kept aside."""
        prices = self._prices(loss)
        with self._lock:
            same_neighbours(self._neighbours, loss.neighbours)
            sums, failed = self._after(prices)
            return self._place(sums) is not None and failed <= self.budget.cap.attos

    @property
    def spent(self) -> Price:
        """The sum of all prices that were granted."""
        with self._lock:
            cap, total = self._shown()
            return Price(cap.currency, total, self._failed)

    @property
    def left(self) -> Price:
        """What may still be spent."""
        with self._lock:
            return self._left()

    def _left(self) -> Price:
        cap, total = self._shown()
        return Price(cap.currency, cap.nanos - total, cap.attos - self._failed)

    def _prices(self, loss: Priceable) -> tuple[Price | None, ...]:
        """Return the price of a loss in each currency, or refuse one that has none at all."""
        prices = prices_together(loss, tuple(cap.currency for cap in self.budget.caps))
        if all(price is None for price in prices):
            self.budget.price(loss)
        same_neighbours(self.budget.neighbours, loss.neighbours)
        return prices

    def _after(self, prices: tuple[Price | None, ...]) -> tuple[tuple[int | None, ...], int]:
        """Return the sums with one loss more: of prices, and of what may fail."""
        sums = tuple(
            None if total is None or price is None else total + price.nanos
            for total, price in zip(self._sums, prices, strict=True)
        )
        failing = max(price.attos for price in prices if price is not None)
        return sums, self._failed + failing

    def _place(self, sums: tuple[int | None, ...]) -> int | None:
        """Return the place of the first cap that holds, or None."""
        caps = enumerate(self.budget.caps)
        fits = (at for at, cap in caps if (total := sums[at]) is not None and total <= cap.nanos)
        return next(fits, None)

    def _shown(self) -> tuple[Price, int]:
        """Return the first cap that holds, and what was spent of it."""
        for cap, total in zip(self.budget.caps, self._sums, strict=True):
            if total is not None and total <= cap.nanos:
                return cap, total
        raise AssertionError("one of the caps holds at any time")

    def _refusal(self, prices: tuple[Price | None, ...], *, failing: bool) -> BudgetExceeded:
        left = self._left()
        asked = next((p for p in prices if p is not None and p.currency == left.currency), None)
        if failing:
            failed = max(price.delta for price in prices if price is not None)
            return BudgetExceeded(
                f"delta {written(failed)}",
                f"delta {written(left.delta)}",
                "only losses with a smaller delta or none would fit; what a budget keeps for them "
                "is stated beforehand, as in Budget(epsilon=1, delta=1e-6, failures=5e-7)",
            )
        shown = str(asked) if asked is not None else f"a loss without a finite {left.currency}"
        return BudgetExceeded(shown, str(left), left.currency.what_fits(left.nanos))

    def __repr__(self) -> str:
        return f"<Filter of {self.budget!r}: {self.left} left>"


def check_relation(neighbours: object) -> None:
    """Refuse what is not the name of a relation between neighbours, nor None."""
    if neighbours is not None and neighbours not in RELATIONS:
        names = " or ".join(map(repr, RELATIONS))
        shown = repr(neighbours)[:60] if isinstance(neighbours, str) else type(neighbours).__name__
        raise ValueError(f"neighbours must be {names}, got {shown}")


def same_neighbours(ours: Relation | None, theirs: Relation | None) -> Relation | None:
    """Return the relation that two statements hold for together, or refuse if they differ."""
    check_relation(theirs)
    if ours is not None and theirs is not None and ours != theirs:
        raise ValueError(
            f"this loss holds for {theirs} neighbours and the budget for {ours}; "
            "losses add up only when all are stated for the same neighbours"
        )
    return theirs if ours is None else ours


def prices_together(loss: Priceable, currencies: tuple[Currency, ...]) -> tuple[Price | None, ...]:
    """Return the price of a loss in several currencies, None where it is infinite.

    All of them are prices of the same part of the loss: they have one delta, and a currency in
    which another part would have failed has no price.
    """
    prices = [currency.price_if_finite(loss) for currency in currencies]
    failing = max((price.attos for price in prices if price is not None), default=0)
    return tuple(p if p is not None and p.attos == failing else None for p in prices)


def part_for_failures(
    delta: Fraction, failures: Number | None, usual: Fraction = FAILURES
) -> Fraction:
    """Return the part of a delta that is for failures."""
    if failures is None:
        return delta * usual
    kept = probability_or_zero("failures", failures)
    if kept > delta:
        raise ValueError(
            "failures is the part of delta that losses may use up by themselves, so it is at "
            f"most delta: got {written(kept)} of {written(delta)}"
        )
    return kept


def _direct(rho: Number | None, renyi: Number | None, order: Number | None) -> Price:
    """Read a cap that is given in its own currency."""
    if renyi is not None:
        if order is None:
            raise ValueError("renyi needs an order, such as Budget(renyi=1, order=8)")
        return _cap("renyi", positive("renyi", renyi), one_order(order))
    if order is not None:
        raise ValueError("order goes with renyi, or with epsilon and delta, not with rho")
    return _cap("rho", positive("rho", rho), ZCDP)


def _counted(
    delta: Fraction, order: Number | None, orders: Sequence[Number] | None, currency: object
) -> tuple[Currency, ...]:
    """Return what a budget counts that promises an epsilon and a delta."""
    if currency not in (None, "epsilon", "rho", "gdp"):
        raise ValueError("currency must be 'epsilon', 'rho' or 'gdp'")
    if sum(choice is not None for choice in (order, orders, currency)) > 1:
        raise ValueError("give one of order, orders and currency, not several")
    if currency == "epsilon" or (delta == 0 and order is None and orders is None):
        if currency in ("rho", "gdp"):
            raise ValueError(f"the currency {currency!r} needs a delta too, such as delta=1e-6")
        return (PURE,)
    if orders is not None:
        if isinstance(orders, str) or not isinstance(orders, Sequence) or not orders:
            raise TypeError("orders must be a list of numbers above 1, such as [4, 16, 64]")
        listed = tuple(dict.fromkeys(map(one_order, orders)))
        if len(listed) > _MOST_ORDERS:
            raise ValueError(f"at most {_MOST_ORDERS} orders are counted, got {len(listed)}")
    else:
        usual = GDP if currency == "gdp" else ZCDP
        listed = (usual,) if order is None else (one_order(order),)
    if delta == 0:
        raise ValueError("order needs a delta too, because one Rényi order bounds no pure epsilon")
    return (*listed, PURE)


def _promised(
    epsilon: Fraction, delta: Fraction, currencies: tuple[Currency, ...]
) -> tuple[Price, ...]:
    """Find the largest cap that keeps a promise of epsilon and delta, in every currency."""
    pure = _cap("epsilon", epsilon, PURE)
    counted = [currency for currency in currencies if currency != PURE]
    if not counted:
        return (pure,)
    if delta == 0:
        raise ValueError(
            "failures must leave a part of delta, which turns what is counted into epsilon"
        )
    each = delta / len(counted)
    return (*(_largest(currency, epsilon, each) for currency in counted), pure)


def _largest(currency: Currency, epsilon: Fraction, delta: Fraction) -> Price:
    """Find the largest cap in a currency that keeps a promise of epsilon and delta."""
    slack = -math.log(delta)
    near = (math.sqrt(slack + epsilon) - math.sqrt(slack)) ** 2
    if currency == GDP:
        near *= 2
    elif currency != ZCDP:
        near = float(epsilon)

    def too_much(nanos: int) -> bool:
        return not currency.keeps(Fraction(nanos, NANO), epsilon=epsilon, delta=delta)

    most = least(too_much, 1, 4 * _MOST * NANO, near=int(near * NANO)) - 1
    if most == 0:
        enough = math.ceil(1 + slack / epsilon)
        few = currency.order is None or enough >= LARGEST_ORDER
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


class Odometer:
    """Adds up losses without a cap and says at any time which epsilon holds so far.

    There are two bounds, and the better one is shown. One is the sum of the pure losses. The other
    is a ladder: rung j stands for 2^j times the rho of the first rung and for delta / 2^(j+1), and
    the lowest rung that still holds all the rhos so far gives its epsilon. Make the first rung
    about what the first few questions will cost: below that rungs waste delta. Losses may have a
    delta of their own; ``failures`` is the part of delta that these add up to at most, a tenth if
    nothing is stated, and the rungs have the rest.

    >>> from sordino.privacy.pure import Pure
    >>> odometer = Odometer(delta=1e-6)
    >>> for _ in range(100):
    ...     odometer.spend(Pure(epsilon=Fraction(1, 10)))
    >>> odometer.history_length, round(odometer.epsilon, 4), odometer.delta
    (100, 6.5804, 1e-06)

    Guarantee:
        Neighbours: as stated by ``neighbours``, or by the first loss that names a relation.
        Loss: if one stops at any time, decided by looking at everything including the odometer,
            then for every set S of things seen: P(S) <= E'(e^epsilon on S) + delta, where epsilon
            is what the odometer shows then, and E' the mean for neighbouring data. If it shows at
            most e in all of S, this is P(S) <= e^e P'(S) + delta.
        Numerics: prices are whole nano-units rounded up; epsilon is rounded up from a certified
            ball; a spend takes the same time however many came before it.
        Proof: docs/proofs/budgets.md, theorems 5 and 7.
    """

    __slots__ = (
        "_epsilons",
        "_failed",
        "_failures",
        "_first",
        "_length",
        "_lock",
        "_neighbours",
        "_rhos",
        "_slack",
    )

    def __init__(
        self,
        *,
        delta: Number = 0,
        first_rung: Number = Fraction(1, 1000),
        failures: Number | None = None,
        neighbours: Relation | None = None,
    ) -> None:
        total = probability_or_zero("delta", delta)
        self._failures = part_for_failures(total, failures)
        self._slack = total - self._failures
        self._first = math.floor(positive("first_rung", first_rung) * NANO)
        if self._first == 0:
            raise ValueError(f"first_rung must be a rho of at least 1e-9, got {first_rung!r}")
        check_relation(neighbours)
        self._neighbours = neighbours
        self._epsilons: int | None = 0  # nano-units; None once infinite
        self._rhos: int | None = 0
        self._failed = 0  # parts of 10**18
        self._length = 0
        self._lock = Lock()

    def spend(self, loss: Priceable) -> None:
        """Add a loss; refuse one after which no finite bound would be left."""
        epsilon, rho = prices_together(loss, (PURE, ZCDP))
        failing = max((price.attos for price in (epsilon, rho) if price is not None), default=0)
        with self._lock:
            neighbours = same_neighbours(self._neighbours, loss.neighbours)
            epsilons, rhos = _sum(self._epsilons, epsilon), _sum(self._rhos, rho)
            if epsilons is None and (rhos is None or self._slack == 0):
                raise ValueError(_no_bound(has_rho=rhos is not None))
            if Fraction(self._failed + failing, ATTO) > self._failures:
                raise ValueError(
                    "the deltas of all losses would add up to more than the odometer keeps for "
                    f"them, which is {written(self._failures)}; state a larger part, such as "
                    "Odometer(delta=1e-6, failures=5e-7)"
                )
            self._epsilons, self._rhos = epsilons, rhos
            self._failed += failing
            self._neighbours = neighbours
            self._length += 1

    @property
    def epsilon(self) -> float:
        """The bound that holds now, together with delta."""
        with self._lock:
            epsilons, rhos = self._epsilons, self._rhos
        if epsilons == 0:
            return 0.0
        whole = math.inf if epsilons is None else up_as_printed(Fraction(epsilons, NANO))
        if rhos is None or self._slack == 0:
            return whole
        rung = (max(-(-rhos // self._first), 1) - 1).bit_length()
        cap, share = Fraction(self._first << rung, NANO), self._slack / 2 ** (rung + 1)
        return min(whole, epsilon_from_rho(rho=cap, delta=share))

    @property
    def delta(self) -> float:
        """The delta that goes with epsilon, the same at all times."""
        total = self._slack + self._failures
        return up_as_printed(total) if total else 0.0

    @property
    def history_length(self) -> int:
        """How many losses were added."""
        return self._length

    def __repr__(self) -> str:
        return f"<Odometer at epsilon {self.epsilon!r} and delta {self.delta!r}>"


def _sum(nanos: int | None, price: Price | None) -> int | None:
    return None if nanos is None or price is None else nanos + price.nanos


def _no_bound(*, has_rho: bool) -> str:
    if has_rho:
        return "this loss has no finite epsilon; give the odometer a delta, so that it counts rho"
    return (
        "after this loss neither a finite epsilon nor a finite rho would be left; "
        "an odometer holds losses that have one of them"
    )
