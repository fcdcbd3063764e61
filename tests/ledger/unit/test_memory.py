# SPDX-License-Identifier: Apache-2.0
"""A ledger in memory: every charge within the budget, for one process, and never for two."""

from fractions import Fraction
from threading import Thread

import pytest

from sordino.catalog.model import Catalog
from sordino.errors import BudgetExceeded, LedgerError
from sordino.ledger.entry import digest_with, hash_of
from sordino.ledger.opening import open_ledger
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.verify import verify
from tests.ledger.unit.samples import SLACK, catalog, ended, in_memory, pay

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_a_charge_is_numbered_and_says_what_is_left() -> None:
    ledger = open_ledger(catalog(), None)
    receipt = pay(ledger, "0.25", slack=SLACK / 4)
    assert (receipt.number, str(receipt.price), str(receipt.left)) == (
        2, "epsilon 0.25", "epsilon 0.75",
    )  # fmt: skip
    assert receipt.slack_left == SLACK * 3 / 4
    assert ledger.left("people", "ann") == (receipt.left, receipt.slack_left)
    assert pay(ledger, "0.25").number == 3


def test_what_does_not_fit_costs_nothing() -> None:
    ledger = in_memory()
    pay(ledger, "0.75", slack=SLACK)
    before = ledger.left("people", "ann"), ledger.heads()
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.5, but epsilon 0\.25 is left"):
        pay(ledger, "0.5")
    with pytest.raises(BudgetExceeded, match="delta 0 is left"):
        pay(ledger, "0.1", slack=SLACK / 10)
    assert (ledger.left("people", "ann"), ledger.heads()) == before


def test_id_spaces_have_budgets_of_their_own() -> None:
    purses = catalog().purses + catalog("3", people="staff").purses
    ledger = in_memory(Catalog(tables=(), purses=purses))
    pay(ledger, "1")
    assert str(ledger.left("staff", "ann")[0]) == "epsilon 3"
    with pytest.raises(LedgerError, match="no budget is declared for 'guests'"):
        ledger.left("guests", "ann")


def test_threads_never_overspend() -> None:
    ledger = in_memory()
    granted: list[int] = []

    def spend() -> None:
        for _ in range(50):
            try:
                granted.append(pay(ledger, "0.01", slack=SLACK / 1000).number)
            except BudgetExceeded:
                return

    threads = [Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(2, 102))
    assert ledger.left("people", "ann")[0].nanos == 0
    assert verify(ledger)[0].charges == 100


def test_a_budget_in_memory_is_not_spent_in_a_forked_process() -> None:
    ledger = in_memory()
    receipt = pay(ledger)

    def work() -> None:
        with pytest.raises(LedgerError, match="cannot be spent in a forked process"):
            pay(ledger)
        with pytest.raises(LedgerError, match="keep the ledger in a file"):
            ledger.record(receipt, b"answer")

    assert ended(work) == 0
    assert pay(ledger).number == receipt.number + 1


def test_a_transaction_that_fails_leaves_no_trace() -> None:
    store = MemoryStore()
    ledger = in_memory(store=store)
    first = pay(ledger)
    ledger.record(first, b"answer")
    entries, bodies = list(store.entries("people")), store.bodies("people")
    last = entries[-1]
    draft = last._replace(number=last.number + 1, who="eve", plan="other", charge=99)

    def add_and_fail() -> None:
        with store.write("people") as pages:
            hashed = draft._replace(hash=hash_of(draft, last.hash, digest_with(None)))
            pages.append(hashed, b"nothing")
            pages.add_space("staff", "rho")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_and_fail()
    assert list(store.entries("people")) == entries
    assert (store.bodies("people"), store.body(draft)) == (bodies, None)
    assert (store.spaces(), store.last("staff")) == ({"people": "epsilon"}, None)
    assert store.last_of("people", "eve") is None
    assert store.answer_to("people", "eve", "other", last.data) is None
    assert ledger.find("people", who="ann", plan="plan", data="data") == b"answer"
    verify(ledger)


def test_entries_follow_each_other_and_answers_are_kept_once() -> None:
    store = MemoryStore()
    receipt = pay(in_memory(store=store))
    last = store.last("people")
    assert last is not None
    for number in (1, last.number, last.number + 2):
        with pytest.raises(LedgerError, match="without a gap"), store.write("people") as pages:
            pages.append(last._replace(number=number))
    with pytest.raises(LedgerError, match="has been opened"), store.write("people") as pages:
        pages.add_space("people", "rho")
    one = last._replace(number=last.number + 1, kind="answer", charge=receipt.number)
    assert store.answer_of(last) is None
    with store.write("people") as pages:
        pages.append(one, b"one")
    two = one._replace(number=one.number + 1)
    with pytest.raises(LedgerError, match="pays for one answer"), store.write("people") as pages:
        pages.append(two, b"two")
    assert (store.body(one), store.answer_of(last), store.last("people")) == (b"one", one, one)


def test_two_ledgers_have_nothing_to_do_with_each_other() -> None:
    one, two = in_memory(), in_memory()
    receipt = pay(one, slack=Fraction(0))
    pay(two)
    with pytest.raises(LedgerError, match="no charge that this receipt is for"):
        two.record(receipt, b"answer")
    with pytest.raises(LedgerError, match="which has been seen"):
        two.hold_to(receipt.seen)
