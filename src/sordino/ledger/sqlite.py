# SPDX-License-Identifier: Apache-2.0
"""A store in one SQLite file: every transaction is on the disk before it has ended."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from sordino.errors import LedgerError
from sordino.ledger.entry import FIELDS, Entry
from sordino.ledger.place import check_place, create
from sordino.ledger.sqlite_schema import MIGRATIONS, SCHEMA

_PATIENCE = 60_000  # milliseconds to wait for others who write
_SMALL = 32 << 20  # bytes of a file that is looked at as a whole when it is opened
_SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)
_NAMES = ", ".join(f'"{name}"' for name in FIELDS)
_SELECT = f"SELECT {_NAMES} FROM entries WHERE "  # noqa: S608 - names of our own
_INSERT = f"INSERT INTO entries ({_NAMES}) VALUES ({', '.join('?' * len(FIELDS))})"  # noqa: S608
_LAST = _SELECT + "people = ? ORDER BY number DESC LIMIT 1"
_LAST_OF = _SELECT + "people = ? AND who = ? ORDER BY number DESC LIMIT 1"
_ENTRY = _SELECT + "people = ? AND number = ?"
_ENTRIES = _SELECT + "people = ? AND number >= ? ORDER BY number LIMIT ?"
_ASKED = (
    _SELECT + "plan = ? AND data = ? AND who = ? AND people = ? AND kind = 'answer' "
    "ORDER BY number DESC LIMIT 1"
)
_AT_ONCE = 1_000  # entries


class Driver(NamedTuple):
    """How SQLite is reached: by Python's own module, and in tests by one that can be disturbed."""

    connect: Callable[[Path], Any]
    errors: type[Exception]


