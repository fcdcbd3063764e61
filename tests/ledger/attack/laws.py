# SPDX-License-Identifier: Apache-2.0
"""Laws of a ledger in which power, a disk, a process or somebody else fails or interferes.

They are short forms of the campaigns in ``tests/ledger``, with every race decided beforehand, and
some laws that no other test states.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import apsw
import pytest

from sordino.answer.answer import to_bytes
from sordino.errors import BudgetExceeded, LedgerError
from sordino.ledger.chain import Anchor
from sordino.ledger.ledger import Ledger
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.postgres import PostgresStore
from sordino.ledger.stores.sqlite import files as places_of_files
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.ledger.verify import verify
from sordino.session.session import Session
from tests.ledger import test_order as order
from tests.ledger import test_power_loss as power
from tests.ledger.contract import test_ledger_tables as tables
from tests.ledger.contract import test_ledgers as laws
from tests.ledger.contract.ledgers import KEY, Place, allowed, left, places, shares
from tests.ledger.contract.ledgers import charge as charged
from tests.ledger.disk import Disk, Fault, error, full
from tests.ledger.history import Death, History
from tests.ledger.unit import test_chain as chains
from tests.ledger.unit import test_sqlite as files
from tests.ledger.unit import test_verify as verifying
from tests.ledger.unit.samples import behind, in_file, in_memory, pay, started, terms
from tests.ledger.workers import Counted, Frame, declared, open_book, planned
from tests.support.faults import FaultyEngine, FaultyStore, Point, kill_at, send


@dataclass(frozen=True)
class Lab:
    """Where a check may put files, and what makes databases for it."""

    folder: Path
    database: Callable[[], str]


@contextmanager
def place_of(lab: Lab, kind: str, *, keyed: bool = False) -> Iterator[Place]:
    """Make a place for a ledger, and remove it with all that is in it."""
    make = places(kind, lab.folder, lab.database, keyed=keyed)
    place = Place(kind, KEY if keyed else None, make)
    try:
        yield place
    finally:
        place.remove()


# Power, disks and deaths. ------------------------------------------------------------------------


def power_may_be_lost(lab: Lab) -> None:
    """Replay the recorded writes up to some moments; what was acknowledged must be there."""
    with mock.patch.object(places_of_files, "_BRIEFLY", 0.0):
        wrong, _ = power.campaign(lab.folder, 40, range(0, 1_000, 100))
    assert not wrong, wrong[0]


def answers_leave_after_they_are_synced(lab: Lab) -> None:
    """See the log synced before the engine is asked and again before an answer is there."""
    early = order.too_early(lab.folder, 3)
    assert not early, f"{len(early)} of 6 steps came before the log was synced"


def a_disk_may_fail(lab: Lab) -> None:
    """What cannot be written is refused, costs nothing that was not said, and leaves all whole."""
    path, anchor = lab.folder / "ledger", lab.folder / "heads"
    disk = Disk()
    store = SqliteStore(path, driver=disk.driver())
    with closing(Ledger(store, terms(), anchor=Anchor(anchor))) as ledger:
        seen = [pay(ledger)]
        for make, kind, who in (
            (full, "write", "ann"),  # whose entry is the newest
            (error(apsw.SQLITE_IOERR_FSYNC), "sync", "ann"),
            (full, "write", "bob"),
            (error(apsw.SQLITE_IOERR_FSYNC), "sync", "eve"),
        ):
            disk.fault = Fault(make, after=0, kinds=(kind,))  # type: ignore[arg-type]  # they are
            try:
                with pytest.raises(LedgerError, match="the disk"):
                    pay(ledger, who=who)
            finally:
                disk.fault = None
            seen.append(pay(ledger, who=who))
    with closing(Ledger(SqliteStore(path), terms(), anchor=Anchor(anchor))) as ledger:
        for receipt in seen:
            ledger.hold_to(receipt.seen)
        verify(ledger)


def a_worker_may_end_at_every_point(lab: Lab) -> None:
    """Let a worker end at each point of a question, and hold the ledger to what was seen of it."""
    catalog, place = declared(100, ["ann"]), lab.folder / "ledger"
    plan, history = planned(catalog)[0], History(["ann"], fresh=True)
    for point in Point:
        frames, killed = [], False
        reached = kill_at(point, end=_end)
        book = open_book(place, catalog, reached)
        session = Session(catalog, engine=FaultyEngine(Counted(), reached), ledger=book, who="ann")
        try:
            for _ in range(2):
                reached(Point.PARSED)
                answer = session.answer(plan, fresh=True)
                body, sent = to_bytes(answer), bytearray()
                try:
                    send(body, sent.extend, reached)
                finally:
                    frames.append(Frame(answer.charge.number, bytes(sent), len(sent) == len(body)))
        except _Ended:
            killed = True
        finally:
            session.close()
        assert killed, f"{point} was never reached"
        with closing(open_book(place, catalog)) as book:
            history.check(book, [Death("ann", point, killed, frames)])
            if book.heads():
                verify(book)


class _Ended(BaseException):
    """A worker that is no more; nobody catches it."""


def _end() -> None:
    raise _Ended


# Others, who are faster or in the way. -----------------------------------------------------------


def somebody_may_be_faster(lab: Lab) -> None:
    """Let another one spend all that is left, right before a charge takes the lock.

    Be it of the analyst whose entry is the newest, or of somebody else.
    """
    for kind, who in product(("memory", "file"), ("ann", "eve")):
        path = lab.folder / f"ledger of {who}"
        inner = MemoryStore() if kind == "memory" else SqliteStore(path)
        other = Ledger(inner if kind == "memory" else SqliteStore(path), terms())
        spent: list[str] = []

        def reached(point: Point, other: Ledger = other, spent: list[str] = spent) -> None:
            if point is Point.BEFORE_CHARGE and spent:
                pay(other, spent.pop(), who="bob")

        with closing(Ledger(FaultyStore(inner, reached), terms())) as ledger, closing(other):
            ledger.record(pay(ledger, "0.25", who="ann"), b"answer")
            spent.append("0.75")
            with pytest.raises(BudgetExceeded, match="epsilon 0 is left"):
                pay(ledger, "0.25", who=who)
            (found,) = verify(other)
            assert found.spent.nanos == 10**9


def nobody_else_adds_meanwhile(lab: Lab, *, kind: str) -> None:
    """While one reads in order to write, another one cannot write."""
    with place_of(lab, kind) as place:
        one, other = place.ledger(), place.ledger()
        charged(one, "0.25")
        charged(other, "0.25")
        store: Any = other.store
        if isinstance(store, PostgresStore):
            store._own().connection.execute("SET lock_timeout = '20ms'")  # type: ignore[union-attr]  # it is open
        else:
            store.patience = 0
        with one.store.write("people") as pages:
            assert pages.last("people") is not None
            with pytest.raises(LedgerError, match="others have been writing"):
                charged(other, "0.25")
        assert left(other) == Fraction(1, 2)


def a_child_loses_nothing(lab: Lab) -> None:
    """Fork with a ledger open, close it in the parent, and pay in the child."""
    path = lab.folder / "ledger"
    ledger = in_file(path)
    pay(ledger)
    (ready, tell), (go, hold) = os.pipe(), os.pipe()

    def work() -> None:
        os.close(hold)
        pay(ledger)
        os.close(tell)
        os.read(go, 1)  # until the parent has closed the other end
        pay(ledger)

    child = started(work)
    os.close(tell)
    os.read(ready, 1)  # until the child has closed the other end, or has ended
    ledger.close()
    os.close(hold)
    _, status = os.waitpid(child, 0)
    os.close(ready)
    os.close(go)
    assert status == 0, "a child could not pay"
    assert files.numbers(path) == [1, 2, 3, 4], "a charge of a child is lost"


def no_row_is_put_in_the_place_of_another(place: Place, ledger: Ledger) -> None:
    """Replace every row by itself, each in a statement of its own."""
    with ledger.store.read() as pages:
        numbers = [entry.number for entry in pages.entries("people")]
    for number in numbers:
        with pytest.raises(tables.REFUSED):
            place.execute(
                "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE number = ?", [number]
            )


# What is asked, shared and changed. --------------------------------------------------------------


def other_data_has_the_same_budget(_: Lab) -> None:
    """Ask of one version of the data after the other, until nothing is left."""
    ledger = in_memory()
    for version in range(4):
        ledger.record(pay(ledger, "0.25", data=f"version {version}"), b"answer")
        assert left(ledger) == Fraction(3 - version, 4), "there is more again"
    with pytest.raises(BudgetExceeded):
        pay(ledger, "0.25", data="the newest")


def parts_add_up_to_no_more_than_the_whole(lab: Lab) -> None:
    """Share a budget out in thirds."""
    with place_of(lab, "memory") as place:
        thirds = dict.fromkeys(("ann", "bob", "eve"), ("1/3", "1/3"))
        ledger = place.ledger(allowed(1, analysts=shares(**thirds)))
        assert sum(left(ledger, who) for who in thirds) <= 1


def a_changed_answer_is_not_given(lab: Lab) -> None:
    """Change the bytes of a stored answer behind the back of its ledger."""
    path = lab.folder / "ledger"
    with closing(in_file(path)) as ledger:
        ledger.record(pay(ledger), b"answer")
    behind(path, "UPDATE entries SET bytes = x'00' WHERE kind = 'answer'")
    with (
        closing(in_file(path)) as ledger,
        pytest.raises(LedgerError, match="is not the one that was recorded"),
    ):
        ledger.find("people", who="ann", plan="plan", data="data")


def a_changed_entry_is_refused(_: Lab) -> None:
    """Raise the cap in the newest entry, and leave its hash as it was."""
    store, _ledger = chains.spent()
    chains.change(store, 4, cap=10**10)
    with pytest.raises(LedgerError, match="does not have the hash"):
        in_memory(store=store)


def entries_that_replace_others_are_refused(_: Lab) -> None:
    """Put as many other entries in the place of the newest ones, with good hashes."""
    store, ledger = chains.spent()
    del store._entries["people"][2:]
    store._own["people", "ann"] = 2
    fresh = in_memory(store=store)
    for _again in range(2):
        pay(fresh, "0.001")
    assert len(store._entries["people"]) == 4
    with pytest.raises(LedgerError, match="lacks entry 4"):
        pay(ledger)


def what_was_planted_is_found(lab: Lab) -> None:
    """Plant a trigger that swallows entries beside those of a file."""
    path = lab.folder / "ledger"
    with closing(in_file(path)) as ledger:
        pay(ledger)
    with closing(sqlite3.connect(path)) as file:
        file.execute(verifying.PLANTED[0])
    with pytest.raises(LedgerError, match="has besides the trigger 'more'"):
        in_file(path)


def a_hidden_charge_is_missed(_: Lab) -> None:
    """Let a store lose sight of the newest charge of an analyst, and find an older one."""
    store = MemoryStore()
    ledger = in_memory(store=store)
    for who in ("bob", "bob", "ann"):
        pay(ledger, who=who)
    store._own["people", "bob"] -= 1
    with pytest.raises(LedgerError, match="does not add up to what is spent"):
        in_memory(store=store)


def forged_limits_are_found(lab: Lab) -> None:
    """Raise a cap in the middle of a chain, with all hashes made anew."""
    del lab
    verifying.entries.cache_clear()  # it may be filled with a mutant in force
    try:
        verifying.test_good_hashes_do_not_hide_what_breaks_a_rule(verifying.raise_cap)
    finally:
        verifying.entries.cache_clear()


def sums_are_exact(lab: Lab) -> None:
    """Use a cap up exactly, in a few hundred steps."""
    with place_of(lab, "memory") as place:
        laws._exhaust(place, 400)
