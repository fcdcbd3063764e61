# SPDX-License-Identifier: Apache-2.0
"""Starting a keeper: its folder, its lock, its session, its socket, and its end."""

from __future__ import annotations

import argparse
import fcntl
import logging
import os
import resource
import signal
import socket
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Event, Thread

from sordino.channel.listening import announce
from sordino.errors import CatalogError, LedgerError, SordinoError
from sordino.keeper.asking import resume
from sordino.keeper.catalogs import finish_swap
from sordino.keeper.generations import open_generation
from sordino.keeper.keeper import Keeper
from sordino.keeper.people import DAY
from sordino.keeper.quotes import read_key
from sordino.keeper.socket import Door, Notice
from sordino.keeper.state import State, StateError
from sordino.keeper.tokens import scopes_of
from sordino.keeper.trials import check_slot, rehearse_first
from sordino.session.session import OWNER

STATE, KEY, SOCKET, LOG, LOCK = (
    "keeper.db",
    "secret.key",
    "keeper.sock",
    "keeper.log",
    "keeper.lock",
)
FIRST = "owner.token"  # where the first token waits if nobody is there to be told
_FIRST_OF_SYSTEMD = 3  # the descriptor of a socket that systemd hands over
OWNERS_SOCKET = "owner.sock"  # where counts are told
FAILED, UNUSABLE = 2, 4  # exit codes, as everywhere
_LOG = logging.getLogger("sordino.keeper")
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
    key, path = read_key(_key_of(folder)), catalog.resolve()
    state = State(folder / STATE)
    try:
        try:
            finish_swap(folder, path)
        except (CatalogError, LedgerError) as error:
            _LOG.error("a swap of the catalog was begun and is refused: %s", type(error).__name__)
        return Keeper(open_generation(path), state, key)
    except BaseException:
        state.close()
        raise


def _key_of(folder: Path) -> Path:
    """Return where the key of quotes is: among the credentials of systemd, or in the folder."""
    handed = os.environ.get("CREDENTIALS_DIRECTORY")
    if handed is not None and (Path(handed) / KEY).is_file():
        return Path(handed) / KEY
    return folder / KEY


def serve(catalog: Path, folder: Path, *, ready: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT comes; what was charged is answered first.

    A line of JSON is written to the descriptor ``ready`` once connections are taken; at the very
    first start it has the owner's token. Without ``ready``, or if this process is killed before it
    has written the line, that token is in the file owner.token, to be taken out of there.
    """
    make_folder(folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what this process holds is in no file
    ending = Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: ending.set())
    with locked(folder):
        _log_to(folder / LOG)
        keeper = open_keeper(catalog, folder)
        owner = _first_owner(keeper, folder / FIRST)
        doors = _doors(keeper, folder)
        notice = Notice(folder / OWNERS_SOCKET, keeper.numbers)
        rehearse_first(keeper)
        for door in doors:
            Thread(target=door.serve, daemon=True).start()
        Thread(target=check_slot, args=(keeper, _warn), daemon=True).start()
        if keeper.generations.now.catalog.serving.resume:
            Thread(target=resume, args=(keeper,), daemon=True).start()
        announce(ready, owner=owner)
        if owner is not None and ready is not None:
            (folder / FIRST).unlink(missing_ok=True)
        ending.wait()
        for door in doors:
            door.close(_patience(keeper))
        notice.close()
        keeper.close()


def _doors(keeper: Keeper, folder: Path) -> list[Door]:
    """Return the door in the folder, and one at a socket that systemd hands over."""
    doors = [Door(folder / SOCKET, keeper.reply)]
    doors[0].listen()
    if os.environ.pop("LISTEN_PID", "") == str(os.getpid()):
        handed = socket.socket(fileno=_FIRST_OF_SYSTEMD)
        doors.append(Door(Path(handed.getsockname()), keeper.reply))
        doors[1].listen(handed)
    return doors


def _first_owner(keeper: Keeper, path: Path) -> str | None:
    """Make an owner where there is nobody yet, and return their token, which is told once.

    It is in a file before there is an owner, so that a keeper that is killed before the token is
    told leaves none without a token.
    """
    if keeper.people.all():
        return None
    with keeper.state.writing():
        keeper.people.put(OWNER, ("owner",), by=OWNER)
        scopes = scopes_of(("owner",))
        secret, _ = keeper.tokens.make(OWNER, scopes, seconds=90 * DAY, fresh=True, note="first")
        _write(path, secret)
    return secret


def _warn(text: str) -> None:
    """Tell the owner something: in the log, and where the server was started."""
    _LOG.warning(text)
    print(f"sordino keeper: {text}", file=sys.stderr, flush=True)  # noqa: T201


def _write(path: Path, token: str) -> None:
    """Write a token into a new file that only its owner can read."""
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:  # noqa: PTH123 - a descriptor
        file.write(f"{token}\n")
        file.flush()
        os.fsync(file.fileno())


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
        parser.exit(UNUSABLE if isinstance(error, LedgerError) else FAILED, f"sordino: {error}\n")
    return 0