def connect(path: Path) -> sqlite3.Connection:
    """Open a file, with transactions that begin and end where we say so."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


STANDARD = Driver(connect, sqlite3.Error)


class SqliteStore:
    """Entries and answers in a SQLite file; it may be shared by threads, processes and forks.

    A file that does not exist is made, with ``keyed`` as given.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keyed: bool = False,
        driver: Driver = STANDARD,
        migrations: Sequence[Sequence[str]] = MIGRATIONS,
    ) -> None:
        self.path = Path(path).resolve()
        self._driver = driver
        self._migrations = migrations
        self._lock = RLock()
        self._process = os.getpid()
        self._abandoned: list[Any] = []
        if not self.path.exists():
            create(self.path, lambda draft: self._make(draft, keyed))
        self._file = _inode(check_place(self.path))
        with self._failures():
            self._connection = self._open()
            self.identity, self.keyed = self._about()

    @contextmanager
    def read(self) -> Iterator[SqliteStore]:
        """Return the pages as they are at one moment."""
        with self._transaction("BEGIN"):
            yield self

    @contextmanager
    def write(self, people: str) -> Iterator[SqliteStore]:
        """Return the pages for adding; the whole file is locked, whoever the people are."""
        del people
        with self._transaction("BEGIN IMMEDIATE"):
            yield self

    def spaces(self) -> dict[str, str]:
        """Return the currency of every id space that was opened, by its name."""
        return dict(self._all("SELECT people, currency FROM spaces ORDER BY people"))

    def currency(self, people: str) -> str | None:
        """Return the currency of an id space, or None if it was not opened."""
        found = self._one("SELECT currency FROM spaces WHERE people = ?", people)
        return None if found is None else found[0]

    def add_space(self, people: str, currency: str) -> None:
        """Begin an id space."""
        self._connection.execute("INSERT INTO spaces VALUES (?, ?)", (people, currency))

    def last(self, people: str) -> Entry | None:
        """Return the newest entry of an id space."""
        return _entry(self._one(_LAST, people))

    def last_of(self, people: str, who: str) -> Entry | None:
        """Return the newest entry of an id space about an analyst."""
        return _entry(self._one(_LAST_OF, people, who))

    def entry(self, people: str, number: int) -> Entry | None:
        """Return an entry by its number."""
        return _entry(self._one(_ENTRY, people, number))

    def entries(self, people: str, first: int = 1) -> Iterator[Entry]:
        """Return the entries of an id space in their order, without holding them all."""
        while rows := self._all(_ENTRIES, people, first, _AT_ONCE):
            yield from map(Entry._make, rows)
            first = rows[-1][1] + 1

    def answer_to(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        """Return the newest answer entry of an analyst to a plan on a version of the data."""
        return _entry(self._one(_ASKED, plan, data, who, people))

    def analysts(self, people: str) -> list[str]:
        """Return the names of all analysts that entries of an id space are about, sorted."""
        asked = "SELECT DISTINCT who FROM entries WHERE people = ? AND who != '' ORDER BY who"
        return [who for (who,) in self._all(asked, people)]

    def append(self, entry: Entry) -> None:
        """Add an entry; one that breaks a rule is refused."""
        self._connection.execute(_INSERT, entry)

    def keep(self, people: str, charge: int, body: bytes) -> None:
        """Keep the bytes of the answer to a charge; a second answer is refused."""
        self._connection.execute("INSERT INTO answers VALUES (?, ?, ?)", (people, charge, body))

    def body(self, people: str, charge: int) -> bytes | None:
        """Return the bytes of the answer to a charge."""
        asked = "SELECT body FROM answers WHERE people = ? AND charge = ?"
        found = self._one(asked, people, charge)
        return None if found is None else found[0]

    def bodies(self, people: str) -> int:
        """Return how many answers are kept."""
        found = self._one("SELECT count(*) FROM answers WHERE people = ?", people)
        return 0 if found is None else int(found[0])

    def check(self) -> None:
        """Look at every page of the file, and refuse one that is damaged."""
        with self._lock, self._failures():
            found = self._connection.execute("PRAGMA integrity_check(1)").fetchall()
        if found != [("ok",)]:
            raise LedgerError(
                f"the ledger {str(self.path)!r} is damaged: {found[0][0]}; put the newest copy back"
            )

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        with self._lock:
            if self._process == os.getpid():
                self._connection.close()

    # Transactions. ------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        if self._process != os.getpid():
            self._reopen()
        with self._lock, self._failures():
            self._check_file()
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _check_file(self) -> None:
        """Refuse to write to a file that has lost its name to another one."""
        try:
            same = _inode(self.path.stat()) == self._file
        except OSError:
            same = False
        if not same:
            raise LedgerError(
                f"the ledger {str(self.path)!r} was moved or exchanged while it was open; put it "
                "back, and open it again"
            )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except self._driver.errors as error:
            raise LedgerError(_said(self.path, error)) from error

    # Opening. -----------------------------------------------------------------------------------

    def _open(self) -> Any:
        connection = self._driver.connect(self.path)
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        for setting in _SETTINGS:
            connection.execute(setting)
        self._migrate(connection)
        if self.path.stat().st_size <= _SMALL:
            found = connection.execute("PRAGMA integrity_check(1)").fetchall()
            if found != [("ok",)]:
                raise LedgerError(f"the ledger {str(self.path)!r} is damaged: {found[0][0]}")
        return connection

    def _make(self, draft: Path, keyed: bool) -> None:
        with self._failures():
            connection = self._driver.connect(draft)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                for statement in SCHEMA:
                    connection.execute(statement)
                about = secrets.token_hex(16), int(keyed)
                connection.execute("INSERT INTO about VALUES (1, ?, ?)", about)
                connection.execute(f"PRAGMA user_version = {len(self._migrations) + 1}")
                connection.execute("COMMIT")
            finally:
                connection.close()

    def _migrate(self, connection: Any) -> None:
        """Carry an older file over, all in one transaction."""
        newest = len(self._migrations) + 1
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if not 1 <= version <= newest:
            raise LedgerError(
                f"the ledger {str(self.path)!r} is of version {version}, and this sordino reads "
                f"versions 1 to {newest}; take a newer sordino"
            )
        if version == newest:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            for step in self._migrations[version - 1 :]:
                for statement in step:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {newest}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _about(self) -> tuple[str, bool]:
        found = self._one("SELECT identity, keyed FROM about")
        if found is None:
            raise LedgerError(f"{str(self.path)!r} is not a ledger")
        return found[0], bool(found[1])

    def _reopen(self) -> None:
        """Open the file anew after a fork; what the parent holds open is left as it is."""
        self._abandoned.append(self._connection)
        self._lock = RLock()
        with self._failures():
            self._connection = self._open()
        self._process = os.getpid()

    def _one(self, sql: str, *values: object) -> Any:
        return self._connection.execute(sql, values).fetchone()

    def _all(self, sql: str, *values: object) -> list[Any]:
        found: list[Any] = self._connection.execute(sql, values).fetchall()
        return found


def _entry(row: Any) -> Entry | None:
    return None if row is None else Entry._make(row)


def _inode(seen: os.stat_result) -> tuple[int, int]:
    return seen.st_dev, seen.st_ino


_WORDS = {
    "FULL": "the disk is full; make room, and ask again",
    "READONLY": "it cannot be written to; see to its permissions and those of its folder",
    "CANTOPEN": "it cannot be opened; see to its permissions and those of its folder",
    "BUSY": "others have been writing for very long; ask again",
    "NOTADB": "it is not a ledger, or it is damaged; put the newest copy back",
    "CORRUPT": "it is damaged; put the newest copy back",
    "IOERR": "the disk reports an error; see the log of the system",
}


def _said(path: Path, error: Exception) -> str:
    """Say what SQLite complains about."""
    name = getattr(error, "sqlite_errorname", type(error).__name__).upper()
    what = next((words for part, words in _WORDS.items() if part in name), str(error))
    return f"the ledger {str(path)!r}: {what}"
