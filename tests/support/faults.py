# SPDX-License-Identifier: Apache-2.0
"""Named moments in the life of a question at which a test may end the process. For tests only.

The product has no hooks. A store and an engine are wrapped, and so is a connection to SQLite; the
wrappers tell a function when a moment has come.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from random import Random
from threading import local
from typing import Any, TypeAlias, cast

from sordino.engine.protocol import Engine, Exact, Progress
from sordino.errors import LedgerError
from sordino.ledger.entry import Entry, Receipt
from sordino.ledger.stores.protocol import Pages, Store, compare_and_add
from sordino.ledger.stores.sqlite.files import STANDARD, Driver
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.plan.plan import Bounded


class Point(Enum):
    """The moments of a question, in their order."""

    PARSED = "the question is parsed, and nothing was asked of the ledger"
    BEFORE_CHARGE = "the transaction of the charge has not begun"
    CHARGE_WRITTEN = "the charge is written, and not durable"
    CHARGED = "the charge is durable"
    IN_ENGINE = "the engine was asked, and has not answered"
    COMPUTED = "the engine has answered"
    NOISY = "noise was added, and the transaction of the answer has not begun"
    ANSWER_WRITTEN = "the answer is written, and not durable"
    RECORDED = "the answer is durable, and no byte of it was sent"
    HALF_SENT = "half of the bytes of the answer were sent"
    SENT = "all bytes of the answer were sent"


Reached: TypeAlias = "Callable[[Point], None]"


def shuffled(kills: Mapping[str, int], dice: Random) -> list[str]:
    """Return the name of each kill as often as it is to be made, in random order."""
    left = [name for name, many in kills.items() for _ in range(many)]
    dice.shuffle(left)
    return left


class FaultyStore:
    """A store that tells when a charge or an answer is begun, written and durable."""

    def __init__(self, store: Store, reached: Reached) -> None:
        self._store = store
        self._reached = reached
        self._own = local()  # of each thread: whether it owes the answer to a charge, and so on

    @property
    def identity(self) -> str:
        return self._store.identity

    @property
    def keyed(self) -> bool:
        return self._store.keyed

    def read(self) -> AbstractContextManager[Pages]:
        return self._store.read()

    @contextmanager
    def write(self, people: str) -> Iterator[Pages]:
        self._begins()
        with self._store.write(people) as pages:
            told = _Pages(pages, self._reached)
            yield cast("Pages", told)
        if told.done is not None:
            self._ends(told.done)

    def follow(self, last: Entry, entry: Entry, body: bytes | None = None) -> bool:
        if not isinstance(self._store, SqliteStore):  # the others do it in this way
            return compare_and_add(self, last, entry, body)
        self._begins()
        self._watch(self._store)
        self._own.written, done = _POINTS[entry.kind]
        self._own.raised = None
        try:
            added = self._store.follow(last, entry, body)
        except LedgerError:
            if self._own.raised is not None:
                raise self._own.raised from None
            raise
        finally:
            self._own.written = None
        if added:
            self._ends(done)
        return added

    def _watch(self, store: SqliteStore) -> None:
        """Let SQLite tell when an entry is written within a statement, and not durable.

        That is done by a trigger that only this connection has.
        """
        with store.read():  # which opens the file again after a fork
            store._connection.create_function("sordino_told", 0, self._tell)
            store._connection.execute(
                "CREATE TEMP TRIGGER IF NOT EXISTS sordino_tells AFTER INSERT ON main.entries "
                "BEGIN SELECT sordino_told(); END"
            )

    def _tell(self) -> None:
        """Be told by SQLite; what is raised undoes the statement, and is raised again after it."""
        written = getattr(self._own, "written", None)
        if written is not None:
            try:
                self._reached(written)
            except BaseException as error:
                self._own.raised = error
                raise

    def _begins(self) -> None:
        owes = getattr(self._own, "answer", False)
        self._reached(Point.NOISY if owes else Point.BEFORE_CHARGE)

    def _ends(self, done: Point) -> None:
        self._own.answer = done is Point.CHARGED
        self._reached(done)

    def settle(self) -> None:
        self._store.settle()

    def check(self) -> None:
        self._store.check()

    def close(self) -> None:
        self._store.close()


_POINTS = {
    "charge": (Point.CHARGE_WRITTEN, Point.CHARGED),
    "answer": (Point.ANSWER_WRITTEN, Point.RECORDED),
}


class _Pages:
    """Pages that tell when a charge or an answer was written."""

    def __init__(self, pages: Pages, reached: Reached) -> None:
        self._pages = pages
        self._reached = reached
        self.done: Point | None = None

    def append(self, entry: Entry, body: bytes | None = None) -> None:
        self._pages.append(entry, body)
        if entry.kind in _POINTS:
            written, self.done = _POINTS[entry.kind]
            self._reached(written)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pages, name)


class FaultyEngine:
    """An engine that tells when it is asked and when it has answered."""

    def __init__(self, engine: Engine, reached: Reached) -> None:
        self._engine = engine
        self._reached = reached

    def prepare(self, bounded: Bounded) -> None:
        self._engine.prepare(bounded)

    def load(self, bounded: Bounded) -> None:
        self._engine.load(bounded)

    def run(
        self,
        bounded: Bounded,
        receipt: Receipt,
        *,
        salt: int,
        progress: Progress | None = None,
        deadline: float | None = None,
    ) -> Exact:
        self._reached(Point.IN_ENGINE)
        found = self._engine.run(bounded, receipt, salt=salt, progress=progress, deadline=deadline)
        self._reached(Point.COMPUTED)
        return found

    def version(self, tables: Iterable[str]) -> str:
        return self._engine.version(tables)

    def close(self) -> None:
        self._engine.close()


def send(body: bytes, write: Callable[[bytes], object], reached: Reached) -> None:
    """Send the bytes of an answer in two halves."""
    middle = len(body) // 2
    write(body[:middle])
    reached(Point.HALF_SENT)
    write(body[middle:])
    reached(Point.SENT)


def faulty_driver(told: Callable[[str], None], driver: Driver = STANDARD) -> Driver:
    """Return a way to reach SQLite that tells every statement before it is executed."""
    return driver._replace(connect=lambda path: _Connection(driver.connect(path), told))


class _Connection:
    def __init__(self, connection: Any, told: Callable[[str], None]) -> None:
        self._connection = connection
        self._told = told

    def execute(self, sql: str, *values: object) -> Any:
        self._told(sql)
        return self._connection.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def end_process() -> None:
    """End this process at once, as ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(point: Point, *, nth: int = 1, end: Callable[[], None] = end_process) -> Reached:
    """Return what ends the process when a point is reached for the nth time."""
    left = nth

    def reached(now: Point) -> None:
        nonlocal left
        if now is point:
            left -= 1
            if left == 0:
                end()

    return reached


def kill_at_statement(number: int, *, end: Callable[[], None] = end_process) -> Driver:
    """Return a way to reach SQLite that ends the process before statement ``number``, from 1."""
    count = 0

    def told(_: str) -> None:
        nonlocal count
        count += 1
        if count == number:
            end()

    return faulty_driver(told)


def statements_of(work: Callable[[Driver], object]) -> list[str]:
    """Return all statements that some work executes, in their order."""
    found: list[str] = []
    work(faulty_driver(found.append))
    return found
