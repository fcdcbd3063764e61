# SPDX-License-Identifier: Apache-2.0
"""An entry that one statement adds to a file: as durable, patient and careful as a transaction."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

import apsw
import numpy as np
import pytest

from sordino.errors import LedgerError
from sordino.ledger import chain
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import Seen
from sordino.ledger.ledger import Ledger
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.sqlite import store as sqlite
from sordino.ledger.stores.sqlite.files import IMPATIENT, PATIENT
from sordino.ledger.stores.sqlite.store import FOLLOW, SqliteStore
from sordino.ledger.verify import verify
from sordino.privacy import Budget
from tests.ledger.disk import Disk, Event, Fault, Kind, error, full
from tests.ledger.unit.samples import behind, catalog, in_file, in_memory, of_two_limits, pay, terms
from tests.support.faults import FaultyStore, Point, faulty_driver, kill_at


def store_of(ledger: Ledger) -> SqliteStore:
    assert isinstance(ledger.store, SqliteStore)
    return ledger.store


def rows(path: Path) -> list[Any]:
    """Return all there is, as a process that comes later sees it."""
    with closing(sqlite3.connect(path)) as file:
        return [*file.execute("SELECT * FROM entries"), *file.execute("SELECT * FROM turns")]


def is_free(ledger: Ledger) -> bool:
    """Tell whether another thread gets the lock, and whether no transaction is open."""
    store, found = store_of(ledger), []

    def look() -> None:
        found.append(store._lock.acquire(timeout=1))
        if found[0]:
            store._lock.release()

    thread = Thread(target=look)
    thread.start()
    thread.join()
    return found[0] and not store._connection.in_transaction


def test_the_next_entry_of_an_analyst_is_one_statement(tmp_path: Path) -> None:
    told: list[str] = []
    store = SqliteStore(tmp_path / "ledger", driver=faulty_driver(told.append))
    with closing(Ledger(store, terms())) as ledger:
        ledger.record(pay(ledger), b"answer")
        told.clear()
        receipt = pay(ledger)
        alone = [IMPATIENT, FOLLOW, PATIENT]
        assert told == alone
        ledger.record(receipt, b"answer")
        assert told == alone * 2
        pay(ledger, who="bob")
        assert told[6:9] + told[-1:] == [IMPATIENT, "BEGIN IMMEDIATE", PATIENT, "COMMIT"]
        ledger.record(receipt._replace(number=6, head=ledger.heads()[0].head), b"answer")
        verify(ledger)


def test_nothing_is_left_of_an_entry_that_somebody_was_faster_than(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with closing(in_file(path)) as ledger, closing(in_file(path)) as other:
        pay(ledger)
        known, _ = ledger.chain.known("people", "ann")
        assert known is not None
        for who in ("bob", "ann"):
            pay(other, who=who)
            before = rows(path)
            late = known._replace(number=known.number + 1, plan="late", hash="1" * 64)
            assert not ledger.store.follow(known, late)
            assert rows(path) == before
            assert is_free(ledger)
        assert pay(ledger).number == 5
        verify(other)


def test_whoever_writes_is_waited_for(tmp_path: Path) -> None:
    path, paid = tmp_path / "ledger", []
    with closing(in_file(path)) as ledger, closing(in_file(path)) as other:
        pay(ledger)
        thread = Thread(target=lambda: paid.append(pay(ledger).number))
        with other.store.write("people"):
            thread.start()
            time.sleep(0.2)
            assert not paid
        thread.join()
        assert paid == [3]
        store_of(ledger).patience = 0
        with (
            other.store.write("people"),
            pytest.raises(LedgerError, match="others have been writing for very long"),
        ):
            pay(ledger)
        assert is_free(ledger)
        assert pay(other).number == 4


def test_a_transaction_that_an_interrupt_left_open_does_not_swallow_an_entry(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger"
    with closing(in_file(path)) as ledger, closing(in_file(path)) as other:
        receipt = pay(ledger)
        store_of(ledger)._connection.execute("BEGIN IMMEDIATE")
        ledger.record(receipt, b"answer")
        assert other.find("people", who="ann", plan="plan", data="data") == b"answer"
        store_of(ledger)._connection.execute("BEGIN")
        pay(ledger)
        assert pay(other).number == 5
        assert is_free(ledger)


def test_an_entry_is_not_put_into_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with closing(in_file(path)) as ledger, closing(in_file(path)) as other:
        pay(ledger)
        for _ in range(2):
            pay(other)
        behind(path, "DELETE FROM entries WHERE number = 3")
        with pytest.raises(LedgerError, match="entry 4 of 'people' does not have the hash"):
            pay(ledger)
        assert len(rows(path)) == 3


def replaced(path: Path) -> Ledger:
    """Return a ledger whose newest entries were exchanged for as many others with good hashes."""
    ledger = in_file(path)
    for _ in range(3):
        pay(ledger)
    behind(path, "DELETE FROM entries WHERE number > 2")
    with closing(in_file(path)) as fresh:  # it has seen nothing, and there is no anchor
        for _ in range(2):
            pay(fresh, plan="another")
    return ledger


def test_entries_in_a_file_that_replace_those_seen_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with closing(replaced(path)) as ledger:
        before = rows(path)
        for _ in range(2):
            with pytest.raises(LedgerError, match="lacks entry 4 of 'people'"):
                pay(ledger)
        assert rows(path) == before


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (full, "write", "the disk is full"),
        (error(apsw.SQLITE_IOERR_WRITE), "write", "the disk reports an error"),
        (error(apsw.SQLITE_IOERR_FSYNC), "sync", "the disk reports an error"),
    ],
)
def test_a_disk_that_fails_adds_nothing_that_was_said_to_be_added(
    make: Callable[[], Exception], kind: Kind, words: str, tmp_path: Path
) -> None:
    path, disk = tmp_path / "ledger", Disk()
    with closing(Ledger(SqliteStore(path, driver=disk.driver()), terms())) as ledger:
        pay(ledger)
        for number in range(2):  # a charge, and its answer
            receipt = pay(ledger)
            disk.fault = Fault(make, after=0, kinds=(kind,))
            with pytest.raises(LedgerError, match=words):
                pay(ledger) if number == 0 else ledger.record(receipt, b"answer")
            disk.fault = None
            assert is_free(ledger)
            receipt = pay(ledger)
            ledger.record(receipt, b"answer")
            ledger.hold_to(receipt.seen)
        (found,) = verify(ledger)
        assert 5 <= found.charges <= 6
    with closing(in_file(path)) as ledger:
        ledger.hold_to(receipt.seen)


def test_the_anchor_is_written_after_the_entry_is_synced(tmp_path: Path) -> None:
    log: list[Event] = []
    store = SqliteStore(tmp_path / "ledger", driver=Disk(log).driver())

    class Marked(Anchor):
        def write(self, seen: Seen) -> None:
            log.append(Event("mark", "anchor"))
            super().write(seen)

    with closing(Ledger(store, terms(), anchor=Marked(tmp_path / "heads"))) as ledger:
        ledger.record(pay(ledger), b"answer")
        for _ in range(3):
            log.clear()
            ledger.record(pay(ledger), b"answer")
            told = [event.kind for event in log if event.name in ("ledger-wal", "anchor")]
            half = told.index("mark") + 1
            for part in (told[:half], told[half:]):
                assert part[-2:] == ["sync", "mark"]
                assert part[0] == "write"
                assert part.count("mark") == 1


# Interrupts. ------------------------------------------------------------------------------------


PRESSED = {"follow", "_hashed", "_take", "_prepare", "begin", "settle", "_is_mine", "_explain"}


class Presses:
    """Presses Ctrl-C before a bytecode of what adds an entry, counted from 1."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _: object) -> Presses | None:
        code = frame.f_code
        if code.co_filename not in (sqlite.__file__, chain.__file__) or code.co_name not in PRESSED:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def pressed(work: Callable[[], object], at: int) -> bool:
    """Do something, interrupted before one bytecode; return whether there were so many."""
    before = sys.gettrace()
    sys.settrace(Presses(at))
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("what", ["a charge", "an answer", "a late charge", "a look"])
def test_an_interrupt_before_any_bytecode_leaves_nothing_behind(what: str, tmp_path: Path) -> None:
    """In a thread of its own, whose record of errors that are being handled is spoilt by this.

    No interrupt of a person comes between the bytecodes that keep that record.
    """
    with ThreadPoolExecutor(1) as apart:
        apart.submit(_press_everywhere, what, tmp_path / "ledger").result()


