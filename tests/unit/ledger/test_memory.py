# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
from threading import Thread

import pytest

from sordino.errors import BudgetExceeded, LedgerError
from sordino.ledger.memory import MemoryLedger
from sordino.privacy import Budget, losses
from sordino.query.catalog import Catalog, Purse

SLACK = Fraction(1, 10**6)
PURSES = (
    ("patients", Purse(Budget(epsilon=1, neighbours="add_remove"), slack=SLACK)),
    ("staff", Purse(Budget(epsilon=1, delta=1e-6, neighbours="add_remove"))),
)


def ledger() -> MemoryLedger:
    return MemoryLedger(Catalog(tables=(), purses=PURSES))


def pay(book: MemoryLedger, epsilon: float, slack: Fraction = Fraction(0)) -> int:
    loss = losses.pure(epsilon=epsilon).under("add_remove")
    return book.charge("patients", loss, slack=slack, fingerprint="f", who="ann").number


def test_a_charge_is_numbered_and_says_what_is_left() -> None:
    book = ledger()
    loss = losses.pure(epsilon=0.25).under("add_remove")
    receipt = book.charge("patients", loss, slack=SLACK / 4, fingerprint="f", who="ann")
    assert (receipt.number, str(receipt.price), str(receipt.left)) == (
        1, "epsilon 0.25", "epsilon 0.75",
    )  # fmt: skip
    assert receipt.slack_left == SLACK * 3 / 4
    assert book.left("patients") == (receipt.left, receipt.slack_left)
    assert pay(book, 0.25) == 2


def test_what_does_not_fit_costs_nothing() -> None:
    book = ledger()
    pay(book, 0.75, SLACK)
    before = book.left("patients")
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.5, but epsilon 0\.25 is left"):
        pay(book, 0.5)
    with pytest.raises(BudgetExceeded, match="delta 0 is left"):
        pay(book, 0.1, SLACK / 10)
    assert book.left("patients") == before


def test_id_spaces_have_budgets_of_their_own() -> None:
    book = ledger()
    pay(book, 1)
    assert str(book.left("staff")[0]) == str(PURSES[1][1].budget.cap)
    with pytest.raises(LedgerError, match="no budget is declared for 'guests'"):
        book.left("guests")


def test_a_charge_pays_for_one_answer() -> None:
    book = ledger()
    loss = losses.pure(epsilon=0.25).under("add_remove")
    receipt = book.charge("patients", loss, slack=Fraction(0), fingerprint="f", who="ann")
    book.record(receipt, b"answer")
    with pytest.raises(LedgerError, match="pays for one answer"):
        book.record(receipt, b"another")
    other = ledger()
    with pytest.raises(LedgerError):
        other.record(receipt, b"answer to a charge that was never made")


def test_threads_never_overspend() -> None:
    book, granted = ledger(), []

    def spend() -> None:
        for _ in range(50):
            try:
                granted.append(pay(book, 0.01, SLACK / 1000))
            except BudgetExceeded:
                return

    threads = [Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(1, 101))
    assert book.left("patients")[0].nanos == 0
