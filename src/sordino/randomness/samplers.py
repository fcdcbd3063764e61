# SPDX-License-Identifier: Apache-2.0
"""Exact integers on whole arrays or one by one: noise, and how often to run something."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.numbers.balls import Ball, Interval, ball, ceiling, coarsen, exp_neg
from sordino.randomness.coins import fails_exp, fails_exp_exactly
from sordino.randomness.entropy import Bits, below_one, fresh_words, system
from sordino.randomness.tables import (
    BLOCK,
    WORD_BITS,
    Digit,
    Gaussian,
    Geometric,
    Integers,
    LazyUniform,
    Scratch,
    SignedGeometric,
    SignedHalfGaussian,
    Table,
)

# Where a block starts, the block, and by place the numbers that do not fit it (0 stands there).
Filled: TypeAlias = tuple[int, Integers, dict[int, int]]
# From this sigma on the discrete Gaussian is drawn with raw low bits, below a coarse place whose
# own sigma is less than this.
WIDE_SIGMA = 1024
COARSE_SIGMA = 512
SMALLEST_SCALE = Fraction(1, 1 << 20)
LARGEST_SCALE = Fraction(1 << 50)
# A weak reference, so that a mechanism that is kept somewhere does not keep its tables too.
SamplerAt: TypeAlias = "Callable[[], Sampler | None]"
# All families together: one sampler takes up to 2 MB, and most take half of one.
_SAMPLERS: Shelf[Joined | WideGaussian] = Shelf(12 * MEGABYTE, weigh=lambda sampler: sampler.nbytes)
_TOP_SCALE = 16
_DIGIT_BITS = 8
_RAW_MARGIN = 8
_GUARD = 64  # sums of fewer than 2**32 terms are off by less than the last bit that is used
_PIECE = 64  # a Poisson number of a larger mean is the sum of several


def signed_shift(low: int, outcome: int) -> int:
    """Put ``low`` zero bits below a number h >= 0, or ``low`` one bits below ~h."""
    return outcome << low if outcome >= 0 else ~(~outcome << low)


def place_deep(out: Integers, deep: list[tuple[int, int]]) -> dict[int, int]:
    """Write the draws decided by many bits; return, with 0 in their place, those beyond 64 bits."""
    info = np.iinfo(np.int64)
    beyond = {}
    for position, value in deep:
        if info.min <= value <= info.max:
            out[position] = value
        else:
            out[position] = 0
            beyond[position] = value
    return beyond


def fill_blocks(
    out: Integers, block: Callable[[Integers, Scratch, Bits], dict[int, int]]
) -> Iterator[Filled]:
    """Fill an array block by block with constant scratch memory, handing over each block."""
    bits = system()
    scratch = Scratch(min(out.size, BLOCK))
    for start in range(0, out.size, BLOCK):
        piece = out[start : start + BLOCK]
        if piece.size != scratch.size:
            scratch = Scratch(piece.size)
        yield start, piece, block(piece, scratch, bits)


def gather(filled: Iterable[Filled], out: Integers) -> npt.NDArray[Any]:
    """Run through all blocks; return the array, of Python ints if some do not fit 64 bits."""
    beyond = {start + at: value for start, _, found in filled for at, value in found.items()}
    if not beyond:
        return out
    exact = out.astype(object)
    for position, value in beyond.items():
        exact[position] = value
    return exact


def raw_dtype(width: int) -> np.dtype[Any]:
    """Choose the word that holds ``width`` raw bits below 8 bits for the coin."""
    for dtype in (np.uint16, np.uint32, np.uint64):
        if width + 8 <= np.iinfo(dtype).bits:
            return np.dtype(dtype)
    raise ValueError("at most 56 raw bits fit a word beside the coin")


class _InBlocks(ABC):
    """Arrays are filled one block after the other."""

    __slots__ = ()

    def many(self, size: int) -> npt.NDArray[Any]:
        out = np.empty(size, dtype=np.int64)
        return gather(self.fill(out), out)

    def fill(self, out: Integers) -> Iterator[Filled]:
        return fill_blocks(out, self._block)

    @abstractmethod
    def _block(self, out: Integers, scratch: Scratch, bits: Bits) -> dict[int, int]:
        """Fill a block, and return the numbers that no 64 bits hold, by their places."""


class RawDigit:
    """A digit 0 <= d < 2**width with P(d) prop. to exp(-rate d), where rate 2**width <= 1/256.

    A uniform digit is kept with probability exp(-rate d) and drawn again otherwise. The coin's
    first 8 bits, the top byte of the word, settle it unless they are all zero.
    """

    __slots__ = ("_bits_of_word", "_dtype", "_mask", "_rate", "_shift")

    def __init__(self, rate: Fraction, width: int) -> None:
        if rate * (1 << width) > Fraction(1, 256):
            raise ValueError("this digit is too far from uniform for raw bits")
        self._rate = rate
        self._dtype = raw_dtype(width)
        self._bits_of_word = self._dtype.itemsize * 8
        self._mask = (1 << width) - 1
        self._shift = self._bits_of_word - 8

    @property
    def nbytes(self) -> int:
        return 0  # it has no table

    def one(self, bits: Bits) -> int:
        while True:
            word = bits.integer(self._bits_of_word)
            digit = word & self._mask
            coin = word >> self._shift
            if coin or not self._fails(digit, bits):
                return digit

    def _fails(self, digit: int, bits: Bits) -> bool:
        more = bits.integer(64) >> 8
        return fails_exp_exactly(self._rate * digit, more, bits)

    def draw(self, scratch: Scratch, bits: Bits) -> tuple[npt.NDArray[Any], list[tuple[int, int]]]:
        words = scratch.values(self._dtype)
        bits.fill(words)
        self._thin(words, bits)
        np.bitwise_and(words, self._dtype.type(self._mask), out=words)
        return words if words.dtype != np.uint64 else words.view(np.int64), []

    def _thin(self, words: npt.NDArray[Any], bits: Bits) -> None:
        """Redraw the digits that are not kept."""
        small = self._dtype.type(1 << self._shift)
        unclear = np.flatnonzero(words < small)
        while unclear.size:
            digits = (words[unclear] & self._dtype.type(self._mask)).astype(np.float64)
            coins = fresh_words(unclear.size, bits) >> np.uint64(8)
            picked = words[unclear]

            def exact(position: int, picked: npt.NDArray[Any] = picked) -> Fraction:
                return self._rate * (int(picked[position]) & self._mask)

            failed = unclear[fails_exp(digits * float(self._rate), coins, exact, bits)]
            again = np.empty(failed.size, dtype=self._dtype)
            bits.fill(again)
            words[failed] = again
            unclear = failed[again < small]


class WideGaussian(_InBlocks):
    """The discrete Gaussian of a large sigma: a coarse place by look-up, raw low bits, a coin.

    With B = 2**low and sigma / B between 256 and 512, c >= 0 and a fair sign come from a table of
    weights exp(-(cB)**2 / (2 variance)); the low bits are uniform. The number is x = cB + low, or
    ~x = -1-x for the other sign; it is kept with probability exp(-(x*x - (cB)**2) / (2 variance)),
    which is above 0.96 within the table, and all is drawn again otherwise.
    """

    __slots__ = (
        "__weakref__", "_bits_of_word", "_dtype", "_low", "_mask", "_shift", "_sure", "_table",
        "_twice", "_variance",
    )  # fmt: skip

    def __init__(self, variance: Fraction) -> None:
        self._variance = variance
        self._twice = float(2 * variance)
        low = 1
        while variance >= (COARSE_SIGMA << low) ** 2:
            low += 1
        self._low = low
        coarse = SignedHalfGaussian(variance / (1 << (2 * low)))
        self._table = Table(coarse, partial(signed_shift, low))
        self._dtype = raw_dtype(low)
        self._bits_of_word = self._dtype.itemsize * 8
        self._mask = (1 << low) - 1
        self._shift = self._bits_of_word - 8
        furthest = -self._table.first
        largest = Fraction(2 * furthest + 1) / (2 * coarse.variance)
        self._sure = int(largest * 256) + 1

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def one(self) -> int:
        bits = system()
        while True:
            place = self._table.one(bits)
            word = bits.integer(self._bits_of_word)
            number = place ^ (word & self._mask)
            coin = word >> self._shift
            if coin >= self._sure and self._within(place):
                return number
            prefix = (coin << 56) | (bits.integer(64) >> 8)
            if not fails_exp_exactly(self._exponent(place, number), prefix, bits):
                return number

    def _within(self, place: int) -> bool:
        return self._table.first <= place >> self._low <= self._table.last

    def _exponent(self, place: int, number: int) -> Fraction:
        """Return (x*x - (cB)**2) / (2 variance), exactly."""
        corner = place if place >= 0 else ~place
        return (number * number - corner * corner) / (2 * self._variance)

    def _block(self, out: Integers, scratch: Scratch, bits: Bits) -> dict[int, int]:
        todo, beyond = self._propose(out, scratch, bits)
        while todo.size:
            again = np.empty(todo.size, dtype=np.int64)
            failed, found = self._propose(again, Scratch(todo.size), bits)
            out[todo] = again
            for position in todo.tolist():
                beyond.pop(position, None)
            beyond.update({int(todo[position]): value for position, value in found.items()})
            todo = todo[failed]
        return beyond

    def _propose(
        self, out: Integers, scratch: Scratch, bits: Bits
    ) -> tuple[Integers, dict[int, int]]:
        """Draw a candidate everywhere; return where it is to be drawn again."""
        drawn, deep = self._table.draw(scratch, bits)
        np.copyto(out, drawn)
        outside = {at: place for at, place in deep if not self._within(place)}
        words = scratch.values(self._dtype)
        bits.fill(words)
        np.less(words, self._dtype.type(self._sure << self._shift), out=scratch.mask)
        for at in outside:
            out[at] = 0
            scratch.mask[at] = True
        doubtful = np.flatnonzero(scratch.mask)
        places = out[doubtful]
        coins = words[doubtful].astype(np.uint64) >> np.uint64(self._shift)
        np.bitwise_and(words, self._dtype.type(self._mask), out=words)
        np.bitwise_xor(out, words if words.dtype != np.uint64 else words.view(np.int64), out=out)
        numbers = out[doubtful]
        coins <<= np.uint64(56)
        coins |= fresh_words(doubtful.size, bits) >> np.uint64(8)

        def exact(index: int) -> Fraction:
            place = outside.get(int(doubtful[index]), int(places[index]))
            return self._exponent(place, place ^ int(places[index]) ^ int(numbers[index]))

        exponents = self._approximate(places, numbers)
        for at in outside:
            index = int(np.searchsorted(doubtful, at))
            exponents[index] = float(exact(index))
        failed = fails_exp(exponents, coins, exact, bits)
        whole = [(at, place ^ int(out[at])) for at, place in outside.items()]
        return doubtful[failed], place_deep(out, whole)

    def _approximate(self, places: Integers, numbers: Integers) -> npt.NDArray[np.float64]:
        """Return the exponents in floats: (x - cB)(x + cB) / (2 variance), four roundings."""
        corners = places ^ (places >> 63)
        sizes = np.abs(numbers)
        exponents: npt.NDArray[np.float64] = (sizes - corners).astype(np.float64)
        exponents *= sizes + corners
        exponents /= self._twice
        return exponents


class Sampler(Protocol):
    """A source of exact draws from one distribution on the integers."""

    def one(self) -> int:
        """Draw one number."""
        ...

    def many(self, size: int) -> npt.NDArray[Any]:
        """Draw an array of independent numbers."""
        ...

    def fill(self, out: Integers) -> Iterator[Filled]:
        """Fill an array, handing over each block while it is still in the processor's cache."""
        ...


