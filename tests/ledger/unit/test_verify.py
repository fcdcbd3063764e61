# SPDX-License-Identifier: Apache-2.0
"""Verifying finds every kind of change: of any cell, of rows, of answers, and of forged sums."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache, partial
from pathlib import Path

import pytest

from sordino.catalog.model import Catalog
from sordino.errors import LedgerError
from sordino.ledger.entry import FIELDS, Entry, digest_with, first_hash, hash_of
from sordino.ledger.ledger import Ledger
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.ledger.verify import Verified, verify
from tests.ledger.unit.samples import (
    SLACK,
    analyst,
    behind,
    catalog,
    in_file,
    in_memory,
    pay,
    terms,
)

NULLABLE = ("most", "others", "others_slack", "share", "share_slack")
BEFORE = catalog(question="0.5", analysts=[analyst("ann", "0.8", "0.2"), analyst("*", "0.5")])
AFTER = catalog("2", question="0.5", analysts=[analyst("ann", "0.9", "0.1"), analyst("*")])
Forge = Callable[[list[Entry]], None]


def fill(ledger: Ledger) -> None:
    """Put entries of all kinds into a ledger: 1 open, 2 share, 3 to 7 charges and answers."""
    first = pay(ledger, "0.1", slack=SLACK / 10)
    ledger.record(first, b"first")
    second = pay(ledger, "0.2", who="bob", plan="other")
    pay(ledger, "0.1", who="eve")
    ledger.record(second, b"second")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with entries of all kinds; tests change copies of it."""
    path = tmp_path_factory.mktemp("verify") / "ledger"
    for declared in (BEFORE, AFTER):
        ledger = in_file(path, declared)
        ledger.amend(by="olga", why="it was time")
        fill(ledger)
        ledger.close()
    return path


def checked(path: Path) -> tuple[Verified, ...]:
    store = SqliteStore(path)
    try:
        return verify(Ledger(store, terms(AFTER)))
    finally:
        store.close()


def changed(path: Path, statement: str) -> Path:
    """Return a copy of a file that was changed behind its back."""
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    behind(copy, statement)
    return copy


def test_a_copy_in_which_nothing_was_changed_verifies(path: Path) -> None:
    assert checked(changed(path, "UPDATE entries SET spent = spent")) == checked(path)


def assert_found(path: Path, statement: str) -> None:
    with pytest.raises(LedgerError):
        checked(changed(path, statement))


def test_a_ledger_that_nobody_touched_verifies(path: Path) -> None:
    (found,) = checked(path)
    assert (found.people, found.charges, found.answers) == ("people", 6, 4)
    assert (str(found.spent), str(found.cap)) == ("epsilon 0.8", "epsilon 2")
    assert found.slack == SLACK / 5
    with closing(sqlite3.connect(path)) as file:
        kinds = file.execute("SELECT kind, count(*) FROM entries GROUP BY 1 ORDER BY 1").fetchall()
        (last,) = file.execute("SELECT max(number) FROM entries").fetchone()
    assert dict(kinds) == {"answer": 4, "charge": 6, "limits": 1, "open": 1, "share": 2}
    assert (found.entries, found.head.number) == (last, last)


@pytest.mark.parametrize("column", FIELDS)
def test_a_change_of_any_cell_of_any_entry_is_found(path: Path, column: str) -> None:
    (found,) = checked(path)
    is_text = isinstance(getattr(entries()[1][0], column), str)
    for number in range(1, found.entries + 1):
        text = "'x' || \"{0}\"" if is_text else '"{0}" + 1'
        value = 'iif("{0}" IS NULL, 5, NULL)' if column in NULLABLE else text
        where = f"WHERE number = {number}"
        assert_found(path, f'UPDATE entries SET "{column}" = {value.format(column)} {where}')  # noqa: S608 - names of our own


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET id = id + 100",
        "UPDATE spaces SET place = place + 1",
        "UPDATE spaces SET people = 'others'",
        "UPDATE spaces SET currency = 'rho'",
        "UPDATE spaces SET currency = 'renyi 1/0'",
        "UPDATE spaces SET currency = ''",
        "DELETE FROM spaces",
        "INSERT INTO spaces VALUES (77, 'more', 'rho')",
        "UPDATE about SET identity = 'x'",
        "UPDATE about SET keyed = 1",
        "DELETE FROM about",
        "UPDATE entries SET bytes = x'00' WHERE id = (SELECT max(id) FROM entries)",
        "UPDATE entries SET bytes = x'' WHERE kind = 'answer'",
        "UPDATE entries SET bytes = NULL WHERE id = (SELECT max(id) FROM entries)",
        "UPDATE entries SET bytes = NULL",
        "UPDATE entries SET bytes = x'00' WHERE kind = 'charge'",
        "DELETE FROM entries",
        "DROP TABLE entries",
    ],
)
def test_a_change_beside_the_entries_is_found(path: Path, statement: str) -> None:
    assert_found(path, statement)


