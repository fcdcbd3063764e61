# SPDX-License-Identifier: Apache-2.0
"""Lazily refined tables: one 16-bit look-up answers almost every draw, and all draws are exact.

A uniform number U in [0, 1) is an endless string of fair bits. The outcome drawn is the least j
with U < F(j), which has probability F(j) - F(j-1) exactly. Only as many bits of U are looked at
as it takes to decide: first 16, answered by the guide; where a cumulative probability falls into
that sixteenth-bit cell, 48 more, compared with floor(2**64 F(j)); and where all 64 bits agree
with such a floor, 64 more at a time, compared with ever tighter enclosures of F(j). The outcome
is a function of U alone, so its law does not depend on how precise the stored table is.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from sys import getsizeof
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import Ball, ball, enclose
from sordino.numbers.interval import Interval
from sordino.randomness.entropy import Bits
from sordino.randomness.laws import Law

GUIDE_BITS = 16
WORD_BITS = 64
BLOCK = 1 << 17

Integers = npt.NDArray[np.int64]


class LazyUniform:
    """A uniform number in [0, 1) of which a prefix has been looked at."""

    __slots__ = ("_bits", "_step", "prefix", "width")

    def __init__(self, prefix: int, width: int, bits: Bits, step: int = WORD_BITS) -> None:
        self.prefix = prefix
        self.width = width
        self._bits = bits
        self._step = step

    def below(self, enclose: Callable[[int], Interval]) -> bool:
        """Tell whether the number lies below a threshold, taking more bits until it is certain.

        ``enclose(p)`` returns integers with ``low <= 2**p * threshold <= high``.
        """
        while True:
            low, high = enclose(self.width)
            if self.prefix + 1 <= low:
                return True
            if self.prefix >= high:
                return False
            self.prefix = (self.prefix << self._step) | self._bits.integer(self._step)
            self.width += self._step


class Scratch:
    """Buffers for one block of draws, made once for a whole array."""

    __slots__ = ("_raw", "index", "mask", "size", "words")

    def __init__(self, size: int) -> None:
        self.size = size
        self.words = np.empty(size, dtype=np.uint16)
        self.index = np.empty(size, dtype=np.intp)
        self.mask = np.empty(size, dtype=np.bool_)
        self._raw = np.empty(size * 8, dtype=np.uint8)

    def values(self, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Return the shared buffer for drawn values, as an array of ``dtype``."""
        return self._raw[: self.size * dtype.itemsize].view(dtype)


class Table:
    """Exact draws from a law by look-up.

    ``value`` maps an outcome to the integer that is returned for it; by default the outcome
    itself. ``guide_bits`` and ``word_bits`` are smaller in tests, which enumerate all words.
    """

    __slots__ = (
        "_base", "_crowded", "_guide", "_guide_view", "_threshold_list", "_thresholds",
        "_unclear", "_value", "_values", "first", "guide_bits", "last", "law", "word_bits",
    )  # fmt: skip

    def __init__(
        self,
        law: Law,
        value: Callable[[int], int] = int,
        guide_bits: int = GUIDE_BITS,
        word_bits: int = WORD_BITS,
    ) -> None:
        self.law = law
        self.guide_bits = guide_bits
        self.word_bits = word_bits
        self._value = value
        self.first, self.last = law.reach(word_bits)
        floors = _floors(law, self.first, self.last, word_bits)
        self._threshold_list = floors
        self._thresholds = np.array(floors, dtype=np.uint64)
        outcomes = [value(j) for j in range(self.first, self.last + 2)]
        self._unclear, dtype = _smallest_dtype(outcomes)
        self._values = np.array(outcomes, dtype=dtype)
        cells = self._thresholds >> np.uint64(word_bits - guide_bits)
        inside = np.bincount(cells.astype(np.int64), minlength=1 << guide_bits)
        base = np.cumsum(inside) - inside
        self._base = base.astype(np.uint16)
        self._crowded = inside > 1
        self._guide = self._values[base]
        self._guide[inside > 0] = self._unclear
        self._guide_view = memoryview(self._guide)

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self.law, self._value, self.guide_bits, self.word_bits)

    @property
    def nbytes(self) -> int:
        """How much memory the table takes, about."""
        arrays = self._guide, self._base, self._crowded, self._thresholds, self._values
        listed = sum(map(getsizeof, self._threshold_list)) + getsizeof(self._threshold_list)
        return sum(array.nbytes for array in arrays) + listed

    @property
    def thresholds(self) -> list[int]:
        """The stored floors of 2**word_bits F(j), from outcome ``first`` on."""
        return self._threshold_list

    def one(self, bits: Bits) -> int:
        """Draw one value."""
        word = bits.word16() if self.guide_bits == GUIDE_BITS else bits.integer(self.guide_bits)
        value: int = self._guide_view[word]
        if value != self._unclear:
            return value
        more = bits.integer(self.word_bits) >> self.guide_bits
        return self._settle((word << (self.word_bits - self.guide_bits)) | more, bits)

    def draw(self, scratch: Scratch, bits: Bits) -> tuple[npt.NDArray[Any], list[tuple[int, int]]]:
        """Draw ``scratch.size`` values into a buffer that the next draw overwrites.

        Also returns (position, value) for the draws that were decided by more than 64 bits: a
        value among them may lie beyond the table and beyond the buffer's dtype.
        """
        words, index = scratch.words, scratch.index
        bits.fill(words)
        np.copyto(index, words)
        drawn = scratch.values(self._guide.dtype)
        np.take(self._guide, index, out=drawn, mode="wrap")
        np.equal(drawn, self._unclear, out=scratch.mask)
        unclear = np.flatnonzero(scratch.mask)
        if unclear.size == 0:
            return drawn, []
        return drawn, self._refine(drawn, unclear, index[unclear], bits)

    def _refine(
        self, drawn: npt.NDArray[Any], unclear: Integers, cells: Integers, bits: Bits
    ) -> list[tuple[int, int]]:
        """Settle the draws whose guide cell holds a threshold with 48 more bits each."""
        keys = np.empty(unclear.size, dtype=np.uint64)
        bits.fill(keys)
        keys >>= np.uint64(GUIDE_BITS)
        keys |= cells.astype(np.uint64) << np.uint64(WORD_BITS - GUIDE_BITS)
        place = self._base[cells].astype(np.int64)
        crowded = np.flatnonzero(self._crowded[cells])
        if crowded.size:
            place[crowded] = np.searchsorted(self._thresholds, keys[crowded])
            np.minimum(place, self._thresholds.size - 1, out=place)
        against = self._thresholds[place]
        drawn[unclear] = self._values[place + (keys > against)]
        deep: list[tuple[int, int]] = []
        for tied in np.flatnonzero(keys == against).tolist():
            value = self._settle(int(keys[tied]), bits)
            info = np.iinfo(drawn.dtype)
            position = int(unclear[tied])
            if info.min < value <= info.max:
                drawn[position] = value
            deep.append((position, value))
        return deep

    def _settle(self, prefix: int, bits: Bits) -> int:
        """Return the value for a number whose first ``word_bits`` bits are ``prefix``."""
        floors = self._threshold_list
        low = bisect_left(floors, prefix)
        if low == len(floors) or floors[low] != prefix:
            return self._value(self.first + low)
        number = LazyUniform(prefix, self.word_bits, bits, self.word_bits)
        outcome = self.first + low
        if self._under(number, outcome):
            while outcome != self.law.lowest and self._under(number, outcome - 1):
                outcome -= 1
            return self._value(outcome)
        outcome += 1
        while outcome != self.law.highest and not self._under(number, outcome):
            outcome += 1
        return self._value(outcome)

    def _under(self, number: LazyUniform, outcome: int) -> bool:
        return number.below(lambda width: self.law.cumulative(outcome, outcome, width)[0])


