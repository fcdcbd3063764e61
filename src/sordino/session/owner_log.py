# SPDX-License-Identifier: Apache-2.0
"""The owner's log: why a question failed after its charge, in a file beside the ledger.

It takes what the logger ``sordino.owner`` is told while a session answers. A line has the time, the
process, what happened and the kind of the failure, and never what an error says: a database quotes
values of rows in its messages. Of a record these are written: the text of the message without its
arguments, or ``extra={"safe": ...}``, a text for which whoever logs it vouches; ``extra={"charge":
...}``; the name of the class of an error; and the places in the code that it came by.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import re
import stat
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from sordino.catalog.model import Book, Catalog, DuckdbTable, file_of
from sordino.errors import CatalogError
from sordino.ledger.stores.sqlite.store import stores

_BESIDE = ("", "-wal", "-shm", "-journal")  # what SQLite writes for one file
_DRAFT = ".new-"  # follows the name of a ledger that is being made


def is_needed(path: Path, catalog: Catalog, book: Book | None) -> bool:
    """Tell whether a file, or one that would have this name, belongs to a catalog or its ledger.

    Links are followed on both sides, and a second name of the same file counts as that file.
    """
    meant = _real(path)
    for one in needed(catalog, book):
        there = _real(one)
        if meant == there or _is_same(path, one) or fnmatch(str(meant), str(there)):
            return True
    return is_of_a_ledger(path) or any(
        meant.parent == ledger.parent and meant.name.startswith(f"{ledger.name}{_DRAFT}")
        for ledger in map(_real, _ledgers(catalog, book))
    )


def needed(catalog: Catalog, book: Book | None) -> Iterator[Path]:
    """Return the catalog, its ledger with what belongs to it, and its sources, some as patterns."""
    if catalog.path is not None:
        yield catalog.path
    for one in (catalog.book, book):
        if one is not None:
            yield from (path for path in (one.anchor, one.key) if path is not None)
    for ledger in _ledgers(catalog, book):
        yield from (ledger.with_name(ledger.name + end) for end in _BESIDE)
    for table in catalog.tables:
        file = file_of(table.source)
        if file is not None:
            yield file
            yield from file.parent.glob(file.name)
            if isinstance(table.source, DuckdbTable):
                yield file.with_name(f"{file.name}.wal")


def is_of_a_ledger(path: Path) -> bool:
    """Tell whether a file belongs to a ledger that this process has open.

    Such a file is never opened but by SQLite: to close it would end the locks of this process.
    """
    return any(
        _is_same(path, store.path.with_name(store.path.name + end))
        for store in stores()
        for end in _BESIDE
    )


def _ledgers(catalog: Catalog, book: Book | None) -> Iterator[Path]:
    for one in (catalog.book, book):
        if one is not None and isinstance(one.place, Path):
            yield one.place


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # which raises for no loop of links


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


NAME = "sordino.log"  # where the ledger is in a database
OLDER = ".1"  # follows the name of a log that was full
_LARGEST = 1 << 20  # bytes of a log, before it is put aside
_LONGEST = 1_000  # characters of one text
_PLACES = 6  # in the code
_HEAD = 64  # bytes that tell a log from any other file
_OURS = re.compile(rb'\{"at": "\d{4}-\d\d-\d\dT')  # what a line begins with
_BEGUN = b'{"at": "0000-00-00T'  # with digits for zeros, of which a full disk may have kept a part
_LOOKS, _PAUSE = 3, 0.005  # at a last line without an end, and the seconds between them
_OTHERS = 0o077  # what others than the owner may do
_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING}


class OwnerLog:
    """A file that lines are added to, by several processes at once; only its owner can read it.

    A log that cannot be written stops no question. It is told once, on standard error. A file that
    holds anything but a log is left as it is.
    """

    def __init__(self, path: Path, *, level: str = "error") -> None:
        self.path = path
        self._least = _LEVELS[level]
        self._silent = False
        self._add(b"")  # so that it is known at the opening whether it can be written

    def tell(self, record: logging.LogRecord) -> None:
        """Add one line for a record of the logger."""
        if record.levelno >= self._least:
            self._add(json.dumps(line_of(record)).encode() + b"\n")

    def _add(self, line: bytes) -> None:
        try:
            with _opened(self.path, os.O_CREAT) as held:
                full = bool(line) and os.fstat(held).st_size + len(line) > _LARGEST
                if not full or not self._put_aside(held):
                    _write(held, line)
                    return
            with _opened(self.path, os.O_CREAT) as held:
                _write(held, line)
        except OSError as error:
            self._complain(error)

    def _put_aside(self, held: int) -> bool:
        """Give a full log another name, unless another process is at it or has done so."""
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            there = os.stat(self.path)  # noqa: PTH116 - as above
        except FileNotFoundError:  # somebody has just done so, and begins the next one
            return True
        if not os.path.samestat(os.fstat(held), there):
            return True
        older = self.path.with_name(self.path.name + OLDER)
        with contextlib.suppress(FileNotFoundError), _opened(older):
            pass  # it is a log too, and may be written over
        self.path.replace(older)
        return True

    def _complain(self, error: OSError) -> None:
        if self._silent or sys.stderr is None:
            return
        self._silent = True
        with contextlib.suppress(OSError, ValueError):  # nobody may be there to hear it
            sys.stderr.write(
                f"sordino: the owner's log {str(self.path)!r} cannot be written "
                f"({error.strerror}); questions are answered, and why one fails is not kept\n"
            )


@contextmanager
def _opened(path: Path, how: int = 0) -> Iterator[int]:
    """Open a log that is ours, for adding to it; anything else is an OSError, and is left alone."""
    if is_of_a_ledger(path):
        raise FileExistsError(errno.EEXIST, "it is a file of a ledger; name another under [log]")
    # Without blocking, for the name may be that of a pipe that nobody reads, and of no link.
    how |= os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    held = os.open(path, how, 0o600)
    try:
        seen = os.fstat(held)
        if not stat.S_ISREG(seen.st_mode):
            raise FileExistsError(errno.EEXIST, "it is not a file; name another under [log]")
        head = os.pread(held, _HEAD, 0)
        if not _is_ours(head):
            told = f"{path.name!r} holds something else; name another under [log]"
            raise FileExistsError(errno.EEXIST, told)
        if seen.st_mode & _OTHERS and seen.st_uid == os.geteuid():
            os.fchmod(held, 0o600)
        yield held
    finally:
        os.close(held)


def _is_ours(head: bytes) -> bool:
    """Tell a log from any other file; a full disk may have cut its first lines short."""
    for line in head.split(b"\n"):
        if _OURS.match(line):
            return True
        if not _BEGUN.startswith(re.sub(rb"\d", b"0", line)):
            return False
    return True


def line_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return what is written of a record: nothing that could have met a value of a row."""
    safe = getattr(record, "safe", None)
    template = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
    told: dict[str, Any] = {
        "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "pid": record.process,
        "level": record.levelname.lower(),
        "what": (safe if isinstance(safe, str) else template)[:_LONGEST],
    }
    charge = getattr(record, "charge", None)
    if isinstance(charge, str):
        told["charge"] = charge[:_LONGEST]
    kind, _, trace = record.exc_info or (None, None, None)
    if kind is not None:
        told["failure"] = kind.__name__
        told["places"] = [
            f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(trace)[-_PLACES:]
        ]
    return told


