# SPDX-License-Identifier: Apache-2.0
"""The chain of entries: none is believed that does not fit what was seen before."""

from __future__ import annotations

from sordino.errors import LedgerError
from sordino.ledger.anchor import Anchor
from sordino.ledger.entry import Digest, Entry, first_hash, hash_of
from sordino.ledger.receipt import Seen
from sordino.ledger.store import Pages


class Chain:
    """Reads the newest entries of a ledger and adds to them.

    It remembers, for as long as the process lives, the newest entry of every id space, and so does
    the anchor for longer. An entry is checked by its hash when it is first met.

    Guarantee: none needed; it depends on what was spent alone.
    """

    def __init__(self, identity: str, digest: Digest, anchor: Anchor | None) -> None:
        self.identity = identity
        self.digest = digest
        self._anchor = anchor
        self._seen: dict[str, tuple[int, str]] = {}

    def last(self, pages: Pages, people: str) -> Entry | None:
        """Return the newest entry of an id space, or None if it was not opened.

        Guarantee: none needed; it depends on what was spent alone.
        """
        last, known = pages.last(people), self._seen.get(people)
        if known is None and self._anchor is not None:
            anchored = self._anchor.read(people)
            known = None if anchored is None else (anchored.number, anchored.head)
        if last is not None and known == (last.number, last.hash) and people in self._seen:
            return last
        if known is not None:
            self.check(pages, Seen(people, *known))
        if last is not None:
            self.check_hash(pages, last)
            self._seen[people] = last.number, last.hash
        return last

    def own(self, pages: Pages, last: Entry, who: str) -> Entry | None:
        """Return the newest entry about an analyst, or None.

        Guarantee: none needed; it depends on what was spent alone.
        """
        if last.who == who:
            return last
        own = pages.last_of(last.people, who)
        if own is not None:
            self.check_hash(pages, own)
        return own

    def append(self, pages: Pages, draft: Entry, last: Entry | None) -> Entry:
        """Add an entry with its hash, and return it.

        Guarantee: none needed; it depends on what was spent alone.
        """
        before = self.first(pages, draft.people) if last is None else last.hash
        entry = draft._replace(hash=hash_of(draft, before, self.digest))
        pages.append(entry)
        return entry

    def saw(self, entry: Entry) -> None:
        """Remember an entry that is durable.

        Guarantee: none needed; it depends on what was spent alone.
        """
        known = self._seen.get(entry.people)
        if known is None or known[0] < entry.number:
            self._seen[entry.people] = entry.number, entry.hash
        if self._anchor is not None:
            self._anchor.write(Seen(entry.people, entry.number, entry.hash))

    def check(self, pages: Pages, seen: Seen) -> None:
        """Refuse to go on if an entry that was seen is not there.

        Guarantee: none needed; public inputs only.
        """
        found = pages.entry(seen.people, seen.number)
        if found is None or found.hash != seen.head:
            raise LedgerError(
                f"the ledger lacks entry {seen.number} of {seen.people!r}, which has been seen: "
                "it was cut, exchanged, or restored from an old copy; put the newest copy back, "
                "because what was spent since is not in this one"
            )

    def check_hash(self, pages: Pages, entry: Entry) -> None:
        """Refuse an entry whose hash is not that of what it says.

        Guarantee: none needed; public inputs only.
        """
        if entry.number == 1:
            before = self.first(pages, entry.people)
        else:
            found = pages.entry(entry.people, entry.number - 1)
            before = "" if found is None else found.hash
        if hash_of(entry, before, self.digest) != entry.hash:
            raise LedgerError(
                f"entry {entry.number} of {entry.people!r} does not have the hash that it should: "
                "it was changed, or the key is another one; see 'sordino ledger verify'"
            )

    def first(self, pages: Pages, people: str) -> str:
        """Return what stands before the first entry of an id space.

        Guarantee: none needed; public inputs only.
        """
        return first_hash(self.identity, people, pages.currency(people) or "", self.digest)

    def close(self) -> None:
        """Let go of the anchor.

        Guarantee: none needed.
        """
        if self._anchor is not None:
            self._anchor.close()
