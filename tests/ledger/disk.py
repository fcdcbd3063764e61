# SPDX-License-Identifier: Apache-2.0
"""A disk that writes down all that SQLite does to it, and that fails when it is told to."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from unittest.mock import patch

import apsw

from sordino.ledger.chain import Anchor
from sordino.ledger.entry import Seen
from sordino.ledger.stores.sqlite import files as place
from sordino.ledger.stores.sqlite.files import Driver

SECTOR = 512
Kind: TypeAlias = Literal["create", "write", "cut", "sync", "delete", "link", "folder", "mark"]
_names = (f"watched-{number}" for number in itertools.count())


class Event(NamedTuple):
    """Something that happened to the files of one folder; a mark is what the caller did."""

    kind: Kind
    name: str = ""
    at: int = 0  # of a write its place, of a cut the new length, of a delete 1 if it is durable
    data: bytes = b""
    about: Any = None  # of a link the older name, of a mark what the caller says


class Fault:
    """Lets calls fail: those of some kinds, from the n-th on, once or for as long as it lasts."""

    def __init__(
        self,
        error: Callable[[], Exception],
        *,
        after: int,
        lasting: bool = True,
        kinds: tuple[Kind, ...] = ("create", "write", "cut", "sync"),
    ) -> None:
        self.error = error
        self.left = after
        self.lasting = lasting
        self.kinds = kinds
        self.struck = 0

    def meet(self, kind: Kind) -> None:
        if kind not in self.kinds:
            return
        self.left -= 1
        if self.left == -1 or (self.left < 0 and self.lasting):
            self.struck += 1
            raise self.error()


class Disk(apsw.VFS):
    """SQLite's own way to the files, with a log of events and, maybe, a fault.

    With a ``room`` it is full as soon as all its files together would hold more bytes.
    """

    def __init__(self, log: list[Event] | None = None, *, room: int | None = None) -> None:
        self.log: list[Event] = [] if log is None else log
        self.fault: Fault | None = None
        self.room = room
        self.sizes: dict[str, int] = {}
        self.name = next(_names)
        super().__init__(self.name, "unix")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        assert path is not None, "a ledger needs no temporary files"
        if flags[0] & apsw.SQLITE_OPEN_CREATE and not Path(path).exists():
            self.happens(Event("create", Path(path).name))
        return _File(self, name, flags, Path(path).name)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.happens(Event("delete", Path(filename).name, int(syncdir)))
        super().xDelete(filename, syncdir)
        self.sizes.pop(Path(filename).name, None)

    def happens(self, event: Event) -> None:
        """Write an event down, or fail."""
        if self.fault is not None:
            self.fault.meet(event.kind)
        if event.kind in ("write", "cut"):
            self._hold(event)
        self.log.append(event)

    def _hold(self, event: Event) -> None:
        """Count how long a file becomes, or fail if there is no room for that."""
        before = self.sizes.get(event.name, 0)
        after = event.at if event.kind == "cut" else max(before, event.at + len(event.data))
        held = sum(self.sizes.values()) - before + after
        if self.room is not None and after > before and held > self.room:
            raise full()
        self.sizes[event.name] = after

    def driver(self, *, instead: tuple[str, str] = ("", ""), checkpoint: int = 1_000) -> Driver:
        """Return what a store needs; one statement may be exchanged for another one."""

        def connect(path: Path) -> apsw.Connection:
            connection = _Connection(str(path), vfs=self.name)
            connection.instead = instead
            connection.wal_autocheckpoint(checkpoint)
            return connection

        return Driver(connect, apsw.Error, lambda cursor: int(cursor.connection.changes()))


class _Connection(apsw.Connection):
    """What Python's own module does: the end of a connection fails without a word."""

    instead: tuple[str, str] = ("", "")

    def close(self, force: bool = False) -> None:
        with suppress(apsw.Error):
            super().close(force)

    def execute(self, statements: str, *bindings: Any, **others: Any) -> apsw.Cursor:
        old, new = self.instead
        return super().execute(new if statements == old else statements, *bindings, **others)


class _File(apsw.VFSFile):
    def __init__(
        self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int], short: str
    ) -> None:
        self.disk = disk
        self.short = short
        super().__init__("unix", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self.disk.happens(Event("write", self.short, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self.disk.happens(Event("cut", self.short, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self.disk.happens(Event("sync", self.short))


class WatchedAnchor(Anchor):
    """An anchor whose writes are in the log too."""

    def __init__(self, path: Path, log: list[Event]) -> None:
        super().__init__(path)
        self.log = log

    def ready(self) -> None:
        made = not self.path.exists()
        super().ready()
        if made:
            self.log.append(Event("create", self.path.name))

    def write(self, seen: Seen) -> None:
        before = self.path.read_bytes()
        super().write(seen)
        after = self.path.read_bytes()
        name, grown = self.path.name, len(after) > len(before)
        for at in range(0, len(after), SECTOR):
            if before[at : at + SECTOR] != after[at : at + SECTOR]:
                self.log.append(Event("write", name, at, after[at : at + SECTOR]))
        if grown:
            self.log += [Event("sync", name), Event("folder")]


@contextmanager
def folder_watched(log: list[Event]) -> Iterator[None]:
    """Write down what is done to names and folders while a ledger is made."""
    sync, link, unlink, begin = place._sync, os.link, Path.unlink, place.begin

    def begun(draft: Path) -> int:
        log.append(Event("create", draft.name))
        return begin(draft)

    def synced(path: Path) -> None:
        sync(path)
        log.append(Event("folder") if path.is_dir() else Event("sync", path.name))

    def linked(old: Path, new: Path) -> None:
        link(old, new)
        log.append(Event("link", new.name, about=old.name))

    def unlinked(path: Path, missing_ok: bool = False) -> None:
        if path.exists():
            log.append(Event("delete", path.name))
        unlink(path, missing_ok=missing_ok)

    with (
        patch.object(place, "begin", begun),
        patch.object(place, "_sync", synced),
        patch.object(os, "link", linked),
        patch.object(Path, "unlink", unlinked),
    ):
        yield


def full() -> Exception:
    """Return what SQLite calls a full disk."""
    return apsw.FullError("no space")


def error(code: int) -> Callable[[], Exception]:
    """Return a maker of input and output errors."""

    def make() -> Exception:
        made = apsw.IOError("input or output")
        setattr(made, "extendedresult", code)  # noqa: B010 - apsw reads it, and does not declare it
        return made

    return make


def read_only() -> Exception:
    """Return what SQLite calls a file that must not be written."""
    return apsw.ReadOnlyError("read-only")


def no_entry() -> Exception:
    """Return what SQLite calls a file that cannot be opened."""
    return apsw.CantOpenError("no entry")