def _floors(law: Law, first: int, last: int, width: int) -> list[int]:
    """Return floor(2**width F(j)) for j = first, ..., last, each certain."""
    guard = 32
    while guard <= 1024:
        pairs = law.cumulative(first, last, width + guard)
        floors = [low >> guard for low, _ in pairs]
        tops = [(high - 1 if high > low else low) >> guard for low, high in pairs]
        if floors == tops:
            break
        guard *= 2
    else:
        raise ArithmeticError("a cumulative probability cannot be told from a 64-bit fraction")
    if law.lowest is None and floors[0] != 0:
        raise ArithmeticError("the table does not reach far enough down")
    if law.highest is None and floors[-1] != (1 << width) - 1:
        raise ArithmeticError("the table does not reach far enough up")
    return floors


def _smallest_dtype(outcomes: list[int]) -> tuple[int, np.dtype[Any]]:
    """Choose the narrowest signed type and, as the mark for "unclear", its least number."""
    for dtype in (np.int16, np.int32, np.int64):
        info = np.iinfo(dtype)
        if info.min < min(outcomes) and max(outcomes) <= info.max:
            return int(info.min), np.dtype(dtype)
    raise OverflowError("the outcomes of this table do not fit 64 bits")


Cumulative: TypeAlias = Callable[[Ball], Ball]
_HALF = Fraction(1, 2)


def rounded(
    cumulative: Cumulative,
    *,
    centre: Fraction,
    scale: Fraction,
    bits: Bits,
    word_bits: int = WORD_BITS,
) -> int:
    """Draw Z from a law and return the whole number nearest to centre + scale * Z.

    ``cumulative`` is continuous and strictly increasing, as a function of balls, and ``scale`` is
    positive. A tie has probability zero. ``word_bits`` is smaller in tests, which enumerate words.
    """
    if scale <= 0:
        raise ValueError("a law can be drawn from at a positive scale only")
    number = LazyUniform(bits.integer(word_bits), word_bits, bits, word_bits)

    def below_edge_of(place: int) -> bool:
        """Tell whether the real number lies below place + 1/2."""
        edge = (place + _HALF - centre) / scale
        return number.below(lambda width: enclose(lambda: cumulative(ball(edge)), width))

    return _least(below_edge_of, near=math.floor(centre + _HALF), step=max(math.floor(scale), 1))


def _least(holds: Callable[[int], bool], *, near: int, step: int) -> int:
    """Return the least integer from which on something holds; the search begins at ``near``."""
    if holds(near):
        high, low = near, near - step
        while holds(low):
            step *= 2
            high, low = low, low - step
    else:
        low, high = near, near + step
        while not holds(high):
            step *= 2
            low, high = high, high + step
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
