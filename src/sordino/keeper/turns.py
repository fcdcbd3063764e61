# SPDX-License-Identifier: Apache-2.0
"""Turns and places: who goes first of those who want the same, and how many go at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock, Semaphore


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


class Place:
    """One of the few places for questions that are computed; it is left once, and not taken again.

    Who has waited for it (``was_waited_for``) has learnt when somebody else was ready.
    """

    def __init__(self, room: Semaphore, *, was_waited_for: bool) -> None:
        self._room = room
        self._is_held = True
        self.was_waited_for = was_waited_for

    def leave(self) -> None:
        """Let somebody else have the place."""
        if self._is_held:
            self._is_held = False
            self._room.release()

    def until(self, wait: Callable[[], object]) -> Callable[[], None]:
        """Return what leaves the place, for nothing is computed any more, and then waits."""

        def leave_and_wait() -> None:
            self.leave()
            wait()

        return leave_and_wait
