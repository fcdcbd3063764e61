# SPDX-License-Identifier: Apache-2.0
"""Questions in SQL beside DuckDB: end to end from Parquet, with noise, two threads.

Every form runs inside the engine as one statement; there is no pass over rows in Python. The ledger
is in memory: what one on disk takes is measured apart.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import sordino as so
from bench import questions_data as data
from bench.questions_peers import opendp_seconds
from bench.timing import best_of, seconds, verdict
from sordino.session import Session

SQL = "SELECT city, COUNT(*) AS n, SUM(amount) AS total FROM visits GROUP BY city"
PLAIN = "SELECT city, count(*), sum(amount) FROM '{}' GROUP BY city"
TEXTBOOK = (
    "SELECT city, count(*), sum(amount) FROM (SELECT *, row_number() OVER (PARTITION BY user "
    "ORDER BY hash(user, city, amount)) AS place FROM '{}') WHERE place <= 4 GROUP BY city"
)
QUANTILES = "SELECT quantile_cont(x, {}) FROM '{}'"
DECILES = [tenth / 10 for tenth in range(1, 10)]
MOST_MILLISECONDS = 15.0
THREADS = 2


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    missed = _grouped(console) + _memory(console) + _deciles(console) + _small(console)
    console.print()
    return missed


def catalog(path: Path, unit: str, *, listed: bool = True) -> str:
    """Return the catalog of a file of visits."""
    keys = ", keys = [" + ", ".join(f'"{name}"' for name in data.cities()) + "]" if listed else ""
    kind = "text" if "text" in path.name else "integer"
    return (
        "[budget]\nepsilon = 1000000\ndelta = 0.1\n"
        f'[tables.visits]\nparquet = "{path}"\nunit = "{unit}"\nlimits = {{ rows = 4 }}\n'
        f'[tables.visits.columns]\nuser = "{kind}"\ncity = {{ type = "text"{keys} }}\n'
        'amount = { type = "integer", bounds = [0, 500] }\n'
    )


def opened(path: Path, unit: str, *, listed: bool = True) -> Session:
    file = data.folder() / "sordino.toml"
    file.write_text(catalog(path, unit, listed=listed), "utf-8")
    return so.open(file, ledger="memory", threads=THREADS)


def plain_duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": THREADS})
    connection.execute("SET enable_progress_bar = false")
    return connection


def duckdb_answer(connection: duckdb.DuckDBPyConnection, text: str) -> object:
    return connection.sql(text).to_arrow_table()


def _grouped(console: Console) -> int:
    table = Table(title=f"COUNT and SUM by city, {data.ROWS:,} rows, {data.USERS:,} users: seconds")
    for heading in ("protected", "user ids", "sordino", "DuckDB", "share", "at most", "OpenDP", ""):
        table.add_column(
            heading, justify="left" if heading in ("protected", "user ids") else "right"
        )
    missed = 0
    for unit, kind, listed, text, most in (
        ("row", "dense", True, PLAIN, 1.3),
        ("user", "dense", True, TEXTBOOK, 0.45),
        ("user", "any 64-bit", True, TEXTBOOK, 0.7),
        ("user", "text", True, TEXTBOOK, 0.7),
        ("user", "dense", False, TEXTBOOK, None),
    ):
        path = data.visits(kind)
        theirs = partial(duckdb_answer, plain_duckdb(), text.format(path))
        with opened(path, unit, listed=listed) as session:
            rounds = 7 if unit == "row" else 3  # a tenth of a second needs more of them
            ours, other = best_of(rounds, partial(session.ask, SQL, epsilon=1, fresh=True), theirs)
        share = ours / other
        reached = most is None or share <= most
        missed += not reached
        end = "" if most is None else verdict(reached)
        peer = opendp_seconds(path) if (unit, kind, listed) == ("user", "dense", True) else "-"
        table.add_row(
            unit if listed else f"{unit}, cities discovered", kind, f"{ours:.2f}", f"{other:.2f}",
            f"{share:.2f}", "-" if most is None else f"{most:.2f}", peer, end,
        )  # fmt: skip
    console.print(table)
    console.print("DuckDB: plain GROUP BY for rows; row_number() <= 4, then GROUP BY, for users\n")
    return missed


_PEAK = """
def peak():  # of this process alone; getrusage would count the parent's too
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
"""
_OURS = """
from bench import questions, questions_data
session = questions.opened(questions_data.visits({kind!r}), "user")
before = peak()
session.ask(questions.SQL, epsilon=1, fresh=True)
print(peak() - before)
"""
_THEIRS = """
from bench import questions, questions_data
connection = questions.plain_duckdb()
before = peak()
connection.sql(questions.TEXTBOOK.format(questions_data.visits({kind!r}))).to_arrow_table()
print(peak() - before)
"""


def _memory(console: Console) -> int:
    missed = 0
    for kind in data.KINDS:
        ours, theirs = (_megabytes(script.format(kind=kind)) for script in (_OURS, _THEIRS))
        reached = ours <= theirs
        missed += not reached
        console.print(
            f"peak memory, {kind} ids: {ours:.0f} MB, textbook form {theirs:.0f} MB "
            + verdict(reached)
        )
    return missed


def _megabytes(script: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _PEAK + script], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _deciles(console: Console) -> int:
    path = data.numbers()
    file = data.folder() / "numbers.toml"
    file.write_text(
        f'[budget]\nepsilon = 1000000\n[tables.numbers]\nparquet = "{path}"\nunit = "row"\n'
        "[tables.numbers.columns]\nx = { type = 'real', bounds = [0, 200000] }\n",
        "utf-8",
    )
    wanted = ", ".join(f"QUANTILE(x, {q}) AS q{q * 10:.0f}" for q in DECILES)
    sql = f"SELECT {wanted} FROM numbers"  # noqa: S608 - a question is read, not executed
    plain = QUANTILES.format(DECILES, path)
    with so.open(file, ledger="memory", threads=THREADS) as session:
        ours, theirs = best_of(
            3,
            partial(session.ask, sql, epsilon=1, fresh=True),
            partial(duckdb_answer, plain_duckdb(), plain),
        )
    return _line(console, f"deciles of {data.ROWS:,} doubles", ours, theirs, most=0.7)


def _line(console: Console, what: str, ours: float, theirs: float, *, most: float) -> int:
    share = ours / theirs
    console.print(
        f"{what}: {ours:.2f} s, DuckDB {theirs:.2f} s, share {share:.2f}, at most {most:.2f} "
        + verdict(share <= most)
    )
    return int(share > most)


def _small(console: Console) -> int:
    generator = np.random.default_rng(data.ROWS)
    cities = data.cities()[:20]
    frame = pa.table(
        {
            "user": generator.integers(0, data.SMALL // 10, data.SMALL),
            "city": np.array(cities)[generator.integers(0, len(cities), data.SMALL)],
            "amount": generator.integers(0, 500, data.SMALL),
        }
    )
    session = so.table(
        frame, unit="user", bounds={"amount": (0, 500)}, keys={"city": cities}, rows=4,
        name="visits", epsilon=10**6,
    )  # fmt: skip
    missed = 0
    with session:
        for what, asked, most in (
            ("the same question again", [1.0] * 60, MOST_MILLISECONDS),
            ("another price each time", [1 + k / 100 for k in range(60)], None),
        ):
            times = [
                seconds(partial(session.ask, SQL, epsilon=price, fresh=True)) for price in asked
            ]
            middle = 1000 * median(times[10:])
            text = f"a small question on {data.SMALL:,} rows, {what}: {middle:.1f} ms"
            if most is not None:
                missed += middle > most
                text += f", at most {most:.0f} {verdict(middle <= most)}"
            console.print(text)
    return missed
