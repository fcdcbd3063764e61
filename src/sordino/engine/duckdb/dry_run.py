# SPDX-License-Identifier: Apache-2.0
"""A dry run of a statement before it is charged: on tables of the same columns with made-up rows.

A database has defects of its own, and what it cannot plan it cannot answer for any data. The tables
here are made from types alone, so whether a dry run succeeds depends on public things alone. They
are in a database of their own: one in which DuckDB has failed badly answers nothing any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

import duckdb

from sordino.engine.compile.dialect import literal, quoted
from sordino.engine.compile.text import select
from sordino.engine.duckdb.attached import CLOSED
from sordino.engine.duckdb.forks import WORK, check_whole, keep_alive

_WORN = 4_000  # statements, after which the database is opened anew, for DuckDB keeps some of each
_MADE_UP = ("1", "2000-01-01")  # one of them is a value of nearly every type


class DryRun:
    """Tables with the columns of the sources, in a database that is opened when it is needed."""

    def __init__(self, columns: Mapping[str, Mapping[str, str]]) -> None:
        self._columns = columns  # the types of columns by table
        self._database: duckdb.DuckDBPyConnection | None = None
        self._served = 0
        self._lock = Lock()

    def again(self) -> DryRun:
        """Return another one for the same tables, for a process that was forked."""
        if self._database is not None:
            keep_alive(self._database)
        return DryRun(self._columns)

    def run(self, carry_out: Callable[[duckdb.DuckDBPyConnection], object]) -> None:
        """Carry something out; whatever it raises is raised here."""
        check_whole()
        with WORK.passing(), self._lock:
            database = self._database or self._open()
            self._database = None  # one that fails is not used again
            carry_out(database)
            self._served += 1
            if self._served % _WORN:
                self._database = database

    def _open(self) -> duckdb.DuckDBPyConnection:
        database = duckdb.connect(config=CLOSED | {"threads": 1})
        database.execute("SET enable_external_access = false")
        for name, types in self._columns.items():
            columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in types.items())
            database.execute(f"CREATE TABLE {name} ({columns})")
            row = ", ".join(map(_made_up, types.values()))
            database.execute(f"INSERT INTO {name} SELECT {row}")
        return database


def _made_up(kind: str) -> str:
    values = ", ".join(f"TRY_CAST({literal(text)} AS {kind})" for text in _MADE_UP)
    return f"COALESCE({values})"


def columns_of(
    connection: duckdb.DuckDBPyConnection, names: list[str]
) -> dict[str, dict[str, str]]:
    """Return the types of the columns of tables that a connection has; no row is read."""
    columns: dict[str, dict[str, str]] = {}
    for name in names:
        relation = connection.sql(select(["*"], name))
        columns[name] = dict(zip(relation.columns, map(str, relation.types), strict=True))
    return columns
