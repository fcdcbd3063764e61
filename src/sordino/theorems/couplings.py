# SPDX-License-Identifier: Apache-2.0
"""Laws close by whose ratio is bounded: what a small delta stands for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from sordino.numbers.balls import Ball, ball, ceiling, is_positive
from sordino.numbers.rational import Number
from sordino.theorems.arguments import read_amount, read_delta
from sordino.theorems.pairs import Law, Pair, least_odds, read_pair

_BITS = 96  # of the odds, behind the point
_LARGEST_EPSILON = 1000  # whose odds are computed; those of a larger one would do no more
_TOO_FAR = (
    "p and q are further apart than this epsilon and delta allow, so there are no such laws; "
    "approximate_max_divergence and hockey_stick say how far, in each order"
)


class CloseLaw(NamedTuple):
    """A law of bounded ratio, close to a given one.

    ``law`` gives each outcome a probability of at most ``odds`` times that of the second law, and
    the ``distance`` is its total variation from the first one. All of it is exact.
    """

    law: dict[object, Fraction]
    odds: Fraction
    distance: Fraction


class ClosePair(NamedTuple):
    """Two laws of bounded ratio in both orders, each close to one of two given ones."""

    laws: tuple[dict[object, Fraction], dict[object, Fraction]]
    odds: Fraction
    distances: tuple[Fraction, Fraction]


def close_law(*, p: Law, q: Law, epsilon: Number, delta: Number) -> CloseLaw:
    """Return a law within delta of p whose max divergence from q is at most epsilon.

    There is one exactly if the approximate max divergence of p from q, over events, is at most
    epsilon; otherwise this is an error. What p has too much of an
    outcome is moved to outcomes that have room.

    >>> close = close_law(p=[0.5, 0.5], q=[0.25, 0.75], epsilon=0.5, delta=0.1)
    >>> [round(float(x), 6) for x in close.law.values()], round(float(close.distance), 6)
    ([0.41218, 0.58782], 0.08782)

    Guarantee:
        Neighbours: none; about two laws.
        Loss: law <= odds * q for each outcome with odds <= e^epsilon, and distance <= delta.
        Numerics: exact fractions; the odds are at most 2**-96 below e^epsilon, unless
            epsilon is above 1000.
        Proof: docs/proofs/divergences.md, theorem 3.
    """
    pair = read_pair(p, q)
    odds = _odds(epsilon, least_odds(pair, read_delta("delta", delta)))
    law = _cut(pair, odds)
    return CloseLaw(_named(pair, law), odds, _distance(pair.p, law))


def close_pair(*, p: Law, q: Law, epsilon: Number, delta: Number) -> ClosePair:
    """Return laws near p and near q, each at most e^epsilon times as likely as the other.

    There are such laws, within delta / (1 + e^epsilon) of p and of q, exactly if p and q are
    (epsilon, delta)-close in both orders; otherwise this is an error.

    >>> close = close_pair(p=[0.6, 0.4, 0], q=[0.4, 0.5, 0.1], epsilon=0.25, delta=0.2)
    >>> close.distances[0] <= Fraction(1, 5) / (1 + close.odds)
    True

    Guarantee:
        Neighbours: none; about two laws.
        Loss: one <= odds * other and other <= odds * one for each outcome with odds <= e^epsilon,
            and both distances <= delta / (1 + odds).
        Numerics: exact fractions; the odds are at most 2**-96 below e^epsilon, unless
            epsilon is above 1000.
        Proof: docs/proofs/divergences.md, theorem 4.
    """
    pair, lost = read_pair(p, q), read_delta("delta", delta)
    back = Pair(pair.outcomes, pair.q, pair.p)
    odds = _odds(epsilon, least_odds(pair, lost), least_odds(back, lost))
    one, other = _met(pair, odds)
    laws = (_named(pair, one), _named(pair, other))
    return ClosePair(laws, odds, (_distance(pair.p, one), _distance(pair.q, other)))


def _odds(epsilon: Number, *least: Fraction | None) -> Fraction:
    """Return odds of at most e^epsilon that are at least as large as all the least ones, and 1."""
    price = read_amount("epsilon", epsilon)
    needed = Fraction(1)
    for odds in least:
        if odds is None:
            raise ValueError(_TOO_FAR)
        needed = max(needed, odds)

    def below() -> Ball:  # with the sign turned, so that it is rounded down
        return ball(-(2**_BITS)) * ball(min(price, Fraction(_LARGEST_EPSILON))).exp()

    def room() -> Ball:
        return ball(price).exp() - ball(needed)

    if price == 0 and needed == 1:
        return needed
    if not is_positive(room):  # e to a rational power but 0 is irrational, never equal to a bound
        raise ValueError(_TOO_FAR)
    return max(needed, Fraction(-ceiling(below), 2**_BITS))


def _cut(pair: Pair, odds: Fraction) -> list[Fraction]:
    """Return p where it is at most odds times q, and that where it is more; the rest is moved."""
    law = [min(y, odds * z) for y, z in pair.both()]
    missing = 1 - sum(law, Fraction(0))
    for place, (y, z) in enumerate(pair.both()):
        more = min(max(odds * z - y, Fraction(0)), missing)
        law[place] += more
        missing -= more
    return law


def _met(pair: Pair, odds: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """Return two laws that come towards each other where their ratio is too large."""
    one, other = list(pair.p), list(pair.q)
    for place, (y, z) in enumerate(pair.both()):
        step = (max(y - odds * z, Fraction(0)) - max(z - odds * y, Fraction(0))) / (1 + odds)
        one[place] -= step
        other[place] += step
    missing = 1 - sum(one, Fraction(0))
    if missing < 0:
        _exchange(other, one, -missing)
    else:
        _exchange(one, other, missing)
    return one, other


def _exchange(less: list[Fraction], more: list[Fraction], missing: Fraction) -> None:
    """Give what is missing of one law to outcomes where the other is larger, and take it there."""
    for place, (y, z) in enumerate(zip(less, more, strict=True)):
        step = min(max(z - y, Fraction(0)) / 2, missing)
        less[place] += step
        more[place] -= step
        missing -= step


def _distance(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((abs(y - z) for y, z in zip(one, other, strict=True)), Fraction(0)) / 2


def _named(pair: Pair, law: Sequence[Fraction]) -> dict[object, Fraction]:
    return dict(zip(pair.outcomes, law, strict=True))
