# SPDX-License-Identifier: Apache-2.0
"""Reading sordino.toml: every entry is known or refused, and every number is the one written."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from sordino.catalog import checks
from sordino.catalog.checks import (
    PEOPLE,
    SERVING,
    Mistakes,
    about,
    reference,
    resolved,
    serving,
)
from sordino.catalog.csv.options import OPTIONS, csv_file
from sordino.catalog.model import (
    Analyst,
    Book,
    Catalog,
    Column,
    DuckdbTable,
    ForeignKey,
    Limits,
    Log,
    ParquetFile,
    Purse,
    Serving,
    Source,
    Table,
)
from sordino.catalog.schemas import check_ending, is_data, parquet_schema
from sordino.catalog.servers import SERVER_ENTRIES, server_table
from sordino.catalog.values import keys_between, read_type
from sordino.errors import CatalogError
from sordino.query.types import Type, Value

_LINE = re.compile(r"at line (\d+)")
_MOST_PARTS = 100
# A key of many parts, a.b.c, takes the library time that grows with their square.
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_MANY_PARTS = re.compile(rf"(?<![\w.-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_MOST_PARTS}}}")
_FRACTION = re.compile(r"=\s*([+-]?\d+),(\d+)\s*(?:#|$)")
_FILE = ("budget", "ledger", "log", "server", "analysts", "tables")
_BUDGET = ("epsilon", "delta", "rho", "currency", "question")
_LEDGER = ("file", "postgres", "anchor", "key")
_LOG = ("file", "level")
_ANALYST = ("share", "reserved")
_TABLE = (
    *("parquet", "csv", *OPTIONS, "duckdb", "postgres", "spark"),
    *("table", "delta", "iceberg", "version"),
    *("unit", "parent", "via", "people", "limits", "public", "columns"),
)
_COLUMN = ("type", "bounds", "keys", "keys_from", "other")
_LIMITS = ("rows", "groups", "rows_per_group")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file says, and all mistakes; the catalog is there if there are none.

    ``tables`` are those that are right by themselves.
    """

    catalog: Catalog | None
    tables: tuple[Table, ...]
    mistakes: tuple[str, ...]


def read_catalog(path: str | Path) -> Catalog:
    """Read and check a catalog; paths of files in it are relative to it.

    The files themselves are not opened, but for the schema of a public Parquet file whose columns
    are not declared. The first mistake is told.
    """
    reading = read_all(path)
    if reading.catalog is None:
        raise CatalogError(reading.mistakes[0])
    return reading.catalog


