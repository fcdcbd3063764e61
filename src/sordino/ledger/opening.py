# SPDX-License-Identifier: Apache-2.0
"""Opening a ledger: in memory, in a SQLite file, or in a PostgreSQL database."""

from __future__ import annotations

import os
from pathlib import Path

from sordino.catalog.checks import POSTGRES_ADDRESSES
from sordino.catalog.model import Book, Catalog
from sordino.errors import LedgerError
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import Seen
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.protocol import Store
from sordino.ledger.stores.sqlite.store import SqliteStore

_SHORTEST_KEY = 16  # bytes


def open_ledger(catalog: Catalog, book: Book | None, *, held_to: Seen | None = None) -> Ledger:
    """Open the ledger of a catalog, and make it if it is not there; None is one in memory.

    A ledger that does not have an entry which it is held to is refused, and none is made.
    """
    terms = terms_of(catalog)
    if book is None:
        return _held(Ledger(MemoryStore(), terms), held_to)
    key = None if book.key is None else read_key(book.key)
    anchor = None if book.anchor is None else Anchor(book.anchor)
    if anchor is not None and isinstance(book.place, Path) and not os.path.exists(book.place):  # noqa: PTH110 - never raises
        check_never_made(anchor, book.place)
    if held_to is not None and isinstance(book.place, Path) and not book.place.exists():
        raise LedgerError(
            f"there is no ledger {str(book.place)!r}, but a receipt for entry {held_to.number} of "
            f"{held_to.people!r}: put the newest copy back, because what was spent is only there"
        )
    store = open_store(book.place, keyed=key is not None)
    try:
        return _held(Ledger(store, terms, key=key, anchor=anchor), held_to)
    except BaseException:
        store.close()
        raise


def _held(ledger: Ledger, seen: Seen | None) -> Ledger:
    if seen is not None:
        ledger.hold_to(seen)
    return ledger


def open_store(place: Path | str, *, keyed: bool) -> Store:
    """Open the place where a ledger is kept, or make it."""
    if isinstance(place, Path):
        return SqliteStore(place, keyed=keyed)
    from sordino.ledger.stores.postgres import PostgresStore  # psycopg is an extra

    return PostgresStore(place, keyed=keyed)


def book_at(place: str | Path) -> Book:
    """Return the book of a ledger at a place, with an anchor beside a file."""
    if isinstance(place, str) and place.startswith(POSTGRES_ADDRESSES):
        return Book(place)
    path = Path(place)
    return Book(path, anchor=path.with_name(f"{path.name}.heads"))


def read_key(path: Path) -> bytes:
    """Read the owner's key from a file; white space at its ends does not count."""
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise LedgerError(f"the key {str(path)!r} cannot be read: {error.strerror}") from None
    if len(key) < _SHORTEST_KEY:
        raise LedgerError(
            f"the key {str(path)!r} is too short: it needs {_SHORTEST_KEY} bytes or more, such as "
            "those of 'openssl rand -hex 32'"
        )
    return key


def check_never_made(anchor: Anchor, path: Path) -> None:
    """Refuse to begin anew where there has been a ledger."""
    seen = anchor.all()
    if seen:
        newest = max(seen.values(), key=lambda one: one.number)
        raise LedgerError(
            f"there is no ledger {str(path)!r}, but its anchor has seen entry {newest.number} of "
            f"{newest.people!r}: put the newest copy back, because what was spent is only there"
        )
