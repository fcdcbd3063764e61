# SPDX-License-Identifier: Apache-2.0
"""Which engine answers questions about a table, by the kind of its source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sordino.catalog.model import (
    Catalog,
    CsvFile,
    DuckdbTable,
    Frame,
    ParquetFile,
    PostgresTable,
    Source,
    SparkTable,
)
from sordino.catalog.schemas import Reader
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.several import Engines
from sordino.errors import CatalogError

if TYPE_CHECKING:
    from sordino.engine.protocol import OpenEngine


def _duckdb(catalog: Catalog, threads: int | None, memory_limit: str | None) -> OpenEngine:
    return DuckdbEngine(catalog, threads=threads, memory_limit=memory_limit)


def _postgres(_catalog: Catalog, _threads: int | None, _memory_limit: str | None) -> OpenEngine:
    raise CatalogError("tables in PostgreSQL cannot be asked yet; hand over files of them")


def _spark(_catalog: Catalog, _threads: int | None, _memory_limit: str | None) -> OpenEngine:
    raise CatalogError("tables that Spark reads cannot be asked yet; hand over files of them")


_Maker = Callable[[Catalog, "int | None", "str | None"], "OpenEngine"]
_MAKERS: dict[str, _Maker] = {"DuckDB": _duckdb, "PostgreSQL": _postgres, "Spark": _spark}
_KINDS: dict[type[Source], str] = {
    ParquetFile: "DuckDB",
    CsvFile: "DuckDB",
    DuckdbTable: "DuckDB",
    Frame: "DuckDB",
    PostgresTable: "PostgreSQL",
    SparkTable: "Spark",
}


def engine_of(source: Source) -> str:
    """Return the name of the engine that reads a source."""
    return _KINDS[type(source)]


def server_reader(address: str) -> Reader:
    """Return how the schemas of a server are read, by its address."""
    raise CatalogError(f"schemas of {address!r} cannot be read yet; write the catalog by hand")


def open_engine(
    catalog: Catalog, *, threads: int | None = None, memory_limit: str | None = None
) -> OpenEngine:
    """Open the engine of all tables of a catalog, or several, each for its own tables.

    ``threads`` and ``memory_limit`` are those of the embedded one.
    """
    of = {table.name: engine_of(table.source) for table in catalog.tables}
    names = [name for name in _MAKERS if name in of.values()] or ["DuckDB"]
    opened: dict[str, OpenEngine] = {}
    try:
        for name in names:
            opened[name] = _MAKERS[name](catalog, threads, memory_limit)
    except BaseException:
        for engine in opened.values():
            engine.close()
        raise
    return opened[names[0]] if len(names) == 1 else Engines(catalog, opened, of)
