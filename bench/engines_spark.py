# SPDX-License-Identifier: Apache-2.0
"""Bounded questions beside what Spark itself is asked without bounds, and how they grow.

Each question is asked in two ways in one run: as sordino asks it, and as a plain GROUP BY (where
each row is a person) or over the first four rows of each person by ``row_number()`` (where people
have several). Ratios are of the least time of a few, and of the least work of the server, which
says more where other programs run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from sordino.catalog.model import Catalog, Column, Limits, Purse, SparkTable, Table
from sordino.engine.spark.connection import Connection
from sordino.engine.spark.engine import SparkEngine
from sordino.privacy.budget import Budget
from sordino.query.types import Range, Type
from sordino.release.rehearsal import prepare, unpaid

ROOT = Path(__file__).parents[1]
SIZES = (1_000_000, 10_000_000)
ROUNDS = 4
JAVA = ("-Xmx2g", "-XX:+UseParallelGC")
WARDS = tuple(f"ward{number}" for number in range(20))
QUESTIONS = {
    "sum by key": (
        "SELECT ward, COUNT(*), SUM(cost) FROM {t} GROUP BY ward",
        "SELECT ward, count(*), sum(cost) FROM {rows} GROUP BY ward",
    ),
    "sum": ("SELECT SUM(age) FROM {t}", "SELECT sum(age) FROM {rows}"),
    "average by key": (
        "SELECT ward, AVG(age) FROM {t} GROUP BY ward",
        "SELECT ward, avg(age) FROM {rows} GROUP BY ward",
    ),
    "median": ("SELECT MEDIAN(age) FROM {t}", "SELECT percentile(age, 0.5) FROM {rows}"),
}
_FIRST = (
    "(SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY visit) AS place "
    "FROM {rows}) WHERE place <= 4)"
)


def catalog(address: str, place: str) -> Catalog:
    """Return the files twice: with each row as a person, and with its people."""
    columns = (
        Column("person", Type.INTEGER),
        Column("ward", Type.TEXT, keys=WARDS),
        Column("cost", Type.REAL, bounds=Range(Fraction(0), Fraction(100))),
        Column("age", Type.INTEGER, bounds=Range(Fraction(0), Fraction(100))),
    )
    source = SparkTable(address, place, "parquet")
    rows = Table("rows", source, columns, unit="row", people="rows")
    visits = Table("visits", source, columns, unit="person", limits=Limits(rows=4, groups=4))
    purse = Purse(Budget(epsilon=1000), Fraction(0))
    return Catalog((rows, visits), (("people", purse), ("rows", purse)))


def fill(connection: Connection, place: str, rows: int) -> None:
    """Write files with four rows for each person."""
    connection.session.range(1, rows + 1, 1, 4).selectExpr(
        "id AS visit",
        f"(id * 7919) % {rows // 4} AS person",
        "concat('ward', (id * 31 + id div 25000) % 20) AS ward",
        "(id * 17) % 1000 / 10.0D AS cost",
        "id % 90 AS age",
    ).write.parquet(place)


class Work:
    """How long something takes, and how long the processors of the server work for it."""

    def __init__(self, process: int) -> None:
        self._process = process

    def spent(self) -> float:
        parts = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def peak(self) -> float:
        """Return the largest memory of the server, in gigabytes."""
        told = Path(f"/proc/{self._process}/status").read_text()
        return int(told.partition("VmHWM:")[2].split()[0]) / 2**20

    def least(self, asked: Callable[[], object]) -> tuple[float, float]:
        """Return the least time and the least work of a few rounds, in seconds."""
        times, works = [], []
        for _ in range(ROUNDS):
            begun, worked = time.perf_counter(), self.spent()
            asked()
            times.append(time.perf_counter() - begun)
            works.append(self.spent() - worked)
        return min(times), min(works)


@contextmanager
def server() -> Iterator[tuple[str, Path, Work]]:
    """Start a server as the tests do, with the compiler that one of its own has."""
    # A library has a package of the name ``tests``, too, so the module is found by its file.
    found = spec_from_file_location("spark_server", ROOT / "tests" / "support" / "spark.py")
    assert found is not None
    assert found.loader is not None
    support = module_from_spec(found)
    found.loader.exec_module(support)
    with support.own_server(java=JAVA) as own:
        yield own.address, own.folder, Work(int((own.folder / "pid").read_text()))


def measured(address: str, folder: Path, work: Work, rows: int) -> Iterator[str]:
    """Yield a line for each question at each level."""
    place = str(folder / f"visits{rows}")
    connection = Connection(address)
    fill(connection, place, rows)
    connection.view("visits", connection.session.read.parquet(place))
    engine = SparkEngine(catalog(address, place), address)
    for level, table, source in (("row", "rows", "visits"), ("user", "visits", _FIRST)):
        for name, (sql, plain) in QUESTIONS.items():
            prepared = prepare(engine, sql.format(t=table), epsilon=1)
            bounded, receipt = prepared.plan.bounded, unpaid(prepared)
            engine.prepare(bounded)
            other = plain.format(rows=source.format(rows="visits"))
            statement = engine.statement(bounded, salt=7)
            fetched = len(engine.fetch(statement.sql, statement.parameters))
            theirs, their_work = work.least(lambda text=other: connection.rows(text))  # type: ignore[misc]
            own, own_work = work.least(
                lambda b=bounded, r=receipt: engine.run(b, r, salt=7)  # type: ignore[misc]
            )
            yield (
                f"{rows:>11,} {level:<5}{name:<15} own {own:7.2f} s, work {own_work:7.2f} s   "
                f"{'plain' if level == 'row' else 'first 4'} {theirs:7.2f} s, work "
                f"{their_work:7.2f} s   ratio {own / theirs:5.2f}, of work "
                f"{own_work / their_work:5.2f}   rows fetched {fetched}   {work.peak():.1f} GB"
            )
    engine.close()
    connection.close()


def main(sizes: Any = SIZES) -> None:
    with server() as (address, folder, work):
        for rows in sizes:
            for line in measured(address, folder, work, rows):
                print(line, flush=True)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or SIZES)
