# SPDX-License-Identifier: Apache-2.0
"""DuckDB files: their schemas, and how declared tables of attached ones are read.

Tables alone are read, columns that are stored, and text byte by byte. A view or a generated column
is computed whenever it is read, by SQL that may fail on a value or mix the rows of several people.
A collation makes texts equal that are not, and with them groups and people; the type that DuckDB
tells does not show it, so it is always taken off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from sordino.catalog.model import Table
from sordino.catalog.schemas import Schema, SourceColumn, arrow_schema
from sordino.engine.compile.dialect import quoted, select
from sordino.engine.duckdb.columns import Base, check_fit, held_of
from sordino.engine.forks import WORK
from sordino.errors import CatalogError

CLOSED: dict[str, Any] = {  # what every database of ours is opened with
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_PARTS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|\S""")
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
            name: _without_types(
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


def _without_types(schema: Schema, computed: frozenset[str]) -> Schema:
    return tuple(
        SourceColumn(found.name, None, "GENERATED") if found.name in computed else found
        for found in schema
    )


def column(path: Path, table: str, name: str) -> Any:
    """Return the distinct values of a column that the owner declared public, as Arrow."""
    with _opened(path) as connection:
        return _selected(connection, f"DISTINCT {quoted(name)}", table).column(0)


@contextmanager
def _opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file for reading, without a way to any other file."""
    if not path.exists():
        raise CatalogError(f"there is no file {str(path)!r}")
    WORK.check_whole()
    with WORK.passing():
        try:
            connection = duckdb.connect(str(path), read_only=True, config=CLOSED)
        except duckdb.Error as error:
            raise unopened(path, error) from None
        try:
            connection.execute("SET enable_external_access = false")
            yield connection
        finally:
            connection.close()


def _selected(connection: duckdb.DuckDBPyConnection, what: str, table: str, rest: str = "") -> Any:
    text = f"SELECT {what} FROM {quoted(table)} {rest}"  # noqa: S608 - every name is quoted
    return connection.sql(text).to_arrow_table()


def attached_door(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    name: str,
    place: tuple[str, str],
    ids: frozenset[str],
) -> tuple[str, Base]:
    """Return a SELECT of the declared columns of a table in an attached database, and its types.

    ``place`` is the name of the database and that of the table.
    """
    database, inside = place
    sql, names = _stored(connection, table, database, inside)
    computed = set(generated(sql))
    held: dict[str, str] = {}
    chosen = []
    source = f"{quoted(database)}.main.{quoted(inside)}"
    for column in table.columns:
        actual = names.get(column.name.lower())
        if actual is None:
            raise CatalogError(
                f"table {table.name!r}: the table {inside!r} has no column {column.name!r}; it has "
                f"{', '.join(names.values())}"
            )
        if actual in computed:
            raise CatalogError(
                f"column {column.name!r} of table {table.name!r} is a generated column, which is "
                "computed when it is read and may fail; store it, by CREATE TABLE ... AS SELECT"
            )
        (kind,) = connection.sql(select([quoted(actual)], source)).types
        held[column.name] = held_of(kind)
        check_fit(table.name, column.name, column.type, held[column.name], is_id=column.name in ids)
        text = quoted(actual)
        if held[column.name] == "VARCHAR":
            text = f"{text} COLLATE C"
        chosen.append(f"{text} AS {quoted(column.name)}")
    return select(chosen, source), Base(name, held, ids)


def _stored(
    connection: duckdb.DuckDBPyConnection, table: Table, database: str, inside: str
) -> tuple[str, dict[str, str]]:
    """Return how a table was created, and its columns by their names in lower case."""
    where = ["database_name = $1", "schema_name = 'main'", "NOT internal"]
    found = connection.execute(
        select(["table_name", "sql"], "duckdb_tables()", where=where), [database]
    ).fetchall()
    for actual, sql in found:
        if actual.lower() == inside.lower():
            text = select(["column_name"], "duckdb_columns()", where=[*where, "table_name = $2"])
            rows = connection.execute(text, [database, actual]).fetchall()
            return sql, {column.lower(): column for (column,) in rows}
    views = connection.execute(
        select(["view_name"], "duckdb_views()", where=where), [database]
    ).fetchall()
    if any(view.lower() == inside.lower() for (view,) in views):
        raise CatalogError(
            f"table {table.name!r}: {inside!r} is a view, which may mix rows of several people or "
            "fail on a value; store its rows, by CREATE TABLE ... AS, and declare that table"
        )
    raise CatalogError(
        f"table {table.name!r}: its file has no table {inside!r}; there are "
        f"{', '.join(sorted(actual for actual, _ in found)) or 'none'}"
    )


def generated(sql: str) -> Iterator[str]:
    """Return the generated columns in the CREATE TABLE that DuckDB writes for a table.

    >>> list(generated('CREATE TABLE t(a DATE, "b c" DATE GENERATED ALWAYS AS((a + 1)));'))
    ['b c']
    """
    depth, column = 0, ""
    words: list[str] = []
    for part in _PARTS.findall(sql):
        depth -= part == ")"
        if depth == 1 and part == ",":
            column, words = "", []
        elif depth == 1:
            column = column or part
            words = [*words, part][-3:]
            if words == ["GENERATED", "ALWAYS", "AS"]:
                yield column[1:-1].replace('""', '"') if column[0] == '"' else column
        depth += part == "("
