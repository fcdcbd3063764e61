# SPDX-License-Identifier: Apache-2.0
"""The progress bar for what takes long, in a terminal and in a notebook."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from shutil import get_terminal_size
from time import monotonic
from typing import TextIO

_PATIENCE = 1.0  # seconds before anything is shown
_WIDTH, _LEAST_WIDTH = 30, 8


class ProgressBar:
    """Shows how much is done, once it has taken a second.

    How long a question takes depends on the data, and so does this bar: it is shown to whoever runs
    the process, who holds the data, and is never part of an answer. ``doing`` may be changed when
    something else is begun.
    """

    def __init__(self, doing: str, out: TextIO | None = None) -> None:
        self.doing = doing
        self._out = sys.stderr if out is None else out
        self._began = monotonic()
        self._shown = 0  # letters

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, done: float | None, amount: str = "") -> None:
        """Draw the bar for a part that is done, 0 to 1, and an amount in place of a percentage.

        Where nobody knows which part is done, there is the amount alone.
        """
        if monotonic() - self._began < _PATIENCE:
            return
        columns = get_terminal_size().columns - 1
        if done is None:
            line = f"{self.doing}: {amount}" if amount else self.doing
        else:
            share = min(max(done, 0.0), 1.0)
            behind = amount or f"{share:4.0%}"
            free = columns - len(f"{self.doing} [] {behind}")
            width = min(_WIDTH, max(free, _LEAST_WIDTH))
            full = round(share * width)
            line = f"{self.doing} [{'#' * full}{'.' * (width - full)}] {behind}"
        line = line[:columns]
        self._out.write("\r" + line.ljust(self._shown))
        self._out.flush()
        self._shown = len(line)

    def __exit__(self, *failure: object) -> None:
        if self._shown:
            self._out.write("\r" + " " * self._shown + "\r")
            self._out.flush()


def watched(doing: str, *, quiet: bool = False) -> AbstractContextManager[ProgressBar | None]:
    """Return a progress bar where somebody looks on, in a terminal or a notebook, else None."""
    return ProgressBar(doing) if is_watched() and not quiet else nullcontext()


def is_watched() -> bool:
    """Tell whether standard error is a terminal, or this is a notebook."""
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()
