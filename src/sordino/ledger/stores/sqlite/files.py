# SPDX-License-Identifier: Apache-2.0
"""SQLite files that hold a ledger: how one is made, opened, carried over, and what may be wrong."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from glob import escape
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from sordino.errors import LedgerError

_REMOTE = (
    *("nfs", "cifs", "smb", "9p", "afs", "ncpfs", "ceph", "lustre", "glusterfs", "gpfs", "beegfs"),
    *("coda", "davfs", "vboxsf", "virtiofs", "orangefs", "ocfs2", "gfs2", "prl_fs", "fuse"),
)
_MOUNTS = Path("/proc/self/mounts")
_OCTAL = re.compile(r"\\([0-7]{3})")  # how spaces and the like are written there
_LOCK = ".lock"  # follows the name of a draft that somebody is at work on
_BRIEFLY = 1.0  # seconds in which a ledger that is being made has two names


def check_place(path: Path) -> os.stat_result:
    """Refuse a file that is no ledger or could become two of them, and return what is known of it.

    A file with two names would have two logs beside it, and on a network file system locks and
    flushes cannot be relied on: both could spend a budget twice.
    """
    _check_local(path.parent)
    if any(point == path for point, _ in _mounts()):
        raise LedgerError(
            f"the ledger {str(path)!r} is mounted by itself, and its log would not be beside it "
            "but lie in another folder, so that it could be spent twice; mount its folder"
        )
    until = time.monotonic() + _BRIEFLY
    while True:
        try:
            seen = path.stat()
        except OSError as error:
            raise LedgerError(
                f"the ledger {str(path)!r} cannot be opened: {error.strerror}"
            ) from None
        if not stat.S_ISREG(seen.st_mode):
            raise LedgerError(f"the ledger {str(path)!r} is not a file")
        if seen.st_nlink == 1:
            break
        if time.monotonic() > until and not _forget_drafts(path, seen):
            raise LedgerError(
                f"the ledger {str(path)!r} has a second name (a hard link), under which it could "
                "be spent twice; remove that name"
            )
        time.sleep(0.02)
    if seen.st_size == 0:
        raise never_made(path)
    return seen


def never_made(path: Path) -> LedgerError:
    """Say what to do about a file without a ledger in it, as a full disk left it in version 0.1."""
    return LedgerError(
        f"the ledger {str(path)!r} is empty, and a ledger never is: put the newest copy back; if "
        "there has never been one, because the disk was full when it was to be made, remove the "
        "file and open it again"
    )


def create(path: Path, make: Callable[[Path], None]) -> None:
    """Let a new file be made under another name, and give it its own once it is whole.

    If somebody else was faster, theirs stays. What others who failed have left is removed.
    """
    if not path.parent.is_dir():
        raise LedgerError(
            f"the ledger {str(path)!r} cannot be made: there is no folder {str(path.parent)!r}"
        )
    try:
        _remove_abandoned(path)
        draft, held = _begun(path)
        try:
            make(draft)
            _sync(draft)
            os.link(draft, path)
        except FileExistsError:
            return
        finally:
            _remove(draft)
            os.close(held)
        sync_folder(path.parent)
    except OSError as error:
        raise LedgerError(f"the ledger {str(path)!r} cannot be made: {error.strerror}") from None


def _begun(path: Path) -> tuple[Path, int]:
    """Begin a draft that only the owner can read, because it will hold questions and answers.

    The lock beside it says that somebody is at work, and is held until the draft is done. It is a
    file of its own: once the draft is the ledger, closing it would end all locks that this process
    has there, and with them what keeps two charges apart.
    """
    while True:
        draft = path.with_name(f"{path.name}.new-{secrets.token_hex(8)}")
        held = begin(_lock_of(draft))
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            if os.fstat(held).st_nlink:  # nobody took it for abandoned before it was locked
                os.close(begin(draft))  # before SQLite knows it
                return draft, held
        except BaseException:
            _remove(draft)
            os.close(held)
            raise
        os.close(held)


def begin(draft: Path) -> int:
    """Make a new file that only its owner can read, and return it open."""
    return os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _remove_abandoned(path: Path) -> None:
    """Remove the drafts of whoever was killed: those that nobody holds the lock of.

    A draft is never opened here, for another thread may have it as its ledger by now. One without a
    lock is done, or was left by a version that locked the draft itself.
    """
    for draft in path.parent.glob(_drafts(path)):
        if not _lock_of(draft).exists():
            _remove(draft)
    for lock in path.parent.glob(f"{_drafts(path)}{_LOCK}"):
        with suppress(FileNotFoundError, BlockingIOError):  # somebody else is at it
            held = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(lock.with_name(lock.name.removesuffix(_LOCK)))
            finally:
                os.close(held)


def _drafts(path: Path) -> str:
    return f"{escape(path.name)}.new-{'[0-9a-f]' * 16}"


def _lock_of(draft: Path) -> Path:
    return draft.with_name(f"{draft.name}{_LOCK}")


def _remove(draft: Path) -> None:
    # The lock goes first: a draft without one is known to be nobody's, and a lock alone is not.
    for beside in (_LOCK, "-wal", "-shm", "-journal", ""):
        draft.with_name(f"{draft.name}{beside}").unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names of new files durable."""
    _sync(folder)


