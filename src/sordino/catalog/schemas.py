# SPDX-License-Identifier: Apache-2.0
"""What columns a source has, from its schema or its header alone; no row is read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from sordino.catalog.arrow import type_of
from sordino.catalog.checks import among
from sordino.catalog.model import (
    CsvFile,
    DuckdbTable,
    Frame,
    ParquetFile,
    PostgresTable,
    ServerTable,
    Source,
    SparkTable,
)
from sordino.errors import CatalogError
from sordino.query.types import Type

if TYPE_CHECKING:
    import pyarrow as pa


GLOB = frozenset("*?[]")  # a name with one of these is a pattern
PACKED = (".gz", ".zst", ".bz2")  # CSV files are read from these too
_ENDINGS = {
    "csv": (".csv", ".tsv", ".txt", ".tab"),
    "duckdb": (".duckdb", ".db", ".ddb"),
    "parquet": (".parquet", ".pq", ".parq"),
}
_SHEET = "save each of its sheets as CSV UTF-8, and name that file"
_LINES = "turn it into Parquet, as in duckdb -c \"COPY (FROM '{0}') TO '{1}.parquet'\""
_UNPACK = "unpack it, and name the file in it"
_KNOWN = {
    ".xlsx": ("an Excel workbook", _SHEET),
    ".xlsm": ("an Excel workbook", _SHEET),
    ".xlsb": ("an Excel workbook", _SHEET),
    ".xls": ("an Excel workbook", _SHEET),
    ".ods": ("a workbook of sheets", _SHEET),
    ".json": ("JSON", _LINES),
    ".jsonl": ("JSON lines", _LINES),
    ".ndjson": ("JSON lines", _LINES),
    ".zip": ("an archive", _UNPACK),
    ".tar": ("an archive", _UNPACK),
    ".tgz": ("an archive", _UNPACK),
    ".7z": ("an archive", _UNPACK),
    ".rar": ("an archive", _UNPACK),
    ".xz": ("packed in a way that is not read", _UNPACK),
    ".lz4": ("packed in a way that is not read", _UNPACK),
    ".br": ("packed in a way that is not read", _UNPACK),
    ".feather": ("Feather", "write it as Parquet, as in pandas.read_feather(...).to_parquet(...)"),
    ".arrow": ("Arrow", "write it as Parquet, as in pandas.read_feather(...).to_parquet(...)"),
    ".sqlite": ("a SQLite database", "write the table as Parquet or as CSV"),
    ".sqlite3": ("a SQLite database", "write the table as Parquet or as CSV"),
    ".sav": ("an SPSS file", "write it as CSV or as Parquet"),
    ".dta": ("a Stata file", "write it as CSV or as Parquet"),
    ".sas7bdat": ("a SAS file", "write it as CSV or as Parquet"),
    ".rds": ("an R file", "write it as CSV, as with write.csv in R"),
    ".pkl": ("a pickle", "write it as Parquet, as in pandas.read_pickle(...).to_parquet(...)"),
}


def kind_of(path: Path) -> str:
    """Return parquet, csv or duckdb by the ending of a name, or say what to do about another one.

    >>> kind_of(Path("visits.csv.gz")), kind_of(Path("visits.tsv"))
    ('csv', 'csv')
    """
    check_no_folder(path)
    ending, _ = _ending(path)
    for kind, endings in _ENDINGS.items():
        if ending in endings:
            check_ending(path, kind)
            return kind
    _check_known(path, ending)
    raise CatalogError(
        f"{path.name!r} is of no kind that is read, by its ending; there are Parquet (.parquet), "
        "CSV (.csv, .tsv, .txt, also with .gz, .zst or .bz2) and DuckDB (.duckdb)"
    )


def check_no_folder(path: Path) -> None:
    """Refuse a folder, and say how the files in it are named."""
    if path.is_dir():
        held = {file.suffix.lower() for file in path.iterdir()}
        ending = next((end for end in (".csv", ".tsv") if end in held), ".parquet")
        raise CatalogError(
            f"{path.name!r} is a folder; name the files in it, as in '{path.name}/*{ending}'"
        )


def is_data(path: Path) -> bool:
    """Tell whether a file holds data, by its ending.

    >>> is_data(Path("visits.csv.gz")), is_data(Path("sordino.toml"))
    (True, False)
    """
    ending, _ = _ending(path)
    return ending in _KNOWN or any(ending in endings for endings in _ENDINGS.values())


def check_ending(path: Path, kind: str) -> None:
    """Refuse a file whose name says that it is not of a kind."""
    ending, packed = _ending(path)
    _check_known(path, ending)
    if packed and kind != "csv":
        raise CatalogError(f"{path.name!r} is packed as a whole ({packed}); {_UNPACK}")


def stem_of(path: Path) -> str:
    """Return the name of a file without its endings.

    >>> stem_of(Path("visits.csv.gz"))
    'visits'
    """
    _, packed = _ending(path)
    return Path(path.stem).stem if packed else path.stem


def table_name(path: Path) -> str:
    """Return what a table is called after its file, or after the folder of all of its files.

    >>> table_name(Path("visits 2024.csv.gz")), table_name(Path("months/*.parquet"))
    ('visits_2024', 'months')
    """
    stem = stem_of(path)
    if set(stem) & GLOB and not any(sign.isalpha() for sign in stem):
        folders = (folder.name for folder in path.parents if not set(folder.name) & GLOB)
        stem = next(folders, "")
    return re.sub(r"\W+", "_", stem).strip("_") or "data"


def reason(error: OSError, damaged: str = "it is damaged, or not what it should be") -> str:
    """Say why a file cannot be read: Arrow puts its path and more where the reason should be.

    >>> reason(PermissionError(13, "Failed to open local file 'visits.csv'"))
    'permission denied; let whoever runs this read it'
    """
    if isinstance(error, PermissionError):
        return "permission denied; let whoever runs this read it"
    return os.strerror(error.errno).lower() if error.errno else damaged


def _ending(path: Path) -> tuple[str, str]:
    """Return the ending that says what a file is, and the one that says how it is packed."""
    last = path.suffix.lower()
    if last not in PACKED:
        return last, ""
    return Path(path.stem).suffix.lower(), last


def _check_known(path: Path, ending: str) -> None:
    if ending in _KNOWN:
        what, hint = _KNOWN[ending]
        said = hint.format(path.name, stem_of(path))
        raise CatalogError(f"{path.name!r} is {what}, which is not read; {said}")


class Malformed(Exception):
    """A file that is not well-formed: the line, counted from 1, and why; no value is told."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