def no_sampler() -> Sampler | None:
    """Stand where a weak reference to a sampler will be, once one is needed."""
    return None


class _Part(Protocol):
    """A piece of a number, independent of the other pieces, joined to them by exclusive or."""

    def one(self, bits: Bits) -> int: ...
    def draw(
        self, scratch: Scratch, bits: Bits
    ) -> tuple[npt.NDArray[Any], list[tuple[int, int]]]: ...
    @property
    def nbytes(self) -> int: ...


@kept_on(_SAMPLERS)
def discrete_laplace(scale: Fraction) -> Joined | WideGaussian:
    """Return the sampler of P(x) prop. to exp(-abs(x) / scale), 2**-20 <= scale <= 2**50."""
    _check_scale("scale", scale)
    rate = 1 / scale
    low, parts = _low_parts(rate)
    top = Table(SignedGeometric(rate * (1 << low), rate), partial(signed_shift, low))
    return Joined((top, *parts))


@kept_on(_SAMPLERS)
def geometric(scale: Fraction) -> Joined | WideGaussian:
    """Return the sampler of P(x) prop. to exp(-x / scale), x >= 0, 2**-20 <= scale <= 2**50."""
    _check_scale("scale", scale)
    rate = 1 / scale
    low, parts = _low_parts(rate)
    top = Table(Geometric(rate * (1 << low)), partial(signed_shift, low))
    return Joined((top, *parts))


