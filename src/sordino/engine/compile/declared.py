# SPDX-License-Identifier: Apache-2.0
"""How a table is declared, as a text that stands in the version of its rows for ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sordino.catalog.model import Catalog, CsvFile, DuckdbTable, PostgresTable, SparkTable
from sordino.errors import CatalogError

# Options of CSV files in the order in which a version tells them.
_CSV_OPTIONS = (
    "separator", "encoding", "quote", "decimal", "date_format", "timestamp_format", "nulls",
    "malformed",
)  # fmt: skip


def declared_text(catalog: Catalog, name: str) -> str:
    """Say how the rows of a table are read and whose they are.

    docs/identity.md describes the text. Its words stay as they are, whatever classes are called.
    """
    table = catalog.table(name)
    if table is None:
        raise CatalogError(f"there is no table {name!r}")
    source, read, parent = table.source, "", "None"
    if isinstance(source, DuckdbTable):
        read = source.table
    elif isinstance(source, PostgresTable | SparkTable):
        read = f"{source.kind} {source.name}"
    elif isinstance(source, CsvFile):
        # Options that are left out are not told: answers from before there were any stay free.
        plain = replace(source, path=Path()) == CsvFile(Path(), source.separator)
        told = (f"{option}={getattr(source, option)!r}" for option in _CSV_OPTIONS)
        read = source.separator if plain else f"CsvFile(path=PosixPath('.'), {', '.join(told)})"
    if table.parent is not None:
        key = table.parent
        parent = (
            f"ForeignKey(column={key.column!r}, parent={key.parent!r}, "
            f"parent_column={key.parent_column!r})"
        )
    columns = [(column.name, column.type.value) for column in table.columns]
    return f"({name!r}, {table.unit!r}, {parent}, {table.public!r}, {read!r}, {columns!r})"