# R, pandas, SQL, Excel, SPSS and Stata, and those who type by hand.
WORDS = (
    *("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "NULL", "null", "Null", "None", "none"),
    *("NaT", "<NA>", "-", "--", ".", "?", "\\N", "n.a.", "N.A.", "n/d", "k. A.", "k.A."),
)


SEPARATORS = ",;\t|"


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a source: ``held`` is what the source calls its type.

    ``type`` is None if it has none of the six types, or if the source has no types, as CSV. It
    ``is_mixed`` if several files hold it differently, and ``is_partly_text`` if one has it as text.
    """

    name: str
    type: Type | None
    held: str
    is_mixed: bool = False
    is_partly_text: bool = False


Schema: TypeAlias = "tuple[SourceColumn, ...]"


@dataclass(frozen=True, slots=True)
class Reader:
    """How databases are read; the engines have it, and hand it down.

    A place is a DuckDB file, or the address of a server. ``schemas`` gives the schema of every
    table of a place, by name, and ``views`` the names of its views, which are not read; ``column``
    gives the Arrow column of a place, a table and a name. ``schema`` is that of one table of a
    server.
    """

    schemas: Callable[[Path | str], dict[str, Schema]]
    views: Callable[[Path | str], tuple[str, ...]]
    column: Callable[[Path | str, str, str], Any]
    schema: Callable[[ServerTable], Schema]


def schema_of(source: Source, reader: Reader | None = None) -> Schema | None:
    """Return the columns of a source, or None if nothing here can read it.

    Raises CatalogError if the source is not there or not what it is declared as.
    """
    match source:
        case ParquetFile():
            return parquet_schema(source.path)
        case CsvFile():
            return tuple(SourceColumn(name, None, "") for name in csv_names(source))
        case Frame():
            return arrow_schema(source.table.schema)
        case DuckdbTable():
            return None if reader is None else _duckdb_schema(source, reader)
        case PostgresTable() | SparkTable():
            return None if reader is None else reader.schema(source)
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


def _footer(path: Path) -> dict[str, SourceColumn]:
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


def _together(name: str, columns: list[SourceColumn]) -> SourceColumn:
    """Return one column for those of several files; one without any value says nothing of it."""
    some = [column for column in columns if column.held != "null"] or columns
    kinds = {column.type for column in some}
    kind = next((wide for narrow, wide in _WIDER if kinds <= narrow), None)
    forms = list(dict.fromkeys(column.held for column in some))
    is_mixed = len(forms) > 1
    return SourceColumn(name, kind, " or ".join(forms), is_mixed, is_mixed and Type.TEXT in kinds)


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
    return tuple(SourceColumn(field.name, type_of(field.type), str(field.type)) for field in schema)


def csv_names(source: CsvFile) -> tuple[str, ...]:
    """Return the names in the header of a CSV file; of several files, those that all have."""
    from sordino.catalog.csv.files import read_header  # pyarrow is loaded only where files are read

    first, *others = (
        read_header(replace(source, path=path)) for path in parquet_files(source.path)
    )
    return tuple(name for name in first if all(name in other for other in others))


def lacking(source: ParquetFile | CsvFile) -> dict[str, Path]:
    """Return the columns that some of several files have and others do not.

    Each is told with the first file that does not have it.
    """
    from sordino.catalog.csv.files import read_header  # pyarrow is loaded only where files are read

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
