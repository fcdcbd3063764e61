# SPDX-License-Identifier: Apache-2.0
"""SQLite files that hold a ledger: how one is made, opened, carried over, and what may be wrong."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sordino.errors import LedgerError
from sordino.ledger.sqlite_schema import SCHEMA, TRIGGERS

Migrations = Sequence[Sequence[str]]

_PATIENCE = 60_000  # milliseconds to wait for others who write
_CONSTRAINT = 19  # in the last byte of a code; Python has no name for some that end so
_SMALL = 32 << 20  # bytes of a file that is looked at as a whole when it is opened
_SETTINGS = (
    f"PRAGMA busy_timeout = {_PATIENCE}",
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)
_WORDS = {
    "FULL": "the disk is full; make room, and ask again",
    "READONLY": "it cannot be written to; see to its permissions and those of its folder",
    "CANTOPEN": "it cannot be opened; see to its permissions and those of its folder",
    "BUSY": "others have been writing for very long; ask again",
    "NOTADB": "it is not a ledger, or it is damaged; put the newest copy back",
    "CORRUPT": "it is damaged; put the newest copy back",
    "UNICODE": "it is damaged; put the newest copy back",
    "IOERR": "the disk reports an error; see the log of the system",
}


class Driver(NamedTuple):
    """How SQLite is reached: by Python's own module, and in tests by one that can be disturbed."""

    connect: Callable[[Path], Any]
    errors: type[Exception] | tuple[type[Exception], ...]


def connect(path: Path) -> sqlite3.Connection:
    """Open a file, with transactions that begin and end where we say so."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


# What SQLite says of a damaged file may itself be damaged text.
STANDARD = Driver(connect, (sqlite3.Error, UnicodeDecodeError))


def make_file(path: Path, driver: Driver, *, keyed: bool, version: int) -> None:
    """Make an empty ledger."""
    with explained(path, driver):
        connection = driver.connect(path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA:
                connection.execute(statement)
            about = secrets.token_hex(16), int(keyed)
            connection.execute("INSERT INTO about VALUES (1, ?, ?)", about)
            connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")
        finally:
            connection.close()


def open_file(path: Path, driver: Driver, migrations: Migrations, *, whole: bool) -> Any:
    """Open a ledger with the settings it needs; with ``whole``, look at all of a small one."""
    connection = driver.connect(path)
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
        _version(path, connection, len(migrations) + 1)  # another's file is left as it is
        _check_log(path, connection)
        _carry_over(path, connection, migrations)
        check_triggers(path, connection)
        if whole and path.stat().st_size <= _SMALL:
            check_pages(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def check_pages(path: Path, connection: Any) -> None:
    """Look at every page of a file, and refuse one that is damaged."""
    found = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if found != [("ok",)]:
        raise LedgerError(
            f"the ledger {str(path)!r} is damaged ({str(found[0][0]).splitlines()[-1]}); put the "
            "newest copy back"
        )


def check_triggers(path: Path, connection: Any) -> None:
    """Refuse a file whose triggers are not those that it was made with."""
    asked = "SELECT sql FROM sqlite_schema WHERE type = 'trigger'"
    found = {sql for (sql,) in connection.execute(asked).fetchall()}
    if not set(TRIGGERS) <= found:
        raise LedgerError(
            f"the ledger {str(path)!r} lacks triggers that it was made with: somebody has "
            "changed it; put the newest copy back"
        )


def said(path: Path, error: Exception) -> LedgerError:
    """Return what SQLite complains about in our words."""
    name = _name(error)
    what = next((words for part, words in _WORDS.items() if part in name), str(error))
    return LedgerError(f"the ledger {str(path)!r}: {what}")


def is_refused(error: BaseException, driver: Driver) -> bool:
    """Tell whether the file refused a row because of a rule, and nothing else went wrong."""
    if not isinstance(error, driver.errors):
        return False
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF == _CONSTRAINT or "CONSTRAINT" in _name(error)


def _name(error: Exception) -> str:
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    return name.upper()


@contextmanager
def explained(path: Path, driver: Driver) -> Iterator[None]:
    """Raise what SQLite complains about as a LedgerError."""
    try:
        yield
    except driver.errors as error:
        raise said(path, error) from error


def _check_log(path: Path, connection: Any) -> None:
    """Insist on a log written ahead: what else there is may lose a charge with the power."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise LedgerError(f"the ledger {str(path)!r} cannot have its log beside it, which it needs")


def _carry_over(path: Path, connection: Any, migrations: Migrations) -> None:
    """Carry an older file over to this version, all in one transaction."""
    newest = len(migrations) + 1
    if _version(path, connection, newest) == newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in migrations[_version(path, connection, newest) - 1 :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {newest}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(path: Path, connection: Any, newest: int) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if not 1 <= version <= newest:
        raise LedgerError(
            f"the ledger {str(path)!r} is of version {version}, and this sordino reads versions 1 "
            f"to {newest}; take a newer sordino"
        )
    return version
