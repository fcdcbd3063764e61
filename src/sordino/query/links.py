# SPDX-License-Identifier: Apache-2.0
"""How tables of a catalog lead to each other: foreign keys, keys of public tables, id spaces."""

from __future__ import annotations

from dataclasses import replace

from sordino.errors import CatalogError
from sordino.query.catalog import Catalog, Column, ForeignKey, Table
from sordino.query.names import about, among, column_of
from sordino.query.types import Type

PEOPLE = "people"  # the id space of tables that name none


def resolved(made: Catalog, table: Table) -> Table:
    """Return a table whose references are spelled as declared, with the id space it leads to."""
    with about(f"table {table.name!r}"):
        columns = tuple(_with_keys(made, column) for column in table.columns)
        if table.parent is None:
            return replace(table, columns=columns)
        root = _root(made, table)
        if table.people not in (PEOPLE, root.people):
            raise CatalogError(
                f"its parent leads to the id space {root.people!r}, not to {table.people!r}; leave "
                "people out"
            )
        parent, key = _parent(made, table)
        foreign = replace(parent_key(table), parent=parent.name, parent_column=key.name)
        return replace(table, columns=columns, parent=foreign, people=root.people)


def _with_keys(made: Catalog, column: Column) -> Column:
    if column.keys_from is None:
        return column
    with about(f"column {column.name!r}"):
        name, key = column.keys_from
        table = made.table(name)
        if table is None or not table.public:
            names = among(table.name for table in made.tables if table.public)
            raise CatalogError(
                f"keys_from must name a public table, not {name!r}; the public tables: {names}"
            )
        found = column_of(table, key, f"keys_from of table {table.name!r}")
        _check_same_type(column, found, "keys_from")
        return replace(column, keys_from=(table.name, found.name))


def _parent(made: Catalog, table: Table) -> tuple[Table, Column]:
    """Return the parent of a table, and the column that its foreign key leads to."""
    key = parent_key(table)
    parent = made.table(key.parent)
    if parent is None or parent.public or parent.each_row:
        names = among(
            other.name
            for other in made.tables
            if not (other.public or other.each_row or other.name == table.name)
        )
        raise CatalogError(
            f"parent must name a private table with a unit column, or with a parent of its own, "
            f"not {key.parent!r}; there are: {names}"
        )
    found = column_of(parent, key.parent_column, f"parent (table {parent.name!r})")
    via = column_of(table, key.column, "via")
    if via.type is Type.REAL:
        raise CatalogError("via must not be a column of type real; make it integer or text")
    _check_same_type(via, found, "parent")
    return parent, found


def parent_key(table: Table) -> ForeignKey:
    """Return the foreign key of a table that has one."""
    if table.parent is None:
        raise CatalogError(f"table {table.name!r} has no parent")
    return table.parent


def _root(made: Catalog, table: Table) -> Table:
    """Return the table with a unit that foreign keys lead to."""
    seen = {table.name}
    while table.parent is not None:
        table, _ = _parent(made, table)
        if table.name in seen:
            raise CatalogError("its parents form a cycle and lead to no unit; break the cycle")
        seen.add(table.name)
    return table


def _check_same_type(one: Column, other: Column, what: str) -> None:
    if one.type is not other.type:
        raise CatalogError(
            f"{what}: {one.name!r} is of type {one.type} and {other.name!r} of type {other.type}; "
            "both must have the same type"
        )


def check_ids(made: Catalog) -> None:
    """Refuse unit columns of one id space that could never be equal."""
    kinds: dict[str, tuple[Type, str]] = {}
    for table in made.tables:
        unit = table.column(table.unit) if table.unit and not table.each_row else None
        if unit is None:
            continue
        kind, name = kinds.setdefault(table.people, (unit.type, table.name))
        if kind is not unit.type:
            raise CatalogError(
                f"tables {name!r} and {table.name!r} are about the same {table.people!r}, but "
                f"their units are of types {kind} and {unit.type}; use one type, or set people"
            )
