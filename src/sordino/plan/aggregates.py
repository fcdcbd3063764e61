# SPDX-License-Identifier: Apache-2.0
"""One row an aggregate: the exact integers it needs, its value and its error bar from noisy ones.

A row says what a measure needs, as steps on a grid, and which formula its value follows. A formula
has places in ``Plan.releases``. It computes the value with its interval after a release, and says
before anything is paid for how wide that interval will be.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeAlias, assert_never

import numpy as np

from sordino.errors import MissingBound
from sordino.numbers.rational import down, up
from sordino.plan.intervals import Expected, Known, Span, divide, in_group, short, squared
from sordino.plan.plan import (
    Cells,
    Crowded,
    Distinct,
    Part,
    Ranks,
    RowCount,
    Shares,
    Statistic,
    Total,
    UnitCount,
    Votes,
)
from sordino.query.tree import Call, Field, Kind, Literal, Measure, Query, Scalar
from sordino.query.types import Range, Type

MOST_BITS, FEWEST_BITS = 31, 12
MOST_BUCKETS = 2**16
_SCALE_BITS = 44  # noise is drawn at scales up to 2**50; a release may have 1/64 of epsilon
_MOST_EXPONENT = 900  # so that every step is an ordinary double
_SLIP = 2.0**-48  # more than a few roundings of doubles can be off, relatively
_EXPECTED_MEAN = 0.5  # where in its range a mean is expected: half way from the middle to an end


# Formulas: how a measure is made from releases; post-processing. --------------------------------


class Formula(ABC):
    """How a measure follows from noisy numbers."""

    __slots__ = ()

    @property
    @abstractmethod
    def places(self) -> tuple[int, ...]:
        """The releases that it is made from, in the order in which ``value`` takes them."""

    @property
    @abstractmethod
    def errors(self) -> tuple[tuple[int, float], ...]:
        """The releases, and how much of the error of each is in that of the measure."""

    @abstractmethod
    def value(self, *spans: Span) -> Span:
        """Return the measure; if all numbers lie in their intervals, so does it in its own."""

    @abstractmethod
    def promised(self, known: Known) -> Expected:
        """Return what is known of the error bar before anything is paid for."""

    def scale(self, public: Range) -> Fraction:
        """Return what a percentage of an error bar is a part of, given the range of values."""
        return public.high - public.low


@dataclass(frozen=True, slots=True)
class Direct(Formula):
    """The measure is a release as it is."""

    release: int

    @property
    def places(self) -> tuple[int, ...]:
        return (self.release,)

    @property
    def errors(self) -> tuple[tuple[int, float], ...]:
        return ((self.release, 1.0),)

    def value(self, *spans: Span) -> Span:
        return spans[0]

    def promised(self, known: Known) -> Expected:
        return known.release(self.release)


@dataclass(frozen=True, slots=True)
class Mean(Formula):
    """AVG: offset + total / count, kept within the public range."""

    total: int
    count: int
    offset: Fraction
    low: Fraction
    high: Fraction

    @property
    def places(self) -> tuple[int, ...]:
        return self.total, self.count

    @property
    def errors(self) -> tuple[tuple[int, float], ...]:
        return (self.total, 1.0), (self.count, _EXPECTED_MEAN)

    def value(self, *spans: Span) -> Span:
        """Return the quotient, or the whole public range where the count may be 0."""
        total, count = spans
        low, high = down(self.low), up(self.high)
        offset = float(self.offset)
        middle = float((self.low + self.high) / 2)
        ratio = divide(total, count)
        slip = _SLIP * (abs(offset) + np.maximum(abs(ratio.low), abs(ratio.high)))
        known = count.low > 0
        return Span(
            np.where(count.value > 0, offset + ratio.value, middle),
            np.where(known, offset + ratio.low - slip, low),
            np.where(known, offset + ratio.high + slip, high),
        ).clip(low, high)

    def promised(self, known: Known) -> Expected:
        total, count = known.added(self.total), known.added(self.count)
        far = float(max(self.high - self.offset, self.offset - self.low))
        widest = float(self.high - self.low)
        rows = known.rows
        if rows is None:
            return Expected(None, f"about {short(total + far * count)} over the rows of the group")
        return Expected(min(_quotient(total, count, far, rows), widest), in_group(rows))


@dataclass(frozen=True, slots=True)
class Spread(Formula):
    """VARIANCE: square / count - (total / count) ** 2, at least 0; its root for STDDEV.

    total and square are of values less a public middle; the variance does not depend on it. low
    and high are the ends of the public range of the values themselves, without the middle taken
    off: the variance is at most (high - low) ** 2 / 4.
    """

    total: int
    square: int
    count: int
    low: Fraction
    high: Fraction
    root: bool

    @property
    def places(self) -> tuple[int, ...]:
        return self.total, self.square, self.count

    @property
    def errors(self) -> tuple[tuple[int, float], ...]:
        return (self.square, 1.0), (self.total, 1.0), (self.count, _EXPECTED_MEAN)

    def value(self, *spans: Span) -> Span:
        total, square, count = spans
        widest = up(((self.high - self.low) / 2) ** 2)
        first, second = divide(total, count), divide(square, count)
        below, above = squared(first)
        slip = _SLIP * (abs(second.low) + abs(second.high) + above)
        known = count.low > 0
        variance = Span(
            np.where(count.value > 0, second.value - first.value**2, widest / 2),
            np.where(known, second.low - above - slip, 0.0),
            np.where(known, second.high - below + slip, widest),
        ).clip(0.0, widest)
        if not self.root:
            return variance
        return Span(
            np.sqrt(variance.value),
            np.maximum(np.sqrt(variance.low) * (1 - _SLIP), 0.0),
            np.minimum(np.sqrt(variance.high) * (1 + _SLIP), up((self.high - self.low) / 2)),
        )

    def promised(self, known: Known) -> Expected:
        half = float(self.high - self.low) / 2
        rows = known.rows
        if rows is None:
            return Expected(None, "it falls with the rows of the group")
        total, square, count = map(known.added, self.places)
        first = _quotient(total, count, half, rows)
        second = _quotient(square, count, half * half, rows)
        width = min(second + 2 * half * first + first * first, half * half)
        return Expected(math.sqrt(width) if self.root else width, in_group(rows))

    def scale(self, public: Range) -> Fraction:
        width = public.high - public.low
        return width if self.root else width * width / 4


def _quotient(over: float, under: float, largest: float, rows: float) -> float:
    """Return how far a quotient of at most ``largest`` is off if both its numbers are."""
    return (over + largest * under) / (rows - under) if rows > under else math.inf


# Targets: what is released, before anything is said of noise. ------------------------------------


@dataclass(frozen=True, slots=True)
class Tally:
    """A column of exact integers: one of s0, s1, ... of a part."""

    part: Cells | Distinct | Crowded
    column: int


@dataclass(frozen=True, slots=True)
class Rank:
    """A quantile of a Ranks part; ``toward`` is 0 for MIN and 1 for MAX."""

    part: Ranks
    quantile: Fraction | None
    toward: int | None


@dataclass(frozen=True, slots=True)
class Vote:
    """The most frequent candidates of a Votes part: one, or a list of so many."""

    part: Votes
    many: int | None


Target: TypeAlias = "Tally | Rank | Vote"
Need: TypeAlias = "Statistic | Distinct | Rank | Vote"


# Grids: values as whole numbers of steps. --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps of 2 ** exponent, and the first and last of them that count."""

    low: int
    high: int
    exponent: int

    @property
    def step(self) -> Fraction:
        """The width of one step."""
        return Fraction(2) ** self.exponent

    @property
    def middle(self) -> int:
        """The step in the middle, or just before it."""
        return (self.low + self.high) // 2