def _sync(path: Path) -> None:
    held = os.open(path, os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)


def _forget_drafts(path: Path, seen: os.stat_result) -> bool:
    """Remove the name under which a ledger was made, if its maker did not come to it."""
    drafts = []
    for draft in path.parent.glob(f"{escape(path.name)}.new-*"):
        with suppress(FileNotFoundError):  # its maker came to it after all
            if draft.stat().st_ino == seen.st_ino:
                drafts.append(draft)
    for draft in drafts:
        draft.unlink(missing_ok=True)
        _lock_of(draft).unlink(missing_ok=True)
    return bool(drafts)


def _check_local(folder: Path) -> None:
    kind = _file_system(folder)
    if kind.startswith(_REMOTE) and kind != "fuseblk":  # which is a local disk of another system
        raise LedgerError(
            f"{str(folder)!r} is on a network file system ({kind}), which cannot keep a ledger: "
            "its locks and flushes are not to be relied on; use a local disk, or PostgreSQL"
        )


def _file_system(folder: Path) -> str:
    """Return the kind of file system of a folder, or nothing where the system does not tell."""
    best, kind = -1, ""
    for mount, name in _mounts():
        if folder.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), name
    return kind


def _mounts() -> list[tuple[Path, str]]:
    """Return every mount point with its kind of file system, or nothing where it is not told."""
    if not _MOUNTS.exists():
        return []
    lines = [line.split(" ") for line in _MOUNTS.read_text("utf-8", "replace").splitlines()]
    return [(Path(_OCTAL.sub(lambda c: chr(int(c[1], 8)), at)), kind) for _, at, kind, *_ in lines]


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return a path without links, so that a ledger has one log whatever it is called by."""
    try:
        found = Path(path).resolve()
        found.exists()
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise LedgerError(f"the ledger {str(path)!r} cannot be opened: {why}") from None
    return found


def inode(seen: os.stat_result) -> tuple[int, int]:
    """Return which file it is, whatever its name."""
    return seen.st_dev, seen.st_ino


def beside(name: str) -> list[tuple[int, int] | None]:
    """Return which files the log and its index are: a removed one is still written to."""
    found: list[tuple[int, int] | None] = []
    for end in ("-wal", "-shm"):
        try:
            found.append(inode(os.stat(name + end)))  # noqa: PTH116
        except OSError:
            found.append(None)
    return found


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


def ledger_error(path: Path, error: Exception) -> LedgerError:
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
        raise ledger_error(path, error) from error


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
