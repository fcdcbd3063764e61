# SPDX-License-Identifier: Apache-2.0
"""Analysts who look at every answer before they ask on, against filters and odometers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sordino.errors import BudgetExceeded
from sordino.numbers.rational import reading
from sordino.privacy.budget import Budget, Filter, Odometer
from sordino.privacy.currency import ATTO, NANO, PURE, ZCDP, Currency, one_order
from sordino.privacy.pure import Approximate, Pure
from tests.privacy.unit.stated import Stated

MAKERS: dict[str, Callable[[Fraction], Budget]] = {
    "epsilon": lambda cap: Budget(epsilon=cap),
    "rho": lambda cap: Budget(rho=cap, delta=1e-6),
    "renyi": lambda cap: Budget(renyi=cap, order=8, delta=1e-6),
}
CURRENCIES = [PURE, ZCDP, one_order(8)]

amounts = st.one_of(
    st.fractions(min_value=0, max_value=3, max_denominator=10**13),
    st.floats(min_value=0, max_value=3).map(lambda x: Fraction(repr(x))),
    st.integers(0, 3 * NANO).map(lambda n: Fraction(n, NANO)),
    st.integers(0, 50).map(lambda n: Fraction(n, 10**10)),
)


def stated(amount: Fraction) -> Stated:
    """A loss that has this value in every currency; floats cannot say it, so they say more."""
    near = float(amount)
    while Fraction(repr(near)) < amount:
        near = math.nextafter(near, math.inf)
    return Stated(pure=amount, rho=near, divergence=near)


def true_value(loss: Stated, kind: str) -> Fraction:
    """What the loss says it is, read without the library."""
    if kind == "epsilon":
        assert loss.pure is not None
        return loss.pure
    return Fraction(repr(loss.rho))


class Spender(RuleBasedStateMachine):
    """Asks for anything, in any order, again and again; the sums are kept apart, as fractions."""

    @initialize(
        kind=st.sampled_from(sorted(MAKERS)),
        cap=st.fractions(min_value=Fraction(1, NANO), max_value=3, max_denominator=10**12),
    )
    def begin(self, kind: str, cap: Fraction) -> None:
        self.kind, self.cap = kind, cap
        self.purse = Filter(MAKERS[kind](cap))
        self.granted = Fraction(0)
        self.refused: list[Stated] = []
        self.count = 0

    def ask(self, loss: Stated) -> bool:
        before, fits = self.purse.left, self.purse.would_fit(loss)
        if not fits:
            with pytest.raises(BudgetExceeded) as refusal:
                self.purse.spend(loss)
            assert refusal.value.left == str(before) == str(self.purse.left)
            self.refused.append(loss)
            return False
        price = self.purse.spend(loss)
        assert price.value >= true_value(loss, self.kind)
        assert self.purse.left + price == before
        self.granted += true_value(loss, self.kind)
        self.count += 1
        return True

    @rule(amount=amounts)
    def ask_for(self, amount: Fraction) -> None:
        self.ask(stated(amount))

    @rule(amount=amounts, times=st.integers(2, 20))
    def repeat(self, amount: Fraction, times: int) -> None:
        for _ in range(times):
            self.ask(stated(amount))

    @precondition(lambda self: self.refused)
    @rule(data=st.data())
    def ask_again_for_what_was_refused(self, data: st.DataObject) -> None:
        assert not self.ask(data.draw(st.sampled_from(self.refused)))

    @rule(share=st.fractions(min_value=0, max_value=1))
    def take_part_of_what_is_left(self, share: Fraction) -> None:
        assert self.ask(stated(math.floor(share * self.purse.left.nanos) * Fraction(1, NANO)))

    @rule(excess=st.fractions(min_value=Fraction(1, 10**20), max_value=1))
    def ask_for_a_little_too_much(self, excess: Fraction) -> None:
        assert not self.ask(stated(self.purse.left.value + excess))

    @rule()
    def take_all_that_is_left(self) -> None:
        assert self.ask(stated(self.purse.left.value))
        assert self.purse.left.nanos == 0

    @rule(nanos=st.integers(1, 10**6))
    def ask_until_nothing_is_left(self, nanos: int) -> None:
        loss = stated(Fraction(nanos, NANO))
        expected = min(40, self.purse.left.nanos // nanos)
        assert sum(self.ask(loss) for _ in range(40)) == expected

    @invariant()
    def never_past_the_cap(self) -> None:
        assert self.granted <= self.purse.spent.value <= self.cap
        assert self.purse.spent + self.purse.left == self.purse.budget.cap
        assert self.purse.spent.value - self.granted < Fraction(self.count + 1, NANO)


TestSpender = Spender.TestCase
TestSpender.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


@given(amounts, st.sampled_from(CURRENCIES))
def test_a_price_is_the_value_rounded_up(amount: Fraction, currency: Currency) -> None:
    loss = stated(amount)
    price = currency.price(loss).value
    assert price - Fraction(1, NANO) < true_value(loss, currency.kind) <= price


@given(amounts, amounts, st.sampled_from(CURRENCIES))
def test_prices_are_monotone_and_a_sum_costs_no_more(
    a: Fraction, b: Fraction, currency: Currency
) -> None:
    one, other = currency.price(stated(a)), currency.price(stated(b))
    assert (a <= b) <= (one <= other)
    assert max(one.nanos, other.nanos) <= currency.price(stated(a + b)).nanos
    assert currency.price(stated(a + b)) <= one + other


@given(
    st.floats(min_value=1e-3, max_value=50),
    st.floats(min_value=-40, max_value=-0.1).map(lambda x: 10**x),
    st.sampled_from([None, 50000]),
)
@settings(max_examples=60, deadline=None)
def test_a_cap_guarantees_at_most_what_was_asked(
    epsilon: float, delta: float, order: int | None
) -> None:
    try:
        budget = Budget(epsilon=epsilon, delta=delta, order=order)
    except ValueError as error:
        assert "no loss at all fits" in str(error)  # noqa: PT017 - both outcomes are right
        return
    assert reading(budget.epsilon) <= Fraction(repr(epsilon))
    assert budget.delta == delta


pairs = st.tuples(
    st.fractions(min_value=Fraction(1, 10**12), max_value=1, max_denominator=10**12),
    st.one_of(
        st.just(Fraction(0)),
        st.fractions(
            min_value=Fraction(1, 10**20), max_value=Fraction(1, 10), max_denominator=10**20
        ),
        st.integers(1, 10**6).map(lambda n: Fraction(n, ATTO)),
    ),
)


@given(
    st.lists(pairs, max_size=40),
    st.fractions(min_value=Fraction(1, 1000), max_value=4),
    st.sampled_from([Fraction(1, 10**12), Fraction(1, 1000), Fraction(1, 3)]),
)
@settings(max_examples=150, deadline=None)
def test_epsilons_and_deltas_are_granted_while_both_sums_fit(
    asked: list[tuple[Fraction, Fraction]], cap: Fraction, delta: Fraction
) -> None:
    purse = Filter(Budget(epsilon=cap, delta=delta, currency="epsilon"))
    nanos = attos = 0
    true = [Fraction(0), Fraction(0)]
    for epsilon, failing in asked:
        leaf = Approximate(epsilon=epsilon, delta=failing) if failing else Pure(epsilon=epsilon)
        price, share = math.ceil(epsilon * NANO), math.ceil(failing * ATTO)
        fits = nanos + price <= math.floor(cap * NANO) and attos + share <= math.floor(delta * ATTO)
        assert purse.would_fit(leaf) == fits
        if not fits:
            with pytest.raises(BudgetExceeded):
                purse.spend(leaf)
            continue
        purse.spend(leaf)
        nanos, attos = nanos + price, attos + share
        true = [true[0] + epsilon, true[1] + failing]
        assert (purse.spent.nanos, purse.spent.attos) == (nanos, attos)
    assert purse.spent + purse.left == purse.budget.cap
    assert true[0] <= purse.spent.value <= cap
    assert true[1] <= purse.spent.delta <= delta


def response(epsilon: float) -> tuple[Stated, float]:
    """Randomized response: its loss, and the probability to tell the truth."""
    p = 1 / (1 + math.exp(-epsilon))
    curve = math.log(p**8 * (1 - p) ** -7 + (1 - p) ** 8 * p**-7) / 7
    up = 1 + 1e-12
    exact = Fraction(repr(epsilon))
    return Stated(exact, rho=epsilon * math.tanh(epsilon / 2) * up, divergence=curve * up), p


@dataclass
class Analyst:
    """Chooses every step, and when to stop, by what was answered so far, to the most damage.

    ``check`` says which epsilon holds after a history, or None if the history is not allowed.
    """

    menu: list[tuple[Stated, float]]
    check: Callable[[list[Stated]], float | None]

    def most(self, history: list[Stated], p: float, q: float, left: int) -> float:
        """The largest sum of (p - e^epsilon q)+ over all that may be seen when stopping."""
        epsilon = self.check(history)
        if epsilon is None:
            return -1.0
        best = max(0.0, p - math.exp(epsilon) * q)
        for loss, truth in self.menu if left else []:
            longer = [*history, loss]
            yes = self.most(longer, p * truth, q * (1 - truth), left - 1)
            no = self.most(longer, p * (1 - truth), q * truth, left - 1)
            best = max(best, yes + no)
        return best


menus = st.lists(st.floats(min_value=0.05, max_value=2.5), min_size=2, max_size=3, unique=True)


@given(
    menu=menus,
    epsilon=st.floats(min_value=0.2, max_value=3),
    delta=st.floats(min_value=1e-3, max_value=0.5),
    kind=st.sampled_from(["epsilon", "rho", "renyi"]),
)
@settings(max_examples=60, deadline=None)
def test_no_adaptive_analyst_breaks_the_promise_of_a_filter(
    menu: list[float], epsilon: float, delta: float, kind: str
) -> None:
    delta = 0.0 if kind == "epsilon" else delta
    order = 8 if kind == "renyi" else None
    try:
        budget = Budget(epsilon=epsilon, delta=delta, order=order)
    except ValueError:
        return

    def check(history: list[Stated]) -> float | None:
        purse = Filter(budget)
        try:
            for loss in history:
                purse.spend(loss)
        except BudgetExceeded:
            return None
        return epsilon

    analyst = Analyst([response(e) for e in menu], check)
    assert analyst.most([], 1.0, 1.0, 4) <= delta + 1e-12


@given(
    menu=menus,
    delta=st.floats(min_value=1e-3, max_value=0.5),
    first=st.floats(min_value=1e-3, max_value=1),
    pure=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_no_stopping_rule_breaks_the_promise_of_an_odometer(
    menu: list[float], delta: float, first: float, pure: bool
) -> None:
    shown: dict[tuple[Stated, ...], float] = {}

    def check(history: list[Stated]) -> float | None:
        key = tuple(sorted(history, key=lambda loss: loss.rho))
        if key not in shown:
            odometer = Odometer(delta=delta, first_rung=first)
            for loss in history:
                odometer.spend(loss)
            shown[key] = odometer.epsilon
        return shown[key]

    steps = [response(e) for e in menu]
    if not pure:  # the ladder has to hold without the help of the pure sum
        steps = [(Stated(rho=loss.rho), p) for loss, p in steps]
    assert Analyst(steps, check).most([], 1.0, 1.0, 4) <= delta + 1e-12


def test_the_analyst_of_these_tests_would_break_a_wrong_filter() -> None:
    # Two rhos of the cap each: a filter that forgets the first one is caught.
    budget = Budget(epsilon=1, delta=0.01)
    strongest = 0.1
    while Filter(budget).would_fit(response(strongest + 0.01)[0]):
        strongest += 0.01

    def forgetful(history: list[Stated]) -> float | None:
        return 1.0 if all(Filter(budget).would_fit(loss) for loss in history) else None

    assert Analyst([response(strongest)], forgetful).most([], 1.0, 1.0, 4) > 0.01
