# SPDX-License-Identifier: Apache-2.0
"""Laws of shares and limits, for every ledger."""

from fractions import Fraction

import pytest

from sordino.errors import BudgetExceeded, LedgerError, QuestionTooDear, UnknownAnalyst
from tests.ledger.contract.ledgers import (
    NANO,
    Place,
    allowed,
    charge,
    left,
    numbers,
    shares,
    verified,
)

EVERYBODY = shares(ann=(None, "0.25"), bob=("0.3", "0.2"), others=(None, 0))
SHARED = shares(ann=("0.5", "0.25"), bob=("0.5", "0.25"), others=("0.25", 0))


def test_analysts_spend_their_share_and_no_more(place: Place) -> None:
    ledger = place.ledger(allowed(1, analysts=SHARED))
    assert [left(ledger, who) for who in ("ann", "bob", "eve")] == [
        Fraction(1, 2),
        Fraction(1, 2),
        Fraction(1, 4),
    ]
    charge(ledger, "0.5", who="ann")
    with pytest.raises(BudgetExceeded, match="epsilon 0 for 'ann' is left"):
        charge(ledger, "0.01", who="ann")
    charge(ledger, "0.25", who="eve")
    assert left(ledger, "kim") == 0
    charge(ledger, "0.25", who="bob")
    assert verified(ledger).spent.nanos == NANO


def test_what_is_kept_for_an_analyst_is_spent_by_nobody_else(place: Place) -> None:
    terms = allowed(
        1, slack="1e-6", analysts=shares(ann=(None, "0.25"), bob=(None, "0.5"), others=(None, 0))
    )
    ledger = place.ledger(terms)
    charge(ledger, "0.25", slack="2.5e-7", who="eve")
    with pytest.raises(BudgetExceeded, match="epsilon 0 for 'eve' is left"):
        charge(ledger, "0.01", who="eve")
    charge(ledger, "0.25", who="ann")
    with pytest.raises(BudgetExceeded):
        charge(ledger, "0.01", who="ann")
    assert ledger.left("people", "bob")[1] == Fraction(1, 2 * 10**6)
    charge(ledger, "0.5", slack="5e-7", who="bob")
    assert verified(ledger).spent.nanos == NANO


def test_who_is_not_named_gets_nothing_unless_everybody_may_ask(place: Place) -> None:
    named = shares(ann=("0.5", 0), bob=(None, "0.25"))
    ledger = place.ledger(allowed(1, analysts=named))
    assert [left(ledger, who) for who in ("ann", "bob", "anne", "owner")] == [
        Fraction(1, 2),
        Fraction(1),
        0,
        0,
    ]
    for who in ("anne", "owner"):
        with pytest.raises(UnknownAnalyst, match=rf"'{who}' is not among .* 'ann', 'bob'; ask as"):
            charge(ledger, "0.01", who=who)
        assert ledger.heads() == ()
    charge(ledger, "0.5", who="bob")
    with pytest.raises(UnknownAnalyst, match=r"add \[analysts.anne\], or \[analysts.\"\*\"\]"):
        charge(ledger, "0.01", who="anne")
    assert left(ledger, "bob") == Fraction(1, 2)
    assert left(place.another().ledger(allowed(1)), "anne") == 1


def test_a_ledger_in_which_everybody_could_ask_says_how_it_stays_so(place: Place) -> None:
    open_to_all = shares(ann=(None, "0.25"), others=(None, 0))
    charge(place.ledger(allowed(1, analysts=open_to_all)), "0.25", who="eve")
    closed = place.ledger(allowed(1, analysts=open_to_all[:1]))
    with pytest.raises(LedgerError, match=r"\[analysts.\"\*\"\] in the catalog lets everybody"):
        closed.check_terms()
    place.ledger(allowed(1, analysts=open_to_all)).check_terms()
    closed.amend(by="owner", why="those who are named")
    closed.check_terms()
    with pytest.raises(UnknownAnalyst):
        charge(closed, "0.25", who="eve")
    charge(closed, "0.75", who="ann")


def test_a_hostile_analyst_changes_nobody_elses_part(place: Place) -> None:
    terms = allowed(1, question="0.1", analysts=EVERYBODY)
    ledger = place.ledger(terms)
    for _ in range(60):
        for price in ("0.1", "0.01", "0.5"):
            try:
                charge(ledger, price, who="eve")
            except (BudgetExceeded, QuestionTooDear):
                continue
    assert left(ledger, "eve") == 0
    assert [left(ledger, who) for who in ("ann", "bob")] == [Fraction(1, 4), Fraction(1, 5)]


