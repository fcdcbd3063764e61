# SPDX-License-Identifier: Apache-2.0
"""Single flight: of those who ask the same at once, one asks, and the others wait for it."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock, get_ident
from weakref import WeakValueDictionary


class Flight:
    """The turn of one thread to ask a question.

    ``turn`` is taken by ``with`` and nothing in between, so no interrupt leaves it taken.
    """

    def __init__(self) -> None:
        self.turn = Lock()


class _Asking:
    """A thread that is asking; it is while this lives, whatever interrupts it."""


class Flights:
    """A turn for each question that is being asked; it is gone when nobody asks it any more."""

    def __init__(self) -> None:
        self._begin()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Ask a question; a thread asks one at a time.

        A handler of a signal runs in the middle of what its thread does, and would wait for itself
        for ever, or find the ledger within a transaction.
        """
        self._check_process()
        thread = get_ident()
        if thread in self._threads:
            raise RuntimeError(
                "this thread is asking a question already, as when a handler of a signal asks "
                "another; ask when it has been answered"
            )
        this = self._threads[thread] = _Asking()
        try:
            yield
        finally:
            del this
            self._threads.pop(thread, None)

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
        self._flights: WeakValueDictionary[Hashable, Flight] = WeakValueDictionary()
        self._threads: WeakValueDictionary[int, _Asking] = WeakValueDictionary()
