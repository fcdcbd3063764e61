# SPDX-License-Identifier: Apache-2.0
"""What is left on a disk after a loss of power, and the ledgers whose files are treated so."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import NamedTuple

from sordino.catalog.model import Analyst, Catalog, Purse
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import Receipt
from sordino.ledger.ledger import Ledger
from sordino.ledger.opening import book_at, open_ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.sqlite.files import Driver
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.privacy import Budget, losses
from tests.ledger.disk import SECTOR, Event

NAME, HEADS = "people.ledger", "people.ledger.heads"
PEOPLE = ("patients", "staff")
ANALYSTS = ("ann", "bob", "eve")
CATALOG = Catalog(
    tables=(),
    purses=tuple(
        (people, Purse(Budget(epsilon=100, neighbours="add_remove"), slack=Fraction(1, 10**6)))
        for people in PEOPLE
    ),
    analysts=(Analyst("ann", Fraction(1, 2), Fraction(1, 5)), Analyst("*", Fraction(3, 4))),
)
LOSS = losses.pure(epsilon=0.125).under("add_remove")
PRICE = 125_000_000


def dice(seed: int | str) -> Random:
    """Return the same draws for the same seed, so that every failure can be seen again."""
    return Random(seed)  # noqa: S311  # tests may be foreseen


def open_book(folder: Path) -> Ledger:
    """Open the ledger of a folder as it is opened by default: with the anchor beside it."""
    return open_ledger(CATALOG, book_at(folder / NAME))


def open_watched(folder: Path, driver: Driver, anchor: Anchor) -> Ledger:
    """Open the ledger of a folder on a disk that is watched."""
    return Ledger(SqliteStore(folder / NAME, driver=driver), terms_of(CATALOG), anchor=anchor)


def charge(book: Ledger, people: str, who: str, plan: str) -> Receipt:
    """Charge always the same price."""
    return book.charge(people, LOSS, slack=Fraction(1, 10**10), plan=plan, who=who, data="v1")


def body_of(plan: str) -> bytes:
    """Return the answer to a plan; some are longer than a page."""
    return plan.encode() * (1 + 700 * (len(plan) % 3))


class Done(NamedTuple):
    """A charge that was acknowledged, and whether its answer was too."""

    receipt: Receipt
    answered: bool


def ask(book: Ledger, number: int, log: list[Event] | None = None) -> Done:
    """Charge and, mostly, record; what was acknowledged is marked in the log."""
    people, who = PEOPLE[number % 7 == 0], ANALYSTS[number // 2 % 3]  # in turns of two
    plan = f"plan {number} " + "x" * (number % 5)
    done = Done(charge(book, people, who, plan), answered=False)
    if log is not None:
        log.append(Event("mark", about=done))
    if number % 4 != 3:
        book.record(done.receipt, body_of(plan))
        done = Done(done.receipt, answered=True)
        if log is not None:
            log.append(Event("mark", about=done))
    return done


class Image(NamedTuple):
    """The files of a folder: what is in each, and the names that each has."""

    files: dict[int, bytes]
    names: dict[str, int]

    def lay(self, folder: Path) -> None:
        """Write the image into an empty folder."""
        laid: dict[int, Path] = {}
        for name, inode in self.names.items():
            if inode in laid:
                os.link(laid[inode], folder / name)
            else:
                laid[inode] = folder / name
                laid[inode].write_bytes(self.files[inode])


class Replay:
    """Goes through a log, and knows at each point what is durable and what is not yet.

    Since a file was synced, any part of what was written to it may be lost, sector by sector. Names
    that were made or removed since the folder was synced may be as before, each for itself. As
    SQLite does, the first sync of a new log syncs the folder too.
    """

    def __init__(self) -> None:
        self.files: dict[int, bytes] = {}
        self.waiting: dict[int, list[Event]] = {}
        self.names: dict[str, int] = {}
        self.durable: dict[str, int] = {}
        self.moves: list[tuple[str, int | None]] = []  # of names: to a file, or to nothing
        self.fresh: set[int] = set()  # logs that were never synced

    def step(self, event: Event) -> None:
        """Let the next event happen."""
        match event.kind:
            case "create":
                inode = len(self.files)
                self.files[inode], self.waiting[inode] = b"", []
                self._move(event.name, inode)
                if event.name.endswith(("-wal", "-journal")):
                    self.fresh.add(inode)
            case "write" | "cut":
                self.waiting[self.names[event.name]].append(event)
            case "sync":
                self._sync(self.names[event.name])
            case "delete":
                self._move(event.name, None)
                if event.at:
                    self._sync_folder()
            case "link":
                self._move(event.name, self.names[event.about])
            case "folder":
                self._sync_folder()
            case "mark":
                pass

    def image(self, luck: Random | None = None) -> Image:
        """Return the disk if power is lost now: all was written, or what luck leaves of it."""
        if luck is None:
            files = {inode: _after(self.files[inode], self.waiting[inode]) for inode in self.files}
            return Image(files, dict(self.names))
        names = dict(self.durable)
        kept = luck.choice((0.0, 0.5, 0.9, 1.0))
        for name, inode in self.moves:
            if luck.random() < kept:
                _rename(names, name, inode)
        files = {}
        for inode in set(names.values()):
            kept, torn = luck.choice((0.0, 0.3, 0.7, 0.95, 1.0)), luck.random() < 0.5
            left = [
                piece
                for event in self.waiting[inode]
                for piece in (_sectors(event) if torn else [event])
                if luck.random() < kept
            ]
            files[inode] = _after(self.files[inode], left)
        return Image(files, names)

    def _sync(self, inode: int) -> None:
        self.files[inode] = _after(self.files[inode], self.waiting[inode])
        self.waiting[inode] = []
        if inode in self.fresh:
            self.fresh.discard(inode)
            self._sync_folder()

    def _move(self, name: str, inode: int | None) -> None:
        _rename(self.names, name, inode)
        self.moves.append((name, inode))

    def _sync_folder(self) -> None:
        self.durable, self.moves = dict(self.names), []


def _rename(names: dict[str, int], name: str, inode: int | None) -> None:
    if inode is None:
        names.pop(name, None)
    else:
        names[name] = inode


def _sectors(event: Event) -> list[Event]:
    """Cut a write where a disk may tear it."""
    if event.kind != "write":
        return [event]
    pieces, at, end = [], event.at, event.at + len(event.data)
    while at < end:
        stop = min(end, at - at % SECTOR + SECTOR)
        pieces.append(event._replace(at=at, data=event.data[at - event.at : stop - event.at]))
        at = stop
    return pieces


def _after(content: bytes, events: list[Event]) -> bytes:
    if not events:
        return content
    held = bytearray(content)
    for event in events:
        if event.kind == "cut":
            held[:] = held[: event.at].ljust(event.at, b"\0")
        else:
            if len(held) < event.at:
                held.extend(bytes(event.at - len(held)))
            held[event.at : event.at + len(event.data)] = event.data
    return bytes(held)
