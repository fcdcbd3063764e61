# SPDX-License-Identifier: Apache-2.0
"""Schemas of PostgreSQL databases, for drafts and checks; no row is read but where it is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from sordino.catalog.model import PostgresTable, ServerTable, Table
from sordino.catalog.schemas import Reader, Schema, SourceColumn
from sordino.catalog.servers import check_address
from sordino.engine.compile.dialect import quoted
from sordino.engine.postgres.columns import TYPE_OF
from sordino.engine.postgres.connection import SNAPSHOT, Connection, Server, place_of
from sordino.engine.postgres.tables import Shape, shape_of, source_of
from sordino.errors import CatalogError

# A partition is read through the table that it is a part of.
_TABLES = """SELECT n.nspname::text, c.relname::text
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = ANY($1::text[]::"char"[]) AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, 2"""


def schemas(place: Path | str) -> dict[str, Schema]:
    """Return the schema of every table that the role may read, by its name with that of its schema.

    One that is not read, such as one with row policies, is left out.
    """
    with _server(place) as connection:
        found: dict[str, Schema] = {}
        for name in _names(connection, "r", "p", "m"):
            source = PostgresTable(str(place), name)
            try:
                found[name] = _schema(shape_of(connection, _table(source), source))
            except CatalogError:
                continue
        return found


def views(place: Path | str) -> tuple[str, ...]:
    """Return the views of a database, which are not read, by name."""
    with _server(place) as connection:
        return tuple(_names(connection, "v"))


def column(place: Path | str, table: str, name: str) -> Any:
    """Return the distinct values of a column that the owner declared public, as Arrow."""
    import pyarrow as pa  # pyarrow is loaded where rows are

    source = source_of(PostgresTable(str(place), table))
    text = f"SELECT DISTINCT {quoted(name)} FROM {source}"  # noqa: S608 - every name is quoted
    with _server(place) as connection:
        rows = psycopg.RawCursor(connection).execute(text).fetchall()
    return pa.array([value for (value,) in rows])


def schema(source: ServerTable) -> Schema:
    """Return the columns of a table."""
    if not isinstance(source, PostgresTable):
        raise TypeError("this is no table of PostgreSQL")
    with _server(source.address) as connection:
        return _schema(shape_of(connection, _table(source), source))


READER = Reader(schemas=schemas, views=views, column=column, schema=schema)


def _schema(shape: Shape) -> Schema:
    return tuple(_column(shape, name) for name, *_ in shape.columns)


def _column(shape: Shape, name: str) -> SourceColumn:
    spelled, held, computed = shape.held(name)
    if computed == "v":
        return SourceColumn(name, None, "GENERATED")
    return SourceColumn(name, None if held is None else TYPE_OF[held], spelled)


def _names(connection: Connection, *kinds: str) -> list[str]:
    rows = psycopg.RawCursor(connection).execute(_TABLES, [list(kinds)]).fetchall()
    return [".".join(map(_name, row)) for row in rows]


def _name(text: str) -> str:
    """Return a part of a name, in quotes where it could be read as several."""
    return quoted(text) if any(sign in text for sign in '". \t') else text


def _table(source: PostgresTable) -> Table:
    return Table(source.table, source, ())


@contextmanager
def _server(place: Path | str) -> Iterator[Connection]:
    """Lend a transaction on a server that is left again at once."""
    server = Server(check_address("postgres", str(place)))
    try:
        with server.transaction(SNAPSHOT) as connection:
            yield connection
    except psycopg.Error as error:
        raise CatalogError(
            f"the database {place_of(str(place))} cannot be read: {type(error).__name__}"
        ) from None
    finally:
        server.close()
