# SPDX-License-Identifier: Apache-2.0
"""The files that a catalog needs, which nothing else may be written to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from sordino.ledger.forks import stores
from sordino.query.catalog import Book, Catalog, CsvFile, DuckdbTable, ParquetFile

_BESIDE = ("", "-wal", "-shm", "-journal")  # what SQLite writes for one file
_DRAFT = ".new-"  # follows the name of a ledger that is being made


def is_needed(path: Path, catalog: Catalog, book: Book | None) -> bool:
    """Tell whether a file, or one that would have this name, belongs to a catalog or its ledger.

    Links are followed on both sides, and a second name of the same file counts as that file.
    """
    meant = _real(path)
    for one in needed(catalog, book):
        there = _real(one)
        if meant == there or _is_same(path, one) or fnmatch(str(meant), str(there)):
            return True
    return is_of_a_ledger(path) or any(
        meant.parent == ledger.parent and meant.name.startswith(f"{ledger.name}{_DRAFT}")
        for ledger in map(_real, _ledgers(catalog, book))
    )


def needed(catalog: Catalog, book: Book | None) -> Iterator[Path]:
    """Return the catalog, its ledger with what belongs to it, and its sources, some as patterns."""
    if catalog.path is not None:
        yield catalog.path
    for one in (catalog.book, book):
        if one is not None:
            yield from (path for path in (one.anchor, one.key) if path is not None)
    for ledger in _ledgers(catalog, book):
        yield from (ledger.with_name(ledger.name + end) for end in _BESIDE)
    for table in catalog.tables:
        if isinstance(table.source, ParquetFile | CsvFile | DuckdbTable):
            yield table.source.path
            yield from table.source.path.parent.glob(table.source.path.name)
            if isinstance(table.source, DuckdbTable):
                yield table.source.path.with_name(f"{table.source.path.name}.wal")


def is_of_a_ledger(path: Path) -> bool:
    """Tell whether a file belongs to a ledger that this process has open.

    Such a file is never opened but by SQLite: to close it would end the locks of this process.
    """
    return any(
        _is_same(path, store.path.with_name(store.path.name + end))
        for store in stores()
        for end in _BESIDE
    )


def _ledgers(catalog: Catalog, book: Book | None) -> Iterator[Path]:
    for one in (catalog.book, book):
        if one is not None and isinstance(one.place, Path):
            yield one.place


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # which raises for no loop of links


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False
