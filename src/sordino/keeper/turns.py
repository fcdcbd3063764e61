# SPDX-License-Identifier: Apache-2.0
"""Turns: of those who want the same at once, one goes first, and the others wait for it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock


class Turns:
    """A lock for each thing that is wanted just now; it is gone when nobody wants it any more."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._locks: dict[Hashable, tuple[Lock, int]] = {}

    @contextmanager
    def of(self, thing: Hashable) -> Iterator[None]:
        """Hold the turn for a thing, as a context."""
        with self._guard:
            lock, waiting = self._locks.get(thing, (Lock(), 0))
            self._locks[thing] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                _, waiting = self._locks[thing]
                if waiting == 1:
                    del self._locks[thing]
                else:
                    self._locks[thing] = lock, waiting - 1
