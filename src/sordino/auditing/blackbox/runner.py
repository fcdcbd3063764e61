# SPDX-License-Identifier: Apache-2.0
"""Running a mechanism many times on two inputs, in turn."""

from __future__ import annotations

import copy
import functools
import hashlib
import pickle
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter, perf_counter_ns
from typing import Any, TypeAlias, TypeVar

import numpy as np

from sordino.auditing.blackbox.outputs import Outputs, Raised, Reader, joined
from sordino.randomness.entropy import system

Mechanism: TypeAlias = Callable[..., Any]
Progress: TypeAlias = Callable[[int, int], None]  # runs done, runs in all
F = TypeVar("F", bound=Mechanism)

RUNS_AT_ONCE = 1 << 16
_SINGLE_RUNS_AT_ONCE = 1 << 12  # So few that a progress bar moves.
_WARM_UP_RUNS = 16
_SECONDS_BETWEEN_TICKS = 0.2
# So many outputs of a batch are not all equal by chance.
_TELLING_BATCH = 64
_METHODS = ("release", "randomise", "randomize")
_MUTABLE = (list, dict, set, bytearray, tuple, np.ndarray)


class BatchRaisedError(Exception):
    """A batch ended in an error, so that it is not known which of its runs raised it."""


class AlwaysRaisesError(ValueError):
    """A mechanism ended in an error on both inputs, every time."""


def batched(mechanism: F) -> F:
    """Mark a mechanism that is called with the data and a number, and returns so many outputs.

    >>> @batched
    ... def zeros(data, runs):
    ...     return [0] * runs
    >>> zeros.batch
    True
    """
    mechanism.batch = True  # type: ignore[attr-defined] # functions carry any attribute
    return mechanism


