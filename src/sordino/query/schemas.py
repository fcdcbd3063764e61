# SPDX-License-Identifier: Apache-2.0
"""What columns a source has, from its schema or its header alone; no row is read."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from sordino.errors import CatalogError
from sordino.query.arrow import type_of
from sordino.query.catalog import CsvFile, DuckdbTable, Frame, ParquetFile, Source
from sordino.query.types import Type

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_HEADER = 1_000_000  # bytes
SEPARATORS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Found:
    """A column of a source: ``held`` is what the source calls its type.

    ``type`` is None if it has none of the six types, or if the source has no types, as CSV.
    """

    name: str
    type: Type | None
    held: str


Schema: TypeAlias = "tuple[Found, ...]"


@dataclass(frozen=True, slots=True)
class Reader:
    """How a DuckDB file is read; the engine has it, and hands it down.

    ``schemas`` gives the schema of every table of a file, by name; ``column`` the Arrow column of
    a file, a table and a name.
    """

    schemas: Callable[[Path], dict[str, Schema]]
    column: Callable[[Path, str, str], Any]


def schema_of(source: Source, reader: Reader | None = None) -> Schema | None:
    """Return the columns of a source, or None if nothing here can read it.

    Raises CatalogError if the source is not there or not what it is declared as.
    """
    match source:
        case ParquetFile():
            return parquet_schema(source.path)
        case CsvFile():
            return tuple(Found(n, None, "") for n in csv_header(source.path, source.separator))
        case Frame():
            return arrow_schema(source.table.schema)
        case DuckdbTable():
            return None if reader is None else _duckdb_schema(source, reader)
    assert_never(source)


def parquet_schema(path: Path) -> Schema:
    """Return the columns of a Parquet file; of several files, those of the first that has any."""
    import pyarrow as pa  # pyarrow is loaded only where files are read
    import pyarrow.parquet as pq

    try:
        return arrow_schema(pq.read_schema(parquet_files(path)[0]))
    except OSError as error:
        raise CatalogError(f"{str(path)!r} cannot be read: {_reason(error)}") from None
    except pa.ArrowException:
        raise CatalogError(f"{str(path)!r} is not a Parquet file") from None


def parquet_files(path: Path) -> list[Path]:
    """Return the files that a path or a pattern such as ``visits/*.parquet`` means, sorted."""
    if not any(sign in str(path) for sign in "*?["):
        found = [path] if path.exists() else []
    else:
        anchor = Path(path.anchor) if path.is_absolute() else Path()
        parts = path.relative_to(path.anchor) if path.is_absolute() else path
        found = sorted(anchor.glob(str(parts)))
    if not found:
        raise CatalogError(f"there is no file {str(path)!r}")
    return found


def arrow_schema(schema: pa.Schema) -> Schema:
    """Return the columns of an Arrow schema."""
    return tuple(Found(field.name, type_of(field.type), str(field.type)) for field in schema)


def csv_header(path: Path, separator: str) -> list[str]:
    """Return the names in the first line of a CSV file; values are no names."""
    line = first_line(path)
    try:
        names = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        names = []
    if not names or any(not name.strip() or _is_number(name) for name in names):
        raise CatalogError(
            f"the first line of {str(path)!r} must name its columns, and no name may be empty or "
            "a number"
        )
    return names


def first_line(path: Path) -> str:
    """Return the first line of a file, which must be text."""
    try:
        with path.open("rb") as file:
            line = file.readline(LONGEST_HEADER)
    except FileNotFoundError:
        raise CatalogError(f"there is no file {str(path)!r}") from None
    except OSError as error:
        raise CatalogError(f"{str(path)!r} cannot be read: {_reason(error)}") from None
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise CatalogError(f"{str(path)!r} must be text in UTF-8") from None
    if not text or "\0" in text:
        raise CatalogError(f"{str(path)!r} must be a CSV file with a header of column names")
    return text


def separator_of(header: str) -> str:
    """Return the separator that a header has most of.

    >>> separator_of("id;age;weight, kg")
    ';'
    """
    return max(SEPARATORS, key=header.count)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _duckdb_schema(source: DuckdbTable, reader: Reader) -> Schema:
    if not source.path.exists():
        raise CatalogError(f"there is no file {str(source.path)!r}")
    tables = reader.schemas(source.path)
    for name, schema in tables.items():
        if name.casefold() == source.table.casefold():
            return schema
    raise CatalogError(
        f"{str(source.path)!r} has no table {source.table!r}; there are {', '.join(sorted(tables))}"
    )


def _reason(error: OSError) -> str:
    return (error.strerror or "it is damaged, or not what it should be").lower()
