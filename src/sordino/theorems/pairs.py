# SPDX-License-Identifier: Apache-2.0
"""How far one law is from another, in one order: seen from the first of the two.

Privacy is about both orders. Here is each by itself, as definitions have it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from sordino.numbers.balls import Ball, ball, is_positive, round_up
from sordino.numbers.rational import Number, is_integer, nonnegative, positive
from sordino.theorems.arguments import read_delta, read_signed, rounded

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
