# SPDX-License-Identifier: Apache-2.0
"""Bounded questions beside what the engine itself is asked without bounds, on PostgreSQL.

Each question is asked in three ways in one run: as sordino asks it, as a plain GROUP BY, and as
somebody would bound it by hand, with the first four rows of each person by ``row_number()``. Ratios
are of the least of a few elapsed times; the server and the client share a machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from sordino.catalog.model import Catalog, Column, Limits, PostgresTable, Purse, Table
from sordino.engine.opening import open_engine
from sordino.engine.postgres.engine import PostgresEngine
from sordino.privacy.budget import Budget
from sordino.query.types import Range, Type
from sordino.release.rehearsal import prepare, unpaid

SIZES = (1_000_000,)
ROUNDS = 3
WARDS = tuple(f"ward{number}" for number in range(20))
_MADE = """CREATE TABLE visits AS SELECT n AS visit, (n * 7919) % ({rows} / 4) AS person,
  'ward' || (n * 31 + n / 25000) % 20 AS ward, (n * 17) % 1000 / 10.0::float8 AS cost,
  (n % 90)::integer AS age
FROM generate_series(1::bigint, {rows}) AS n"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the plain SQL that has the same columns without a bound."""

    name: str
    sql: str
    plain: str


QUESTIONS = (
    Question("count", "SELECT COUNT(*) FROM {t}", "SELECT count(*) FROM {rows}"),
    Question("sum", "SELECT SUM(cost) FROM {t}", "SELECT sum(cost) FROM {rows}"),
    Question(
        "sum by key",
        "SELECT ward, COUNT(*), SUM(cost) FROM {t} GROUP BY ward",
        "SELECT ward, count(*), sum(cost) FROM {rows} GROUP BY ward",
    ),
    Question(
        "average by key",
        "SELECT ward, AVG(age) FROM {t} GROUP BY ward",
        "SELECT ward, avg(age) FROM {rows} GROUP BY ward",
    ),
    Question(
        "median",
        "SELECT MEDIAN(age) FROM {t}",
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY age) FROM {rows}",
    ),
)
_FIRST = """(SELECT * FROM (SELECT *, row_number() OVER
(PARTITION BY person ORDER BY visit) AS place FROM visits) AS ranked WHERE place <= 4) AS kept"""


def catalog(address: str) -> Catalog:
    """Return the table twice: with each row as a person, and with its people."""
    columns = (
        Column("person", Type.INTEGER),
        Column("ward", Type.TEXT, keys=WARDS),
        Column("cost", Type.REAL, bounds=Range(Fraction(0), Fraction(100))),
        Column("age", Type.INTEGER, bounds=Range(Fraction(0), Fraction(100))),
    )
    source = PostgresTable(address, "public.visits", "1")
    rows = Table("rows", source, columns, unit="row", people="rows")
    visits = Table("visits", source, columns, unit="person", limits=Limits(rows=4, groups=4))
    purse = Purse(Budget(epsilon=1000), Fraction(0))
    return Catalog((rows, visits), (("people", purse), ("rows", purse)))


@contextmanager
def server(rows: int) -> Iterator[str]:
    """Start a server as the tests do, with the memory that one of its own has, and fill a table."""
    from tests.support import postgres  # as the tests start it

    with postgres.Server() as own:
        settings = {"shared_buffers": "512MB", "work_mem": "256MB", "max_parallel_workers": "2"}
        with psycopg.connect(own.address, autocommit=True) as connection:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        own.stop_at_once()
        own.start()
        with psycopg.connect(own.address, autocommit=True) as connection:
            connection.execute(_MADE.format(rows=rows))
            connection.execute("VACUUM ANALYZE visits")
        yield own.address


def timed(asked: Callable[[], object]) -> float:
    """Return the least of a few times, in seconds."""
    seconds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        asked()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def ratios(address: str, rows: int) -> Iterator[str]:
    """Yield a line for each question at each level."""
    engine = open_engine(catalog(address))
    assert isinstance(engine, PostgresEngine)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET jit = off")
        for level, table, source in (("row", "rows", "visits"), ("user", "visits", _FIRST)):
            for question in QUESTIONS:
                prepared = prepare(engine, question.sql.format(t=table), epsilon=1)
                bounded, receipt = prepared.plan.bounded, unpaid(prepared)
                engine.prepare(bounded)
                fetched = len(_fetched(engine, bounded))
                own = timed(partial(engine.run, bounded, receipt, salt=7))
                plain = question.plain.format(rows=source)
                theirs = timed(partial(_fetchall, connection, plain))
                yield (
                    f"{rows:>10,} {level:<5} {question.name:<16} own {own:7.3f} s  "
                    f"{'plain' if level == 'row' else 'row_number'} {theirs:7.3f} s  "
                    f"ratio {own / theirs:5.2f}  rows fetched {fetched}"
                )
    engine.close()


def _fetchall(connection: psycopg.Connection[Any], text: str) -> list[Any]:
    return connection.execute(text).fetchall()


def _fetched(engine: PostgresEngine, bounded: Any) -> list[Any]:
    statement = engine.statement(bounded, salt=7)
    return engine.fetch(statement.sql, statement.parameters)


def main() -> None:
    for rows in SIZES:
        with server(rows) as address:
            for line in ratios(address, rows):
                print(line, flush=True)


if __name__ == "__main__":
    main()
