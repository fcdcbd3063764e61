# SPDX-License-Identifier: Apache-2.0
"""Which engine answers questions about a table, by the kind of its source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from sordino.catalog.model import Catalog, PostgresTable, Source, SparkTable
from sordino.catalog.schemas import Reader
from sordino.catalog.servers import SPARK_ADDRESS
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.several import Engines
from sordino.errors import CatalogError

if TYPE_CHECKING:
    from sordino.engine.protocol import OpenEngine


def _duckdb(catalog: Catalog, _: str, threads: int | None, memory_limit: str | None) -> OpenEngine:
    return DuckdbEngine(catalog, threads=threads, memory_limit=memory_limit)


def _postgres(catalog: Catalog, address: str, *_: object) -> OpenEngine:
    try:
        from sordino.engine.postgres.engine import PostgresEngine  # psycopg is an extra
    except ImportError:
        raise _absent("PostgreSQL", "psycopg", "postgres") from None
    return PostgresEngine(catalog, address)


def _postgres_reader() -> Reader:
    try:
        from sordino.engine.postgres.schemas import READER  # psycopg is an extra
    except ImportError:
        raise _absent("PostgreSQL", "psycopg", "postgres") from None
    return READER


def _spark(catalog: Catalog, address: str, *_: object) -> OpenEngine:
    from sordino.engine.spark.engine import SparkEngine  # its client is an extra

    return SparkEngine(catalog, address)


def _spark_reader() -> Reader:
    from sordino.engine.spark.schemas import READER  # its client is an extra

    return READER


def _absent(what: str, library: str, extra: str) -> CatalogError:
    return CatalogError(
        f"a table in {what} needs {library}, which is not installed; pip install 'sordino[{extra}]'"
    )


_Maker: TypeAlias = "Callable[[Catalog, str, int | None, str | None], OpenEngine]"
_MAKERS: dict[str, _Maker] = {"DuckDB": _duckdb, "PostgreSQL": _postgres, "Spark": _spark}
_READERS = {"PostgreSQL": _postgres_reader, "Spark": _spark_reader}
_SERVERS: dict[type[Source], str] = {PostgresTable: "PostgreSQL", SparkTable: "Spark"}


def engine_of(source: Source) -> tuple[str, str]:
    """Return the name of the engine that reads a source, and the address of its server, if any."""
    if isinstance(source, PostgresTable | SparkTable):
        return _SERVERS[type(source)], source.address
    return "DuckDB", ""


def server_reader(address: str) -> Reader:
    """Return how the schemas of a server are read, by its address."""
    return _READERS["Spark" if address.startswith(SPARK_ADDRESS) else "PostgreSQL"]()


def open_engine(
    catalog: Catalog, *, threads: int | None = None, memory_limit: str | None = None
) -> OpenEngine:
    """Open the engine of all tables of a catalog, or several, each for its own tables.

    ``threads`` and ``memory_limit`` are those of the embedded one.
    """
    of = {table.name: engine_of(table.source) for table in catalog.tables}
    opened: dict[tuple[str, str], OpenEngine] = {}
    try:
        for place in dict.fromkeys(of.values()) or [("DuckDB", "")]:
            opened[place] = _MAKERS[place[0]](catalog, place[1], threads, memory_limit)
    except BaseException:
        for engine in opened.values():
            engine.close()
        raise
    if len(opened) == 1:
        return next(iter(opened.values()))
    return Engines(catalog, opened, of)
