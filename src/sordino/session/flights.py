# SPDX-License-Identifier: Apache-2.0
"""Single flight: of those who ask the same at once, one asks, and the others wait for it."""

from __future__ import annotations

import os
from collections.abc import Hashable
from threading import Lock, RLock, get_ident
from time import sleep
from weakref import WeakValueDictionary

from sordino.gate import Visits

_STEP = 0.001  # seconds between two looks


class Flight:
    """The turn of one thread to ask a question.

    ``turn`` is taken by ``with`` and nothing in between, so no interrupt leaves it taken.
    """

    def __init__(self) -> None:
        self.turn = Lock()


class _Asking:
    """What a thread does with a session, as a context: one thing at a time."""

    __slots__ = ("__weakref__", "_visits")

    def __init__(self, visits: Visits[_Asking]) -> None:
        self._visits = visits

    def __enter__(self) -> None:
        if get_ident() in self._visits:
            raise RuntimeError(
                "this thread is asking a question already, as when a handler of a signal uses the "
                "session that it has interrupted; wait until it has been answered"
            )
        self._visits.begin(self)

    def __exit__(self, *failure: object) -> None:
        self._visits.end()


class Flights:
    """A turn for each question that is being asked; it is gone when nobody asks it any more.

    ``closed`` tells whoever shares them that no more questions are answered.
    """

    def __init__(self) -> None:
        self.closed = False
        self._begin()

    def asking(self) -> _Asking:
        """Use the session in this thread, as a context.

        A handler of a signal runs in the middle of what its thread does, and would wait for itself
        for ever, or find the ledger within a transaction. So that is refused.
        """
        self._check_process()
        return _Asking(self._visits)

    def closing(self) -> RLock:
        """Return what one thread takes to close the session, before it uses the session for it."""
        self._check_process()
        return self._closing

    def wait_for_others(self) -> None:
        """Wait until no other thread uses the session; what was charged is answered first."""
        while self._visits.others():
            sleep(_STEP)

    def of(self, question: Hashable) -> Flight:
        """Return the turn that whoever asks this question takes."""
        self._check_process()
        with self._guard:
            flight = self._flights.get(question)
            if flight is None:
                flight = self._flights[question] = Flight()
        return flight

    def _check_process(self) -> None:
        if self._process != os.getpid():  # locks of threads that are not in this process
            self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._guard = Lock()
        self._closing = RLock()  # a handler of a signal that closes, too, is refused and not stuck
        self._flights: WeakValueDictionary[Hashable, Flight] = WeakValueDictionary()
        self._visits: Visits[_Asking] = Visits()
