# SPDX-License-Identifier: Apache-2.0
"""How many requests a person may send: so many a second, and several times as many at once."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
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
