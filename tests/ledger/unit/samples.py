# SPDX-License-Identifier: Apache-2.0
"""Small ledgers for the tests here: a budget of epsilon 1, and charges against it."""

import os
import sqlite3
import traceback
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path

from sordino.catalog.model import Analyst, Catalog, Purse
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import Receipt
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Terms, terms_of
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.privacy import Budget, losses

SLACK = Fraction(1, 10**6)
NOON = "2026-01-01T12:00:00Z"


def analyst(name: str, share: str | None = None, reserved: str = "0") -> Analyst:
    return Analyst(name, None if share is None else Fraction(share), Fraction(reserved))


def catalog(
    epsilon: str = "1",
    *,
    analysts: Iterable[Analyst] = (),
    question: str | None = None,
    people: str = "people",
    budget: Budget | None = None,
    slack: Fraction = SLACK,
) -> Catalog:
    spent = budget or Budget(epsilon=Fraction(epsilon), neighbours="add_remove")
    most = None if question is None else Fraction(question)
    purse = Purse(spent, slack=slack, question=most)
    return Catalog(tables=(), purses=((people, purse),), analysts=tuple(analysts))


def terms(declared: Catalog | None = None) -> dict[str, Terms]:
    return terms_of(declared or catalog())


def in_memory(declared: Catalog | None = None, store: MemoryStore | None = None) -> Ledger:
    return Ledger(store or MemoryStore(), terms(declared), clock=lambda: NOON)


def in_file(path: Path, declared: Catalog | None = None, *, anchored: bool = False) -> Ledger:
    anchor = Anchor(path.with_name(f"{path.name}.heads")) if anchored else None
    return Ledger(SqliteStore(path), terms(declared), anchor=anchor, clock=lambda: NOON)


def pay(
    ledger: Ledger,
    epsilon: str = "0.1",
    *,
    who: str = "ann",
    slack: Fraction = Fraction(0),
    plan: str = "plan",
    data: str = "data",
    people: str = "people",
) -> Receipt:
    loss = losses.pure(epsilon=Fraction(epsilon)).under("add_remove")
    return ledger.charge(people, loss, slack=slack, plan=plan, who=who, data=data)


def behind(path: Path, statement: str) -> None:
    """Change a ledger behind its back: without its triggers, which are put back afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA ignore_check_constraints = ON")
        file.execute("PRAGMA synchronous = OFF")
        file.execute("BEGIN")
        found = file.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        triggers = found.fetchall()
        for name, _ in triggers:
            file.execute(f"DROP TRIGGER {name}")
        file.execute(statement)
        for _, sql in triggers:
            with suppress(sqlite3.OperationalError):  # its table may be gone
                file.execute(sql)
        file.execute("COMMIT")


def ended(work: Callable[[], None]) -> int:
    """Run something in a forked process, and return how it ended: 0 if it returned."""
    child = started(work)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def started(work: Callable[[], None]) -> int:
    """Begin something in a forked process, and return its id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:  # nothing may come back into the copy of the test
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def of_two_limits() -> tuple[Ledger, Ledger]:
    """Return two ledgers of one store, opened with an epsilon of 10 and with one of 0.5."""
    store = MemoryStore()
    ten, half = (in_memory(catalog(epsilon), store=store) for epsilon in ("10", "0.5"))
    for ledger in (ten, half):
        ledger.check_terms()
    return ten, half
