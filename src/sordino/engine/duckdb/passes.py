# SPDX-License-Identifier: Apache-2.0
"""How a question is carried out on DuckDB: in as many passes over the data as its memory needs.

What is kept for every unit outgrows any memory as rows grow, and DuckDB is slow once it puts that
on disk. A pass computes it for some of the units, and another one for the next. How many passes
there are changes what a question takes and nothing that it returns: docs/proofs/queries.md, theorem
9, says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from sordino.engine.compile.passes import COLLECTED, Passes
from sordino.engine.compile.results import as_arrow
from sordino.engine.compile.statement import Statement
from sordino.plan.plan import Bounded, Crowded, Distinct
from sordino.query.tree import Derive, JoinPublic, JoinUnit, PerUnit, Rows, Where, Window

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_MEMORY = 16 * 10**6  # bytes; with less even few rows may not be answered
MEMORY_OF_THREAD = 30 * 10**6  # bytes that each thread fills before it hands rows on
MOST_PASSES = 256
MORE_PASSES = 4  # times as many, where memory has ended
_FEW = 5_000  # rows that are fetched as tuples
_COUNTED = 32  # bytes of memory for a row whose unit is counted
_PAIRED = 96  # bytes more where groups of units are counted
_KEPT = 128  # bytes more for each step that keeps rows
_FIRST, _NEXT = f"CREATE OR REPLACE TEMP TABLE {COLLECTED} AS", f"INSERT INTO {COLLECTED}"
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SIZE = re.compile(r"(?P<many>[0-9.]+) ?(?P<unit>[A-Za-z]+)")

Connection = duckdb.DuckDBPyConnection


def memory_of(connection: Connection) -> int:
    """Return how many bytes of memory a database may take."""
    ((told,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    found = _SIZE.fullmatch(str(told))
    if found is None or found["unit"] not in _UNITS:
        raise ValueError(f"DuckDB says of its memory what is not understood: {told!r}")
    return int(float(found["many"]) * _UNITS[found["unit"]])


def how_many_passes(bounded: Bounded, rows: int, memory: int) -> int:
    """Return in how many passes a question on so many rows is likely to fit into memory.

    It need not be right: where memory ends all the same there are more of them.
    """
    shares = bounded.shares
    cut = shares.groups is not None or shares.rows_per_group is not None
    pairs = (cut and bool(bounded.keys)) or any(
        isinstance(part, Distinct | Crowded) for part in bounded.parts
    )
    each = _COUNTED + _PAIRED * pairs + _KEPT * _steps_that_keep(bounded.rows)
    room = memory * 4 // 5  # the rest is for reading
    return max(1, min(-(-rows * each // room), MOST_PASSES))


def _steps_that_keep(rows: Rows) -> int:
    match rows:
        case JoinUnit():
            return 1 + _steps_that_keep(rows.rows) + _steps_that_keep(rows.other)
        case PerUnit() | Window():
            return 1 + _steps_that_keep(rows.rows)
        case Where() | Derive() | JoinPublic():
            return _steps_that_keep(rows.rows)
        case _:
            return 0


@dataclass(slots=True)
class InPasses:
    """A question that is carried out in passes. ``done`` of them are over."""

    passes: Passes
    many: int
    done: int = 0

    def __call__(self, connection: Connection) -> pa.Table:
        """Carry out every pass, one after the other, and merge what they gave."""
        each, self.done = self.passes.each, 0
        try:
            for place in range(self.many):
                how = _NEXT if place else _FIRST
                bound = list(each.in_pass(place, self.many).parameters)
                connection.execute(f"{how}\n{each.sql}", bound)
                self.done = place + 1
            return execute(connection, self.passes.merged)
        finally:  # the connection may be kept; an interrupt may leave the table to be replaced
            with suppress(duckdb.Error):
                connection.execute(f"DROP TABLE IF EXISTS {COLLECTED}")

    def overall(self, progress: Callable[[float], None]) -> Callable[[float], None]:
        """Return what is told how much of a pass is done, and tells ``progress`` of all of them."""
        return lambda share: progress(min((self.done + share) / self.many, 1.0))


def execute(connection: Connection, statement: Statement) -> pa.Table:
    """Return the rows of all parts; how they are fetched depends on public things alone."""
    parameters = list(statement.parameters)
    if statement.most is None or statement.most > _FEW:
        return connection.sql(statement.sql, params=parameters).to_arrow_table()
    # A relation is planned twice, once to learn its columns; that costs more than a few tuples.
    rows = connection.execute(statement.sql, parameters).fetchall()
    return as_arrow(rows, statement)
