# SPDX-License-Identifier: Apache-2.0
"""What the owner declares becomes whole numbers: what may be spent rounded down, costs up."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sordino.catalog.model import Analyst, Catalog, Purse
from sordino.ledger.rules import Amount, Caps, Share, slack_up, terms_of
from sordino.privacy import Budget
from sordino.privacy.currency import ATTO
from tests.ledger.unit.samples import analyst, catalog

PARTS = st.fractions(min_value=0, max_value=1)


def test_terms_are_those_of_the_catalog() -> None:
    declared = catalog(
        question="0.1",
        analysts=[analyst("ann", "0.5", "0.2"), analyst("*", "0.25"), analyst("bob", None, "0.1")],
    )
    found = terms_of(declared)["people"]
    assert found.caps == Caps(Amount(10**9, 10**12), 10**8, Amount(25 * 10**7, 25 * 10**10))
    assert found.shares == (
        Share("ann", Amount(5 * 10**8, 5 * 10**11), Amount(2 * 10**8, 2 * 10**11)),
        Share("bob", None, Amount(10**8, 10**11)),
    )
    assert str(found.price(10**8)) == "epsilon 0.1"


def test_nothing_declared_is_no_limit() -> None:
    found = terms_of(catalog(slack=Fraction(0)))["people"]
    assert found.caps == Caps(Amount(10**9, 0))
    assert found.shares == ()


def test_every_id_space_has_terms_of_its_own() -> None:
    one, two = catalog("1", people="a"), catalog("2", people="b")
    found = terms_of(Catalog(tables=(), purses=one.purses + two.purses))
    assert {name: str(each.budget.cap) for name, each in found.items()} == {
        "a": "epsilon 1",
        "b": "epsilon 2",
    }


@given(st.integers(0, 10**18), st.integers(0, ATTO - 1), PARTS)
def test_a_part_is_rounded_down(nanos: int, slack: int, share: Fraction) -> None:
    part = Amount(nanos, slack).part(share)
    assert 0 <= nanos * share - part.nanos < 1
    assert 0 <= slack * share - part.slack < 1


@given(st.lists(PARTS, min_size=1, max_size=6), st.integers(1, 10**12))
def test_parts_that_add_up_to_one_never_add_up_to_more_than_the_cap(
    weights: list[Fraction], nanos: int
) -> None:
    total = sum(weights, Fraction(0)) or Fraction(1)
    analysts = [Analyst(f"a{i}", None, each / total) for i, each in enumerate(weights)]
    budget = Budget(epsilon=Fraction(nanos, 10**9), neighbours="add_remove")
    purse = Purse(budget, slack=Fraction(1, 3))
    made = terms_of(Catalog(tables=(), purses=(("people", purse),), analysts=tuple(analysts)))
    found = made["people"]
    assert sum(share.kept.nanos for share in found.shares) <= found.caps.cap.nanos
    assert sum(share.kept.slack for share in found.shares) <= found.caps.cap.slack
    assert Fraction(found.caps.cap.slack, ATTO) <= Fraction(1, 3)


@given(st.fractions(min_value=0, max_value=1))
def test_a_delta_is_charged_rounded_up(slack: Fraction) -> None:
    assert 0 <= slack_up(slack) - slack * ATTO < 1
