# SPDX-License-Identifier: Apache-2.0
"""Exact integer noise on whole arrays: geometric, discrete Laplace, discrete Gaussian.

A sampler belongs to one exact rational parameter and is kept, with its tables, for the next use,
as long as there is room: whoever draws often asks for it each time, and holds it by a weak
reference at most, or else each parameter that was ever used would keep its tables in memory.
``one()`` draws a Python int by a short path, ``many(n)`` an int64 array in blocks; for the same
bits both give the same number. Should a draw not fit 64 bits (its probability is below
exp(-8000)), ``many`` returns an array of Python ints, so that nothing is ever cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.cache import MEGABYTE, Shelf, kept_on
from sordino.randomness.entropy import Bits, system
from sordino.randomness.laws import Digit, Gaussian, Geometric, SignedGeometric
from sordino.randomness.raw import (
    WIDE_SIGMA,
    Filled,
    RawDigit,
    WideGaussian,
    fill_blocks,
    gather,
    place_deep,
    signed_shift,
)
from sordino.randomness.tables import Integers, Scratch, Table

SMALLEST_SCALE = Fraction(1, 1 << 20)
LARGEST_SCALE = Fraction(1 << 50)


# A weak reference, so that a mechanism that is kept somewhere does not keep its tables too.
SamplerAt: TypeAlias = "Callable[[], Sampler | None]"


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


# All families together: one sampler takes up to 2 MB, and most take half of one.
_SAMPLERS: Shelf[Joined | WideGaussian] = Shelf(32 * MEGABYTE, weigh=lambda sampler: sampler.nbytes)


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


_TOP_SCALE = 16
_DIGIT_BITS = 8
_RAW_MARGIN = 8


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


class Joined:
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

    def many(self, size: int) -> npt.NDArray[Any]:
        out = np.empty(size, dtype=np.int64)
        return gather(self.fill(out), out)

    def fill(self, out: Integers) -> Iterator[Filled]:
        return fill_blocks(out, self._block)

    def _block(self, out: Integers, scratch: Scratch, bits: Bits) -> dict[int, int]:
        drawn, deep = self._top.draw(scratch, bits)
        np.copyto(out, drawn)
        beyond = place_deep(out, deep)
        for part in self._more:
            drawn, deep = part.draw(scratch, bits)
            np.bitwise_xor(out, drawn, out=out)
        return {position: value ^ int(out[position]) for position, value in beyond.items()}
