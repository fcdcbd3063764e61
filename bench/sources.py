# SPDX-License-Identifier: Apache-2.0
"""What it costs to read sources with care: each way a million visits come in, beside DuckDB's own.

DuckDB reads the same file by the plainest statement that gives the same numbers. Where a source
takes the longer way, because its schema or one of its values asks for it, that is shown as it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import sordino as so
from bench.timing import best_of, verdict
from sordino.session import Session

ROWS, USERS, CITIES = 1_000_000, 100_000, 100
THREADS = 2
ROUNDS = 5
LONG_TEXT = 50_000_000  # characters
MOST_FOR_LONG_TEXT = 2.0  # times as long as without it
MOST_TO_LOAD = 1.5  # of DuckDB's reader of CSV files with one thread
SQL = "SELECT city, COUNT(*) AS n, SUM(amount) AS total FROM visits GROUP BY city"
TYPED = (
    "SELECT TRY_CAST(person AS BIGINT), city, TRY_CAST(amount AS BIGINT) FROM "
    "read_csv('{}', all_varchar = true, header = true, parallel = false)"
)
AMOUNT = 'amount = { type = "integer", bounds = [0, 500] }'
PLAIN = "SELECT city, count(*), sum(TRY_CAST(amount AS BIGINT)) FROM {} GROUP BY city"


@dataclass(frozen=True)
class Way:
    """A way in which the table comes: its catalog entry, and what DuckDB reads."""

    name: str
    entry: str
    plain: str
    kinds: str = AMOUNT


def run(console: Console) -> int:
    """Print the tables; return how many figures fall short."""
    with tempfile.TemporaryDirectory(prefix="sordino-bench-sources-") as name:
        folder = Path(name)
        missed = _ways(console, folder) + _loading(console, folder) + _long_text(console, folder)
    console.print()
    return missed


def _cities() -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    return np.array([f"city {place:03d}" for place in range(CITIES)])


def _visits(seed: int, rows: int = ROWS) -> pa.Table:
    generator = np.random.default_rng(seed)
    return pa.table(
        {
            "person": generator.integers(0, USERS, rows),
            "city": _cities()[generator.integers(0, CITIES, rows)],
            "amount": generator.integers(0, 500, rows),
            "day": (generator.integers(0, 20_000, rows) * 86_400_000).astype("M8[ms]"),
        }
    )


@contextmanager
def _opened(folder: Path, entry: str, kinds: str) -> Iterator[Session]:
    keys = ", ".join(f'"{name}"' for name in _cities())
    file = folder / "sordino.toml"
    file.write_text(
        "[budget]\nepsilon = 1000000\n"
        f'[tables.visits]\n{entry}\nunit = "person"\nlimits = {{ rows = 20 }}\n'
        '[tables.visits.columns]\nperson = "integer"\n'
        f'city = {{ type = "text", keys = [{keys}] }}\n{kinds}\n',
        "utf-8",
    )
    with so.open(file, ledger="memory", threads=THREADS) as session:
        yield session


def _replaced(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def _not_utf8() -> pa.Array:
    offsets = pa.py_buffer(np.array([0, 2], np.int32).tobytes())
    return pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"\xff\xfe"))


def _sources(folder: Path) -> list[Way]:
    """Write the same visits in every way, and say how each is declared and read."""
    visits = _visits(1)
    pq.write_table(visits, folder / "typed.parquet")
    pq.write_table(
        _replaced(visits, "amount", visits["amount"].cast("string")), folder / "text.parquet"
    )
    for place in range(2):
        part = visits.slice(place * (ROWS // 2), ROWS // 2)
        kind = ("int32", "float64")[place]
        pq.write_table(
            _replaced(part, "amount", part["amount"].cast(kind)), folder / f"part-{place}.parquet"
        )
    cities = pa.chunked_array([visits["city"].slice(0, ROWS - 1).combine_chunks(), _not_utf8()])
    pq.write_table(_replaced(visits, "city", cities), folder / "odd.parquet")
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.register("held", visits)
        connection.execute("CREATE TABLE plain AS SELECT * FROM held")
        connection.execute(
            "CREATE TABLE folded (person BIGINT, city VARCHAR COLLATE NOCASE, amount BIGINT, "
            "day TIMESTAMP)"
        )
        connection.execute("INSERT INTO folded SELECT * FROM held")
    pattern, database = f"{folder}/part-*.parquet", folder / "data.duckdb"
    return [
        Way("Parquet", f'parquet = "{folder}/typed.parquet"', f"'{folder}/typed.parquet'"),
        Way("Parquet, numbers as text", f'parquet = "{folder}/text.parquet"',
            f"'{folder}/text.parquet'"),
        Way("Parquet, two files of different types", f'parquet = "{pattern}"', f"'{pattern}'"),
        Way("Parquet, moments in milliseconds", f'parquet = "{folder}/typed.parquet"',
            f"'{folder}/typed.parquet'", f'{AMOUNT}\nday = "timestamp"'),
        Way("Parquet, one text that is not UTF-8", f'parquet = "{folder}/odd.parquet"',
            f"'{folder}/typed.parquet'"),
        Way("DuckDB", f'duckdb = "{database}"\ntable = "plain"', "data.plain"),
        Way("DuckDB, with a collation", f'duckdb = "{database}"\ntable = "folded"', "data.plain"),
    ]  # fmt: skip


def _ways(console: Console, folder: Path) -> int:
    table = Table(title=f"COUNT and SUM by city for users, {ROWS:,} rows as they come: seconds")
    for heading in ("source", "sordino", "DuckDB", "ratio", "beside plain Parquet"):
        table.add_column(heading, justify="left" if heading == "source" else "right")
    ways, first = _sources(folder), None
    for way in ways:
        with _opened(folder, way.entry, way.kinds) as session:
            connection = duckdb.connect(config={"threads": THREADS})
            connection.execute(f"ATTACH '{folder}/data.duckdb' AS data (READ_ONLY)")
            ours, theirs = best_of(
                ROUNDS,
                partial(session.ask, SQL, epsilon=1, fresh=True),
                _reading(connection, PLAIN.format(way.plain)),
            )
            connection.close()
        first = first or ours
        table.add_row(
            way.name, f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.1f}", f"{ours / first:.2f}"
        )
    console.print(table)
    return 0


def _reading(connection: duckdb.DuckDBPyConnection, text: str) -> Callable[[], object]:
    return lambda: connection.sql(text).to_arrow_table()


def _loading(console: Console, folder: Path) -> int:
    """Time a session from opening to its first answer, beside DuckDB's reader of the file."""
    path = folder / "visits.csv"
    pa_csv.write_csv(_visits(1), path)
    typed = TYPED.format(path)

    def ours() -> None:
        with _opened(folder, f'csv = "{path}"', AMOUNT) as session:
            session.ask(SQL, epsilon=1)

    with duckdb.connect(config={"threads": 1}) as connection:
        took, theirs = best_of(3, ours, _reading(connection, typed))
    size = path.stat().st_size / 1e6
    share = took / theirs
    reached = share <= MOST_TO_LOAD
    console.print(
        f"a CSV file of {size:.0f} MB, opened, loaded and asked: {took:.2f} s, DuckDB's reader "
        f"alone {theirs:.2f} s, share {share:.2f}, at most {MOST_TO_LOAD:.2f} " + verdict(reached)
    )
    return int(not reached)


def _long_text(console: Console, folder: Path) -> int:
    """Time a question with and without one person's very long text among its keys."""
    visits = _visits(1)
    works, sessions = [], []
    for name, text in (("short", "x"), ("long", "x" * LONG_TEXT)):
        cities = pa.chunked_array(
            [visits["city"].slice(0, ROWS - 1).cast("large_string").combine_chunks(),
             pa.array([text], pa.large_string())]
        )  # fmt: skip
        path = folder / f"{name}.parquet"
        pq.write_table(_replaced(visits, "city", cities), path)
        opening = _opened(folder, f'parquet = "{path}"', AMOUNT)
        sessions.append(opening)
        works.append(partial(opening.__enter__().ask, SQL, epsilon=1, fresh=True))
    times = best_of(ROUNDS, *works)
    for opening in sessions:
        opening.__exit__(None, None, None)
    ratio = times[1] / times[0]
    reached = ratio <= MOST_FOR_LONG_TEXT
    console.print(
        f"one text of {LONG_TEXT / 1e6:.0f} million letters among {ROWS:,} rows: {ratio:.2f} times "
        f"as long, at most {MOST_FOR_LONG_TEXT:.2f} " + verdict(reached)
    )
    return int(not reached)
