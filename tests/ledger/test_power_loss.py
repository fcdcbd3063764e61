# SPDX-License-Identifier: Apache-2.0
"""Power is lost at any moment: what was acknowledged is on the disk, and the ledger is whole."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from sordino.errors import LedgerError
from sordino.ledger.stores.sqlite import files as place
from sordino.ledger.verify import verify
from tests.ledger.disk import Disk, Event, WatchedAnchor, folder_watched
from tests.ledger.images import (
    HEADS,
    NAME,
    PRICE,
    Done,
    Image,
    Replay,
    ask,
    body_of,
    charge,
    dice,
    open_book,
    open_watched,
)

TESTED, PIECES = 500, 5
SOAKED, LONG_PIECES = 5_000, 20
QUESTIONS = 14
SYNCED = "PRAGMA synchronous = FULL"


def record(folder: Path, *, instead: tuple[str, str] = ("", "")) -> list[Event]:
    """Make a ledger, ask, close it, go on in it, and let it crash; return all that happened."""
    log: list[Event] = []
    driver = Disk(log).driver(instead=instead, checkpoint=12)
    with folder_watched(log):
        book = open_watched(folder, driver, WatchedAnchor(folder / HEADS, log))
        for number in range(QUESTIONS):
            if number == QUESTIONS // 2:
                book.close()
                book = open_watched(folder, driver, WatchedAnchor(folder / HEADS, log))
            ask(book, number, log)
        book.close()
    return log


def lost(folder: Path, image: Image, done: list[Done]) -> str:
    """Open what is left, go on with it, and say what is wrong; or nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    image.lay(folder)
    try:
        book = open_book(folder)
    except LedgerError as error:
        return f"does not open: {error}"
    try:
        for receipt, answered in done:
            book.hold_to(receipt.seen)
            found = book.find(receipt.people, who=receipt.who, plan=receipt.plan, data="v1")
            if answered and found != body_of(receipt.plan):
                return f"the answer of {receipt.plan} is gone"
        charges = {receipt.number: receipt for receipt, _ in done if receipt.people == "patients"}
        before = {found.people: found for found in verify(book)}
        spent = before["patients"].spent.nanos if "patients" in before else 0
        if spent < len(charges) * PRICE:
            return f"spent {spent} after {len(charges)} charges"
        charge(book, "patients", "bob", "after the loss")
        after = {found.people: found for found in verify(book)}
        if after["patients"].spent.nanos != spent + PRICE:
            return "a charge afterwards is not counted"
    except LedgerError as error:
        return str(error)
    finally:
        book.close()
    return ""


def moments(log: list[Event], many: int, piece: range, luck: Random) -> list[tuple[int, bool]]:
    """Choose after how many events power is lost, and whether what was not synced suffers too.

    All pieces together lose it after every single event.
    """
    whole = [(at, False) for at in range(piece.start, len(log) + 1, piece.step)]
    torn = [(luck.randrange(len(log) + 1), True) for _ in range(many - len(whole))]
    return sorted(whole + torn)


def campaign(
    folder: Path, images: int, piece: range, instead: tuple[str, str] = ("", "")
) -> tuple[list[str], int]:
    """Lose power at many moments of one run; return what was wrong, and how many disks differed."""
    luck = dice(f"power {piece}")
    (folder / "run").mkdir()
    log = record(folder / "run", instead=instead)
    replay, done, seen, wrong, at = Replay(), [], set(), [], 0
    for moment, torn in moments(log, images, piece, luck):
        for event in log[at:moment]:
            replay.step(event)
            if event.kind == "mark":
                done.append(event.about)
        at = moment
        image = replay.image(luck if torn else None)
        seen.add(hash(tuple((name, image.files[n]) for name, n in sorted(image.names.items()))))
        fault = lost(folder / "image", image, done)
        if fault:
            wrong.append(f"{piece}, event {moment} of {len(log)}, torn {torn}: {fault}")
    return wrong, len(seen)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is making the ledger any more; do not wait for them."""
    monkeypatch.setattr(place, "_BRIEFLY", 0.0)


def check(folder: Path, images: int, piece: range) -> None:
    wrong, different = campaign(folder, images, piece)
    assert not wrong, "\n".join([f"{len(wrong)} images", *wrong[:5]])
    assert different > images / 2
    print(f"{images} images, {different} of them different")  # noqa: T201  # shown by -rP


@pytest.mark.parametrize("number", range(PIECES))
def test_no_acknowledged_charge_is_lost_with_the_power(number: int, tmp_path: Path) -> None:
    check(tmp_path, TESTED // PIECES, range(number, 1_000, 4 * PIECES))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(LONG_PIECES))
def test_no_acknowledged_charge_is_lost_in_5000_images(number: int, tmp_path: Path) -> None:
    check(tmp_path, SOAKED // LONG_PIECES, range(number, 1_000, LONG_PIECES))


@pytest.mark.parametrize("setting", ["NORMAL", "OFF"])
def test_the_same_images_show_a_ledger_that_does_not_sync(setting: str, tmp_path: Path) -> None:
    instead = (SYNCED, f"PRAGMA synchronous = {setting}")
    wrong, _ = campaign(tmp_path, 60, range(0, 1_000, 100), instead)
    assert len(wrong) >= 5
    assert any("lacks entry" in fault for fault in wrong)


def test_a_run_holds_all_that_can_go_wrong(tmp_path: Path) -> None:
    log = record(tmp_path)
    told = {(event.kind, event.name.partition(".ledger")[2]) for event in log}
    assert {("link", ""), ("folder", ""), ("create", "-wal"), ("delete", "-wal")} <= told
    synced = [event.name for event in log if event.kind == "sync"]
    assert synced.count(NAME) >= 3, "too few checkpoints"
    assert synced.count(f"{NAME}-wal") >= 2 * QUESTIONS - QUESTIONS // 4 - 1


def test_a_ledger_whose_log_was_turned_off_gets_it_back(tmp_path: Path) -> None:
    book = open_book(tmp_path)
    charge(book, "patients", "bob", "before")
    book.close()
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    book = open_book(tmp_path)
    charge(book, "patients", "bob", "after")
    assert (tmp_path / f"{NAME}-wal").stat().st_size > 0
    book.close()
