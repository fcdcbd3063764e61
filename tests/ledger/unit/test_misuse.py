# SPDX-License-Identifier: Apache-2.0
"""Ways in which a budget was once spent twice, burnt or forgotten, and is no more."""

import shutil
import signal
import sqlite3
import time
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest

import sordino as so
from sordino.catalog.model import Book
from sordino.errors import LedgerError
from sordino.ledger.chain import Anchor
from sordino.ledger.ledger import Ledger
from sordino.ledger.opening import open_ledger
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.sqlite import files as place
from sordino.ledger.stores.sqlite.store import _LOOK_AGAIN, SqliteStore
from sordino.privacy import Budget, losses
from tests.ledger.unit.samples import (
    analyst,
    catalog,
    in_file,
    in_memory,
    of_two_limits,
    pay,
    terms,
)


def test_a_ledger_that_is_mounted_by_itself_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a ledger"
    in_file(path).close()
    mounts = tmp_path / "mounts"
    written = str(path).replace(" ", "\\040")
    mounts.write_text(f"/dev/x / ext4 rw 0 0\n/dev/x {written} ext4 rw 0 0\n")
    monkeypatch.setattr(place, "_MOUNTS", mounts)
    with pytest.raises(LedgerError, match="is mounted by itself"):
        SqliteStore(path)


@pytest.mark.parametrize("kind", ["virtiofs", "fuse.gcsfuse", "nfs4", "fuse"])
def test_a_folder_of_another_machine_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/x / ext4 rw 0 0\nx {tmp_path} {kind} rw 0 0\n")
    monkeypatch.setattr(place, "_MOUNTS", mounts)
    with pytest.raises(LedgerError, match="network file system"):
        SqliteStore(tmp_path / "one.ledger")
    mounts.write_text(f"/dev/x / ext4 rw 0 0\nx {tmp_path} fuseblk rw 0 0\n")
    SqliteStore(tmp_path / "one.ledger").close()


def test_a_log_that_is_removed_while_a_ledger_is_open_stops_it(tmp_path: Path) -> None:
    path = tmp_path / "one.ledger"
    with closing(in_file(path)) as first:
        pay(first)
        for end in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink()
        time.sleep(2 * _LOOK_AGAIN)
        with pytest.raises(LedgerError, match="log beside the ledger"):
            pay(first)


@pytest.mark.parametrize("ahead", [1, 2, 3, 8])
@pytest.mark.parametrize("anchors", [1, 2])
def test_two_copies_that_are_spent_at_once_are_noticed_by_their_anchor(
    ahead: int, anchors: int, tmp_path: Path
) -> None:
    """The one that is behind has one charge in vain, and from then on none."""
    with closing(in_file(tmp_path / "a")) as first:
        pay(first, "0.05")
    shutil.copy(tmp_path / "a", tmp_path / "b")
    heads = [Anchor(tmp_path / "heads") for _ in range(anchors)]
    a, b = (
        Ledger(SqliteStore(tmp_path / name), terms(), anchor=heads[at % anchors])
        for at, name in enumerate("ab")
    )
    with closing(a), closing(b):
        for _ in range(ahead):
            pay(a, "0.05")
        for _ in range(9):
            with pytest.raises(LedgerError, match="in two copies, and both are being spent"):
                pay(b, "0.05", plan="another")
        assert str(b.left("people", "ann")[0]) == "epsilon 0.9"
        pay(a, "0.05")


def test_an_entry_that_others_have_anchored_before_is_looked_for_and_found(tmp_path: Path) -> None:
    """Somebody who is slow finds newer entries in the anchor, and all is well."""
    a, b = (
        Ledger(SqliteStore(tmp_path / "a"), terms(), anchor=Anchor(tmp_path / "heads"))
        for _ in range(2)
    )
    with closing(a), closing(b):
        pay(a, "0.05")
        with a.store.read() as pages:
            slow = pages.last("people")
        assert slow is not None
        for _ in range(4):
            pay(b, "0.05")
        a.chain.saw(slow, a.store)
        pay(a, "0.05")


def test_nothing_is_charged_if_the_anchor_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    book = Book(tmp_path / "one.ledger", anchor=folder / "heads")
    with closing(open_ledger(catalog(), book)) as ledger:
        for _ in range(3):
            with pytest.raises(LedgerError, match=r"anchor .* cannot be written"):
                pay(ledger)
        assert str(ledger.left("people", "ann")[0]) == "epsilon 1"
        folder.mkdir()
        pay(ledger)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_moment_leaves_the_ledger_to_others(tmp_path: Path) -> None:
    asked: Queue[bool] = Queue()
    told: Queue[bool] = Queue()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with closing(in_file(tmp_path / "one.ledger", catalog("1000000"))) as ledger:
        lock = ledger.store._lock  # type: ignore[attr-defined]  # of the store in a file

        def look() -> None:
            while asked.get():
                found = lock.acquire(timeout=5)
                if found:
                    lock.release()
                told.put(found)

        watcher = Thread(target=look)
        watcher.start()
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            for number in range(300):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + number % 97))
                    for _ in range(50):  # an interrupt may be lost where Python ignores them
                        ledger.record(pay(ledger), b"answer")
                except KeyboardInterrupt:
                    pass
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                ledger.left("people", "ann")  # at the latest now, what was left behind is undone
                asked.put(True)
                assert told.get(), f"the lock is held for ever after {number} interrupts"
        finally:
            signal.signal(signal.SIGALRM, before)
            asked.put(False)
            watcher.join()


