# SPDX-License-Identifier: Apache-2.0
"""Tables of attached DuckDB files: tables alone, columns that are stored, text byte by byte.

A view or a generated column is computed whenever it is read, by SQL that may fail on a value or mix
the rows of several people, so neither is read. A collation makes texts equal that are not, and
with them groups and people; the type that DuckDB tells does not show it, so it is always taken off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import duckdb

from sordino.engine.bases import Base, check_fit
from sordino.engine.dialect import quoted
from sordino.engine.duckdb_types import held_of
from sordino.engine.select import select
from sordino.errors import CatalogError
from sordino.query.catalog import Table

_PARTS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|\S""")


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
