# SPDX-License-Identifier: Apache-2.0
"""Every ledger does what a dictionary of integers does, whatever is asked of it in which order."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from sordino.errors import BudgetError, BudgetExceeded, LedgerError, QuestionTooDear, UnknownAnalyst
from sordino.ledger.entry import Receipt
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Amount, Caps, Share, Terms
from sordino.ledger.verify import verify
from sordino.privacy import Budget, losses
from sordino.privacy.currency import ATTO
from sordino.privacy.loss import Loss
from tests.ledger.contract.ledgers import NANO, Place

ANALYSTS = ("ann", "bob", "eve")
SMALL = st.integers(0, 12)
LIMIT = st.none() | SMALL


@dataclass
class Purse:
    """What one analyst may spend, keeps and has spent: of the budget and of the delta alike."""

    share: int | None = None
    kept: int = 0
    used: list[int] = field(default_factory=lambda: [0, 0])

    def unspent(self, side: int) -> int:
        return max(0, self.kept - self.used[side])


@dataclass
class Model:
    """The rules once more, in a few lines; both sides, budget and delta, count in small integers.

    Nothing is kept but what was stated and what was paid: every sum is added up when it is needed.
    """

    cap: int
    most: int | None
    others: int | None
    purses: dict[str, Purse]
    answers: dict[tuple[str, str], tuple[int, bytes]] = field(default_factory=dict)

    def spent(self, side: int) -> int:
        return sum(purse.used[side] for purse in self.purses.values())

    def held(self, side: int) -> int:
        return sum(purse.unspent(side) for purse in self.purses.values())

    def left(self, who: str, side: int) -> int:
        mine = self.purses[who]
        elsewhere = self.held(side) - mine.unspent(side)
        most = self.others if mine.share is None else mine.share
        room = self.cap - self.spent(side) - elsewhere
        return max(0, room if most is None else min(room, most - mine.used[side]))

    def outcome(self, who: str, price: int, slack: int) -> type[Exception] | None:
        if self.others == 0 and self.purses[who].share is None:
            return UnknownAnalyst
        if self.most is not None and price > self.most:
            return QuestionTooDear
        fits = price <= self.left(who, 0) and slack <= self.left(who, 1)
        return None if fits else BudgetExceeded

    def can_be(self, other: Model) -> bool:
        """Tell whether other limits can be put on record: what is kept more of must be there."""
        for side in (0, 1):
            more = any(
                other.purses[who].unspent(side) > self.purses[who].unspent(side) for who in ANALYSTS
            )
            if more and other.spent(side) + other.held(side) > other.cap:
                return False
        return True

    def limited(self, cap: int, most: int | None, others: int | None, stated: Stated) -> Model:
        purses = {
            who: Purse(share, kept, self.purses[who].used if self.purses else [0, 0])
            for who, (share, kept) in zip(ANALYSTS, stated, strict=True)
        }
        return Model(cap, most, others, purses, self.answers)

    def terms(self) -> dict[str, Terms]:
        shares = tuple(
            Share(who, None if one.share is None else _both(one.share), _both(one.kept))
            for who, one in self.purses.items()
        )
        most = None if self.most is None else self.most * _UNIT
        others = None if self.others is None else _both(self.others)
        budget = Budget(epsilon=Fraction(max(1, self.cap), 1000), neighbours="add_remove")
        return {"people": Terms(budget, Caps(_both(self.cap), most, others), shares)}


Stated = list[tuple[int | None, int]]
STATED = st.lists(st.tuples(LIMIT, st.integers(0, 5)), min_size=3, max_size=3)
_UNIT = NANO // 1000
_UNIT_OF_DELTA = ATTO // 10**9


def _loss(price: int, failing: int) -> Loss:
    """A loss of so many thousandths of epsilon, and so many billionths of delta."""
    epsilon = Fraction(price, 1000)
    if not failing:
        return losses.pure(epsilon=epsilon).under("add_remove")
    return losses.approximate(epsilon=epsilon, delta=Fraction(failing, 10**9)).under("add_remove")


def _both(amount: int) -> Amount:
    return Amount(amount * _UNIT, amount * _UNIT_OF_DELTA)


class Machine(RuleBasedStateMachine):
    """Does the same to a ledger and to a model."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.model = Model(0, None, None, {})
        self.receipts: list[Receipt] = []
        self.open: list[Receipt] = []
        self.ledger: Ledger

    @initialize(cap=st.integers(15, 40), most=LIMIT, others=LIMIT, stated=STATED)
    def begin(self, cap: int, most: int | None, others: int | None, stated: Stated) -> None:
        self.model = self.model.limited(cap, most, others, stated)
        self.ledger = self.place.ledger(self.model.terms())

    @rule(
        who=st.sampled_from(ANALYSTS),
        price=st.integers(1, 9),
        slack=st.sampled_from([0, 0, 1, 4]),
        failing=st.sampled_from([0, 0, 1, 3]),
        plan=st.sampled_from("pq"),
    )
    def charge(self, who: str, price: int, slack: int, failing: int, plan: str) -> None:
        loss = _loss(price, failing)
        expected, found = self.model.outcome(who, price, slack + failing), None
        try:
            paid = self.ledger.charge(
                "people", loss, slack=Fraction(slack, 10**9), plan=plan, who=who, data="d"
            )
        except BudgetError as error:
            found = type(error)
        else:
            self._paid(paid, price, slack + failing)
        assert found is expected

    @rule(
        who=st.sampled_from(ANALYSTS),
        price=st.integers(1, 3),
        slack=st.sampled_from([0, 0, 1]),
        own=st.booleans(),
        plan=st.sampled_from("pq"),
    )
    def obtain(self, who: str, price: int, slack: int, own: bool, plan: str) -> None:
        loss = _loss(price, slack if own else 0)
        answer = self.model.answers.get((who, plan))
        same = [paid for paid in self.receipts if (paid.who, paid.plan) == (who, plan)]
        newest = same[-1] if same else None
        asked = price * _UNIT, Fraction(slack, 10**9)
        found: Receipt | bytes | type[Exception]
        try:
            found = self.ledger.obtain(
                "people",
                loss,
                slack=Fraction(0 if own else slack, 10**9),
                plan=plan,
                who=who,
                data="d",
                readable=lambda _: True,
            )
        except BudgetError as error:
            found = type(error)
        if answer is not None:
            assert found == answer[1]
        elif newest is not None and asked == (newest.price.nanos, newest.slack):
            assert isinstance(found, Receipt)
            assert found.seen == newest.seen
        elif isinstance(found, Receipt):
            assert self.model.outcome(who, price, slack) is None
            self._paid(found, price, slack)
        else:
            assert found is self.model.outcome(who, price, slack)

    def _paid(self, paid: Receipt, price: int, slack: int) -> None:
        assert paid not in self.receipts
        self.receipts.append(paid)
        self.open.append(paid)
        self.model.purses[paid.who].used[0] += price
        self.model.purses[paid.who].used[1] += slack

    @rule(pick=st.integers(0, 100), body=st.binary(max_size=5))
    def record(self, pick: int, body: bytes) -> None:
        if self.open:
            paid = self.open.pop(pick % len(self.open))
            self.ledger.record(paid, body)
            asked = paid.who, paid.plan
            newest = self.model.answers.get(asked, (0, b""))
            self.model.answers[asked] = max(newest, (paid.number, body))

    @rule(pick=st.integers(0, 100))
    def record_again(self, pick: int) -> None:
        done = [receipt for receipt in self.receipts if receipt not in self.open]
        if done:
            with pytest.raises(LedgerError, match="pays for one answer"):
                self.ledger.record(done[pick % len(done)], b"again")

    @rule(cap=st.integers(0, 15) | st.integers(15, 60), most=LIMIT, others=LIMIT, stated=STATED)
    def amend(self, cap: int, most: int | None, others: int | None, stated: Stated) -> None:
        changed = self.model.limited(cap, most, others, stated)
        begun = bool(self.ledger.heads())
        before = self.model if begun else changed.limited(cap, most, others, [(None, 0)] * 3)
        other = self.place.ledger(changed.terms())
        if before.can_be(changed):
            other.amend(by="owner", why="a change")
            other.check_terms()
            self.model, self.ledger = changed, other
        else:
            with pytest.raises(LedgerError, match="cannot be kept"):
                other.amend(by="owner", why="a change")

    @rule()
    def open_again(self) -> None:
        self.ledger = self.place.ledger(self.model.terms())

    @rule(pick=st.integers(0, 100))
    def show_a_receipt(self, pick: int) -> None:
        if self.receipts:
            self.ledger.hold_to(self.receipts[pick % len(self.receipts)].seen)

    @invariant()
    def the_same_is_left(self) -> None:
        for who in self.model.purses:
            price, delta = self.ledger.left("people", who)
            assert price.nanos == self.model.left(who, 0) * _UNIT
            assert delta == Fraction(self.model.left(who, 1), 10**9)

    @rule()
    def look_for_answers(self) -> None:
        for who in self.model.purses:
            for plan in "pq":
                found = self.ledger.find("people", who=who, plan=plan, data="d")
                assert found == self.model.answers.get((who, plan), (0, None))[1]

    def teardown(self) -> None:
        if self.model.purses:
            self.look_for_answers()
        for found in verify(self.ledger) if self.model.purses else ():
            assert found.spent.nanos == self.model.spent(0) * _UNIT
            assert found.slack == Fraction(self.model.spent(1), 10**9)
            assert found.charges == len(self.receipts)
            assert found.answers == len(self.receipts) - len(self.open)
        self.place.remove()


def _compare(place: Place, examples: int) -> None:
    class Here(Machine):
        def __init__(self) -> None:
            super().__init__(place.beside())

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            database=None,
            phases=(Phase.explicit, Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_ledger_does_what_a_dictionary_does(plain: Place) -> None:
    _compare(plain, {"memory": 60, "sqlite": 12, "postgres": 6}[plain.kind])


@pytest.mark.soak
@pytest.mark.parametrize("piece", range(4))
def test_a_ledger_does_what_a_dictionary_does_for_long(plain: Place, piece: int) -> None:
    del piece  # each draws its own
    _compare(plain, {"memory": 1_500, "sqlite": 250, "postgres": 60}[plain.kind])
