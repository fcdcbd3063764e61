# SPDX-License-Identifier: Apache-2.0
"""Which files a catalog may name that came with a call, and not from the server's own folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sordino.catalog.model import Catalog, Source, file_of
from sordino.catalog.schemas import parquet_files
from sordino.errors import CatalogError
from sordino.session.owner_log import OLDER, path_of

_LEDGER_ENDS = ("", "-wal", "-shm", "-journal")


class Reach:
    """Files that are served already, and those below a catalog's folder but the server's own.

    Whoever calls cannot look at the machine of the keeper: what a refusal says of a file that they
    name, and that it is there at all, would show it to them.
    """

    def __init__(self, catalog: Catalog, path: Path, state: Path) -> None:
        self._folder = path.parent
        self._served = {file_of(table.source) or table.source for table in catalog.tables}
        self._closed = {_real(one) for one in _own(catalog, state)}

    def check(self, source: Source) -> None:
        """Refuse files, or a table of a server, that are out of reach; none is opened."""
        path = file_of(source)
        if (path or source) in self._served:
            return
        if path is None:
            raise CatalogError(
                "a catalog that is sent may name those tables of servers alone that are served "
                "already; to serve others, change the catalog on the server, and swap it without "
                "sending one"
            )
        folder = os.path.normpath(self._folder)
        if ".." in path.parts or Path(folder) not in path.parents:
            raise _out_of_reach(path)
        try:
            files = parquet_files(path)
        except CatalogError:
            return  # there are none, which is told where they would be read
        root = _real(self._folder)
        for file in map(_real, files):
            if root not in file.parents or not self._closed.isdisjoint((file, *file.parents)):
                raise _out_of_reach(path)


def _out_of_reach(path: Path) -> CatalogError:
    return CatalogError(
        f"a catalog that is sent may not name {str(path)!r}: it names files that are served "
        "already, or that lie below the folder of the catalog and are not the server's own; to "
        "serve others, change the catalog on the server, and swap it without sending one"
    )


def _own(catalog: Catalog, state: Path) -> Iterator[Path]:
    """Yield the server's own files and folders."""
    yield state
    book = catalog.book
    if book is not None:
        yield from (one for one in (book.anchor, book.key) if one is not None)
        if isinstance(book.place, Path):
            yield from (book.place.with_name(book.place.name + end) for end in _LEDGER_ENDS)
    log = path_of(catalog, book)
    if log is not None:
        yield from (log, log.with_name(log.name + OLDER))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # which raises for no loop of links
