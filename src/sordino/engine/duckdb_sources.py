# SPDX-License-Identifier: Apache-2.0
"""Sources of a catalog in DuckDB: how each is read, and which types its schema has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from sordino.engine.bases import NOTHING, Base, check_fit
from sordino.engine.dialect import DUCKDB, quoted
from sordino.engine.select import select
from sordino.errors import CatalogError
from sordino.query.catalog import Catalog, CsvFile, DuckdbTable, Frame, ParquetFile, Table
from sordino.query.types import Type

if TYPE_CHECKING:
    import duckdb

ARROW = {
    Type.INTEGER: "int64",
    Type.REAL: "float64",
    Type.TEXT: "string",
    Type.BOOLEAN: "bool",
    Type.DATE: "date32",
    Type.TIMESTAMP: "timestamp[us]",
}
_GLOB = frozenset("*?[")
LOADING = "loading"  # the name of text while it is turned into the declared types


@dataclass(frozen=True, slots=True)
class Sources:
    """What a connection needs to read all tables of a catalog.

    ``files`` may be opened, and ``of`` says which of them belong to which table. ``databases`` are
    attached, each under a name, ``views`` are made on every connection from SQL, and ``frames`` are
    handed to it. ``loaded`` are frames that are empty
    at first: before the first question each is read by one SELECT, as text, and turned into the
    declared types by another. Both at once will not do: the reader of CSV files would take over the
    casts and leave out rows, more or fewer of them by which columns are asked for.
    """

    files: tuple[str, ...]
    of: Mapping[str, tuple[str, ...]]
    databases: Mapping[str, str]
    views: Mapping[str, str]
    loaded: Mapping[str, tuple[str, str]]
    frames: Mapping[str, Any] = field(repr=False)


def sources_of(catalog: Catalog) -> Sources:
    """Return how the tables of a catalog are read; files must exist."""
    of: dict[str, tuple[str, ...]] = {}
    databases: dict[str, str] = {}
    views: dict[str, str] = {}
    frames: dict[str, Any] = {}
    loaded: dict[str, tuple[str, str]] = {}
    for place, table in enumerate(catalog.tables):
        name = view_name(place)
        match table.source:
            case ParquetFile(path=path):
                found = _files(table, path)
                of[table.name] = tuple(found)
                listed = ", ".join(map(literal, found))
                views[name] = select(_declared(table), f"read_parquet([{listed}])")
            case CsvFile(path=path):
                file = _files(table, path)[0]
                of[table.name] = (file,)
                loaded[name] = _csv(table, file, table.source.separator), _typed(table)
                frames[name] = _empty(table)
            case DuckdbTable(path=path, table=inner):
                file = _files(table, path)[0]
                of[table.name] = (file, f"{file}.wal")
                attached = databases.setdefault(file, f"d{len(databases)}")
                views[name] = select(_declared(table), f"{attached}.{quoted(inner)}")
            case Frame(table=held):
                frames[name] = narrowed(table, held)
            case _:
                assert_never(table.source)
    files = tuple(file for found in of.values() for file in found)
    return Sources(files, of, databases, views, loaded, frames)


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
    """Return a SELECT of the declared columns of a CSV file, as text; nothing is guessed.

    No odd row fails: one with too few values misses the others, one with too many loses them, and
    one that is no text at all is left out.
    """
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


def _typed(table: Table) -> str:
    """Return a SELECT of text in the declared types; what does not fit is missing."""
    casts = [
        DUCKDB.try_cast.format(quoted(column.name), DUCKDB.types[column.type])
        for column in table.columns
    ]
    named = [f"{cast} AS {name}" for cast, name in zip(casts, _declared(table), strict=True)]
    return select(named, LOADING)


def _empty(table: Table) -> Any:
    """Return a frame of no rows with the declared types."""
    import pyarrow as pa  # only where there is a CSV file

    return pa.schema([(column.name, ARROW[column.type]) for column in table.columns]).empty_table()


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
