# SPDX-License-Identifier: Apache-2.0
"""Questions on 10,000,000 rows against plain SQL and against the textbook form, on DuckDB alone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table as Shown

from bench.timing import best_of, seconds
from sordino.engine.duckdb import DuckdbEngine
from sordino.ledger.protocol import Receipt
from sordino.plan.bounded import Bounded, Cells, Ranks, RowCount, Shares, Total, UnitCount
from sordino.privacy.budget import Budget
from sordino.query.catalog import Catalog, Column, Frame, ParquetFile, Source, Table
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type

ROWS, USERS, CITIES = 10_000_000, 1_000_000, 1_000
LIMIT = 4
THREADS = 2
ROW_LEVEL, DECILES, SMALL_MILLISECONDS = 1.3, 0.7, 5.0
USER_LEVEL = {"dense": 0.45, "any 64-bit": 0.7, "text": 0.7}
NAMES = [f"city-{place:04d}-{'x' * (place % 7)}" for place in range(CITIES)]
FOLDER = Path(tempfile.gettempdir()) / "sordino-bench"

CITY, AMOUNT = Field("city", Type.TEXT, "city"), Field("amount", Type.INTEGER, "amount")
PRICE = Field("price", Type.REAL, "price")
SCAN = Scan("visits", ((CITY, "city"), (AMOUNT, "amount")))
CELLS = Cells((RowCount(), Total(AMOUNT, 0, 500, 0)))
DECLARED = (Key(CITY, "city", tuple(NAMES)),)
DISCOVERED = (Key(CITY, "city", None),)
BY_ROW = Bounded(SCAN, DECLARED, Shares(rows=1, alone=True), (CELLS,))
BY_USER = Bounded(SCAN, DECLARED, Shares(rows=LIMIT), (CELLS,))
BY_GROUPS = Bounded(
    SCAN,
    DISCOVERED,
    Shares(rows=LIMIT, groups=LIMIT),
    (Cells((*CELLS.statistics, UnitCount())),),
)
RANKS = Bounded(
    Scan("visits", ((PRICE, "price"),)),
    (),
    Shares(rows=1, alone=True),
    (Ranks(PRICE, 0, 2**16 - 1, -6),),
)

PLAIN = "SELECT city, count(*), sum(amount) FROM {0} GROUP BY city"
TEXTBOOK = (
    "SELECT city, count(*), sum(amount) FROM (SELECT *, row_number() OVER (PARTITION BY user "
    "ORDER BY hash(user, city, amount)) AS place FROM {0}) WHERE place <= 4 GROUP BY city"
)
QUANTILES = "SELECT quantile_cont(price, {1}) FROM {0}"


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    files = made()
    shown = Shown(title=f"{ROWS:,} rows of {USERS:,} users, count and sum by city: seconds")
    for heading in ("users", "what", "ours", "against", "theirs", "share", "at most", ""):
        left = heading in ("users", "what", "against")
        shown.add_column(heading, justify="left" if left else "right")
    missed = 0
    for comparison in comparisons(files):
        ours, theirs = best_of(comparison.rounds, comparison.ours, comparison.theirs)
        most = comparison.most
        reached = most is None or ours <= most * theirs
        missed += not reached
        shown.add_row(
            comparison.users, comparison.what, f"{ours:.3f}", comparison.against, f"{theirs:.3f}",
            f"{ours / theirs:.2f}", "" if most is None else f"{most:.2f}", _verdict(reached, most),
        )  # fmt: skip
    console.print(shown)
    return missed + memory(console, files) + small(console)


@dataclass(frozen=True, slots=True)
class Comparison:
    users: str
    what: str
    against: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    most: float | None
    rounds: int = 2


def comparisons(files: dict[str, Path]) -> list[Comparison]:
    found = []
    plain = connected()
    for users, path in files.items():
        source = f"read_parquet('{path}')"

        def theirs(text: str, source: str = source, *rest: object) -> Callable[[], object]:
            return lambda: plain.sql(text.format(source, *rest)).to_arrow_table()

        person = opened(path, unit="user")
        textbook = theirs(TEXTBOOK)
        if users == "dense":
            row = opened(path, unit="row")
            deciles = theirs(QUANTILES, source, [place / 10 for place in range(1, 10)])
            found += [
                Comparison(
                    users,
                    "each row a unit",
                    "plain",
                    asked(row, BY_ROW),
                    theirs(PLAIN),
                    ROW_LEVEL,
                    7,
                ),
                Comparison(
                    users,
                    "counts for deciles",
                    "quantile_cont",
                    asked(row, RANKS),
                    deciles,
                    DECILES,
                ),
                Comparison(
                    users, "cities discovered", "textbook", asked(person, BY_GROUPS), textbook, None
                ),
            ]
        found.append(
            Comparison(
                users, "weighed", "textbook", asked(person, BY_USER), textbook, USER_LEVEL[users]
            )
        )
    return found


def connected() -> duckdb.DuckDBPyConnection:
    """Return DuckDB as it is, but for the threads, and without a bar on the screen."""
    connection = duckdb.connect(config={"threads": THREADS})
    connection.execute("SET enable_progress_bar = false")
    return connection


def asked(engine: DuckdbEngine, bounded: Bounded) -> Callable[[], object]:
    return lambda: engine.run(bounded, RECEIPT, salt=1)


def opened(path: Path, *, unit: str) -> DuckdbEngine:
    kind = Type.TEXT if "text" in path.name else Type.INTEGER
    return DuckdbEngine(catalog(ParquetFile(path), unit=unit, kind=kind), threads=THREADS)


def catalog(source: Source, *, unit: str, kind: Type = Type.INTEGER) -> Catalog:
    columns = (
        Column("user", kind),
        Column("city", Type.TEXT),
        Column("amount", Type.INTEGER),
        Column("price", Type.REAL),
    )
    return Catalog((Table("visits", source, columns, unit=unit),))


_CAP = Budget(epsilon=1).cap
RECEIPT = Receipt(1, "people", _CAP, Fraction(0), _CAP, Fraction(0), "bench")


def rows(many: int, users: int) -> pa.Table:
    """Return visits: users with skewed numbers of rows, cities of skewed sizes."""
    generator = np.random.default_rng(1)
    shares = generator.pareto(2.0, users) + 0.3
    counts = generator.multinomial(many, shares / shares.sum())
    user = np.repeat(np.arange(users), counts)
    generator.shuffle(user)
    sizes = 1 / np.arange(1, CITIES + 1) ** 0.7
    city = generator.choice(CITIES, many, p=sizes / sizes.sum()).astype(np.int32)
    cities = pa.DictionaryArray.from_arrays(pa.array(city), pa.array(NAMES)).cast(pa.string())
    return pa.table(
        {
            "user": user,
            "city": cities,
            "amount": generator.integers(0, 500, many),
            "price": generator.gamma(2.0, 80.0, many),
        }
    )


def made() -> dict[str, Path]:
    """Write the files once, and return them by the kind of their ids."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    files = {"dense": "dense", "any 64-bit": "any", "text": "text"}
    paths = {kind: FOLDER / f"{name}.parquet" for kind, name in files.items()}
    if not all(path.exists() for path in paths.values()):
        table = rows(ROWS, USERS)
        user = table.column("user").to_numpy()
        spread = np.random.default_rng(2).permutation(USERS).astype(np.int64)
        ids = spread * 9_007_199_254_740_993 % (2**63 - 25)
        texts = pa.array([f"u{place:019d}" for place in ids.tolist()])
        pq.write_table(table, paths["dense"])
        pq.write_table(table.set_column(0, "user", pa.array(ids[user])), paths["any 64-bit"])
        pq.write_table(table.set_column(0, "user", texts.take(pa.array(user))), paths["text"])
    return paths


