# SPDX-License-Identifier: Apache-2.0
"""Entries: the lines of a ledger, each with the hash of all before it, and receipts for them."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from types import NoneType
from typing import Any, Literal, NamedTuple, TypeAlias

from sordino.errors import LedgerError
from sordino.privacy.currency import Currency, Price

EntryKind: TypeAlias = Literal["open", "limits", "share", "charge", "answer"]
Digest: TypeAlias = "Callable[[bytes], str]"


class Entry(NamedTuple):
    """One line about the people of one id space; numbers are whole, so that sums are exact.

    Prices and caps are in nano-units of the currency, and what is called slack in parts of 10**18.
    The first group says what happened, the second what holds for all after it, the third what holds
    for ``who`` after it, and ``hash`` covers all of it and the entry before. None means no limit.
    """

    people: str
    number: int  # from 1, without a gap
    kind: EntryKind
    at: str  # when, in UTC; the order is that of the numbers
    who: str  # the analyst it concerns; empty for open and limits
    by: str  # who changed a limit, and why
    why: str
    price: int
    price_slack: int
    plan: str  # what was asked, as a fingerprint
    data: str  # of which version of the data
    charge: int  # of an answer: the number of its charge
    body: str  # of an answer: the SHA-256 of its bytes

    cap: int
    cap_slack: int
    most: int | None  # for one question
    others: int | None  # for an analyst without a share of their own
    others_slack: int | None
    spent: int
    spent_slack: int
    held: int  # kept for analysts, and not spent by them
    held_slack: int

    share: int | None  # the most that who may spend
    share_slack: int | None
    kept: int  # what is kept for who, spent or not
    kept_slack: int
    used: int  # what who has spent
    used_slack: int

    hash: str

    @property
    def limits(self) -> tuple[int, int, int | None, int | None, int | None]:
        """What only an entry of its own changes."""
        return self.cap, self.cap_slack, self.most, self.others, self.others_slack


FIELDS = Entry._fields

_TYPES = {str, int, NoneType}


def entry_of(row: Any) -> Entry | None:
    """Return a row of all columns as an entry."""
    return None if row is None else Entry._make(row)


def plain(text: str) -> str:
    """Return a text as plain text: a kind of str may be written otherwise, and hashed otherwise.

    >>> import enum
    >>> plain(enum.Enum("Name", {"ANN": "ann"}, type=str).ANN)
    'ann'
    """
    return text if type(text) is str else str.__str__(text)


def check_plain(entry: Entry) -> None:
    """Refuse an entry that a store would give back as another one than was hashed."""
    if not _TYPES.issuperset(map(type, entry)):
        raise TypeError("an entry is made of plain text and whole numbers")


def digest_with(key: bytes | None) -> Digest:
    """Return SHA-256, or HMAC with SHA-256 under the owner's key, in hexadecimal digits."""
    if key is None:
        return lambda data: hashlib.sha256(data).hexdigest()
    return lambda data: hmac.new(key, data, "sha256").hexdigest()


def hash_of(entry: Entry, before: str, digest: Digest) -> str:
    """Return the hash of an entry that follows another one; its own field is left out.

    What is hashed is the tuple of the hash before and of all fields as Python writes it in ASCII:
    numbers, texts in quotes, None.
    """
    return digest(ascii((before, *entry[:-1])).encode("ascii"))


def hashed(draft: Entry, before: str, digest: Digest) -> Entry:
    """Return an entry with the hash that it has after another one."""
    return Entry._make((*draft[:-1], hash_of(draft, before, digest)))


def first_hash(identity: str, people: str, currency: str, digest: Digest) -> str:
    """Return what stands before the first entry of an id space: whose chain this is."""
    return digest(ascii(("sordino ledger", identity, people, currency)).encode("ascii"))


def write_currency(currency: Currency) -> str:
    """Return a currency as the ledger keeps it.

    >>> from sordino.privacy.currency import ZCDP, one_order
    >>> write_currency(ZCDP), write_currency(one_order(1.5))
    ('rho', 'renyi 3/2')
    """
    return currency.kind if currency.order is None else f"{currency.kind} {currency.order}"


def read_currency(text: str) -> Currency:
    """Read what ``write_currency`` wrote."""
    for currency in (Currency("epsilon"), Currency("rho"), Currency("gdp")):
        if text == write_currency(currency):
            return currency
    if isinstance(text, str) and text.startswith("renyi "):
        with suppress(ValueError, ZeroDivisionError):  # and say below what is wrong
            return Currency("renyi", Fraction(text.removeprefix("renyi ")))
    raise LedgerError(f"the ledger states a currency {text!r}, which there is not")


# Receipts. ----------------------------------------------------------------------------------------

_WRITTEN = re.compile(r"(.+):([1-9][0-9]{0,17}):([0-9a-f]{64})")


class Receipt(NamedTuple):
    """Proof that a charge was made; an engine looks at data for nothing less.

    ``number`` is the place of the charge among the entries of its id space, and ``head`` the hash
    of the chain there. ``left`` and ``slack_left`` are what remains of the budget and of the delta
    for failures, for the one who was charged. ``plan`` and ``data`` say what was asked of which
    data.
    """

    people: str
    number: int
    head: str
    who: str
    price: Price
    slack: Fraction
    left: Price
    slack_left: Fraction
    plan: str = ""
    data: str = ""

    @property
    def seen(self) -> Seen:
        """What the ledger can be held to."""
        return Seen(self.people, self.number, self.head)


class Seen(NamedTuple):
    """An entry that somebody has seen: a ledger without it has been cut, exchanged or restored.

    >>> seen = Seen("people", 7, "ab" * 32)
    >>> str(seen)[:19], read_seen(str(seen)) == seen
    ('people:7:ababababab', True)
    """

    people: str
    number: int
    head: str

    def __str__(self) -> str:
        return f"{self.people}:{self.number}:{self.head}"


def read_seen(text: str) -> Seen:
    """Read what ``str`` of a Seen wrote."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"a receipt is written as people:number:hash, got {text[:100]!r}")
    return Seen(found[1], int(found[2]), found[3])
