# SPDX-License-Identifier: Apache-2.0
"""Every kind of ledger, and short ways to state terms and to charge."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sordino.catalog.checks import analyst
from sordino.catalog.model import Analyst, Catalog, Purse
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import FIELDS, Entry, Receipt
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Terms, terms_of
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.postgres import PostgresStore
from sordino.ledger.stores.protocol import Store
from sordino.ledger.stores.sqlite.store import ROOM, SqliteStore
from sordino.ledger.verify import Verified, verify
from sordino.privacy import Budget, losses

KEY = b"a key that the owner keeps to herself"
NANO = 10**9
BODY = b"answer"


class Place:
    """Where a ledger is kept; it can be opened many times, as by many processes."""

    def __init__(
        self, kind: str, key: bytes | None, make: Callable[[], MemoryStore | Path | str]
    ) -> None:
        self.kind = kind
        self.key = key
        self._make = make
        self.at = make()
        self._opened: list[Ledger] = []
        self._others: list[Place] = []

    def store(self) -> Store:
        """Open the place; in memory there is but one."""
        if isinstance(self.at, MemoryStore):
            return self.at
        keyed = self.key is not None
        if isinstance(self.at, Path):
            return SqliteStore(self.at, keyed=keyed)
        return PostgresStore(self.at, keyed=keyed)

    def ledger(
        self,
        terms: dict[str, Terms] | None = None,
        *,
        anchor: Path | None = None,
        key: bytes | None = None,
    ) -> Ledger:
        """Open the ledger with terms, in a store of its own."""
        store = self.store()
        try:
            held = None if anchor is None else Anchor(anchor)
            stated = allowed() if terms is None else terms
            opened = Ledger(store, stated, key=key or self.key, anchor=held)
        except BaseException:
            store.close()
            raise
        self._opened.append(opened)
        return opened

    def another(self) -> Place:
        """Return a place of the same kind with nothing in it."""
        other = self.beside()
        self._others.append(other)
        return other

    def beside(self) -> Place:
        """Return a place of the same kind that whoever asks for it has to remove."""
        return Place(self.kind, self.key, self._make)

    def copied(self) -> Place:
        """Return a copy of the place as it is now, as from a backup."""
        self.close()
        other = self.another()
        assert not isinstance(self.at, MemoryStore)
        if isinstance(self.at, Path):
            Path(str(other.at)).write_bytes(self.at.read_bytes())
        else:
            source, target = conninfo_to_dict(self.at)["dbname"], other.remove()
            with _beside(self.at) as server:
                server.execute(f'CREATE DATABASE "{target}" TEMPLATE "{source}"')
        return other

    def execute(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run one statement past the ledger, as somebody with another tool would."""
        if isinstance(self.at, Path):
            with closing(sqlite3.connect(self.at, isolation_level=None)) as file:
                file.execute(sql, values)
        else:
            options = "-c search_path=sordino"
            with psycopg.connect(str(self.at), options=options, autocommit=True) as server:
                server.execute(sql.replace("?", "%s"), values)

    def insert(self, entry: Entry) -> None:
        """Add an entry past the ledger."""
        names = [f'"{name}"' for name in FIELDS]
        values: list[object] = list(entry)
        if isinstance(self.at, Path):
            with closing(sqlite3.connect(self.at)) as file:
                asked = "SELECT place FROM spaces WHERE people = ?"
                (place,) = file.execute(asked, (entry.people,)).fetchone()
            body = BODY if entry.kind == "answer" else None
            names = ["id", *names, "bytes"]
            values = [place * ROOM + entry.number, *values, body]
        marks = ", ".join("?" * len(values))
        self.execute(f"INSERT INTO entries ({', '.join(names)}) VALUES ({marks})", values)  # noqa: S608

    def check(self) -> None:
        """Verify the ledger as a process that opens it anew."""
        fresh = self.ledger({})
        verify(fresh)
        for other in self._others:
            other.check()

    def close(self) -> None:
        """Close all that was opened."""
        for opened in self._opened:
            opened.close()
        self._opened.clear()
        for other in self._others:
            other.close()

    def remove(self) -> str:
        """Close all that was opened and remove what there is; return the name it had."""
        self.close()
        for other in self._others:
            other.remove()
        self._others.clear()
        if isinstance(self.at, Path):
            self.at.unlink(missing_ok=True)
        if not isinstance(self.at, str):
            return str(self.at)
        name = str(conninfo_to_dict(self.at)["dbname"])
        with _beside(self.at) as server:
            server.execute(f'DROP DATABASE "{name}"')
        return name


