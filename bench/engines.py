# SPDX-License-Identifier: Apache-2.0
"""Bounded questions beside what the engine itself is asked without bounds, on PostgreSQL.

Each question is asked in three ways in one run: as sordino asks it, as a plain GROUP BY, and as
somebody would bound it by hand, with the first four rows of each person by ``row_number()``. Ratios
are of the least of a few elapsed times; the server and the client share a machine.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from sordino.catalog import model
from sordino.catalog.model import Catalog, Column, Limits, PostgresTable, Purse
from sordino.engine.opening import open_engine
from sordino.engine.postgres.engine import PostgresEngine
from sordino.plan.plan import Bounded
from sordino.privacy.budget import Budget
from sordino.query.types import Range, Type
from sordino.release.rehearsal import prepare, unpaid

SIZES = (1_000_000,)
ROUNDS = 5
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
    rows = model.Table("rows", source, columns, unit="row", people="rows")
    visits = model.Table("visits", source, columns, unit="person", limits=Limits(rows=4, groups=4))
    purse = Purse(Budget(epsilon=1000), Fraction(0))
    return Catalog((rows, visits), (("people", purse), ("rows", purse)))


def _started() -> Any:
    """Start a server as the tests do; a library may have put another package of that name first."""
    path = Path(__file__).parents[1] / "tests" / "support" / "postgres.py"
    spec = importlib.util.spec_from_file_location("postgres_server", path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Server()


@contextmanager
def server(rows: int) -> Iterator[str]:
    """Start a server as the tests do, with the memory that one of its own has, and fill a table."""
    with _started() as own:
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


def timed(*asked: Callable[[], object]) -> list[float]:
    """Return the least of a few times of each, in seconds; they take turns."""
    seconds: list[list[float]] = [[] for _ in asked]
    for _ in range(ROUNDS):
        for place, one in enumerate(asked):
            begun = time.perf_counter()
            one()
            seconds[place].append(time.perf_counter() - begun)
    return list(map(min, seconds))


BARS = {"row": 1.6, "user": 1.0}  # of what the engine takes for the plain question, at most


@dataclass(frozen=True, slots=True)
class Measured:
    """How long a question took, beside the plain one, and how many rows reached the client."""

    level: str
    question: str
    own: float
    theirs: float
    fetched: int

    @property
    def ratio(self) -> float:
        """How many times as long as the plain question it took."""
        return self.own / self.theirs


def measured(address: str) -> Iterator[Measured]:
    """Go through the questions at each level."""
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
                plain = question.plain.format(rows=source)
                own, theirs = timed(
                    partial(engine.run, bounded, receipt, salt=7),
                    partial(_fetchall, connection, plain),
                )
                yield Measured(level, question.name, own, theirs, fetched)
    engine.close()


def _fetchall(connection: psycopg.Connection[Any], text: str) -> list[Any]:
    return connection.execute(text).fetchall()


def _fetched(engine: PostgresEngine, bounded: Bounded) -> list[Any]:
    statement = engine.statement(bounded, salt=7)
    return engine.fetch(statement.sql, statement.parameters)


def run(console: Console) -> int:
    """Print the ratios, and return how many of them are above what is asked."""
    missed = 0
    for rows in SIZES:
        table = Table(title=f"PostgreSQL, {rows:,} rows: as sordino asks, beside plain SQL")
        for name in ("level", "question", "own s", "plain s", "ratio", "at most", "rows fetched"):
            table.add_column(name, justify="left" if name in ("level", "question") else "right")
        with server(rows) as address:
            for one in measured(address):
                bar = BARS[one.level]
                missed += one.ratio > bar
                table.add_row(
                    one.level, one.question, f"{one.own:.3f}", f"{one.theirs:.3f}",
                    f"{one.ratio:.2f}", f"{bar:g}", str(one.fetched),
                )  # fmt: skip
        console.print(table)
    return missed
