# SPDX-License-Identifier: Apache-2.0
"""How far one law is from another, in one order, and laws close by whose ratio is bounded.

Privacy is about both orders. Here is each by itself, as definitions have it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from sordino.numbers.balls import Ball, ball, ceiling, is_positive, round_up
from sordino.numbers.rational import Number, is_integer, nonnegative, positive, read_signed
from sordino.privacy.theorems.arguments import read_amount, read_delta, rounded

Law: TypeAlias = "Iterable[Number] | Mapping[Any, Number]"

_NEARLY_ONE = Fraction(1, 10**12)  # what doubles may miss of a sum of 1


class Pair(NamedTuple):
    """Two laws on the same outcomes, as fractions that add up to 1."""

    outcomes: tuple[object, ...]
    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def both(self) -> Iterable[tuple[Fraction, Fraction]]:
        """Return the two probabilities of every outcome."""
        return zip(self.p, self.q, strict=True)


def read_pair(p: Law, q: Law) -> Pair:
    """Read two laws: two lists of probabilities, or two mappings from outcomes to probabilities.

    Floats are read as the decimals they print as; a law of floats whose sum is off 1, by at most
    1e-12, is divided by its sum.
    """
    if isinstance(p, Mapping) and isinstance(q, Mapping):
        outcomes = tuple(dict.fromkeys([*p, *q]))
        one, other = ([law.get(outcome, 0) for outcome in outcomes] for law in (p, q))
    elif isinstance(p, Mapping) or isinstance(q, Mapping):
        raise TypeError("p and q must both be lists, or both be mappings from outcomes")
    else:
        one, other = _listed("p", p), _listed("q", q)
        outcomes = tuple(range(len(one)))
    if len(one) != len(other):
        raise ValueError(
            f"p and q must have the same number of outcomes, got {len(one)} and {len(other)}"
        )
    return Pair(outcomes, _law("p", one), _law("q", other))


def total_variation(*, p: Law, q: Law) -> float:
    """Return the largest difference of the probabilities of an event.

    >>> total_variation(p=[0.5, 0.5], q=[0.25, 0.75])
    0.25

    Guarantee:
        Neighbours: none; about two laws.
        Loss: as for two laws of what is released; it is the same in both orders.
        Numerics: exact, then rounded up.
        Proof: docs/proofs/divergences.md, theorem 2.
    """
    pair = read_pair(p, q)
    return rounded(excess(pair.both(), Fraction(1)))


def hockey_stick(*, p: Law, q: Law, epsilon: Number) -> float:
    """Return the largest p(S) - e^epsilon q(S) over events S, which is the least delta for p and q.

    Both orders together, for all neighbours, are what (epsilon, delta)-privacy is about.

    >>> hockey_stick(p=[0.5, 0.5], q=[0.25, 0.75], epsilon=0.1)
    0.2237072704810881
    >>> hockey_stick(p=[0.25, 0.75], q=[0.5, 0.5], epsilon=0.1)
    0.1974145409621762

    Guarantee:
        Neighbours: none; about two laws.
        Loss: delta at this epsilon, in this order only.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/divergences.md, theorem 2.
    """
    pair, at = read_pair(p, q), read_signed("epsilon", epsilon)
    if at == 0:
        return rounded(excess(pair.both(), Fraction(1)))

    def gain(y: Fraction, z: Fraction) -> Ball:
        return ball(y) - ball(at).exp() * ball(z)

    kept = [(y, z) for y, z in pair.both() if is_positive(partial(gain, y, z))]
    if not kept:
        return 0.0
    one, other = (sum(column, Fraction(0)) for column in zip(*kept, strict=True))
    return round_up(partial(gain, one, other))


def max_divergence(*, p: Law, q: Law) -> float:
    """Return the largest ln(p/q) of an outcome that p can have: infinite if q cannot have it.

    >>> max_divergence(p=[0.5, 0.5], q=[0.25, 0.75])
    0.6931471805599454
    >>> max_divergence(p=[0.25, 0.75], q=[0.5, 0.5])
    0.4054651081081644

    Guarantee: as for approximate_max_divergence, with a delta of 0.
    """
    return approximate_max_divergence(p=p, q=q, delta=0)


def approximate_max_divergence(*, p: Law, q: Law, delta: Number) -> float:
    """Return the largest ln((p(S) - delta) / q(S)) over events S that p gives more than delta.

    It is the least epsilon with which p and q, in this order, keep to delta. It is negative if p
    and q are closer than delta: that of a law and itself is ln(1 - delta).

    >>> approximate_max_divergence(p=[0.5, 0.5], q=[0.25, 0.75], delta=0.1)
    0.4700036292457356
    >>> approximate_max_divergence(p=[0.25, 0.75], q=[0.5, 0.5], delta=0.1)
    0.26236426446749106

    Guarantee:
        Neighbours: none; about two laws.
        Loss: epsilon at this delta, in this order only.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/divergences.md, theorem 2.
    """
    pair, lost = read_pair(p, q), read_delta("delta", delta)
    odds = least_odds(pair, lost)
    if odds is None:
        return math.inf
    return 0.0 if odds == 1 else _logarithm(odds)


def kl_divergence(*, p: Law, q: Law) -> float:
    """Return the mean of ln(p/q) over outcomes of p: the Kullback-Leibler divergence.

    >>> kl_divergence(p=[0.5, 0.5], q=[0.25, 0.75])
    0.14384103622589048
    >>> kl_divergence(p=[0.25, 0.75], q=[0.5, 0.5])
    0.13081203594113697

    Guarantee: as for renyi_divergence, at order 1.
    """
    return renyi_divergence(p=p, q=q, order=1)


def renyi_divergence(*, p: Law, q: Law, order: Number) -> float:
    """Return the Rényi divergence ln(sum of p^a q^(1-a)) / (a - 1) of an order a above 0.

    At order 1 it is the Kullback-Leibler divergence. It grows with the order, towards
    `max_divergence`.

    >>> renyi_divergence(p=[0.5, 0.5], q=[0.25, 0.75], order=2)
    0.28768207245178096

    Guarantee:
        Neighbours: none; about two laws.
        Loss: the divergence, in this order of the laws only.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/divergences.md, theorem 2.
    """
    pair, at = read_pair(p, q), positive("order", order)
    if pair.p == pair.q:
        return 0.0
    if at >= 1 and any(y and not z for y, z in pair.both()):
        return math.inf
    common = [(y, z) for y, z in pair.both() if y and z]
    if not common:
        return math.inf

    def mean_of_logarithm() -> Ball:
        return sum((ball(y) * ball(y / z).log() for y, z in common), ball(0))

    def logarithm_of_mean() -> Ball:
        terms = (ball(z) * (ball(at) * ball(y / z).log()).exp() for y, z in common)
        return sum(terms, ball(0)).log() / ball(at - 1)

    return round_up(mean_of_logarithm if at == 1 else logarithm_of_mean)


def excess(pairs: Iterable[tuple[Fraction, Fraction]], odds: Fraction) -> Fraction:
    """Return the largest p(S) - odds q(S) over events S."""
    return sum((max(y - odds * z, Fraction(0)) for y, z in pairs), Fraction(0))


def least_odds(pair: Pair, delta: Fraction) -> Fraction | None:
    """Return the least odds t with p(S) <= t q(S) + delta for all S, or None if there are none."""
    best: Fraction | None = None
    for y, z in _prefixes(pair):
        if y > delta:
            if z == 0:
                return None
            ratio = (y - delta) / z
            best = ratio if best is None else max(best, ratio)
    return best


def _prefixes(pair: Pair) -> list[tuple[Fraction, Fraction]]:
    """Return both probabilities of the events that may be best: those of the largest ratios."""
    used = [(y, z) for y, z in pair.both() if y or z]
    used.sort(key=lambda both: (both[1] == 0, both[0] / (both[1] or 1)), reverse=True)
    events, one, other = [], Fraction(0), Fraction(0)
    for y, z in used:
        one, other = one + y, other + z
        events.append((one, other))
    return events


def _listed(name: str, law: Law) -> list[Number]:
    if isinstance(law, str) or not isinstance(law, Iterable):
        raise TypeError(f"{name} must be a list of probabilities, got {type(law).__name__}")
    return list(law)


def _law(name: str, values: list[Number]) -> tuple[Fraction, ...]:
    read = [nonnegative(f"a probability of {name}", value) for value in values]
    total = sum(read, Fraction(0))
    exact = all(is_integer(value) or isinstance(value, Fraction) for value in values)
    if not read or abs(total - 1) > (0 if exact else _NEARLY_ONE):
        raise ValueError(f"{name} must add up to 1, got a sum of {float(total)!r}")
    return tuple(x / total for x in read)


def _logarithm(x: Fraction) -> float:
    def formula() -> Ball:
        return ball(x).log()

    return round_up(formula)


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