def read_all(path: str | Path, *, check_source: Callable[[Source], None] | None = None) -> Reading:
    """Read a catalog and tell everything that is wrong with it.

    ``check_source`` raises CatalogError for one that may not be named, before it is opened.
    Raises CatalogError if there is no such catalog, or if it is no TOML.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
        if _MANY_PARTS.search(text):
            raise CatalogError(f"{path.name} has a key of more than {_MOST_PARTS} parts")
        found = tomllib.loads(text, parse_float=Decimal)
    except FileNotFoundError:
        raise CatalogError(
            f"there is no file {str(path)!r}; write one with 'sordino init'"
        ) from None
    except OSError as error:
        raise CatalogError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        _check_no_data(path)
        raise CatalogError(f"{path.name} must be text in UTF-8") from None
    except RecursionError:
        raise CatalogError(f"{path.name} has lists or tables that are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        _check_no_data(path)
        said = str(error)
        raise CatalogError(
            f"{path.name} is not TOML: {said[:1].lower()}{said[1:]}{_comma(text, said)}"
        ) from None
    mistakes = Mistakes()
    catalog, tables = _catalog(found, path, check_source, mistakes)
    told = tuple(f"{path.name}: {mistake}" for mistake in mistakes)
    return Reading(None if told else catalog, tuple(tables), told)


def _comma(text: str, said: str) -> str:
    """Return a hint for a fraction with a comma in the line that an error names, or nothing."""
    place = _LINE.search(said)
    lines = text.split("\n")
    if place is None or int(place[1]) > len(lines):
        return ""
    found = _FRACTION.search(lines[int(place[1]) - 1])
    return f"; fractions have a point: write {found[1]}.{found[2]}" if found else ""


def _check_no_data(path: Path) -> None:
    if is_data(path):
        raise CatalogError(
            f"{path.name!r} holds data, and is no catalog; draft one with 'sordino init "
            f"{path.name}', and open that"
        ) from None


def _catalog(
    found: dict[str, Any],
    path: Path,
    check_source: Callable[[Source], None] | None,
    mistakes: Mistakes,
) -> tuple[Catalog | None, list[Table]]:
    _check_entries("the file", found, _FILE, mistakes)
    sections: dict[str, Any] = {}
    with mistakes.caught():
        sections = _section("tables", found.get("tables", {}))
    read = [
        _table(name, part, path.parent, check_source, mistakes) for name, part in sections.items()
    ]
    tables = [table for table in read if table is not None]
    purses = _purses(found.get("budget", {}), mistakes)
    analysts = _analysts(found.get("analysts", {}), mistakes)
    book = None
    with mistakes.caught():
        book = _book(found.get("ledger", {}), path.parent)
    log = None
    with mistakes.caught():
        log = _log(found["log"], path.parent) if "log" in found else None
    served = Serving()
    with mistakes.caught():
        served = _serving(found.get("server", {}))
    if not mistakes:
        unlinked = Catalog(tuple(tables))
        for table in tables:
            with mistakes.caught():
                resolved(unlinked, table)
    if not mistakes:
        with mistakes.caught():
            made = checks.catalog(tables, purses, path=path, analysts=analysts, book=book, log=log)
            return replace(made, serving=served), tables
    return None, tables


def _analysts(found: object, mistakes: Mistakes) -> list[Analyst]:
    made: list[Analyst] = []
    sections: dict[str, Any] = {}
    with mistakes.caught():
        sections = _section("analysts", found)
    for name, part in sections.items():
        with mistakes.caught():
            entries = _section(f"analyst {name!r}", part)
            _check_entries(f"analyst {name!r}", entries, _ANALYST)
            made.append(checks.analyst(name, **entries))
    return made


def _book(found: object, folder: Path) -> Book:
    entries = _section("ledger", found)
    _check_entries("ledger", entries, _LEDGER)
    return checks.book(folder, **{name: _text(entries, name) for name in entries})


def _log(found: object, folder: Path) -> Log:
    entries = _section("log", found)
    _check_entries("log", entries, _LOG)
    return checks.log(folder, **entries)


def _serving(found: object) -> Serving:
    entries = _section("server", found)
    _check_entries("server", entries, SERVING)
    return serving(**entries)


def _purses(found: object, mistakes: Mistakes) -> Purse | dict[str, Purse]:
    budget: dict[str, Any] = {}
    with mistakes.caught():
        budget = _section("budget", found)
    nested = {name: part for name, part in budget.items() if isinstance(part, dict)}
    if not nested:
        with mistakes.caught():
            return _purse(budget) if budget else {}
        return {}
    purses: dict[str, Purse] = {}
    with mistakes.caught():
        if len(nested) < len(budget):
            raise CatalogError(
                "budget: state one budget, or one for each id space as in [budget.people], not both"
            )
    for name, part in nested.items():
        with mistakes.caught(f"budget.{name}"):
            purses[name] = _purse(part)
    return purses


def _purse(entries: dict[str, Any]) -> Purse:
    _check_entries("budget", entries, _BUDGET)
    return checks.purse(**entries)


def _table(
    name: str,
    found: object,
    folder: Path,
    check_source: Callable[[Source], None] | None,
    mistakes: Mistakes,
) -> Table | None:
    """Return a table that is right by itself, or None and what is wrong with it."""
    where = f"table {name!r}"
    before = len(mistakes)
    entries: dict[str, Any] = {}
    with mistakes.caught(where):
        entries = _section("it", found)
    if len(mistakes) > before:
        return None
    _check_entries("it", entries, _TABLE, mistakes, where)
    public, parent, limits, unit, people = False, None, Limits(), None, PEOPLE
    source: Source | None = None
    with mistakes.caught(where):
        public = _flag(entries, "public")
    with mistakes.caught(where):
        stated = _source(entries, folder)
        if check_source is not None:
            check_source(stated)
        source = stated
    columns = _columns(entries.get("columns"), source, where, mistakes, public=public)
    with mistakes.caught(where):
        parent = _parent(entries)
    with mistakes.caught(where):
        limits = _limits(entries.get("limits", {}))
    with mistakes.caught(where):
        unit = _text(entries, "unit")
        people = _text(entries, "people") or PEOPLE
    if len(mistakes) > before or source is None:
        return None
    with mistakes.caught():
        return checks.table(
            name,
            source,
            columns,
            unit=unit,
            parent=parent,
            people=people,
            limits=limits,
            public=public,
        )
    return None


_FILES = ("parquet", "csv", "duckdb")
_SERVERS = ("postgres", "spark")


def _source(entries: Mapping[str, Any], folder: Path) -> Source:
    servers = [kind for kind in _SERVERS if kind in entries]
    files = [kind for kind in _FILES if kind in entries]
    stated = servers or files
    if len(stated) != 1 or (servers == ["postgres"] and files):
        raise CatalogError(
            "state where it lies by exactly one of parquet, csv, duckdb, postgres and spark"
        )
    kind = stated[0]
    options = [option for option in OPTIONS if option in entries]
    if options and kind != "csv":
        raise CatalogError(f"{options[0]} is for csv files; leave it out")
    _check_needed(kind, entries)
    texts = {name: _text(entries, name) for name in ("version", kind, "table")}
    if servers:
        return server_table(kind, {name: _text(entries, name) for name in SERVER_ENTRIES})
    name = texts[kind]
    if not name:
        raise CatalogError(f"{kind} must be the name of a file")
    path = folder / name
    if kind == "csv":
        return csv_file(path, **{option: entries[option] for option in options})
    check_ending(path, kind)
    if kind == "parquet":
        return ParquetFile(path)
    return DuckdbTable(path, texts["table"] or "")


def _check_needed(kind: str, entries: Mapping[str, Any]) -> None:
    """Refuse entries that a source of this kind does not have."""
    if kind != "spark":
        for form in ("delta", "iceberg"):
            if form in entries:
                raise CatalogError(f"{form} is for tables that Spark reads; state spark, too")
        if ("table" in entries) != (kind in ("duckdb", "postgres")):
            raise CatalogError(
                "table names a table in a duckdb file or on a server; state both or neither"
            )
    if "version" in entries and kind not in _SERVERS:
        raise CatalogError("version is for tables of servers; files have the time of writing")


def _columns(
    found: object, source: Source | None, where: str, mistakes: Mistakes, *, public: bool
) -> list[Column]:
    sections: dict[str, Any] = {}
    with mistakes.caught(where):
        if found is None:
            if public and isinstance(source, ParquetFile):
                return _public_columns(source)
            raise CatalogError("state its columns with their types, under [tables.<name>.columns]")
        sections = _section("columns", found)
    columns: list[Column] = []
    for name, entry in sections.items():
        with mistakes.caught(where):
            columns.append(_column(name, entry))
    return columns


def _public_columns(source: ParquetFile) -> list[Column]:
    """Return the columns of a public file as its schema has them, without those of odd types."""
    schema = parquet_schema(source.path)
    return [checks.column(column.name, column.type) for column in schema if column.type]


def _column(name: str, found: object) -> Column:
    if isinstance(found, str):
        return checks.column(name, found)
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
    return checks.column(
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
    return checks.limits(**entries)


def _section(name: str, found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise CatalogError(f"{name} must be a table of entries, not {found!r}")
    return found


def _text(entries: Mapping[str, Any], name: str) -> str | None:
    value = entries.get(name)
    if value is not None and not isinstance(value, str):
        raise CatalogError(f"{name} must be text, got {value!r}")
    return value


def _flag(entries: Mapping[str, Any], name: str) -> bool:
    value = entries.get(name, False)
    if not isinstance(value, bool):
        raise CatalogError(f"{name} must be true or false")
    return value


def _check_entries(
    what: str,
    entries: Mapping[str, Any],
    known: tuple[str, ...],
    mistakes: Mistakes | None = None,
    where: str = "",
) -> None:
    for name in entries:
        if name in known:
            continue
        error = CatalogError(f"{what} has no entry {name!r}; there are {', '.join(known)}")
        if mistakes is None:
            raise error
        with mistakes.caught(where):
            raise error


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str) -> str:
    r"""Write text as a TOML string.

    >>> print(quoted('a "b"'))
    "a \"b\""
    """
    return '"' + "".join(_escaped(character) for character in text) + '"'


def key(name: str) -> str:
    """Write a name as a TOML key.

    >>> key("age"), key("weight in kg")
    ('age', '"weight in kg"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def value(x: Value) -> str:
    """Write a value as TOML, which has everything but missing values."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, str):
        return quoted(x)
    if isinstance(x, date):
        return x.isoformat()
    return repr(x)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character < " " or character == "\x7f":
        return f"\\u{ord(character):04x}"
    return character