def _press_everywhere(what: str, path: Path) -> None:
    declared = catalog("1000")
    with closing(in_file(path, declared)) as ledger, closing(in_file(path, declared)) as other:
        store_of(other).patience = 0
        for each in (ledger, other):
            store_of(each)._connection.execute("PRAGMA synchronous = OFF")
        at, interrupted = 0, True
        while interrupted:
            at += 1
            receipt = pay(ledger, "0.001")  # so that the newest entry is known
            if what == "a late charge":
                pay(other, "0.001")
            work: Callable[[], object] = partial(pay, ledger, "0.001")
            if what == "an answer":
                work = partial(ledger.record, receipt, b"answer")
            elif what == "a look":
                work = partial(ledger.find, "people", who="ann", plan="plan", data="data")
            interrupted = pressed(work, at)
            assert is_free(ledger), f"something is held after an interrupt at bytecode {at}"
            with other.store.write("people"):  # at once, because nobody is waited for
                pass
        assert at > 100
        verify(other)


# What has to be compared first. -----------------------------------------------------------------


def test_limits_are_compared_although_the_newest_entry_is_known() -> None:
    ten, half = of_two_limits()
    pay(ten)
    half.left("people", "ann")
    assert half.chain.known("people", "ann")[0] is not None
    for _ in range(2):
        with pytest.raises(LedgerError, match="differ on the limits"):
            pay(half)


