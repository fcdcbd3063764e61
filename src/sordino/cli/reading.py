# SPDX-License-Identifier: Apache-2.0
"""Reading a ledger without making one, and writing files without harming one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sordino.catalog.model import Book, Catalog
from sordino.errors import LedgerError
from sordino.ledger.anchor import Anchor
from sordino.ledger.ledger import Ledger
from sordino.ledger.opening import check_never_made, open_ledger
from sordino.session.owner_log import OLDER, is_needed, path_of


@contextmanager
def ledger_of(catalog: Catalog) -> Iterator[Ledger]:
    """Open the ledger of a catalog; one that is not there yet is imagined in memory, not made."""
    book = catalog.book
    ledger = open_ledger(catalog, book if is_there(book) else None)
    try:
        yield ledger
    finally:
        ledger.close()


def refusal_of(catalog: Catalog) -> str:
    """Say why the ledger would answer no question, such as other limits on record, or nothing."""
    try:
        with ledger_of(catalog) as ledger:
            ledger.check_terms()
    except LedgerError as error:
        return str(error)
    return ""


def unwritten_of(book: Book | None) -> Iterator[tuple[str, str]]:
    """Say of the files that a question writes which cannot be written, and what to do."""
    files = () if book is None else (("ledger", book.place), ("anchor", book.anchor))
    for what, file in files:
        if not isinstance(file, Path):
            continue
        if not file.parent.is_dir():
            said = f"there is no folder {str(file.parent)!r} for the {what}"
            yield said, f"make the folder, or state another {what} in [ledger]"
        elif not os.access(file if file.exists() else file.parent, os.W_OK):
            yield (
                f"the {what} {str(file)!r} cannot be written by who runs this",
                "let whoever asks questions write the file and its folder",
            )


def is_there(book: Book | None) -> bool:
    """Tell whether there is a ledger; raises LedgerError if there has been one."""
    if book is None:
        return False
    if not isinstance(book.place, Path) or book.place.exists():
        return True
    if book.anchor is not None:
        check_never_made(Anchor(book.anchor), book.place)
    return False


def check_there(catalog: Catalog) -> Book:
    """Return where the ledger is; raises LedgerError if nothing was asked yet."""
    book = catalog.book
    if book is None or not is_there(book):
        place = "" if book is None else f" {str(book.place)!r}"
        raise LedgerError(f"there is no ledger{place} yet; the first question makes it")
    return book


def check_target(path: Path | None, catalog: Catalog) -> None:
    """Refuse to write over what is needed: the catalog, the data, the ledger and what goes with it.

    It is looked at before anything is charged, and so is whether the folder is there.
    """
    if path is None:
        return
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; name a file to write")
    if any(_is_log(path, log) for log in _logs(catalog)) or is_needed(path, catalog, catalog.book):
        raise ValueError(f"{str(path)!r} belongs to the catalog; write to another file")


def _logs(catalog: Catalog) -> list[Path]:
    log = path_of(catalog, catalog.book)
    return [] if log is None else [log, log.with_name(log.name + OLDER)]


def _is_log(path: Path, log: Path) -> bool:
    return path.resolve() == log.resolve() or (
        path.exists() and log.exists() and path.samefile(log)
    )
