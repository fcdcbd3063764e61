# SPDX-License-Identifier: Apache-2.0
"""Starting a keeper: its folder, its lock, its session, its socket, and its end."""

from __future__ import annotations

import argparse
import fcntl
import logging
import os
import signal
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Event, Thread

from sordino.errors import SordinoError
from sordino.keeper.generations import open_generation
from sordino.keeper.keeper import Keeper
from sordino.keeper.quotes import read_key
from sordino.keeper.socket import Door
from sordino.keeper.state import State, StateError

STATE, KEY, SOCKET, LOG, LOCK = (
    "keeper.db",
    "secret.key",
    "keeper.sock",
    "keeper.log",
    "keeper.lock",
)
READY = b"ready\n"
FAILED = 2
_LARGEST_LOG = 10 * 1024 * 1024
_OLDER_LOGS = 3


def folder_of(catalog: Path) -> Path:
    """Return the state folder of a catalog if none is named.

    >>> str(folder_of(Path("study/sordino.toml")))
    'study/sordino.server'
    """
    return catalog.with_name(f"{catalog.stem}.server")


def make_folder(folder: Path) -> Path:
    """Make the state folder, and refuse one that others can look into."""
    folder.mkdir(mode=0o700, exist_ok=True)
    seen = folder.stat()
    if stat.S_IMODE(seen.st_mode) & 0o077 or seen.st_uid != os.geteuid():
        raise StateError(f"the folder {str(folder)!r} must be yours alone: chmod 700")
    return folder


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the one keeper of a state folder, as a context."""
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateError(f"another keeper is using {str(folder)!r}") from None
        yield


def open_keeper(catalog: Path, folder: Path) -> Keeper:
    """Open a keeper on a catalog, with its own state in a folder."""
    key = read_key(folder / KEY)
    state = State(folder / STATE)
    try:
        return Keeper(open_generation(catalog), state, key)
    except BaseException:
        state.close()
        raise


def serve(catalog: Path, folder: Path, *, ready: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT comes; what was charged is answered first.

    A line is written to the descriptor ``ready`` once connections are taken.
    """
    make_folder(folder)
    ending = Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: ending.set())
    with locked(folder):
        _log_to(folder / LOG)
        keeper = open_keeper(catalog, folder)
        door = Door(folder / SOCKET, keeper.reply)
        door.listen()
        taking = Thread(target=door.serve, daemon=True)
        taking.start()
        if ready is not None:
            os.write(ready, READY)
            os.close(ready)
        ending.wait()
        door.close(_patience(keeper))
        keeper.close()


def _patience(keeper: Keeper) -> float:
    """Return how long a question that was charged may still take."""
    slots = keeper.slots
    return 60.0 if slots.length is None else float(slots.length) * (slots.deadline + 1)


def _log_to(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    path.chmod(0o600)
    handler = RotatingFileHandler(path, maxBytes=_LARGEST_LOG, backupCount=_OLDER_LOGS)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("sordino.keeper")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a keeper; ``python -m sordino.keeper`` does."""
    parser = argparse.ArgumentParser(prog="python -m sordino.keeper")
    parser.add_argument("catalog", type=Path)
    parser.add_argument("--state", type=Path, default=None)
    parser.add_argument("--ready", type=int, default=None, help="a descriptor to write a line to")
    stated = parser.parse_args(arguments)
    try:
        serve(stated.catalog, stated.state or folder_of(stated.catalog), ready=stated.ready)
    except SordinoError as error:
        parser.exit(FAILED, f"{error}\n")
    return 0
