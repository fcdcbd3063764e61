# SPDX-License-Identifier: Apache-2.0
"""An anchor: a small file apart from the ledger that remembers its newest entries.

For each id space it has two places of a fixed size that are written in turn, so that one of them
is whole whatever happens. It is written after an entry is durable and read when a ledger is
opened: it may lag behind the ledger after a loss of power, and is never ahead of it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path
from threading import Lock
from weakref import WeakSet

from sordino.errors import LedgerError
from sordino.ledger.receipt import Seen, read_seen
from sordino.ledger.stores.sqlite.files import sync_folder

_PLACE = 512  # bytes, which a disk writes at once
_DIGITS = 16
_NOTHING = 0, b""

_ANCHORS: WeakSet[Anchor] = WeakSet()


class Anchor:
    """The newest entry of each id space, kept in a file; processes may share it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, int] = {}
        self._mine: dict[int, tuple[int, bytes]] = {}  # what this process has written, by place
        self._file = -1
        self._lock = Lock()
        _ANCHORS.add(self)

    def all(self) -> dict[str, Seen]:
        """Return the newest entries that were seen, by id space."""
        try:
            found = sorted(self._read().values(), key=lambda seen: seen.number)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._broken(f"cannot be read: {error.strerror}") from None
        return {seen.people: seen for seen in found}

    def write(self, seen: Seen) -> Seen | None:
        """Remember an entry that is durable; if there is another one as new, return that."""
        try:
            with self._lock:
                file = self._opened() if self._file < 0 else self._file
                at = self._places.get(seen.people)
                if at is None:
                    at = self._begin(file, seen)
                return self._put(file, seen, at + seen.number % 2 * _PLACE)
        except OSError as error:
            raise self._unwritten(error) from None

    def ready(self) -> None:
        """Open the file for writing, or say why that cannot be."""
        if self._file >= 0:
            return
        try:
            with self._lock:
                self._opened()
        except OSError as error:
            raise self._unwritten(error) from None

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def begin_anew(self) -> None:
        """Forget the file and the lock of the process that this one was forked from."""
        self._file = -1
        self._lock = Lock()  # another thread may have held the old one, and is not here

    def _opened(self) -> int:
        if self._file < 0:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._places.clear()
        return self._file

    def _put(self, file: int, seen: Seen, at: int) -> Seen | None:
        """Write an entry in its place, unless somebody was faster, and return what is there."""
        there = os.pread(file, _PLACE, at)
        number, mine = self._mine.get(at, _NOTHING)
        if there != mine or number >= seen.number:
            newest = _parsed(there)
            if newest is not None and newest.number >= seen.number:
                return None if newest == seen else newest
        written = _written(seen)
        self._mine[at] = seen.number, written
        os.pwrite(file, written, at)
        return None

    def _begin(self, file: int, seen: Seen) -> int:
        """Return where the places of an id space are; make them, durably, if they are nowhere."""
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            self._places = {found.people: at for at, found in self._read().items()}
            if seen.people in self._places:
                return self._places[seen.people]
            end = os.fstat(file).st_size
            at = end + -end % (2 * _PLACE)
            os.pwrite(file, 2 * _written(seen), at)
            os.fsync(file)
            sync_folder(self.path.parent)
            self._places[seen.people] = at
            return at
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def _read(self) -> dict[int, Seen]:
        """Return the newest of each pair of places, by where the pair begins."""
        data = self.path.read_bytes()
        found: dict[int, Seen] = {}
        for start in range(0, len(data), 2 * _PLACE):
            pair = data[start : start + _PLACE], data[start + _PLACE : start + 2 * _PLACE]
            if not any(map(any, pair)):
                continue  # made, but not written before the power was lost
            whole = [seen for seen in map(_parsed, pair) if seen is not None]
            if not whole:
                raise self._broken("is damaged")
            found[start] = max(whole, key=lambda seen: seen.number)
        return found

    def _unwritten(self, error: OSError) -> LedgerError:
        if not self.path.parent.is_dir():
            return LedgerError(
                f"the anchor {str(self.path)!r} cannot be written: there is no folder "
                f"{str(self.path.parent)!r}; make it, or state another anchor"
            )
        return self._broken(f"cannot be written: {error.strerror}")

    def _broken(self, what: str) -> LedgerError:
        return LedgerError(
            f"the anchor {str(self.path)!r} {what}; check the ledger with 'sordino ledger verify', "
            "and remove the anchor if all is well"
        )


def _written(seen: Seen) -> bytes:
    text = str(seen)
    check = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    return f"{text} {check}\n".encode().ljust(_PLACE)


def _parsed(place: bytes) -> Seen | None:
    """Read one place, or return None if it is not whole."""
    try:
        text, _, check = place.decode().rstrip().rpartition(" ")
        seen = read_seen(text)
    except ValueError:
        return None
    return seen if _written(seen) == place and check else None


def _after_fork() -> None:
    for anchor in _ANCHORS:
        anchor.begin_anew()


os.register_at_fork(after_in_child=_after_fork)
