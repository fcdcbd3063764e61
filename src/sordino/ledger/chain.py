# SPDX-License-Identifier: Apache-2.0
"""The chain of entries, and its anchor: no entry is believed that does not fit what was seen."""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path
from threading import Lock
from weakref import WeakSet

from sordino.errors import LedgerError
from sordino.ledger.entry import (
    Digest,
    Entry,
    Seen,
    check_plain,
    first_hash,
    hash_of,
    hashed,
    read_seen,
)
from sordino.ledger.stores.protocol import Pages, Store
from sordino.ledger.stores.sqlite.files import sync_folder

_PLACE = 512  # bytes, which a disk writes at once
_DIGITS = 16
_NOTHING = 0, b""

_ANCHORS: WeakSet[Anchor] = WeakSet()


class Anchor:
    """A small file apart from the ledger that remembers its newest entries; processes may share it.

    For each id space it has two places of a fixed size that are written in turn, so that one of
    them is whole whatever happens. It is written after an entry is durable and read when a ledger
    is opened: it may lag behind the ledger after a loss of power, and is never ahead of it.
    """

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


# The chain. ---------------------------------------------------------------------------------------


class Chain:
    """Reads the newest entries of a ledger and adds to them.

    It remembers, for as long as the process lives, the newest entry of every id space, and so does
    the anchor for longer. An entry is checked by its hash when it is first met.
    """

    def __init__(self, identity: str, digest: Digest, anchor: Anchor | None) -> None:
        self.identity = identity
        self.digest = digest
        self._anchor = anchor
        # Read before any pages are, which would else lack what others add in between.
        self.anchored = {} if anchor is None else anchor.all()
        self._seen: dict[str, Entry] = {}
        self._own: dict[tuple[str, str], Entry] = {}
        self._currencies: dict[str, str] = {}
        self._lacking: Seen | None = None  # an entry that is only in another copy

    def last(self, pages: Pages, people: str) -> Entry | None:
        """Return the newest entry of an id space, or None if it was not opened."""
        known = self._seen.get(people)
        if known is not None and pages.head(people) == (known.number, known.hash):
            return known
        last = pages.last(people)
        if last is not None and last.people != people:
            raise LedgerError(f"the ledger gives entries of {last.people!r} for {people!r}")
        seen = self.anchored.get(people)
        if known is not None:
            seen = Seen(people, known.number, known.hash)
        if seen is not None:
            self.check(pages, seen)
        if last is not None:
            self.check_hash(pages, last)
            self._seen[people] = last
        return last

    def currency(self, pages: Pages, people: str) -> str:
        """Return the currency of an id space, or nothing if it was not opened; it never changes."""
        found = self._currencies.get(people)
        if found is None:
            found = pages.currency(people) or ""
            if people in self._seen:
                self._currencies[people] = found
        return found

    def known(self, people: str, who: str) -> tuple[Entry | None, Entry | None]:
        """Return the newest entries that were met, in all and of an analyst; there may be newer."""
        return self._seen.get(people), self._own.get((people, who))

    def own(self, pages: Pages, last: Entry, who: str) -> Entry | None:
        """Return the newest entry about an analyst, or None."""
        if last.who == who:
            return last
        own, known = pages.last_of(last.people, who), self._own.get((last.people, who))
        lost = known is not None and (own is None or own.used < known.used)
        if lost or (own is not None and own.who != who):
            raise LedgerError(
                f"the ledger has lost sight of what {who!r} has used: it was changed or damaged; "
                "see 'sordino ledger verify'"
            )
        if own is not None and own != known:
            self.check_hash(pages, own)
            self._own[last.people, who] = own
        return own

    def append(
        self, pages: Pages, draft: Entry, last: Entry | None, body: bytes | None = None
    ) -> Entry:
        """Add an entry with its hash, that of an answer with its bytes, and return it."""
        check_plain(draft)
        before = self.first(pages, draft.people) if last is None else last.hash
        entry = hashed(draft, before, self.digest)
        pages.append(entry, body)
        return entry

    def follow(
        self, store: Store, draft: Entry, last: Entry, body: bytes | None = None
    ) -> Entry | None:
        """Add an entry with its hash if ``last`` is the newest, and return it; else return None."""
        self.ready()
        entry = hashed(draft, last.hash, self.digest)
        try:
            return entry if store.follow(last, entry, body) else None
        except BaseException:
            store.settle()  # an interrupt may come before a store does it
            raise

    def ready(self) -> None:
        """Refuse to go on in one of two copies, or if the anchor could not be written."""
        if self._lacking is not None:
            raise LedgerError(
                f"entry {self._lacking.number} of {self._lacking.people!r} is not in this ledger, "
                "and somebody has added it: the ledger is in two copies, and both are being "
                "spent; see 'sordino ledger verify'"
            )
        if self._anchor is not None:
            self._anchor.ready()

    def saw(self, entry: Entry, store: Store) -> None:
        """Remember an entry that is durable; refuse to go on if the anchor knows of other ones."""
        known = self._seen.get(entry.people)
        if known is None or known.number < entry.number:
            self._seen[entry.people] = entry
            self._own[entry.people, entry.who] = entry
        if self._anchor is not None:
            newer = self._anchor.write(Seen(entry.people, entry.number, entry.hash))
            if newer is not None:
                self._hold_to(newer, store)

    def _hold_to(self, newer: Seen, store: Store) -> None:
        """Look for what somebody else has anchored: who adds to this ledger has added it here.

        If it is not here, there are two ledgers, and this one is used no more.
        """
        with store.read() as pages:
            found = pages.entry(newer.people, newer.number)
        if found is None or found.hash != newer.head:
            self._lacking = newer
            self.ready()

    def check(self, pages: Pages, seen: Seen) -> None:
        """Refuse to go on if an entry that was seen is not there."""
        found = pages.entry(seen.people, seen.number)
        if found is None or found.hash != seen.head:
            raise LedgerError(
                f"the ledger lacks entry {seen.number} of {seen.people!r}, which has been seen: "
                "it was cut, exchanged, or restored from an old copy; put the newest copy back, "
                "because what was spent since is not in this one"
            )

    def check_hash(self, pages: Pages, entry: Entry) -> None:
        """Refuse an entry whose hash is not that of what it says."""
        try:
            if entry.number == 1:
                before = self.first(pages, entry.people)
            else:
                found = pages.entry(entry.people, entry.number - 1)
                before = "" if found is None else found.hash
            fits = hash_of(entry, before, self.digest) == entry.hash
        except (TypeError, ValueError, OverflowError):  # a number where there was text, and so on
            fits = False
        if not fits:
            raise LedgerError(
                f"entry {entry.number} of {entry.people!r} does not have the hash that it should: "
                "it was changed, or the key is another one; see 'sordino ledger verify'"
            )

    def first(self, pages: Pages, people: str) -> str:
        """Return what stands before the first entry of an id space."""
        return first_hash(self.identity, people, self.currency(pages, people), self.digest)

    def close(self) -> None:
        """Let go of the anchor."""
        if self._anchor is not None:
            self._anchor.close()
