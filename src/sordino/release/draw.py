# SPDX-License-Identifier: Apache-2.0
"""Draws on exact integers: which groups there are, noise, quantiles and choices by group.

Each quantile has two further draws that hold it between them. The quantile q of weight W wants the
rank q W. To move the wanted rank down by more than r, records
are added at the low bound: with A of them, A > r / (1 - q), the quantile q of all wants the rank
q W + q A, which is q W - (1 - q) A < q W - r among the real ones. A draw that is off by at most r
then has less than q W of weight before it, so that it does not lie above the quantile. The added
records are public, so the draw costs what it costs without them. Nothing is known of W, and nothing
needs to be: where the group is too small, the added records win and the draw is the bound itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.quantiles.quantiles import Quantiles
from sordino.mechanisms.keys.selection import KeySelection, Selected, place
from sordino.numbers.rational import down, up
from sordino.plan.intervals import NEAR_END, Doubles, Span
from sordino.plan.plan import Added, Bounded, Cells, Chosen, Ranked, Ranks, UnitCount
from sordino.query.tree import Key
from sordino.query.types import Type, Value

if TYPE_CHECKING:
    import pyarrow as pa


Keys: TypeAlias = "tuple[Value, ...]"
Integers: TypeAlias = npt.NDArray[np.int64]

NOWHERE = -1  # the place of a row whose group is not answered


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups in the order of the answer, which never comes from an engine.

    Guarantee: none by itself; declared groups are public, discovered ones went through selection.
    """

    keys: tuple[Keys, ...]
    places: dict[Keys, int]

    def find(self, table: pa.Table) -> Integers:
        """Return for each row of a part the place of its group; -1 if it is not answered.

        Guarantee: none by itself; private, as the rows are.
        """
        width = len(self.keys[0]) if self.keys else 0
        if not width:
            return np.full(table.num_rows, 0 if self.keys else NOWHERE, dtype=np.int64)
        rows = _keys_of(table, width)
        get = self.places.get
        return np.fromiter((get(key, NOWHERE) for key in rows), np.int64, count=len(rows))


def declared(bounded: Bounded) -> Groups:
    """Return all combinations of public keys, in the order in which they were declared."""
    keys = tuple(product(*map(_domain, bounded.keys)))
    return Groups(keys, {key: at for at, key in enumerate(keys)})


def discovered(bounded: Bounded, tables: tuple[pa.Table, ...], rule: KeySelection) -> Groups:
    """Return the keys that enough units have, in their own order.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: that of the rule; keys that are not kept leave no trace.
        Numerics: exact.
        Proof: docs/proofs/queries.md, theorem 5; docs/proofs/partitions.md, theorems 2 to 4.
    """
    part, column = _unit_count(bounded)
    table = tables[part]
    counts = table.column(f"s{column}").to_pylist()
    found = rule.release(np.array([int(n or 0) for n in counts], dtype=np.int64))
    kept = np.flatnonzero(found.kept if isinstance(found, Selected) else found)
    # From here on only kept keys are looked at: what follows is a function of the result.
    keys = sorted(_keys_of(table.take(kept), len(bounded.keys)), key=place)
    return Groups(tuple(keys), {key: at for at, key in enumerate(keys)})


def _domain(key: Key) -> tuple[Value, ...]:
    if key.bins is not None:
        return tuple(range(key.bins.count))
    if key.domain is None:
        raise ValueError("only declared keys can be listed")
    named = dict.fromkeys(key.domain)
    if key.other is not None:
        named[key.other] = None
    return tuple(named)


def _keys_of(table: pa.Table, width: int) -> list[Keys]:
    columns = [table.column(f"k{at}").to_pylist() for at in range(width)]
    return list(zip(*columns, strict=True))


def _unit_count(bounded: Bounded) -> tuple[int, int]:
    """Return the part and the column that say how many units have each key."""
    for part, cells in enumerate(bounded.parts):
        if isinstance(cells, Cells) and UnitCount() in cells.statistics:
            return part, cells.statistics.index(UnitCount())
    raise ValueError("keys are selected by how many units have them, and nothing counts that")


_LARGEST = 2**62  # two integers below this do not overflow 64 bits together
_EXACT = 2**53  # integers up to this are exact as doubles


@dataclass(frozen=True, slots=True)
class Noisy:
    """The noisy integers of one release, one for each group.

    Guarantee: that of the release.
    """

    release: Added
    steps: npt.NDArray[Any]  # int64, or objects where they may be larger

    def span(self, level: Fraction) -> Span:
        """Return values and the intervals that hold the exact ones with a confidence each."""
        far = self.release.steps_off(level)
        step = self.release.step
        return Span(
            _scaled(self.steps, step, 0),
            _scaled(self.steps - far, step, -1),
            _scaled(self.steps + far, step, 1),
        )


