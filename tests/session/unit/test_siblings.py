# SPDX-License-Identifier: Apache-2.0
"""Sessions of several analysts on one engine and ledger; deadlines; charges taken up later."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb
import pytest

import sordino as so
from sordino.engine.duckdb import engine as engines
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import LedgerError, SealedError
from sordino.ledger.verify import verify
from sordino.session import Session

COUNT = "SELECT COUNT(*) AS n FROM data"


def session(**terms: Any) -> Session:
    rows = {"person": [k % 50 for k in range(200)], "age": [k % 90 for k in range(200)]}
    return so.table(rows, unit="person", bounds={"age": (0, 100)}, epsilon=3, **terms)


def charges(of: Session) -> list[Any]:
    with of.ledger.store.read() as pages:
        return [entry for entry in pages.entries("people") if entry.kind == "charge"]


def failing(of: Session, **terms: Any) -> None:
    """Ask what is charged and fails."""

    def fail(*_: object, **__: object) -> None:
        raise SealedError

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DuckdbEngine, "run", fail)
        with pytest.raises(SealedError):
            of.answer(of.plan(COUNT, epsilon=1), **terms)


def test_a_sibling_is_charged_for_itself_and_sees_the_same_budget() -> None:
    owner = session()
    ann, bob = owner.of("ann"), owner.of("bob")
    first, second = ann.ask(COUNT, epsilon=1), bob.ask(COUNT, epsilon=1)
    assert (first.charge.who, second.charge.who) == ("ann", "bob")
    assert first.receipt != second.receipt
    assert str(owner.budget[0].in_all) == "epsilon 1"
    assert ann.ask(COUNT, epsilon=1).again


def test_siblings_who_ask_the_same_at_once_are_charged_each() -> None:
    owner = session()
    names = ["ann", "bob", "eve"]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda who: owner.of(who).ask(COUNT, epsilon=0.5), names * 2))
    assert {answer.charge.who for answer in answers} == set(names)
    assert sorted(charge.who for charge in charges(owner)) == names


def test_closing_one_closes_all() -> None:
    owner = session()
    ann = owner.of("ann")
    owner.close()
    with pytest.raises(ValueError, match="closed"):
        ann.ask(COUNT, epsilon=1)


@pytest.mark.parametrize("who", ["", " ann", "x" * 101, "a\nb"])
def test_a_sibling_has_a_name(who: str) -> None:
    with pytest.raises(ValueError, match="an analyst has a name"):
        session().of(who)


def test_siblings_rehearse_on_the_same_rows() -> None:
    owner = session()
    assert owner.of("ann")._stage() is owner.of("bob")._stage()


def test_a_reason_stands_in_the_charge() -> None:
    data = session()
    data.answer(data.plan(COUNT, epsilon=1), why="key 0123")
    data.answer(data.plan(COUNT, epsilon=1), fresh=True, why="key 4567")
    assert [charge.why for charge in charges(data)] == ["key 0123", "key 4567"]
    assert len(verify(data.ledger)) == 1


def test_a_deadline_that_has_passed_ends_a_question_after_its_charge() -> None:
    data = session()
    with pytest.raises(SealedError):
        data.answer(data.plan(COUNT, epsilon=1), deadline=0)
    assert len(charges(data)) == 1
    assert data.answer(data.plan(COUNT, epsilon=1), deadline=60).charge.number == 2
    assert len(charges(data)) == 1


def test_a_deadline_interrupts_what_is_being_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that would take minutes is ended in a thread, where no keyboard is heard."""
    data = session()
    ended = Event()

    def slow(connection: duckdb.DuckDBPyConnection, **_: object) -> Any:
        try:
            return connection.execute(
                "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"
            ).fetchall()
        finally:
            ended.set()

    plan = data.plan(COUNT, epsilon=1)
    data._make_ready(plan)
    monkeypatch.setattr(engines, "execute", slow)
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            data.answer(plan, deadline=0.2)
        except SealedError as error:
            failures.append(error)

    asking = Thread(target=ask)
    asking.start()
    asking.join(60)
    assert not asking.is_alive()
    assert ended.is_set()
    assert len(failures) == 1


def test_what_is_paid_is_known() -> None:
    data = session()
    plan = data.plan(COUNT, epsilon=1)
    assert not data.is_paid(plan)
    failing(data)
    assert data.is_paid(plan)
    assert not data.of("ann").is_paid(plan)
    data.answer(plan)
    assert data.is_paid(plan)
    assert not data.is_paid(data.plan(COUNT, epsilon=0.5))


def test_a_charge_is_answered_later_and_once() -> None:
    data = session()
    failing(data)
    (charge,) = data.ledger.unanswered()
    plan = data.plan(COUNT, epsilon=1)
    first = data.resume(charge, plan)
    assert first.charge.head == charge.hash
    assert data.ledger.unanswered() == []
    again = data.resume(charge, plan)
    assert (again.again, again) == (True, first)
    assert len(charges(data)) == 1


def test_a_charge_is_answered_for_nobody_and_nothing_else() -> None:
    data = session()
    failing(data)
    (charge,) = data.ledger.unanswered()
    plan = data.plan(COUNT, epsilon=1)
    for who, other in ((data.of("ann"), plan), (data, data.plan(COUNT, epsilon=0.5))):
        with pytest.raises(ValueError, match="another question"):
            who.resume(charge, other)
    with pytest.raises(LedgerError, match="no such charge"):
        data.resume(charge._replace(hash="0" * 64), plan)
    data.close()
    with pytest.raises(ValueError, match="closed"):
        data.resume(charge, plan)


def test_a_charge_about_older_rows_stays_without_an_answer(tmp_path: Path) -> None:
    ledger = tmp_path / "study.ledger"
    first = session(ledger=ledger)
    failing(first)
    first.close()
    data = session(ledger=ledger)  # rows in memory are new in every session
    (charge,) = data.ledger.unanswered()
    with pytest.raises(ValueError, match="rows were written"):
        data.resume(charge, data.plan(COUNT, epsilon=1))
    data.close()
