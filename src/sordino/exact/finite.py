# SPDX-License-Identifier: Apache-2.0
"""Draws whose probabilities are fractions: one of finitely many outcomes, or a coin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from sordino.exact.entropy import Bits
from sordino.exact.interval import Interval
from sordino.exact.tables import WORD_BITS, LazyUniform

Booleans = npt.NDArray[np.bool_]

_BYTE = 256


@dataclass(frozen=True)
class Finite:
    """The law of outcomes 0, 1, ... with whole numbers as weights, each at least 1."""

    weights: tuple[int, ...]
    lowest: int = 0

    @property
    def highest(self) -> int:
        return len(self.weights) - 1

    def reach(self, precision: int) -> tuple[int, int]:  # noqa: ARG002 - there are no tails
        return 0, max(self.highest - 1, 0)

    def cumulative(self, first: int, last: int, precision: int) -> list[Interval]:
        sums = self._sums
        return [_enclosed(sums[j] << precision, sums[-1]) for j in range(first, last + 1)]

    @cached_property
    def _sums(self) -> list[int]:
        return list(accumulate(self.weights))


class Coins:
    """Coins that all come up with one probability, a fraction between 0 and 1.

    A coin is a uniform number compared with its chance. The first 8 bits settle it, unless they
    are those of the chance; then 64 more are looked at, and so on.
    """

    __slots__ = ("_first", "_rest", "_second", "chance")

    def __init__(self, chance: Fraction) -> None:
        if not 0 <= chance <= 1:
            raise ValueError("a chance lies between 0 and 1")
        self.chance = chance
        self._first = chance * _BYTE // 1
        self._rest = chance * _BYTE - self._first
        self._second = self._rest * (1 << WORD_BITS) // 1

    def many(self, size: int, bits: Bits) -> Booleans:
        """Toss so many coins."""
        words = np.empty(size, dtype=np.uint8)
        bits.fill(words)
        if self._first == _BYTE:
            return np.ones(size, dtype=np.bool_)
        tossed: Booleans = words < self._first
        if self._rest:
            unclear = np.flatnonzero(words == self._first)
            tossed[unclear] = self._settled(unclear.size, bits)
        return tossed

    def _settled(self, size: int, bits: Bits) -> Booleans:
        words = np.empty(size, dtype=np.uint64)
        bits.fill(words)
        against = np.uint64(self._second)
        tossed: Booleans = words < against
        for place in np.flatnonzero(words == against).tolist():
            tossed[place] = LazyUniform(int(words[place]), WORD_BITS, bits).below(self._enclosed)
        return tossed

    def _enclosed(self, width: int) -> Interval:
        return _enclosed(self._rest.numerator << width, self._rest.denominator)


def _enclosed(above: int, below: int) -> Interval:
    """Enclose a quotient of whole numbers: itself if it is whole, else those around it."""
    floor, left = divmod(above, below)
    return floor, floor + (left > 0)