@pytest.mark.parametrize("version", [0, 99])
def test_a_ledger_of_another_version_is_refused(path: Path, version: int) -> None:
    with pytest.raises(LedgerError, match=f"is of version {version}"):
        checked(changed(path, f"PRAGMA user_version = {version}"))


def test_a_missing_entry_is_found_wherever_it_was_but_at_the_end(path: Path) -> None:
    (found,) = checked(path)
    for number in range(1, found.entries):
        assert_found(path, f"DELETE FROM entries WHERE number = {number}")  # noqa: S608


# What somebody can do who knows how hashes are made: all of them are made anew. ------------------


@cache
def entries() -> tuple[str, tuple[Entry, ...], dict[tuple[str, int], bytes]]:
    store = MemoryStore()
    fill(in_memory(BEFORE, store))
    return store.identity, tuple(store.entries("people")), dict(store._bodies)


def forged(forge: Forge, *, key: bytes | None = None) -> MemoryStore:
    """Return a store with other entries, whose hashes are as they should be."""
    store = MemoryStore(keyed=key is not None)
    store.identity, kept, bodies = entries()
    made, digest = list(kept), digest_with(None)
    forge(made)
    before = first_hash(store.identity, "people", "epsilon", digest)
    store.add_space("people", "epsilon")
    for number, entry in enumerate(made, start=1):
        whole = entry._replace(hash=hash_of(entry, before, digest))
        before = whole.hash
        store._entries.setdefault("people", []).append(whole)
        assert len(store._entries["people"]) == number
        store._index(whole)
    store._bodies = dict(bodies)
    return store


def nothing(made: list[Entry]) -> None:
    del made[len(made) :]


def overspend(made: list[Entry]) -> None:
    last = made[-1]
    price = last.cap
    made.append(
        last._replace(
            number=last.number + 1, kind="charge", charge=0, body="", price=price,
            spent=last.spent + price, used=last.used + price,
        )
    )  # fmt: skip


def refund(made: list[Entry]) -> None:
    for at in range(3, len(made)):
        made[at] = made[at]._replace(spent=made[at].spent - 10**8)


def forget_used(made: list[Entry]) -> None:
    made[2] = made[2]._replace(used=0)


def forget_held(made: list[Entry]) -> None:
    made[4] = made[4]._replace(held=0)


def raise_cap(made: list[Entry]) -> None:
    for at in range(3, len(made)):
        made[at] = made[at]._replace(cap=10**10)


def raise_share(made: list[Entry]) -> None:
    made[2] = made[2]._replace(share=None)


def drop_charge(made: list[Entry]) -> None:
    made[:] = [each for each in made if each.number != 6]
    for at, each in enumerate(made):
        made[at] = each._replace(number=at + 1)


def open_again(made: list[Entry]) -> None:
    made.append(made[0]._replace(number=len(made) + 1))


def unknown_kind(made: list[Entry]) -> None:
    made[5] = made[5]._replace(kind="gift")  # type: ignore[arg-type]  # that is the point


def answer_twice(made: list[Entry]) -> None:
    made.append(made[-1]._replace(number=len(made) + 1))


def answer_of_nothing(made: list[Entry]) -> None:
    made[-1] = made[-1]._replace(charge=1)


def other_body(made: list[Entry]) -> None:
    made[-1] = made[-1]._replace(body="0" * 64)


def gap(made: list[Entry]) -> None:
    made[-1] = made[-1]._replace(number=99)


def keep_too_much(made: list[Entry]) -> None:
    made.append(
        made[-1]._replace(
            number=len(made) + 1, kind="share", charge=0, body="", plan="", data="",
            kept=10**10, held=made[-1].held + 10**10 - made[-1].used,
        )
    )  # fmt: skip


def free(made: list[Entry]) -> None:
    last = made[-1]
    made.append(last._replace(number=len(made) + 1, kind="charge", charge=0, body="", price=0))


def negative(made: list[Entry]) -> None:
    last, price = made[-1], -(10**8)
    made.append(
        last._replace(
            number=len(made) + 1, kind="charge", charge=0, body="", price=price,
            spent=last.spent + price, used=last.used + price,
        )
    )  # fmt: skip