def path_of(catalog: Catalog, book: Book | None) -> Path | None:
    """Return where the log is: as declared, else beside the ledger, or None if there is none."""
    if catalog.log is not None:
        return catalog.log.file
    if book is None:
        return None
    if isinstance(book.place, Path):
        stem = book.place.name.removesuffix(".ledger")
        return book.place.with_name(f"{stem}.log")
    return None if catalog.path is None else catalog.path.with_name(NAME)


def check_log(catalog: Catalog, book: Book | None) -> Path | None:
    """Return where the log is; one that would harm the catalog, its data or ledger is refused."""
    path = path_of(catalog, book)
    if path is None:
        return None
    if path.is_symlink():
        raise CatalogError(f"the owner's log {str(path)!r} is a link; state its file under [log]")
    for one in (path, path.with_name(path.name + OLDER)):  # which a full log is renamed to
        if is_needed(one, catalog, book):
            raise CatalogError(
                f"the owner's log {str(path)!r} would be written to {str(one)!r}, which belongs to "
                "the catalog, its data or its ledger; state another file under [log], or "
                "file = false"
            )
    return path


def belongs_to(path: Path, catalog: Catalog) -> bool:
    """Tell whether a file is one that a catalog needs, or its log, or what a full log becomes."""
    log = path_of(catalog, catalog.book)
    logs = () if log is None else (log, log.with_name(log.name + OLDER))
    is_log = any(_real(path) == _real(one) or _is_same(path, one) for one in logs)
    return is_log or is_needed(path, catalog, catalog.book)


def open_log(catalog: Catalog, book: Book | None) -> OwnerLog | None:
    """Open the log of a catalog, if it has one; see ``check_log``."""
    path = check_log(catalog, book)
    level = "error" if catalog.log is None else catalog.log.level
    return None if path is None else OwnerLog(path, level=level)


class _Handler(logging.Handler):
    """Hands records over to the log of the session that is at work in this thread."""

    def emit(self, record: logging.LogRecord) -> None:
        log = writing.get()
        if log is not None:
            log.tell(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name in logging
        """Say nothing: what logging would print here has the arguments of the record."""


def _write(held: int, line: bytes) -> None:
    if not line:
        return
    if _is_cut_short(held):
        line = b"\n" + line
    written = os.write(held, line)  # at once, so that lines of several processes do not mix
    if written < len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_cut_short(held: int) -> bool:
    """Tell whether a full disk has cut the last line short.

    A line that another process is just writing can look so for a moment, so one look is not enough.
    """
    for _ in range(_LOOKS):
        size = os.fstat(held).st_size
        if not size or os.pread(held, 1, size - 1) == b"\n":
            return False
        time.sleep(_PAUSE)
    return True


# The log of the session that is at work in this thread.
writing: ContextVar[OwnerLog | None] = ContextVar("sordino.owner_log", default=None)
logging.getLogger("sordino.owner").addHandler(_Handler())