def bits_for(shares: Shares, epsilon: float) -> int:
    """Return how many bits a value may have, so that its noise can still be drawn.

    >>> bits_for(Shares(rows=10), 1.0), bits_for(Shares(rows=1, alone=True), 1.0)
    (24, 31)
    """
    rows = shares.rows * shares.steps
    left = _SCALE_BITS - math.ceil(math.log2(rows) - math.log2(epsilon))
    return max(FEWEST_BITS, min(MOST_BITS, left))


def grid_for(public: Range, *, bits: int, whole: bool, centred: bool = False) -> Grid:
    """Return the grid on which a public range has about so many bits.

    ``whole`` says that values are integers: they stay exact as long as the bits suffice. With
    ``centred`` the middle of the range is a step itself, if there are bits for it. Ends are
    rounded inwards.

    >>> grid_for(Range(Fraction(0), Fraction(120)), bits=24, whole=True)
    Grid(low=0, high=120, exponent=0)
    >>> grid_for(Range(Fraction(0), Fraction(5000)), bits=24, whole=False)
    Grid(low=0, high=10240000, exponent=-11)
    >>> grid_for(Range(Fraction(0), Fraction(1)), bits=24, whole=True, centred=True)
    Grid(low=0, high=2, exponent=-1)
    """
    exponent = _log2_up(max(abs(public.low), abs(public.high))) - bits
    if whole and public.low.denominator == public.high.denominator == 1:
        odd = centred and (public.low + public.high) % 2 == 1 and exponent <= -1
        exponent = max(exponent, -1 if odd else 0)
    return _between(public, exponent)