class Runner:
    """Runs one mechanism, and reads its outputs with one vocabulary."""

    def __init__(self, mechanism: Mechanism, *, batch: bool | None, timed: bool) -> None:
        if not callable(mechanism):
            method = next((name for name in _METHODS if hasattr(mechanism, name)), None)
            hint = f"its method: mechanism.{method}" if method else "a function of the data"
            raise TypeError(
                f"a mechanism must be callable, not {type(mechanism).__name__}; give {hint}"
            )
        self.batch = _is_batched(mechanism) if batch is None else batch
        if timed and self.batch:
            raise ValueError("single runs cannot be timed in a batch; leave out time or batch")
        self.reader = Reader()
        self.error: BaseException | None = None  # the last one that a run ended with
        self.done = 0  # runs in all
        self.tick: Callable[[], None] | None = None  # called now and then while it runs
        self._told = perf_counter()
        self._mechanism = mechanism
        self._timed = timed
        self._turn = False
        self.chunk = RUNS_AT_ONCE if self.batch else _SINGLE_RUNS_AT_ONCE
        self._copies: tuple[object, object] = (None, None)
        self._prints: tuple[bytes | None, bytes | None] = (None, None)
        self._sorts: set[str] = set()
        self._constants: list[float | None] = [None, None]

    @property
    def message(self) -> str:
        """What the last error of a run says."""
        return f"{type(self.error).__name__}: {self.error}"

    def start(self, x: object, y: object) -> None:
        """Begin with a pair of inputs: copy them, and run a few times before the clock counts."""
        self._copies = (_copied(x), _copied(y))
        self._prints = (_print(self._copies[0]), _print(self._copies[1]))
        self._sorts, self._constants = set(), [None, None]
        if self._timed:
            for _ in range(_WARM_UP_RUNS):
                self._one(self._copies[0])
                self._one(self._copies[1])

    def run(self, runs: int) -> tuple[Outputs, Outputs]:
        """Return so many outputs on each of the two inputs."""
        if self._timed:
            pair = self._timed_runs(*self._copies, runs)
        else:
            self._turn = not self._turn
            first = self._many(runs, 0) if self._turn else None
            second = self._many(runs, 1)
            pair = (self._many(runs, 0) if first is None else first, second)
        for side in (0, 1):
            if _print(self._copies[side]) != self._prints[side]:
                raise ValueError(
                    "the mechanism changes its input, so that its runs depend on each other; "
                    "let it work on a copy"
                )
        return pair

    def one_by_one(self) -> None:
        """Call a mechanism that makes batches for one output at a time from now on."""
        many = self._mechanism

        def single(data: object) -> object:
            result = many(data, 1)
            result = result.to_numpy() if hasattr(result, "to_numpy") else result
            return result[0]

        self._mechanism, self.batch, self.chunk = single, False, _SINGLE_RUNS_AT_ONCE

    def _many(self, runs: int, side: int) -> Outputs:
        data = self._copies[side]
        if not self.batch:
            return self.reader.objects([self._kept(data) for _ in range(runs)])
        result = self._one(data, runs)
        self.done += runs
        if isinstance(result, Raised):
            raise BatchRaisedError
        if not hasattr(result, "__len__") or len(result) != runs:
            count = f"{len(result)} outputs" if hasattr(result, "__len__") else repr(result)[:40]
            raise ValueError(
                f"the mechanism returned {count} for {runs} runs; with batch it is called with "
                "the data and a number, and must return so many outputs"
            )
        if not isinstance(result, np.ndarray) and hasattr(result, "to_numpy"):
            result = result.to_numpy()
        if not isinstance(result, np.ndarray):
            outputs = self.reader.objects(list(result))
        else:
            self._refuse_sorts(result)
            outputs = self.reader.array(result)
        self._refuse_constants(outputs, side)
        return outputs

    def _refuse_sorts(self, result: np.ndarray[Any, Any]) -> None:
        """Refuse arrays of numbers in one batch and of text in another."""
        sort = result.dtype.kind
        self._sorts.add("numbers" if sort in "buif" else {"c": "complex"}.get(sort, "other things"))
        if len(self._sorts) > 1:
            raise ValueError(
                f"the mechanism returns arrays of {' and of '.join(sorted(self._sorts))}, and one "
                "output decides for a whole batch; return a list"
            )

    def _refuse_constants(self, outputs: Outputs, side: int) -> None:
        """Refuse one draw for all runs of a batch."""
        if len(outputs) < _TELLING_BATCH or len(set(outputs.part(slice(0, 2)).whole.tolist())) > 1:
            return
        if len(np.unique(outputs.whole)) > 1:
            return
        value, before = float(outputs.whole[0]), self._constants[side]
        self._constants[side] = value
        if before is not None and before != value:
            raise ValueError(
                f"the mechanism gave one output {len(outputs):,} times in one call and another in "
                "the call before; draw noise for each run"
            )

    def _kept(self, data: object) -> Any:
        """Run once, and keep the output as it is now."""
        result = self.reader.at_once(self._one(data))
        self._count()
        return result

    def _count(self) -> None:
        self.done += 1
        if self.tick is not None and perf_counter() - self._told > _SECONDS_BETWEEN_TICKS:
            self._told = perf_counter()
            self.tick()

    def _one(self, *arguments: object) -> Any:
        try:
            return self._mechanism(*arguments)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # an error is an output like any other
            self.error = error
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
            results.append(self.reader.at_once(result))
            self._count()
        outputs = replace(self.reader.objects(results), times=np.array(times, dtype=np.float64))
        return outputs.part(np.flatnonzero(~turns)), outputs.part(np.flatnonzero(turns))


def collect(runner: Runner, runs: int) -> tuple[Outputs, Outputs]:
    """Return so many outputs on both inputs, all of them kept."""
    firsts, seconds, done = [], [], 0
    while done < runs:
        size = min(runner.chunk, runs - done)
        first, second = runner.run(size)
        firsts.append(first)
        seconds.append(second)
        done += size
    return joined(firsts), joined(seconds)


def _is_batched(mechanism: Mechanism) -> bool:
    """Return whether a mechanism, or what it is a partial call of, is marked as batched."""
    while isinstance(mechanism, functools.partial):
        mechanism = mechanism.func
    return bool(getattr(mechanism, "batch", False))


def _copied(data: object) -> object:
    """Return a copy of what a mechanism could change, where it can be copied."""
    if not isinstance(data, _MUTABLE) and not hasattr(data, "to_numpy"):
        return data
    try:
        return copy.deepcopy(data)
    except Exception:  # any class may refuse to be copied
        return data


def _print(data: object) -> bytes | None:
    """Return a fingerprint of what a mechanism could change; None for all else."""
    if not isinstance(data, _MUTABLE) and not hasattr(data, "to_numpy"):
        return None
    try:
        return hashlib.blake2b(pickle.dumps(data, protocol=5)).digest()
    except Exception:  # any class may refuse to be pickled
        return None
