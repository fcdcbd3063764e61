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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from sys import getsizeof
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import (
    Ball,
    Interval,
    ball,
    coarsen,
    enclose,
    exp_neg,
    one_minus,
    over,
    times,
)
from sordino.randomness.entropy import Bits

_GUARD = 32
GUIDE_BITS = 16
WORD_BITS = 64
BLOCK = 1 << 17
Integers = npt.NDArray[np.int64]
Cumulative: TypeAlias = Callable[[Ball], Ball]
_HALF = Fraction(1, 2)


class Law(Protocol):
    """A distribution on consecutive integers with computable cumulative probabilities."""

    @property
    def lowest(self) -> int | None:
        """The least outcome, or None if there is none."""
        ...

    @property
    def highest(self) -> int | None:
        """The greatest outcome, or None if there is none."""
        ...

    def reach(self, precision: int) -> tuple[int, int]:
        """Return outcomes (a, b) with F(a) < 2**-precision (or a lowest) and likewise above b."""
        ...

    def cumulative(self, first: int, last: int, precision: int) -> list[Interval]:
        """Enclose F(first), ..., F(last), each at most a few units wide."""
        ...


class _TwoSided:
    """A law on all integers, given by its two tails."""

    @property
    def lowest(self) -> None:
        return None

    @property
    def highest(self) -> None:
        return None

    def tails(self, count: int, precision: int) -> tuple[list[Interval], list[Interval]]:
        """Enclose P(outcome <= -1-c) and P(outcome > c) for c = 0, ..., count - 1."""
        raise NotImplementedError

    def cumulative(self, first: int, last: int, precision: int) -> list[Interval]:
        down, up = self.tails(max(-first, last + 1), precision)
        bounds = [down[-1 - j] for j in range(first, min(last, -1) + 1)]
        one = 1 << precision  # and one_minus, written out
        bounds += [(max(one - high, 0), one - low) for low, high in up[max(first, 0) : last + 1]]
        return bounds


def _powers(ratio: Interval, precision: int) -> Iterator[Interval]:
    """Yield enclosures of 1, r, r**2, ..."""
    power = (1 << precision, 1 << precision)
    while True:
        yield power
        power = times(power, ratio, precision)


def _scaled_powers(rate: Fraction, by: Interval, count: int, work: int) -> list[Interval]:
    """Enclose s, s r, s r**2, ... for r = exp(-rate), with fewer bits by the guard.

    These are ``times`` and ``coarsen``, written out: each parameter of noise that is new to a
    process takes thousands of such steps.
    """
    ratio_low, ratio_high = exp_neg(rate, work)
    by_low, by_high = by
    low = high = 1 << work
    shift, found = work + _GUARD, []
    for _ in range(count):
        found.append(((low * by_low) >> shift, -((-high * by_high) >> shift)))
        low, high = (low * ratio_low) >> work, -((-high * ratio_high) >> work)
    return found


@dataclass(frozen=True)
class SignedGeometric(_TwoSided):
    """Outcome H >= 0 or ~H = -1-H, with P(H) prop. to exp(-rate H), ~ chosen with q/(1+q).

    Here q = exp(-unit). With ``unit == rate`` this is the discrete Laplace distribution of scale
    1/rate itself; otherwise H is its leading digits.
    """

    rate: Fraction
    unit: Fraction

    def reach(self, precision: int) -> tuple[int, int]:
        far = _exponential_reach(self.rate, precision)
        return -far - 1, far

    def tails(self, count: int, precision: int) -> tuple[list[Interval], list[Interval]]:
        work = precision + _GUARD
        one = (1 << work, 1 << work)
        q = exp_neg(self.unit, work)
        both = (q[0] + (1 << work), q[1] + (1 << work))
        return (
            _scaled_powers(self.rate, over(q, both, work), count, work),
            _scaled_powers(self.rate, over(one, both, work), count + 1, work)[1:],
        )


@dataclass(frozen=True)
class Geometric:
    """Outcome h >= 0 with P(h) prop. to exp(-rate h)."""

    rate: Fraction
    lowest: int = 0
    highest: None = None

    def reach(self, precision: int) -> tuple[int, int]:
        return 0, _exponential_reach(self.rate, precision)

    def cumulative(self, first: int, last: int, precision: int) -> list[Interval]:
        work = precision + _GUARD
        powers = islice(_powers(exp_neg(self.rate, work), work), first + 1, last + 2)
        return [coarsen(one_minus(power, work), _GUARD) for power in powers]


