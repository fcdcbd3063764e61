# SPDX-License-Identifier: Apache-2.0
"""Receipts that are remembered, so that a server cannot go back to an older ledger unnoticed.

There is one file for each server, which nobody but its owner can read. The newest receipt goes
along with every request, and a ledger that lacks its entry is refused by the server itself.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from threading import Lock
from typing import Any

from sordino.errors import LedgerError
from sordino.ledger.entry import Seen, read_seen

_LONGEST = 4_000  # characters that a server takes in one header


class Heads:
    """The receipts of one server."""

    def __init__(self, url: str, folder: Path | None = None) -> None:
        self._url = url
        name = sha256(url.encode()).hexdigest()[:32]
        self.path = (folder or _folder()) / f"{name}.json"
        self._turn = Lock()

    @property
    def newest(self) -> str | None:
        """The receipt that was remembered last, if it can be sent."""
        text = self._read().get("newest")
        is_sendable = (
            isinstance(text, str)
            and len(text) <= _LONGEST
            and text.isascii()
            and text.isprintable()
            and " " not in text
        )
        return text if is_sendable else None

    def remember(self, seen: Seen) -> None:
        """Keep a receipt, unless a newer one about the same people is kept."""
        with self._turn:
            kept = self._read()
            heads = kept.get("heads", {})
            known = heads.get(seen.people)
            if known is not None and read_seen(known).number >= seen.number:
                return
            heads[seen.people] = str(seen)
            self._write({"server": self._url, "newest": str(seen), "heads": heads})

    def _read(self) -> dict[str, Any]:
        try:
            kept = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            kept = None
        if not isinstance(kept, dict) or not isinstance(kept.get("heads"), dict):
            raise LedgerError(
                f"the receipts in {str(self.path)!r} cannot be read; remove the file to begin anew"
            )
        return kept

    def _write(self, kept: dict[str, Any]) -> None:
        write_private(self.path, json.dumps(kept, indent=1) + "\n")


def write_private(path: Path, text: str) -> None:
    """Put a text in the place of a file at once; nobody else can read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    held, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made with mode 0600
    try:
        with os.fdopen(held, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "sordino" / "heads"
