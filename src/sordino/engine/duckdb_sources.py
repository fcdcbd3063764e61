# SPDX-License-Identifier: Apache-2.0
"""Sources of a catalog in DuckDB: how each is read, and which types its schema has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from sordino.engine.bases import NOTHING, Base, check_fit
from sordino.engine.dialect import quoted
from sordino.engine.select import select
from sordino.errors import CatalogError
from sordino.query.catalog import Catalog, CsvFile, DuckdbTable, Frame, ParquetFile, Table

if TYPE_CHECKING:
    import duckdb

_GLOB = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Sources:
    """What a connection needs to read all tables of a catalog.

    ``files`` may be opened, ``databases`` are attached, each under a name, ``views`` are made on
    every connection from SQL, and ``frames`` are handed to it.
    """

    files: tuple[str, ...]
    databases: Mapping[str, str]
    views: Mapping[str, str]
    frames: Mapping[str, Any] = field(repr=False)


def sources_of(catalog: Catalog) -> Sources:
    """Return how the tables of a catalog are read; files must exist."""
    files: list[str] = []
    databases: dict[str, str] = {}
    views: dict[str, str] = {}
    frames: dict[str, Any] = {}
    for place, table in enumerate(catalog.tables):
        name = view_name(place)
        match table.source:
            case ParquetFile(path=path):
                found = _files(table, path)
                files += found
                listed = ", ".join(map(literal, found))
                views[name] = select(_declared(table), f"read_parquet([{listed}])")
            case CsvFile(path=path):
                file = _files(table, path)[0]
                files.append(file)
                views[name] = _csv(table, file, table.source.separator)
            case DuckdbTable(path=path, table=inner):
                file = _files(table, path)[0]
                files += [file, f"{file}.wal"]
                attached = databases.setdefault(file, f"d{len(databases)}")
                views[name] = select(_declared(table), f"{attached}.{quoted(inner)}")
            case Frame(table=held):
                frames[name] = narrowed(table, held)
            case _:
                assert_never(table.source)
    return Sources(tuple(files), databases, views, frames)


def view_name(place: int) -> str:
    """Return the name under which a connection has the table at a place of the catalog."""
    return f"t{place}"


def narrowed(table: Table, held: Any) -> Any:
    """Return an Arrow table with the declared columns alone."""
    names = [column.name for column in table.columns]
    missing = [name for name in names if name not in held.column_names]
    if missing:
        raise CatalogError(f"table {table.name!r} has no column {missing[0]!r}; leave it out")
    return held.select(names)


def bases_of(catalog: Catalog, connection: duckdb.DuckDBPyConnection) -> dict[str, Base]:
    """Read the types of all declared columns off the schemas, and check that they fit."""
    bases: dict[str, Base] = {}
    for place, table in enumerate(catalog.tables):
        name = view_name(place)
        relation = connection.sql(select(["*"], name))
        held = {
            column: _family(str(kind))
            for column, kind in zip(relation.columns, relation.types, strict=True)
        }
        for column in table.columns:
            check_fit(table.name, column.name, column.type, held[column.name])
        bases[table.name] = Base(name, held)
    return bases


def _family(name: str) -> str:
    """Return the name of an engine type without its parameters."""
    head = name.split("(", maxsplit=1)[0]
    return NOTHING if head in ('"NULL"', "NULL") else head


def _declared(table: Table) -> list[str]:
    return [quoted(column.name) for column in table.columns]


def _files(table: Table, path: Path) -> list[str]:
    """Return the files that a path or a pattern names, in a fixed order."""
    if _GLOB & set(str(path)) and not path.exists():
        parts = path.parts
        first = next(place for place, part in enumerate(parts) if _GLOB & set(part))
        found = sorted(Path(*parts[:first]).glob(str(Path(*parts[first:]))))
    else:
        found = [path] if path.is_file() else []
    if not found:
        raise CatalogError(f"table {table.name!r}: there is no file {str(path)!r}")
    return [str(file.resolve()) for file in found]


def _csv(table: Table, path: str, separator: str) -> str:
    """Return a CSV file as text columns: nothing is guessed, and odd rows never fail."""
    with Path(path).open(encoding="utf-8", errors="replace", newline="") as file:
        header = read_header(file.readline(), separator)
    missing = [column.name for column in table.columns if column.name not in header]
    if missing:
        raise CatalogError(
            f"table {table.name!r}: the file {path!r} has no column {missing[0]!r}; its header "
            f"has {', '.join(header)}"
        )
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header)
    options = (
        f"columns = {{{columns}}}, header = true, auto_detect = false, "
        f"delim = {literal(separator)}, quote = '\"', "
        "escape = '\"', null_padding = true, ignore_errors = true, strict_mode = false, "
        "parallel = false"
    )
    return select(_declared(table), f"read_csv({literal(path)}, {options})")


def read_header(line: str, separator: str) -> list[str]:
    """Return the names in the first line of a CSV file.

    >>> read_header('id,"last, first"', ",")
    ['id', 'last, first']
    """
    import csv  # only where there is a CSV file

    line = line.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    return next(csv.reader([line], delimiter=separator), [])


def literal(value: str) -> str:
    """Return a text of the owner's as an SQL literal; an analyst's never gets here."""
    return "'" + value.replace("'", "''") + "'"
