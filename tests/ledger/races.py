# SPDX-License-Identifier: Apache-2.0
"""Processes with threads that all want to be charged at once; everything they saw is written down.

It runs as a process of its own, see ``tests/support/launch.py``. It prints figures as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from threading import Barrier, Lock, Thread
from typing import NamedTuple

from sordino.catalog.model import Catalog
from sordino.errors import BudgetExceeded, LedgerError
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.verify import verify
from sordino.privacy import losses
from tests.ledger.workers import PRICE, declared, open_book

PEOPLE = "people"
_LOSS = losses.pure(epsilon=PRICE).under("add_remove")


class Event(NamedTuple):
    """One attempt as the one who made it saw it; the head is empty if it was refused."""

    who: str
    plan: str
    began: int  # in nanoseconds of a clock that all processes share
    ended: int
    number: int
    head: str
    failed: str = ""


@dataclass(frozen=True)
class Race:
    """So many attempts, by processes and threads, on one ledger that can pay for fewer of them."""

    place: Path | str
    attempts: int
    grants: int
    processes: int = 8
    threads: int = 16
    analysts: int = 1
    share: str = "1"  # of each analyst

    @property
    def names(self) -> list[str]:
        return [f"ann{k}" for k in range(self.analysts)]

    @property
    def catalog(self) -> Catalog:
        return declared(self.grants + Fraction(1, 2), self.names, Fraction(self.share))

    def run(self) -> list[Event]:
        """Fork, let all of them begin together, and return what they saw."""
        gate, start = os.pipe()
        with tempfile.TemporaryDirectory() as folder:
            notes = [Path(folder) / str(place) for place in range(self.processes)]
            children = []
            for place, note in enumerate(notes):
                child = os.fork()
                if child == 0:
                    os.close(start)
                    os.read(gate, 1)  # until the other end is closed
                    os._exit(self._told(place, note))
                children.append(child)
            os.close(start)
            ends = [os.waitpid(child, 0)[1] for child in children]
            os.close(gate)
            assert not any(ends), "a process failed"
            return [Event(*event) for note in notes for event in json.loads(note.read_text())]

    def _told(self, place: int, note: Path) -> int:
        """Run one process and write down what it saw; return what it ends with."""
        try:
            note.write_text(json.dumps(self._process(place)))
        except BaseException:
            traceback.print_exc()
            return 1
        return 0

    def _process(self, place: int) -> list[Event]:
        book = open_book(self.place, self.catalog)
        found: list[Event] = []
        held, together = Lock(), Barrier(self.threads)

        def work(thread: int) -> None:
            together.wait()
            own = [_attempt(book, *asked) for asked in self._asked(place * self.threads + thread)]
            with held:
                found.extend(own)

        threads = [Thread(target=work, args=(thread,)) for thread in range(self.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        book.close()
        return found

    def _asked(self, place: int) -> Iterator[tuple[str, str]]:
        """Return who asks and what, for the attempts of one thread."""
        for attempt in range(place, self.attempts, self.processes * self.threads):
            yield f"ann{place % self.analysts}", f"question {attempt}"


def _attempt(book: Ledger, who: str, plan: str) -> Event:
    began = time.monotonic_ns()
    number, head, failed = 0, "", ""
    try:
        receipt = book.charge(PEOPLE, _LOSS, slack=Fraction(0), plan=plan, who=who)
        number, head = receipt.number, receipt.head
    except BudgetExceeded:
        pass
    except LedgerError as error:
        failed = str(error)
    return Event(who, plan, began, time.monotonic_ns(), number, head, failed)


def check(race: Race, events: list[Event]) -> dict[str, int]:
    """Hold what was seen and the ledger to each other."""
    failed = Counter(event.failed for event in events if event.failed)
    assert not failed, f"{failed.total()} attempts failed: {failed.most_common(3)}"
    assert len({event.plan for event in events}) == len(events) == race.attempts
    granted = [event for event in events if event.head]
    book = open_book(race.place, race.catalog)
    try:
        (verified,) = verify(book)
        with book.store.read() as pages:
            entries = list(pages.entries(PEOPLE))
    finally:
        book.close()
    charges = {entry.number: entry for entry in entries if entry.kind == "charge"}
    told = {(event.number, event.head, event.who, event.plan) for event in granted}
    kept = {(entry.number, entry.hash, entry.who, entry.plan) for entry in charges.values()}
    assert len(told) == len(granted), "two attempts were granted the same charge"
    assert told == kept, "what was granted and what is in the ledger differ"
    terms = terms_of(race.catalog)[PEOPLE]
    price = terms.budget.price(_LOSS).nanos
    assert verified.spent.nanos == price * len(granted) <= terms.caps.cap.nanos
    limits = {share.who: share.most.nanos for share in terms.shares if share.most is not None}
    check_refusals(events, price, terms.caps.cap.nanos, limits)
    return {
        "attempts": len(events),
        "granted": len(granted),
        **check_shares(granted, limits, price),
    }


def check_shares(granted: list[Event], limits: dict[str, int], price: int) -> dict[str, int]:
    """Nobody was granted more than their share; return how much each of them was granted."""
    own = Counter(event.who for event in granted)
    for who, limit in limits.items():
        assert own[who] * price <= limit, f"{who} has spent more than they may"
    return dict(sorted(own.items()))


def check_refusals(events: list[Event], price: int, cap: int, limits: dict[str, int]) -> None:
    """Refused was only what did not fit.

    When a refusal had ended, no more can have been spent than what was granted to all who had
    begun by then; so much and the price must be more than the cap, or than the share.
    """
    moments = sorted(
        [(event.began, 0, event) for event in events if event.head]
        + [(event.ended, 1, event) for event in events if not event.head]
    )
    spent, own = 0, defaultdict[str, int](int)
    for _, refused, event in moments:
        if not refused:
            spent += price
            own[event.who] += price
        else:
            over = own[event.who] + price > limits.get(event.who, cap)
            assert over or spent + price > cap, f"refused, though it would have fitted: {event}"


def main() -> None:
    """Carry out what the argument says, and print what happened."""
    told = json.loads(sys.argv[1])
    place = told.pop("place")
    race = Race(place if "://" in place else Path(place), **told)
    began = time.monotonic()
    events = race.run()
    seconds = time.monotonic() - began
    slowest = max(event.ended - event.began for event in events) / 1e9
    figures = check(race, events)
    told = {**figures, "seconds": round(seconds, 1), "slowest": round(slowest, 2)}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
