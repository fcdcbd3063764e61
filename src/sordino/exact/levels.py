# SPDX-License-Identifier: Apache-2.0
"""Scores sorted into levels by how far they are behind the best, without sorting them.

A candidate whose score is ``gap`` behind the best has the exponent x = rate * gap. Level j holds
candidates with x >= floor_j; what a candidate's exponent has beyond the floor of its level is its
excess. The levels cover exponents up to a window beyond which all candidates together weigh less
than 2**-64 of the best one; the last level holds all of those, so that nobody is left out.

Two passes read the scores block by block: one finds the best, one counts. The candidate of a given
rank in its level is found by reading one part of the scores once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BLOCK = 1 << 16
_PARTS = 128  # how many pieces of the scores have counts of their own
_FINENESS = 64  # levels per unit of the exponent, where scores do not make levels by themselves
_SLACK = Fraction(1, 64)  # of a level: doubles may put a score into the level beside its own
_FEW = 1 << 13  # candidates that get levels of their own
_ALL_ONES = (1 << 64) - 1
_SURE_WINDOW = 64 * math.log(2) + 1
_LARGEST = Fraction(1 << 1000)  # of a factor as a double; a smaller one only makes floors lower
_WIDE = Fraction(1 << 40, 1 << 1024)  # with a smaller rate, infinite gaps may be within the window


class Found(NamedTuple):
    """A candidate, and how far its exponent lies above the floor of its level."""

    candidate: int
    excess: Fraction


class Levels(Protocol):
    """Candidates by level; ``counts`` may hold numbers beyond 64 bits, as a list then."""

    @property
    def counts(self) -> Integers | list[int]: ...

    @property
    def floors(self) -> Floats:
        """The floors, as doubles with a relative or absolute error below 2**-49.

        A floor of 2**1000 or more may be given as a smaller one of at least 2**1000.
        """
        ...

    def floor(self, level: int) -> Fraction:
        """Return the floor of a level."""
        ...

    def find(self, level: int, rank: int) -> Found:
        """Return the candidate of this rank, from 0, among those of a level."""
        ...


class EachLevels:
    """A level for each candidate: for few of them, this is less work than sorting them."""

    __slots__ = ("_exact", "counts", "floors")

    def __init__(self, floors: Floats, exact: Callable[[int], Fraction]) -> None:
        self._exact = exact
        self.floors = floors
        self.counts: Integers = np.ones(floors.size, dtype=np.int64)

    def floor(self, level: int) -> Fraction:
        return self._exact(level)

    def find(self, level: int, rank: int) -> Found:  # noqa: ARG002 - a level is one candidate
        return Found(level, Fraction(0))


def array_levels(scores: npt.NDArray[Any], rate: Fraction, best: int | float) -> Levels:
    """Return the levels of an array of int64, uint64 or float64 with this largest score."""
    if scores.size > _FEW or not _WIDE <= rate <= _LARGEST:
        return ArrayLevels(scores, rate, best)
    factor, top = float(rate), Fraction(best)
    with np.errstate(over="ignore", under="ignore"):
        gaps = best - scores if scores.dtype.kind == "f" else _whole_gaps(scores, best)
        floors = np.minimum(gaps * factor, float(_LARGEST))
    if not math.isfinite(gaps.max()):
        return ArrayLevels(scores, rate, best)
    return EachLevels(floors, lambda index: rate * (top - Fraction(scores[index].item())))


def _whole_gaps(scores: npt.NDArray[Any], best: int | float) -> npt.NDArray[np.uint64]:
    """Return differences of 64-bit integers, exact as unsigned ones even if they wrap around."""
    found: npt.NDArray[np.uint64] = np.uint64(int(best) & _ALL_ONES) - scores.view(np.uint64)
    return found


class ArrayLevels:
    """The levels of a one-dimensional array of int64, uint64 or float64, of finite scores.

    ``best`` is the largest score, or a larger number of that type that somebody elsewhere has. The
    scores need not be contiguous, but must not change.
    """

    __slots__ = ("_last", "_parts", "_scores", "_size", "_step", "best", "counts", "floors")

    def __init__(self, scores: npt.NDArray[Any], rate: Fraction, best: int | float) -> None:
        if scores.dtype not in (np.int64, np.uint64, np.float64):
            raise TypeError("scores are sorted into levels as int64, uint64 or float64")
        self._scores = scores
        self.best = best
        self._step = _FloatStep(rate) if scores.dtype.kind == "f" else _IntegerStep(rate)
        width = self._step.width
        window = _SURE_WINDOW + math.log(scores.size)
        self._last = min(math.ceil(Fraction(window) / width), self._step.most)
        parts = -(-scores.size // BLOCK)
        self._size = BLOCK * -(-parts // _PARTS)
        self._parts = np.zeros((-(-scores.size // self._size), self._last + 1), dtype=np.int64)
        for start in range(0, scores.size, BLOCK):
            levels = self._levels(scores[start : start + BLOCK])
            self._parts[start // self._size] += np.bincount(levels, minlength=self._last + 1)
        self.counts: Integers = self._parts.sum(axis=0)
        places = np.arange(self._last + 1, dtype=np.float64)
        self.floors: Floats = self._step.floors(places)

    def floor(self, level: int) -> Fraction:
        return self._step.floor(level)

    def find(self, level: int, rank: int) -> Found:
        ends = np.cumsum(self._parts[:, level])
        part = int(np.searchsorted(ends, rank, side="right"))
        before = int(ends[part] - self._parts[part, level])
        first = part * self._size
        for start in range(first, first + self._size, BLOCK):
            there = np.flatnonzero(self._levels(self._scores[start : start + BLOCK]) == level)
            if rank < before + there.size:
                index = start + int(there[rank - before])
                return Found(index, self.exponent(index) - self.floor(level))
            before += there.size
        raise IndexError("a level holds fewer candidates than were counted")

    def exponent(self, index: int) -> Fraction:
        """Return the exponent of one candidate, exactly."""
        score = self._scores[index].item()
        return self._step.rate * (Fraction(self.best) - Fraction(score))

    def _levels(self, block: npt.NDArray[Any]) -> Integers:
        return self._step.levels(block, self.best, self._last)


class _IntegerStep:
    """Levels of 2**shift whole numbers, exactly; one number each unless the rate is small."""

    __slots__ = ("_shift", "most", "rate", "width")

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        fits = 1 / (_FINENESS * rate)
        self._shift = max(0, (fits.numerator // fits.denominator).bit_length() - 1)
        self._shift = min(self._shift, 63)
        self.width = rate * (1 << self._shift)
        self.most = ((1 << 64) - 1) >> self._shift  # no gap of 64-bit integers is larger

    def levels(self, block: npt.NDArray[Any], best: int | float, last: int) -> Integers:
        gaps = _whole_gaps(block, best)
        if self._shift:
            gaps >>= np.uint64(self._shift)
        np.minimum(gaps, np.uint64(last), out=gaps)
        return gaps.view(np.int64)

    def floors(self, places: Floats) -> Floats:
        return places * float(min(self.width, _LARGEST))

    def floor(self, level: int) -> Fraction:
        return self.width * level


class _FloatStep:
    """Levels of 1/64 of the exponent, told apart by doubles, with a little slack below each."""

    __slots__ = ("_factor", "_half", "most", "rate", "width")

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        self._half = rate < _WIDE
        self._factor = float(min(rate * _FINENESS * (2 if self._half else 1), _LARGEST))
        self.width = Fraction(1, _FINENESS)
        self.most = 1 << 62

    def levels(self, block: npt.NDArray[Any], best: int | float, last: int) -> Integers:
        with np.errstate(over="ignore", under="ignore"):
            # Halves do not overflow; where halving rounds, the gap is in the first level.
            gaps = best * 0.5 - block * 0.5 if self._half else best - block
            gaps *= self._factor
        np.minimum(gaps, last, out=gaps)
        return gaps.astype(np.int64)

    def floors(self, places: Floats) -> Floats:
        lowered: Floats = np.maximum(places - float(_SLACK), 0.0) / _FINENESS
        return lowered

    def floor(self, level: int) -> Fraction:
        return max(level - _SLACK, Fraction(0)) / _FINENESS
