# SPDX-License-Identifier: Apache-2.0
"""Whatever is asked in whatever order, the sums stay true and no limit is broken."""

from dataclasses import dataclass, field
from typing import TypeGuard

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import BudgetError, BudgetExceeded, LedgerError, QuestionTooDear
from sordino.ledger import rules
from sordino.ledger.entry import Entry
from sordino.ledger.rules import Amount, Caps, Note, Share, Wanted
from sordino.privacy.currency import PURE

NOTE = Note("then", "the owner", "because")
NAMES = ("ann", "bob", "eve")

amounts = st.builds(Amount, st.integers(0, 30), st.integers(0, 8))
caps = st.builds(
    Caps,
    cap=st.builds(Amount, st.integers(1, 60), st.integers(0, 12)),
    most=st.none() | st.integers(0, 25),
    others=st.none() | amounts,
)
shares = st.builds(Share, st.sampled_from(NAMES), st.none() | amounts, amounts)
charges = st.builds(
    Wanted,
    who=st.sampled_from(NAMES),
    price=st.integers(1, 25),
    slack=st.sampled_from([0, 0, 0, 1, 3]),
    plan=st.just("plan"),
    data=st.just("data"),
)


@dataclass
class Book:
    """The newest entries, and beside them sums that are added up in the plainest way."""

    last: Entry
    own: dict[str, Entry] = field(default_factory=dict)
    paid: list[Wanted] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        assert entry.number == self.last.number + 1
        self.last = entry
        if entry.who:
            self.own[entry.who] = entry

    def room(self, who: str) -> Amount:
        return rules.room(self.last, self.own.get(who))

    def charge(self, wanted: Wanted) -> bool:
        try:
            entry = rules.charged(self.last, self.own.get(wanted.who), wanted, PURE, NOTE)
        except BudgetError:
            return False
        self.add(entry)
        self.paid.append(wanted)
        return True

    def share(self, share: Share) -> bool:
        try:
            entry = rules.shared(self.last, self.own.get(share.who), share, NOTE)
        except LedgerError:
            return False
        self.add(entry)
        return True

    def amend(self, step: Share | Caps) -> None:
        if isinstance(step, Share):
            self.share(step)
        else:
            self.add(rules.limited(self.last, step, NOTE))

    def used(self, who: str) -> Amount:
        mine = [wanted for wanted in self.paid if wanted.who == who]
        return Amount(sum(each.price for each in mine), sum(each.slack for each in mine))

    def unspent(self, who: str) -> Amount:
        own, used = self.own.get(who), self.used(who)
        if own is None:
            return Amount(0, 0)
        return Amount(max(0, own.kept - used.nanos), max(0, own.kept_slack - used.slack))

    def check_sums(self) -> None:
        last = self.last
        assert last.spent == sum(each.price for each in self.paid)
        assert last.spent_slack == sum(each.slack for each in self.paid)
        assert last.held == sum(self.unspent(who).nanos for who in NAMES)
        assert last.held_slack == sum(self.unspent(who).slack for who in NAMES)
        for who, own in self.own.items():
            assert Amount(own.used, own.used_slack) == self.used(who)


def fits(book: Book, wanted: Wanted) -> bool:
    """Say whether a charge fits, from the limits as they are told to the owner."""
    last, own, used = book.last, book.own.get(wanted.who), book.used(wanted.who)
    others = [book.unspent(who) for who in NAMES if who != wanted.who]
    share, share_slack = last.others, last.others_slack
    if own is not None and own.share is not None:
        share, share_slack = own.share, own.share_slack
    kept, kept_slack = sum(each.nanos for each in others), sum(each.slack for each in others)
    return (
        (last.most is None or wanted.price <= last.most)
        and last.spent + wanted.price + kept <= last.cap
        and (share is None or used.nanos + wanted.price <= share)
        and (wanted.slack == 0 or last.spent_slack + wanted.slack + kept_slack <= last.cap_slack)
        and (wanted.slack == 0 or share_slack is None or used.slack + wanted.slack <= share_slack)
    )


