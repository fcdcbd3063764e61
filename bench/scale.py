# SPDX-License-Identifier: Apache-2.0
"""Questions with bounded people on a million to a hundred million rows, in 2 GB of memory.

Ten rows of each person lie in any order. What is compared is CPU time, of all threads together, for
each million rows: it says how a question grows where other programs are busy as well. Every
question is asked in a process of its own, whose peak of memory is that of the question.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import duckdb
from rich.console import Console
from rich.table import Table

import sordino as so
from bench.timing import verdict

SIZES = (10**6, 10**7, 10**8)
EACH = 10  # rows of a person
KEYS = 1_000
LIMIT = "2GB"
THREADS = 2
MOST_GROWTH = 1.5  # of the time for a row, from the fewest rows to the most
MOST_MEMORY = 2_000  # MB, of the engine
ROUNDS = {10**6: 3, 10**7: 2, 10**8: 1}
QUESTIONS = {
    "sum by key": ("SELECT city, SUM(paid) AS s, COUNT(*) AS n FROM visits GROUP BY city", ""),
    "sum by key, 4 keys of a person": (
        "SELECT city, SUM(paid) AS s, COUNT(*) AS n FROM visits GROUP BY city",
        ", groups = 4",
    ),
    "people by key": ("SELECT city, COUNT(DISTINCT person) AS n FROM visits GROUP BY city", ""),
    "sum": ("SELECT SUM(paid) AS s, COUNT(*) AS n FROM visits", ""),
    "median by key": ("SELECT ward, MEDIAN(paid) AS m FROM visits GROUP BY ward", ""),
}
_VISITS = """
COPY (
    SELECT ((hash(2 * i) >> 1) % {people})::BIGINT * 7 AS person,
        'city ' || lpad((sqrt((hash(2 * i + 1) >> 1) % {square})::INT % {keys})::VARCHAR, 4, '0')
            AS city,
        ((hash(i + 12345678901) >> 3) % 501)::BIGINT AS paid,
        ((hash(i + 12345678901) >> 13) % 10)::BIGINT AS ward
    FROM (SELECT range AS i FROM range({rows}))
) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 122880)
"""


def run(console: Console) -> int:
    """Print the table; return how many figures fall short."""
    table = Table(title=f"Growth with rows, {LIMIT} of memory: CPU seconds for a million rows")
    table.add_column("question")
    headings = (f"{rows:,}" for rows in SIZES)
    for heading in (*headings, "growth", "at most", "peak, MB", "at most", ""):
        table.add_column(heading, justify="right")
    missed = 0
    with TemporaryDirectory(prefix="sordino-scale-") as folder:
        made = {rows: visits(Path(folder), rows) for rows in SIZES}
        for what in QUESTIONS:
            took = {rows: [_asked(path, what) for _ in range(ROUNDS[rows])]
                    for rows, path in made.items()}  # fmt: skip
            each = [10**6 * min(busy for busy, _ in found) / rows for rows, found in took.items()]
            peak = max(peak for found in took.values() for _, peak in found)
            growth = each[-1] / each[0]
            reached = growth <= MOST_GROWTH and peak <= MOST_MEMORY
            missed += not reached
            table.add_row(
                what, *(f"{seconds:.2f}" for seconds in each), f"{growth:.2f}", f"{MOST_GROWTH}",
                f"{peak:,.0f}", f"{MOST_MEMORY:,}", verdict(reached),
            )  # fmt: skip
    console.print(table)
    return missed


def visits(folder: Path, rows: int) -> Path:
    """Write so many visits; return where they are."""
    path = folder / f"{rows}.parquet"
    with duckdb.connect(config={"threads": THREADS, "memory_limit": LIMIT}) as connection:
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(
            _VISITS.format(people=rows // EACH, square=KEYS**2, keys=KEYS, rows=rows, path=path)
        )
    return path


def _asked(path: Path, what: str) -> tuple[float, float]:
    """Return the CPU seconds of a question in a process of its own, and the megabytes it took."""
    command = [sys.executable, "-m", "bench.scale", str(path), what]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    busy, peak = json.loads(done.stdout)
    return float(busy), float(peak)


def _work(path: Path, what: str) -> None:
    sql, limits = QUESTIONS[what]
    keys = ", ".join(f'"city {place:04d}"' for place in range(KEYS))
    catalog = path.with_suffix(".toml")
    catalog.write_text(
        "[budget]\nepsilon = 1000\ndelta = 0.1\n"
        f'[tables.visits]\nparquet = "{path}"\nunit = "person"\nlimits = {{ rows = 4{limits} }}\n'
        '[tables.visits.columns]\nperson = "integer"\n'
        f'city = {{ type = "text", keys = [{keys}] }}\n'
        f'ward = {{ type = "integer", keys = {list(range(10))} }}\n'
        'paid = { type = "integer", bounds = [0, 500] }\n',
        "utf-8",
    )
    with so.open(catalog, ledger="memory", threads=THREADS, memory_limit=LIMIT) as session:
        session.explain(sql, epsilon=1)  # what is loaded once is no part of a question
        before, begun = _memory("VmRSS"), process_time()
        session.ask(sql, epsilon=1)
        print(json.dumps([process_time() - begun, _memory("VmHWM") - before]))


def _memory(name: str) -> float:
    """Return a figure of this process alone, in megabytes."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1_024 / 10**6


if __name__ == "__main__":
    _work(Path(sys.argv[1]), sys.argv[2])
