# SPDX-License-Identifier: Apache-2.0
"""Frames stored in a database of a real PostgreSQL server, and engines that read them there."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from sordino.catalog.model import Catalog, Frame, PostgresTable
from sordino.engine.postgres.engine import PostgresEngine
from tests.support.postgres import shared

# The type of each Arrow type, and how a value comes out of what a number or a text is carried as.
# PostgreSQL has fewer days and moments than Arrow; those beyond are its infinite ones.
DAY = (
    "CASE WHEN {0} < -2440588 THEN '-infinity' WHEN {0} > 2145031948 THEN 'infinity' "
    "ELSE date '1970-01-01' + CAST({0} AS integer) END"
)
MOMENT = (
    "CASE WHEN {0} < -210866803200000000 THEN '-infinity' "
    "WHEN {0} > 9224318015999999999 THEN 'infinity' "
    "ELSE timestamp '1970-01-01' + CAST({0} / 86400000000 AS integer) * interval '1 day' "
    "+ {0} % 86400000000 * interval '1 microsecond' END"
)
_TYPES: dict[Any, tuple[str, str, str]] = {
    pa.int64(): ("bigint", "bigint", "{0}"),
    pa.int32(): ("integer", "bigint", "{0}"),
    pa.int16(): ("smallint", "bigint", "{0}"),
    pa.float64(): ("float8", "float8", "{0}"),
    pa.float32(): ("real", "float8", "{0}"),
    pa.string(): ("text", "text", "{0}"),
    pa.large_string(): ("text", "text", "{0}"),
    pa.bool_(): ("boolean", "boolean", "{0}"),
    pa.date32(): ("date", "bigint", DAY),
    pa.timestamp("us"): ("timestamp", "bigint", MOMENT),
}
_places = count()


@cache
def owner(address: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a connection that may write, and stays open as long as the tests go on."""
    connection = psycopg.connect(address, autocommit=True)
    atexit.register(connection.close)
    return connection


def make(address: str, name: str, held: pa.Table) -> None:
    """Make a table with the columns of a frame, in the schema and of the name that are given."""
    schema, table = name.split(".", 1)
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(_TYPES[field.type][0]))
        for field in held.schema
    )
    connection = owner(address)
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
    whole = sql.Identifier(schema, table)
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(whole))
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(whole, columns))
    fill(address, name, held)


def fill(address: str, name: str, held: pa.Table) -> None:
    """Put the rows of a frame in the place of those of a table."""
    whole = sql.Identifier(*name.split(".", 1))
    names = [f"c{place}" for place in range(held.num_columns)]
    carried = sql.SQL(", ").join(
        sql.SQL(f"{column} {_TYPES[kind][1]}")
        for column, kind in zip(names, held.schema.types, strict=True)
    )
    turned = ", ".join(
        _TYPES[kind][2].format(column)
        for column, kind in zip(names, held.schema.types, strict=True)
    )
    columns = [_plain(column) for column in held.columns]
    connection = owner(address)
    with connection.transaction():
        connection.execute(sql.SQL("TRUNCATE {}").format(whole))
        if not held.num_rows:
            return
        connection.execute(sql.SQL("CREATE TEMP TABLE carried ({}) ON COMMIT DROP").format(carried))
        with connection.cursor().copy("COPY carried FROM STDIN") as copy:
            for row in zip(*columns, strict=True):
                copy.write_row(row)
        rows = f"SELECT {turned} FROM carried"  # noqa: S608 - our own names
        connection.execute(sql.SQL("INSERT INTO {} ").format(whole) + sql.SQL(rows))


def _plain(column: Any) -> list[Any]:
    """Return values as they are carried; no text of PostgreSQL has NUL."""
    if pa.types.is_date(column.type):
        return list(column.cast(pa.int32()).to_pylist())
    if pa.types.is_timestamp(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.replace_substring(column, "\0", "")
    return list(column.to_pylist())


class Stored(PostgresEngine):
    """A PostgreSQL engine on the frames of a catalog, whose rows can be exchanged."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        threads: int | None = None,
        address: str | None = None,
        types: Mapping[str, str] | None = None,
    ) -> None:
        del threads, types
        address = address or database()
        schema = "held"
        tables = []
        owner(address).execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        for place, table in enumerate(catalog.tables):
            name = f"{schema}.t{place}"
            if not isinstance(table.source, Frame):
                raise TypeError("only frames are stored")
            make(address, name, table.source.table)
            tables.append(replace(table, source=PostgresTable(address, name)))
        super().__init__(replace(catalog, tables=tuple(tables)), address)

    def swap(self, table: str, frame: pa.Table) -> None:
        """Put other rows in the place of a table."""
        declared = self.catalog.table(table)
        assert declared is not None
        assert isinstance(declared.source, PostgresTable)
        fill(self.address, declared.source.table, frame)


def stored(place: int, catalog: Catalog) -> Stored:
    """Return an engine on a catalog of frames, in a database with a number of its own.

    Statements name no database, so that those on several of them are alike.
    """
    return Stored(catalog, address=numbered(place))


@cache
def numbered(place: int) -> str:
    """Return the address of a database that is made once for each number."""
    del place
    return shared().database()


def database() -> str:
    """Return the address of a database that nobody else uses; there are only so many."""
    return numbered(100 + next(_places) % 48)
