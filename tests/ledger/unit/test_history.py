# SPDX-License-Identifier: Apache-2.0
"""Reading a ledger: entries in their order, and how every id space stands."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from sordino.ledger import history
from sordino.ledger.history import currencies, entries, standing, with_answers
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Amount, Caps, Share, Terms
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.privacy import losses
from sordino.privacy.budget import Budget
from sordino.privacy.currency import PURE

NANO = 10**9
TERMS = {
    "nurses": Terms(Budget(epsilon=5), Caps(Amount(5 * NANO, 0))),
    "patients": Terms(
        Budget(epsilon=1),
        Caps(Amount(NANO, 10**12), most=NANO // 2, others=Amount(NANO // 4, 10**11)),
        (Share("alice", Amount(NANO // 2, 10**12), Amount(NANO // 5, 10**11)),),
    ),
}


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    kept = request.param == "sqlite"
    ledger = Ledger(SqliteStore(tmp_path / "ledger") if kept else MemoryStore(), TERMS)
    yield ledger
    ledger.close()


def charge(ledger: Ledger, who: str, people: str = "patients", *, times: int = 1) -> None:
    for k in range(times):
        loss, slack = losses.pure(epsilon=Fraction(1, 100)), Fraction(1, 10**8)
        slack = slack if people == "patients" else Fraction(0)
        receipt = ledger.charge(people, loss, slack=slack, plan=f"plan {k}", who=who)
        ledger.record(receipt, f"answer {k}".encode())


def test_a_new_ledger_stands_as_it_is_declared(ledger: Ledger) -> None:
    nurses, patients = standing(ledger, who="bob")
    assert (nurses.people, patients.people) == ("nurses", "patients")
    assert nurses.left.price.nanos == 5 * NANO
    assert nurses.question is None
    assert patients.held.price.nanos == NANO // 5
    assert [part.who for part in patients.parts] == ["alice", "bob"]
    alice, bob = patients.parts
    assert alice.left.price.nanos == NANO // 2
    assert bob.left.price.nanos == NANO // 4
    assert list(entries(ledger)) == []
    assert currencies(ledger) == {}


def test_what_was_spent_is_told_of_each_analyst(ledger: Ledger) -> None:
    charge(ledger, "alice", times=3)
    charge(ledger, "carol")
    _, patients = standing(ledger)
    assert currencies(ledger) == {"nurses": PURE, "patients": PURE}
    assert patients.spent.price.nanos == NANO // 25
    assert patients.spent.delta == Fraction(4, 10**8)
    assert patients.left.price.nanos == NANO - NANO // 25
    assert patients.held.price.nanos == NANO // 5 - 3 * NANO // 100
    assert patients.question is not None
    assert patients.question.nanos == NANO // 2
    alice, carol = patients.parts
    assert (alice.who, carol.who) == ("alice", "carol")
    assert alice.spent.price.nanos == 3 * NANO // 100
    assert alice.most is not None
    assert alice.most.price.nanos == NANO // 2
    assert carol.most is not None
    assert carol.most.price.nanos == NANO // 4
    assert (alice.kept.price.nanos, carol.kept.price.nanos) == (NANO // 5, 0)
    for part in (alice, carol):
        left, delta = ledger.left("patients", part.who)
        assert (part.left.price, part.left.delta) == (left, delta)
    assert patients.part("alice") == alice
    assert patients.part("nobody") is None


def test_a_cap_that_was_lowered_below_what_is_spent_leaves_nothing(ledger: Ledger) -> None:
    charge(ledger, "bob", "nurses", times=3)
    ledger.terms["nurses"] = Terms(Budget(epsilon=1), Caps(Amount(NANO // 100, 0)))
    ledger.amend(by="owner", why="too much")
    assert standing(ledger)[0].left.price.nanos == 0


def test_entries_come_by_id_space_in_their_order(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_AT_ONCE", 3)  # several parts
    charge(ledger, "alice", times=4)
    charge(ledger, "bob", "nurses", times=2)
    found = [(entry.people, entry.number) for entry in entries(ledger)]
    assert found == [("nurses", n) for n in range(1, 6)] + [("patients", n) for n in range(1, 11)]
    assert [entry.number for entry in entries(ledger, people="nurses")] == [1, 2, 3, 4, 5]
    assert [entry.number for entry in entries(ledger, people="patients", last=4)] == [7, 8, 9, 10]
    assert [entry.number for entry in entries(ledger, last=1)] == [5, 10]
    assert len(list(entries(ledger, last=100))) == 15
    assert list(entries(ledger, last=0)) == []
    assert list(entries(ledger, people="nobody")) == []


def test_entries_of_an_analyst_are_found_however_far_back(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_AT_ONCE", 3)
    charge(ledger, "bob")
    charge(ledger, "carol", times=5)
    assert [entry.number for entry in entries(ledger, who="bob", last=2)] == [3, 4]
    assert [entry.number for entry in entries(ledger, who="bob")] == [3, 4]
    assert {entry.who for entry in entries(ledger, who="carol")} == {"carol"}


def test_others_may_go_on_while_entries_are_read(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_AT_ONCE", 2)
    charge(ledger, "bob", times=2)
    found = entries(ledger, people="patients")
    first = next(found)
    charge(ledger, "bob")
    assert [first.number, *(entry.number for entry in found)] == [1, 2, 3, 4, 5, 6]


def test_answers_come_with_their_entries(ledger: Ledger) -> None:
    charge(ledger, "bob", times=2)
    bodies = {entry.number: body for entry, body in with_answers(ledger) if body is not None}
    assert bodies == {4: b"answer 0", 6: b"answer 1"}
