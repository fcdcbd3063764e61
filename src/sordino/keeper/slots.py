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
        return Departure(self, arrived).seconds_left()

    def wait(self, arrived: float) -> int:
        """Wait until the slot is over in which an answer has become ready; return which it was."""
        return Departure(self, arrived).wait()

    def left_of(self, due: float) -> float:
        """Return how many seconds there are until a time; 0 if it is over."""
        return max(0.0, due - self._clock())

    def wait_out(self, arrived: float, length: float) -> int:
        """Wait until a slot of a length is over."""
        slot = max(1, ceil((self._clock() - arrived) / length))
        while (left := arrived + slot * length - self._clock()) > 0:
            self._rest(left)
        with self._turn:
            self.delivered += 1
            self.overruns += slot > 1
        return slot


class Departure:
    """When what one request gets may leave: its slots are as long as they were when it came.

    ``is_bound`` tells that it has had a place among those that are computed: it may have waited for
    others, or for files that were read, and how long that took is not to be told. Then a refusal
    leaves when a slot is over, too.
    """

    def __init__(self, slots: Slots, arrived: float) -> None:
        self._slots, self._arrived = slots, arrived
        self._length = None if slots.length is None else float(slots.length)
        self._deadline = slots.deadline
        self._slot: int | None = None
        self.is_bound = False

    def seconds_left(self) -> float | None:
        """Return how long it may still be computed; None for no end."""
        if self._length is None:
            return None
        return self._slots.left_of(self._arrived + (self._deadline - _MARGIN) * self._length)

    def wait(self) -> int:
        """Wait until the slot is over in which it has become ready, once; return which it was."""
        if self._slot is None:
            timed = self._length is not None
            self._slot = self._slots.wait_out(self._arrived, self._length or 0.0) if timed else 0
        return self._slot

    def wait_if_bound(self) -> None:
        """Wait likewise before a refusal, where it may not leave at once."""
        if self.is_bound:
            self.wait()
