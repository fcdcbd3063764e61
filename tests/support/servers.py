# SPDX-License-Identifier: Apache-2.0
"""Servers for tests, started by the command line as whoever runs one starts it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


@dataclass
class RunningServer:
    """A server that is ready; ``told`` is the line of JSON that it printed."""

    process: subprocess.Popen[bytes]
    told: dict[str, Any]

    @property
    def url(self) -> str:
        return str(self.told["url"])

    @property
    def state(self) -> Path:
        return Path(self.told["state"])

    def token(self, name: str) -> str:
        return str(next(one["token"] for one in self.told["people"] if one["name"] == name))

    def children(self) -> dict[str, int]:
        """The processes of the keeper and of the gateway."""
        at = self.process.pid
        listed = Path(f"/proc/{at}/task/{at}/children").read_text("ascii").split()
        named = {}
        for number in map(int, listed):
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
            if len(words) > 2 and words[1] == b"-m":
                named[words[2].decode().removeprefix("sordino.")] = number
        return named

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


def is_running(number: int) -> bool:
    """Whether there is such a process; one that only waits to be buried is none."""
    try:
        about = Path(f"/proc/{number}/stat").read_text("ascii", "replace")
    except FileNotFoundError:
        return False
    return about.rpartition(")")[2].split()[0] != "Z"


@contextmanager
def serving(*options: str, errors: Path | None = None) -> Iterator[RunningServer]:
    """Run `sordino serve` with options at a free port, until the context is left."""
    command = [sys.executable, "-m", "sordino", "serve", "--port", "0", "--json", *options]
    with TemporaryDirectory() as folder:
        path = errors or Path(folder) / "errors"
        with path.open("wb") as said:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said)
        yield from _served(process, path)


def _served(process: subprocess.Popen[bytes], errors: Path) -> Iterator[RunningServer]:
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            code, told = process.wait(30), errors.read_text("utf-8", "replace")
            raise RuntimeError(f"the server ended with {code}: {told}")
        yield RunningServer(process, json.loads(line))
    finally:
        process.terminate()
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()
