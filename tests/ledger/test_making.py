# SPDX-License-Identifier: Apache-2.0
"""A disk that fails or is full while a ledger is made or closed: it is there as a whole, or not.

Afterwards the ledger opens, without help: made anew if it was not made, and else with every charge.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from sordino.errors import LedgerError
from sordino.ledger.stores.sqlite import files as place
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.ledger.verify import verify
from tests.ledger.disk import Disk, Event, Fault, Kind, error, folder_watched, full
from tests.ledger.images import NAME, PRICE, Replay, charge, dice, open_book

ALL: tuple[Kind, ...] = ("create", "write", "cut", "sync", "delete")
# What fails when a file is closed cannot be passed on, and apsw says so to nobody in particular.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. None:pytest.PytestUnraisableExceptionWarning"
)


def made(folder: Path, disk: Disk) -> bool:
    """Make a ledger on a disk and close it; return whether that is said to have worked."""
    try:
        SqliteStore(folder / NAME, driver=disk.driver()).close()
    except LedgerError:
        return False
    return True


def check_usable(folder: Path, spent: int = 0, *, tidy: bool = True) -> None:
    """Open the ledger of a folder on a good disk, find what was spent, and go on.

    After a loss of power, the name of a draft may be back that was removed; it does no harm.
    """
    book = open_book(folder)
    try:
        before = {found.people: found.spent.nanos for found in verify(book)}
        assert before.get("patients", 0) == spent
        charge(book, "patients", "bob", "afterwards")
        assert {found.people: found.spent.nanos for found in verify(book)}["patients"] == (
            spent + PRICE
        )
    finally:
        book.close()
    assert not tidy or not list(folder.glob("*.new-*")), (
        "something is left of a ledger that was not made"
    )


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("fails", [full, error(apsw.SQLITE_IOERR)])
def test_every_call_may_fail_while_a_ledger_is_made(
    fails: Callable[[], Exception], lasting: bool, tmp_path: Path
) -> None:
    whole = Disk()
    (tmp_path / "whole").mkdir()
    assert made(tmp_path / "whole", whole)
    assert len(whole.log) > 40
    failed = 0
    for after in range(len(whole.log)):
        folder = tmp_path / str(after)
        folder.mkdir()
        disk = Disk()
        disk.fault = Fault(fails, after=after, lasting=lasting, kinds=ALL)
        failed += not made(folder, disk)
        assert disk.fault.struck
        disk.fault = None
        check_usable(folder)
    assert failed > len(whole.log) // 2


def test_a_disk_of_any_size_holds_a_whole_ledger_or_none(tmp_path: Path) -> None:
    outcomes = []
    for room in range(0, 260_000, 1_000):
        folder = tmp_path / str(room)
        folder.mkdir()
        outcomes.append(made(folder, Disk(room=room)))
        check_usable(folder)
    assert outcomes == sorted(outcomes), "what fits a small disk fits a larger one"
    assert set(outcomes) == {False, True}


@pytest.mark.parametrize("call", ["open", "link", "fsync", "flock"])
def test_the_system_may_refuse_while_a_ledger_is_made(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = fcntl if call == "flock" else os
    real, many, told = getattr(module, call), 0, []

    def fails(*about: object, **more: object) -> object:
        nonlocal many
        many += 1
        if many == turn:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(*about, **more)

    for turn in range(1, 10):
        folder, many = tmp_path / str(turn), 0
        folder.mkdir()
        with monkeypatch.context() as patched:
            patched.setattr(module, call, fails)
            try:
                SqliteStore(folder / NAME).close()
            except LedgerError as refusal:
                told.append(str(refusal))
        check_usable(folder)
        if many < turn:
            break
    assert told
    assert all("cannot be made: Input/output error" in text for text in told)
    assert turn > 1


@pytest.mark.parametrize("torn", [False, True])
def test_power_is_lost_at_every_moment_while_a_ledger_is_made(
    torn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "_BRIEFLY", 0.0)
    log: list[Event] = []
    (tmp_path / "run").mkdir()
    with folder_watched(log):
        assert made(tmp_path / "run", Disk(log))
    replay, luck = Replay(), dice("making")
    for number, event in enumerate(log):
        replay.step(event)
        for again in range(3 if torn else 1):
            folder = tmp_path / f"{number}-{again}"
            folder.mkdir()
            replay.image(luck if torn else None).lay(folder)
            check_usable(folder, tidy=not torn)


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("fails", [full, error(apsw.SQLITE_IOERR)])
def test_a_log_that_cannot_be_carried_over_at_the_end_is_kept(
    fails: Callable[[], Exception], lasting: bool, tmp_path: Path
) -> None:
    closing_calls = 1
    for after in range(100):
        folder = tmp_path / str(after)
        folder.mkdir()
        disk = Disk()
        book = open_book(folder)
        book.close()
        book.store = SqliteStore(folder / NAME, driver=disk.driver())
        charge(book, "patients", "bob", "before")
        begun = len(disk.log)
        fault = disk.fault = Fault(fails, after=after, lasting=lasting, kinds=ALL)
        book.close()
        disk.fault = None
        check_usable(folder, PRICE)
        if not fault.struck:
            closing_calls = len(disk.log) - begun
            break
    assert after == closing_calls > 4


# What others have left. --------------------------------------------------------------------------


def test_what_a_killed_maker_left_is_removed_and_what_is_being_made_is_not(tmp_path: Path) -> None:
    path = tmp_path / NAME
    left = path.with_name(f"{NAME}.new-{'0' * 16}")
    beside = left.with_name(f"{left.name}-wal")
    other = path.with_name(f"{NAME}.new-of-the-owner")
    for one in (left, beside, other):
        one.write_bytes(b"half")
    draft, held = place._begun(path)
    try:
        SqliteStore(path).close()
    finally:
        os.close(held)
    assert (left.exists(), beside.exists()) == (False, False)
    assert (draft.exists(), other.exists()) == (True, True)


def test_a_draft_is_for_its_owner_alone_from_the_beginning(tmp_path: Path) -> None:
    modes = []

    def make(draft: Path) -> None:
        modes.append(draft.stat().st_mode & 0o777)
        draft.write_bytes(b"whole")

    before = os.umask(0)
    try:
        place.create(tmp_path / NAME, make)
    finally:
        os.umask(before)
    assert modes == [0o600]
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("pages", ["none", "the first"])
def test_an_empty_beginning_says_what_to_do(pages: str, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.touch()
    if pages == "the first":  # what version 0.1 left on a full disk
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA journal_mode = WAL")
        assert path.stat().st_size > 0
    before = path.read_bytes()
    with pytest.raises(
        LedgerError, match=r"the disk was full .* remove the file and open it again"
    ):
        open_book(tmp_path)
    assert path.read_bytes() == before
    path.unlink()
    check_usable(tmp_path)