def test_one_question_costs_at_most_its_part(place: Place) -> None:
    ledger = place.ledger(allowed(1, question="0.1"))
    with pytest.raises(QuestionTooDear, match=r"at most epsilon 0\.1"):
        charge(ledger, "0.100000001")
    assert ledger.heads() == ()
    charge(ledger, "0.1")


def test_a_change_of_limits_is_on_record_with_who_and_why(place: Place) -> None:
    charge(place.ledger(), 1)
    raised = place.ledger(allowed(2, analysts=shares(ann=("0.75", "0.1"), others=(None, 0))))
    with pytest.raises(LedgerError, match="differ on the limits of 'people': epsilon 1 on record"):
        raised.check_terms()
    made = raised.amend(by="the owner", why="a second year")
    assert [(one.kind, one.by, one.why) for one in made] == [
        ("limits", "the owner", "a second year"),
        ("share", "the owner", "a second year"),
    ]
    raised.check_terms()
    assert raised.amend(by="the owner", why="again") == []
    assert (left(raised), left(raised, "bob")) == (Fraction(1, 2), Fraction(1))
    with pytest.raises(ValueError, match="needs a name and a reason"):
        raised.amend(by="the owner", why=" ")


def test_a_cap_can_be_lowered_below_what_is_spent(place: Place) -> None:
    charge(place.ledger(), "0.75")
    lower = place.ledger(allowed("0.5"))
    lower.amend(by="owner", why="too generous")
    assert left(lower) == 0
    with pytest.raises(BudgetExceeded):
        charge(lower, Fraction(1, NANO))
    assert verified(lower).spent.nanos == NANO * 3 // 4


def test_a_budget_that_is_all_kept_can_be_halved(place: Place) -> None:
    halves = shares(ann=(None, "0.5"), bob=(None, "0.5"))
    place.ledger(allowed(1, analysts=halves)).amend(by="owner", why="begin")
    lower = place.ledger(allowed("0.5", analysts=halves))
    lower.amend(by="owner", why="less")
    assert [left(lower, who) for who in ("ann", "bob")] == [Fraction(1, 4), Fraction(1, 4)]
    assert left(lower, "eve") == 0


def test_what_is_kept_can_be_spent_as_far_as_a_lowered_cap_allows(place: Place) -> None:
    charge(
        place.ledger(allowed(1, analysts=shares(ann=(None, "0.2"), others=(None, 0)))),
        "0.3",
        who="bob",
    )
    lower = place.ledger(allowed("0.4", analysts=shares(ann=(None, "0.5"))))
    lower.amend(by="owner", why="less")
    assert left(lower, "ann") == Fraction(1, 10)
    charge(lower, "0.05", who="ann")
    with pytest.raises(BudgetExceeded):
        charge(lower, "0.06", who="ann")
    charge(lower, "0.05", who="ann")
    assert left(lower, "ann") == 0
    assert verified(lower).spent.nanos == NANO * 4 // 10


def test_no_more_is_kept_than_there_is(place: Place) -> None:
    charge(place.ledger(), "0.75")
    greedy = place.ledger(allowed(1, analysts=shares(bob=(None, "0.5"))))
    with pytest.raises(LedgerError, match="so much cannot be kept for 'bob'"):
        greedy.amend(by="owner", why="for bob")
    assert len(numbers(greedy)) == 2


def test_the_deltas_of_losses_are_held_to_shares_and_to_what_is_kept(place: Place) -> None:
    terms = allowed(1, slack="1e-6", analysts=shares(ann=("0.5", "0.25"), others=(None, 0)))
    ledger = place.ledger(terms)
    with pytest.raises(BudgetExceeded, match=r"but delta 7\.5e-07 is left"):
        charge(ledger, "0.1", delta="7.6e-7", who="eve")
    charge(ledger, "0.1", delta="7.5e-7", who="eve")
    with pytest.raises(BudgetExceeded, match="but delta 0 is left"):
        charge(ledger, "0.1", delta="1e-18", who="eve")
    charge(ledger, "0.1", delta="2.5e-7", who="ann")
    with pytest.raises(BudgetExceeded):
        charge(ledger, "0.1", delta="1e-18", who="ann")
    charge(ledger, "0.1", who="eve")
    assert verified(ledger).slack == Fraction(1, 10**6)


def test_a_question_without_delta_is_answered_when_delta_is_overspent(place: Place) -> None:
    half = shares(ann=("0.5", 0))
    charge(place.ledger(allowed(1, slack="1e-6", analysts=half)), "0.1", slack="5e-7")
    lower = place.ledger(allowed(1, slack="4e-7", analysts=half))
    lower.amend(by="owner", why="less delta")
    charge(lower, "0.1")
    with pytest.raises(BudgetExceeded, match="delta 0 is left"):
        charge(lower, "0.1", slack="1e-18")
    assert left(lower) == Fraction(3, 10)
