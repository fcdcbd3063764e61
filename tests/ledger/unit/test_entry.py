# SPDX-License-Identifier: Apache-2.0
"""An entry's hash covers every word of it and all before it, and is made the same way for ever."""

import hashlib
import hmac
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import LedgerError
from sordino.ledger.entry import (
    FIELDS,
    digest_with,
    first_hash,
    hash_of,
    read_currency,
    write_currency,
)
from sordino.ledger.rules import Amount, Caps, Note, opened
from sordino.privacy.currency import PURE, ZCDP, Currency

PLAIN = digest_with(None)
ENTRY = opened("people", Caps(Amount(10**9, 5), 7, Amount(3, 2)), Note("then", "me", "so"))


def other(value: object) -> Any:
    """Return a value of the same kind that differs."""
    return f"{value}x" if isinstance(value, str) else 1 if value is None else int(str(value)) + 1


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "hash"])
def test_the_hash_covers_every_field(name: str) -> None:
    changed = ENTRY._replace(**{name: other(getattr(ENTRY, name))})
    assert hash_of(changed, "", PLAIN) != hash_of(ENTRY, "", PLAIN)
    if getattr(ENTRY, name) is not None:
        nothing: dict[str, Any] = {name: None}
        assert hash_of(ENTRY._replace(**nothing), "", PLAIN) != hash_of(ENTRY, "", PLAIN)


def test_the_hash_covers_what_came_before_and_not_itself() -> None:
    assert hash_of(ENTRY, "a", PLAIN) != hash_of(ENTRY, "b", PLAIN)
    assert hash_of(ENTRY._replace(hash="x"), "a", PLAIN) == hash_of(ENTRY, "a", PLAIN)


def test_the_hash_is_that_of_a_tuple_in_ascii() -> None:
    told = (
        b"('before', 'people', 1, 'open', 'then', '', 'me', 'so', 0, 0, '', '', 0, '', "
        b"1000000000, 5, 7, 3, 2, 0, 0, 0, 0, None, None, 0, 0, 0, 0)"
    )
    assert hash_of(ENTRY, "before", PLAIN) == hashlib.sha256(told).hexdigest()
    key = b"a key of the owner"
    keyed = hmac.new(key, told, "sha256").hexdigest()
    assert hash_of(ENTRY, "before", digest_with(key)) == keyed


def test_the_hash_of_an_entry_never_changes_between_versions() -> None:
    expected = (
        *("people", "number", "kind", "at", "who", "by", "why", "price", "price_slack"),
        *("plan", "data", "charge", "body"),
        *("cap", "cap_slack", "most", "others", "others_slack"),
        *("spent", "spent_slack", "held", "held_slack"),
        *("share", "share_slack", "kept", "kept_slack", "used", "used_slack", "hash"),
    )
    assert expected == FIELDS
    before = first_hash("identity", "people", "rho", PLAIN)
    assert before == "2df6add9929df6b44ac8bb02ffe9a89dba06b19d513bc93fd0862cb873ccb907"
    assert (
        hash_of(ENTRY, before, PLAIN)
        == "fd1e71f1887ba310686d2018a14b4ae4765b1489e0f89f6ddddee775709fc4f1"
    )


@given(st.lists(st.text(max_size=3), min_size=5, max_size=5))
def test_no_two_texts_can_be_told_apart_only_by_where_they_end(texts: list[str]) -> None:
    people, who, by, plan, data = texts
    one = ENTRY._replace(people=people, who=who, by=by, plan=plan, data=data)
    moved = one._replace(plan=plan + data, data="")
    assert (hash_of(one, "", PLAIN) == hash_of(moved, "", PLAIN)) == (one == moved)


def test_the_beginning_tells_ledgers_people_and_currencies_apart() -> None:
    told = [("a", "b", "rho"), ("x", "b", "rho"), ("a", "x", "rho"), ("a", "b", "epsilon")]
    assert len({first_hash(*each, PLAIN) for each in told}) == len(told)
    assert first_hash("a", "b", "rho", digest_with(b"k")) != first_hash("a", "b", "rho", PLAIN)


@given(st.fractions(min_value=Fraction(1001, 1000), max_value=10**6))
def test_a_currency_is_read_as_it_was_written(order: Fraction) -> None:
    for currency in (PURE, ZCDP, Currency("renyi", order)):
        assert read_currency(write_currency(currency)) == currency


@pytest.mark.parametrize("text", ["", "euro", "renyi x", "renyi 1/0", "rho 2", "Epsilon"])
def test_what_is_no_currency_is_refused(text: str) -> None:
    with pytest.raises(LedgerError, match="which there is not"):
        read_currency(text)
