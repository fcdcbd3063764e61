# SPDX-License-Identifier: Apache-2.0
"""A receipt can be written down and read back, and nothing else is taken for one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.ledger.entry import Receipt, Seen, read_seen
from sordino.privacy.currency import PURE, Price

HEAD = "0123456789abcdef" * 4


def printable(text: str) -> bool:
    return text.isprintable() and text.strip() == text


@given(
    st.text(min_size=1, max_size=20).filter(printable),
    st.integers(1, 10**18 - 1),
    st.binary(min_size=32, max_size=32),
)
def test_what_was_seen_is_read_as_it_was_written(people: str, number: int, head: bytes) -> None:
    seen = Seen(people, number, head.hex())
    assert read_seen(str(seen)) == seen
    assert read_seen(f"  {seen}\n") == seen


@pytest.mark.parametrize("people", ["my patients", "a:b", "a:7:" + HEAD, "患者", "a.b-c"])
def test_an_id_space_may_have_any_printable_name(people: str) -> None:
    assert read_seen(f"{people}:7:{HEAD}") == Seen(people, 7, HEAD)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "people",
        f":7:{HEAD}",
        f"people:{HEAD}",
        f"people:0:{HEAD}",
        f"people:07:{HEAD}",
        f"people:-7:{HEAD}",
        f"people:7.0:{HEAD}",
        f"people:٧:{HEAD}",  # noqa: RUF001 - a digit, but not one of ours
        f"people:7:{HEAD[1:]}",
        f"people:7:{HEAD}0",
        f"people:7:{HEAD.upper()}",
        f"people:7:{HEAD} and more",
        f"people\n:7:{HEAD}",
        f"people:{10**18}:{HEAD}",  # no store counts so far
    ],
)
def test_what_is_no_receipt_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a receipt is written as people:number:hash"):
        read_seen(text)


def test_a_long_text_is_not_repeated_in_full() -> None:
    with pytest.raises(ValueError, match="written as") as caught:
        read_seen("x" * 10_000)
    assert len(str(caught.value)) < 300


def test_a_receipt_says_what_its_ledger_can_be_held_to() -> None:
    price = Price(PURE, 5)
    receipt = Receipt("people", 3, HEAD, "ann", price, Fraction(0), price, Fraction(0))
    assert receipt.seen == Seen("people", 3, HEAD)
