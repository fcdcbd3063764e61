# SPDX-License-Identifier: Apache-2.0
"""SELECTs on public tables: how many rows have one key, the values of a column, and all rows."""

from __future__ import annotations

from sordino.catalog.model import Catalog, Column, Table
from sordino.engine.compile.dialect import Scope, Term, common, inner, select
from sordino.engine.compile.rows import Tables
from sordino.errors import CatalogError
from sordino.query.tree import JoinPublic
from sordino.query.types import Type


def public_column(catalog: Catalog, table: str, column: str) -> tuple[Table, Column]:
    """Return a column of a public table; raises CatalogError if there is none."""
    declared = catalog.table(table)
    found = declared.column(column) if declared else None
    if declared is None or found is None or not declared.public:
        raise CatalogError(f"{table!r} is no public table with a column {column!r}")
    return declared, found


def public_rows(catalog: Catalog, table: str) -> Table:
    """Return a public table; raises CatalogError if there is none of that name."""
    declared = catalog.table(table)
    if declared is None or not declared.public:
        raise CatalogError(f"{table!r} is no public table")
    return declared


def values_of(tables: Tables, table: Table, column: Column) -> str:
    """Return a SELECT of the distinct values of a public column, sorted, without missing ones."""
    base = tables.base(table, [("v", column.name)])
    return select(["v"], base, where=["v IS NOT NULL"], distinct=True) + " ORDER BY v"


def rows_of(tables: Tables, table: Table) -> str:
    """Return a SELECT of all rows of a public table, its columns as d0, d1, and so on."""
    if not table.public:
        raise ValueError(f"table {table.name!r} is not public")
    wanted = [(f"d{place}", column.name) for place, column in enumerate(table.columns)]
    return select([name for name, _ in wanted], tables.base(table, wanted))


def join_keys(tables: Tables, join: JoinPublic) -> tuple[tuple[str, Type], ...]:
    """Return the columns of the public table that a join compares, and in which types."""
    table = tables.table(join.table)
    return tuple(
        (name, common(scalar.type, tables.column_type(table, name))) for scalar, name in join.on
    )


def most_of(tables: Tables, name: str, keys: tuple[tuple[str, Type], ...]) -> str:
    """Return a SELECT of the largest number of rows of a public table with one key.

    Keys are counted in the type in which a join compares them; in it two of them may be equal.
    """
    table = tables.table(name)
    if not table.public:
        raise ValueError(f"table {table.name!r} is not public")
    names = {column: tables.inner_name(table, column) for column, _ in keys}
    base = tables.base(table, [(inside, column) for column, inside in names.items()])
    scope = Scope(tables.writer, {})
    texts = [
        scope.into(Term(names[column], tables.column_type(table, column)), kind).text
        for column, kind in keys
    ]
    columns = [f"j{place}" for place in range(len(texts))]
    made = [f"{text} AS {column}" for text, column in zip(texts, columns, strict=True)]
    rows = inner(select(made, scope.source(base)))
    there = [f"{column} IS NOT NULL" for column in columns]
    counts = inner(select(["count(*) AS n"], rows, where=there, by=columns))
    return select(["COALESCE(max(n), 0) AS n"], counts)
