# SPDX-License-Identifier: Apache-2.0
"""The chain of entries: none is believed that does not fit what was seen before."""

from __future__ import annotations

from sordino.errors import LedgerError
from sordino.ledger.anchor import Anchor
from sordino.ledger.entry import Digest, Entry, check_plain, first_hash, hash_of, hashed
from sordino.ledger.receipt import Seen
from sordino.ledger.stores.protocol import Pages, Store


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
