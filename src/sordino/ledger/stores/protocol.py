# SPDX-License-Identifier: Apache-2.0
"""What a ledger needs of the place where it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from sordino.ledger.entry import FIELDS, Entry


class Pages(Protocol):
    """The entries and answers as one transaction sees them."""

    def spaces(self) -> dict[str, str]:
        """Return the currency of every id space that was opened, by its name."""
        ...

    def currency(self, people: str) -> str | None:
        """Return the currency of an id space, or None if it was not opened."""
        ...

    def add_space(self, people: str, currency: str) -> None:
        """Begin an id space; its first entry follows in the same transaction."""
        ...

    def last(self, people: str) -> Entry | None:
        """Return the newest entry of an id space."""
        ...

    def head(self, people: str) -> tuple[int, str] | None:
        """Return the number and the hash of the newest entry of an id space."""
        ...

    def last_of(self, people: str, who: str) -> Entry | None:
        """Return an entry of an id space that says what holds for an analyst now, or None."""
        ...

    def entry(self, people: str, number: int) -> Entry | None:
        """Return an entry by its number."""
        ...

    def entries(self, people: str, first: int = 1) -> Iterator[Entry]:
        """Return the entries of an id space in their order, without holding them all."""
        ...

    def answer_to(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        """Return the answer to an analyst's newest charge for a plan on a version of the data."""
        ...

    def charge_for(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        """Return an analyst's newest charge for a plan on a version of the data."""
        ...

    def analysts(self, people: str) -> list[str]:
        """Return the names of all analysts that entries of an id space are about, sorted."""
        ...

    def append(self, entry: Entry, body: bytes | None = None) -> None:
        """Add an entry, that of an answer with its bytes; one that breaks a rule is refused."""
        ...

    def body(self, entry: Entry) -> bytes | None:
        """Return the bytes of the answer that an entry speaks of."""
        ...

    def answer_of(self, charge: Entry) -> Entry | None:
        """Return the answer that a charge has paid for, or None if none was recorded."""
        ...

    def bodies(self, people: str) -> int:
        """Return how many answers are kept."""
        ...

    def total(self) -> tuple[int, int]:
        """Return how many entries and how many answers there are, whoever they are about."""
        ...


class Store(Protocol):
    """A place where entries are added, never changed, and durable once a transaction has ended.

    Every failure of the place is a LedgerError. It may be shared by threads and used after a fork.
    """

    @property
    def identity(self) -> str:
        """A random name that the ledger got when it was made."""
        ...

    @property
    def keyed(self) -> bool:
        """Whether the hashes are made with the owner's key."""
        ...

    def read(self) -> AbstractContextManager[Pages]:
        """Return the pages as they are at one moment."""
        ...

    def write(self, people: str) -> AbstractContextManager[Pages]:
        """Return the pages for adding to an id space, with nobody else adding to it.

        Leaving it normally makes everything durable before it returns, or raises LedgerError, and
        then possibly nothing was added. Leaving it by an exception adds nothing.
        """
        ...

    def follow(self, last: Entry, entry: Entry, body: bytes | None = None) -> bool:
        """Add an entry as ``write`` does if ``last`` is the newest; tell whether it was added.

        One that breaks a rule of the place is not added either, or raises LedgerError.
        """
        ...

    def settle(self) -> None:
        """Undo what an interrupt has left of a transaction of this thread."""
        ...

    def check(self) -> None:
        """Look at what the place itself can tell: whether it is whole, and holds to the rules."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def compare_and_add(store: Store, last: Entry, entry: Entry, body: bytes | None = None) -> bool:
    """Follow an entry within a transaction, for stores that have no quicker way."""
    with store.write(entry.people) as pages:
        newest = pages.head(entry.people) == (last.number, last.hash)
        if newest:
            pages.append(entry, body)
    return newest


# What the stores in databases have in common. ---------------------------------------------------

COLUMN_NAMES = ", ".join(f'"{name}"' for name in FIELDS)
LIMITS = ("cap", "cap_slack", "most", "others", "others_slack")
_NULLABLE = ("most", "others", "others_slack", "share", "share_slack")
_TEXTS = ("people", "kind", "at", "who", "by", "why", "plan", "data", "body", "hash")


def column_definitions(*, text: str, number: str) -> str:
    """Return the columns of entries for CREATE TABLE, given the SQL types of text and numbers."""
    return ",\n  ".join(_column(name, text, number) for name in FIELDS)


def _column(name: str, text: str, number: str) -> str:
    if name in _TEXTS:
        return f'"{name}" {text} NOT NULL'
    presence = "" if name in _NULLABLE else " NOT NULL"
    return f'"{name}" {number}{presence} CHECK ("{name}" >= 0)'
