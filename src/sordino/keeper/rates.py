# SPDX-License-Identifier: Apache-2.0
"""How many requests a person may send a second, and how many may be under way at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from time import monotonic

_BURST = 5  # seconds whose requests may come at once


class Rates:
    """A bucket for each person, which fills by ``rate`` a second."""

    def __init__(self, rate: int, clock: Callable[[], float] = monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._turn = Lock()
        self._buckets: dict[str, tuple[float, float]] = {}  # what is in it, and since when

    def wait(self, who: str) -> float:
        """Take one request, and return how many seconds to wait if there is none; else 0."""
        with self._turn:
            now, most = self._clock(), float(self.rate * _BURST)
            held, since = self._buckets.get(who, (most, now))
            held = min(most, held + (now - since) * self.rate)
            if held < 1:
                self._buckets[who] = held, now
                return (1 - held) / self.rate
            self._buckets[who] = held - 1, now
            return 0.0

    def add(self, who: str, many: int) -> None:
        """Count further requests that came as one, at once; what is lacking has to be waited for.

        Nothing is taken that was not counted by ``wait`` before, so there is a bucket.
        """
        with self._turn:
            held, since = self._buckets[who]
            self._buckets[who] = held - many, since


class Company:
    """How many of one person's requests are under way: so many, and no more."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = Condition()
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def one_more(self, who: str) -> Iterator[bool]:
        """Be one of them, as a context that has False if there are as many as there may be."""
        with self._changed:
            joins = self._under_way[who] < self._most
            self._under_way[who] += joins
        try:
            yield joins
        finally:
            if joins:
                self._leave(who)

    @contextmanager
    def next_one(self, who: str) -> Iterator[None]:
        """Be one of them once there is room, as a context."""
        with self._changed:
            self._changed.wait_for(lambda: self._under_way[who] < self._most)
            self._under_way[who] += 1
        try:
            yield
        finally:
            self._leave(who)

    def _leave(self, who: str) -> None:
        with self._changed:
            self._under_way[who] -= 1
            if not self._under_way[who]:
                del self._under_way[who]
            self._changed.notify_all()
