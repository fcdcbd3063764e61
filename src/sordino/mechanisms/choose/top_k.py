# SPDX-License-Identifier: Apache-2.0
"""The k best candidates, in order: exponential mechanisms one after the other, in one pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.candidates import Stream, read_slate, score_block
from sordino.mechanisms.choose.terms import Choice, Terms, rate_of
from sordino.mechanisms.mechanism import Mechanism, fill
from sordino.numbers.balls import Ball, ball, is_positive, round_up
from sordino.numbers.rational import (
    LARGEST_BITS,
    Integer,
    Number,
    confidence_level,
    covering,
    is_integer,
    positive,
    positive_whole,
    probability_or_zero,
    reading,
)
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.fit import calibrate
from sordino.privacy.leaf import RELATIONS
from sordino.privacy.loss import Loss, single
from sordino.privacy.search import least_double
from sordino.randomness.entropy import system
from sordino.randomness.race import Race, draw_tuple

Relation: TypeAlias = Literal["add_remove", "replace_one"]
Votes: TypeAlias = Literal["one", "many"]

MOST_TUPLES = 10**6  # whose probabilities are listed
_SPREADS: dict[tuple[str, str], int] = {
    ("add_remove", "one"): 2,
    ("add_remove", "many"): 2,
    ("replace_one", "one"): 3,
    ("replace_one", "many"): 4,
}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class JointTopK(Mechanism):
    """The k candidates with the most votes, in order, drawn all at once.

    A tuple of k different candidates is chosen with a probability that falls exponentially with its
    gap: how far, at the worst of its k places, the count there is behind the true one of that rank.
    It does better than choosing one after the other when no delta is allowed and the counts at the
    top are far apart.

    Counts may be whole or rational numbers, which one unit can only raise: ``sensitivity`` is by
    how much, each of them, at most. With ``votes="one"`` a unit raises one count, with "many" any
    number of them. ``neighbours`` is "add_remove" or "replace_one".

    To read: the arguments, ``spread`` (by how much more one gap can change than another), ``rate``
    (epsilon / spread) and ``loss``.

    >>> m = JointTopK(k=2, epsilon=1, neighbours="replace_one")
    >>> m, m.spread, m.rate, m.loss.epsilon(delta=0)
    (JointTopK(k=2, epsilon=1, neighbours='replace_one'), Fraction(3, 1), Fraction(1, 3), 1.0)
    >>> {pair: round(p, 4) for pair, p in m.probabilities([9, 5, 0]).items() if p > 0.1}
    {(0, 1): 0.5744, (0, 2): 0.1085, (1, 0): 0.1514, (1, 2): 0.1085}

    Guarantee:
        Neighbours: as stated by ``neighbours``; counts as stated by ``votes`` and ``sensitivity``.
        Loss: a bounded range of epsilon, so pure epsilon, for each release.
        Numerics: exact; a float count is the binary fraction it holds.
        Proof: docs/proofs/top-k.md, theorems 6 and 7 (Gillenwater, Joseph, Muñoz, Ribero 2022).
    """

    k: int
    epsilon: Fraction
    neighbours: Relation
    votes: Votes
    sensitivity: Fraction
    spread: Fraction = field(compare=False)
    rate: Fraction = field(compare=False)
    loss: Loss = field(compare=False)
    whole: bool = field(compare=False)

    def __init__(
        self,
        *,
        k: Integer,
        epsilon: Number,
        neighbours: Relation,
        votes: Votes = "one",
        sensitivity: Number = 1,
    ) -> None:
        price, length = positive("epsilon", epsilon), covering("sensitivity", sensitivity)
        if neighbours not in get_args(Relation):
            raise ValueError("neighbours must be 'add_remove' or 'replace_one'")
        if votes not in get_args(Votes):
            raise ValueError("votes must be 'one' or 'many': how many counts one unit can raise")
        spread = _SPREADS[neighbours, votes] * length
        fill(
            self,
            k=positive_whole("k", k),
            epsilon=price,
            neighbours=RELATIONS[RELATIONS.index(neighbours)],  # the plain word
            votes=votes,
            sensitivity=length,
            spread=spread,
            rate=rate_of(price, spread, length),
            loss=single(BoundedRange(epsilon=price)).under(neighbours),
            whole=is_integer(sensitivity),
        )

    def release(self, scores: object) -> list[int]:
        """Return the indices of k different candidates, best first."""
        counts = read_enough(scores, self.k)
        values, unit = _whole_numbers(counts)
        return draw_tuple(values, self.k, self.rate * unit, system())

    def probabilities(self, scores: object) -> dict[tuple[int, ...], float]:
        """Return the probability of every tuple of k different candidates, for few candidates.

        Guarantee: none; probabilities of private scores are private. For teaching and tests.
        """
        counts = [Fraction(score) for score in read_enough(scores, self.k).tolist()]
        check_few(len(counts), self.k)
        tops = sorted(counts, reverse=True)[: self.k]
        weights = {
            places: decay(
                self.rate * max(top - counts[at] for top, at in zip(tops, places, strict=True))
            )
            for places in permutations(range(len(counts)), self.k)
        }
        total = math.fsum(weights.values())
        return {places: weight / total for places, weight in weights.items()}

    def accuracy(self, *, confidence: Number, candidates: Integer) -> float:
        """Return a gap that no place of the tuple exceeds, with this confidence.

        With that confidence the candidate at each place i has a count at most this gap behind the
        true i-th largest one, whatever the counts of so many candidates are.

        >>> JointTopK(k=5, epsilon=1, neighbours="add_remove").accuracy(
        ...     confidence=0.95, candidates=100
        ... )
        51.737511327640455

        Rounded up, from certified balls.
        """
        level, many = confidence_level(confidence), positive_whole("candidates", candidates)
        check_k(many, self.k)
        others = math.perm(many, self.k) - 1
        odds = others * level / (1 - level)
        if odds <= 1:
            return 0.0
        return round_up(lambda: ball(odds).log() / ball(self.rate))


def decay(x: Fraction) -> float:
    """Return exp(-x) as a double."""
    return math.exp(-float(min(x, Fraction(1000))))


def read_enough(scores: object, k: int) -> npt.NDArray[Any]:
    """Return scores as an array, of which there must be at least k."""
    array = score_block(scores)
    check_k(array.size, k)
    return array


def check_k(candidates: int, k: int) -> None:
    """Refuse to choose more candidates than there are."""
    if k > candidates:
        there = "is only 1 candidate" if candidates == 1 else f"are only {candidates} candidates"
        raise ValueError(f"k is {k}, but there {there}; choose fewer")


def check_few(candidates: int, k: int) -> None:
    """Refuse to list more probabilities than fit."""
    if math.perm(candidates, k) > MOST_TUPLES:
        raise ValueError(
            f"there are too many ordered choices of {k} among {candidates} candidates to list all "
            "probabilities; use fewer candidates"
        )


def _whole_numbers(counts: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Fraction]:
    """Return whole numbers and the unit that turns them back into the counts, exactly."""
    if counts.dtype.kind in "iu":
        return counts, Fraction(1)
    exact = [Fraction(count) for count in counts.tolist()]
    below = math.lcm(*{count.denominator for count in exact})
    values = np.empty(len(exact), dtype=object)
    values[:] = [count.numerator * (below // count.denominator) for count in exact]
    return values, Fraction(1, below)


_FARTHEST = 2.0**60  # scales behind the k-th best: as good as never


@dataclass(frozen=True, slots=True, init=False, repr=False)
class TopK(Choice):
    """The k candidates with the largest scores, in order, each chosen with its share of epsilon.

    The first is chosen by an exponential mechanism, the second by another one among the rest, and
    so on; all of them take one pass over the scores. ``epsilon`` is what all k choices cost
    together. With a ``delta`` they are accounted for as a composition and each choice gets the
    largest share, to six digits, for which the total keeps to epsilon and delta.

    ``sensitivity`` is how far one unit can move any score. ``monotone=True`` says that it moves all
    scores the same way, ``spread`` more generally how much more it can move one score than another;
    by default that is twice the sensitivity.

    To read: ``k``, ``sensitivity``, ``epsilon``, ``delta``, ``spread``, ``monotone``, ``step`` (the
    epsilon of one choice), ``rate`` (step / spread) and ``loss``.

    >>> m = TopK(k=10, sensitivity=1, epsilon=1, monotone=True)
    >>> m, m.step, m.loss.epsilon(delta=0)
    (TopK(k=10, sensitivity=1, epsilon=1, monotone=True), Fraction(1, 10), 1.0)
    >>> TopK(k=10, sensitivity=1, epsilon=1, delta=1e-6, monotone=True).step
    Fraction(149801, 1000000)

    Guarantee:
        Neighbours: any change to the data that moves the scores as stated.
        Loss: k choices with a bounded range of ``step`` each, pure epsilon in all without delta,
            else at most delta at epsilon; for each release.
        Numerics: exact; a float score is the binary fraction it holds.
        Proof: docs/proofs/top-k.md, theorems 1, 4 and 5 (Durfee, Rogers 2019).
    """

    k: int
    delta: Fraction
    step: Fraction = field(compare=False)
    loss: Loss = field(compare=False)

    def __init__(
        self,
        *,
        k: Integer,
        sensitivity: Number,
        epsilon: Number,
        monotone: bool = False,
        spread: Number | None = None,
        delta: Number = 0,
    ) -> None:
        many = positive_whole("k", k)
        Terms.__init__(
            self, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone, spread=spread
        )
        slack = probability_or_zero("delta", delta)
        step = _largest_step(many, self.epsilon, slack)
        loss = many * single(BoundedRange(epsilon=step))
        fill(self, k=many, delta=slack, step=step, rate=step / self.spread, loss=loss)

    def release(self, scores: object) -> list[int]:
        """Return the indices of k different candidates, best first."""
        race = Race("gumbel", self.rate, self.k)
        race.add(read_enough(scores, self.k), system())
        return [runner.index for runner in race.leaders]

    def stream(self) -> Stream:
        """Return a stream that takes the scores in chunks; its choice is one release."""
        return Stream(Race("gumbel", self.rate, self.k))

    def probabilities(self, scores: object) -> dict[tuple[int, ...], float]:
        """Return the probability of every tuple of k different candidates, for few candidates.

        >>> law = TopK(k=2, sensitivity=1, epsilon=2).probabilities([1, 0, 0])
        >>> round(law[0, 1], 6), len(law)
        (0.225931, 6)

        Guarantee: none; probabilities of private scores are private. For teaching and tests.
        """
        exact = [Fraction(score) for score in read_enough(scores, self.k).tolist()]
        check_few(len(exact), self.k)

        @cache
        def odds(left: frozenset[int]) -> dict[int, float]:
            best = max(exact[place] for place in left)
            weights = {place: decay(self.rate * (best - exact[place])) for place in left}
            total = math.fsum(weights.values())
            return {place: weight / total for place, weight in weights.items()}

        def law(places: tuple[int, ...]) -> float:
            everybody = frozenset(range(len(exact)))
            steps = (odds(everybody.difference(places[:i]))[at] for i, at in enumerate(places))
            return math.prod(steps)

        return {places: law(places) for places in permutations(range(len(exact)), self.k)}

    def accuracy(self, *, confidence: Number, candidates: Integer) -> float:
        """Return how far behind the k-th best score the choices can be, with this confidence.

        With that confidence every one of the k chosen has a score at most this gap behind the
        k-th largest one, whatever the scores of so many candidates are. There are scores for which
        no smaller gap will do.

        >>> TopK(k=1, sensitivity=1, epsilon=0.5).accuracy(confidence=0.99, candidates=100)
        36.760958801076725

        Rounded up, from certified balls.
        """
        level, many = confidence_level(confidence), positive_whole("candidates", candidates)
        check_k(many, self.k)
        scales = Fraction(reading(_scales_behind(self.k, many - self.k, level)))
        return round_up(lambda: ball(scales) / ball(self.rate)) if scales else 0.0


def top_k(
    candidates: Any,
    scores: Any = None,
    *,
    k: Integer,
    epsilon: Number,
    sensitivity: Number = 1,
    delta: Number = 0,
    monotone: bool = False,
    spread: Number | None = None,
    method: Literal["peel", "joint"] = "peel",
    neighbours: Relation | None = None,
    votes: Votes | None = None,
    default_score: Number = 0,
    public_domain: bool = False,
) -> list[Any]:
    """Return k of the candidates, those with the largest scores, in order and privately.

    Candidates and scores are given as to ``choose``, and a domain may have up to 2**20 candidates.
    ``method="peel"`` chooses one after the other, as TopK does, with ``monotone`` or ``spread``;
    "joint" draws all at once, as JointTopK does, for counts, and needs ``neighbours``.

    >>> top_k(["tea", "milk"], [3, 4], k=3, epsilon=1)
    Traceback (most recent call last):
    ValueError: k is 3, but there are only 2 candidates; choose fewer

    The candidates must be fixed beforehand, without looking at the data.

    Guarantee: as for TopK and JointTopK, for one release.
    """
    mechanism: TopK | JointTopK
    if method == "joint":
        if neighbours is None:
            raise TypeError(
                "the joint method needs neighbours='add_remove' or neighbours='replace_one'"
            )
        if monotone or spread is not None or probability_or_zero("delta", delta):
            raise TypeError("the joint method takes no monotone, no spread and no delta")
        mechanism = JointTopK(
            k=k,
            epsilon=epsilon,
            neighbours=neighbours,
            votes="one" if votes is None else votes,
            sensitivity=sensitivity,
        )
    elif method == "peel":
        if neighbours is not None or votes is not None:
            raise TypeError(
                "neighbours and votes are for method='joint'; choosing one after the other takes "
                "monotone=True, if one unit moves all scores the same way, or a spread"
            )
        mechanism = TopK(
            k=k,
            sensitivity=sensitivity,
            epsilon=epsilon,
            delta=delta,
            monotone=monotone,
            spread=spread,
        )
    else:
        raise ValueError("method must be 'peel' or 'joint'")
    slate = read_slate(
        candidates, scores, default_score=default_score, public_domain=public_domain, listed=True
    )
    return [slate.candidate(index) for index in mechanism.release(slate.scores)]


def _largest_step(k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest epsilon of one choice for which k of them keep to epsilon and delta."""
    even = epsilon / k
    if delta == 0:
        return even
    try:
        fitted = calibrate(
            lambda step: single(BoundedRange(epsilon=step)), epsilon=epsilon, delta=delta, times=k
        )
    except ValueError:  # none of the numbers that are tried
        return even
    return max(even, fitted.pure or even)


def _scales_behind(k: int, others: int, level: Fraction) -> float:
    """Return the least x for which k choices stay ahead of x scales often enough.

    At worst k candidates are best and all others x behind them. Then the k best are chosen with
    probability prod m / (m + z) over m = 1, ..., k, where z = others * exp(-x).
    """
    few = min(k, others)
    # Even if all scores are equal, the k best come out with one chance in C(k + others, k).
    if few < LARGEST_BITS and level * math.comb(k + others, few) <= 1:
        return 0.0

    def fits(x: Fraction) -> bool:
        def excess() -> Ball:
            z = others * (-ball(x)).exp()
            miss = (k + 1 + z).lgamma() - ball(k + 1).lgamma() - (1 + z).lgamma()
            return -ball(level).log() - miss

        return is_positive(excess)

    near = math.log(others) + math.log(k) + 3
    return least_double(fits, near=near, high=_FARTHEST)
