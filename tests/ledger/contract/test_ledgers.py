# SPDX-License-Identifier: Apache-2.0
"""Laws that hold for every ledger: in memory, in SQLite, in PostgreSQL, with and without a key."""

import enum
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
import pytest

from sordino.catalog.model import Analyst, Catalog, Purse
from sordino.errors import AnsweredError, BudgetExceeded, LedgerError
from sordino.ledger.entry import Receipt
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Terms, terms_of
from sordino.ledger.verify import verify
from sordino.privacy import Budget, losses
from sordino.privacy.currency import PURE, Price
from tests.ledger.contract.ledgers import (
    NANO,
    Place,
    Undone,
    add_and_undo,
    allowed,
    changed,
    charge,
    last,
    left,
    numbers,
    verified,
)

# Charges. ---------------------------------------------------------------------------------------


def test_a_charge_is_seen_by_whoever_opens_the_ledger(place: Place) -> None:
    first = place.ledger()
    receipt = charge(first, "0.25")
    second = place.ledger()
    assert left(second) == left(first) == Fraction(3, 4)
    second.hold_to(receipt.seen)
    assert charge(second, "0.25").number == receipt.number + 1
    assert left(first) == Fraction(1, 2)


def test_a_receipt_says_what_was_paid_and_what_is_left(place: Place) -> None:
    ledger = place.ledger(allowed(1, slack="1e-6"))
    receipt = charge(ledger, "0.25", slack="1e-7", who="bob", plan="p", data="d")
    assert (receipt.people, receipt.who, receipt.plan, receipt.data) == ("people", "bob", "p", "d")
    assert (str(receipt.price), str(receipt.left)) == ("epsilon 0.25", "epsilon 0.75")
    assert (receipt.slack, receipt.slack_left) == (Fraction(1, 10**7), Fraction(9, 10**7))
    assert ledger.left("people", "bob") == (receipt.left, receipt.slack_left)


def test_a_loss_is_priced_in_the_currency_of_each_id_space(place: Place) -> None:
    purses = ("people", Purse(Budget(epsilon=1))), ("others", Purse(Budget(epsilon=3, delta=1e-6)))
    ledger = place.ledger(terms_of(Catalog(tables=(), purses=purses)))
    small, large = losses.pure(epsilon=0.1), losses.pure(epsilon=0.2)
    asked = [(p, loss) for loss in (small, small, large) for p in ("people", "others", "people")]
    for people, loss in asked:
        paid = ledger.charge(people, loss, slack=Fraction(0), plan="p", who="ann").price
        assert paid == ledger.terms[people].budget.price(loss)


