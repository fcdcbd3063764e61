# SPDX-License-Identifier: Apache-2.0
"""Forks: a child has none of the threads of a database that its parent opened.

It would wait for them for ever, also where it closes that database or ends. So the child never
touches it again: it is kept alive as it is, and the child opens one of its own. Even that would
wait for ever if a thread was at work in DuckDB when the process was forked: all its databases share
some locks. So a fork waits a moment for such work; after one that waited in vain the child is
refused a database of its own.
"""

from __future__ import annotations

import ctypes
import os
from typing import Protocol
from weakref import WeakSet

from sordino.gate import Gate


class Forked(Protocol):
    """What has to be told that it was forked."""

    def after_fork(self) -> None:
        """Let go of what a thread of the parent may have held."""
        ...


FORKED: WeakSet[Forked] = WeakSet()
WORK = Gate(  # of threads in DuckDB
    patience=2.0,
    advice="this process was forked while a question was being answered, and cannot answer any "
    "itself; nothing was charged. Fork when nobody asks, or start processes by multiprocessing's "
    "method 'spawn'",
)


def keep_alive(held: object) -> None:
    """Keep an object alive to the very end of the process, past the end of Python."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))


def _after_in_child() -> None:
    WORK.begin_in_child()
    for forked in FORKED:
        forked.after_fork()


if hasattr(os, "register_at_fork"):  # where processes are forked at all
    os.register_at_fork(
        before=WORK.close, after_in_parent=WORK.open, after_in_child=_after_in_child
    )