def test_entries_with_their_hashes_made_anew_verify_if_nothing_was_changed() -> None:
    assert len(verify(in_memory(BEFORE, forged(nothing)))) == 1


@pytest.mark.parametrize(
    "forge",
    [
        overspend, refund, forget_used, forget_held, raise_cap, raise_share, drop_charge,
        open_again, unknown_kind, answer_twice, answer_of_nothing, other_body, gap,
        keep_too_much, free, negative,
    ],
)  # fmt: skip
def test_good_hashes_do_not_hide_what_breaks_a_rule(forge: Forge) -> None:
    with pytest.raises(LedgerError, match=r"entry \d+ of 'people'|no entry speaks of|not add up"):
        verify(in_memory(BEFORE, forged(forge)))


def test_without_the_key_no_good_hash_can_be_made() -> None:
    key = b"the key of the owner"
    with pytest.raises(LedgerError, match="or the key is another one"):
        Ledger(forged(nothing, key=key), terms(BEFORE), key=key)


def test_what_this_process_has_seen_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = in_file(path)
    pay(ledger)
    pay(ledger)
    verify(ledger)
    behind(path, "DELETE FROM entries WHERE number = 3")
    with pytest.raises(LedgerError, match="lacks entry 3"):
        verify(ledger)
    ledger.close()


def test_a_currency_that_was_changed_behind_an_open_ledger_is_found(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = in_file(path)
    for _ in range(3):
        pay(ledger)
    behind(path, "UPDATE spaces SET currency = 'rho'")
    with pytest.raises(LedgerError, match="hash of what it says"):
        verify(ledger)
    ledger.close()


def test_triggers_that_are_gone_or_changed_are_missed(path: Path) -> None:
    copy = path.with_name("copy")
    with closing(sqlite3.connect(path)) as file:
        found = file.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        triggers = found.fetchall()
    assert len(triggers) > 10
    for name, sql in triggers:
        for other in (None, sql.replace("BEGIN", "BEGIN SELECT 1;", 1)):
            shutil.copy(path, copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as file:
                file.execute("PRAGMA synchronous = OFF")
                file.execute(f"DROP TRIGGER {name}")
                if other is not None:
                    file.execute(other)
            with pytest.raises(LedgerError, match="trigger"):
                checked(copy)


PLANTED = (
    "CREATE TRIGGER more BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER more AFTER INSERT ON spaces BEGIN SELECT 1; END",
    "CREATE VIEW more AS SELECT * FROM entries",
    "CREATE INDEX more ON entries (at)",
    "CREATE TABLE more (x)",
    "DROP INDEX entries_asked",
    "DROP INDEX entries_charged",
)


@pytest.mark.parametrize("statement", PLANTED)
def test_what_was_planted_beside_the_tables_is_found(path: Path, statement: str) -> None:
    copy = Path(shutil.copy(path, path.with_name("planted")))
    with closing(in_file(copy, AFTER)) as ledger:
        with closing(sqlite3.connect(copy)) as file:
            file.execute(statement)
        with pytest.raises(LedgerError, match=r"(trigger|view|index|table) '.*somebody has change"):
            verify(ledger)
    with pytest.raises(LedgerError, match=r"(trigger|view|index|table) '.*somebody has change"):
        checked(copy)


@pytest.mark.parametrize("kind", ["charge", "answer", "open"])
def test_a_row_that_was_not_added_is_noticed_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ledger"
    with closing(in_file(path)) as ledger:
        receipt = None if kind == "open" else pay(ledger)
        with closing(sqlite3.connect(path)) as file:
            file.execute(
                f"CREATE TRIGGER more BEFORE INSERT ON entries WHEN new.kind = '{kind}' "
                "BEGIN SELECT RAISE(IGNORE); END"
            )
        for who in ("ann", "bob"):  # after their own entry, and after one of somebody else
            add: Callable[[], object] = partial(pay, ledger, who=who)
            if kind == "answer" and receipt is not None:
                add = partial(ledger.record, receipt, b"answer")
            with pytest.raises(LedgerError, match="did not add what it was given"):
                add()
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT count(*) FROM entries").fetchone() == (2 * (kind != "open"),)


def test_how_far_it_has_come_is_told() -> None:
    purses = catalog().purses + catalog(people="staff").purses
    ledger = in_memory(Catalog(tables=(), purses=purses))
    pay(ledger)
    pay(ledger, people="staff")
    told: list[tuple[int, int]] = []
    found = verify(ledger, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert {each.people: each.entries for each in found} == {"people": 2, "staff": 2}
    assert verify(in_memory()) == ()
