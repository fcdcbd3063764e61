# SPDX-License-Identifier: Apache-2.0
"""What columns a source has, from its schema or its header alone; no row is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from sordino.errors import CatalogError
from sordino.query.arrow import type_of
from sordino.query.catalog import CsvFile, DuckdbTable, Frame, ParquetFile, Source
from sordino.query.endings import check_no_folder, reason
from sordino.query.names import among
from sordino.query.types import Type

if TYPE_CHECKING:
    import pyarrow as pa

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

    ``schemas`` gives the schema of every table of a file, by name, and ``views`` the names of its
    views, which are not read; ``column`` gives the Arrow column of a file, a table and a name.
    """

    schemas: Callable[[Path], dict[str, Schema]]
    views: Callable[[Path], tuple[str, ...]]
    column: Callable[[Path, str, str], Any]


def schema_of(source: Source, reader: Reader | None = None) -> Schema | None:
    """Return the columns of a source, or None if nothing here can read it.

    Raises CatalogError if the source is not there or not what it is declared as.
    """
    match source:
        case ParquetFile():
            return parquet_schema(source.path)
        case CsvFile():
            return tuple(Found(name, None, "") for name in csv_names(source))
        case Frame():
            return arrow_schema(source.table.schema)
        case DuckdbTable():
            return None if reader is None else _duckdb_schema(source, reader)
    assert_never(source)


def parquet_schema(path: Path) -> Schema:
    """Return the columns of a Parquet file; of several files, those that all of them have.

    Files may hold one column in different types, as programs write them that choose a type by what
    a month has; it then has the type that takes in all of them.
    """
    schemas = [_footer(file) for file in parquet_files(path)]
    first, *others = schemas
    return tuple(
        _together(name, [schema[name] for schema in schemas])
        for name in first
        if all(name in schema for schema in others)
    )


def _footer(path: Path) -> dict[str, Found]:
    """Return the columns of one file by name; no two may be called alike."""
    import pyarrow as pa  # pyarrow is loaded only where files are read
    import pyarrow.parquet as pq

    try:
        columns = arrow_schema(pq.read_schema(path))
    except OSError as error:
        raise CatalogError(f"{str(path)!r} cannot be read: {reason(error)}") from None
    except pa.ArrowException:
        raise CatalogError(f"{str(path)!r} is not a Parquet file") from None
    names: set[str] = set()
    for column in columns:
        if column.name.lower() in names:
            raise CatalogError(
                f"{str(path)!r} has several columns that are called {column.name!r}, or differ "
                "from it in upper and lower case alone; rename them"
            )
        names.add(column.name.lower())
    return {column.name: column for column in columns}


def _together(name: str, columns: list[Found]) -> Found:
    """Return one column for those of several files; one without any value says nothing of it."""
    some = [column for column in columns if column.held != "null"] or columns
    kinds = {column.type for column in some}
    kind = next((wide for narrow, wide in _WIDER if kinds <= narrow), None)
    return Found(name, kind, " or ".join(dict.fromkeys(column.held for column in some)))


# What all of some types can be read as. Text is read as any type, and missing where it does not
# fit, but real numbers and moments are not read as text.
_WIDER: tuple[tuple[frozenset[Type], Type], ...] = (
    *((frozenset({kind}), kind) for kind in Type),
    (frozenset({Type.INTEGER, Type.REAL}), Type.REAL),
    (frozenset({Type.DATE, Type.TIMESTAMP}), Type.TIMESTAMP),
    (frozenset({Type.INTEGER, Type.BOOLEAN, Type.DATE, Type.TEXT}), Type.TEXT),
    (frozenset({Type.INTEGER, Type.BOOLEAN, Type.REAL, Type.TEXT}), Type.REAL),
    (frozenset({Type.DATE, Type.TIMESTAMP, Type.TEXT}), Type.TIMESTAMP),
)


def parquet_files(path: Path) -> list[Path]:
    """Return the files that a path or a pattern such as ``visits/*.parquet`` means, sorted."""
    check_no_folder(path)
    if not any(sign in str(path) for sign in "*?["):
        found = [path] if path.exists() else []
    else:
        anchor = Path(path.anchor) if path.is_absolute() else Path()
        parts = path.relative_to(path.anchor) if path.is_absolute() else path
        found = sorted(anchor.glob(str(parts)))
    if not found:
        raise CatalogError(f"there is no file {str(path)!r}")
    for file in found:
        check_no_folder(file)
    return found


def arrow_schema(schema: pa.Schema) -> Schema:
    """Return the columns of an Arrow schema."""
    return tuple(Found(field.name, type_of(field.type), str(field.type)) for field in schema)


def csv_names(source: CsvFile) -> tuple[str, ...]:
    """Return the names in the header of a CSV file; of several files, those that all have."""
    from sordino.query.csv_files import read_header  # pyarrow is loaded only where files are read

    first, *others = (
        read_header(replace(source, path=path)) for path in parquet_files(source.path)
    )
    return tuple(name for name in first if all(name in other for other in others))


def lacking(source: ParquetFile | CsvFile) -> dict[str, Path]:
    """Return the columns that some of several files have and others do not.

    Each is told with the first file that does not have it.
    """
    from sordino.query.csv_files import read_header  # pyarrow is loaded only where files are read

    files = parquet_files(source.path)
    held: dict[Path, list[str]] = {}
    for file in files:
        if isinstance(source, CsvFile):
            held[file] = list(read_header(replace(source, path=file)))
        else:
            held[file] = list(_footer(file))
    names = dict.fromkeys(name for columns in held.values() for name in columns)
    return {
        name: next(file for file in files if name not in held[file])
        for name in names
        if any(name not in columns for columns in held.values())
    }


def separator_of(header: str) -> str:
    """Return the separator that a header has most of.

    >>> separator_of("id;age;weight, kg")
    ';'
    """
    return max(SEPARATORS, key=header.count)


def _duckdb_schema(source: DuckdbTable, reader: Reader) -> Schema:
    if not source.path.exists():
        raise CatalogError(f"there is no file {str(source.path)!r}")
    check_no_folder(source.path)
    tables = reader.schemas(source.path)
    for name, schema in tables.items():
        if name.casefold() == source.table.casefold():
            return schema
    if any(view.casefold() == source.table.casefold() for view in reader.views(source.path)):
        raise CatalogError(
            f"{source.table!r} is a view, which may mix rows of several people or fail on a value; "
            f"store its rows, by CREATE TABLE ... AS FROM {source.table}, and declare that table"
        )
    raise CatalogError(
        f"{str(source.path)!r} has no table {source.table!r}; there are {among(tables)}"
    )
