# SPDX-License-Identifier: Apache-2.0
"""SQLite files that hold a ledger: how one is made, opened, carried over, and what may be wrong."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from sordino.errors import LedgerError
from sordino.ledger.place import never_made

Schema: TypeAlias = "tuple[str, ...]"
Migrations = Sequence[Sequence[str]]

_PATIENCE = 60_000  # milliseconds to wait for others who write
_CONSTRAINT = 19  # in the last byte of a code; Python has no name for some that end so
_SMALL = 32 << 20  # bytes of a file that is looked at as a whole when it is opened
_STATISTICS = ("sqlite_stat1", "sqlite_stat4")  # what ANALYZE adds
PATIENT, IMPATIENT = f"PRAGMA busy_timeout = {_PATIENCE}", "PRAGMA busy_timeout = 0"
_SETTINGS = (
    PATIENT,
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)
# What SQLite says if there is no room for the index of its log, or none within a quota.
_WRITES = ("IOERR_WRITE", "IOERR_SHM", "IOERR_FSYNC", "IOERR_TRUNCATE")
_WORDS = {
    "FULL": "the disk is full; make room, and ask again",
    "READONLY": "it cannot be written to; see to its permissions and those of its folder",
    "CANTOPEN": "it cannot be opened; see to its permissions and those of its folder",
    "BUSY": "others have been writing for very long; ask again",
    "NOTADB": "it is not a ledger, or it is damaged; put the newest copy back",
    "CORRUPT": "it is damaged; put the newest copy back",
    "UNICODE": "it is damaged; put the newest copy back",
    **dict.fromkeys(_WRITES, "the disk may be full, or fails; make room, and ask again"),
    "IOERR": "the disk reports an error; see the log of the system",
}


class Driver(NamedTuple):
    """How SQLite is reached: by Python's own module, and in tests by one that can be disturbed.

    ``added`` says of what a statement returned how many rows it has added itself; those that its
    triggers add do not count.
    """

    connect: Callable[[Path], Any]
    errors: type[Exception] | tuple[type[Exception], ...]
    added: Callable[[Any], int] = attrgetter("rowcount")


def connect(path: Path) -> sqlite3.Connection:
    """Open a file, with transactions that begin and end where we say so."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


# What SQLite says of a damaged file may itself be damaged text.
STANDARD = Driver(connect, (sqlite3.Error, UnicodeDecodeError))


def make_file(path: Path, driver: Driver, schema: Schema, *, keyed: bool, version: int) -> None:
    """Make an empty ledger, whole in its one file.

    When a file is closed, SQLite carries its log over into it, and says nothing if that fails. So
    it is done before, where a failure is an error; then the log is empty, and can be left behind.
    """
    with explained(path, driver):
        connection = driver.connect(path)
        try:
            for setting in _SETTINGS:
                connection.execute(setting)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in schema:
                connection.execute(statement)
            about = secrets.token_hex(16), int(keyed)
            check_added(
                path, driver, connection.execute("INSERT INTO about VALUES (1, ?, ?)", about)
            )
            connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")
            check_schema(path, connection, schema)
            check_pages(path, connection)
            carried = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if tuple(carried) != (0, 0, 0):
                raise LedgerError(f"the ledger {str(path)!r}: {_WORDS['IOERR']}")
        finally:
            connection.close()


def open_file(
    path: Path, driver: Driver, schema: Schema, migrations: Migrations, *, whole: bool
) -> Any:
    """Open a ledger with the settings it needs; with ``whole``, look at all of a small one."""
    connection = driver.connect(path)
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
        _check_begun(path, connection)
        _version(path, connection, len(migrations) + 1)  # another's file is left as it is
        _check_log(path, connection)
        _carry_over(path, connection, migrations)
        check_schema(path, connection, schema)
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


def check_schema(path: Path, connection: Any, schema: Schema) -> None:
    """Refuse a file whose tables, indexes, triggers and views are not exactly those of its design.

    One trigger more could let a charge pass that adds no row. Temporary triggers are in no file:
    only who runs code in this process can make them, and they end with its connection. What
    ANALYZE notes of the sizes of tables is let be: it changes the order in which rows are looked
    up, and none of them.
    """
    meant = _designed(schema)
    there = frozenset(one for one in _objects(connection) if not _is_statistics(one))
    if there != meant:
        kind, name, *_ = min(there ^ meant, key=str)
        what = "lacks, or has in another form," if (kind, name) in _named(meant) else "has besides"
        raise LedgerError(
            f"the ledger {str(path)!r} {what} the {kind} {name!r}: it is not as it was made, and "
            "somebody has changed it; put the newest copy back"
        )


def check_added(path: Path, driver: Driver, done: Any) -> None:
    """Refuse to go on if a statement did not add its row, whatever kept it from doing so."""
    if driver.added(done) != 1:
        raise LedgerError(
            f"the ledger {str(path)!r} did not add what it was given: somebody has changed it; "
            "see 'sordino ledger verify'"
        )


def _objects(connection: Any) -> frozenset[tuple[object, ...]]:
    asked = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    return frozenset(tuple(row) for row in connection.execute(asked).fetchall())


@lru_cache(8)
def _designed(schema: Schema) -> frozenset[tuple[object, ...]]:
    """Return what a file holds that was made by these statements, with what SQLite adds to it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in schema:
            connection.execute(statement)
        return _objects(connection)


def _is_statistics(made: tuple[object, ...]) -> bool:
    kind, name, table, sql = made
    return (
        kind == "table"
        and name == table
        and name in _STATISTICS
        and str(sql).startswith(f"CREATE TABLE {name}(")
    )


def _named(objects: frozenset[tuple[object, ...]]) -> set[tuple[object, ...]]:
    return {(kind, name) for kind, name, *_ in objects}


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


def is_busy(error: Exception) -> bool:
    """Tell whether somebody else holds a lock at this moment."""
    return "BUSY" in _name(error)


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


def _check_begun(path: Path, connection: Any) -> None:
    """Say what to do about a file that SQLite has begun and nobody has put a ledger into."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0 and not _objects(connection):
        raise never_made(path)


def _version(path: Path, connection: Any, newest: int) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if not 1 <= version <= newest:
        raise LedgerError(
            f"the ledger {str(path)!r} is of version {version}, and this sordino reads versions 1 "
            f"to {newest}; take a newer sordino"
        )
    return version