@kept_on(_SAMPLERS)
def discrete_gaussian(variance: Fraction) -> Joined | WideGaussian:
    """Return the sampler of P(x) prop. to exp(-x*x / (2 variance)), 2**-20 <= sigma <= 2**50."""
    if not SMALLEST_SCALE**2 <= variance <= LARGEST_SCALE**2:
        raise ValueError(
            "sigma must lie between 2**-20 and 2**50 grid steps, "
            f"got a variance of {float(variance):g}"
        )
    if variance < WIDE_SIGMA**2:
        return Joined((Table(Gaussian(variance)),))
    return WideGaussian(variance)


def _check_scale(name: str, scale: Fraction) -> None:
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ValueError(
            f"{name} must lie between 2**-20 and 2**50 grid steps, got {float(scale):g}"
        )


def _low_parts(rate: Fraction) -> tuple[int, list[_Part]]:
    """Split off the low bits of a geometric number so that the rest has a scale of at most 16.

    The digits of a geometric number are independent. Low ones are looked up, 8 bits at a time;
    so far below the scale that they are nearly uniform they are raw bits, thinned.
    """
    scale = 1 / rate
    low = max(0, (-(-scale // _TOP_SCALE) - 1).bit_length())
    parts: list[_Part] = []
    at = 0
    if low > 2 * _DIGIT_BITS:
        at = int(scale).bit_length() - 1 - _RAW_MARGIN
        parts.append(RawDigit(rate, at))
    while at < low:
        width = min(_DIGIT_BITS, low - at)
        law = Digit(rate * (1 << at), 1 << width)
        parts.append(Table(law, partial(signed_shift, at)))
        at += width
    return low, parts


class Joined(_InBlocks):
    """A number made of independent parts by exclusive or."""

    __slots__ = ("__weakref__", "_more", "_parts", "_top")

    def __init__(self, parts: tuple[_Part, ...]) -> None:
        self._parts = parts
        self._top = parts[0]
        self._more = parts[1:]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    def one(self) -> int:
        bits = system()
        number = self._top.one(bits)
        for part in self._more:
            number ^= part.one(bits)
        return number

    def _block(self, out: Integers, scratch: Scratch, bits: Bits) -> dict[int, int]:
        drawn, deep = self._top.draw(scratch, bits)
        np.copyto(out, drawn)
        beyond = place_deep(out, deep)
        for part in self._more:
            drawn, deep = part.draw(scratch, bits)
            np.bitwise_xor(out, drawn, out=out)
        return {position: value ^ int(out[position]) for position, value in beyond.items()}


def draw_negative_binomial(eta: Fraction, gamma: Fraction, bits: Bits) -> int:
    """Draw K >= 1 with P(k) prop. to (1 - gamma)**k (eta)(eta + 1)...(eta + k - 1) / k!.

    For eta = 1 it is geometric; for eta = 0, as a limit, P(k) is prop. to (1 - gamma)**k / k. The
    parameters are rational, eta > -1 and 0 < gamma < 1.
    """
    if eta == 1:
        return draw_geometric(gamma, bits)
    if eta <= -1 or not 0 < gamma < 1:
        raise ValueError("eta must be above -1 and gamma between 0 and 1")
    # Errors grow as the terms do, which is by no more than the first one is small.
    growth = max(int(eta + 1), 1) * _bits_of(1 / gamma)

    fall = (1 - gamma) / eta.denominator

    def ratio(k: int) -> tuple[int, int]:  # (1 - gamma) (k + eta) / (k + 1)
        return (
            fall.numerator * (k * eta.denominator + eta.numerator),
            fall.denominator * (k + 1),
        )

    return _walk(1, lambda precision: _first(eta, gamma, precision), ratio, growth, bits)


def draw_geometric(gamma: Fraction, bits: Bits) -> int:
    """Draw K >= 1 with P(k) = gamma (1 - gamma)**(k - 1): toss a coin until it shows heads."""
    if not 0 < gamma < 1:
        raise ValueError("gamma must lie between 0 and 1")
    k = 1
    while below_one(gamma.denominator, bits) >= gamma.numerator:
        k += 1
    return k


def draw_poisson(mean: Fraction, bits: Bits) -> int:
    """Draw K >= 0 with P(k) = exp(-mean) mean**k / k!."""
    if mean <= 0:
        raise ValueError("mean must be positive")
    pieces = -(-mean // _PIECE)
    each = mean / pieces

    def first(precision: int) -> Interval:
        return exp_neg(each, precision)

    def ratio(k: int) -> tuple[int, int]:
        return each.numerator, each.denominator * (k + 1)

    growth = 2 * int(each) + 2  # exp(mean) < 4**mean
    return sum(_walk(0, first, ratio, growth, bits) for _ in range(pieces))


def _walk(
    start: int,
    first: Callable[[int], Interval],
    ratio: Callable[[int], tuple[int, int]],
    growth: int,
    bits: Bits,
) -> int:
    """Return the least k with U < F(k).

    ``first(p)`` encloses P(start), and ``ratio(k)`` is P(k + 1) / P(k), as two integers.
    """
    number = LazyUniform(bits.integer(WORD_BITS), WORD_BITS, bits)
    sums = _Sums(start, first, ratio, growth)
    k = start
    while not number.below(lambda width: sums.at(k, width)):  # noqa: B023 - called at once
        k += 1
    return k


class _Sums:
    """Running sums at one precision, started again when another one is asked for."""

    __slots__ = ("_first", "_growth", "_k", "_ratio", "_start", "_sum", "_term", "_width")

    def __init__(
        self,
        start: int,
        first: Callable[[int], Interval],
        ratio: Callable[[int], tuple[int, int]],
        growth: int,
    ) -> None:
        self._start, self._first, self._ratio, self._growth = start, first, ratio, growth
        self._width = 0

    def at(self, k: int, width: int) -> Interval:
        """Enclose F(k) at a precision of ``width`` bits."""
        extra = _GUARD + self._growth
        if width != self._width:
            self._width, self._k = width, self._start
            self._term = self._sum = self._first(width + extra)
        while self._k < k:
            up, down = self._ratio(self._k)
            low, high = self._term
            self._term = low * up // down, -(-high * up // down)
            self._sum = self._sum[0] + self._term[0], self._sum[1] + self._term[1]
            self._k += 1
        return coarsen(self._sum, extra)


@lru_cache(maxsize=64)
def _first(eta: Fraction, gamma: Fraction, precision: int) -> Interval:
    """Enclose P(K = 1) for a truncated negative binomial number."""
    scale = 1 << precision

    def formula() -> Ball:
        if eta == 0:
            return ball((1 - gamma) * scale) / -ball(gamma).log()
        return ball(eta * (1 - gamma) * scale) / (-ball(eta) * ball(gamma).log()).expm1()

    return -ceiling(lambda: -formula()), ceiling(formula)


def _bits_of(x: Fraction) -> int:
    return x.numerator.bit_length() - x.denominator.bit_length() + 1