def test_a_stored_answer_is_not_believed_without_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "one.ledger"
    with closing(in_file(path)) as ledger:
        ledger.record(pay(ledger, who="bob", plan="secret"), b"bob's answer")
        pay(ledger, who="bob", plan="other")
    with closing(sqlite3.connect(path)) as file:
        (trigger,) = file.execute(
            "SELECT sql FROM sqlite_schema WHERE name = 'entries_updates'"
        ).fetchone()
        file.execute("DROP TRIGGER entries_updates")
        file.execute("UPDATE entries SET plan = 'mine' WHERE kind = 'answer'")
        file.execute(trigger)
        file.commit()
    with (
        closing(in_file(path)) as ledger,
        pytest.raises(LedgerError, match="does not have the hash"),
    ):
        ledger.find("people", who="bob", plan="mine", data="data")


def test_naming_the_declared_ledger_again_keeps_its_anchor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("person\n1\n2\n")
    Path("elsewhere").mkdir()
    Path("sordino.toml").write_text(
        "[budget]\nepsilon = 1\n[ledger]\nanchor = 'elsewhere/heads'\n"
        "[tables.rows]\ncsv = 'rows.csv'\nunit = 'person'\ncolumns = { person = 'integer' }\n"
    )
    with so.open("sordino.toml", ledger="sordino.ledger") as session:
        session.ask("SELECT COUNT(*) FROM rows", epsilon=0.5)
    assert Path("elsewhere/heads").exists()
    assert not Path("sordino.ledger.heads").exists()


def test_limits_are_compared_with_what_somebody_else_opened_meanwhile() -> None:
    ten, half = of_two_limits()
    pay(ten)
    with pytest.raises(LedgerError, match="differ on the limits"):
        pay(half)


def test_a_raised_budget_is_shared_out_anew_in_any_order() -> None:
    first = catalog("1", analysts=[analyst("a", None, "0.8"), analyst("b", None, "0.2")])
    ledger = in_memory(first)
    ledger.amend(by="owner", why="to begin")
    second = catalog("10", analysts=[analyst("a", None, "0.6"), analyst("b", None, "0.4")])
    later = in_memory(second, store=ledger.store)  # type: ignore[arg-type]  # it is in memory
    later.amend(by="owner", why="more of it, and shared out anew")
    later.check_terms()
    assert later.left("people", "b")[1] == Fraction(4, 10**7)


def test_an_id_space_without_entries_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "one.ledger"
    with closing(in_file(path)) as ledger:
        pay(ledger)
    with closing(sqlite3.connect(path)) as file:
        triggers = file.execute(
            "SELECT name, sql FROM sqlite_schema WHERE name IN ('entries_deletes', 'turns_deletes')"
        ).fetchall()
        for name, _ in triggers:
            file.execute(f"DROP TRIGGER {name}")
        file.execute("DELETE FROM entries")
        for _, sql in triggers:
            file.execute(sql)
        file.commit()
    with pytest.raises(LedgerError, match="lost all entries"):
        in_file(path)


def test_a_receipt_for_a_ledger_that_is_gone_makes_no_new_one(tmp_path: Path) -> None:
    path = tmp_path / "one.ledger"
    with closing(in_file(path)) as ledger:
        seen = pay(ledger).seen
    path.unlink()
    with pytest.raises(LedgerError, match=r"there is no ledger .* but a receipt"):
        open_ledger(catalog(), Book(path), held_to=seen)
    assert not path.exists()


def test_a_folder_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"there is no folder '.*nowhere'"):
        SqliteStore(tmp_path / "nowhere" / "one.ledger")


def test_a_currency_of_one_order_is_kept_and_compared(tmp_path: Path) -> None:
    path, renyi = tmp_path / "one.ledger", Budget(renyi=1, order=8, neighbours="add_remove")
    with closing(in_file(path, catalog(budget=renyi))) as ledger:
        assert str(pay(ledger).price).endswith("of order 8")
    other = Budget(renyi=1, order=4, neighbours="add_remove")
    with (
        closing(in_file(path, catalog(budget=other))) as ledger,
        pytest.raises(LedgerError, match="counts renyi 8"),
    ):
        pay(ledger)


def test_an_opening_that_was_undone_leaves_no_place_behind(tmp_path: Path) -> None:
    path = tmp_path / "one.ledger"
    first = SqliteStore(path)

    def interrupted() -> None:
        with first.write("people") as pages:
            pages.add_space("people", "epsilon")
            assert pages.head("people") is None  # its place is known from now on
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with closing(Ledger(SqliteStore(path), {"staff": terms()["people"]})) as other:
        loss = losses.pure(epsilon=Fraction(1, 4)).under("add_remove")
        other.charge("staff", loss, slack=Fraction(0), plan="plan", who="ann")
    with first.read() as pages:
        assert (pages.last("people"), pages.head("people")) == (None, None)
    first.close()


def test_entries_of_other_people_are_not_believed() -> None:
    ledger = in_memory()
    pay(ledger)
    store = ledger.store
    assert isinstance(store, MemoryStore)
    store._entries["people"] = [one._replace(people="staff") for one in store.entries("people")]
    with pytest.raises(LedgerError, match="gives entries of 'staff' for 'people'"):
        Ledger(store, terms())