def _beside(address: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect to another database of the same server."""
    return psycopg.connect(make_conninfo(address, dbname="postgres"), autocommit=True)


def allowed(
    epsilon: object = 1,
    *,
    slack: object = 0,
    question: object = None,
    analysts: Sequence[Analyst] = (),
    people: Sequence[str] = ("people",),
) -> dict[str, Terms]:
    """Return terms as an owner would state them."""
    budget = Budget(epsilon=Fraction(str(epsilon)), neighbours="add_remove")
    purse = Purse(budget, slack=Fraction(str(slack)), question=_part(question))
    purses = tuple((name, purse) for name in people)
    return terms_of(Catalog(tables=(), purses=purses, analysts=tuple(analysts)))


def shares(**stated: tuple[object, object]) -> tuple[Analyst, ...]:
    """Return analysts with a share and a reserved part; ``others`` is everybody not named."""
    return tuple(
        analyst("*" if who == "others" else who, share=_part(share), reserved=_part(kept))
        for who, (share, kept) in stated.items()
    )


def _part(value: object) -> Fraction | None:
    return None if value is None else Fraction(str(value))


def charge(
    ledger: Ledger,
    epsilon: object,
    *,
    delta: object = None,
    slack: object = 0,
    who: str = "ann",
    plan: str = "plan",
    data: str = "data",
    people: str = "people",
) -> Receipt:
    """Charge a pure loss, or one with a delta."""
    exact = Fraction(str(epsilon))
    if delta is None:
        loss = losses.pure(epsilon=exact).under("add_remove")
    else:
        loss = losses.approximate(epsilon=exact, delta=Fraction(str(delta))).under("add_remove")
    return ledger.charge(people, loss, slack=Fraction(str(slack)), plan=plan, who=who, data=data)


def left(ledger: Ledger, who: str = "ann", people: str = "people") -> Fraction:
    """Return how much epsilon an analyst may still spend."""
    return ledger.left(people, who)[0].value


def numbers(ledger: Ledger, people: str = "people") -> list[int]:
    """Return the numbers of all entries of an id space."""
    with ledger.store.read() as pages:
        return [entry.number for entry in pages.entries(people)]


def last(ledger: Ledger, people: str = "people") -> Entry:
    """Return the newest entry of an id space."""
    with ledger.store.read() as pages:
        found = pages.last(people)
    assert found is not None
    return found


def changed(entry: Entry, **fields: Any) -> Entry:
    """Return an entry with other values in some fields."""
    return entry._replace(**fields)


class Undone(Exception):
    """What undoes a transaction on purpose."""


def add_and_undo(ledger: Ledger, *entries: Entry, people: str = "people") -> None:
    """Add entries to an id space, which may be new, and raise Undone if they are let in."""
    with ledger.store.write(people) as pages:
        if pages.currency(people) is None:
            pages.add_space(people, "epsilon")
        for entry in entries:
            pages.append(entry, BODY if entry.kind == "answer" else None)
        raise Undone


def verified(ledger: Ledger) -> Verified:
    """Verify a ledger of one id space."""
    (found,) = verify(ledger)
    return found


def places(
    kind: str, folder: Path, database: Callable[[], str], *, keyed: bool
) -> Callable[[], MemoryStore | Path | str]:
    """Return what makes one new place of a kind after the other."""
    if kind == "memory":
        return lambda: MemoryStore(keyed=keyed)
    if kind == "sqlite":
        return lambda: folder / f"{secrets.token_hex(4)}.ledger"
    return database
