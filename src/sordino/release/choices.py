# SPDX-License-Identifier: Apache-2.0
"""Quantiles by group, each with two further draws that hold it between them.

The quantile q of weight W wants the rank q W. To move the wanted rank down by more than r, records
are added at the low bound: with A of them, A > r / (1 - q), the quantile q of all wants the rank
q W + q A, which is q W - (1 - q) A < q W - r among the real ones. A draw that is off by at most r
then has less than q W of weight before it, so that it does not lie above the quantile. The added
records are public, so the draw costs what it costs without them. Nothing is known of W, and nothing
needs to be: where the group is too small, the added records win and the draw is the bound itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sordino.mechanisms.choose.quantiles.quantiles import Quantiles
from sordino.numbers.rounding import down, up
from sordino.plan.bounded import Ranks, Votes
from sordino.plan.intervals import NEAR_END, choice_rule, gap, quantile_rule, rank_error
from sordino.plan.plan import Chosen, Ranked
from sordino.query.types import Type, Value
from sordino.release.draw import NOWHERE, Integers, Span, read_integers

if TYPE_CHECKING:
    import pyarrow as pa


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


def draw_quantiles(release: Ranked, ranks: Ranks, held: list[Pile], level: Fraction) -> Span:
    """Return a quantile for every group, and an interval that holds the exact one.

    ``level`` is the confidence of each of the two ends.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: epsilon_value and epsilon_end for each drawn end, for all groups together.
        Numerics: exact draws; the ends of buckets are rounded outwards.
        Proof: docs/proofs/queries.md, theorem 4; docs/proofs/intervals.md, theorem 3.
    """
    toward = release.toward
    if toward is None and release.quantile in (0, 1):
        toward = int(release.quantile)
    if toward is None:
        points, lows, highs = _inner(release, ranks, held, level)
    elif toward == 0:
        points, lows, highs = _least(release, ranks, held, level)
    else:
        mirrored = [pile.flipped(ranks.buckets) for pile in held]
        found = _least(release, ranks, mirrored, level)
        points, highs, lows = ([ranks.buckets - 1 - b for b in column] for column in found)
    return _as_span(ranks, points, lows, highs)


def _inner(
    release: Ranked, ranks: Ranks, held: list[Pile], level: Fraction
) -> tuple[list[int], list[int], list[int]]:
    """Draw the quantile, and both ends with records added at the bounds."""
    q = Fraction(release.quantile or 0)
    middle = quantile_rule(release, ranks.buckets, q, release.epsilon_value)
    ends = quantile_rule(release, ranks.buckets, q, release.epsilon_end)
    off = Fraction(rank_error(release, ranks.buckets, q, release.epsilon_end, level))
    below, above = math.floor(off / (1 - q)) + 1, math.floor(off / q) + 1
    last = ranks.buckets - 1
    points = [_draw(middle, pile) for pile in held]
    lows, highs = [0] * len(held), [last] * len(held)
    if below <= _MOST_ADDED:
        lows = [_draw(ends, pile.with_records(0, below)) for pile in held]
    if above <= _MOST_ADDED:
        highs = [_draw(ends, pile.with_records(last, above)) for pile in held]
    return points, lows, highs


def _least(
    release: Ranked, ranks: Ranks, held: list[Pile], level: Fraction
) -> tuple[list[int], list[int], list[int]]:
    """Draw a value with hardly any rank, but not so little that it lies before all records.

    The wanted rank is as large as a draw may be off. It is asked for as a small quantile of the
    records and many more at the high bound. Below the least value nothing is known but the bound.
    """
    near = _rank(release, ranks, release.epsilon_value, level)
    far = near + _rank(release, ranks, release.epsilon_end, level)
    found = [
        [_draw(quantile_rule(release, ranks.buckets, q, epsilon), pile) for pile in padded]
        if q < Fraction(1, 4)
        else [ranks.buckets - 1] * len(held)
        for q, epsilon, padded in (
            (Fraction(rank, _MOST_ADDED), epsilon, _topped(held, ranks.buckets - 1))
            for rank, epsilon in ((near, release.epsilon_value), (far, release.epsilon_end))
        )
    ]
    return found[0], [0] * len(held), found[1]


def beyond(release: Ranked, ranks: Ranks, level: Fraction) -> int:
    """Return how much weight lies beyond what is answered for MIN or MAX, about and in steps."""
    return _rank(release, ranks, release.epsilon_value, level)


def _rank(release: Ranked, ranks: Ranks, epsilon: Fraction, level: Fraction) -> int:
    return math.floor(rank_error(release, ranks.buckets, NEAR_END, epsilon, level)) + 1


def _topped(held: list[Pile], last: int) -> list[Pile]:
    return [pile.with_records(last, _MOST_ADDED) for pile in held]


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


def draw_choices(release: Chosen, votes: Votes, held: list[Pile], level: Fraction) -> Picked:
    """Choose for every group by the weight of its candidates.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: epsilon for all groups together.
        Numerics: exact draws.
        Proof: docs/proofs/queries.md, theorem 4.
    """
    rule = choice_rule(release, len(votes.domain))
    values = []
    for pile in held:
        scores = np.zeros(len(votes.domain), dtype=np.int64)
        np.add.at(scores, pile.buckets, pile.counts)
        found = rule.release(scores)
        places = found if isinstance(found, list) else [found]
        values.append(tuple(votes.domain[at] for at in places))
    return Picked(tuple(values), gap(release, len(votes.domain), level))
