# SPDX-License-Identifier: Apache-2.0
"""Processes that belong together: started, started again when one dies, and ended together.

The gateway keeps its workers so, and `sordino serve` the keeper and the gateway.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

READY: Final = "--ready"  # the option that names where a process announces that it is ready
_PR_SET_PDEATHSIG = 1
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 10.0  # seconds before a process is started again
_STEADY = 30.0  # seconds after which a process counts as well again
_LOOK = 0.05  # seconds between two looks at the processes
_LONGEST_LINE = 65_536


class NotStarted(Exception):
    """A process ended, or took too long, before it was ready; it says why on standard error."""

    def __init__(self, name: str, status: int) -> None:
        super().__init__(f"the {name} could not be started; it ended with {status}")
        self.status = status


@dataclass
class Process:
    """One process: its command, and the descriptors that it inherits."""

    name: str
    command: Sequence[str]
    descriptors: tuple[int, ...] = ()
    patience: float = 60.0  # seconds until it has to be ready
    grace: float = 20.0  # seconds it may take to end
    running: subprocess.Popen[bytes] | None = field(default=None, init=False)
    reading: int | None = field(default=None, init=False)  # where it announces that it is ready
    begun: float = field(default=0.0, init=False)
    pause: float = field(default=_FIRST_PAUSE, init=False)
    due: float = field(default=0.0, init=False)

    def launch(self) -> None:
        """Start it, without waiting until it is ready."""
        reading, writing = os.pipe()
        environment = {name: text for name, text in os.environ.items() if name != "NOTIFY_SOCKET"}
        try:
            self.running = subprocess.Popen(  # noqa: S603 - a program of ours
                [*self.command, READY, str(writing)],
                stdin=subprocess.DEVNULL,
                pass_fds=(writing, *self.descriptors),
                env=environment,
                process_group=0,  # Ctrl-C is for whoever watches, who ends all in order
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self.reading = reading
        self.begun = time.monotonic()

    def announced(self) -> dict[str, Any]:
        """Wait until it is ready, and return what it announces; raises NotStarted."""
        if self.running is None or self.reading is None:
            raise ValueError(f"the {self.name} was not launched")
        line = _line(self.reading, self.patience)
        self.stop_listening()
        if line is None:
            self.end()
            raise NotStarted(self.name, self.running.returncode)
        told: dict[str, Any] = json.loads(line)
        return told

    def stop_listening(self) -> None:
        """Wait for no announcement any more, as after a process was started again."""
        if self.reading is not None:
            os.close(self.reading)
            self.reading = None

    def end(self) -> None:
        """Ask it to end, and end it if it does not."""
        if self.running is None:
            return
        self.running.terminate()
        try:
            self.running.wait(self.grace)
        except subprocess.TimeoutExpired:
            self.running.kill()
            self.running.wait()


class Watch:
    """Processes in the order of their start; they are ended in the opposite order."""

    def __init__(self, processes: Sequence[Process], say: Callable[[str], None]) -> None:
        self._processes, self._say = processes, say
        self._ending = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Watch:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._end_soon)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for process in reversed(self._processes):
                process.end()
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def keep(self) -> None:
        """Start again whatever dies, until a signal asks for the end."""
        while not self._ending:
            for process in self._processes:
                self._look_after(process)
            time.sleep(_LOOK)

    def _look_after(self, process: Process) -> None:
        now = time.monotonic()
        running = process.running
        if running is not None and running.poll() is None:
            if now - process.begun > _STEADY:
                process.pause = _FIRST_PAUSE
            return
        if running is not None:
            process.running, process.due = None, now + process.pause
            self._say(
                f"the {process.name} ended with {running.returncode}; "
                f"it is started again in {process.pause:g} s"
            )
            process.pause = min(2 * process.pause, _LONGEST_PAUSE)
        elif now >= process.due:
            process.stop_listening()
            process.launch()

    def _end_soon(self, *_: object) -> None:
        self._ending = True


def _line(reading: int, patience: float) -> bytes | None:
    """Return the line that a process announces itself with, or None if it ended without."""
    due = time.monotonic() + patience
    line = b""
    while not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
        readable, _, _ = select.select([reading], [], [], max(0.0, due - time.monotonic()))
        piece = os.read(reading, 4096) if readable else b""
        if not piece:
            return None
        line += piece
    return line


def _end_with_parent() -> None:
    """Let the kernel end this process when its parent dies without ending it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
