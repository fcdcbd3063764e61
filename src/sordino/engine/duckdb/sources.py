# SPDX-License-Identifier: Apache-2.0
"""Sources of a catalog in DuckDB: which files and frames there are, and how each is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, assert_never

import duckdb

from sordino.catalog.model import (
    Catalog,
    Column,
    CsvFile,
    DuckdbTable,
    Frame,
    ParquetFile,
    PostgresTable,
    SparkTable,
    Table,
)
from sordino.engine.compile.dialect import select
from sordino.engine.compile.rows import id_columns
from sordino.engine.duckdb.attached import attached_door
from sordino.engine.duckdb.columns import Base, check_fit, held_of, typed, view_name
from sordino.engine.duckdb.parquet import ParquetDoor, parquet_door
from sordino.errors import CatalogError, HeaderError
from sordino.query.types import ARROW_TYPES, Type

_GLOB = frozenset("*?[")
LOADING = "loading"  # the name of text while it is turned into the declared types


@dataclass(frozen=True, slots=True)
class CsvRows:
    """The rows of CSV files: which files, and which columns of them."""

    files: tuple[CsvFile, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """What a connection needs to read all tables of a catalog.

    ``files`` may be opened, and ``of`` says which of them belong to which table. ``databases`` are
    attached, each under a name, and ``frames`` are handed to a connection. ``loaded`` are frames
    that are empty at first: before the first question their rows are read as text, and turned into
    the declared types by a SELECT.
    """

    catalog: Catalog
    files: tuple[str, ...]
    of: Mapping[str, tuple[str, ...]]
    databases: Mapping[str, str]
    loaded: Mapping[str, tuple[CsvRows, str]]
    frames: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Doors:
    """How the tables of a catalog are read, as their schemas are now.

    ``views`` are made on every connection from SQL, and ``frames`` are handed to it. ``parquet``
    are those of Parquet files, some of which can be read in another way.
    """

    views: Mapping[str, str]
    bases: Mapping[str, Base]
    frames: Mapping[str, Any] = field(repr=False)
    parquet: Mapping[str, ParquetDoor] = field(repr=False)


def own_tables(catalog: Catalog) -> list[tuple[int, Table]]:
    """Return the tables that DuckDB reads, each with its place in the catalog."""
    return [
        (place, table)
        for place, table in enumerate(catalog.tables)
        if not isinstance(table.source, PostgresTable | SparkTable)
    ]


def sources_of(catalog: Catalog) -> Sources:
    """Return what the tables of a catalog are read from; files must exist."""
    of: dict[str, tuple[str, ...]] = {}
    databases: dict[str, str] = {}
    frames: dict[str, Any] = {}
    loaded: dict[str, tuple[CsvRows, str]] = {}
    for place, table in own_tables(catalog):
        name = view_name(place)
        match table.source:
            case ParquetFile(path=path):
                of[table.name] = tuple(_files(table, path))
            case CsvFile(path=path):
                of[table.name] = tuple(_files(table, path))
                ids = id_columns(catalog, table)
                texts = {column.name: "VARCHAR" for column in table.columns}
                columns = select(typed(table, texts, ids), LOADING)
                loaded[name] = _csv(table, of[table.name], ids), columns
                frames[name] = _empty(table)
            case DuckdbTable(path=path):
                file = _files(table, path)[0]
                of[table.name] = (file, f"{file}.wal")
                databases.setdefault(file, f"d{len(databases)}")
            case Frame(table=held):
                frames[name] = narrowed(table, held)
            case PostgresTable() | SparkTable():
                raise TypeError("a table of a server has an engine of its own")
            case _:
                assert_never(table.source)
    files = tuple(file for found in of.values() for file in found)
    return Sources(catalog, files, of, databases, loaded, frames)


def doors_of(sources: Sources, connection: duckdb.DuckDBPyConnection) -> Doors:
    """Look at the schemas of all sources, refuse what does not fit, and say how each is read."""
    views: dict[str, str] = {}
    parquet: dict[str, ParquetDoor] = {}
    bases: dict[str, Base] = {}
    frames: dict[str, Any] = {}
    for place, table in own_tables(sources.catalog):
        name, ids = view_name(place), id_columns(sources.catalog, table)
        match table.source:
            case ParquetFile():
                door = parquet_door(connection, table, name, sources.of[table.name], ids)
                views[name], bases[table.name] = door.view, door.base
                frames |= door.frames
                parquet[name] = door
            case DuckdbTable(table=inside):
                database = sources.databases[sources.of[table.name][0]]
                views[name], bases[table.name] = attached_door(
                    connection, table, name, (database, inside), ids
                )
            case Frame() | CsvFile():
                if isinstance(table.source, CsvFile):
                    _check_texts(table, ids)
                bases[table.name] = _frame_base(connection, table, name, sources, ids)
            case PostgresTable() | SparkTable():
                raise TypeError("a table of a server has an engine of its own")
            case _:
                assert_never(table.source)
    return Doors(views, bases, frames, parquet)


def _check_texts(table: Table, ids: frozenset[str]) -> None:
    """Refuse ids that several texts would become."""
    for column in table.columns:
        check_fit(table.name, column.name, column.type, "VARCHAR", is_id=column.name in ids)


def _frame_base(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    name: str,
    sources: Sources,
    ids: frozenset[str],
) -> Base:
    connection.register(name, sources.frames[name])
    relation = connection.sql(select(["*"], name))
    held = dict(zip(relation.columns, map(held_of, relation.types), strict=True))
    for column in table.columns:
        is_id = column.name in ids
        check_fit(table.name, column.name, column.type, held[column.name], is_id=is_id)
    return Base(name, held, ids)


def narrowed(table: Table, held: Any) -> Any:
    """Return an Arrow table with the declared columns alone."""
    names = [column.name for column in table.columns]
    missing = [name for name in names if name not in held.column_names]
    if missing:
        raise CatalogError(f"table {table.name!r} has no column {missing[0]!r}; leave it out")
    return held.select(names)


def _files(table: Table, path: Path) -> list[str]:
    if _GLOB & set(str(path)) and not path.exists():
        parts = path.parts
        first = next(place for place, part in enumerate(parts) if _GLOB & set(part))
        found = sorted(Path(*parts[:first]).glob(str(Path(*parts[first:]))))
    else:
        found = [path] if path.is_file() else []
    if path.is_dir():
        raise CatalogError(
            f"table {table.name!r}: {str(path)!r} is a folder; name the files in it, such as "
            f"{str(path / '*.parquet')!r}"
        )
    if not found:
        raise CatalogError(f"table {table.name!r}: there is no file {str(path)!r}")
    files = [str(file.resolve()) for file in found]
    for file in files:
        if not Path(file).is_file():
            raise CatalogError(f"table {table.name!r}: {file!r} is a folder, or no file to be read")
        if isinstance(table.source, ParquetFile) and _GLOB & set(file):
            raise CatalogError(
                f"table {table.name!r}: the path {file!r} has one of the characters * ? [, by "
                "which it would be read as a pattern of other files; rename it"
            )
    return files


def _csv(table: Table, files: Iterable[str], ids: frozenset[str]) -> CsvRows:
    """Return how the rows of CSV files are read as text; their headers must have the columns."""
    if not isinstance(table.source, CsvFile):
        raise TypeError("only CSV files are read so")
    from sordino.catalog.csv.files import read_header  # only where there is a CSV file

    _check_id_times(table, table.source, ids)
    sources = tuple(replace(table.source, path=Path(file)) for file in files)
    for source in sources:
        header = read_header(source)
        missing = [column.name for column in table.columns if column.name not in header]
        if missing:
            raise HeaderError(
                f"table {table.name!r}: the file {str(source.path)!r} has no column {missing[0]!r}",
                header,
            )
    return CsvRows(sources, table.columns)


def _check_id_times(table: Table, source: CsvFile, ids: frozenset[str]) -> None:
    """Refuse ids that are times in a format, of which several would become one id."""
    formats = {Type.DATE: source.date_format, Type.TIMESTAMP: source.timestamp_format}
    for column in table.columns:
        if column.name in ids and formats.get(column.type) is not None:
            raise CatalogError(
                f"column {column.name!r} of table {table.name!r} holds ids, and several texts of a "
                "format would become one id; declare it as text"
            )


def _empty(table: Table) -> Any:
    import pyarrow as pa  # only where there is a CSV file

    return pa.schema(
        [(column.name, ARROW_TYPES[column.type]) for column in table.columns]
    ).empty_table()