# Memory. -----------------------------------------------------------------------------------------

_PEAK = """
import json, sys
from pathlib import Path
from bench import queries
what, kind = json.loads(sys.argv[1])
path = queries.made()[kind]
if what == "ours":
    queries.asked(queries.opened(path, unit="user"), queries.BY_USER)()
else:
    text = queries.TEXTBOOK.format(f"read_parquet('{path}')")
    queries.connected().sql(text).to_arrow_table()
lines = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024)
"""


def memory(console: Console, files: dict[str, Path]) -> int:
    """Compare the most memory that a process of its own takes, ours and the textbook form's."""
    missed = 0
    for kind in files:
        ours, theirs = (peak(what, kind) for what in ("ours", "theirs"))
        missed += ours > theirs
        console.print(
            f"memory, {kind} ids: {ours} MB against {theirs} MB {_verdict(ours <= theirs, 1.0)}"
        )
    return missed


def peak(what: str, kind: str) -> int:
    command = [sys.executable, "-c", _PEAK, json.dumps([what, kind])]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


# A small question. -------------------------------------------------------------------------------


def small(console: Console) -> int:
    """Time a warm question on 10,000 rows in memory, from the plan to the exact numbers."""
    engine = DuckdbEngine(catalog(Frame(rows(10_000, 1_000)), unit="user"), threads=THREADS)
    bounded = Bounded(SCAN, DECLARED, Shares(rows=LIMIT), (CELLS,))
    work = asked(engine, bounded)
    typical = median([seconds(work) for _ in range(60)][10:]) * 1_000
    reached = typical <= SMALL_MILLISECONDS
    console.print(
        f"a small question in the engine, warm: {typical:.1f} ms, at most {SMALL_MILLISECONDS:.0f} "
        f"{_verdict(reached, 1.0)}\n"
    )
    return int(not reached)


def whole(session: Any, sql: str) -> float:
    """Return the seconds of a question from its text to the answer, with noise and a ledger."""
    return seconds(lambda: session.ask(sql, epsilon=1))


def _verdict(reached: bool, most: float | None) -> str:
    if most is None:
        return ""
    return "[green]reached[/]" if reached else "[red]short[/]"
