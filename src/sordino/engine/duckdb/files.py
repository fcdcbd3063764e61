# SPDX-License-Identifier: Apache-2.0
"""DuckDB files as the owner sees them before there is a catalog: schemas, and declared columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from sordino.catalog.schemas import Found, Reader, Schema, arrow_schema
from sordino.engine.duckdb.forks import WORK, check_whole
from sordino.engine.duckdb.sources import generated
from sordino.errors import CatalogError

_LOCK = re.compile(r"Conflicting lock is held in (.+?) \(PID (\d+)\)")


def unopened(path: Path, error: duckdb.Error) -> CatalogError:
    """Return what is said of a DuckDB file that cannot be opened.

    >>> said = "IO Error: Conflicting lock is held in /usr/bin/duckdb (PID 7). See also https://..."
    >>> print(unopened(Path("h.duckdb"), duckdb.IOException(said)))
    'h.duckdb' is open in another program (duckdb, process 7); close it there, or name a copy of it
    """
    said, where = str(error), repr(str(path))
    if held := _LOCK.search(said):
        program, process = Path(held[1]).name, held[2]
        return CatalogError(
            f"{where} is open in another program ({program}, process {process}); close it there, "
            "or name a copy of it"
        )
    if "Could not set lock" in said:
        return CatalogError(
            f"{where} is open in another program; close it there, or name a copy of it"
        )
    if "Permission denied" in said:
        return CatalogError(
            f"{where} cannot be read: permission denied; let whoever runs this read it"
        )
    if "version number" in said:
        return CatalogError(
            f"{where} was written by another version of DuckDB than {duckdb.__version__}, which is "
            "used here; write its tables as Parquet, or the file anew with that version"
        )
    return CatalogError(f"{where} is not a DuckDB file, or it is damaged; write it anew")


def schemas(path: Path) -> dict[str, Schema]:
    """Return the schema of every table of a DuckDB file, by name; no row is read.

    A generated column has no type here, because it is never read.
    """
    with _opened(path) as connection:
        tables = connection.execute(
            "SELECT table_name, sql FROM duckdb_tables() "
            "WHERE schema_name = 'main' AND NOT internal ORDER BY table_name"
        ).fetchall()
        return {
            name: _stored(
                arrow_schema(_selected(connection, "*", name, "LIMIT 0").schema),
                frozenset(generated(sql)),
            )
            for name, sql in tables
        }


def views(path: Path) -> tuple[str, ...]:
    """Return the views of a DuckDB file by name."""
    with _opened(path) as connection:
        names = connection.execute(
            "SELECT view_name FROM duckdb_views() "
            "WHERE schema_name = 'main' AND NOT internal ORDER BY view_name"
        ).fetchall()
        return tuple(name for (name,) in names)


def _stored(schema: Schema, computed: frozenset[str]) -> Schema:
    return tuple(
        Found(found.name, None, "GENERATED") if found.name in computed else found
        for found in schema
    )


def column(path: Path, table: str, name: str) -> Any:
    """Return the distinct values of a column that the owner declared public, as Arrow."""
    with _opened(path) as connection:
        return _selected(connection, f"DISTINCT {_quoted(name)}", table).column(0)


READER = Reader(schemas=schemas, views=views, column=column)


@contextmanager
def _opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file for reading, without a way to any other file."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if not path.exists():
        raise CatalogError(f"there is no file {str(path)!r}")
    check_whole()
    with WORK.passing():
        try:
            connection = duckdb.connect(str(path), read_only=True, config=settings)
        except duckdb.Error as error:
            raise unopened(path, error) from None
        try:
            connection.execute("SET enable_external_access = false")
            yield connection
        finally:
            connection.close()


def _selected(connection: duckdb.DuckDBPyConnection, what: str, table: str, rest: str = "") -> Any:
    text = f"SELECT {what} FROM {_quoted(table)} {rest}"  # noqa: S608 - every name is quoted
    return connection.sql(text).to_arrow_table()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
