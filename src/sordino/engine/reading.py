# SPDX-License-Identifier: Apache-2.0
"""Schemas of databases, for drafts and checks: of DuckDB files, and of servers by their address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sordino.catalog.model import ServerTable
from sordino.catalog.schemas import Reader, Schema
from sordino.engine.duckdb import attached
from sordino.engine.opening import server_reader


def schemas(place: Path | str) -> dict[str, Schema]:
    """Return the schema of every table of a file or a server, by name; no row is read."""
    if isinstance(place, Path):
        return attached.schemas(place)
    return server_reader(place).schemas(place)


def views(place: Path | str) -> tuple[str, ...]:
    """Return the views of a file or a server by name."""
    if isinstance(place, Path):
        return attached.views(place)
    return server_reader(place).views(place)


def column(place: Path | str, table: str, name: str) -> Any:
    """Return the distinct values of a column that the owner declared public, as Arrow."""
    if isinstance(place, Path):
        return attached.column(place, table, name)
    return server_reader(place).column(place, table, name)


def schema(source: ServerTable) -> Schema:
    """Return the columns of a table of a server; no row is read."""
    return server_reader(source.address).schema(source)


READER = Reader(schemas=schemas, views=views, column=column, schema=schema)
