# SPDX-License-Identifier: Apache-2.0
"""Choosing from scores that arrive in chunks, in memory that does not grow with their number."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from threading import Lock
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.candidates import check_distinct
from sordino.mechanisms.choose.scores import best_of_array, read_scores
from sordino.numbers.rational import Integer, Number, positive, positive_whole
from sordino.randomness.entropy import system
from sordino.randomness.race import LARGEST_RATE, LEAST_RATE, Noise, Race

Array: TypeAlias = npt.NDArray[Any]
Kind: TypeAlias = Literal["exponential", "permute_and_flip"]

_NOISES: dict[str, Noise] = {"exponential": "gumbel", "permute_and_flip": "exponential"}


class Stream:
    """A choice in progress: scores are added in any number of chunks, then one choice is made.

    Candidates are numbered from 0 in the order in which their scores arrive; ``candidates`` says
    how many there are so far. A chunk may bring the candidates themselves along, in the order of
    its scores; then the winner itself is returned in place of its number. Every candidate has to
    appear once, and which candidates appear must not depend on the data. A candidate that is there
    twice is refused within a chunk; across chunks that is not checked, because a stream does not
    remember the candidates, and is up to you: one that appears twice has a score in each chunk, and
    one unit moves both.

    The choice is one release, whatever the number of chunks, and it can be made once: a second one
    from the same noise would tell more than was paid for. For the same reason a stream is not
    copied, pickled or carried over into a forked process.

    >>> stream = open_stream("exponential", rate=0.5)
    >>> stream.add([3, 3, 2])
    >>> stream.add([3, 4])
    >>> stream.candidates, stream.choose() in range(5)
    (5, True)
    >>> stream.choose()
    Traceback (most recent call last):
    RuntimeError: this stream has made its choice; a second one would be a second release

    Guarantee:
        Neighbours: those between which the scores change as the mechanism that opened it states.
        Loss: one release of that mechanism, when the choice is made; adding scores tells nothing.
        Numerics: exact; the law is the same however the scores are cut into chunks.
        Proof: docs/proofs/top-k.md, theorems 1 to 3.
    """

    __slots__ = ("_lock", "_named", "_names", "_process", "_race")

    def __init__(self, race: Race) -> None:
        self._race: Race | None = race
        self._names: dict[int, object] = {}
        self._named: bool | None = None
        self._process = os.getpid()
        self._lock = Lock()

    def __repr__(self) -> str:
        return "<stream, closed>" if self._race is None else f"<stream of {self.candidates}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a stream is neither copied nor pickled: its noise is used once")

    @property
    def candidates(self) -> int:
        """How many candidates there are so far."""
        return self._open().count

    def add(self, scores: object, *, candidates: Sequence[object] | None = None) -> None:
        """Let more candidates compete, with one score each; ``candidates`` are returned if given.

        A chunk must not have a candidate twice, nor one of an earlier chunk, which is not checked.

        Guarantee: nothing is released.
        """
        self._check_process()
        array = score_block(scores, others=1)  # a chunk may be empty
        if candidates is not None and len(candidates) != array.size:
            raise ValueError("a chunk needs as many candidates as scores")
        if array.size:
            with self._lock:  # two threads must not both be the next chunk
                self._add(array, candidates)
        else:
            self._open()

    def _add(self, array: Array, candidates: Sequence[object] | None) -> None:
        race, named = self._open(), candidates is not None
        if candidates is not None:
            candidates = _in_row(candidates)
            check_distinct(candidates)
        if self._named not in (None, named):
            raise ValueError("either every chunk brings its candidates along or none does")
        self._named = named
        first = race.count
        race.add(array, system())
        if candidates is not None:
            self._names = {
                runner.index: self._names[runner.index]
                if runner.index < first
                else candidates[runner.index - first]
                for runner in race.leaders
            }

    def choose(self) -> Any:
        """Return the winner: its number, or the candidate if the chunks brought them."""
        if self._open().k != 1:
            raise TypeError("this stream chooses several candidates: call choose_many()")
        return self.choose_many()[0]

    def choose_many(self) -> list[Any]:
        """Return the k first, best first; a list of one for k = 1."""
        self._check_process()
        with self._lock:
            return self._choose()

    def _choose(self) -> list[Any]:
        race = self._open()
        if race.count < race.k:
            raise ValueError(
                "an empty stream has no winner; add scores first"
                if race.count == 0
                else f"{race.k} candidates cannot be chosen from {race.count}; add more or lower k"
            )
        self._race = None
        found = [runner.index for runner in race.leaders]
        return [self._names[index] for index in found] if self._named else found

    def _open(self) -> Race:
        if self._race is None:
            raise RuntimeError(
                "this stream has made its choice; a second one would be a second release"
            )
        self._check_process()
        return self._race

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise RuntimeError("a stream stays in the process that opened it; open another one")


def _in_row(candidates: Any) -> Any:
    """Return candidates by their place; a Series would look for labels."""
    if isinstance(candidates, Mapping | Set):
        raise TypeError(
            f"candidates must be a list in the order of the scores, got a value of type "
            f"{type(candidates).__name__}"
        )
    return candidates if isinstance(candidates, str | range | np.ndarray) else list(candidates)


def open_stream(kind: Kind, rate: Number, k: Integer = 1) -> Stream:
    """Open a stream whose choice has the law of a mechanism, whatever the chunks.

    ``kind`` is "exponential" or "permute_and_flip", and ``rate`` what scores are multiplied by,
    epsilon / spread. With a ``k`` above 1 that many exponential mechanisms choose one after the
    other, without replacement; permute-and-flip chooses once.

    Guarantee:
        Neighbours: those between which the scores change by amounts that differ by at most a
            spread s.
        Loss: for each of the k choices, rate * s: a bounded range for the exponential mechanism,
            pure for permute-and-flip.
        Numerics: exact.
        Proof: docs/proofs/top-k.md, theorems 1 to 4.
    """
    if kind not in _NOISES:
        raise ValueError(f"kind must be 'exponential' or 'permute_and_flip', got {kind!r}")
    many, factor = positive_whole("k", k), positive("rate", rate)
    if many > 1 and kind == "permute_and_flip":
        raise ValueError("permute-and-flip chooses one candidate; for more use 'exponential'")
    if not LEAST_RATE <= factor <= LARGEST_RATE:
        raise ValueError("rate must be a number between 2**-1000 and 2**1000")
    return Stream(Race(_NOISES[kind], factor, many))


def score_block(scores: object, *, others: int = 0) -> Array:
    """Return scores as an array that a race takes: int64, uint64, float64 or exact fractions."""
    block = read_scores(scores, others=others)
    if isinstance(block, list):
        exact = np.empty(len(block), dtype=object)
        exact[:] = block
        return exact
    if block.size:
        best_of_array(block)  # refuses what is not finite
    return block
