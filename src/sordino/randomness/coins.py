# SPDX-License-Identifier: Apache-2.0
"""Exact coins and exact uniform integers, one at a time or on whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import Interval, coarsen, exp_neg, one_minus
from sordino.randomness.entropy import Bits, below_one, fresh_words, system
from sordino.randomness.tables import WORD_BITS, LazyUniform

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Booleans = npt.NDArray[np.bool_]

# A float probability below is within 2**-48 of the true one, and a 64-bit prefix turned into a
# float within 2**-53 of the uniform number: where they are further apart than this, the float
# comparison is the true one.
FILTER_MARGIN = 2.0**-40
_UNIT = 2.0**-64


def below(bound: int, size: int | None = None) -> int | npt.NDArray[np.int64]:
    """Draw uniform integers from 0, ..., bound - 1: one Python int, or an int64 array of ``size``.

    A single draw takes any bound, an array one of at most 2**63. Words are cut to the length of
    the bound and drawn again where they reach it, so each value has probability 1/bound exactly.
    """
    if isinstance(bound, bool) or not isinstance(bound, int) or bound < 1:
        raise ValueError(f"bound must be a positive whole number, got {bound!r}")
    return below_one(bound, system()) if size is None else below_many(bound, size, system())


def below_many(bound: int, size: int, bits: Bits) -> npt.NDArray[np.int64]:
    """Draw an array of uniform integers below ``bound``."""
    if bound > 1 << 63:
        raise ValueError("an array of uniform integers needs a bound of at most 2**63")
    length = (bound - 1).bit_length()
    out = np.zeros(size, dtype=np.uint64)
    if length:
        shift = np.uint64(WORD_BITS - length)
        out = fresh_words(size, bits)
        out >>= shift
        while (over := np.flatnonzero(out >= np.uint64(bound))).size:
            out[over] = fresh_words(over.size, bits) >> shift
    return out.view(np.int64)


def fails_exp(
    exponents: Floats, words: Words, exact: Callable[[int], Fraction], bits: Bits
) -> Booleans:
    """Tell which uniform numbers lie below 1 - exp(-x), that is, which coins exp(-x) fail.

    ``exponents`` approximate x with a relative error below 2**-49, ``words`` are the first 64 bits
    of the uniform numbers, and ``exact(i)`` is x itself; it is asked for only where the floats
    are too close to decide.
    """
    failing = -np.expm1(-exponents)
    failing -= words * _UNIT
    answers = failing > 0
    np.abs(failing, out=failing)
    for position in np.flatnonzero(failing < FILTER_MARGIN).tolist():
        answers[position] = fails_exp_exactly(exact(position), int(words[position]), bits)
    return answers


def fails_exp_exactly(x: Fraction, word: int, bits: Bits) -> bool:
    """Decide one coin of ``fails_exp`` by certified arithmetic."""
    number = LazyUniform(word, WORD_BITS, bits)
    return number.below(lambda width: coarsen(one_minus(exp_neg(x, width + 16), width + 16), 16))


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
