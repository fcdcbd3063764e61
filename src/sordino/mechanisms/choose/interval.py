# SPDX-License-Identifier: Apache-2.0
"""An interval of numbers as a public grid of points, each with a public weight."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.scores import VALUES
from sordino.mechanisms.mechanism import fill
from sordino.numbers.columns import as_doubles, nearest_double, read_finite, read_numbers
from sordino.numbers.rational import (
    Number,
    brief,
    is_integer,
    log2_down,
    nearest,
    positive,
    written,
)
from sordino.randomness.entropy import Bits, below_one
from sordino.randomness.selection import keeps, spin

Integers: TypeAlias = npt.NDArray[np.int64]
Base: TypeAlias = tuple[tuple[Fraction, Fraction], ...]

_POINT_BITS = 40  # a real interval has from 2**40 to 2**41 points, unless doubles are too coarse
_DOUBLE_BITS = 52
_LARGEST_BOUND = 1 << 61  # so that no difference of bounds and values leaves 64 bits

_UNBOUNDED = (
    "{0} must be finite: scores that fall no further far out, as rank scores do, give infinitely "
    "many points the same weight, and such weights do not add up to a probability; "
    "give public bounds, and with base= say which parts of them are likelier; for so.choose_in "
    "there is also so.Line, a line without end whose points weigh less the further out they are"
)
_NAN = "some values are not a number (NaN); replace them or leave them out before the release"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Interval:
    """The points low, low + step, ... that are at most high.

    Integer bounds make an interval of whole numbers, one apart: values with decimals are rounded to
    them. With any other bounds, such as (30.0, 45.0), the points are the multiples of a power of
    two between them, about 2**40 of them, so a point next to 36.6 prints as 36.599999999998545. If
    you state a step, the points are low and what follows it: ``step=0.1`` gives 36.6. Nothing of
    this may depend on the data.

    ``base`` is a public prior: pairs (end, weight), which say how much each point up to ``end``
    weighs, beyond the end before. Where it is left out, all points weigh the same.

    To read: ``low``, ``high`` and ``step``, ``origin`` (the first point), ``whole`` (whether its
    points are integers) and ``size`` (how many there are).

    >>> Interval(0, 100).size, Interval(0.0, 1.0).step == 2**-40, Interval(0, 1, step=0.1).size
    (101, True, 11)
    >>> Interval(0, float("inf"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: high must be finite: scores that fall no further far out, ...
    """

    low: Fraction
    high: Fraction
    step: Fraction
    origin: Fraction
    whole: bool
    base: Base
    size: int = field(compare=False)
    _ends: tuple[int, ...] = field(compare=False)  # how many points come before a piece of base
    _sums: tuple[int, ...] = field(compare=False)  # what they weigh
    _weights: tuple[int, ...] = field(compare=False)  # of each point of a piece

    def __init__(
        self,
        low: Number,
        high: Number,
        *,
        step: Number | None = None,
        base: Iterable[tuple[Number, Number]] | None = None,
    ) -> None:
        first, last = _bound("low", low), _bound("high", high)
        if first > last:
            raise ValueError(f"low must be at most high, got {brief(first)} and {brief(last)}")
        whole = is_integer(low) and is_integer(high) and (step is None or is_integer(step))
        width = _width(first, last, whole, step)
        if step is not None and width > last - first > 0:
            raise ValueError(
                f"step must be at most high - low, which is {brief(last - first)}, "
                f"got {brief(width)}"
            )
        origin = first
        if step is None and not whole and first < last:
            origin = math.ceil(first / width) * width
        fill(
            self,
            low=first,
            high=last,
            step=width,
            origin=origin,
            whole=whole,
            size=(last - origin) // width + 1,
            base=_read_base(base, last),
        )
        self._weigh()

    def _weigh(self) -> None:
        """Write down the weights of base as whole numbers, and where they change."""
        unit = math.lcm(*(weight.denominator for _, weight in self.base))
        ends, sums, weights = [0], [0], []
        for end, weight in self.base or ((self.high, Fraction(1)),):
            stop = min((end - self.origin) // self.step + 1, self.size)
            if stop <= ends[-1]:
                continue
            weights.append(int(weight * unit))
            sums.append(sums[-1] + weights[-1] * (stop - ends[-1]))
            ends.append(stop)
        common = math.gcd(*weights)
        fill(
            self,
            _ends=tuple(ends),
            _sums=tuple(x // common for x in sums),
            _weights=tuple(x // common for x in weights),
        )

    def __repr__(self) -> str:
        text = f"{self._written(self.low)}, {self._written(self.high)}"
        if self != self.plain():
            text += f", step={self._written(self.step)}"
        if self.base:
            pairs = [f"({self._written(end)}, {_number(weight)})" for end, weight in self.base]
            text += f", base=[{', '.join(pairs)}]"
        return f"Interval({text})"

    def plain(self) -> Interval:
        """Return the interval with these bounds and this base whose step is the usual one."""
        low, high = (
            (self.low.numerator, self.high.numerator) if self.whole else (self.low, self.high)
        )
        return Interval(low, high, base=self.base or None)

    def _written(self, x: Fraction) -> str:
        return str(x.numerator) if self.whole and x.denominator == 1 else _number(x)

    @property
    def total(self) -> int:
        """What all points weigh together."""
        return self._sums[-1]

    @property
    def uniform(self) -> bool:
        """Whether each point weighs 1."""
        return self._weights == (1,)

    @property
    def least(self) -> int:
        """The least weight of a point."""
        return min(self._weights)

    def point(self, index: int) -> int | float:
        """Return the number at a place of the grid; for reals the nearest double."""
        exact = self.origin + index * self.step
        return exact.numerator if self.whole else float(exact)

    def mass(self, index: int) -> int:
        """Return what the first ``index`` points weigh."""
        piece = min(bisect_right(self._ends, index), len(self._weights)) - 1
        return self._sums[piece] + (index - self._ends[piece]) * self._weights[piece]

    def locate(self, mass: int) -> int:
        """Return the place of the point that a mass from 0 to the total, excluded, falls on."""
        piece = bisect_right(self._sums, mass) - 1
        return self._ends[piece] + (mass - self._sums[piece]) // self._weights[piece]

    def nearest(self, values: object) -> Integers:
        """Return the place of the point next to each value, or at the end that is next to it.

        The place is a function of the value alone, whatever the type and whatever the others are.

        Guarantee: none by itself; one record of the data is one place on the grid.
        """
        array = read_numbers(VALUES, values)
        return self._whole_places(array) if self.whole else self._real_places(array)

    def _whole_places(self, array: npt.NDArray[Any]) -> Integers:
        low, high, step = (int(x) for x in (self.low, self.high, self.step))
        if array.dtype.kind == "O":
            inside = [min(max(_nearest_whole(x, low, high), low), high) for x in array.tolist()]
            clipped: Integers = np.array(inside, dtype=np.int64)
        elif array.dtype.kind == "u":
            within = np.clip(array.astype(np.uint64), max(low, 0), max(high, 0))
            clipped = np.clip(within.astype(np.int64), low, high)
        else:
            if array.dtype.kind == "f":
                array = _no_nan(array.astype(np.float64))
                array = np.rint(np.clip(array, float(low), float(high)))
            clipped = np.clip(array.astype(np.int64), low, high)
        clipped -= low
        if 1 < step <= high - low:
            clipped = (clipped + step // 2) // step
        return np.minimum(clipped, self.size - 1)

    def _real_places(self, array: npt.NDArray[Any]) -> Integers:
        places = _no_nan(as_doubles(array).astype(np.float64))
        with np.errstate(over="ignore"):
            places -= float(self.origin)
            places /= float(self.step)
        np.rint(np.clip(places, 0.0, self.size - 1, out=places), out=places)
        return places.astype(np.int64)

    def first_from(self, value: Fraction, *, after: bool = False) -> int:
        """Return the place of the first point that is at least a value, or ``after`` it.

        Points are the numbers that come out: of a step of 0.1, the double 0.3 is one, not 3/10.

        Guarantee: none by itself; a function of the value alone.
        """
        place = min(max(math.floor((value - self.origin) / self.step), 0), self.size)
        while place and self._follows(place - 1, value, after):
            place -= 1
        while place < self.size and not self._follows(place, value, after):
            place += 1
        return place

    def _follows(self, place: int, value: Fraction, after: bool) -> bool:
        point = self.point(place)
        return point > value or (point == value and not after)


def as_interval(bounds: object, *, step: Number | None = None) -> Interval:
    """Read an interval, or a pair of public bounds."""
    if isinstance(bounds, Interval):
        if step is not None:
            raise ValueError("an Interval has a step of its own; state it there")
        return bounds
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise TypeError(
            "range must be a pair of public bounds (low, high) or an Interval, "
            f"got a value of type {type(bounds).__name__}"
        )
    low, high = _bound("low", bounds[0]), _bound("high", bounds[1])
    if low > high:
        raise ValueError(
            f"range must be (low, high) with low at most high, got ({brief(low)}, {brief(high)})"
        )
    return Interval(bounds[0], bounds[1], step=step)


def _bound(name: str, value: Any) -> Fraction:
    if isinstance(value, float | np.floating | Decimal) and Decimal(str(value)).is_infinite():
        raise ValueError(_UNBOUNDED.format(name))
    bound = read_finite(name, value)
    if abs(bound) > _LARGEST_BOUND and is_integer(value):
        raise ValueError(f"{name} must be between -2**61 and 2**61, or a float")
    return bound


def _width(low: Fraction, high: Fraction, whole: bool, step: Number | None) -> Fraction:
    """Return the step: the one stated, 1 for integers, else a power of two."""
    # Doubles tell two points apart that are so far from each other.
    far = max(abs(low), abs(high))
    coarsest = Fraction(2) ** (log2_down(far) - _DOUBLE_BITS) if far else Fraction(0)
    if step is not None:
        stated = positive("step", step)
        if not whole and stated < 4 * coarsest:
            raise ValueError(
                f"step is too fine for doubles between these bounds, got {brief(stated)}"
            )
        return stated
    if whole or low == high:
        return Fraction(1)
    fine = Fraction(2) ** (log2_down(high - low) - _POINT_BITS)
    width = max(fine, coarsest)
    if math.ceil(low / width) > high / width:
        raise ValueError("no double lies between low and high; give bounds further apart")
    return width


def _read_base(base: Iterable[tuple[Number, Number]] | None, high: Fraction) -> Base:
    if base is None:
        return ()
    try:
        listed = [(end, weight) for end, weight in base]
    except (TypeError, ValueError):
        raise TypeError("base must be a list of pairs (end, weight)") from None
    pairs = [(read_finite("an end in base", e), positive("a weight in base", w)) for e, w in listed]
    if not pairs or any(a >= b for (a, _), (b, _) in pairwise(pairs)):
        raise ValueError("the ends in base must increase, and there must be at least one")
    if pairs[-1][0] < high:
        raise ValueError("the last end in base must reach the high bound")
    return tuple(pairs)


def _number(x: Fraction) -> str:
    printed = float(x)
    return repr(printed) if Fraction(repr(printed)) == x else repr(x)


def _no_nan(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if np.isnan(values).any():
        raise ValueError(_NAN)
    return values


def _nearest_whole(value: Any, low: int, high: int) -> int:
    """Return the nearest integer, or a bound for what lies beyond it."""
    if is_integer(value):
        return int(value)
    real = nearest_double(value)
    if math.isnan(real):
        raise ValueError(_NAN)
    return round(min(max(real, float(low)), float(high)))


_FARTHEST = Fraction(1 << 1000)  # in place of a larger exponent, where doubles are needed
_COINS = 16  # fair ones that are tossed at a time
_NO_SUM = (
    "on a line without end the weights must add up: give the line a base, as in "
    "Line(centre=0, scale=100), or say with falls= how fast the scores fall beyond the breaks"
)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Line:
    """All multiples of ``step``, without a first and a last one: all integers by default.

    With ``centre`` and ``scale`` the line has a public base: the point y weighs
    exp(-abs(y - centre) / scale), which adds up, whatever bounded scores multiply it. Without them,
    scores must fall beyond their breaks, see ``choose_in``. A step that is no integer means that
    reals come out, each the double next to a multiple of the step. Nothing of this may depend on
    the data.

    >>> Line(), Line(step=0.5, centre=20, scale=100)
    (Line(), Line(step=0.5, centre=20, scale=100))
    >>> Line(scale=5)
    Traceback (most recent call last):
    TypeError: a base has a centre and a scale; give both of them, or none
    """

    step: Fraction
    whole: bool
    centre: Fraction | None
    scale: Fraction | None

    def __init__(
        self, *, step: Number = 1, centre: Number | None = None, scale: Number | None = None
    ) -> None:
        if (centre is None) is not (scale is None):
            raise TypeError("a base has a centre and a scale; give both of them, or none")
        fill(
            self,
            step=positive("step", step),
            whole=is_integer(step),
            centre=None if centre is None else read_finite("centre", centre),
            scale=None if scale is None else positive("scale", scale),
        )

    def __repr__(self) -> str:
        parts = [] if self.whole and self.step == 1 else [f"step={self._written()}"]
        if self.centre is not None and self.scale is not None:
            parts += [f"centre={written(self.centre)}", f"scale={written(self.scale)}"]
        return f"Line({', '.join(parts)})"

    def _written(self) -> str:
        whole = self.step.denominator == 1 and not self.whole
        return f"{self.step.numerator}.0" if whole else written(self.step)

    def point(self, place: int) -> int | float:
        """Return the number at a place; for reals the nearest double, or the largest one."""
        exact = place * self.step
        if self.whole:
            return exact.numerator
        return nearest(exact)

    def first_from(self, value: Fraction, *, after: bool = False) -> int:
        """Return the place of the first point that is at least a value, or ``after`` it.

        Guarantee: none by itself; a function of the value alone.
        """
        place = math.ceil(value / self.step)
        return place + 1 if after and place * self.step == value else place

    def behind(self, place: int) -> Fraction:
        """Return how little a point weighs in the base: minus the logarithm of its weight."""
        if self.centre is None or self.scale is None:
            return Fraction(0)
        return abs(place * self.step - self.centre) / self.scale


@dataclass(frozen=True, slots=True)
class Slope:
    """Points in a row from ``start`` on, in one direction, that weigh exp(-floor - rate * d).

    There are ``size`` of them, or no end of them if that is None; d counts from 0.
    """

    start: int
    direction: int
    size: int | None
    floor: Fraction
    rate: Fraction

    @property
    def block(self) -> int:
        """How many points in a row are drawn as if they weighed the same."""
        return math.ceil(1 / self.rate)

    @property
    def short(self) -> bool:
        """Whether all points are drawn as if they weighed the same."""
        return self.size is not None and (not self.rate or self.size <= 2 * self.block)

    @property
    def count(self) -> int:
        """How many points of the weight of the first one cover all of them."""
        return self.size if self.size is not None and self.short else 2 * self.block

    def draw(self, bits: Bits) -> int | None:
        """Draw a point with probability exp(-rate * d) / count, or none."""
        if self.short:
            distance, halvings = below_one(self.count, bits), 0
        else:
            halvings = _heads(bits)
            distance = halvings * self.block + below_one(self.block, bits)
            if self.size is not None and distance >= self.size:
                return None
        kept = keeps(self.rate * distance, bits, factor=Fraction(1 << halvings))
        return self.start + self.direction * distance if kept else None


class OnLine:
    """Scores that are constant between breaks, and fall linearly beyond them, as weights.

    ``breaks`` do not decrease, and there is one score more; ``rate`` is what scores are multiplied
    with and ``falls`` how much they fall for each unit beyond the first and the last break.

    Guarantee:
        Neighbours: as for choose_in.
        Loss: as for choose_in.
        Numerics: exact; no float decides an outcome.
        Proof: docs/proofs/choosing.md, theorem 9.
    """

    def __init__(
        self,
        line: Line,
        breaks: Sequence[Fraction],
        scores: Sequence[Fraction],
        *,
        rate: Fraction,
        falls: Fraction,
        after: bool,
    ) -> None:
        if line.scale is None and not falls:
            raise ValueError(_NO_SUM)
        if falls and not breaks:
            raise ValueError("scores that fall beyond their breaks need at least one break")
        self._line, self._breaks, self._scores = line, breaks, scores
        self._rate, self._falls, self._best = rate, falls, max(scores)
        cuts = [line.first_from(x, after=after) for x in breaks]
        self.slopes = list(self._slopes(cuts))

    def draw(self, bits: Bits) -> int:
        """Draw a place with a probability proportional to its weight."""
        counts = [slope.count for slope in self.slopes]
        floors = np.array([float(min(slope.floor, _FARTHEST)) for slope in self.slopes])
        while True:
            chosen = spin(counts, floors, lambda at: self.slopes[at].floor, bits)
            place = self.slopes[chosen].draw(bits)
            if place is not None:
                return place

    def exponent(self, piece: int, place: int) -> Fraction:
        """Return minus the logarithm of the weight of a point that lies in a piece."""
        score, beyond = self._scores[piece], Fraction(0)
        if self._falls and piece == 0:
            beyond += self._breaks[0] - place * self._line.step
        if self._falls and piece == len(self._breaks):
            beyond += place * self._line.step - self._breaks[-1]
        lost = self._rate * (self._best - score + self._falls * beyond)
        return lost + self._line.behind(place)

    def _slopes(self, cuts: list[int]) -> list[Slope]:
        """Divide the line where pieces end and at the centre; between, exponents are linear."""
        ends: list[int | None] = [None, *cuts, None]
        kink = None if self._line.centre is None else self._line.first_from(self._line.centre)
        found = []
        for piece, (start, stop) in enumerate(pairwise(ends)):
            inside = kink is not None and _before(start, kink) and _before(kink, stop)
            for first, last in pairwise([start, kink, stop] if inside else [start, stop]):
                if first is None or last is None or first < last:
                    found.append(self._slope(piece, first, last))
        return found

    def _slope(self, piece: int, first: int | None, stop: int | None) -> Slope:
        """Return the points from ``first`` to before ``stop``, the best one first."""
        near, direction = (stop - 1, -1) if stop is not None else (0, 1)
        if first is not None and (stop is None or self._rises(piece, first, stop)):
            near, direction = first, 1
        floor = self.exponent(piece, near)
        size = None if first is None or stop is None else stop - first
        if size == 1:
            return Slope(near, direction, size, floor, Fraction(0))
        return Slope(near, direction, size, floor, self.exponent(piece, near + direction) - floor)

    def _rises(self, piece: int, first: int, stop: int) -> bool:
        """Tell whether exponents are no smaller at the end of a row than at its beginning."""
        return self.exponent(piece, stop - 1) >= self.exponent(piece, first)


def _before(one: int | None, other: int | None) -> bool:
    """Tell whether one place comes before another; None is an end without a place."""
    return one is None or other is None or one < other


def _heads(bits: Bits) -> int:
    """Return how often a fair coin comes up before it does not."""
    heads = 0
    while (word := bits.integer(_COINS)) == (1 << _COINS) - 1:
        heads += _COINS
    return heads + (~word & (word + 1)).bit_length() - 1
