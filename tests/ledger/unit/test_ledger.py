# SPDX-License-Identifier: Apache-2.0
"""One charge, one answer; the same question again is free; what is no charge is refused."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sordino.catalog.model import Catalog
from sordino.errors import BudgetExceeded, LedgerError, QuestionTooDear
from sordino.ledger.ledger import Ledger, now
from sordino.ledger.verify import verify
from sordino.privacy import Budget, losses
from sordino.privacy.currency import PURE, Price
from tests.ledger.unit.samples import SLACK, analyst, catalog, in_file, in_memory, pay

ASKED = {"who": "ann", "plan": "plan", "data": "data"}


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    made = in_memory() if request.param == "memory" else in_file(tmp_path / "x", anchored=True)
    yield made
    verify(made)
    made.close()


def test_a_charge_pays_for_one_answer(ledger: Ledger) -> None:
    receipt = pay(ledger)
    ledger.record(receipt, b"answer")
    for body in (b"answer", b"another"):
        with pytest.raises(LedgerError, match="pays for one answer"):
            ledger.record(receipt, body)
    assert ledger.find("people", **ASKED) == b"answer"
    assert str(ledger.left("people", "ann")[0]) == "epsilon 0.9"


def test_an_answer_needs_a_charge(ledger: Ledger) -> None:
    receipt = pay(ledger)
    for wrong in (
        receipt._replace(number=receipt.number + 1),
        receipt._replace(number=0),
        receipt._replace(head="0" * 64),
        receipt._replace(people="staff"),
    ):
        with pytest.raises(LedgerError, match="no charge that this receipt is for"):
            ledger.record(wrong, b"answer")
    with ledger.store.read() as pages:
        first = pages.entry("people", 1)
    assert first is not None
    with pytest.raises(LedgerError):
        ledger.record(receipt._replace(number=1, head=first.hash), b"answer")
    assert ledger.find("people", **ASKED) is None


def test_an_answer_is_found_by_whoever_asked_it_of_that_data_alone(ledger: Ledger) -> None:
    assert ledger.find("people", **ASKED) is None
    ledger.record(pay(ledger), b"")
    assert ledger.find("people", **ASKED) == b""
    for name in ASKED:
        assert ledger.find("people", **{**ASKED, name: "other"}) is None
    assert ledger.find("staff", **ASKED) is None
    assert ledger.find("people", **{**ASKED, "who": ""}) is None
    ledger.record(pay(ledger), b"newer")
    assert ledger.find("people", **ASKED) == b"newer"


def test_a_charge_without_an_answer_stays(ledger: Ledger) -> None:
    pay(ledger, "0.4", slack=SLACK / 2)
    pay(ledger, "0.6", slack=SLACK / 2)
    assert ledger.left("people", "bob") == (Price(PURE, 0), Fraction(0))
    with pytest.raises(BudgetExceeded):
        pay(ledger, "0.000000001")


def test_prices_are_rounded_up_and_add_up_exactly(ledger: Ledger) -> None:
    assert pay(ledger, "0.0000000001").price.nanos == 1
    assert pay(ledger, "0.1000000001").price.nanos == 100_000_001
    assert ledger.left("people", "ann")[0].nanos == 10**9 - 100_000_002
    assert pay(ledger, slack=Fraction(1, 10**30)).slack == Fraction(1, 10**18)


def test_an_order_larger_than_the_budget_is_refused_in_words(ledger: Ledger) -> None:
    for epsilon in ("1.000000001", "1e9", "1e150"):
        with pytest.raises(BudgetExceeded, match="epsilon 1 or less would fit"):
            pay(ledger, epsilon)
    with pytest.raises(BudgetExceeded, match="to discover keys"):
        pay(ledger, slack=Fraction(10**40))
    with pytest.raises(ValueError, match="nothing is ever refunded"):
        pay(ledger, slack=Fraction(-1, 10**6))


@pytest.mark.parametrize("who", ["", " ", " ann", "x" * 101, "a\0b", "\ud800", "a\nb", 5, None])
def test_an_analyst_has_a_name(ledger: Ledger, who: Any) -> None:
    with pytest.raises(ValueError, match="an analyst has a name of 1 to 100 letters"):
        pay(ledger, who=who)
    assert ledger.heads() == ()


@pytest.mark.parametrize("who", ["*", "a b", "x" * 100, "Åse", "患者", "'; DROP TABLE entries"])
def test_any_printable_name_will_do(ledger: Ledger, who: str) -> None:
    ledger.record(pay(ledger, who=who), b"answer")
    assert ledger.find("people", who=who, plan="plan", data="data") == b"answer"
    assert str(ledger.left("people", who)[0]) == "epsilon 0.9"


@pytest.mark.parametrize("wrong", [5, None, b"plan", "\ud800", "a\0b"])
def test_what_a_store_would_keep_otherwise_is_refused(ledger: Ledger, wrong: Any) -> None:
    for asked in ({"plan": wrong}, {"data": wrong}):
        with pytest.raises((TypeError, ValueError), match="must be"):
            pay(ledger, **asked)
    for said in ({"by": wrong, "why": "x"}, {"by": "x", "why": wrong}):
        with pytest.raises((TypeError, ValueError), match="must be"):
            ledger.amend(**said)
    assert ledger.heads() == ()


def test_a_loss_for_other_neighbours_is_refused(ledger: Ledger) -> None:
    loss = losses.pure(epsilon=0.1).under("replace_one")
    with pytest.raises(ValueError, match="neighbours"):
        ledger.charge("people", loss, slack=Fraction(0), plan="p", who="ann", data="d")
    assert ledger.heads() == ()


def test_one_question_may_cost_so_much_and_no_more() -> None:
    ledger = in_memory(catalog(question="0.1"))
    with pytest.raises(QuestionTooDear, match=r"at most epsilon 0\.1"):
        pay(ledger, "0.100000001")
    for _ in range(10):
        pay(ledger, "0.1")
    with pytest.raises(BudgetExceeded):
        pay(ledger, "0.1")


def test_shares_hold_before_and_after_the_first_charge() -> None:
    analysts = [analyst("ann", "0.5", "0.3"), analyst("*", "0.4")]
    for first in (None, "0.000000001"):
        ledger = in_memory(catalog(analysts=analysts))
        if first:
            pay(ledger, first, who="eve")
        assert str(ledger.left("people", "ann")[0]) == "epsilon 0.5"
        assert str(ledger.left("people", "bob")[0]) == "epsilon 0.4"
        for who, wanted in (("ann", "0.500000001"), ("bob", "0.400000001")):
            with pytest.raises(BudgetExceeded, match=f"for '{who}' is left"):
                pay(ledger, wanted, who=who)
        pay(ledger, "0.4", who="bob")
        with pytest.raises(BudgetExceeded, match=r"for 'eve' is left"):
            pay(ledger, "0.300000001", who="eve")
        pay(ledger, "0.3", who="ann")
        verify(ledger)


def test_the_first_charge_does_not_fix_the_currency_for_those_who_opened_before(
    tmp_path: Path,
) -> None:
    rho = catalog(budget=Budget(rho=1, neighbours="add_remove"))
    early, other = in_file(tmp_path / "x", rho), in_file(tmp_path / "x")
    early.check_terms()
    pay(other, "0.5")
    for use in (lambda: pay(early, "0.5"), lambda: early.left("people", "ann")):
        with pytest.raises(LedgerError, match="counts epsilon for 'people' and the catalog rho"):
            use()
    assert str(other.left("people", "ann")[0]) == "epsilon 0.5"
    early.close()
    other.close()


def test_the_terms_of_those_who_open_later_do_not_count(tmp_path: Path) -> None:
    poor, rich = in_file(tmp_path / "x"), in_file(tmp_path / "x", catalog("5"))
    pay(poor, "0.5")
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.5 is left"):
        pay(rich, "0.6")
    poor.close()
    rich.close()


def test_people_without_a_budget_cannot_be_charged(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="no budget is declared for 'staff'"):
        pay(ledger, people="staff")


def test_heads_are_those_of_all_id_spaces() -> None:
    purses = catalog().purses + catalog(people="staff").purses
    both = in_memory(Catalog(tables=(), purses=purses))
    assert both.heads() == ()
    one, two = pay(both, people="staff"), pay(both)
    assert both.heads() == (two.seen, one.seen)


def test_the_time_is_written_in_utc() -> None:
    assert len(now()) == len("2026-01-01T12:00:00Z")
    assert now().endswith("Z")
