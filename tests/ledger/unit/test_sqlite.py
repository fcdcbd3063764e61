# SPDX-License-Identifier: Apache-2.0
"""A ledger in a file: one file, whoever moves it, forks, or writes to it behind our back."""

import os
import resource
import shutil
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Barrier, Thread

import pytest

from sordino.errors import BudgetExceeded, LedgerError
from sordino.ledger.ledger import Ledger
from sordino.ledger.stores.sqlite import store as sqlite
from sordino.ledger.stores.sqlite.store import _LOOK_AGAIN, SqliteStore
from sordino.ledger.verify import verify
from tests.ledger.unit.samples import analyst, catalog, ended, in_file, pay, started, terms

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def numbers(path: Path) -> list[int]:
    """Return the numbers of all entries, as a process that comes later sees them."""
    with closing(sqlite3.connect(path)) as file:
        return [number for (number,) in file.execute("SELECT number FROM entries ORDER BY id")]


def check(ledger: Ledger) -> None:
    assert verify(ledger)


def test_what_was_charged_is_there_for_whoever_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = in_file(path)
    receipt = pay(ledger, "0.25")
    ledger.record(receipt, b"answer")
    with_it, ledger_too = in_file(path), in_file(tmp_path / "." / "ledger")
    assert pay(with_it, "0.25").number == 4
    assert pay(ledger_too, "0.25").number == 5
    ledger.close()
    with_it.close()
    ledger_too.close()
    again = in_file(path)
    assert str(again.left("people", "ann")[0]) == "epsilon 0.25"
    assert again.find("people", who="ann", plan="plan", data="data") == b"answer"
    again.hold_to(receipt.seen)
    again.close()


def test_a_link_leads_to_the_same_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    (tmp_path / "link").symlink_to(path)
    one = in_file(tmp_path / "link")
    two = in_file(path)
    pay(one, "0.75")
    assert str(two.left("people", "ann")[0]) == "epsilon 0.25"
    one.close()
    two.close()
    assert sorted(found.name for found in tmp_path.iterdir()) == ["ledger", "link"]


def test_a_file_that_is_moved_or_exchanged_while_open_is_used_no_more(tmp_path: Path) -> None:
    path, away = tmp_path / "ledger", tmp_path / "away"
    ledger = in_file(path)
    pay(ledger)
    shutil.copy(path, tmp_path / "copy")
    path.rename(away)
    time.sleep(2 * _LOOK_AGAIN)
    for use in (lambda: pay(ledger), lambda: ledger.left("people", "ann"), ledger.heads):
        with pytest.raises(LedgerError, match="moved or exchanged while it was open"):
            use()
    (tmp_path / "copy").rename(path)
    with pytest.raises(LedgerError, match="moved or exchanged"):
        pay(ledger)
    path.unlink()
    away.rename(path)
    assert pay(ledger).number == 3
    ledger.close()


def test_a_closed_ledger_is_not_used(tmp_path: Path) -> None:
    ledger = in_file(tmp_path / "ledger", anchored=True)
    pay(ledger)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="has been closed; open it again"):
        pay(ledger)


