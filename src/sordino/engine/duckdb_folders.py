# SPDX-License-Identifier: Apache-2.0
"""Folders for what does not fit in memory: named after their process, and not left behind."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

_MOST = 50 * 10**9  # bytes
_NAME = re.compile(r"sordino-(?P<where>[0-9a-f]{8})-(?P<pid>[1-9][0-9]{0,9})-.+")


def own_prefix() -> str:
    """Return what the names of this process's folders begin with."""
    return f"sordino-{_where()}-{os.getpid()}-"


def _where() -> str:
    """Return what stands for this machine or container, where numbers of processes mean one."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{zlib.crc32(f'{platform.node()} {space}'.encode()):08x}"


def largest_spill(folder: Path) -> str:
    """Return how much a database may put into a folder: half of what is free, and 50 GB at most."""
    return f"{min(shutil.disk_usage(folder).free // 2, _MOST)}B"


def remove_stale(parent: Path | None = None) -> None:
    """Remove folders of our own that a process which is gone has left, say because it was killed.

    A folder of another user or machine, or of a number that some process has now, stays.
    """
    with suppress(OSError):
        for folder in Path(parent or tempfile.gettempdir()).glob("sordino-*"):
            found = _NAME.fullmatch(folder.name)
            if not found or found["where"] != _where():
                continue
            if _is_own(folder) and not _lives(int(found["pid"])):
                shutil.rmtree(folder, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    """Tell whether a folder is one, no link, and belongs to who runs this."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def _lives(pid: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
