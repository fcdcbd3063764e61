# SPDX-License-Identifier: Apache-2.0
"""The access log: one line for each request, with nothing of what was asked or who asked.

A line has the time, the number of the request, its method and route, the status, the bytes of the
answer, and milliseconds. A route is written as the table of calls has it, ``/v1/answers/{answer}``,
so no name, no query, no body and no credential can come into it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sordino.channel.calls import CALLS

OLDER = ".1"  # follows the name of a log that was full
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", *(call.method for call in CALLS)})
_NONE = "-"
_OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class Served:
    """What the log tells of one request; ``route`` is that of the table, or nothing."""

    number: str
    method: str
    route: str
    status: int
    size: int
    seconds: float

    @property
    def line(self) -> str:
        """All of it but the time; a method that nobody knows could be anything, and is left out."""
        method = self.method if self.method in _METHODS else _NONE
        about = f"{self.number} {method} {self.route or _NONE} {self.status} {self.size}"
        return f"{about} {1000 * self.seconds:.1f}"


class AccessLog:
    """Lines on standard error, or in a file that several workers write to.

    A file that is full is put aside as ``access.log.1``, and the one before is gone.
    """

    def __init__(self, path: Path | None, *, largest: int = 10 << 20) -> None:
        self._path, self._largest = path, largest
        self._file = -1
        if path is not None:
            self._open(path)

    def write(self, served: Served) -> None:
        """Write the line of one request."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        line = f"{now} {served.line}\n"
        if self._path is None:
            sys.stderr.write(line)
            return
        with self._turn(self._path):
            os.write(self._file, line.encode())

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        held = os.open(path, flags, _OWNER_ONLY)
        self.close()
        self._file = held

    @contextmanager
    def _turn(self, path: Path) -> Iterator[None]:
        """Hold the file that the name stands for now, with room in it for a line."""
        for _ in range(3):  # another worker may put it aside before the lock is held
            fcntl.flock(self._file, fcntl.LOCK_EX)
            held = os.fstat(self._file)
            if not _is(path, held):
                self._open(path)
                continue
            if held.st_size >= self._largest:
                path.rename(path.with_name(path.name + OLDER))
                self._open(path)
                continue
            break
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)


def _is(path: Path, held: os.stat_result) -> bool:
    with contextlib.suppress(FileNotFoundError):
        there = path.lstat()
        return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)
    return False


class Numbers:
    """Numbers of requests: of no meaning, and different in each worker and after each start."""

    def __init__(self) -> None:
        self._prefix = f"{time.time_ns() // 1000 % (1 << 40):010x}{os.getpid() % (1 << 16):04x}"
        self._count = 0

    def next(self) -> str:
        """Return the number of the next request."""
        self._count += 1
        return f"{self._prefix}-{self._count}"
