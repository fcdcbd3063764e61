# SPDX-License-Identifier: Apache-2.0
"""Where a ledger's files may lie, and how a new one comes into being whole."""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from glob import escape
from pathlib import Path

from sordino.errors import LedgerError

_REMOTE = (
    *("nfs", "cifs", "smb", "9p", "afs", "ncpfs", "ceph", "lustre", "glusterfs", "gpfs", "beegfs"),
    *("coda", "davfs", "vboxsf", "virtiofs", "orangefs", "ocfs2", "gfs2", "prl_fs", "fuse"),
)
_MOUNTS = Path("/proc/self/mounts")
_OCTAL = re.compile(r"\\([0-7]{3})")  # how spaces and the like are written there
_BRIEFLY = 1.0  # seconds in which a ledger that is being made has two names


def check_place(path: Path) -> os.stat_result:
    """Refuse a file that is no ledger or could become two of them, and return what is known of it.

    A file with two names would have two logs beside it, and on a network file system locks and
    flushes cannot be relied on: both could spend a budget twice.
    """
    _check_local(path.parent)
    if any(point == path for point, _ in _mounts()):
        raise LedgerError(
            f"the ledger {str(path)!r} is mounted by itself, and its log would not be beside it "
            "but lie in another folder, so that it could be spent twice; mount its folder"
        )
    until = time.monotonic() + _BRIEFLY
    while True:
        try:
            seen = path.stat()
        except OSError as error:
            raise LedgerError(
                f"the ledger {str(path)!r} cannot be opened: {error.strerror}"
            ) from None
        if not stat.S_ISREG(seen.st_mode):
            raise LedgerError(f"the ledger {str(path)!r} is not a file")
        if seen.st_nlink == 1:
            break
        if time.monotonic() > until and not _forget_drafts(path, seen):
            raise LedgerError(
                f"the ledger {str(path)!r} has a second name (a hard link), under which it could "
                "be spent twice; remove that name"
            )
        time.sleep(0.02)
    if seen.st_size == 0:
        raise LedgerError(
            f"the ledger {str(path)!r} is empty, and a ledger never is; put the newest copy back"
        )
    return seen


def create(path: Path, make: Callable[[Path], None]) -> None:
    """Let a new file be made under another name, and give it its own once it is whole.

    If somebody else was faster, theirs stays.
    """
    if not path.parent.is_dir():
        raise LedgerError(
            f"the ledger {str(path)!r} cannot be made: there is no folder {str(path.parent)!r}"
        )
    draft = path.with_name(f"{path.name}.new-{secrets.token_hex(8)}")
    try:
        try:
            make(draft)
            draft.chmod(0o600)  # it holds questions and answers, which are for the owner
            _sync(draft)
            os.link(draft, path)
        except FileExistsError:
            return
        finally:
            for beside in ("", "-wal", "-shm", "-journal"):
                draft.with_name(f"{draft.name}{beside}").unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise LedgerError(f"the ledger {str(path)!r} cannot be made: {error.strerror}") from None


def sync_folder(folder: Path) -> None:
    """Make the names of new files durable."""
    _sync(folder)


def _sync(path: Path) -> None:
    held = os.open(path, os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)


def _forget_drafts(path: Path, seen: os.stat_result) -> bool:
    """Remove the name under which a ledger was made, if its maker did not come to it."""
    drafts = []
    for draft in path.parent.glob(f"{escape(path.name)}.new-*"):
        with suppress(FileNotFoundError):  # its maker came to it after all
            if draft.stat().st_ino == seen.st_ino:
                drafts.append(draft)
    for draft in drafts:
        draft.unlink(missing_ok=True)
    return bool(drafts)


def _check_local(folder: Path) -> None:
    kind = _file_system(folder)
    if kind.startswith(_REMOTE) and kind != "fuseblk":  # which is a local disk of another system
        raise LedgerError(
            f"{str(folder)!r} is on a network file system ({kind}), which cannot keep a ledger: "
            "its locks and flushes are not to be relied on; use a local disk, or PostgreSQL"
        )


def _file_system(folder: Path) -> str:
    """Return the kind of file system of a folder, or nothing where the system does not tell."""
    best, kind = -1, ""
    for mount, name in _mounts():
        if folder.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), name
    return kind


def _mounts() -> list[tuple[Path, str]]:
    """Return every mount point with its kind of file system, or nothing where it is not told."""
    if not _MOUNTS.exists():
        return []
    lines = [line.split(" ") for line in _MOUNTS.read_text("utf-8", "replace").splitlines()]
    return [(Path(_OCTAL.sub(lambda c: chr(int(c[1], 8)), at)), kind) for _, at, kind, *_ in lines]


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return a path without links, so that a ledger has one log whatever it is called by."""
    try:
        found = Path(path).resolve()
        found.exists()
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise LedgerError(f"the ledger {str(path)!r} cannot be opened: {why}") from None
    return found


def inode(seen: os.stat_result) -> tuple[int, int]:
    """Return which file it is, whatever its name."""
    return seen.st_dev, seen.st_ino


def beside(name: str) -> list[tuple[int, int] | None]:
    """Return which files the log and its index are: a removed one is still written to."""
    found: list[tuple[int, int] | None] = []
    for end in ("-wal", "-shm"):
        try:
            found.append(inode(os.stat(name + end)))  # noqa: PTH116
        except OSError:
            found.append(None)
    return found
