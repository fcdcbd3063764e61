# SPDX-License-Identifier: Apache-2.0
"""Schemas of tables that Spark reads, for drafts and checks, and the values of public columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sordino.catalog.model import ServerTable, SparkTable
from sordino.catalog.schemas import Reader, Schema, SourceColumn
from sordino.catalog.servers import check_address, names_in
from sordino.engine.spark.columns import type_of
from sordino.engine.spark.connection import Connection
from sordino.engine.spark.sources import quoted, schema_of, unread
from sordino.errors import CatalogError


def schemas(place: Path | str) -> dict[str, Schema]:
    """Return the schema of every table of the server's own catalog, by its name with its schema."""
    with _server(place) as connection:
        seen = set(_views(connection))
        names = [name for name in _names(connection, "SHOW TABLES") if name not in seen]
        return {name: _schema(connection, SparkTable(str(place), name)) for name in names}


def views(place: Path | str) -> tuple[str, ...]:
    """Return the views of the server's own catalog, which are not read, by name."""
    with _server(place) as connection:
        return tuple(_views(connection))


def column(place: Path | str, table: str, name: str) -> Any:
    """Return the distinct values of a column that the owner declared public, as Arrow."""
    source = ".".join(map(quoted, names_in(table)))
    text = f"SELECT DISTINCT {quoted(name)} FROM {source}"  # noqa: S608 - every name is quoted
    with _server(place) as connection:
        return connection.rows(text).column(0)


def schema(source: ServerTable) -> Schema:
    """Return the columns of a table, or of the files at a path."""
    if not isinstance(source, SparkTable):
        raise TypeError("this is no table that Spark reads")
    with _server(source.address) as connection:
        return _schema(connection, source)


READER = Reader(schemas=schemas, views=views, column=column, schema=schema)


def _schema(connection: Connection, source: SparkTable) -> Schema:
    try:
        columns = schema_of(connection, source)
    except Exception as error:
        raise CatalogError(f"{source.name!r}: {unread(error)}") from None
    return tuple(SourceColumn(name, type_of(held), held) for name, held in columns)


def _views(connection: Connection) -> list[str]:
    return _names(connection, "SHOW VIEWS", name="viewName")


def _names(connection: Connection, what: str, *, name: str = "tableName") -> list[str]:
    found = []
    for row in connection.rows("SHOW DATABASES").to_pylist():
        (schema,) = row.values()
        held = connection.rows(f"{what} IN {quoted(schema)}").to_pylist()
        names = (one[name] for one in held if not one["isTemporary"])
        found += [".".join(map(_spelled, (schema, one))) for one in names]
    return found


def _spelled(name: str) -> str:
    """Return a part of a name as a catalog has it: in quotes if it would be read as two."""
    if "." in name or '"' in name or name != name.strip():
        return '"' + name.replace('"', '""') + '"'
    return name


@contextmanager
def _server(place: Path | str) -> Iterator[Connection]:
    connection = Connection(check_address("spark", str(place)))
    try:
        yield connection
    finally:
        connection.close()