def buckets_for(public: Range, *, whole: bool) -> tuple[Grid, int]:
    """Return a grid for ranks and how many of its steps make a bucket, at most 65,536 buckets.

    >>> buckets_for(Range(Fraction(0), Fraction(120)), whole=True)
    (Grid(low=0, high=120, exponent=0), 1)
    >>> buckets_for(Range(Fraction(0), Fraction(5000)), whole=False)
    (Grid(low=0, high=40000, exponent=-3), 1)
    """
    size = max(abs(public.low), abs(public.high))
    if whole and public.low.denominator == public.high.denominator == 1:
        grid = _between(public, max(0, _log2_up(size) - MOST_BITS))
        return grid, -(-(grid.high - grid.low + 1) // MOST_BUCKETS)
    exponent = max(_log2_up(size) - MOST_BITS, _log2_up(public.high - public.low) - 16)
    grid = _between(public, exponent)
    return grid, -(-(grid.high - grid.low + 1) // MOST_BUCKETS)


def _between(public: Range, exponent: int) -> Grid:
    exponent = max(-_MOST_EXPONENT, min(_MOST_EXPONENT, exponent))
    step = Fraction(2) ** exponent
    low, high = math.ceil(public.low / step), math.floor(public.high / step)
    if low > high:  # no step lies between them
        low = high = round((public.low + public.high) / (2 * step))
    return Grid(low, high, exponent)


def _log2_up(x: Fraction) -> int:
    """Return the least e with x <= 2 ** e; 0 for 0."""
    if x == 0:
        return 0
    e = x.numerator.bit_length() - x.denominator.bit_length() - 1
    while Fraction(2) ** e < x:
        e += 1
    return e


# The rows. ---------------------------------------------------------------------------------------

_SQUARED = (Kind.VARIANCE, Kind.STDDEV)
_WIDEST, _WIDEST_SQUARED = Fraction(2) ** 900, Fraction(2) ** 450  # steps are ordinary doubles
_CHEAP = 4  # AVG takes the total of SUM if one around the middle would move this much less at most


class Totals:
    """Which totals the measures of a question are made from; they share what they can."""

    def __init__(self, query: Query, shares: Shares, epsilon: float) -> None:
        self.shares = shares
        self.bits = bits_for(shares, epsilon)
        asked = [(m.kind, m.argument, m.range) for m in query.measures]
        self.summed = {(x, r) for kind, x, r in asked if kind is Kind.SUM}
        self.squared = {(x, r) for kind, x, r in asked if kind in _SQUARED}

    def plain(self, measure: Measure) -> Total:
        """Return the total of the values themselves."""
        x, public = _ranged(measure)
        grid = grid_for(public, bits=self.bits, whole=_is_whole(x))
        return Total(x, grid.low, grid.high, grid.exponent)

    def centred(self, measure: Measure, *, power: int, bits: int) -> Total:
        """Return the total of powers of the values less the middle of their range."""
        x, public = _ranged(measure)
        grid = grid_for(public, bits=bits, whole=_is_whole(x), centred=True)
        return Total(x, grid.low, grid.high, grid.exponent, offset=grid.middle, power=power)

    def averaged(self, measure: Measure) -> Total:
        """Return the total for a mean: one that is needed anyway if that is no worse."""
        same = measure.argument, measure.range
        if same in self.squared:
            return self.centred(measure, power=1, bits=self.bits // 2)
        centred, plain = self.centred(measure, power=1, bits=self.bits), self.plain(measure)
        size = plain.largest * _step(plain), centred.largest * _step(centred)
        return plain if same in self.summed and size[0] <= _CHEAP * size[1] else centred


@dataclass(frozen=True, slots=True)
class Made:
    """How a measure is made: its needs, in the order of a part, and its formula of their places."""

    needs: tuple[Need, ...]
    formula: Callable[..., Formula] = Direct


def made(measure: Measure, totals: Totals) -> Made:
    """Say how a measure is made."""
    return AGGREGATES[measure.kind](measure, totals)


def _count(measure: Measure, _: Totals) -> Made:
    return Made((_rows_with(measure.argument),))


def _count_units(_measure: Measure, _totals: Totals) -> Made:
    return Made((UnitCount(),))


def _count_distinct(measure: Measure, totals: Totals) -> Made:
    return Made((Distinct(_argument(measure), most=totals.shares.rows),))


def _sum(measure: Measure, totals: Totals) -> Made:
    return Made((totals.plain(measure),))


def _mean(measure: Measure, totals: Totals) -> Made:
    total = totals.averaged(measure)
    step = _step(total)
    low, high = total.low * step, total.high * step
    formula = partial(Mean, offset=total.offset * step, low=low, high=high)
    return Made((total, _rows_with(measure.argument)), formula)


def _spread(measure: Measure, totals: Totals) -> Made:
    total, square = (
        totals.centred(measure, power=power, bits=totals.bits // 2) for power in (1, 2)
    )
    step = _step(total)
    low, high = total.low * step, total.high * step
    formula = partial(Spread, low=low, high=high, root=measure.kind is Kind.STDDEV)
    return Made((total, square, _rows_with(measure.argument)), formula)


def _quantile(measure: Measure, _: Totals) -> Made:
    """A quantile of 0 or 1 is the least or the largest value."""
    if measure.quantile in (0, 1):
        return _extreme(measure, toward=int(measure.quantile or 0))
    return Made((Rank(_ranks(measure), measure.quantile, None),))


def _extreme(measure: Measure, *, toward: int) -> Made:
    return Made((Rank(_ranks(measure), None, toward),))


def _vote(measure: Measure, _: Totals) -> Made:
    if not measure.domain:
        raise MissingBound(
            "no_keys",
            f"{measure.kind.upper()} chooses among public values, and none are declared",
            hint="declare the keys of the column",
        )
    many = min(measure.count or 1, len(measure.domain)) if measure.kind is Kind.TOP else None
    return Made((Vote(Votes(_argument(measure), measure.domain), many),))


AGGREGATES: dict[Kind, Callable[[Measure, Totals], Made]] = {
    Kind.COUNT: _count,
    Kind.COUNT_UNITS: _count_units,
    Kind.COUNT_DISTINCT: _count_distinct,
    Kind.SUM: _sum,
    Kind.AVG: _mean,
    Kind.VARIANCE: _spread,
    Kind.STDDEV: _spread,
    Kind.QUANTILE: _quantile,
    Kind.MIN: lambda measure, _: _extreme(measure, toward=0),
    Kind.MAX: lambda measure, _: _extreme(measure, toward=1),
    Kind.MODE: _vote,
    Kind.TOP: _vote,
}


def part_of(need: Need) -> Part | None:
    """Return the part that a need has for itself; statistics share one."""
    match need:
        case Rank() | Vote():
            return need.part
        case Distinct():
            return need
        case _:
            return None


def target_of(need: Need, cells: Cells) -> Target:
    """Return what is released for a need, where ``cells`` have all statistics."""
    match need:
        case Rank() | Vote():
            return need
        case Distinct():
            return Tally(need, 0)
        case _:
            return Tally(cells, cells.statistics.index(need))


def _ranks(measure: Measure) -> Ranks:
    x, public = _ranged(measure)
    grid, width = buckets_for(public, whole=_is_whole(x))
    return Ranks(x, grid.low, grid.high, grid.exponent, width)


def _rows_with(argument: Scalar | None) -> RowCount:
    return RowCount(None if argument is None or is_there(argument) else argument)


def is_there(scalar: Scalar) -> bool:
    """Tell whether a scalar is certain not to be missing, whatever the row holds."""
    match scalar:
        case Literal():
            return scalar.value is not None
        case Field():
            return False
        case Call(operation="is_null"):
            return True
        case Call(operation="coalesce"):
            return any(map(is_there, scalar.arguments))
        case Call(operation="case"):
            values = (*scalar.arguments[1::2], scalar.arguments[-1])
            return len(scalar.arguments) % 2 == 1 and all(map(is_there, values))
        case Call():
            return False
        case _:
            assert_never(scalar)


def _argument(measure: Measure) -> Scalar:
    if measure.argument is None:
        raise ValueError(f"{measure.kind.upper()} needs an argument")
    return measure.argument


def _ranged(measure: Measure) -> tuple[Scalar, Range]:
    if measure.range is None:
        raise MissingBound(
            "no_bounds",
            f"{measure.kind.upper()} needs public bounds of its argument",
            why="without bounds one person could move the answer by any amount",
            hint="write CLAMP(x, low, high), or declare the bounds of the column",
        )
    public = measure.range
    widest = _WIDEST_SQUARED if measure.kind in _SQUARED else _WIDEST
    if max(abs(public.low), abs(public.high)) > widest:
        raise MissingBound(
            "too_wide",
            f"the values of {measure.kind.upper()} may be beyond {float(widest):.0e}",
            why="noise for so wide a range would leave nothing of the answer",
            hint="write CLAMP(x, low, high) with bounds that the values have",
        )
    return _argument(measure), public


def _is_whole(scalar: Scalar) -> bool:
    return scalar.type is Type.INTEGER


def _step(total: Total) -> Fraction:
    return Grid(total.low, total.high, total.exponent).step
