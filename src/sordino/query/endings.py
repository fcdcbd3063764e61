# SPDX-License-Identifier: Apache-2.0
"""What a file is by the ending of its name: which are read, and what to do with the others."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sordino.errors import CatalogError

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