def add_noise(release: Added, exact: npt.NDArray[Any]) -> Noisy:
    """Return exact integers with noise, whatever their size.

    Noise is drawn on zeros and added here, because sums may be larger than 64 bits; the law of the
    noise does not depend on what it is added to.

    Guarantee:
        Neighbours: any change that moves the integers by at most the sensitivity of the mechanism.
        Loss: that of the mechanism.
        Numerics: exact integers.
        Proof: docs/proofs/queries.md, theorem 3.
    """
    noise = release.mechanism.release(np.zeros(exact.size, dtype=np.int64))
    if exact.dtype == np.int64 and _is_small(exact) and _is_small(noise):
        return Noisy(release, exact + noise)
    return Noisy(release, exact.astype(object) + noise.astype(object))


def gather(column: pa.ChunkedArray, places: Integers, groups: int) -> npt.NDArray[Any]:
    """Return the exact integer of each group: 0 for those that no row belongs to.

    Guarantee: none by itself; private, as the data is.
    """
    values = read_integers(column)
    there = places != NOWHERE
    if values.dtype == np.int64 and float(np.abs(values.astype(np.float64)).sum()) < _LARGEST:
        total = np.zeros(groups, dtype=np.int64)
        np.add.at(total, places[there], values[there])
        return total
    large: npt.NDArray[Any] = np.zeros(groups, dtype=object)
    for at, value in zip(places[there].tolist(), values[there].tolist(), strict=True):
        large[at] += value
    return large