def taken(step: Share | Wanted | Caps, book: Book) -> TypeGuard[Wanted]:
    """Take a step, and tell whether it is a charge that was made; it is if it fits, only then."""
    if not isinstance(step, Wanted):
        book.amend(step)
        return False
    wanted = fits(book, step)
    assert book.charge(step) == wanted
    return wanted


def opened(stated: Caps) -> Book:
    return Book(rules.opened("people", stated, NOTE))


@settings(max_examples=150)
@given(caps, st.lists(shares | charges, max_size=30))
def test_within_fixed_limits_spent_and_held_stay_in_the_cap(
    stated: Caps, steps: list[Share | Wanted]
) -> None:
    book = opened(stated)
    for step in steps:
        taken(step, book)
        book.check_sums()
        assert book.last.spent + book.last.held <= book.last.cap
        assert book.last.spent_slack + book.last.held_slack <= book.last.cap_slack


@settings(max_examples=150)
@given(caps, st.lists(shares | charges | caps, max_size=30))
def test_limits_that_move_never_let_a_charge_break_those_of_its_time(
    stated: Caps, steps: list[Share | Wanted | Caps]
) -> None:
    book = opened(stated)
    for step in steps:
        if taken(step, book):
            assert book.last.spent <= book.last.cap
            assert not step.slack or book.last.spent_slack <= book.last.cap_slack
        book.check_sums()


@settings(max_examples=100)
@given(caps, st.lists(shares | charges | caps, max_size=12), st.sampled_from((*NAMES, "new")))
def test_room_is_exactly_what_a_charge_may_take(
    stated: Caps, steps: list[Share | Wanted | Caps], who: str
) -> None:
    book = opened(stated)
    for step in steps:
        taken(step, book)
    free = rules.limited(book.last, _without_most(book.last), NOTE)
    own, left = book.own.get(who), book.room(who)
    for price in range(1, left.nanos + 3):
        for slack in range(left.slack + 2):
            wanted = Wanted(who, price, slack, "p", "d")
            if price <= left.nanos and slack <= left.slack:
                assert rules.charged(free, own, wanted, PURE, NOTE).spent == free.spent + price
            else:
                with pytest.raises(BudgetExceeded):
                    rules.charged(free, own, wanted, PURE, NOTE)


def _without_most(last: Entry) -> Caps:
    if last.others is None or last.others_slack is None:
        return Caps(Amount(last.cap, last.cap_slack))
    return Caps(Amount(last.cap, last.cap_slack), None, Amount(last.others, last.others_slack))


@settings(max_examples=100)
@given(caps, st.lists(shares, max_size=5), st.lists(charges, max_size=30))
def test_nobody_can_spend_what_is_kept_for_another(
    stated: Caps, given_out: list[Share], asked: list[Wanted]
) -> None:
    book = opened(stated)
    for share in given_out:
        book.share(share)
    before = book.room("ann")
    mine = book.unspent("ann")
    for wanted in asked:
        if wanted.who != "ann":
            book.charge(wanted)
    assert book.unspent("ann") == mine
    assert book.room("ann").nanos >= min(before.nanos, mine.nanos)
    assert book.room("ann").slack >= min(before.slack, mine.slack)


def test_a_price_must_be_above_nothing() -> None:
    book = opened(Caps(Amount(10, 10)))
    for price, slack in ((0, 0), (-1, 0), (0, 1), (5, -1)):
        with pytest.raises(ValueError, match="nothing is ever refunded"):
            book.charge(Wanted("ann", price, slack, "p", "d"))


def test_a_refusal_says_what_would_fit_and_for_whom() -> None:
    book = opened(Caps(Amount(10**9, 0), 5 * 10**8, Amount(10**8, 0)))
    with pytest.raises(QuestionTooDear, match=r"at most epsilon 0\.5"):
        rules.charged(book.last, None, Wanted("ann", 10**9, 0, "p", "d"), PURE, NOTE)
    with pytest.raises(BudgetExceeded, match=r"but epsilon 0\.1 for 'ann' is left"):
        rules.charged(book.last, None, Wanted("ann", 2 * 10**8, 0, "p", "d"), PURE, NOTE)
    with pytest.raises(
        BudgetExceeded, match="delta 1e-18 to discover keys or to fail, but delta 0 is left"
    ):
        rules.charged(book.last, None, Wanted("ann", 1, 1, "p", "d"), PURE, NOTE)


