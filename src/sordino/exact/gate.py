# SPDX-License-Identifier: Apache-2.0
"""Gates: calls of a library that a fork must not cut in two.

A child has one thread, and all locks as they were. A lock that another thread of the parent held at
that moment is held for ever in the child, within the library, where nobody can replace it: the next
call waits without end, or works on what was half done. So a fork waits a while for the calls that
are under way and holds up new ones; and where that did not help, the child is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident
from time import monotonic, sleep
from weakref import WeakValueDictionary

_STEP = 0.001  # seconds between two looks


class _Pass:
    """A call that is under way; it counts while this lives, so an interrupt leaves none behind."""

    __slots__ = ("__weakref__",)


class Gate:
    """What calls of a library pass, and a fork closes for ``patience`` seconds at most.

    Whoever has a gate closes it before a fork and opens it afterwards, in the parent or the child.
    ``is_cut`` tells a child that a call was under way all the same: the library is not to be used.
    """

    def __init__(self, patience: float) -> None:
        self.is_cut = False
        self._patience = patience
        self._begin_anew()

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Make calls of the library; who is at it already passes at once."""
        thread = get_ident()
        if thread in self._passes:
            yield
            return
        mine = _Pass()
        while not self._let_pass(thread, mine):
            sleep(_STEP)
        try:
            yield
        finally:
            self._passes.pop(thread, None)

    def _let_pass(self, thread: int, mine: _Pass) -> bool:
        with self._lock:
            if self._forking:
                return False
            self._passes[thread] = mine
            return True

    def close(self) -> None:
        """Let nobody pass, and wait for those who have; this thread does not wait for itself."""
        me, until = get_ident(), monotonic() + self._patience
        with self._lock:
            self._forking[me] = False
        while set(self._passes) - {me}:
            if monotonic() > until:
                return
            sleep(_STEP)
        self._forking[me] = me not in self._passes

    def open(self) -> None:
        """Let everybody pass again, in the parent."""
        self._forking.pop(get_ident(), None)

    def begin_in_child(self) -> None:
        """Let everybody pass in the child, where nobody has, and keep whether a call was cut."""
        self.is_cut = self.is_cut or not self._forking.get(get_ident(), False)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._lock = Lock()
        self._passes: WeakValueDictionary[int, _Pass] = WeakValueDictionary()
        self._forking: dict[int, bool] = {}  # whether all was quiet, by the thread that forks
