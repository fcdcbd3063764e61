# SPDX-License-Identifier: Apache-2.0
"""How many rows of a public table have one key: what a join makes of one row at most."""

from __future__ import annotations

from sordino.engine.compile_tables import Tables
from sordino.engine.scalars import Scope, Term, common
from sordino.engine.select import inner, select
from sordino.query.tree import JoinPublic
from sordino.query.types import Type


def join_keys(tables: Tables, join: JoinPublic) -> tuple[tuple[str, Type], ...]:
    """Return the columns of the public table that a join compares, and in which types."""
    table = tables.table(join.table)
    return tuple(
        (name, common(scalar.type, tables.column_type(table, name))) for scalar, name in join.on
    )


def most_matches(tables: Tables, name: str, keys: tuple[tuple[str, Type], ...]) -> str:
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
