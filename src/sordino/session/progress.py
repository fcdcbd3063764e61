# SPDX-License-Identifier: Apache-2.0
"""A progress bar for what takes long, in a terminal and in a notebook."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import TextIO

_PATIENCE = 1.0  # seconds before anything is shown
_WIDTH = 30


class ProgressBar:
    """Shows how much is done, once it has taken a second.

    How long a question takes depends on the data, and so does this bar: it is shown to whoever runs
    the process, who holds the data, and is never part of an answer.
    """

    def __init__(self, doing: str, out: TextIO | None = None) -> None:
        self._doing = doing
        self._out = sys.stderr if out is None else out
        self._began = monotonic()
        self._shown = False

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, done: float) -> None:
        """Draw the bar for a part that is done, from 0 to 1."""
        if monotonic() - self._began < _PATIENCE:
            return
        share = min(max(done, 0.0), 1.0)
        full = round(share * _WIDTH)
        bar = "#" * full + "." * (_WIDTH - full)
        self._out.write(f"\r{self._doing} [{bar}] {share:4.0%}")
        self._out.flush()
        self._shown = True

    def __exit__(self, *failure: object) -> None:
        if self._shown:
            self._out.write("\r" + " " * (_WIDTH + len(self._doing) + 14) + "\r")
            self._out.flush()


def watched(doing: str) -> AbstractContextManager[ProgressBar | None]:
    """Return a progress bar where somebody looks on, in a terminal or a notebook, else None."""
    return ProgressBar(doing) if is_watched() else nullcontext()


def is_watched() -> bool:
    """Tell whether standard error is a terminal, or this is a notebook."""
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()
