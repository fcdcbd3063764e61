# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sordino.answer.answer import to_bytes
from sordino.catalog.frames import frame_catalog
from sordino.engine.sealed import Sealed
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.protocol import Store
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.session import Session
from tests.ledger.unit.samples import in_file, pay, terms
from tests.support.faults import (
    FaultyEngine,
    FaultyStore,
    Point,
    Reached,
    kill_at,
    kill_at_statement,
    send,
    statements_of,
)

CATALOG = frame_catalog(pa.table({"person": [1, 2, 3]}), unit="person", epsilon=1)


class Ended(Exception):
    """Stands for the end of the process."""


def end() -> None:
    raise Ended


class Three:
    """An engine that knows one number."""

    def run(self, *_: object, **__: object) -> Any:
        return Sealed((pa.table({"s0": [3 << 16]}),))

    def prepare(self, _bounded: object) -> None:
        """There is nothing that it refuses."""

    def load(self, _bounded: object) -> None:
        """There is nothing to read."""

    def version(self, _tables: object) -> str:
        return "first"

    def close(self) -> None:
        """There is nothing to let go of."""


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store in memory, where every entry has a transaction, and one in a file."""
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "ledger")
    yield made
    made.close()


def session(store: Store, reached: Reached) -> Session:
    book = Ledger(FaultyStore(store, reached), terms_of(CATALOG))
    return Session(CATALOG, engine=FaultyEngine(Three(), reached), ledger=book)


def ask(asking: Session, reached: Reached, *, fresh: bool = False) -> bytes:
    plan = asking.plan("SELECT COUNT(*) FROM data", epsilon=0.125)
    reached(Point.PARSED)
    seen = bytearray()
    send(to_bytes(asking.answer(plan, fresh=fresh)), seen.extend, reached)
    return bytes(seen)


def test_a_question_passes_all_points_in_their_order(store: Store) -> None:
    passed: list[Point] = []
    asking = session(store, passed.append)
    first = ask(asking, passed.append)
    assert passed == list(Point)
    passed.clear()
    assert ask(asking, passed.append) == first
    assert passed == [Point.PARSED, Point.HALF_SENT, Point.SENT]
    for _ in range(2):  # which follow what was asked before
        passed.clear()
        assert ask(asking, passed.append, fresh=True)
        assert passed == list(Point)


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("point", list(Point))
def test_a_process_that_ends_at_a_point_has_paid_from_the_charge_on(
    point: Point, nth: int, store: Store
) -> None:
    reached = kill_at(point, nth=nth, end=end)
    asking = session(store, reached)
    for _ in range(nth - 1):
        ask(asking, reached, fresh=True)
    with pytest.raises(Ended):
        ask(asking, reached, fresh=True)
    paid = nth - 1 + (list(Point).index(point) >= list(Point).index(Point.CHARGED))
    kept = nth - 1 + (list(Point).index(point) >= list(Point).index(Point.RECORDED))
    assert asking.budget[0].left.nanos == 10**9 - paid * 125 * 10**6
    with store.read() as pages:
        assert pages.bodies("people") == kept


def test_an_entry_that_comes_too_late_is_told_of_when_it_is_added(tmp_path: Path) -> None:
    passed: list[Point] = []
    with closing(in_file(tmp_path / "ledger")) as other:

        def reached(point: Point) -> None:
            passed.append(point)
            if passed == [Point.BEFORE_CHARGE]:
                pay(other)

        store = FaultyStore(SqliteStore(tmp_path / "ledger"), reached)
        with closing(Ledger(store, terms())) as ledger:
            ledger.record(pay(ledger), b"answer")
            passed.clear()
            assert pay(ledger).number == 6
    again = [Point.BEFORE_CHARGE, Point.BEFORE_CHARGE, Point.CHARGE_WRITTEN, Point.CHARGED]
    assert passed == again


def test_a_point_can_be_the_end_when_it_is_reached_again(store: Store) -> None:
    reached = kill_at(Point.SENT, nth=2, end=end)
    asking = session(store, reached)
    ask(asking, reached)
    with pytest.raises(Ended):
        ask(asking, reached)


def test_half_of_the_bytes_are_sent_before_the_other_half() -> None:
    seen = bytearray()
    with pytest.raises(Ended):
        send(b"12345678", seen.extend, kill_at(Point.HALF_SENT, end=end))
    assert seen == b"1234"


def test_statements_are_told_before_they_are_executed(tmp_path: Path) -> None:
    told = statements_of(lambda driver: SqliteStore(tmp_path / "a", driver=driver).close())
    place = told.index("BEGIN IMMEDIATE") + 1
    driver = kill_at_statement(place, end=end)
    with pytest.raises(Ended):
        SqliteStore(tmp_path / "b", driver=driver)
    assert (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
