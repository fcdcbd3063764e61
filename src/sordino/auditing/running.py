# SPDX-License-Identifier: Apache-2.0
"""Running a mechanism many times on two inputs, in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import Any, TypeAlias, TypeVar

import numpy as np

from sordino.auditing.outputs import Outputs, joined
from sordino.auditing.reading import Raised, Reader
from sordino.exact.entropy import system

Mechanism: TypeAlias = Callable[..., Any]
Progress: TypeAlias = Callable[[int, int], None]  # runs done, runs in all
F = TypeVar("F", bound=Mechanism)

CHUNK = 1 << 16  # runs at once
_SINGLE = 1 << 12  # where they are made one by one, so that a progress bar moves
_WARM = 16


def batched(mechanism: F) -> F:
    """Mark a mechanism that is called with the data and a number, and returns so many outputs.

    >>> @batched
    ... def zeros(data, runs):
    ...     return [0] * runs
    >>> zeros.batch
    True

    Guarantee: none needed; it changes nothing.
    """
    mechanism.batch = True  # type: ignore[attr-defined] # functions carry any attribute
    return mechanism


class Runner:
    """Runs one mechanism, and reads its outputs with one vocabulary.

    Guarantee: none needed; it runs a mechanism on invented data.
    """

    def __init__(self, mechanism: Mechanism, *, batch: bool | None, timed: bool) -> None:
        if not callable(mechanism):
            raise TypeError(
                f"a mechanism must be callable, not {type(mechanism).__name__}; "
                "give a function of the data"
            )
        self.batch = bool(getattr(mechanism, "batch", False)) if batch is None else batch
        if timed and self.batch:
            raise ValueError("single runs cannot be timed in a batch; leave out time or batch")
        self.reader = Reader()
        self.message = ""  # of the last error
        self._mechanism = mechanism
        self._timed = timed
        self._turn = False
        self.chunk = CHUNK if self.batch else _SINGLE
        self._ends: tuple[set[Raised | None], set[Raised | None]] = (set(), set())

    def run(self, x: object, y: object, runs: int) -> tuple[Outputs, Outputs]:
        """Return so many outputs on each of two inputs."""
        if self._timed:
            return self._timed_runs(x, y, runs)
        self._turn = not self._turn
        if self._turn:
            first = self._many(x, runs, 0)
            return first, self._many(y, runs, 1)
        second = self._many(y, runs, 1)
        return self._many(x, runs, 0), second

    def start(self, x: object, y: object) -> None:
        """Begin with a pair of inputs: run a few times before the clock counts."""
        self._ends = (set(), set())
        if self._timed:
            for _ in range(_WARM):
                self._one(x)
                self._one(y)

    def _many(self, data: object, runs: int, side: int) -> Outputs:
        if not self.batch:
            return self.reader.objects([self._one(data) for _ in range(runs)])
        result = self._one(data, runs)
        self._ends[side].add(result if isinstance(result, Raised) else None)
        if len(self._ends[side]) > 1:
            raise ValueError(
                f"the mechanism raises {self.message} in some batches and not in others; "
                "leave out batch, so that each error counts once"
            )
        if isinstance(result, Raised):
            return self.reader.objects([result] * runs)
        if not hasattr(result, "__len__") or len(result) != runs:
            count = f"{len(result)} outputs" if hasattr(result, "__len__") else repr(result)[:40]
            raise ValueError(
                f"the mechanism returned {count} for {runs} runs; with batch it is called with "
                "the data and a number, and must return so many outputs"
            )
        if not isinstance(result, np.ndarray) and hasattr(result, "to_numpy"):
            result = result.to_numpy()
        if isinstance(result, np.ndarray):
            return self.reader.array(result)
        return self.reader.objects(list(result))

    def _one(self, *arguments: object) -> Any:
        try:
            return self._mechanism(*arguments)
        except MemoryError:
            raise
        except Exception as error:  # an error is an output like any other
            return self._raised(error)

    def _raised(self, error: Exception) -> Raised:
        self.message = f"{type(error).__name__}: {error}"
        return Raised(type(error).__name__)

    def _timed_runs(self, x: object, y: object, runs: int) -> tuple[Outputs, Outputs]:
        """Time both inputs two by two, a fair coin says which first: what drifts meets both."""
        coins = np.empty(runs, dtype=np.uint8)
        system().fill(coins)
        first = (coins & 1).astype(bool)
        inputs = (x, y)
        results: list[object] = []
        times: list[int] = []
        turns = np.stack([first, ~first], axis=1).reshape(-1)
        for turn in turns.tolist():
            data = inputs[turn]
            began = perf_counter_ns()
            result = self._one(data)
            times.append((perf_counter_ns() - began) // 1000)
            results.append(result)
        outputs = replace(self.reader.objects(results), times=np.array(times, dtype=np.float64))
        return outputs.part(np.flatnonzero(~turns)), outputs.part(np.flatnonzero(turns))


def collect(runner: Runner, x: object, y: object, runs: int) -> tuple[Outputs, Outputs]:
    """Return so many outputs on both inputs, all of them kept.

    Guarantee: none needed; it runs a mechanism on invented data.
    """
    firsts, seconds, done = [], [], 0
    while done < runs:
        size = min(runner.chunk, runs - done)
        first, second = runner.run(x, y, size)
        firsts.append(first)
        seconds.append(second)
        done += size
    return joined(firsts), joined(seconds)
