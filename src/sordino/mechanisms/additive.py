# SPDX-License-Identifier: Apache-2.0
"""Adding integer noise to whatever number or array a user hands over.

What a value is, is decided by its type, and messages speak of types only, never of contents. Values
that are missing, NaN or infinite are refused with a constant sentence.

The public grid of a mechanism that releases real values.

The step is a power of two, about 2**-40 of the noise. Values are rounded to the nearest multiple of
it, ties to the even one, which can move two neighbours up to one step further apart per coordinate.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias
from weakref import ref

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.keys.optimal import Noise
from sordino.mechanisms.mechanism import Mechanism, fill
from sordino.numbers.balls import ball, round_up
from sordino.numbers.columns import (
    Door,
    check_kind,
    check_numbers,
    clamped,
    kinds_of,
    refuse_tables,
    unboxed,
)
from sordino.numbers.rational import (
    Integer,
    Number,
    brief,
    confidence_level,
    finite,
    log2_down,
    positive,
    positive_whole,
    up,
)
from sordino.privacy.search import least_double
from sordino.randomness.samplers import Sampler, SamplerAt

MOST_COORDINATES = 2**16  # of one release of real values
_NOISE_BITS = 40  # the noise is from 2**40 to 2**41 steps wide
_LARGEST_EXPONENT = 960  # so that no multiple of the step that fits 64 bits overflows or underflows


def exponent_for(squared_width: Fraction) -> int:
    """Return the exponent of the step for noise whose squared width is given."""
    exponent = log2_down(squared_width) // 2 - _NOISE_BITS
    if exponent > _LARGEST_EXPONENT:
        raise ValueError("the noise on real values must be at most 2**1000 wide")
    if exponent < -_LARGEST_EXPONENT:
        raise ValueError("the noise on real values must be at least 2**-920 wide")
    return exponent


def priced_exponent(width: Fraction, price: Fraction, name: str, length: Fraction) -> int:
    """Return the exponent for noise of a width, or refuse the price that a length of it has."""
    try:
        return exponent_for(width**2)
    except ValueError as error:
        side = "large" if length < price else "small"
        raise ValueError(
            f"epsilon is too {side} for a {name} of {brief(length)}, got {brief(price)}; {error}"
        ) from None


def l1_on_grid(sensitivity: Fraction, exponent: int) -> int:
    """Return how many steps a vector can move in the L1 norm once it is rounded.

    Guarantee:
        Neighbours: any change that moves a vector of at most 2**16 reals by at most ``sensitivity``
            in the L1 norm.
        Loss: none by itself; the result bounds the shift of the rounded vector.
        Numerics: exact.
        Proof: docs/proofs/laplace.md, theorem 5.
    """
    return math.floor(sensitivity / Fraction(2) ** exponent) + MOST_COORDINATES


def l2_on_grid(sensitivity: Fraction, exponent: int, coordinates: int) -> int:
    """Return the square of how many steps a vector can move in the L2 norm once it is rounded.

    Guarantee:
        Neighbours: any change that moves a vector of at most ``coordinates`` reals by at most
            ``sensitivity`` in the L2 norm.
        Loss: none by itself; the result bounds the squared shift of the rounded vector.
        Numerics: exact for one coordinate and for square numbers of them, else rounded up.
        Proof: docs/proofs/gaussian.md, theorem 7.
    """
    steps = sensitivity / Fraction(2) ** exponent
    if coordinates == 1:
        return (math.floor(steps) + 1) ** 2
    root = math.isqrt(coordinates - 1) + 1
    return math.floor((steps + root) ** 2)


def to_grid(x: int | float | Fraction | Decimal, exponent: int) -> int:
    """Return the nearest whole number of steps, the even one at a tie, exactly.

    >>> [to_grid(x, -1) for x in (0.25, 0.75, -0.75, 1e3, Fraction(7, 3))]
    [0, 2, -2, 2000, 5]

    Guarantee: none by itself; the shift of the result is bounded by ``l1_on_grid``, ``l2_on_grid``.
    """
    numerator, denominator = x.as_integer_ratio()
    if exponent >= 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    steps, rest = divmod(numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and steps % 2):
        steps += 1
    return steps


def from_grid(steps: int, exponent: int) -> float:
    """Return the nearest double to a whole number of steps; the largest ones stand for all beyond.

    >>> from_grid(3, -1), from_grid(-(10**400), 0)
    (1.5, -1.7976931348623157e+308)
    """
    try:
        return float(steps << exponent) if exponent >= 0 else steps / (1 << -exponent)
    except OverflowError:
        return sys.float_info.max if steps > 0 else -sys.float_info.max


_HALF_STEP = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """Noise on the multiples of a public step, in units of the value.

    A float is exactly the number it is, because multiples of the step come out as floats. Every
    number that is returned is rounded up, from certified balls.

    >>> from sordino.mechanisms.keys.optimal import LaplaceNoise
    >>> law = NoiseLaw(LaplaceNoise(Fraction(1)), Fraction(1, 2))
    >>> round(law.pmf(0.5), 6), law.pmf(0.3), round(law.cdf(0.3), 6)
    (0.170003, 0.0, 0.731059)
    """

    noise: Noise
    step: Fraction

    def pmf(self, x: Number) -> float:
        """Return the probability that the noise is x; 0 beside the grid."""
        place = _exact(x) / self.step
        if place.denominator != 1:
            return 0.0
        return min(round_up(lambda: self.noise.mass(place.numerator)), 1.0)

    def cdf(self, x: Number) -> float:
        """Return the probability that the noise is at most x."""
        # The noise is symmetric: being at most x is as likely as being at least -x.
        start = -math.floor(_exact(x) / self.step)
        return min(round_up(lambda: self.noise.tail(start)), 1.0)

    @property
    def variance(self) -> float:
        """The variance, which is the mean of the squared noise."""
        return round_up(lambda: self.noise.second_moment() * ball(self.step**2))

    @property
    def std(self) -> float:
        """The root of the variance."""
        return round_up(lambda: self.noise.second_moment().sqrt() * ball(self.step))

    def expected_error(self, *, rounds: bool) -> float:
        """Return the mean size of the error; values that are rounded first add half a step."""
        more = self.step * _HALF_STEP if rounds else Fraction(0)
        return round_up(lambda: self.noise.mean_size() * ball(self.step) + ball(more))


class Additive(Mechanism):
    """A mechanism that adds noise from one law on a grid to every value that is handed over."""

    __slots__ = ()

    sensitivity: Fraction
    whole: bool
    grid: Fraction
    _exponent: int
    _sampler: SamplerAt

    def _make_sampler(self) -> Sampler:
        raise NotImplementedError

    def _half_width(self, level: Fraction, coordinates: int) -> int:
        """Return the least k that the noise of all coordinates keeps to with this confidence."""
        raise NotImplementedError

    @property
    def _law(self) -> NoiseLaw:
        raise NotImplementedError

    @property
    def _most(self) -> int | None:
        """How many values are released at once, if that was promised."""
        return None

    def release(self, value: object) -> Any:
        """Return the value with fresh noise: an int or a float for a number, an array for an array.

        Arrays hold int64 or float64, and lists, Series and the like become arrays too. A single int
        may be as large as it likes; in an array, what would be beyond 64 bits becomes the nearest
        64-bit integer, and a real beyond the largest double becomes the largest double.
        """
        sampler = self._sampler()
        if sampler is None:
            sampler = self._make_sampler()
            fill(self, _sampler=ref(sampler))
        if not self.whole:
            most = self._most or MOST_COORDINATES
            return release_reals(value, sampler, exponent=self._exponent, most=most)
        if type(value) is int:
            return value + sampler.one()
        whole = math.ceil(self.sensitivity)
        return release_integers(value, sampler, sensitivity=whole, most=self._most)

    def accuracy(self, *, confidence: Number, coordinates: Integer = 1) -> int | float:
        """Return the least half-width that the noise keeps to with this confidence.

        With ``coordinates`` it holds for that many values at once. It is an int for integers; for
        reals it is a float that includes half a step of the grid and is rounded up.
        """
        level = confidence_level(confidence)
        steps = self._half_width(level, positive_whole("coordinates", coordinates))
        return steps if self.whole else up((steps + _HALF_STEP) * self.grid)

    def pmf(self, x: Number) -> float:
        """Return the probability that the noise is x, a multiple of the grid; 0 for all others.

        This is the law that is drawn, on the grid; the real line would have a density.
        A float is exactly the number it is, and the result is rounded up.
        """
        return self._law.pmf(x)

    def cdf(self, x: Number) -> float:
        """Return the probability that the noise is at most x, rounded up."""
        return self._law.cdf(x)

    @property
    def std(self) -> float:
        """The standard deviation of the noise, rounded up.

        Noise that is hardly ever other than 0 has a much smaller one than its width.
        """
        return self._law.std

    @property
    def expected_error(self) -> float:
        """The mean of the size of the error, rounded up; for reals with half a step of the grid."""
        return self._law.expected_error(rounds=not self.whole)


class Goal(NamedTuple):
    """A half-width that the noise on so many values is to keep to, with a confidence."""

    width: Fraction
    level: Fraction
    coordinates: int

    def met_by(self, make: Callable[[Fraction], Additive]) -> Callable[[Fraction], bool]:
        """Return a test of an epsilon: whether it makes noise, and noise that keeps to this."""

        def fits(epsilon: Fraction) -> bool:
            try:
                mechanism = make(epsilon)
            except ValueError:
                return False
            reached = mechanism.accuracy(confidence=self.level, coordinates=self.coordinates)
            return reached <= self.width

        return fits


def read_goal(half_width: Number, confidence: Number, coordinates: Integer) -> Goal:
    """Read what the noise is to keep to."""
    width, level = positive("half_width", half_width), confidence_level(confidence)
    return Goal(width, level, positive_whole("coordinates", coordinates))


def least_for_width(fits: Callable[[Fraction], bool], *, near: float, high: float) -> float:
    """Return the least epsilon that passes a test which all larger ones pass."""
    try:
        return least_double(fits, near=near, high=high)
    except ValueError:
        raise ValueError("no epsilon is large enough for this half-width") from None


def _exact(x: Number) -> Fraction:
    """Read a finite number as exactly what it is."""
    finite("x", x)
    if isinstance(x, float | np.floating | Decimal | Fraction):
        above, below = x.as_integer_ratio()
        return Fraction(int(above), int(below))
    return Fraction(int(x))


Array: TypeAlias = npt.NDArray[Any]
Integers: TypeAlias = npt.NDArray[np.int64]

LOWEST, HIGHEST = -(2**63), 2**63 - 1
_HALF = 2**62
_SAFE = 2.0**62  # two numbers below this do not overflow 64 bits together
_EXACT = 2**53  # integers up to this are exact as doubles

REALS = (
    "this mechanism releases whole numbers because its sensitivity is the integer {0}; "
    "convert counts with int(...) or .astype(int), or give the sensitivity of the real value as a "
    "float, such as {0}.0"
)
NOT_FINITE = "some values are NaN or infinite; replace or clip them before the release"
_RULE = "release takes numbers or arrays of numbers, not {0}"
_UNEVEN = _RULE.format("rows of unequal length") + "; make them alike or release them one by one"
RELEASE = Door(
    rule=_RULE,
    shape=_RULE,
    missing="some values are missing; fill them in or leave them out before the release",
    masked="masked arrays are not released; fill them with .filled(...) first",
    table="release takes one column of a table at a time, such as table['name']; not a whole table",
    booleans="release takes numbers, not booleans; "
    "turn them into 0 and 1 with int(...) or .astype(int)",
    extended="release takes doubles, not extended precision; "
    "convert with float(...) or .astype(float)",
    mappings="; list its values in an order fixed beforehand: [counts[key] for key in KEYS]",
)


def release_integers(value: object, sampler: Sampler, *, sensitivity: int, most: int | None) -> Any:
    """Return integers with noise: an int for a number, an int64 array for an array.

    Guarantee:
        Neighbours: any change that moves the integers by no more than the sampler was made for.
        Loss: that of the noise, drawn afresh for each coordinate.
        Numerics: exact. In an array, a result beyond 64 bits becomes the nearest 64-bit integer,
            which is post-processing; nothing wraps.
        Proof: docs/proofs/laplace.md, theorem 1; docs/proofs/gaussian.md, theorem 3.
    """
    array = _read(value)
    if array is None:
        if isinstance(value, float | np.floating | Fraction | Decimal):
            raise TypeError(REALS.format(sensitivity))
        return int(_integer(value)) + sampler.one()
    _check_size(array, most)
    if array.dtype.kind == "f":
        raise TypeError(REALS.format(sensitivity))
    if array.dtype.kind == "O":
        if not all(issubclass(kind, int | np.integer) for kind in kinds_of(array)):
            raise TypeError(REALS.format(sensitivity))
        return _add_exactly(array, sampler.many(array.size))
    noisy = np.empty(array.size, dtype=np.int64)
    for start, piece, beyond in sampler.fill(noisy):
        values = _flat(array, start, piece.size)
        _add_into(piece, values)
        for at, large in beyond.items():
            piece[at] = _saturated(int(values[at]) + large)
    return noisy.reshape(array.shape)


def release_reals(value: object, sampler: Sampler, *, exponent: int, most: int) -> Any:
    """Return reals on the grid with noise: a float for a number, a float64 array for an array.

    Guarantee:
        Neighbours: any change that moves the rounded values by no more than the sampler was made
            for; the grid says how far that is.
        Loss: that of the noise, drawn afresh for each coordinate.
        Numerics: rounding to the grid and adding noise are exact, for Fractions and Decimals too;
            turning the result into the nearest double is post-processing.
        Proof: docs/proofs/laplace.md, theorem 5; docs/proofs/gaussian.md, theorem 7.
    """
    array = _read(value)
    if array is None:
        return from_grid(to_grid(_real(value), exponent) + sampler.one(), exponent)
    _check_size(array, most)
    reals = _as_doubles(array)
    noise = sampler.many(array.size)
    if reals is None or noise.dtype == object:
        exact = [to_grid(_real(x), exponent) for x in array.reshape(-1).tolist()]
        noisy = [from_grid(x + int(y), exponent) for x, y in zip(exact, noise, strict=True)]
        return np.array(noisy, dtype=np.float64).reshape(array.shape)
    return _add_on_grid(reals, noise, exponent).reshape(array.shape)


def _read(value: object) -> Array | None:
    """Return an array of numbers, or None for anything that is not array-like; refuse booleans."""
    if isinstance(value, np.generic | str | bytes):
        return None
    refuse_tables(RELEASE, value)
    array = _rows(value) if isinstance(value, Sequence) else unboxed(value)
    if array is not None:
        check_numbers(RELEASE, array)
    return array


def _rows(value: Sequence[object]) -> Array:
    """Return the objects of a sequence, so that large integers are not made into doubles."""
    try:
        array = np.array(value, dtype=object)
    except ValueError:
        raise TypeError(_UNEVEN) from None
    if any(issubclass(kind, list | tuple | np.ndarray) for kind in kinds_of(array)):
        raise TypeError(_UNEVEN)
    return array


def _integer(value: object) -> int:
    check_kind(RELEASE, type(value))
    return int(value)  # type: ignore[call-overload, no-any-return]  # its kind was just checked


def _real(value: object) -> int | float | Fraction | Decimal:
    """Return a finite double as it is, any other number exactly, from -10**1000 to 10**1000."""
    check_kind(RELEASE, type(value))
    real = clamped(value)
    if isinstance(real, float) and not math.isfinite(real):
        raise ValueError(NOT_FINITE)
    return real


def _check_size(array: Array, most: int | None) -> None:
    if most is not None and array.size > most:
        raise ValueError(f"this mechanism releases at most {most} values at a time")


def _flat(array: Array, at: int, size: int) -> Array:
    """Return one block of an array, in reading order, without copying all of it."""
    if array.flags.c_contiguous:
        return array.reshape(-1)[at : at + size]
    block: Array = array.flat[at : at + size]
    return block


def _add_into(noise: Integers, values: Array) -> None:
    """Add values to noise in place; results beyond 64 bits become the nearest 64-bit integer."""
    if _is_small(noise) and _is_small(values):
        # No sum is beyond 64 bits. Without dtype numpy would add int64 and uint64 as doubles, and
        # rounding large values could move neighbours far apart.
        np.add(noise, values, out=noise, dtype=np.int64, casting="unsafe")
        return
    signed = values.astype(np.int64)
    total = signed + noise
    beyond = ((signed ^ total) & (noise ^ total)) < 0
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        # A value v >= 2**63 appears as v - 2**64. Its sum fits if noise < 2**63 - v.
        large = values > HIGHEST
        beyond = np.where(large, noise >= -(signed ^ LOWEST), beyond)
        total[beyond & large] = HIGHEST
        beyond &= ~large
    if beyond.any():
        total[beyond] = np.where(noise[beyond] < 0, LOWEST, HIGHEST)
    noise[:] = total


def _is_small(values: Array) -> bool:
    """Tell whether all numbers are so small that two of them cannot overflow together."""
    return bool(values.max(initial=0) < _HALF and values.min(initial=0) > -_HALF)


def _add_exactly(array: Array, noise: Array) -> Integers:
    pairs = zip(array.reshape(-1).tolist(), noise.tolist(), strict=True)
    exact = [_saturated(int(x) + y) for x, y in pairs]
    return np.array(exact, dtype=np.int64).reshape(array.shape)


def _saturated(x: int) -> int:
    return min(max(x, LOWEST), HIGHEST)


def _as_doubles(array: Array) -> npt.NDArray[np.float64] | None:
    """Return the doubles that an array holds exactly, or None if it holds others as well."""
    flat = array.reshape(-1)
    kinds = kinds_of(array) if array.dtype.kind == "O" else set()
    if array.dtype.kind == "f" or (kinds and all(issubclass(kind, float) for kind in kinds)):
        doubles: npt.NDArray[np.float64] = flat.astype(np.float64)
        if not np.isfinite(doubles).all():
            raise ValueError(NOT_FINITE)
        return doubles
    if array.dtype.kind in "iu" and ((flat <= _EXACT) & (flat >= -_EXACT)).all():
        return flat.astype(np.float64)
    return None


def _add_on_grid(
    reals: npt.NDArray[np.float64], noise: Integers, exponent: int
) -> npt.NDArray[np.float64]:
    with np.errstate(over="ignore", under="ignore"):
        steps = np.ldexp(reals, -exponent)
    easy = (np.abs(steps) < _SAFE) & (np.abs(noise.astype(np.float64)) < _SAFE)
    rounded = np.rint(np.where(easy, steps, 0.0)).astype(np.int64)
    noisy = np.ldexp((rounded + np.where(easy, noise, 0)).astype(np.float64), exponent)
    for i in np.flatnonzero(~easy):
        noisy[i] = from_grid(to_grid(float(reals[i]), exponent) + int(noise[i]), exponent)
    return noisy