@dataclass(frozen=True)
class Digit:
    """Outcome 0 <= d < count with P(d) prop. to exp(-rate d): one digit of a geometric number."""

    rate: Fraction
    count: int
    lowest: int = 0

    @property
    def highest(self) -> int:
        return self.count - 1

    def reach(self, precision: int) -> tuple[int, int]:
        del precision  # the last outcome needs no threshold, whatever the precision
        return 0, self.count - 2

    def cumulative(self, first: int, last: int, precision: int) -> list[Interval]:
        # 1 - q**n loses as many bits as the rate is small: work with that many more.
        work = precision + _GUARD + max(0, -_log2(self.rate)) * 2
        powers = list(islice(_powers(exp_neg(self.rate, work), work), first + 1, last + 2))
        whole = one_minus(exp_neg(self.rate * self.count, work), work)
        parts = [one_minus(power, work) for power in powers]
        return [coarsen(over(part, whole, work), work - precision) for part in parts]


@dataclass(frozen=True)
class _OfVariance(_TwoSided):
    variance: Fraction

    def reach(self, precision: int) -> tuple[int, int]:
        far = _gaussian_reach(self.variance, precision)
        return -far - 1, far


class Gaussian(_OfVariance):
    """Outcome x with P(x) prop. to exp(-x*x / (2 variance)): the discrete Gaussian."""

    def tails(self, count: int, precision: int) -> tuple[list[Interval], list[Interval]]:
        work = precision + _GUARD
        sums = _gaussian_tails(self.variance, count + 1, work)
        one = 1 << work
        whole = (2 * sums[0][0] - one, 2 * sums[0][1] - one)  # every x, counting 0 once
        shares = [coarsen(over(part, whole, work), _GUARD) for part in sums[1:]]
        return shares, shares


class SignedHalfGaussian(_OfVariance):
    """Outcome c >= 0 or ~c with a fair sign and P(c) prop. to exp(-c*c / (2 variance))."""

    def tails(self, count: int, precision: int) -> tuple[list[Interval], list[Interval]]:
        work = precision + _GUARD
        sums = _gaussian_tails(self.variance, count + 1, work)
        up = [coarsen(over(part, sums[0], work), _GUARD + 1) for part in sums[1:]]
        half = 1 << (precision - 1)
        return [(half, half), *up[:-1]], up


def _exponential_reach(rate: Fraction, precision: int) -> int:
    """Return h with exp(-rate h) < 2**-precision / 2."""
    return int((Fraction(7, 10) * precision + 1) / rate) + 1


def _gaussian_reach(variance: Fraction, precision: int) -> int:
    """Return x with exp(-x*x / (2 variance)) < 2**-precision."""
    return math.isqrt(int(variance * Fraction(7, 5) * precision)) + 1  # 7/10 > ln 2


def _gaussian_tails(variance: Fraction, count: int, precision: int) -> list[Interval]:
    """Enclose T(c) = sum over x >= c of exp(-x*x / (2 variance)), c = 0, ..., count - 1.

    Weights follow w(x+1) = w(x) a(x), a(x+1) = a(x) r with r = exp(-1/variance), in integers that
    are cut downwards. Each start is below its true value by less than 2 units, so after n steps
    a(x) is by at most 3n + 2 and w(x) by at most 3 (n + 1)(n + 2) / 2 < ``error``.
    """
    far = max(_gaussian_reach(variance, precision), count) + 1
    error = 2 * (far + 2) * (far + 3)
    extra = error.bit_length() + far.bit_length() + 2
    work = precision + extra
    weight = 1 << work
    step = exp_neg(1 / (2 * variance), work)[0]
    ratio = exp_neg(1 / variance, work)[0]
    weights = []
    for _ in range(far):
        weights.append(weight)
        weight = (weight * step) >> work
        step = (step * ratio) >> work
    # Beyond ``far`` the weights fall at least geometrically with ratio step: at x >= far the
    # ratio a(x) <= exp(-x/variance), so the rest is below w(far) / (1 - a(far)).
    rest = _rest(variance, far, work)
    tails: list[Interval] = []
    low, high = 0, rest
    for weight in reversed(weights):
        low += weight
        high += weight + error
        tails.append((low, high))
    tails.reverse()
    return [coarsen(tail, extra) for tail in tails[:count]]


def _rest(variance: Fraction, far: int, work: int) -> int:
    first = exp_neg(Fraction(far * far) / (2 * variance), work)[1]
    fall = one_minus(exp_neg(Fraction(far) / variance, work), work)
    if fall[0] == 0:
        raise ArithmeticError("the Gaussian tail cannot be bounded at this precision")
    return -((-first << work) // fall[0])


def _log2(x: Fraction) -> int:
    return x.numerator.bit_length() - x.denominator.bit_length()


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
