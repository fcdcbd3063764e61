# SPDX-License-Identifier: Apache-2.0
"""Processes that ask questions until they are killed, and what they send before that."""

from __future__ import annotations

import os
import struct
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from sordino.answer import Answer
from sordino.answer.answer import to_bytes
from sordino.catalog.checks import analyst
from sordino.catalog.frames import frame_catalog
from sordino.catalog.model import Catalog
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.protocol import Engine
from sordino.engine.sealed import Sealed
from sordino.errors import BudgetExceeded
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import Receipt
from sordino.ledger.ledger import Ledger
from sordino.ledger.opening import open_store
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.protocol import Store
from sordino.plan.plan import Plan
from sordino.session.session import Session
from tests.support.faults import FaultyEngine, FaultyStore, Point, Reached, kill_at, send

REFUSED, NEVER, BROKEN = 3, 4, 5  # how a worker ends if it was not killed
READY = b"!"  # sent once everything is open
PRICE = Fraction(1, 1_000)
QUESTIONS = (
    "SELECT COUNT(*) FROM data",
    "SELECT COUNT(*) FROM data WHERE ward = 'north'",
    "SELECT COUNT(*) FROM data WHERE ward = 'south'",
)
_ROWS = 100
_HEADER = struct.Struct(">QI")  # the number of the charge, and how many bytes follow
_MOST = 60  # questions of one worker
_FRAME = pa.table({"person": list(range(_ROWS)), "ward": ["north", "south"] * (_ROWS // 2)})


def declared(
    charges: int | Fraction, names: Iterable[str] = (), share: Fraction = Fraction(1)
) -> Catalog:
    """Return a catalog that can pay for so many questions, with a share of them for each name."""
    catalog = frame_catalog(_FRAME, unit="person", epsilon=charges * PRICE)
    shares = tuple(analyst(name, share=share) for name in names)
    return Catalog(catalog.tables, catalog.purses, catalog.path, shares)


def planned(catalog: Catalog) -> tuple[Plan, ...]:
    """Return the plans of all questions, made once for all workers, and each tried out."""
    book = Ledger(MemoryStore(), terms_of(catalog))
    who = catalog.analysts[0].name if catalog.analysts else "ann0"
    with Session(catalog, engine=Counted(), ledger=book, who=who) as session:
        plans = tuple(session.plan(sql, epsilon=PRICE) for sql in QUESTIONS)
        for plan in plans:
            session.answer(plan)
    return plans


def open_book(place: Path | str, catalog: Catalog, reached: Reached | None = None) -> Ledger:
    """Open a ledger of either kind; one in a file has its anchor beside it."""
    store: Store = open_store(place, keyed=False)
    if reached is not None:
        store = FaultyStore(store, reached)
    anchor = Anchor(place.with_name(f"{place.name}.heads")) if isinstance(place, Path) else None
    return Ledger(store, terms_of(catalog), anchor=anchor)


class Counted:
    """An engine that counts the rows of one table without a database; it may be forked."""

    def run(self, *_: object, **__: object) -> Any:
        return Sealed((pa.table({"s0": [_ROWS << 16]}),))

    def prepare(self, _bounded: object) -> None:
        """There is nothing that it refuses."""

    def load(self, _bounded: object) -> None:
        """There is nothing to read."""

    def version(self, _tables: object) -> str:
        return "first"

    def close(self) -> None:
        """There is nothing to let go of."""


class _Careless(Ledger):
    """A ledger whose answers are kept only after they were sent: what must not be."""

    late: tuple[Receipt, bytes] | None = None

    def record(self, receipt: Receipt, body: bytes) -> None:
        self.late = receipt, body

    def keep_late(self) -> None:
        """Keep what has been sent."""
        if self.late is not None:
            super().record(*self.late)
        self.late = None


@dataclass(frozen=True)
class Worker:
    """Who asks, of which ledger, and when it ends: at a point for the nth time, or by others."""

    who: str
    place: Path | str
    catalog: Catalog
    plans: tuple[Plan, ...]
    point: Point | None
    nth: int = 1
    duckdb: bool = False
    careless: bool = False

    def run(self, pipe: int, choose: Callable[[], int]) -> int:
        """Ask until the end, and send all answers; ``choose`` gives numbers from 0 to 99."""
        reached = _never if self.point is None else kill_at(self.point, nth=self.nth)
        try:
            session, late = self._session(reached)
            os.write(pipe, READY)
            for _ in range(_MOST):
                self._ask(session, pipe, choose(), reached)
                late()
        except BudgetExceeded:
            return REFUSED
        except BaseException:
            traceback.print_exc()
            return BROKEN
        return NEVER

    def _session(self, reached: Reached) -> tuple[Session, Callable[[], None]]:
        book = open_book(self.place, self.catalog, reached)
        late: Callable[[], None] = _nothing
        if self.careless:
            book = _Careless(book.store, book.terms)
            late = book.keep_late
        engine: Engine = DuckdbEngine(self.catalog, threads=1) if self.duckdb else Counted()
        engine = FaultyEngine(engine, reached)
        return Session(self.catalog, engine=engine, ledger=book, who=self.who), late

    def _ask(self, session: Session, pipe: int, chosen: int, reached: Reached) -> None:
        """Ask one of three questions, some of them for a new answer."""
        place = chosen % len(QUESTIONS)
        plan = session.plan(QUESTIONS[place], epsilon=PRICE) if self.duckdb else self.plans[place]
        reached(Point.PARSED)
        answer = session.answer(plan, fresh=chosen < 70)
        body = to_bytes(answer)
        os.write(pipe, _HEADER.pack(_charge(answer), len(body)))
        send(body, lambda half: os.write(pipe, half), reached)


@dataclass(frozen=True)
class Frame:
    """What was seen of an answer: the number of its charge, and all or some of its bytes."""

    charge: int
    body: bytes
    whole: bool


def frames(sent: bytes) -> list[Frame]:
    """Take what a worker has sent apart; the last frame may be a part of one."""
    found, at = [], len(READY)
    while len(sent) - at >= _HEADER.size:
        charge, size = _HEADER.unpack_from(sent, at)
        at += _HEADER.size
        body = sent[at : at + size]
        found.append(Frame(charge, body, len(body) == size))
        at += size
    return found


def _charge(answer: Answer) -> int:
    return answer.charge.number


def _never(_: Point) -> None:
    """Nothing happens at any point."""


def _nothing() -> None:
    """There is nothing to do."""