def test_the_delta_of_a_loss_is_charged_beside_its_price(place: Place) -> None:
    ledger = place.ledger(allowed(1, slack="1e-6"))
    receipt = charge(ledger, "0.25", delta="1e-7")
    assert (str(receipt.price), receipt.slack) == ("epsilon 0.25", Fraction(1, 10**7))
    assert charge(ledger, "0.25", delta="1e-7", slack="3e-7").slack == Fraction(4, 10**7)
    assert charge(ledger, "0.1", delta="1.1e-18").slack == Fraction(2, 10**18)
    with pytest.raises(BudgetExceeded, match=r"asks for delta 5e-07 to discover keys or to fail"):
        charge(ledger, "0.1", delta="5e-7")
    found = verified(place.ledger(allowed(1, slack="1e-6")))
    assert (found.spent.nanos, found.slack) == (NANO * 6 // 10, Fraction(500000000002, 10**18))
    entry = last(ledger)
    assert (entry.price, entry.price_slack, entry.spent_slack) == (NANO // 10, 2, 500000000002)


def test_thousands_of_tiny_deltas_add_up_without_error(place: Place) -> None:
    ledger = place.ledger(allowed(1, slack="1e-12"))
    for _ in range(1000):
        charge(ledger, "0.0001", delta="1e-15")
    assert ledger.left("people", "ann") == (Price(PURE, NANO * 9 // 10), Fraction(0))
    with pytest.raises(BudgetExceeded):
        charge(ledger, "0.0001", delta="1e-18")
    charge(ledger, "0.0001")


def test_failures_of_a_budget_in_rho_are_held_to_their_part(place: Place) -> None:
    ledger = place.ledger(_in_rho())
    charge(ledger, "0.1", delta="9e-8")
    price, delta = ledger.left("people", "ann")
    assert price.nanos == 24_129_622 - Budget(rho=1).price(losses.pure(epsilon=0.1)).nanos
    assert delta == Fraction(1, 10**8)
    with pytest.raises(BudgetExceeded, match="but delta 1e-08 is left"):
        charge(ledger, "0.1", delta="2e-8")


def test_a_ledger_may_count_squares_of_mu(place: Place) -> None:
    budget = Budget(epsilon=1, delta=1e-6, currency="gdp", neighbours="add_remove")
    terms = terms_of(Catalog(tables=(), purses=(("people", Purse(budget)),)))
    noise = losses.discrete_gaussian(sigma=20).under("add_remove")
    ledger = place.ledger(terms)
    for _ in range(22):
        ledger.charge("people", noise, slack=Fraction(0), plan="p", who="ann")
    with pytest.raises(BudgetExceeded, match=r"asks for gdp 0\.002500521, but gdp 0\.0004"):
        ledger.charge("people", noise, slack=Fraction(0), plan="p", who="ann")
    again = verified(place.ledger(terms))
    assert (str(again.spent), again.slack) == ("gdp 0.055011462", Fraction(22, 10**18))


def test_sums_are_exact_and_prices_are_rounded_up(place: Place) -> None:
    ledger = place.ledger()
    for _ in range(10):
        charge(ledger, "0.05")
    charge(ledger, "1e-12")
    found = verified(ledger)
    assert (found.spent.nanos, found.charges) == (NANO // 2 + 1, 11)
    assert left(ledger) == Fraction(NANO // 2 - 1, NANO)


def test_a_refusal_leaves_no_trace(place: Place) -> None:
    ledger = place.ledger(allowed(1, slack="1e-6"))
    charge(ledger, "0.75", slack="1e-6")
    before = ledger.heads(), numbers(ledger), ledger.left("people", "ann")
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.5, but epsilon 0\.25 is left"):
        charge(ledger, "0.5")
    with pytest.raises(BudgetExceeded, match="delta 0 is left"):
        charge(ledger, "0.1", slack="1e-7")
    assert (ledger.heads(), numbers(ledger), ledger.left("people", "ann")) == before


def test_a_refusal_does_not_open_an_id_space(place: Place) -> None:
    ledger = place.ledger()
    with pytest.raises(BudgetExceeded):
        charge(ledger, 2)
    assert ledger.heads() == ()
    charge(ledger, 1)


def test_an_id_space_without_a_budget_is_refused(place: Place) -> None:
    ledger = place.ledger()
    with pytest.raises(LedgerError, match="no budget is declared for 'guests'"):
        charge(ledger, "0.1", people="guests")


def _exhaust(place: Place, times: int) -> None:
    ledger = place.ledger()
    price = Fraction(1, times)
    assert [charge(ledger, price).left.nanos for _ in range(times)][-1] == 0
    with pytest.raises(BudgetExceeded, match="epsilon 0 is left"):
        charge(ledger, price)
    with pytest.raises(BudgetExceeded, match="epsilon 0 is left"):
        charge(place.ledger(), Fraction(1, NANO))
    assert (verified(ledger).charges, verified(ledger).spent.nanos) == (times, NANO)


def test_a_cap_is_used_up_exactly(plain: Place) -> None:
    _exhaust(plain, {"memory": 10_000}.get(plain.kind, 400))


@pytest.mark.soak
def test_a_cap_is_used_up_exactly_by_ten_thousand_charges(plain: Place) -> None:
    _exhaust(plain, 10_000)


def test_threads_never_overspend(plain: Place) -> None:
    ledger, granted, failed = plain.ledger(), [], []

    def spend() -> None:
        try:
            while True:
                granted.append(charge(ledger, "0.01").number)
        except BudgetExceeded:
            pass
        except BaseException as error:
            failed.append(error)

    _together([spend] * 8)
    assert (failed, sorted(granted)) == ([], list(range(2, 102)))
    assert left(ledger) == 0


def test_an_id_space_is_opened_once_however_many_try(kept: Place) -> None:
    ledgers = [kept.ledger() for _ in range(6)]
    barrier, failed = Barrier(len(ledgers)), []

    def spend(ledger: Ledger) -> None:
        try:
            barrier.wait()
            charge(ledger, "0.1")
        except BaseException as error:
            failed.append(error)

    _together([partial(spend, ledger) for ledger in ledgers])
    assert (failed, numbers(ledgers[0])) == ([], list(range(1, 8)))
    assert left(ledgers[0]) == Fraction(4, 10)


def _together(work: list[Callable[[], None]]) -> None:
    threads = [Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Id spaces and currencies. ----------------------------------------------------------------------


def test_id_spaces_have_budgets_of_their_own(place: Place) -> None:
    ledger = place.ledger(allowed(1, people=("patients", "staff")))
    charge(ledger, 1, people="patients")
    assert left(ledger, people="staff") == 1
    charge(ledger, "0.5", people="staff")
    assert [seen.people for seen in ledger.heads()] == ["patients", "staff"]
    assert [str(one.spent) for one in verify(ledger)] == ["epsilon 1", "epsilon 0.5"]


def test_whoever_states_the_same_people_has_the_same_budget(place: Place) -> None:
    charge(place.ledger(allowed(1, people=("people", "others"))), "0.75")
    again = place.ledger(allowed(1))
    assert left(again) == Fraction(1, 4)
    with pytest.raises(BudgetExceeded):
        charge(again, "0.5")


def _in_rho() -> dict[str, Terms]:
    purse = Purse(Budget(epsilon=1, delta=1e-6, neighbours="add_remove"))
    return terms_of(Catalog(tables=(), purses=(("people", purse),)))


def test_the_currency_is_fixed_when_an_id_space_is_opened(place: Place) -> None:
    ledger = place.ledger()
    charge(ledger, "0.25")
    other = place.ledger(_in_rho())
    with pytest.raises(LedgerError, match="counts epsilon for 'people' and the catalog rho"):
        other.check_terms()
    with pytest.raises(LedgerError, match="counts epsilon"):
        other.amend(by="owner", why="rho is finer")
    assert len(numbers(ledger)) == 2


def test_nothing_is_charged_in_another_currency(place: Place) -> None:
    ledger, other = place.ledger(), place.ledger(_in_rho())
    charge(ledger, "0.25")
    with pytest.raises(LedgerError, match="counts epsilon"):
        charge(other, "0.01")
    assert len(numbers(ledger)) == 2


class Name(str, enum.Enum):  # noqa: UP042 - one that prints as Name.ANN
    ANN = "ann"


@pytest.mark.parametrize("name", [Name.ANN, np.str_("ann")])
def test_a_kind_of_text_is_kept_and_hashed_as_plain_text(place: Place, name: str) -> None:
    ledger = place.ledger(allowed(1, people=(name,)))
    for _ in range(2):
        receipt = charge(ledger, "0.25", people=name, who=name, plan=name, data=name)
        ledger.record(receipt, b"{}")
    ledger.terms = allowed(1, people=(name,), analysts=[Analyst(name, Fraction(3, 4))])
    ledger.amend(by=name, why=name)
    again = place.ledger(ledger.terms)
    assert {one.people for one in verify(again)} == {"ann"}
    assert type(charge(again, "0.125", people="ann", who="ann").who) is str


# Answers. ---------------------------------------------------------------------------------------


def test_a_charge_pays_for_one_answer(place: Place) -> None:
    ledger = place.ledger()
    receipt = charge(ledger, "0.25")
    ledger.record(receipt, b"answer")
    for again in (ledger, place.ledger()):
        with pytest.raises(LedgerError, match="pays for one answer"):
            again.record(receipt, b"another")
    assert ledger.find("people", who="ann", plan="plan", data="data") == b"answer"
    assert (verified(ledger).charges, verified(ledger).answers) == (1, 1)


def test_an_answer_needs_a_charge_of_this_ledger(place: Place) -> None:
    receipt = charge(place.ledger(), "0.25")
    other = place.another().ledger()
    with pytest.raises(LedgerError, match="no charge that this receipt is for"):
        other.record(receipt, b"answer to a charge that was never made")
    charge(other, "0.25")
    with pytest.raises(LedgerError, match="no charge that this receipt is for"):
        other.record(receipt, b"answer to somebody else's charge")


def test_a_stored_answer_is_found_by_the_same_question_alone(place: Place) -> None:
    ledger = place.ledger(allowed(1, people=("people", "staff")))
    ledger.record(charge(ledger, "0.25", who="ann", plan="p", data="1"), b"\x00\xffbytes")
    charge(ledger, "0.25", who="bob", plan="p", data="1")
    for reader in (ledger, place.ledger(allowed(1, people=("people", "staff")))):
        assert reader.find("people", who="ann", plan="p", data="1") == b"\x00\xffbytes"
        assert reader.find("people", who="bob", plan="p", data="1") is None
        assert reader.find("people", who="ann", plan="q", data="1") is None
        assert reader.find("people", who="ann", plan="p", data="2") is None
        assert reader.find("staff", who="ann", plan="p", data="1") is None


def test_the_answer_to_the_newest_charge_is_found(place: Place) -> None:
    ledger = place.ledger()
    first, second = charge(ledger, "0.25"), charge(ledger, "0.25")
    ledger.record(second, b"second")
    ledger.record(first, b"first")
    assert ledger.find("people", who="ann", plan="plan", data="data") == b"second"


def obtained(ledger: Ledger, epsilon: object, *, slack: object = 0, **about: str) -> object:
    """Return what there is for a question, or what a new charge gives."""
    loss = losses.pure(epsilon=Fraction(str(epsilon))).under("add_remove")
    asked = {"plan": "plan", "who": "ann", "data": "data"} | about
    return ledger.obtain(
        "people",
        loss,
        slack=Fraction(str(slack)),
        plan=asked["plan"],
        who=asked["who"],
        data=asked["data"],
        readable=lambda body: body != b"unreadable",
    )


def test_a_charge_without_an_answer_is_taken_up_and_not_made_again(place: Place) -> None:
    ledger = place.ledger()
    receipt = obtained(ledger, "0.25")
    assert isinstance(receipt, Receipt)
    for again in (ledger, place.ledger()):
        assert obtained(again, "0.25") == receipt
    assert (left(ledger), numbers(ledger)) == (Fraction(3, 4), [1, 2])
    ledger.record(receipt, b"answer")
    for again in (ledger, place.ledger()):
        assert obtained(again, "0.25") == b"answer"
        assert again.recorded(receipt) == b"answer"
        with pytest.raises(AnsweredError):
            again.record(receipt, b"another")
    assert (verified(ledger).charges, verified(ledger).answers) == (1, 1)


def test_a_charge_is_taken_up_at_its_price_alone(place: Place) -> None:
    ledger = place.ledger(allowed(1, slack="1e-6"))
    first = obtained(ledger, "0.125")
    others = [
        obtained(ledger, "0.125", slack="1e-7"),
        obtained(ledger, "0.25"),
        obtained(ledger, "0.125", who="bob"),
        obtained(ledger, "0.125", plan="other"),
        obtained(ledger, "0.125", data="other"),
    ]
    assert len({first, *others}) == 6
    assert obtained(ledger, "0.25") == others[1]


def test_the_newest_charge_is_taken_up_and_an_answer_comes_first(place: Place) -> None:
    ledger = place.ledger()
    charge(ledger, "0.125")
    second = charge(ledger, "0.125")
    assert obtained(ledger, "0.125") == second
    ledger.record(second, b"unreadable")
    third = obtained(ledger, "0.125")
    assert isinstance(third, Receipt)
    assert third.number == second.number + 2
    assert obtained(ledger, "0.125") == third
    ledger.record(third, b"answer")
    charge(ledger, "0.125")  # new noise that never came
    assert obtained(ledger, "0.125") == b"answer"
    assert verified(ledger).charges == 4


def test_a_charge_is_taken_up_when_nothing_is_left(place: Place) -> None:
    ledger = place.ledger()
    receipt = obtained(ledger, 1)
    assert obtained(place.ledger(), 1) == receipt
    with pytest.raises(BudgetExceeded):
        obtained(ledger, 1, plan="other")


def test_all_who_want_the_same_at_once_get_one_charge(kept: Place) -> None:
    ledgers = [kept.ledger() for _ in range(6)]
    charge(ledgers[0], "0.1", plan="before")
    barrier, found = Barrier(len(ledgers)), []

    def buy(ledger: Ledger) -> None:
        barrier.wait()
        found.append(obtained(ledger, "0.1"))

    _together([partial(buy, ledger) for ledger in ledgers])
    assert (len(found), len(set(found)), numbers(ledgers[0])) == (6, 1, [1, 2, 3])


def test_nothing_is_refunded(place: Place) -> None:
    ledger = place.ledger()
    receipt = charge(ledger, "0.25")
    with pytest.raises(RuntimeError), ledger.store.write("people"):
        raise RuntimeError("the engine failed")
    ledger.record(receipt, b"answer")
    assert left(ledger) == left(place.ledger()) == Fraction(3, 4)
    with pytest.raises(ValueError, match="nothing is ever refunded"):
        charge(ledger, "0.1", slack="-1e-9")
    with pytest.raises(ValueError):  # noqa: PT011 - no loss is that small
        charge(ledger, "-0.1")


def test_a_transaction_that_fails_adds_nothing(place: Place) -> None:
    ledger = place.ledger()
    receipt = charge(ledger, "0.25")
    before = ledger.heads()
    entry = last(ledger)
    sums = {"spent": entry.spent * 2, "used": entry.used * 2}
    with pytest.raises(Undone):
        add_and_undo(ledger, changed(entry, number=entry.number + 1, **sums))
    assert ledger.heads() == place.ledger().heads() == before
    ledger.record(receipt, b"answer")


# What was seen before. --------------------------------------------------------------------------


def test_a_ledger_that_lacks_a_charge_refuses_its_receipt(place: Place) -> None:
    receipt = charge(place.ledger(), "0.25")
    other = place.another().ledger()
    charge(other, "0.25", who="bob")
    with pytest.raises(LedgerError, match="lacks entry 2 of 'people'"):
        other.hold_to(receipt.seen)
    place.ledger().hold_to(receipt.seen)


def test_an_old_copy_is_refused_by_anchor_and_receipt(kept: Place, tmp_path: Path) -> None:
    anchor = tmp_path / "heads"
    charge(kept.ledger(anchor=anchor), "0.25")
    old = kept.copied()
    receipt = charge(kept.ledger(anchor=anchor), "0.25")
    with pytest.raises(LedgerError, match="lacks entry 3 of 'people'"):
        old.ledger(anchor=anchor)
    stale = old.ledger()
    with pytest.raises(LedgerError, match="lacks entry 3 of 'people'"):
        stale.hold_to(receipt.seen)
    assert left(kept.ledger(anchor=anchor)) == Fraction(1, 2)


def test_an_anchor_refuses_a_ledger_that_begins_anew(place: Place, tmp_path: Path) -> None:
    anchor = tmp_path / "heads"
    charge(place.ledger(anchor=anchor), "0.25")
    with pytest.raises(LedgerError, match="lacks entry 2"):
        place.another().ledger(anchor=anchor)


def test_a_key_is_needed_and_must_be_the_right_one(place: Place) -> None:
    charge(place.ledger(), "0.25")
    if place.key is None:
        with pytest.raises(LedgerError, match="made without a key"):
            place.ledger(key=b"another key of some length")
        return
    with pytest.raises(LedgerError, match="the key is another one"):
        place.ledger(key=b"another key of some length")
    store = place.store()
    with pytest.raises(LedgerError, match="made with a key"):
        Ledger(store, allowed())
    store.close()


def test_a_loss_that_has_no_price_costs_nothing(place: Place) -> None:
    ledger = place.ledger()
    with pytest.raises(ValueError, match="epsilon"):
        ledger.charge(
            "people",
            losses.gaussian(sigma=1).under("add_remove"),
            slack=Fraction(0),
            plan="p",
            who="ann",
        )
    assert ledger.heads() == ()
