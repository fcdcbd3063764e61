# SPDX-License-Identifier: Apache-2.0
"""The k best candidates, in order: exponential mechanisms one after the other, in one pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any, Literal

from sordino.exact.balls import Ball, ball, is_positive, round_up
from sordino.exact.entropy import system
from sordino.exact.race import Race
from sordino.exact.rational import (
    LARGEST_BITS,
    Integer,
    Number,
    confidence_level,
    positive_whole,
    probability_or_zero,
    written,
)
from sordino.exact.rounding import reading
from sordino.mechanisms.choose.candidates import read_slate
from sordino.mechanisms.choose.joint import (
    JointTopK,
    Relation,
    Votes,
    check_few,
    check_k,
    decay,
    read_enough,
)
from sordino.mechanisms.choose.stream import Stream
from sordino.mechanisms.choose.terms import Terms, read_flag
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.calibrate import least_double
from sordino.privacy.fit import calibrate
from sordino.privacy.loss import Loss, single

_FARTHEST = 2.0**60  # scales behind the k-th best: as good as never


@dataclass(frozen=True, slots=True, init=False, repr=False)
class TopK:
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
    terms: Terms
    delta: Fraction
    step: Fraction = field(compare=False)
    rate: Fraction = field(compare=False)
    loss: Loss = field(compare=False)

    def __init__(
        self,
        *,
        k: Integer,
        sensitivity: Number,
        epsilon: Number,
        delta: Number = 0,
        monotone: bool = False,
        spread: Number | None = None,
    ) -> None:
        many = positive_whole("k", k)
        terms = Terms(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone, spread=spread)
        slack = probability_or_zero("delta", delta)
        step = _largest_step(many, terms.epsilon, slack)
        keep = object.__setattr__
        keep(self, "k", many)
        keep(self, "terms", terms)
        keep(self, "delta", slack)
        keep(self, "step", step)
        keep(self, "rate", step / terms.spread)
        keep(self, "loss", many * single(BoundedRange(epsilon=step)))

    def __repr__(self) -> str:
        slack = f", delta={written(self.delta)}" if self.delta else ""
        return f"TopK(k={self.k}, {self.terms}{slack})"

    @property
    def sensitivity(self) -> Fraction:
        """How far one unit can move any score."""
        return self.terms.sensitivity

    @property
    def epsilon(self) -> Fraction:
        """What all k choices cost together."""
        return self.terms.epsilon

    @property
    def spread(self) -> Fraction:
        """How much more one unit can move one score than another."""
        return self.terms.spread

    @property
    def monotone(self) -> bool:
        """Whether the spread is that of scores that all move the same way."""
        return self.terms.monotone

    def release(self, scores: object) -> list[int]:
        """Return the indices of k different candidates, best first.

        Guarantee: as stated for the mechanism; each release costs the loss once more.
        """
        race = Race("gumbel", self.rate, self.k)
        race.add(read_enough(scores, self.k), system())
        return [runner.index for runner in race.leaders]

    def stream(self) -> Stream:
        """Return a stream that takes the scores in chunks; its choice is one release.

        Guarantee: as stated for the mechanism, once for each stream that chooses.
        """
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

        Guarantee: none needed; public inputs only. Rounded up, from certified balls.
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

    Guarantee: as for TopK and JointTopK, for one release. The candidates must be fixed beforehand,
        without looking at the data.
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
        candidates,
        scores,
        domain_size=None,
        default_score=default_score,
        public_domain=read_flag("public_domain", public_domain),
        listed=True,
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