def test_every_limit_is_met_exactly_and_not_passed_by_one() -> None:
    limits = Caps(Amount(100, 10), 7, Amount(5, 3))
    alone, others = opened(limits), opened(limits)
    assert alone.share(Share("ann", Amount(20, 4), Amount(0, 0)))
    for who, book, most in (("ann", alone, 7), ("bob", others, 5)):
        assert not book.charge(Wanted(who, most + 1, 0, "p", "d"))
        assert book.charge(Wanted(who, most, 0, "p", "d"))
    assert not others.charge(Wanted("bob", 1, 0, "p", "d"))
    assert alone.charge(Wanted("ann", 7, 4, "p", "d"))
    assert not alone.charge(Wanted("ann", 1, 1, "p", "d"))
    assert not alone.charge(Wanted("ann", 7, 0, "p", "d"))
    assert alone.charge(Wanted("ann", 6, 0, "p", "d"))


def test_more_than_the_budget_cannot_be_kept() -> None:
    book = opened(Caps(Amount(10, 4)))
    assert book.share(Share("ann", None, Amount(6, 1)))
    assert not book.share(Share("bob", None, Amount(5, 1)))
    assert not book.share(Share("bob", None, Amount(1, 4)))
    assert book.share(Share("bob", None, Amount(4, 3)))
    assert (book.last.held, book.last.held_slack) == (10, 4)
    assert book.room("eve") == Amount(0, 0)


def test_less_may_always_be_kept_than_before() -> None:
    book = opened(Caps(Amount(10, 4)))
    assert book.share(Share("ann", None, Amount(5, 2)))
    assert book.share(Share("bob", None, Amount(5, 2)))
    book.add(rules.limited(book.last, Caps(Amount(5, 2)), NOTE))
    assert not book.share(Share("bob", None, Amount(6, 2)))
    assert book.share(Share("ann", None, Amount(2, 1)))
    assert book.share(Share("bob", None, Amount(2, 1)))
    assert (book.last.held, book.last.held_slack) == (4, 2)


def test_a_limit_below_what_was_spent_ends_spending_and_takes_nothing_back() -> None:
    book = opened(Caps(Amount(10, 0)))
    assert book.charge(Wanted("ann", 8, 0, "p", "d"))
    book.add(rules.limited(book.last, Caps(Amount(5, 0)), NOTE))
    assert (book.last.spent, book.room("ann")) == (8, Amount(0, 0))
    assert not book.charge(Wanted("ann", 1, 0, "p", "d"))
    book.add(rules.limited(book.last, Caps(Amount(20, 0)), NOTE))
    assert book.room("ann") == Amount(12, 0)


def test_an_answer_changes_no_sum() -> None:
    book = opened(Caps(Amount(10, 2)))
    assert book.share(Share("ann", Amount(9, 2), Amount(5, 1)))
    assert book.charge(Wanted("ann", 3, 1, "plan", "data"))
    charge = book.last
    answer = rules.answered(charge, charge, charge, "body", Note("later"))
    assert (answer.kind, answer.charge, answer.body) == ("answer", charge.number, "body")
    assert (answer.plan, answer.data, answer.who) == ("plan", "data", "ann")
    assert (answer.price, answer.price_slack) == (0, 0)
    sums = ("spent", "spent_slack", "held", "held_slack", "kept", "used", "used_slack", "share")
    assert [getattr(answer, name) for name in sums] == [getattr(charge, name) for name in sums]


def test_an_entry_takes_nothing_over_from_one_about_somebody_else() -> None:
    book = opened(Caps(Amount(10, 2)))
    assert book.share(Share("ann", Amount(9, 2), Amount(5, 1)))
    assert book.charge(Wanted("bob", 3, 1, "plan", "data"))
    last = book.last
    assert (last.share, last.kept, last.used) == (None, 0, 3)
    assert (last.held, last.cap) == (5, 10)
