# SPDX-License-Identifier: Apache-2.0
"""Why DuckDB does not open a file, in words that say what to do; its own may be of no use here."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from sordino.errors import CatalogError

_LOCK = re.compile(r"Conflicting lock is held in (.+?) \(PID (\d+)\)")


def unopened(path: Path, error: duckdb.Error) -> CatalogError:
    """Return what is said of a DuckDB file that cannot be opened.

    >>> said = "IO Error: Conflicting lock is held in /usr/bin/duckdb (PID 7). See also https://..."
    >>> print(unopened(Path("h.duckdb"), duckdb.IOException(said)))
    'h.duckdb' is open in another program (duckdb, process 7); close it there, or name a copy of it
    """
    said, where = str(error), repr(str(path))
    if held := _LOCK.search(said):
        program, process = Path(held[1]).name, held[2]
        return CatalogError(
            f"{where} is open in another program ({program}, process {process}); close it there, "
            "or name a copy of it"
        )
    if "Could not set lock" in said:
        return CatalogError(
            f"{where} is open in another program; close it there, or name a copy of it"
        )
    if "Permission denied" in said:
        return CatalogError(
            f"{where} cannot be read: permission denied; let whoever runs this read it"
        )
    if "version number" in said:
        return CatalogError(
            f"{where} was written by another version of DuckDB than {duckdb.__version__}, which is "
            "used here; write its tables as Parquet, or the file anew with that version"
        )
    return CatalogError(f"{where} is not a DuckDB file, or it is damaged; write it anew")
