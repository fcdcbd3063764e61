# SPDX-License-Identifier: Apache-2.0
"""Slots: a fresh answer leaves at a public time, and never when it happens to be ready."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil
from threading import Lock
from time import monotonic, sleep

_MARGIN = 0.5  # slots before the deadline at which a question is ended, to be ready in time


class Slots:
    """When answers leave: at the arrival of the question and so many whole slots.

    ``overruns`` counts answers that were not ready after the first slot: how often their time told
    something, if anything.
    """

    def __init__(
        self,
        length: Fraction | None,
        deadline: int,
        *,
        clock: Callable[[], float] = monotonic,
        rest: Callable[[float], None] = sleep,
    ) -> None:
        self.overruns = self.delivered = 0
        self.set(length, deadline)
        self._clock, self._rest = clock, rest
        self._turn = Lock()

    def set(self, length: Fraction | None, deadline: int) -> None:
        """Let questions from now on have slots of another length."""
        self.length = length
        self.deadline = deadline

    def in_words(self) -> str:
        """Say what the time of an answer may tell."""
        if self.length is None:
            return (
                "not covered: answers leave when they are ready, so that their time may tell "
                "something about the data"
            )
        return (
            f"not covered: fresh answers leave when a slot of {float(self.length):g} s is over; "
            f"{self.overruns:,} of {self.delivered:,} were not ready after the first"
        )

    def seconds_left(self, arrived: float) -> float | None:
        """Return how long a question that came then may still be computed; None for no end."""
        if self.length is None:
            return None
        most = (self.deadline - _MARGIN) * float(self.length)
        return max(0.0, arrived + most - self._clock())

    def wait(self, arrived: float) -> int:
        """Wait until the slot is over in which an answer has become ready; return which it was."""
        if self.length is None:
            return 0
        length = float(self.length)  # which may be set anew meanwhile
        slot = max(1, ceil((self._clock() - arrived) / length))
        while (left := arrived + slot * length - self._clock()) > 0:
            self._rest(left)
        with self._turn:
            self.delivered += 1
            self.overruns += slot > 1
        return slot
