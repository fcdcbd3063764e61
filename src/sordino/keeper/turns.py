# SPDX-License-Identifier: Apache-2.0
"""Turns and places: who goes first of those who want the same, and how many go at once."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Event, Lock


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


class Places:
    """The few places for questions that are computed at once.

    Of those who wait for one, whoever has the fewest goes first, and people with as many take
    turns; the questions of one person go in the order in which they came. So nobody who asks much
    keeps others waiting for longer than one question takes.
    """

    def __init__(self, many: int) -> None:
        self._guard = Lock()
        self._free = many  # and if any is, nobody waits
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[Event]] = {}  # by person, whose turn is next first

    def take(self, who: str, seconds: float) -> Place | None:
        """Return a place for a question of somebody; None if there was none for so long."""
        with self._guard:
            if self._free:
                self._free -= 1
                self._held[who] += 1
                return Place(lambda: self._leave(who))
            called = Event()
            self._waiting.setdefault(who, deque()).append(called)
        place = Place(lambda: self._leave(who))
        try:
            called.wait(seconds)
        except BaseException:
            if self._was_called(who, called):
                place.leave()
            raise
        return place if self._was_called(who, called) else None

    def _leave(self, who: str) -> None:
        with self._guard:
            self._held[who] -= 1
            if not self._held[who]:
                del self._held[who]
            if not self._waiting:
                self._free += 1
                return
            following = min(self._waiting, key=lambda one: self._held[one])
            queue = self._waiting.pop(following)
            self._held[following] += 1
            queue.popleft().set()
            if queue:
                self._waiting[following] = queue  # behind all others

    def _was_called(self, who: str, called: Event) -> bool:
        """Tell whether somebody who waits no more has got a place, and let them wait no more."""
        with self._guard:
            if not called.is_set():
                queue = self._waiting[who]
                queue.remove(called)
                if not queue:
                    del self._waiting[who]
            return called.is_set()


class Place:
    """One of the few places for questions that are computed; it is left once, for good."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back = give_back
        self._is_held = True

    def leave(self) -> None:
        """Let somebody else have the place."""
        if self._is_held:
            self._is_held = False
            self._give_back()

    def until(self, wait: Callable[[], object]) -> Callable[[], None]:
        """Return what leaves the place, for nothing is computed any more, and then waits."""

        def leave_and_wait() -> None:
            self.leave()
            wait()

        return leave_and_wait
