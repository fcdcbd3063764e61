# SPDX-License-Identifier: Apache-2.0
"""Ledgers of older versions: opened, carried over, and every sum is as it was."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from sordino.errors import LedgerError
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.sqlite.files import STANDARD, Driver
from sordino.ledger.stores.sqlite.store import MIGRATIONS, SCHEMA, SqliteStore
from sordino.ledger.verify import verify
from sordino.privacy import losses
from tests.fixtures.ledgers.make import AFTER, KEY, told_by, write
from tests.ledger.disk import Disk, Fault, error, full

FOLDER = Path(__file__).parents[1] / "fixtures" / "ledgers"
KEPT = sorted(FOLDER.glob("*.ledger"), key=lambda path: path.stem)
LOSS = losses.pure(epsilon=0.125).under("add_remove")
STEP = (
    "ALTER TABLE spaces ADD COLUMN remark TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX entries_at ON entries (at)",
    "CREATE TABLE remarks (people TEXT NOT NULL, words TEXT NOT NULL) STRICT",
)
NEWER = (*MIGRATIONS, STEP)


def named(path: Path) -> str:
    return path.stem


@pytest.fixture
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Copy a ledger that was kept; opening one writes beside it."""
    return Path(shutil.copy(request.param, tmp_path))


def open_old(
    path: Path,
    migrations: tuple[tuple[str, ...], ...] = MIGRATIONS,
    driver: Driver = STANDARD,
) -> Ledger:
    key = KEY if path.stem.endswith("-keyed") else None
    schema = (*SCHEMA, *(sql for step in migrations[len(MIGRATIONS) :] for sql in step))
    store = SqliteStore(
        path, keyed=key is not None, schema=schema, migrations=migrations, driver=driver
    )
    return Ledger(store, terms_of(AFTER), key=key)


def told(path: Path, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS) -> object:
    book = open_old(path, migrations)
    try:
        book.check_terms()
        return told_by(book)
    finally:
        book.close()


def kept(path: Path) -> object:
    return json.loads((FOLDER / f"{path.stem}.json").read_text("utf-8"))


def dump(path: Path) -> tuple[int, list[str]]:
    """Return the version of a file and all that is in it."""
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return version, list(connection.iterdump())


def test_there_is_a_ledger_of_every_version() -> None:
    wanted = [f"{n}{key}" for n in range(1, len(MIGRATIONS) + 2) for key in ("", "-keyed")]
    assert sorted(map(named, KEPT)) == sorted(wanted)


@pytest.mark.parametrize("old", KEPT, indirect=True, ids=named)
def test_an_old_ledger_opens_and_says_what_it_said(old: Path) -> None:
    assert told(old) == kept(old)


@pytest.mark.parametrize("old", KEPT, indirect=True, ids=named)
def test_an_old_ledger_takes_a_loss_that_has_a_delta(old: Path) -> None:
    loss = losses.approximate(epsilon=Fraction(1, 10**6), delta=Fraction(1, 10**15))
    with closing(open_old(old)) as book:
        _, delta = book.left("patients", "ann")
        paid = book.charge(
            "patients", loss.under("add_remove"), slack=Fraction(0), plan="p", who="ann"
        )
        assert paid.slack == Fraction(1, 10**15)
        assert book.left("patients", "ann") == (paid.left, delta - paid.slack)
        verify(book)


@pytest.mark.parametrize("old", KEPT, indirect=True, ids=named)
def test_an_old_ledger_goes_on(old: Path) -> None:
    book = open_old(old)
    (before, _) = verify(book)
    stored = book.find("patients", who="bob", plan="plan 1", data="v1")
    assert stored == b"answer 1"
    receipt = book.charge("patients", LOSS, slack=Fraction(0), plan="new", who="bob", data="v2")
    book.record(receipt, b"new")
    (after, _) = verify(book)
    book.close()
    assert receipt.number == before.entries + 1
    assert after.spent.nanos == before.spent.nanos + 125_000_000


@pytest.mark.parametrize("old", KEPT[-1:], indirect=True, ids=named)
def test_a_keyed_ledger_is_refused_without_its_key_or_with_another(old: Path) -> None:
    for key in (None, b"a key that is not the right one"):
        store = SqliteStore(old)
        with pytest.raises(LedgerError, match="key"):
            Ledger(store, terms_of(AFTER), key=key)
        store.close()


def test_what_is_made_today_is_like_what_was_kept(tmp_path: Path) -> None:
    newest = str(len(MIGRATIONS) + 1)
    write(tmp_path, newest, None)
    made = json.loads((tmp_path / f"{newest}.json").read_text("utf-8"))
    there = json.loads((FOLDER / f"{newest}.json").read_text("utf-8"))
    for found in (*made["spaces"].values(), *there["spaces"].values()):
        del found["head"]  # each ledger has a name of its own, which is part of all hashes
    assert made == there


# Carrying over. ----------------------------------------------------------------------------------


@pytest.mark.parametrize("old", KEPT, indirect=True, ids=named)
def test_a_ledger_is_carried_over_once_and_keeps_every_sum(old: Path) -> None:
    assert told(old, NEWER) == kept(old)
    version, lines = dump(old)
    assert version == len(NEWER) + 1
    assert any("remarks" in line for line in lines)
    assert told(old, NEWER) == kept(old)
    assert dump(old) == (version, lines)


@pytest.mark.parametrize("old", KEPT[:1], indirect=True, ids=named)
def test_an_older_sordino_refuses_what_a_newer_one_has_carried_over(old: Path) -> None:
    told(old, NEWER)
    before = old.read_bytes()
    with pytest.raises(
        LedgerError, match=rf"is of version {len(NEWER) + 1}, .* take a newer sordino"
    ):
        open_old(old)
    assert old.read_bytes() == before


def test_a_database_of_somebody_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.ledger"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE things (name)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="version 0"):
        open_old(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("broken", range(len(STEP) + 1))
@pytest.mark.parametrize("old", KEPT[:1], indirect=True, ids=named)
def test_a_step_that_fails_leaves_the_ledger_as_it_was(old: Path, broken: int) -> None:
    before = dump(old)
    step = (*STEP[:broken], "INSERT INTO absent VALUES (1)", *STEP[broken:])
    with pytest.raises(LedgerError, match="no such table"):
        open_old(old, (*MIGRATIONS, step))
    assert dump(old) == before
    assert told(old) == kept(old)


@pytest.mark.filterwarnings(
    "ignore:Exception ignored in. None:pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("old", KEPT[:1], indirect=True, ids=named)
def test_a_disk_that_fails_while_carrying_over_leaves_one_version_or_the_other(old: Path) -> None:
    before, again, failed = dump(old), old.with_name("again.ledger"), 0
    for after in range(30):
        shutil.copy(old, again)
        disk = Disk()
        disk.fault = Fault(full if after % 2 else error(10), after=after)
        try:
            book = open_old(again, NEWER, disk.driver())
        except LedgerError:
            failed += 1
            assert dump(again) == before
        else:
            disk.fault = None
            book.close()
        assert told(again, NEWER) == kept(old)
    assert failed >= 4
