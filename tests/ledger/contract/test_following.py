# SPDX-License-Identifier: Apache-2.0
"""An entry is added if the one that it follows is still the newest, in every ledger."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from threading import Thread

import pytest

from sordino.errors import BudgetExceeded, LedgerError, QuestionTooDear
from sordino.ledger import rules
from sordino.ledger.entry import Entry, hash_of
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Note, Wanted
from sordino.privacy.currency import PURE
from tests.ledger.contract.ledgers import (
    BODY,
    NANO,
    Place,
    allowed,
    charge,
    last,
    left,
    numbers,
    shares,
    verified,
)

NOTE = Note("2026-01-01T00:00:00Z")


def hashed(ledger: Ledger, before: Entry, draft: Entry) -> Entry:
    return draft._replace(hash=hash_of(draft, before.hash, ledger.chain.digest))


def next_charge(ledger: Ledger, before: Entry, who: str = "ann", plan: str = "next") -> Entry:
    """Return a charge that may follow an entry about the same analyst."""
    wanted = Wanted(who, NANO // 10, 0, plan, "data")
    return hashed(ledger, before, rules.charged(before, before, wanted, PURE, NOTE))


def next_answer(ledger: Ledger, paid: Entry) -> Entry:
    told = hashlib.sha256(BODY).hexdigest()
    return hashed(ledger, paid, rules.answered(paid, paid, paid, told, NOTE))


def test_an_entry_follows_the_newest_one_and_is_durable(place: Place) -> None:
    ledger, other = place.ledger(), place.ledger()
    charge(ledger, "0.25")
    before = last(ledger)
    paid = next_charge(ledger, before)
    assert ledger.store.follow(before, paid)
    assert last(other) == paid
    answer = next_answer(ledger, paid)
    assert other.store.follow(paid, answer, BODY)
    assert last(ledger) == answer
    with ledger.store.read() as pages:
        assert pages.body(answer) == BODY
        assert pages.answer_of(paid) is not None
    assert left(other) == Fraction(65, 100)
    assert verified(other).answers == 1


def test_an_entry_follows_in_a_store_that_was_just_opened(place: Place) -> None:
    ledger = place.ledger()
    charge(ledger, "0.25")
    before = last(ledger)
    store = place.store()
    try:
        assert store.follow(before, next_charge(ledger, before))
    finally:
        store.close()
    assert numbers(ledger) == [1, 2, 3]


def test_an_entry_does_not_follow_an_older_or_another_one(place: Place) -> None:
    ledger = place.ledger()
    charge(ledger, "0.25")
    older = last(ledger)
    charge(ledger, "0.25")
    newest = last(ledger)
    late, other = next_charge(ledger, older), newest._replace(hash="0" * 64)
    before = ledger.heads(), numbers(ledger), left(ledger)
    assert not ledger.store.follow(older, late)
    assert not ledger.store.follow(other, next_charge(ledger, other))
    far = newest._replace(number=newest.number + 5)
    assert not ledger.store.follow(far, next_charge(ledger, far))
    assert not ledger.store.follow(older, next_answer(ledger, older), BODY)
    assert (ledger.heads(), numbers(ledger), left(ledger)) == before
    paid = next_charge(ledger, newest)
    assert ledger.store.follow(newest, paid)
    assert not ledger.store.follow(newest, paid)
    assert numbers(ledger) == [1, 2, 3, 4]


def test_an_entry_of_an_id_space_that_is_not_there_follows_nothing(place: Place) -> None:
    ledger = place.ledger()
    charge(ledger, "0.25")
    strange = last(ledger)._replace(people="staff")
    assert not ledger.store.follow(strange, next_charge(ledger, strange))
    assert [seen.people for seen in ledger.heads()] == ["people"]


def test_what_breaks_a_rule_follows_nothing(kept: Place) -> None:
    ledger = kept.ledger(allowed(1))
    charge(ledger, "0.25")
    before = last(ledger)
    good = next_charge(ledger, before)
    for forged in (
        good._replace(spent=good.spent - 1),
        good._replace(cap=2 * NANO),
        good._replace(used=0),
        good._replace(kind="answer", price=0, charge=7),
    ):
        try:
            added = ledger.store.follow(before, hashed(ledger, before, forged))
        except LedgerError:
            added = False
        assert not added
        assert numbers(ledger) == [1, 2]
    assert ledger.store.follow(before, good)


def test_only_one_of_many_threads_follows_an_entry(place: Place) -> None:
    ledger, added = place.ledger(), []
    charge(ledger, "0.25")
    before = last(ledger)
    entries = [next_charge(ledger, before, plan=f"plan {number}") for number in range(8)]

    def follow(entry: Entry) -> None:
        added.append(ledger.store.follow(before, entry))

    threads = [Thread(target=follow, args=(entry,)) for entry in entries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(added) == [False] * 7 + [True]
    assert numbers(ledger) == [1, 2, 3]


# The same, as a ledger uses it. -----------------------------------------------------------------


def test_two_ledgers_may_charge_and_record_in_any_turns(place: Place) -> None:
    one, two = place.ledger(), place.ledger()
    waiting = []
    for number, (who, ledger) in enumerate(
        [("ann", one), ("ann", two), ("bob", one), ("ann", one), ("ann", one), ("bob", two)] * 2
    ):
        waiting.append(charge(ledger, "0.01", who=who, plan=f"plan {number}"))
        if number % 3 == 2:
            for receipt in waiting:
                (one, two)[number % 2].record(receipt, receipt.plan.encode())
            waiting.clear()
    assert numbers(one) == numbers(two) == list(range(1, 26))
    assert (left(one), left(two)) == (Fraction(88, 100), Fraction(88, 100))
    assert one.find("people", who="bob", plan="plan 5", data="data") == b"plan 5"
    assert (verified(two).charges, verified(two).answers) == (12, 12)


def test_what_another_ledger_spends_is_not_spent_again(place: Place) -> None:
    one, two = place.ledger(), place.ledger()
    charge(one, "0.25")
    charge(two, "0.25")
    charge(one, "0.25")
    charge(two, "0.25")
    for ledger in (one, two):
        with pytest.raises(BudgetExceeded, match="epsilon 0 is left"):
            charge(ledger, "0.25")
    assert verified(one).spent.nanos == NANO


def test_limits_that_another_one_changes_hold_at_once(place: Place) -> None:
    ledger = place.ledger(allowed(1, slack="1e-9", question="0.1"))
    charge(ledger, "0.1", slack="1e-9")
    with pytest.raises(QuestionTooDear):
        charge(ledger, "0.2")
    with pytest.raises(BudgetExceeded):
        charge(ledger, "0.1", slack="1e-9")
    more = place.ledger(allowed(1, slack="1e-6", question="0.3"))
    more.amend(by="owner", why="more")
    assert charge(ledger, "0.2", slack="1e-9").slack_left == Fraction(998, 10**9)
    charge(ledger, "0.2", slack="1e-9")
    less = place.ledger(allowed(1, slack="1e-6", question="0.05"))
    less.amend(by="owner", why="less")
    with pytest.raises(QuestionTooDear):
        charge(ledger, "0.1")
    assert left(ledger) == Fraction(1, 2)


def test_shares_hold_for_charges_that_follow_each_other(place: Place) -> None:
    ledger = place.ledger(allowed(1, analysts=shares(ann=("0.5", "0.25"), others=("0.4", 0))))
    for _ in range(4):
        charge(ledger, "0.1", who="eve")
    with pytest.raises(BudgetExceeded, match="for 'eve'"):
        charge(ledger, "0.1", who="eve")
    for _ in range(5):
        charge(ledger, "0.1", who="ann")
    with pytest.raises(BudgetExceeded, match="for 'ann'"):
        charge(ledger, "0.1", who="ann")
    assert left(ledger, "bob") == Fraction(1, 10)


def test_a_charge_that_was_just_made_pays_for_one_answer(place: Place) -> None:
    ledger = place.ledger()
    receipt = charge(ledger, "0.25")
    ledger.record(receipt, b"answer")
    with pytest.raises(LedgerError, match="pays for one answer"):
        ledger.record(receipt, b"another")
    newest = ledger.heads()[0]
    forged = receipt._replace(number=newest.number, head=newest.head)
    with pytest.raises(LedgerError, match="pays for one answer"):
        ledger.record(forged, b"an answer to an answer")
    with pytest.raises(LedgerError, match="no charge that this receipt is for"):
        ledger.record(charge(ledger, "0.25")._replace(head="0" * 64), b"another")
    assert verified(ledger).answers == 1
