# SPDX-License-Identifier: Apache-2.0
"""The exponential mechanism and permute-and-flip: weights and coins that grow with the score."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from sordino.mechanisms.choose import terms as bounds
from sordino.mechanisms.choose.candidates import (
    Stream,
    open_stream,
    read_base,
    weights_with_base,
    with_base,
)
from sordino.mechanisms.choose.scores import levels_of, one_by_one, read_others, read_scores
from sordino.mechanisms.choose.terms import (
    Accuracy,
    Choice,
    Question,
    Terms,
    flips,
    weights,
)
from sordino.mechanisms.mechanism import fill
from sordino.numbers.rational import Integer, Number, positive_whole
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Pure
from sordino.randomness.entropy import system
from sordino.randomness.selection import by_flips, by_weight
from sordino.sensitivity.check import Space
from sordino.sensitivity.norms import Neighbours, read_neighbours

ScoresOf: TypeAlias = Callable[[tuple[Any, ...]], object]


class Moves(NamedTuple):
    """How far one record moves any score, and how much further one than another.

    They are ``constant`` in sum if neighbours have the same scores, exchanged among the candidates:
    then their weights have the same sum at every rate.

    Guarantee: none by itself; it holds for the data sets that were looked at.
    """

    sensitivity: Fraction
    spread: Fraction
    constant: bool


def moves_of(scores: ScoresOf, universe: Iterable[object], size: Integer, neighbours: str) -> Moves:
    """Return how far scores move between all neighbouring data sets of at most so many records.

    Guarantee:
        Neighbours: those that were looked at: multisets of up to ``size`` records of the universe.
        Loss: none by itself; nothing is released.
        Numerics: exact; scores are taken as exactly the numbers they are.
        Proof: docs/proofs/choosing.md, theorem 10.
    """
    relation, records = read_neighbours(neighbours), list(universe)
    if not records:
        raise ValueError("universe must have at least one record")
    fewest = 0 if relation is Neighbours.add_remove else 1
    space = Space(len(records), fewest, positive_whole("size", size), ordered=False)
    space.refuse_too_many(relation)
    data = list(space.all())
    tables = [_exact(scores(tuple(records[place] for place in places))) for places in data]
    if len({len(table) for table in tables}) != 1:
        raise ValueError("scores must have one number for each candidate, the same for all data")
    furthest, apart, constant = Fraction(0), Fraction(0), True
    firsts, seconds = space.neighbours(data, relation)
    for first, second in zip(firsts, seconds, strict=True):
        for one, other in zip(first.tolist(), second.tolist(), strict=True):
            changes = [b - a for a, b in zip(tables[one], tables[other], strict=True)]
            furthest = max(furthest, *map(abs, changes))
            apart = max(apart, max(changes) - min(changes))
            constant = constant and sorted(tables[one]) == sorted(tables[other])
    return Moves(furthest, apart, constant)


def _exact(scores: object) -> list[Fraction]:
    return list(one_by_one(read_scores(scores)))


class OneChoice(Choice):
    """One choice, whose accuracy and price follow from its rate."""

    __slots__ = ()

    _flips: ClassVar[bool] = False  # whether it is permute-and-flip, else by weight

    def accuracy(self, *, confidence: Number, candidates: Integer, best: Integer = 1) -> Accuracy:
        """Return how far behind the best score the chosen one can be, for any scores.

        ``best`` is the number of candidates known to share the best score.
        """
        bound = bounds.by_flips if self._flips else bounds.by_weight
        return bound(Question(confidence, candidates, best), self.rate)

    @classmethod
    def within(
        cls,
        gap: Number,
        *,
        confidence: Number,
        candidates: Integer,
        sensitivity: Number,
        monotone: bool = False,
        spread: Number | None = None,
    ) -> float:
        """Return the least epsilon whose choice is less than ``gap`` behind with this confidence.

        >>> Exponential.within(18.4, confidence=0.99, candidates=100, sensitivity=1)
        0.9989390978553457
        """
        question = Question(confidence, candidates)
        return bounds.least_price(question, gap, sensitivity, monotone, spread, flips=cls._flips)

    def stream(self) -> Stream:
        """Return an empty stream: scores are added in chunks, then one candidate is chosen."""
        return open_stream("permute_and_flip" if self._flips else "exponential", self.rate)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Exponential(OneChoice):
    """A choice with P(candidate) proportional to exp(rate * score), rate = epsilon / spread.

    ``sensitivity`` is how far one unit can move any score. ``spread`` is how much further it can
    move one score than another: twice the sensitivity unless you know better, and the sensitivity
    itself with ``monotone=True``, which says that one unit moves all scores the same way, as for
    counts when units are added or removed. Scores are whole numbers, fractions or floats, each
    taken as exactly the number it is.

    ``normaliser="constant"`` says that neighbours have the same sum of weights, as when one unit
    only exchanges scores among the candidates, or shifts them along a line. Then the rate is
    epsilon / sensitivity, and the loss is pure without a bounded range: a ``spread`` that is stated
    too small in its place would be counted wrongly when choices compose. ``for_scores`` finds out.

    >>> day = Exponential(sensitivity=1, epsilon=1)
    >>> day, day.rate, day.loss.epsilon(delta=0), round(day.loss.rho, 4)
    (Exponential(sensitivity=1, epsilon=1), Fraction(1, 2), 1.0, 0.1233)
    >>> day.probabilities([3, 3, 2, 3, 4]).round(4).tolist()
    [0.1903, 0.1903, 0.1154, 0.1903, 0.3137]
    >>> day.accuracy(confidence=0.99, candidates=100).gap
    18.38047940053836

    Guarantee:
        Neighbours: any change to the data that moves no score by more than ``sensitivity`` and no
            two scores apart by more than ``spread``.
        Loss: epsilon, pure, and all losses of one pair of neighbours lie in an interval of length
            epsilon (bounded range), which composes better than pure losses do; with a constant
            normaliser epsilon, pure.
        Numerics: exact; no float decides an outcome.
        Proof: docs/proofs/choosing.md, theorems 1, 2 and 10 (McSherry and Talwar 2007).
    """

    normaliser: Literal["constant"] | None
    loss: Loss = field(compare=False)

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        monotone: bool = False,
        spread: Number | None = None,
        normaliser: Literal["constant"] | None = None,
    ) -> None:
        if normaliser not in (None, "constant"):
            raise ValueError(f"normaliser must be 'constant' or None, got {normaliser!r}")
        if normaliser and (monotone or spread is not None):
            raise ValueError("with a constant normaliser leave monotone and spread out")
        Terms.__init__(
            self, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone, spread=spread
        )
        kind = Pure if normaliser else BoundedRange
        fill(self, normaliser=normaliser, loss=single(kind(epsilon=self.epsilon)))
        if normaliser:
            fill(self, rate=self.epsilon / self.sensitivity)

    @classmethod
    def for_scores(
        cls,
        scores: ScoresOf,
        *,
        universe: Iterable[object],
        size: Integer,
        neighbours: str,
        epsilon: Number,
    ) -> Exponential:
        """Return the mechanism with the largest rate for these scores, in a small universe.

        ``scores`` takes a tuple of records and returns one number for each candidate. Sensitivity,
        spread and whether the normaliser is constant are found by looking at all data sets of at
        most ``size`` records from the universe; that they are no larger for other data is for you
        to say. Randomized response has a constant normaliser, and saves the factor 2:

        >>> truth = lambda answers: [answers.count(name) for name in ("no", "yes")]
        >>> Exponential.for_scores(
        ...     truth, universe=("no", "yes"), size=1, neighbours="replace_one", epsilon=1
        ... )
        Exponential(sensitivity=1, epsilon=1, normaliser='constant')
        >>> Exponential.for_scores(
        ...     truth, universe=("no", "yes"), size=3, neighbours="add_remove", epsilon=1
        ... )
        Exponential(sensitivity=1, epsilon=1, monotone=True)
        """
        moves = moves_of(scores, universe, size, neighbours)
        if not moves.sensitivity:
            raise ValueError("these scores do not depend on the data; any choice costs nothing")
        if moves.constant and moves.spread > moves.sensitivity:
            return cls(
                sensitivity=_shortest(moves.sensitivity), epsilon=epsilon, normaliser="constant"
            )
        return cls(
            sensitivity=_shortest(moves.sensitivity),
            epsilon=epsilon,
            spread=_shortest(moves.spread or moves.sensitivity),
        )

    def release(
        self,
        scores: object,
        *,
        base: object = None,
        others: Integer = 0,
        default_score: Number = 0,
    ) -> int:
        """Return the index of a candidate, chosen by the scores.

        ``base`` gives each candidate a public weight that multiplies its own, such as a prior, in
        the order of the scores; weights with names go to ``choose``.
        ``others`` is for candidates too many to list: so many more that all have
        ``default_score``; they are numbered after the listed ones. Neither may depend on the data.
        """
        many, default = read_others(others, default_score)
        listed = read_scores(scores, others=many)
        if base is None:
            levels = levels_of(listed, self.rate, others=many, default=default)
        elif many:
            raise ValueError("base goes with candidates that are listed; there are others")
        else:
            levels = with_base(listed, read_base(base, len(listed)), self.rate)
        return by_weight(levels, system())[1].candidate

    def probabilities(self, scores: object, *, base: object = None) -> Any:
        """Return the probability of each candidate, to the precision of doubles.

        It tells about the data all there is to tell: for teaching and for tests.

        Guarantee: none; the result is as private as the scores.
        """
        listed = read_scores(scores)
        if base is None:
            found = weights(listed, self.rate)
        else:
            found = weights_with_base(listed, read_base(base, len(listed)), self.rate)
        return found / found.sum()


def _shortest(x: Fraction) -> int | Fraction:
    """Return a whole number as an int, which prints as such."""
    return x.numerator if x.denominator == 1 else x


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PermuteAndFlip(OneChoice):
    """A choice that tosses a coin exp(rate * (score - best)) for each candidate, in random order.

    The first candidate whose coin comes up is chosen. For any scores it is at least as likely to be
    a good one as with the exponential mechanism of the same epsilon, and up to twice as close to
    the best on average. But its losses do not have a bounded range: many choices together cost
    less with ``Exponential``. The arguments are those of ``Exponential``.

    >>> day = PermuteAndFlip(sensitivity=1, epsilon=1, monotone=True)
    >>> day.probabilities([3, 3, 2, 3, 4]).round(4).tolist()
    [0.1374, 0.1374, 0.047, 0.1374, 0.5408]
    >>> day.accuracy(confidence=0.99, candidates=100).gap
    8.500510300486784

    Guarantee:
        Neighbours: any change to the data that moves no score by more than ``sensitivity`` and no
            two scores apart by more than ``spread``.
        Loss: epsilon, pure.
        Numerics: exact; no float decides an outcome.
        Proof: docs/proofs/choosing.md, theorem 3 (McKenna and Sheldon 2020).
    """

    _flips: ClassVar[bool] = True

    @property
    def loss(self) -> Loss:
        """What one choice costs, in every currency."""
        return single(Pure(epsilon=self.epsilon))

    def release(self, scores: object, *, others: Integer = 0, default_score: Number = 0) -> int:
        """Return the index of a candidate, chosen by the scores.

        ``others`` is for candidates too many to list: so many more that all have
        ``default_score``; they are numbered after the listed ones. Neither may depend on the data.
        """
        many, default = read_others(others, default_score)
        listed = read_scores(scores, others=many)
        levels = levels_of(listed, self.rate, others=many, default=default)
        return by_flips(levels, system())[1].candidate

    def probabilities(self, scores: object) -> Any:
        """Return the probability of each candidate, with an error of some 1e-14.

        It tells about the data all there is to tell: for teaching and for tests.

        Guarantee: none; the result is as private as the scores.
        """
        return flips(weights(read_scores(scores), self.rate))