def read_integers(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return a column of integers as int64, or as objects if its type may hold larger ones.

    Guarantee: none by itself; private, as the data is.
    """
    import pyarrow as pa  # takes long to import

    if pa.types.is_integer(column.type) and column.type.bit_width <= 64:
        filled = column.fill_null(0) if column.null_count else column
        return np.asarray(filled.to_numpy()).astype(np.int64)
    if not pa.types.is_decimal(column.type) or column.type.scale:
        raise TypeError("only exact integers are released")
    numbers = [0 if x is None else int(x) for x in column.to_pylist()]
    if all(-_LARGEST < x < _LARGEST for x in numbers):
        return np.array(numbers, dtype=np.int64)
    return np.array([*numbers, None], dtype=object)[:-1]


def _is_small(values: Integers) -> bool:
    return bool(values.max(initial=0) < _LARGEST and values.min(initial=0) > -_LARGEST)


def _scaled(steps: npt.NDArray[Any], step: Fraction, direction: int) -> Doubles:
    """Return doubles next to step * steps: the nearest, or on the side of the direction."""
    over, under = step.numerator, step.denominator
    binary = steps.dtype == np.int64 and not under & (under - 1)
    if (
        binary
        and max(map(abs, (int(steps.max(initial=0)), int(steps.min(initial=0))))) * over < _EXACT
    ):
        return steps.astype(np.float64) * (over / under)
    numbers: Sequence[int] = steps.tolist()
    if direction == 0:
        return np.array([_nearest(n * over, under) for n in numbers], dtype=np.float64)
    side = up if direction > 0 else down
    return np.array([side(Fraction(n * over, under)) for n in numbers], dtype=np.float64)


def _nearest(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return (
            down(Fraction(numerator, denominator))
            if numerator > 0
            else -_nearest(-numerator, denominator)
        )


# Quantiles and choices. --------------------------------------------------------------------------

_MOST_ADDED = 2**37  # records at a bound; a quantile is drawn from at most four times as many


@dataclass(frozen=True, slots=True)
class Pile:
    """The records of one group: buckets that hold some, in their order, and how many.

    Order is for speed alone: the three draws of each quantile then sort what is sorted already.

    Guarantee: none by itself; private, as the data is.
    """

    buckets: Integers
    counts: Integers

    def with_records(self, bucket: int, many: int) -> Pile:
        """Return the same records and public ones at the first or the last bucket.

        Guarantee: none by itself; neighbours stay neighbours.
        """
        more = (np.array([n], dtype=np.int64) for n in (bucket, many))
        pairs = zip((self.buckets, self.counts), more, strict=True)
        sides = (np.concatenate((b, a) if bucket == 0 else (a, b)) for a, b in pairs)
        return Pile(*sides)

    def flipped(self, buckets: int) -> Pile:
        """Return the same records counted from the other end.

        Guarantee: none by itself; neighbours stay neighbours.
        """
        return Pile(buckets - 1 - self.buckets[::-1], self.counts[::-1])


def piles(table: pa.Table, places: Integers, groups: int) -> list[Pile]:
    """Return the records of every group, empty where there are none.

    Guarantee: none by itself; private, as the data is.
    """
    buckets = read_integers(table.column("v"))
    counts = read_integers(table.column("s0"))
    there = np.flatnonzero(places != NOWHERE)
    order = there[np.lexsort((buckets[there], places[there]))]
    cuts = np.searchsorted(places[order], np.arange(groups + 1)).tolist()
    return [
        Pile(buckets[order[start:stop]], counts[order[start:stop]])
        for start, stop in pairwise(cuts)
    ]


def draw_quantiles(release: Ranked, held: list[Pile], level: Fraction) -> Span:
    """Return a quantile for every group, and an interval that holds the exact one.

    ``level`` is the confidence of each of the two ends.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: epsilon_value and epsilon_end for each drawn end, for all groups together.
        Numerics: exact draws; the ends of buckets are rounded outwards.
        Proof: docs/proofs/queries.md, theorem 4; docs/proofs/intervals.md, theorem 3.
    """
    toward, last = release.toward, release.part.buckets - 1
    if toward is None and release.quantile in (0, 1):
        toward = int(release.quantile)
    if toward is None:
        points, lows, highs = _inner(release, held, level)
    elif toward == 0:
        points, lows, highs = _least(release, held, level)
    else:
        mirrored = [pile.flipped(last + 1) for pile in held]
        buckets = _least(release, mirrored, level)
        points, highs, lows = ([last - b for b in column] for column in buckets)
    return _as_span(release.part, points, lows, highs)


def _inner(
    release: Ranked, held: list[Pile], level: Fraction
) -> tuple[list[int], list[int], list[int]]:
    """Draw the quantile, and both ends with records added at the bounds."""
    q = Fraction(release.quantile or 0)
    middle, ends = (release.rule(q, e) for e in (release.epsilon_value, release.epsilon_end))
    off = Fraction(release.rank_error(q, release.epsilon_end, level))
    below, above = math.floor(off / (1 - q)) + 1, math.floor(off / q) + 1
    last = release.part.buckets - 1
    points = [_draw(middle, pile) for pile in held]
    lows, highs = [0] * len(held), [last] * len(held)
    if below <= _MOST_ADDED:
        lows = [_draw(ends, pile.with_records(0, below)) for pile in held]
    if above <= _MOST_ADDED:
        highs = [_draw(ends, pile.with_records(last, above)) for pile in held]
    return points, lows, highs


def _least(
    release: Ranked, held: list[Pile], level: Fraction
) -> tuple[list[int], list[int], list[int]]:
    """Draw a value with hardly any rank, but not so little that it lies before all records.

    The wanted rank is as large as a draw may be off. It is asked for as a small quantile of the
    records and many more at the high bound. Below the least value nothing is known but the bound.
    """
    last = release.part.buckets - 1
    padded = [pile.with_records(last, _MOST_ADDED) for pile in held]

    def drawn(rank: int, epsilon: Fraction) -> list[int]:
        q = Fraction(rank, _MOST_ADDED)
        if q >= Fraction(1, 4):
            return [last] * len(held)
        rule = release.rule(q, epsilon)
        return [_draw(rule, pile) for pile in padded]

    near = beyond(release, level)
    far = near + _rank(release, release.epsilon_end, level)
    points, ends = drawn(near, release.epsilon_value), drawn(far, release.epsilon_end)
    return points, [0] * len(held), ends


def beyond(release: Ranked, level: Fraction) -> int:
    """Return how much weight lies beyond what is answered for MIN or MAX, about and in steps."""
    return _rank(release, release.epsilon_value, level)


def _rank(release: Ranked, epsilon: Fraction, level: Fraction) -> int:
    return math.floor(release.rank_error(NEAR_END, epsilon, level)) + 1


def _draw(rule: Quantiles, pile: Pile) -> int:
    return int(rule.release(pile.buckets, pile.counts)[0])


def _as_span(ranks: Ranks, points: list[int], lows: list[int], highs: list[int]) -> Span:
    """Return values for buckets: the middle of the point, the outer edges of the ends."""
    value = [float((_edge(ranks, b) + _edge(ranks, b, upper=True)) / 2) for b in points]
    # A point outside its interval widens it, which can only help.
    slip = _rounding(ranks)
    low = [down(_edge(ranks, min(b, p)) - slip) for b, p in zip(lows, points, strict=True)]
    high = [
        up(_edge(ranks, max(b, p), upper=True) + slip) for b, p in zip(highs, points, strict=True)
    ]
    return Span(*(np.array(column, dtype=np.float64) for column in (value, low, high)))


def _edge(ranks: Ranks, bucket: int, *, upper: bool = False) -> Fraction:
    first = ranks.low + bucket * ranks.width
    steps = min(first + ranks.width - 1, ranks.high) if upper else first
    return steps * Fraction(2) ** ranks.exponent


def _rounding(ranks: Ranks) -> Fraction:
    """Return how far a value can be from the step that it was rounded and clamped to."""
    whole = ranks.argument.type is Type.INTEGER and ranks.exponent <= 0
    return Fraction(0) if whole else Fraction(2) ** ranks.exponent


@dataclass(frozen=True, slots=True)
class Picked:
    """For each group the chosen candidates, and how far behind the best they may be, in steps.

    Guarantee: that of the release.
    """

    values: tuple[tuple[Value, ...], ...]
    gap: float


def draw_choices(release: Chosen, held: list[Pile], level: Fraction) -> Picked:
    """Choose for every group by the weight of its candidates.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: epsilon for all groups together.
        Numerics: exact draws.
        Proof: docs/proofs/queries.md, theorem 4.
    """
    rule, domain = release.rule, release.part.domain
    values = []
    for pile in held:
        scores = np.zeros(len(domain), dtype=np.int64)
        np.add.at(scores, pile.buckets, pile.counts)
        found = rule.release(scores)
        places = found if isinstance(found, list) else [found]
        values.append(tuple(domain[at] for at in places))
    return Picked(tuple(values), release.gap(level))
