# SPDX-License-Identifier: Apache-2.0
"""Backups of a server: copies that are whole while it runs, and what has to be right of them.

A backup is a folder with the ledger, the keeper's file, the catalog and the heads, and a list of
their hashes. Keys go into a folder of their own, to be kept elsewhere: with them, whoever has the
backup can write entries that verify. The ledger is copied before the keeper's file, so that what
the keeper remembers of a token's spending is never less than what the ledger holds.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import sordino
from sordino.catalog.model import Book
from sordino.catalog.toml import read_catalog
from sordino.errors import SordinoError
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import read_seen
from sordino.ledger.ledger import Ledger
from sordino.ledger.opening import open_ledger
from sordino.ledger.verify import Verified, verify

MANIFEST: Final = "backup.json"
LEDGER, STATE, CATALOG = "ledger", "keeper.db", "sordino.toml"
LEDGER_KEY, QUOTE_KEY = "ledger.key", "secret.key"
FORMAT: Final = 1
_PAGES = 256  # copied between two looks at who else writes


class BackupError(SordinoError):
    """A backup cannot be made, or is not as it has to be; the text is for the owner alone."""

    code: str = "backup"


@dataclass(frozen=True, slots=True)
class Backup:
    """What is in a backup: where, of when, and the newest entry of each id space."""

    folder: Path
    keys: Path
    made: str
    files: Mapping[str, str]  # and their hashes
    heads: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """Return what the manifest says, and where the folders are."""
        return {
            "folder": str(self.folder),
            "keys": str(self.keys),
            "made": self.made,
            "files": dict(self.files),
            "heads": dict(self.heads),
        }


def back_up(catalog: Path, state: Path, folder: Path, keys: Path) -> Backup:
    """Copy a server into two new folders, while it runs or not; raises BackupError."""
    declared = read_catalog(catalog)
    book = declared.book
    if book is None or not isinstance(book.place, Path):
        raise BackupError(
            "this ledger is kept in PostgreSQL, which has backups of its own; 'sordino backup' "
            "copies ledgers that are files"
        )
    for needed in (book.place, state / STATE):
        if not needed.is_file():
            raise BackupError(f"there is no {str(needed)!r} yet; nothing was served")
    _make(folder)
    _make(keys)
    _copy_database(book.place, folder / LEDGER)
    _copy_database(state / STATE, folder / STATE)
    _copy(catalog, folder / CATALOG)
    for source, target in ((book.key, LEDGER_KEY), (state / QUOTE_KEY, QUOTE_KEY)):
        if source is not None and source.is_file():
            _copy(source, keys / target)
    key = keys / LEDGER_KEY
    with closing(_opened(folder, key if book.key is not None else None)) as ledger:
        heads = {one.people: str(one.head) for one in verify(ledger)}
    made = datetime.now(UTC).isoformat(timespec="seconds")
    files = {name: _hash(folder / name) for name in (LEDGER, STATE, CATALOG)}
    backup = Backup(folder, keys, made, files, heads)
    manifest = {
        "format": FORMAT,
        "sordino": sordino.__version__,
        "made": made,
        "files": files,
        "heads": heads,
        "keyed": book.key is not None,
    }
    _write(folder / MANIFEST, json.dumps(manifest, indent=2).encode() + b"\n")
    return backup


def check(folder: Path, keys: Path) -> tuple[Backup, tuple[Verified, ...]]:
    """Say what is in a backup after all of it was looked at; raises BackupError."""
    manifest = _manifest(folder / MANIFEST)
    for name, digest in manifest["files"].items():
        path = folder / name
        if not path.is_file() or _hash(path) != digest:
            raise BackupError(f"{str(path)!r} is not as it was when the backup was made")
    key = keys / LEDGER_KEY
    if manifest["keyed"] and not key.is_file():
        raise BackupError(
            f"the ledger has a key, and there is none in {str(keys)!r}; name the folder of keys "
            "with --keys"
        )
    with closing(_opened(folder, key if manifest["keyed"] else None)) as ledger:
        for head in manifest["heads"].values():
            ledger.hold_to(read_seen(head))
        verified = verify(ledger)
    _check_state(folder / STATE)
    heads = manifest["heads"]
    return Backup(folder, keys, manifest["made"], manifest["files"], heads), verified


def restore(folder: Path, keys: Path, catalog: Path, state: Path) -> tuple[Backup, Path]:
    """Put a backup where a server will find it; nothing is ever written over.

    The catalog goes to ``catalog`` unless it is there already, and the ledger to where that
    catalog says. Returns the backup and the place of the ledger.
    """
    backup, _ = check(folder, keys)
    if not catalog.exists():
        _copy(folder / CATALOG, catalog)
    book = read_catalog(catalog).book
    if book is None or not isinstance(book.place, Path):
        raise BackupError(f"{str(catalog)!r} keeps its ledger in PostgreSQL, not in a file")
    ledger = book.place
    ends = ("", "-wal", "-shm")
    there = [*(ledger.with_name(ledger.name + end) for end in ends), state / STATE]
    there += [one for one in (book.anchor,) if one is not None]
    for path in there:
        if path.exists():
            raise BackupError(
                f"{str(path)!r} is there already, and may be newer than the backup; move it away "
                "if it is not to be used any more"
            )
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    state.chmod(0o700)
    _copy(folder / LEDGER, ledger)
    _copy(folder / STATE, state / STATE)
    if book.anchor is not None:
        anchor = Anchor(book.anchor)
        for head in backup.heads.values():
            anchor.write(read_seen(head))
    for name, target in ((LEDGER_KEY, book.key), (QUOTE_KEY, state / QUOTE_KEY)):
        if target is not None and (keys / name).is_file() and not target.exists():
            _copy(keys / name, target)
    return backup, ledger


def _opened(folder: Path, key: Path | None) -> Ledger:
    """Open the ledger of a backup with the terms of its catalog."""
    return open_ledger(read_catalog(folder / CATALOG), Book(folder / LEDGER, None, key))


def _manifest(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        raise BackupError(f"there is no backup in {str(path.parent)!r}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BackupError(f"{str(path)!r} was written by another version of sordino")
    names = set(found["files"])
    if names != {LEDGER, STATE, CATALOG}:
        raise BackupError(f"{str(path)!r} lists other files than a backup has")
    return found


def _check_state(path: Path) -> None:
    """Let SQLite look at the copy, which nobody else uses."""
    with closing(sqlite3.connect(_address(path, "mode=ro&immutable=1"), uri=True)) as copy:
        (said,) = copy.execute("PRAGMA integrity_check").fetchone()
    if said != "ok":
        raise BackupError(f"{str(path)!r} is damaged")


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database of SQLite page by page, as one moment has it, while others write."""
    _write(target, b"")
    with (
        closing(sqlite3.connect(_address(source, "mode=ro"), uri=True)) as read,
        closing(sqlite3.connect(target)) as written,
    ):
        read.backup(written, pages=_PAGES)
        written.execute("PRAGMA journal_mode = DELETE")
    _sync(target)


def _address(path: Path, query: str) -> str:
    """Return how SQLite is told where a file is, whatever characters its name has."""
    return f"{path.absolute().as_uri()}?{query}"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise BackupError(f"{str(folder)!r} is there already; name a new folder") from None
    except FileNotFoundError:
        raise BackupError(f"there is no folder {str(folder.parent)!r}") from None


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as read:
        if not stat.S_ISREG(os.fstat(read.fileno()).st_mode):
            raise BackupError(f"{str(source)!r} is no file")
        with open(_new(target), "wb") as written:
            shutil.copyfileobj(read, written)
    _sync(target)


def _write(target: Path, content: bytes) -> None:
    with open(_new(target), "wb") as written:
        written.write(content)
    _sync(target)


def _new(target: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(target, flags, 0o600)
    except FileExistsError:
        raise BackupError(f"{str(target)!r} is there already; nothing is written over") from None


def _sync(path: Path) -> None:
    for one in (path, path.parent):
        held = os.open(one, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(held)
        finally:
            os.close(held)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
