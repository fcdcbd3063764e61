# SPDX-License-Identifier: Apache-2.0
"""A store in the memory of one process: it ends with the process."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from sordino.errors import LedgerError
from sordino.ledger.entry import Entry
from sordino.ledger.stores.protocol import compare_and_add


class MemoryStore:
    """Keeps entries in dictionaries; for tables in memory, and for tests."""

    def __init__(self, *, keyed: bool = False) -> None:
        self.identity = secrets.token_hex(16)
        self.keyed = keyed
        self._spaces: dict[str, str] = {}
        self._entries: dict[str, list[Entry]] = {}
        self._own: dict[tuple[str, str], int] = {}
        self._asked: dict[tuple[str, str, str, str], int] = {}
        self._charged: dict[tuple[str, str, str, str], int] = {}
        self._paid: dict[tuple[str, int], int] = {}
        self._bodies: dict[tuple[str, int], bytes] = {}
        self._lock = RLock()
        self._process = os.getpid()

    @contextmanager
    def read(self) -> Iterator[MemoryStore]:
        if os.getpid() != self._process:  # where nobody writes, and the lock may never be free
            yield self
            return
        with self._lock:
            yield self

    @contextmanager
    def write(self, people: str) -> Iterator[MemoryStore]:
        if os.getpid() != self._process:
            raise LedgerError(
                "a budget in memory cannot be spent in a forked process, where it would be spent "
                "twice; keep the ledger in a file"
            )
        with self._lock:
            spaces, bodies = dict(self._spaces), len(self._bodies)
            many = len(self._entries.get(people, ()))
            try:
                yield self
            except BaseException:
                self._spaces = spaces
                self._cut(people, many, bodies)
                raise

    def follow(self, last: Entry, entry: Entry, body: bytes | None = None) -> bool:
        """Add an entry if ``last`` is the newest; else add nothing."""
        return compare_and_add(self, last, entry, body)

    def spaces(self) -> dict[str, str]:
        return dict(sorted(self._spaces.items()))

    def currency(self, people: str) -> str | None:
        return self._spaces.get(people)

    def add_space(self, people: str, currency: str) -> None:
        if people in self._spaces:
            raise LedgerError(f"{people!r} has been opened")
        self._spaces[people] = currency

    def last(self, people: str) -> Entry | None:
        entries = self._entries.get(people)
        return entries[-1] if entries else None

    def head(self, people: str) -> tuple[int, str] | None:
        last = self.last(people)
        return None if last is None else (last.number, last.hash)

    def last_of(self, people: str, who: str) -> Entry | None:
        """Return the newest entry of an id space about an analyst."""
        return self.entry(people, self._own.get((people, who), 0))

    def entry(self, people: str, number: int) -> Entry | None:
        entries = self._entries.get(people, [])
        return entries[number - 1] if 1 <= number <= len(entries) else None

    def entries(self, people: str, first: int = 1) -> Iterator[Entry]:
        return iter(self._entries.get(people, [])[first - 1 :])

    def answer_to(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        return self.entry(people, self._asked.get((people, who, plan, data), 0))

    def charge_for(self, people: str, who: str, plan: str, data: str) -> Entry | None:
        return self.entry(people, self._charged.get((people, who, plan, data), 0))

    def analysts(self, people: str) -> list[str]:
        return sorted(who for space, who in self._own if space == people)

    def append(self, entry: Entry, body: bytes | None = None) -> None:
        """Add an entry; one that does not follow the last is refused, and so is a second answer."""
        entries = self._entries.setdefault(entry.people, [])
        if entry.number != len(entries) + 1:
            raise LedgerError("entries follow each other without a gap")
        if body is not None:
            if (entry.people, entry.charge) in self._bodies:
                raise LedgerError("a charge pays for one answer, and this one has been recorded")
            self._bodies[entry.people, entry.charge] = body
        entries.append(entry)
        self._index(entry)

    def body(self, entry: Entry) -> bytes | None:
        return self._bodies.get((entry.people, entry.charge))

    def answer_of(self, charge: Entry) -> Entry | None:
        return self.entry(charge.people, self._paid.get((charge.people, charge.number), 0))

    def bodies(self, people: str) -> int:
        return sum(space == people for space, _ in self._bodies)

    def total(self) -> tuple[int, int]:
        return sum(map(len, self._entries.values())), len(self._bodies)

    def check(self) -> None:
        """Nothing is kept that could be damaged."""

    def settle(self) -> None:
        """Nothing is left behind."""

    def close(self) -> None:
        """Nothing is held that would have to be let go of."""

    def _index(self, entry: Entry) -> None:
        if entry.who:
            self._own[entry.people, entry.who] = entry.number
        asked = entry.people, entry.who, entry.plan, entry.data
        if entry.kind == "charge":
            self._charged[asked] = entry.number
        if entry.kind == "answer":
            self._paid[entry.people, entry.charge] = entry.number
            other = self.entry(entry.people, self._asked.get(asked, 0))
            if other is None or other.charge < entry.charge:
                self._asked[asked] = entry.number

    def _cut(self, people: str, many: int, bodies: int) -> None:
        entries = self._entries.get(people, [])
        if len(entries) > many:
            del entries[many:]
            self._own = {at: n for at, n in self._own.items() if at[0] != people}
            self._asked = {at: n for at, n in self._asked.items() if at[0] != people}
            self._charged = {at: n for at, n in self._charged.items() if at[0] != people}
            self._paid = {at: n for at, n in self._paid.items() if at[0] != people}
            for entry in entries:
                self._index(entry)
        for at in list(self._bodies)[bodies:]:
            del self._bodies[at]