def test_terms_are_compared_again_after_an_opening_that_was_undone() -> None:
    store, rho = MemoryStore(), Budget(epsilon=1, delta=1e-6, neighbours="add_remove")
    reached = kill_at(Point.CHARGE_WRITTEN, end=_interrupt)
    first = Ledger(FaultyStore(store, reached), terms())
    first.check_terms()
    with pytest.raises(KeyboardInterrupt):
        pay(first)
    other = in_memory(catalog(budget=rho), store=store)
    pay(other)
    first.heads()
    assert first.chain.known("people", "ann")[0] == store.last("people")
    with pytest.raises(LedgerError, match="counts rho for 'people' and the catalog epsilon"):
        pay(first, "0.001")  # so little that it would fit


def test_limits_are_compared_again_after_an_opening_that_was_undone() -> None:
    store, reached = MemoryStore(), kill_at(Point.CHARGE_WRITTEN, end=_interrupt)
    first = Ledger(FaultyStore(store, reached), terms())
    first.check_terms()
    with pytest.raises(KeyboardInterrupt):
        pay(first)
    pay(in_memory(catalog("10"), store=store))
    with pytest.raises(LedgerError, match="differ on the limits"):
        pay(first)


def _interrupt() -> None:
    raise KeyboardInterrupt


class Few(bytes):
    """Bytes that are a number as well, which ``bytearray`` would take for their length."""

    __slots__ = ()

    def __index__(self) -> int:
        return 3


def test_the_bytes_of_an_answer_are_kept_whatever_else_they_are(tmp_path: Path) -> None:
    with closing(in_file(tmp_path / "ledger")) as ledger:
        for plan in ("a", "b"):
            ledger.record(pay(ledger, plan=plan), Few(b"{}"))
            assert ledger.find("people", who="ann", plan=plan, data="data") == b"{}"
        verify(ledger)


@pytest.mark.parametrize("body", ["{}", None, 5, np.int64(5), bytearray(b"{}"), memoryview(b"{}")])
def test_an_answer_is_nothing_but_bytes(body: Any) -> None:
    ledger = in_memory()
    receipt = pay(ledger)
    with pytest.raises(TypeError, match="an answer is recorded as bytes, not as"):
        ledger.record(receipt, body)
    ledger.record(receipt, b"{}")


def test_somebody_who_adapts_floats_for_sqlite_loses_nothing(tmp_path: Path) -> None:
    """Adapters hold for a whole process, so this one is on its own."""
    script = """
import sqlite3, sys, sordino as so
sqlite3.register_adapter(float, str)
wards = {"ward": ["a", "b"]}
with so.table(wards, keys=wards, unit="row", epsilon=1, ledger=sys.argv[1]) as session:
    for least in (1, 2, 3):
        asked = f"SELECT ward, count(*) AS n FROM data GROUP BY ward HAVING n > {least}"
        print(session.ask(asked, epsilon=0.1).charge.number)
"""
    command = [sys.executable, "-c", script, str(tmp_path / "ledger")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "4", "6"]
