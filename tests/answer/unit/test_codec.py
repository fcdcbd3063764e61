# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.answer import Column
from sordino.answer.answer import from_bytes, receipt_from_json, receipt_to_json, to_bytes
from sordino.ledger.entry import Receipt
from sordino.privacy.currency import Currency, Price
from sordino.query.types import Type
from tests.answer.unit.sample import FULL, answer


def test_an_answer_comes_back_from_its_bytes() -> None:
    body = to_bytes(FULL)
    assert from_bytes(body) == FULL
    assert to_bytes(from_bytes(body)) == body
    assert str(from_bytes(body)) == str(FULL)
    assert from_bytes(body).record_json() == FULL.record_json()


@given(
    st.lists(st.text(), min_size=1),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
)
def test_texts_and_reals_of_any_kind_come_back(texts: list[str], reals: list[float]) -> None:
    found = answer(
        Column("a", Type.TEXT, "key", tuple(texts)), Column("b", Type.REAL, "key", tuple(reals))
    )
    assert from_bytes(to_bytes(found)) == found


def test_moments_and_booleans_come_back() -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 10)
    found = answer(
        Column("a", Type.TIMESTAMP, "key", (moment, None)),
        Column("b", Type.BOOLEAN, "key", (True, None)),
    )
    back = from_bytes(to_bytes(found))
    assert back == found
    assert back.columns[1].values[0] is True


def test_who_was_charged_and_where_the_chain_stood_come_back() -> None:
    back = from_bytes(to_bytes(FULL))
    assert (back.charge.who, back.charge.head) == ("ann", "cd" * 32)
    assert back.receipt == FULL.receipt == f"people:3:{'cd' * 32}"


def test_that_an_answer_was_given_again_is_no_part_of_it() -> None:
    again = replace(FULL, again=True)
    assert again == FULL
    assert to_bytes(again) == to_bytes(FULL)
    assert not from_bytes(to_bytes(again)).again


def test_a_charge_in_one_renyi_order_comes_back() -> None:
    currency = Currency("renyi", Fraction(9, 2))
    price, left = Price(currency, 5), Price(currency, 6)
    charge = Receipt("p", 1, "ab", "ann", price, Fraction(1, 3), left, Fraction(0))
    assert receipt_from_json(receipt_to_json(charge)) == charge


@pytest.mark.parametrize("body", [b"[]", b'{"answer":2}', b"{}"])
def test_other_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="not an answer"):
        from_bytes(body)
