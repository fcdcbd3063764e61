# SPDX-License-Identifier: Apache-2.0
"""Reading sordino.toml: every entry is known or refused, and every number is the one written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from sordino.errors import CatalogError
from sordino.query import books, declare
from sordino.query.catalog import (
    Analyst,
    Book,
    Catalog,
    Column,
    CsvFile,
    DuckdbTable,
    ForeignKey,
    Limits,
    ParquetFile,
    Purse,
    Source,
    Table,
)
from sordino.query.links import PEOPLE
from sordino.query.names import about, reference
from sordino.query.schemas import parquet_schema
from sordino.query.types import Type
from sordino.query.values import keys_between, read_type

_FILE = ("budget", "ledger", "analysts", "tables")
_BUDGET = ("epsilon", "delta", "rho", "currency", "question")
_LEDGER = ("file", "postgres", "anchor", "key")
_ANALYST = ("share", "reserved")
_TABLE = (
    *("parquet", "csv", "separator", "duckdb", "table"),
    *("unit", "parent", "via", "people", "limits", "public", "columns"),
)
_COLUMN = ("type", "bounds", "keys", "keys_from", "other")
_LIMITS = ("rows", "groups", "rows_per_group")


def read_catalog(path: str | Path) -> Catalog:
    """Read and check a catalog; paths of files in it are relative to it.

    The files themselves are not opened, but for the schema of a public Parquet file whose columns
    are not declared.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
        found = tomllib.loads(text, parse_float=Decimal)
    except FileNotFoundError:
        raise CatalogError(
            f"there is no file {str(path)!r}; write one with 'sordino init'"
        ) from None
    except OSError as error:
        raise CatalogError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CatalogError(f"{path.name} must be text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        raise CatalogError(f"{path.name} is not TOML: {said[:1].lower()}{said[1:]}") from None
    with about(path.name):
        return _catalog(found, path)


def _catalog(found: dict[str, Any], path: Path) -> Catalog:
    _check_entries("the file", found, _FILE)
    tables = _section("tables", found.get("tables", {}))
    made = [_table(name, entries, path.parent) for name, entries in tables.items()]
    return declare.catalog(
        made,
        _purses(found.get("budget", {})),
        path=path,
        analysts=_analysts(found.get("analysts", {})),
        book=_book(found.get("ledger", {}), path.parent),
    )


def _analysts(found: object) -> list[Analyst]:
    made = []
    for name, part in _section("analysts", found).items():
        entries = _section(f"analyst {name!r}", part)
        _check_entries(f"analyst {name!r}", entries, _ANALYST)
        made.append(books.analyst(name, **entries))
    return made


def _book(found: object, folder: Path) -> Book:
    entries = _section("ledger", found)
    _check_entries("ledger", entries, _LEDGER)
    return books.book(folder, **{name: _text(entries, name) for name in entries})


def _purses(found: object) -> Purse | dict[str, Purse]:
    """Return the budget, or one for each id space."""
    budget = _section("budget", found)
    nested = {name: part for name, part in budget.items() if isinstance(part, dict)}
    if not nested:
        return _purse(budget) if budget else {}
    if len(nested) < len(budget):
        raise CatalogError(
            "budget: state one budget, or one for each id space as in [budget.people], not both"
        )
    purses = {}
    for name, part in nested.items():
        with about(f"budget.{name}"):
            purses[name] = _purse(part)
    return purses


def _purse(entries: dict[str, Any]) -> Purse:
    _check_entries("budget", entries, _BUDGET)
    return declare.purse(**entries)


def _table(name: str, found: object, folder: Path) -> Table:
    with about(f"table {name!r}"):
        entries = _section("it", found)
        _check_entries("it", entries, _TABLE)
        public = entries.get("public", False)
        if not isinstance(public, bool):
            raise CatalogError("public must be true or false")
        source = _source(entries, folder)
        columns = _columns(entries.get("columns"), source, public=public)
        parent = _parent(entries)
        limits = _limits(entries.get("limits", {}))
        unit = _text(entries, "unit")
        people = _text(entries, "people") or PEOPLE
    return declare.table(
        name,
        source,
        columns,
        unit=unit,
        parent=parent,
        people=people,
        limits=limits,
        public=public,
    )


def _source(entries: Mapping[str, Any], folder: Path) -> Source:
    stated = [kind for kind in ("parquet", "csv", "duckdb") if kind in entries]
    if len(stated) != 1:
        raise CatalogError("state where it lies by exactly one of parquet, csv and duckdb")
    kind = stated[0]
    name = _text(entries, kind)
    if not name:
        raise CatalogError(f"{kind} must be the name of a file")
    path = folder / name
    if "separator" in entries and kind != "csv":
        raise CatalogError("separator is for csv files; leave it out")
    if ("table" in entries) != (kind == "duckdb"):
        raise CatalogError("table names a table in a duckdb file; state both or neither")
    if kind == "parquet":
        return ParquetFile(path)
    if kind == "duckdb":
        return DuckdbTable(path, _text(entries, "table") or "")
    separator = _text(entries, "separator") or ","
    if len(separator) != 1 or separator in '"\n\r':
        raise CatalogError("separator must be one character, such as ';'")
    return CsvFile(path, separator)


def _columns(found: object, source: Source, *, public: bool) -> list[Column]:
    if found is None:
        if public and isinstance(source, ParquetFile):
            return _public_columns(source)
        raise CatalogError("state its columns with their types, under [tables.<name>.columns]")
    return [_column(name, entry) for name, entry in _section("columns", found).items()]


def _public_columns(source: ParquetFile) -> list[Column]:
    """Return the columns of a public file as its schema has them, without those of odd types."""
    schema = parquet_schema(source.path)
    return [declare.column(column.name, column.type) for column in schema if column.type]


def _column(name: str, found: object) -> Column:
    if isinstance(found, str):
        return declare.column(name, found)
    with about(f"column {name!r}"):
        entries = _section("it", found)
        _check_entries("it", entries, _COLUMN)
        if "type" not in entries:
            raise CatalogError(f"state its type; the types are {', '.join(Type)}")
        kind = read_type(entries["type"])
        keys = entries.get("keys")
        if isinstance(keys, dict):
            _check_entries("keys", keys, ("from", "to"))
            keys = keys_between(kind, keys.get("from"), keys.get("to"))
    return declare.column(
        name,
        kind,
        bounds=entries.get("bounds"),
        keys=keys,
        keys_from=entries.get("keys_from"),
        other=entries.get("other"),
    )


def _parent(entries: Mapping[str, Any]) -> ForeignKey | None:
    if ("parent" in entries) != ("via" in entries):
        raise CatalogError(
            "parent and via go together, as in parent = 'visits.visit_id', via = 'visit_id'"
        )
    if "parent" not in entries:
        return None
    table, column = reference("parent", entries["parent"])
    return ForeignKey(_text(entries, "via") or "", table, column)


def _limits(found: object) -> Limits:
    entries = _section("limits", found)
    _check_entries("limits", entries, _LIMITS)
    return declare.limits(**entries)


def _section(name: str, found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise CatalogError(f"{name} must be a table of entries, not {found!r}")
    return found


def _text(entries: Mapping[str, Any], name: str) -> str | None:
    value = entries.get(name)
    if value is not None and not isinstance(value, str):
        raise CatalogError(f"{name} must be text, got {value!r}")
    return value


def _check_entries(where: str, entries: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in entries:
        if name not in known:
            raise CatalogError(f"{where} has no entry {name!r}; there are {', '.join(known)}")