def test_a_child_and_its_parent_spend_one_budget(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = in_file(path, anchored=True)
    assert pay(ledger).number == 2

    def work() -> None:
        assert pay(ledger).number == 3
        ledger.close()

    assert ended(work) == 0
    assert pay(ledger).number == 4
    assert ended(lambda: check(ledger)) == 0
    ledger.close()
    assert numbers(path) == [1, 2, 3, 4]


def test_a_child_loses_nothing_when_its_parent_closes(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = in_file(path, anchored=True)
    pay(ledger)
    ready, go = os.pipe(), os.pipe()

    def work() -> None:
        pay(ledger)
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        assert [pay(ledger).number for _ in range(3)] == [4, 5, 6]

    child = started(work)
    os.read(ready[0], 1)
    ledger.close()
    os.write(go[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
    for end in (*ready, *go):
        os.close(end)
    assert numbers(path) == [1, 2, 3, 4, 5, 6]


def test_a_fork_in_the_midst_of_a_transaction_leaves_it_to_the_parent(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = in_file(path)
    pay(ledger)

    def work() -> None:
        with pytest.raises(LedgerError, match="was in use when this process was forked"):
            pay(ledger)

    with ledger.store.write("people") as pages:
        assert ended(work) == 0
        assert pages.last("people") is not None
    assert pay(ledger).number == 3
    ledger.close()
    assert numbers(path) == [1, 2, 3]


def test_many_threads_of_a_child_may_begin_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = in_file(path, anchored=True)
    pay(ledger, "0.001")

    def work() -> None:
        failed: list[BaseException] = []
        together = Barrier(8)

        def spend() -> None:
            together.wait()
            try:
                for _ in range(3):
                    pay(ledger, "0.001")
            except BaseException as error:  # it is looked at below
                failed.append(error)

        _run([Thread(target=spend) for _ in range(8)])
        assert failed == []

    for _ in range(3):
        assert ended(work) == 0
    ledger.close()
    assert numbers(path) == list(range(1, 3 * 24 + 3))


def test_threads_may_fork_at_once(tmp_path: Path) -> None:
    """In a process of its own, which a lock that is never given back would only stop there."""

    def work() -> None:
        signal.alarm(120)
        sys.setswitchinterval(1e-6)
        ledgers = [in_file(tmp_path / name) for name in ("one", "two", "three")]

        def fork() -> None:
            for _ in range(8):
                assert ended(lambda: None) == 0

        _run([Thread(target=fork) for _ in range(4)])
        assert [pay(each).number for each in ledgers] == [2, 2, 2]

    assert ended(work) == 0


def _run(threads: list[Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("table", ["about", "spaces", "entries"])
def test_nothing_can_be_changed_removed_or_replaced_by_sql(tmp_path: Path, table: str) -> None:
    path = tmp_path / "ledger"
    ledger = in_file(path)
    ledger.record(pay(ledger), b"answer")
    ledger.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        before = list(file.iterdump())
        (first,) = file.execute("SELECT name FROM pragma_table_info(?)", [table]).fetchone()
        for statement in (
            f"DELETE FROM {table}",  # noqa: S608 - a literal
            f"UPDATE {table} SET {first} = {first}",  # noqa: S608
            f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",  # noqa: S608
            f"INSERT INTO {table} SELECT * FROM {table}",  # noqa: S608
        ):
            with pytest.raises(sqlite3.Error):
                file.execute(statement)
        assert list(file.iterdump()) == before


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(LedgerError, match="is not a ledger, or it is damaged"):
        SqliteStore(tmp_path / "text")
    with closing(sqlite3.connect(tmp_path / "other")) as file:
        file.execute("CREATE TABLE something (a)")
        file.commit()
    with pytest.raises(LedgerError, match="is of version 0"):
        SqliteStore(tmp_path / "other")
    (tmp_path / "empty").touch()
    with pytest.raises(LedgerError, match="is empty"):
        SqliteStore(tmp_path / "empty")
    with pytest.raises(LedgerError, match="is not a file"):
        SqliteStore(tmp_path)


def test_questions_without_a_delta_go_on_when_the_delta_is_lowered(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    declared = catalog(analysts=[analyst("ann", "0.5")])
    rich = in_file(path, declared)
    pay(rich, slack=rich.left("people", "ann")[1])
    rich.close()
    poor = in_file(path, catalog(slack=declared.purses[0][1].slack / 10))
    poor.amend(by="olga", why="less")
    assert pay(poor).number > 2
    with pytest.raises(BudgetExceeded, match="to discover keys"):
        pay(poor, slack=declared.purses[0][1].slack / 1000)
    verify(poor)
    poor.close()


def test_an_interrupt_in_a_transaction_adds_nothing_and_blocks_nobody(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger, other = in_file(path), in_file(path)
    pay(ledger)

    def add_and_fail() -> None:
        with ledger.store.write("people") as pages:
            pages.add_space("staff", "rho")
            assert pages.currency("staff") == "rho"
            assert pages.last("staff") is None  # by which it is known where its entries would be
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_and_fail()
    with ledger.store.read() as pages:
        assert pages.spaces() == {"people": "epsilon"}
        assert pages.last("staff") is None
    assert (pay(other).number, pay(ledger).number) == (3, 4)
    third = in_file(path, catalog(people="visitors"))
    third.amend(by="olga", why="visitors")
    pay(third, people="visitors")
    with ledger.store.read() as pages:
        assert pages.last("staff") is None
    for each in (ledger, other, third):
        each.close()


def test_a_store_says_whether_it_was_made_with_a_key(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "ledger", keyed=True)
    again = SqliteStore(tmp_path / "ledger", keyed=False)
    assert (first.keyed, again.keyed) == (True, True)
    assert first.identity == again.identity
    assert SqliteStore(tmp_path / "other").identity != first.identity
    with pytest.raises(LedgerError, match="made with a key"):
        Ledger(again, terms())
    first.close()
    again.close()


def test_the_newest_entry_of_an_analyst_is_found_whoever_came_after(tmp_path: Path) -> None:
    luck = Random(7)  # noqa: S311 - no secret
    with closing(in_file(tmp_path / "one.ledger", catalog("100"))) as ledger:
        for _ in range(120):
            pay(ledger, "0.01", who=luck.choice(["ann", "bob", "eve", "kim"]))
            newest = {}
            with ledger.store.read() as pages:
                for entry in pages.entries("people"):
                    newest[entry.who] = entry.used
                found = {who: pages.last_of("people", who) for who in newest if who}
                assert {who: entry.used for who, entry in found.items() if entry} == {
                    who: used for who, used in newest.items() if who
                }
                assert pages.last_of("people", "nobody") is None
                assert pages.analysts("people") == sorted(found)
        verify(ledger)


def test_a_turn_cannot_be_forged(tmp_path: Path) -> None:
    path = tmp_path / "one.ledger"
    with closing(in_file(path, catalog("100"))) as ledger:
        for who in ("ann", "bob", "ann", "bob"):
            pay(ledger, who=who)
    with closing(sqlite3.connect(path)) as connection:
        (newest,) = connection.execute("SELECT max(id) FROM entries WHERE who = 'ann'").fetchone()
        for forged in (("bob", newest), ("ann", newest + 1), ("ann", newest + 9)):
            with pytest.raises(sqlite3.IntegrityError, match="a turn ends with an entry"):
                connection.execute("INSERT INTO turns VALUES (?, ?)", forged)


@pytest.mark.parametrize("who", ["ann", "bob"])  # by one statement, and by a transaction
def test_who_waits_for_others_tries_again_in_small_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    path, steps = tmp_path / "ledger", []
    with closing(in_file(path)) as ledger:
        pay(ledger)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")

            def step(seconds: float) -> None:
                steps.append(seconds)
                if len(steps) == 200:
                    other.execute("COMMIT")

            monkeypatch.setattr(sqlite, "sleep", step)
            assert pay(ledger, who=who).number == 3
            assert steps == [sqlite._STEP] * 200
            assert sqlite._STEP <= 0.001
            other.execute("BEGIN IMMEDIATE")
            monkeypatch.setattr(ledger.store, "patience", -1)
            with pytest.raises(LedgerError, match="others have been writing for very long"):
                pay(ledger, who=who)
        assert pay(ledger, who=who).number == 4
        (kept,) = ledger.store._connection.execute("PRAGMA busy_timeout").fetchone()  # type: ignore[attr-defined]
        assert kept == 60_000, "what only reads waits as long as it has to"


def test_a_ledger_that_was_analyzed_is_as_good_as_before(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with closing(in_file(path)) as ledger:
        pay(ledger)
    with closing(sqlite3.connect(path)) as other:
        other.execute("ANALYZE")
        assert other.execute("SELECT count(*) FROM sqlite_stat1").fetchone() > (0,)
    with closing(in_file(path)) as ledger:
        assert pay(ledger).number == 3
        check(ledger)
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE sqlitestat1 (a)")
    with pytest.raises(LedgerError, match="has besides the table 'sqlitestat1'"):
        in_file(path)


@pytest.mark.parametrize("room", [0, 4_096, 32_768])  # bytes of one file
def test_no_room_for_what_lies_beside_a_ledger_is_told_so(tmp_path: Path, room: int) -> None:
    path = tmp_path / "ledger"
    with closing(in_file(path)) as ledger:
        pay(ledger)

    def spend(path: Path) -> None:
        with closing(in_file(path)) as ledger:
            for _ in range(20):
                pay(ledger, "0.001")

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        try:
            with pytest.raises(LedgerError, match="the disk may be full"):
                spend(path)
        finally:  # so that a failure can be told
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)

    assert ended(work) == 0
    with closing(in_file(path)) as ledger:
        assert pay(ledger).number >= 3
        check(ledger)
