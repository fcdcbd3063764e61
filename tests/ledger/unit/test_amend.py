# SPDX-License-Identifier: Apache-2.0
"""Limits change only on record: by whom, why, and without giving back what was spent."""

from fractions import Fraction

import pytest

from sordino.catalog.model import Catalog
from sordino.errors import BudgetExceeded, LedgerError
from sordino.ledger.ledger import Ledger
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.verify import verify
from sordino.privacy import Budget
from tests.ledger.unit.samples import analyst, catalog, in_memory, pay

TWO = (analyst("ann", "0.6", "0.4"), analyst("bob", None, "0.4"))


def amended(store: MemoryStore, declared: Catalog) -> Ledger:
    """Return the ledger after the owner has stated other limits, and put them on record."""
    ledger = in_memory(declared, store)
    with pytest.raises(LedgerError, match="'sordino ledger amend'"):
        ledger.check_terms()
    made = ledger.amend(by="olga", why="the board said so")
    assert made
    assert {(entry.by, entry.why) for entry in made} == {("olga", "the board said so")}
    ledger.check_terms()
    assert ledger.amend(by="olga", why="again") == []
    verify(ledger)
    return ledger


def left(ledger: Ledger, who: str) -> str:
    return str(ledger.left("people", who)[0])


def test_a_budget_is_raised_and_lowered_on_record() -> None:
    store = MemoryStore()
    pay(in_memory(store=store), "0.75")
    assert left(amended(store, catalog("2")), "ann") == "epsilon 1.25"
    assert left(amended(store, catalog("0.5")), "ann") == "epsilon 0"
    back = amended(store, catalog("1"))
    assert left(back, "ann") == "epsilon 0.25"
    with pytest.raises(BudgetExceeded):
        pay(back, "0.26")


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (catalog("2"), "epsilon 1 on record and epsilon 2 stated"),
        (catalog(slack=Fraction(1, 10**7)), "epsilon 1 on record"),
        (catalog(question="0.1"), "the most for one question"),
        (catalog(analysts=[analyst("*", "0.5")]), "the share of all others"),
        (catalog(analysts=[analyst("ann", "0.5")]), "the share of 'ann'"),
        (catalog(analysts=[analyst("bob", None, "0.1")]), "the share of 'bob'"),
    ],
)
def test_limits_that_are_not_on_record_are_refused_by_name(declared: Catalog, said: str) -> None:
    store = MemoryStore()
    pay(in_memory(store=store))
    with pytest.raises(LedgerError, match="differ on the limits of 'people'") as caught:
        in_memory(declared, store).check_terms()
    assert said in str(caught.value)
    amended(store, declared)


def test_the_record_holds_for_those_who_were_not_told() -> None:
    store = MemoryStore()
    old = in_memory(store=store)
    pay(old, "0.1")
    amended(store, catalog("0.2", question="1"))
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.1 is left"):
        pay(old, "0.100000001")


def test_shares_are_given_out_anew_when_the_budget_is_halved() -> None:
    store = MemoryStore()
    everybody = (*TWO, analyst("*"))
    pay(in_memory(catalog(analysts=everybody), store), "0.1", who="eve")
    ledger = amended(store, catalog("0.5", analysts=everybody))
    assert [left(ledger, who) for who in ("ann", "bob", "eve")] == [
        "epsilon 0.2",
        "epsilon 0.2",
        "epsilon 0",
    ]
    pay(ledger, "0.2", who="bob")
    pay(ledger, "0.2", who="ann")


def test_what_is_kept_moves_from_one_to_another() -> None:
    store = MemoryStore()
    pay(in_memory(catalog(analysts=[analyst("ann", None, "1")]), store), "0.25", who="ann")
    ledger = amended(store, catalog(analysts=[analyst("bob", None, "0.75"), analyst("*")]))
    assert [left(ledger, who) for who in ("ann", "bob")] == ["epsilon 0", "epsilon 0.75"]
    with pytest.raises(BudgetExceeded):
        pay(ledger, "0.000000001", who="ann")
    pay(ledger, "0.75", who="bob")


def test_more_than_is_left_cannot_be_kept() -> None:
    store = MemoryStore()
    pay(in_memory(store=store), "0.75")
    before = in_memory(store=store).heads()
    ledger = in_memory(catalog(analysts=[analyst("bob", None, "0.5")]), store)
    with pytest.raises(LedgerError, match="so much cannot be kept for 'bob'"):
        ledger.amend(by="olga", why="too late")
    assert ledger.heads() == before
    assert left(in_memory(store=store), "ann") == "epsilon 0.25"


def test_an_analyst_who_is_no_longer_named_has_no_share() -> None:
    store = MemoryStore()
    pay(in_memory(catalog(analysts=[analyst("ann", "0.1")]), store), "0.1")
    ledger = amended(store, catalog())
    assert left(ledger, "ann") == "epsilon 0.9"


def test_a_new_id_space_is_opened_by_an_amendment() -> None:
    store = MemoryStore()
    pay(in_memory(store=store))
    purses = catalog().purses + catalog("3", people="staff").purses
    both = in_memory(Catalog(tables=(), purses=purses), store)
    with pytest.raises(LedgerError, match="does not know the people 'staff'"):
        both.check_terms()
    with pytest.raises(LedgerError, match=r"ledger of version 0\.1 knows an id space only once"):
        both.check_terms()
    with pytest.raises(LedgerError, match="put the new one on record with 'sordino ledger amend'"):
        pay(both, people="staff")
    (made,) = both.amend(by="olga", why="staff")
    assert (made.kind, made.people, made.by, made.why) == ("open", "staff", "olga", "staff")
    both.check_terms()
    pay(both, people="staff")
    both.amend(by="olga", why="again")
    assert str(both.left("staff", "ann")[0]) == "epsilon 2.9"


def test_the_currency_of_an_id_space_is_fixed() -> None:
    store = MemoryStore()
    pay(in_memory(store=store))
    ledger = in_memory(catalog(budget=Budget(rho=1, neighbours="add_remove")), store)
    for use in (
        ledger.check_terms,
        lambda: ledger.amend(by="olga", why="rho is better"),
        lambda: pay(ledger),
        lambda: ledger.left("people", "ann"),
    ):
        with pytest.raises(LedgerError, match="counts epsilon for 'people' and the catalog rho"):
            use()


@pytest.mark.parametrize(("by", "why"), [("", "x"), ("x", ""), (" ", "x"), ("x", "\n")])
def test_a_change_needs_a_name_and_a_reason(by: str, why: str) -> None:
    with pytest.raises(ValueError, match="needs a name and a reason"):
        in_memory().amend(by=by, why=why)
