# SPDX-License-Identifier: Apache-2.0
"""Single flight: of those who ask the same at once, one asks, and the others wait for it."""

from __future__ import annotations

import os
from collections.abc import Hashable
from threading import Lock, RLock
from weakref import WeakValueDictionary


class Flight:
    """The turn of one thread to ask a question.

    ``turn`` is taken by ``with`` and nothing in between, so that an interrupt never leaves it
    taken. The thread that has it can take it again, as a handler of a signal would, and does not
    wait for itself for ever; ``is_begun`` tells it that it is asking already.
    """

    def __init__(self) -> None:
        self.turn = RLock()
        self.is_begun = False


class Flights:
    """A turn for each question that is being asked; it is gone when nobody asks it any more."""

    def __init__(self) -> None:
        self._begin()

    def of(self, question: Hashable) -> Flight:
        """Return the turn that whoever asks this question takes."""
        if self._process != os.getpid():  # locks of threads that are not in this process
            self._begin()
        with self._guard:
            flight = self._flights.get(question)
            if flight is None:
                flight = self._flights[question] = Flight()
        return flight

    def _begin(self) -> None:
        self._process = os.getpid()
        self._guard = Lock()
        self._flights: WeakValueDictionary[Hashable, Flight] = WeakValueDictionary()
