# SPDX-License-Identifier: Apache-2.0
"""Kills while a ledger's file is made, and while an older one is carried over to a new version.

It runs as a process of its own, see ``tests/support/launch.py``. It prints figures as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from functools import partial
from pathlib import Path

from sordino.ledger.entry import Seen
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.sqlite.files import STANDARD, Driver
from sordino.ledger.stores.sqlite.store import MIGRATIONS, SCHEMA, SqliteStore
from sordino.ledger.verify import verify
from sordino.privacy import losses
from tests.ledger.workers import PRICE, declared
from tests.support.faults import end_process, kill_at_statement, statements_of

PEOPLE = "people"
STEP = (
    "CREATE TABLE remarks (people TEXT NOT NULL, number INTEGER NOT NULL, remark TEXT) STRICT",
    "INSERT INTO remarks SELECT people, number, 'carried over' FROM entries",
    "CREATE UNIQUE INDEX remarks_of ON remarks (people, number)",
    "CREATE TRIGGER remarks_deletes BEFORE DELETE ON remarks "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END",
)
_LOSS = losses.pure(epsilon=PRICE).under("add_remove")
_CATALOG = declared(1_000)
_SPREAD = 0.02  # seconds in which a kill at random comes


def pay(book: Ledger, times: int = 1) -> None:
    """Charge so many times."""
    for _ in range(times):
        book.charge(PEOPLE, _LOSS, slack=Fraction(0), plan="question", who="ann")


def killed(work: Callable[[], object], after: float | None = None) -> bool:
    """Do something in a new process, kill it after some seconds, and return whether it was."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    end = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert end in (0, -signal.SIGKILL), f"ended with {end}"
    return end != 0


def make(folder: Path, kills: int, dice: random.Random) -> Counter[str]:
    """Kill those who make a file at every statement, around the naming of it, and at random."""
    (folder / "whole").mkdir()
    many = len(statements_of(lambda driver: _made(folder / "whole" / "a", driver)))
    done: Counter[str] = Counter()
    number = 0
    while done.total() < kills:
        place = folder / str(number)
        place.mkdir()
        path = place / "a"
        match number % (many + 3):
            case 0:
                name, hit = "before it is named", killed(partial(_made_linking, path, named=False))
            case 1 if number < many:  # opening it takes a second then
                name, hit = "with two names", killed(partial(_made_linking, path, named=True))
            case 1 | 2:
                name, hit = "random", killed(partial(_made, path), dice.uniform(0, _SPREAD))
            case at:
                driver = kill_at_statement(at - 2)
                name, hit = "statement", killed(partial(_made, path, driver))
        done[name] += hit
        _check_whole(path)
        shutil.rmtree(place)
        number += 1
    return done


def migrate(folder: Path, kills: int, dice: random.Random) -> Counter[str]:
    """Kill those who carry a ledger over at every statement and at random; nothing may change."""
    old = folder / "old"
    old.mkdir()
    crashed = dice.random() < 0.5
    if not killed(lambda: _written(old / "a", dice.randrange(1, 30), crash=crashed)):
        assert not crashed
    head, spent = _read(old / "a")
    steps = (*MIGRATIONS, STEP)
    whole = folder / "whole"
    shutil.copytree(old, whole)
    many = len(statements_of(lambda driver: _made(whole / "a", driver, steps)))
    done: Counter[str] = Counter()
    number = 0
    while done.total() < kills:
        place = folder / str(number)
        shutil.copytree(old, place)
        path, at = place / "a", number % (many + 2)
        if at < many:
            driver = kill_at_statement(at + 1)
            done["statement"] += killed(partial(_made, path, driver, steps))
        else:
            done["random"] += killed(partial(_made, path, steps=steps), dice.uniform(0, _SPREAD))
        _check_carried(path, head, spent, steps)
        shutil.rmtree(place)
        number += 1
    return done


def _made(
    path: Path, driver: Driver = STANDARD, steps: tuple[tuple[str, ...], ...] = MIGRATIONS
) -> None:
    SqliteStore(path, driver=driver, schema=_schema(steps), migrations=steps).close()


def _schema(steps: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Return the statements of the newest version; ours is made by those before the last step."""
    return SCHEMA if steps == MIGRATIONS else (*SCHEMA, *STEP)


def _made_linking(path: Path, *, named: bool) -> None:
    """Make a file and end just before or just after it gets its name."""
    link = os.link

    def linked(*names: Path) -> None:
        if named:
            link(*names)
        end_process()

    os.link = linked  # type: ignore[assignment]  # in this process alone, which ends here
    _made(path)


def _written(path: Path, charges: int, *, crash: bool) -> None:
    """Make a ledger with some charges, and end as a process that is killed if so wished."""
    book = Ledger(SqliteStore(path), terms_of(_CATALOG))
    pay(book, charges)
    if crash:
        end_process()
    book.close()


def _check_whole(path: Path) -> None:
    """A file is there as a whole or not at all, and whoever comes next can use it."""
    if path.exists():
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            assert file.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
            assert file.execute("SELECT count(*) FROM about").fetchone() == (1,)
    for total in (1, 2):
        with closing(Ledger(SqliteStore(path), terms_of(_CATALOG))) as book:
            pay(book)
            (found,) = verify(book)
            assert found.charges == total


def _read(path: Path) -> tuple[Seen, int]:
    """Return the newest entry and what was spent, read from a copy without our own code."""
    copy = path.parent.with_name(f"{path.parent.name}-copy")
    shutil.copytree(path.parent, copy)
    with closing(sqlite3.connect(copy / path.name)) as file:
        asked = "SELECT number, hash, spent FROM entries ORDER BY number DESC LIMIT 1"
        number, head, spent = file.execute(asked).fetchone()
        (total,) = file.execute("SELECT sum(price) FROM entries").fetchone()
        (version,) = file.execute("PRAGMA user_version").fetchone()
        (tables,) = file.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'remarks%'")
        assert tables[0] == (0 if version == len(MIGRATIONS) + 1 else len(STEP) - 1)
    shutil.rmtree(copy)
    assert total == spent
    return Seen(PEOPLE, number, head), spent


def _check_carried(path: Path, head: Seen, spent: int, steps: tuple[tuple[str, ...], ...]) -> None:
    """What was spent is the same right after a kill, and after it was carried over in the end."""
    assert _read(path) == (head, spent)
    store = SqliteStore(path, schema=_schema(steps), migrations=steps)
    with closing(Ledger(store, terms_of(_CATALOG))) as book:
        (found,) = verify(book)
        assert (found.head, found.spent.nanos) == (head, spent)
        pay(book)
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (len(steps) + 1,)
        assert file.execute("SELECT count(*) FROM remarks").fetchone() == (head.number,)


def main() -> None:
    """Carry out what the argument says, and print what happened."""
    told = json.loads(sys.argv[1])
    dice = random.Random(told["seed"])  # noqa: S311 - when a process is killed is no secret
    gc.freeze()
    done = {"make": make, "migrate": migrate}[told["what"]](
        Path(told["place"]), told["kills"], dice
    )
    gc.unfreeze()
    sys.stdout.write(json.dumps(done))


if __name__ == "__main__":
    main()
