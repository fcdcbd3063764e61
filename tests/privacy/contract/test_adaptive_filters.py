# SPDX-License-Identifier: Apache-2.0
"""Analysts who choose mechanisms with deltas by the answers: every transcript, in fractions.

A mechanism of the menu gives the truth away with probability delta and otherwise is a randomized
response: of all that are (epsilon, delta)-private no one is easier to tell apart. The analyst takes
at every step whatever does the most damage, so what is computed is the largest hockey-stick
divergence that any analyst of so many steps can reach, without a sample and without a rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import BudgetExceeded
from sordino.numbers.rational import reading
from sordino.privacy.budget import Budget, Filter, Odometer
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Approximate, Pure

STEPS = 3

BUDGETS: dict[str, Callable[[Fraction, Fraction], Budget]] = {
    "epsilon": lambda e, d: Budget(epsilon=e, delta=d, currency="epsilon"),
    "rho": lambda e, d: Budget(epsilon=e, delta=d, failures=d / 2),
    "rho, a tenth for failures": lambda e, d: Budget(epsilon=e, delta=d),
    "gdp": lambda e, d: Budget(epsilon=e, delta=d, currency="gdp", failures=d / 2),
    "one order": lambda e, d: Budget(epsilon=e, delta=d, order=8, failures=d / 2),
    "orders": lambda e, d: Budget(epsilon=e, delta=d, orders=(3, 8, 30), failures=d / 3),
    "rho alone": lambda e, d: Budget(rho=e * e / 8, delta=d, failures=d / 2),
}


@dataclass(frozen=True)
class Mechanism:
    """What is told, as pairs of probabilities for two neighbours, and what it is said to lose."""

    loss: Loss
    told: tuple[tuple[Fraction, Fraction], ...]


def mechanism(odds: Fraction, delta: Fraction) -> Mechanism:
    """The worst one whose e^epsilon is ``odds``; epsilon itself is stated a little too high."""
    epsilon = Fraction(math.nextafter(math.log(odds), math.inf)) + Fraction(1, 10**15)
    truth = (1 - delta) * odds / (1 + odds)
    lie = (1 - delta) / (1 + odds)
    if not delta:
        return Mechanism(single(Pure(epsilon=epsilon)), ((truth, lie), (lie, truth)))
    ends = (delta, Fraction(0)), (Fraction(0), delta)
    loss = single(Approximate(epsilon=epsilon, delta=delta))
    return Mechanism(loss, (ends[0], (truth, lie), (lie, truth), ends[1]))


def power(epsilon: float) -> Fraction:
    """A fraction just below e^epsilon: whatever exceeds it is counted against the promise."""
    return Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**13))


@dataclass
class Analyst:
    """``check`` says which epsilon holds after a history, or None where it cannot be reached."""

    menu: list[Mechanism]
    check: Callable[[tuple[Mechanism, ...]], float | None]

    def most(self, history: tuple[Mechanism, ...], p: Fraction, q: Fraction, left: int) -> Fraction:
        """The largest sum of (p - e^epsilon q)+ over all that may be seen from here on."""
        if not p:
            return Fraction(0)
        epsilon = self.check(history)
        if epsilon is None:
            return Fraction(-1)
        best = max(Fraction(0), p - power(epsilon) * q)
        for one in self.menu if left and q else []:
            longer = (*history, one)
            if self.check(longer) is not None:
                after = (self.most(longer, p * a, q * b, left - 1) for a, b in one.told)
                best = max(best, sum(after, Fraction(0)))
        return best


def in_front_of(budget: Budget) -> Callable[[tuple[Mechanism, ...]], float | None]:
    """What a filter of a budget says to histories."""

    @cache
    def check(history: tuple[Mechanism, ...]) -> float | None:
        return budget.epsilon if spends(Filter(budget), history, BudgetExceeded) else None

    return check


def spends(
    purse: Filter | Odometer, history: tuple[Mechanism, ...], refusal: type[Exception]
) -> bool:
    """Spend a history, and tell whether nothing of it was refused."""
    try:
        for one in history:
            purse.spend(one.loss)
    except refusal:
        return False
    return True


odds = st.fractions(min_value=Fraction(21, 20), max_value=4, max_denominator=40)
deltas = st.sampled_from([Fraction(0), Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20)])
menus = st.lists(st.builds(mechanism, odds, deltas), min_size=2, max_size=3, unique=True)


@pytest.mark.parametrize("kind", BUDGETS)
@given(
    menu=menus,
    epsilon=st.fractions(min_value=Fraction(1, 2), max_value=4, max_denominator=20),
    delta=st.sampled_from([Fraction(1, 100), Fraction(1, 10), Fraction(3, 10)]),
)
@settings(max_examples=25, deadline=None)
def test_no_analyst_gets_more_than_the_promise_of_a_filter(
    kind: str, menu: list[Mechanism], epsilon: Fraction, delta: Fraction
) -> None:
    try:
        budget = BUDGETS[kind](epsilon, delta)
    except ValueError as error:
        assert "no loss at all fits" in str(error)  # noqa: PT017 - both outcomes are right
        return
    reached = Analyst(menu, in_front_of(budget)).most((), Fraction(1), Fraction(1), STEPS)
    assert 0 <= reached <= reading(budget.delta)


@given(
    menu=menus,
    delta=st.sampled_from([Fraction(1, 100), Fraction(1, 10), Fraction(3, 10)]),
    share=st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]),
    first=st.sampled_from([Fraction(1, 100), Fraction(1, 4)]),
)
@settings(max_examples=25, deadline=None)
def test_no_stopping_rule_gets_more_than_the_promise_of_an_odometer(
    menu: list[Mechanism], delta: Fraction, share: Fraction, first: Fraction
) -> None:
    @cache
    def check(history: tuple[Mechanism, ...]) -> float | None:
        odometer = Odometer(delta=delta, first_rung=first, failures=share * delta)
        return odometer.epsilon if spends(odometer, history, ValueError) else None

    assert 0 <= Analyst(menu, check).most((), Fraction(1), Fraction(1), STEPS) <= delta


def test_the_promise_is_reached_where_epsilons_and_deltas_are_added_up() -> None:
    # Three times delta / 3 at an epsilon that is all but used up: nearly all of delta is there.
    one = mechanism(Fraction(2), Fraction(1, 100))
    epsilon = 3 * (one.loss.parts[0][0].epsilon(delta=Fraction(1, 100)))
    budget = Budget(epsilon=epsilon + 1e-8, delta=Fraction(3, 100), currency="epsilon")
    reached = Analyst([one], in_front_of(budget)).most((), Fraction(1), Fraction(1), STEPS)
    assert Fraction(29, 1000) < reached <= Fraction(3, 100)


def test_a_filter_that_forgets_deltas_would_be_caught() -> None:
    one, delta = mechanism(Fraction(6, 5), Fraction(1, 20)), Fraction(1, 20)
    budget = Budget(epsilon=1, delta=delta, currency="epsilon")

    def forgetful(history: tuple[Mechanism, ...]) -> float | None:
        purse = Filter(budget)
        fits = [purse.would_fit(step.loss) for step in history]
        return 1.0 if all(fits) else None

    caught = Analyst([one], forgetful).most((), Fraction(1), Fraction(1), STEPS)
    held = Analyst([one], in_front_of(budget)).most((), Fraction(1), Fraction(1), STEPS)
    assert held <= delta < caught
