# SPDX-License-Identifier: Apache-2.0
"""Charges that have no answer can be listed, and their receipts be had again."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sordino.errors import LedgerError
from sordino.ledger.ledger import Ledger
from tests.ledger.unit.samples import in_file, in_memory, pay


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    makers: dict[str, Callable[[], Ledger]] = {
        "memory": in_memory,
        "file": lambda: in_file(tmp_path / "study.ledger"),
    }
    made = makers[request.param]()
    yield made
    made.close()


def test_a_ledger_without_charges_has_none(ledger: Ledger) -> None:
    assert ledger.unanswered() == []


def test_charges_wait_until_they_are_answered(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino.ledger.ledger._AT_ONCE", 3)  # so that it is read in parts
    receipts = [pay(ledger) for _ in range(7)]
    for place in (5, 0, 3):
        ledger.record(receipts[place], b"answer")
    waiting = ledger.unanswered()
    assert [entry.number for entry in waiting] == [receipts[k].number for k in (1, 2, 4, 6)]


def test_a_receipt_is_had_again_as_it_was_given(ledger: Ledger) -> None:
    receipts = [pay(ledger) for _ in range(3)]
    assert [ledger.receipt_for(charge) for charge in ledger.unanswered()] == receipts
    ledger.record(ledger.receipt_for(ledger.unanswered()[1]), b"answer")
    assert ledger.recorded(receipts[1]) == b"answer"


def test_a_receipt_is_for_a_charge_on_record(ledger: Ledger) -> None:
    receipt = pay(ledger)
    (charge,) = ledger.unanswered()
    ledger.record(receipt, b"answer")
    with ledger.store.read() as pages:
        entries = list(pages.entries(charge.people))
    others = [entry for entry in entries if entry.kind != "charge"]
    for wrong in (*others, charge._replace(hash="0" * 64), charge._replace(number=99)):
        with pytest.raises(LedgerError, match="no such charge"):
            ledger.receipt_for(wrong)
