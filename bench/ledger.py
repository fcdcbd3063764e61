# SPDX-License-Identifier: Apache-2.0
"""The ledger on SQLite: charged and recorded answers beside bare commits, and a long ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.timing import undisturbed
from sordino.catalog import checks as declare
from sordino.catalog.model import Catalog
from sordino.errors import BudgetExceeded
from sordino.ledger import rules
from sordino.ledger.chain import Anchor
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Note, Wanted, terms_of
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.privacy import losses
from sordino.privacy.currency import NANO
from sordino.privacy.loss import Loss

ROUNDS, ANSWERS, WARM = 9, 200, 1_500
UNSYNCED = 25  # rounds without syncs, which take little time
ENTRIES = 1_000_000
LEAST_ANSWERS, COMMITS = 500, 1_400  # a second, on a disk that does so many bare commits
MOST_BESIDE = 0.15  # milliseconds of an answer beside its syncs
MOST_GROWTH = 1.5
PEOPLE, WHO, DATA = "people", "analyst", "d" * 64
NO_SLACK = Fraction(0)
BODY = b"{" + b" " * 1_500 + b"}"
EPSILON = Fraction(1, 1000)
LOSS, HUGE = losses.pure(epsilon=EPSILON), losses.pure(epsilon=10**6)
_NUMBERS = count()


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    with TemporaryDirectory(prefix="sordino-ledger-", dir=Path.cwd()) as folder:
        missed = _answers(console, Path(folder)) + _growth(console, Path(folder))
    console.print()
    return missed


@contextmanager
def opened(path: Path) -> Iterator[Ledger]:
    purses = ((PEOPLE, declare.purse(epsilon=10**5)),)
    terms = terms_of(Catalog(tables=(), purses=purses))
    ledger = Ledger(SqliteStore(path), terms, anchor=Anchor(path.with_suffix(".heads")))
    try:
        yield ledger
    finally:
        ledger.close()


def plan() -> str:
    """Return the fingerprint of a plan that nobody has asked for yet."""
    return sha256(str(next(_NUMBERS)).encode()).hexdigest()


def answer(ledger: Ledger, asked: str, loss: Loss) -> None:
    """Charge and record one answer."""
    receipt = ledger.charge(PEOPLE, loss, slack=NO_SLACK, plan=asked, who=WHO, data=DATA)
    ledger.record(receipt, BODY)


def answers(ledger: Ledger, times: int, *, priced: bool = True) -> float:
    """Return the seconds that one of many answers takes, each to a plan with a loss of its own.

    Plans and losses are there before. ``priced``: losses of one size, so that their price is known.
    """
    asked = [
        (
            plan(),
            losses.pure(epsilon=EPSILON if priced else EPSILON + Fraction(next(_NUMBERS), NANO)),
        )
        for _ in range(times)
    ]
    begun = perf_counter()
    for one, loss in asked:
        answer(ledger, one, loss)
    return (perf_counter() - begun) / times


def seconds(work: Callable[[], object], times: int) -> float:
    """Return the seconds that one of many takes."""
    begun = perf_counter()
    for _ in range(times):
        work()
    return (perf_counter() - begun) / times


def _answers(console: Console, folder: Path) -> int:
    """Compare answers with bare commits, and measure them once more without the syncs."""
    bare = sqlite3.connect(folder / "bare", isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = FULL"):
        bare.execute(f"PRAGMA {setting}")
    bare.execute("CREATE TABLE t (x INTEGER)")
    commits, charged = [], []
    with opened(folder / "unsynced") as unsynced:  # first, while the disk is still at rest
        unsynced.store._connection.execute("PRAGMA synchronous = OFF")  # type: ignore[attr-defined]
        answers(unsynced, WARM // 5)
        quiet, everything = undisturbed(UNSYNCED, partial(answers, unsynced, ANSWERS))
        pricing = min(answers(unsynced, ANSWERS, priced=False) for _ in range(ROUNDS)) - min(quiet)
    with opened(folder / "answers") as ledger:
        seconds(
            lambda: bare.execute("INSERT INTO t VALUES (1)"), WARM
        )  # until logs have their size
        answers(ledger, WARM // 5)
        for _ in range(ROUNDS):  # in turn, so that both meet the same disk
            commits.append(seconds(lambda: bare.execute("INSERT INTO t VALUES (1)"), 2 * ANSWERS))
            charged.append(answers(ledger, ANSWERS))
    bare.close()
    commit, each, rest = median(commits), median(charged), median(quiet) * 1_000
    table = Table(title="Charged and recorded answers, one writer, SQLite with full syncs")
    headings = ("answers/s", "at least", "bare commits/s", "ratio", "beside, ms", "at most", "")
    for heading in headings:
        table.add_column(heading, justify="right")
    least = LEAST_ANSWERS * min(1.0, 1 / commit / COMMITS)
    reached = 1 / each >= least and rest <= MOST_BESIDE
    table.add_row(
        f"{1 / each:,.0f}",
        f"{least:,.0f}",
        f"{1 / commit:,.0f}",
        f"{commit / each:.2f}",
        f"{rest:.3f}",
        f"{MOST_BESIDE}",
        "ok" if reached else "[bold red]missed[/]",
    )
    console.print(table)
    console.print(
        "beside: the same with every sync left out, so all but the waiting for the disk; median of "
        f"the {len(quiet)} of {len(everything)} rounds that nobody else disturbed (of all "
        f"{median(everything) * 1_000:.3f}); a loss of another size than those before takes "
        f"{pricing * 1_000:.3f} more to be priced"
    )
    return not reached


def _growth(console: Console, folder: Path) -> int:
    table = Table(title=f"An empty ledger and one of {ENTRIES:,} entries: microseconds")
    for heading in ("", "empty", "long", "ratio", "at most", ""):
        table.add_column(heading, justify="right" if heading else "left")
    missed = 0
    with opened(folder / "empty") as empty, opened(folder / "long") as long:
        answer(empty, plan(), LOSS)
        _fill(long)
        for name, work, times in _WORK:
            pairs = [
                (seconds(partial(work, empty), times), seconds(partial(work, long), times))
                for _ in range(ROUNDS)
            ]
            small, large = (median(side) for side in zip(*pairs, strict=True))
            growth = median(b / a for a, b in pairs)
            missed += growth > MOST_GROWTH
            shown = "ok" if growth <= MOST_GROWTH else "[bold red]missed[/]"
            table.add_row(
                name,
                f"{small * 1e6:.0f}",
                f"{large * 1e6:.0f}",
                f"{growth:.2f}",
                f"{MOST_GROWTH}",
                shown,
            )
    console.print(table)
    return missed


def _refused(ledger: Ledger) -> None:
    try:
        ledger.charge(PEOPLE, HUGE, slack=NO_SLACK, plan="p", who=WHO, data=DATA)
    except BudgetExceeded:
        return
    raise AssertionError("this charge was more than the budget")


_WORK: tuple[tuple[str, Callable[[Ledger], object], int], ...] = (
    ("what is left", lambda ledger: ledger.left(PEOPLE, WHO), 500),
    ("a refusal", _refused, 500),
    (
        "a stored answer",
        lambda ledger: ledger.find(PEOPLE, who=WHO, plan=sha256(b"0").hexdigest(), data=DATA),
        500,
    ),
    ("charge and record", lambda ledger: answer(ledger, plan(), LOSS), 100),
)


def _fill(ledger: Ledger) -> None:
    """Add entries as charges and answers would, many in a transaction."""
    answer(ledger, plan(), LOSS)
    chain, store, told = ledger.chain, ledger.store, sha256(BODY).hexdigest()
    currency, note = ledger.terms[PEOPLE].budget.currency, Note("2026-01-01T00:00:00Z")
    for _ in track(range(ENTRIES // 20_000), description="filling a ledger", transient=True):
        with store.write(PEOPLE) as pages:
            last = pages.last(PEOPLE)
            if last is None:
                raise AssertionError("an answer was recorded")
            for _ in range(10_000):
                wanted = Wanted(WHO, 1_000_000, 0, f"{next(_NUMBERS):064x}", DATA)
                draft = rules.charged(last, last, wanted, currency, note)
                charge = chain.append(pages, draft, last)
                answer_to = rules.answered(charge, charge, charge, told, note)
                last = chain.append(pages, answer_to, charge, BODY)
