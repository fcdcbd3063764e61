# SPDX-License-Identifier: Apache-2.0
"""Where a ledger's files may lie, and how a new one comes into being whole."""

from __future__ import annotations

import fcntl
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
_LOCK = ".lock"  # follows the name of a draft that somebody is at work on
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
        raise never_made(path)
    return seen


def never_made(path: Path) -> LedgerError:
    """Say what to do about a file without a ledger in it, as a full disk left it in version 0.1."""
    return LedgerError(
        f"the ledger {str(path)!r} is empty, and a ledger never is: put the newest copy back; if "
        "there has never been one, because the disk was full when it was to be made, remove the "
        "file and open it again"
    )


def create(path: Path, make: Callable[[Path], None]) -> None:
    """Let a new file be made under another name, and give it its own once it is whole.

    If somebody else was faster, theirs stays. What others who failed have left is removed.
    """
    if not path.parent.is_dir():
        raise LedgerError(
            f"the ledger {str(path)!r} cannot be made: there is no folder {str(path.parent)!r}"
        )
    try:
        _remove_abandoned(path)
        draft, held = _begun(path)
        try:
            make(draft)
            _sync(draft)
            os.link(draft, path)
        except FileExistsError:
            return
        finally:
            _remove(draft)
            os.close(held)
        sync_folder(path.parent)
    except OSError as error:
        raise LedgerError(f"the ledger {str(path)!r} cannot be made: {error.strerror}") from None


def _begun(path: Path) -> tuple[Path, int]:
    """Begin a draft that only the owner can read, because it will hold questions and answers.

    The lock beside it says that somebody is at work, and is held until the draft is done. It is a
    file of its own: once the draft is the ledger, closing it would end all locks that this process
    has there, and with them what keeps two charges apart.
    """
    while True:
        draft = path.with_name(f"{path.name}.new-{secrets.token_hex(8)}")
        held = begin(_lock_of(draft))
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            if os.fstat(held).st_nlink:  # nobody took it for abandoned before it was locked
                os.close(begin(draft))  # before SQLite knows it
                return draft, held
        except BaseException:
            _remove(draft)
            os.close(held)
            raise
        os.close(held)


def begin(draft: Path) -> int:
    """Make a new file that only its owner can read, and return it open."""
    return os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _remove_abandoned(path: Path) -> None:
    """Remove the drafts of whoever was killed: those that nobody holds the lock of.

    A draft is never opened here, for another thread may have it as its ledger by now. One without a
    lock is done, or was left by a version that locked the draft itself.
    """
    for draft in path.parent.glob(_drafts(path)):
        if not _lock_of(draft).exists():
            _remove(draft)
    for lock in path.parent.glob(f"{_drafts(path)}{_LOCK}"):
        with suppress(FileNotFoundError, BlockingIOError):  # somebody else is at it
            held = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(lock.with_name(lock.name.removesuffix(_LOCK)))
            finally:
                os.close(held)


def _drafts(path: Path) -> str:
    return f"{escape(path.name)}.new-{'[0-9a-f]' * 16}"


def _lock_of(draft: Path) -> Path:
    return draft.with_name(f"{draft.name}{_LOCK}")


def _remove(draft: Path) -> None:
    # The lock goes first: a draft without one is known to be nobody's, and a lock alone is not.
    for beside in (_LOCK, "-wal", "-shm", "-journal", ""):
        draft.with_name(f"{draft.name}{beside}").unlink(missing_ok=True)


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
        _lock_of(draft).unlink(missing_ok=True)
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
