# SPDX-License-Identifier: Apache-2.0
"""From a question to one whose every number moves by a known amount with one unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from sordino.catalog.model import Catalog, Limits
from sordino.errors import MissingBound
from sordino.plan.bounded import (
    Bounded,
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
    is_discovered,
)
from sordino.plan.limits import has_ids, people_of, shares_of
from sordino.plan.naming import in_words, written
from sordino.plan.outline import Average, Deviation, OneOf, Outline, Place, Rank, Recipe, Vote
from sordino.query.tree import Call, Field, Kind, Literal, Measure, Query, Scalar
from sordino.query.types import Range, Type

MOST_BITS, FEWEST_BITS = 31, 12
MOST_BUCKETS = 2**16
_SCALE_BITS = 44  # noise is drawn at scales up to 2**50; a release may have 1/64 of epsilon
_MOST_EXPONENT = 900  # so that every step is an ordinary double


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


def crowded_title(people: str) -> str:
    """Return the title of the number of units of which not all counts."""
    return f"{people} with more rows than count in full"


def clamped_rows(query: Query, *, weighed: bool) -> list[tuple[str, RowCount]]:
    """Return for each argument with a range a count of the rows whose value lies outside.

    ``weighed`` says that a row of a unit with many counts as a part of one; the title says so.
    """
    found: dict[RowCount, str] = {}
    for measure in query.measures:
        if measure.argument is not None and measure.range is not None:
            outside = _outside(_inside(measure.argument), measure.range)
            title = _title(_inside(measure.argument), measure.range, weighed=weighed)
            found.setdefault(outside, title)
    return [(title, count) for count, title in found.items()]


def _inside(argument: Scalar) -> Scalar:
    """Return what a clamp is about."""
    if isinstance(argument, Call) and argument.operation == "clamp":
        return argument.arguments[0]
    return argument


def _title(value: Scalar, public: Range, *, weighed: bool) -> str:
    rows = "rows, weighed," if weighed else "rows"
    return f"{rows} with {written(value)} outside {in_words(public)}"


def _outside(value: Scalar, public: Range) -> RowCount:
    low = Call("lt", (value, _literal(public.low, value)), Type.BOOLEAN)
    high = Call("gt", (value, _literal(public.high, value)), Type.BOOLEAN)
    either = Call("or", (low, high), Type.BOOLEAN)
    one, missing = Literal(1, Type.INTEGER), Literal(None, Type.INTEGER)
    known = Range(Fraction(1), Fraction(1))
    return RowCount(Call("case", (either, one, missing), Type.INTEGER, known))


def _literal(end: Fraction, beside: Scalar) -> Literal:
    if beside.type is Type.INTEGER and end.denominator == 1:
        return Literal(end.numerator, Type.INTEGER)
    return Literal(float(end), Type.REAL)


_SQUARED = (Kind.VARIANCE, Kind.STDDEV)
_RANKED = (Kind.QUANTILE, Kind.MIN, Kind.MAX)
_WIDEST, _WIDEST_SQUARED = Fraction(2) ** 900, Fraction(2) ** 450  # steps are ordinary doubles
_LARGEST = 2**63 - 1  # of the whole numbers that rows have
_CHEAP = 4  # AVG takes the total of SUM if one around the middle would move this much less at most


def bound(
    query: Query,
    catalog: Catalog,
    *,
    limits: Limits | None = None,
    epsilon: float = 1.0,
    diagnostics: bool = False,
) -> Outline:
    """Return what the engine is to compute for a question, and how measures are made from it.

    ``limits`` are the analyst's; what they leave open is as the owner declared. ``epsilon`` is
    about what will be spent, and decides how fine the grids are. Measures share what they can:
    AVG takes the total of a SUM or a VARIANCE of the same values, and all of them one count.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: none by itself; exact integers, which move by no more than ``plan.shifts`` says.
        Numerics: exact integers.
        Proof: docs/proofs/queries.md, theorems 1 and 2.
    """
    _check_keys(query)
    shares, people = shares_of(query, catalog, limits), people_of(query.rows, catalog)
    statistics, others = _Needs(query, shares, epsilon), _others(query, shares)
    columns = list(statistics.all())
    if any(map(is_discovered, query.keys)) and UnitCount() not in columns:
        columns.append(UnitCount())
    extra = clamped_rows(query, weighed=not shares.alone) if diagnostics else []
    columns += [count for _, count in extra if count not in columns]
    parts: list[Part] = [Cells(tuple(columns))] if columns else []
    parts += others
    told = [(title, Place(0, columns.index(count))) for title, count in extra]
    if diagnostics and not shares.alone:
        told.append((crowded_title(people), Place(len(parts), 0)))
        parts.append(Crowded())
    bounded = Bounded(rows=query.rows, keys=query.keys, shares=shares, parts=tuple(parts))
    recipes = [_recipe(measure, statistics, bounded) for measure in query.measures]
    by_id = has_ids(query.rows, catalog)
    return Outline(query, bounded, people, tuple(recipes), tuple(told), by_id)


def _check_keys(query: Query) -> None:
    """Refuse keys that no row can have: they could not even be handed to the engine."""
    lists = [key.domain or () for key in query.keys]
    lists += [measure.domain or () for measure in query.measures]
    for value in (value for values in lists for value in values):
        if isinstance(value, int) and not ~_LARGEST <= value <= _LARGEST:
            raise MissingBound(
                "too_wide",
                "a value to group by or to choose from is a whole number beyond 64 bits",
                hint="keep it within bounds first, as in CAST(CLAMP(x, 0, 1000) AS BIGINT)",
            )


class _Needs:
    """Which statistics the measures of a question need; equal ones are one."""

    def __init__(self, query: Query, shares: Shares, epsilon: float) -> None:
        self.query = query
        self.bits = bits_for(shares, epsilon)
        asked = [(m.kind, m.argument, m.range) for m in query.measures]
        self.summed = {(x, r) for kind, x, r in asked if kind is Kind.SUM}
        self.squared = {(x, r) for kind, x, r in asked if kind in _SQUARED}

    def all(self) -> dict[Statistic, None]:
        """Return the statistics of all measures, each once, in order."""
        return dict.fromkeys(s for measure in self.query.measures for s in self.of(measure))

    def of(self, measure: Measure) -> tuple[Statistic, ...]:
        """Return the statistics of one measure: totals first, the count last."""
        match measure.kind:
            case Kind.COUNT:
                return (_count(measure.argument),)
            case Kind.COUNT_UNITS:
                return (UnitCount(),)
            case Kind.SUM:
                return (self.plain(measure),)
            case Kind.AVG:
                return self.averaged(measure), _count(measure.argument)
            case Kind.VARIANCE | Kind.STDDEV:
                return (
                    self.centred(measure, power=1, bits=self.bits // 2),
                    self.centred(measure, power=2, bits=self.bits // 2),
                    _count(measure.argument),
                )
            case _:
                return ()

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


def _others(query: Query, shares: Shares) -> list[Part]:
    """Return the parts besides the cells, each once, in order."""
    found = [_other(measure, shares) for measure in query.measures]
    return list(dict.fromkeys(part for part in found if part is not None))


def _other(measure: Measure, shares: Shares) -> Part | None:
    if measure.kind in _RANKED:
        x, public = _ranged(measure)
        grid, width = buckets_for(public, whole=_is_whole(x))
        return Ranks(x, grid.low, grid.high, grid.exponent, width)
    if measure.kind is Kind.COUNT_DISTINCT:
        return Distinct(_argument(measure), most=shares.rows)
    if measure.kind in (Kind.MODE, Kind.TOP):
        if not measure.domain:
            raise MissingBound(
                "no_keys",
                f"{measure.kind.upper()} chooses among public values, and none are declared",
                hint="declare the keys of the column",
            )
        return Votes(_argument(measure), measure.domain)
    return None


def _recipe(measure: Measure, needs: _Needs, bounded: Bounded) -> Recipe:
    """Say how a measure is made from the columns it needs."""
    columns = next((part.statistics for part in bounded.parts if isinstance(part, Cells)), ())
    places = [Place(0, columns.index(statistic)) for statistic in needs.of(measure)]
    match measure.kind:
        case Kind.COUNT | Kind.COUNT_UNITS | Kind.SUM:
            return OneOf(places[0])
        case Kind.AVG | Kind.VARIANCE | Kind.STDDEV:
            return _ratio(measure, needs, places)
    other = _other(measure, bounded.shares)
    if other is None:
        raise ValueError(f"there is no recipe for {measure.kind}")
    part = bounded.parts.index(other)
    match measure.kind:
        case Kind.COUNT_DISTINCT:
            return OneOf(Place(part, 0))
        case Kind.MODE | Kind.TOP:
            return Vote(part, _how_many(measure))
        case Kind.QUANTILE:
            extreme = measure.quantile in (0, 1)
            toward = int(measure.quantile or 0) if extreme else None
            return Rank(part, None if extreme else measure.quantile, toward)
        case _:
            return Rank(part, None, 0 if measure.kind is Kind.MIN else 1)


def _ratio(measure: Measure, needs: _Needs, places: list[Place]) -> Average | Deviation:
    total = needs.of(measure)[0]
    if not isinstance(total, Total):
        raise TypeError("a mean is made from a total")
    step = _step(total)
    low, high = total.low * step, total.high * step
    if measure.kind is Kind.AVG:
        return Average(places[0], places[1], total.offset * step, low, high)
    root = measure.kind is Kind.STDDEV
    return Deviation(places[0], places[1], places[2], low, high, root)


def _how_many(measure: Measure) -> int | None:
    """Return how many candidates TOP lists, no more than there are; None for MODE."""
    if measure.kind is Kind.MODE:
        return None
    return min(measure.count or 1, len(measure.domain or ()))


def _count(argument: Scalar | None) -> RowCount:
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
