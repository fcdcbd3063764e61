# SPDX-License-Identifier: Apache-2.0
"""The joint exponential mechanism: all k of the top k in one draw."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from sordino.exact.balls import ball, round_up
from sordino.exact.entropy import system
from sordino.exact.rational import (
    Integer,
    Number,
    brief,
    confidence_level,
    covering,
    is_integer,
    positive,
    positive_whole,
    written,
)
from sordino.exact.tuples import draw_tuple
from sordino.mechanisms.choose.stream import score_block
from sordino.mechanisms.grid import written_real
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.loss import Loss, single
from sordino.privacy.related import RELATIONS

Relation: TypeAlias = Literal["add_remove", "replace_one"]
Votes: TypeAlias = Literal["one", "many"]

MOST_TUPLES = 10**6  # whose probabilities are listed
_SPREADS: dict[tuple[str, str], int] = {
    ("add_remove", "one"): 2,
    ("add_remove", "many"): 2,
    ("replace_one", "one"): 3,
    ("replace_one", "many"): 4,
}
_SMALLEST_RATE, _LARGEST_RATE = Fraction(1, 1 << 256), Fraction(1 << 256)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class JointTopK:
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
    _whole: bool = field(compare=False)

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
        rate = price / spread
        if not _SMALLEST_RATE <= rate <= _LARGEST_RATE:
            side = "small" if rate < 1 else "large"
            raise ValueError(
                f"epsilon is too {side} for a sensitivity of {brief(length)}, got {brief(price)}"
            )
        keep = object.__setattr__
        keep(self, "k", positive_whole("k", k))
        keep(self, "epsilon", price)
        keep(self, "neighbours", RELATIONS[RELATIONS.index(neighbours)])  # the plain word
        keep(self, "votes", votes)
        keep(self, "sensitivity", length)
        keep(self, "spread", spread)
        keep(self, "rate", rate)
        keep(self, "loss", single(BoundedRange(epsilon=price)).under(neighbours))
        keep(self, "_whole", is_integer(sensitivity))

    def __repr__(self) -> str:
        text = f"k={self.k}, epsilon={written(self.epsilon)}, neighbours={self.neighbours!r}"
        if self.votes != "one":
            text += f", votes={self.votes!r}"
        if self.sensitivity != 1:
            number = written if self._whole else written_real
            text += f", sensitivity={number(self.sensitivity)}"
        return f"JointTopK({text})"

    def release(self, scores: object) -> list[int]:
        """Return the indices of k different candidates, best first.

        Guarantee: as stated for the mechanism; each release costs the loss once more.
        """
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

        Guarantee: none needed; public inputs only. Rounded up, from certified balls.
        """
        level, many = confidence_level(confidence), positive_whole("candidates", candidates)
        check_k(many, self.k)
        others = math.perm(many, self.k) - 1
        odds = others * level / (1 - level)
        if odds <= 1:
            return 0.0
        return round_up(lambda: ball(odds).log() / ball(self.rate))


def decay(x: Fraction) -> float:
    """Return exp(-x) as a double.

    Guarantee: none needed; what it returns is as private as what it takes.
    """
    return math.exp(-float(min(x, Fraction(1000))))


def read_enough(scores: object, k: int) -> npt.NDArray[Any]:
    """Return scores as an array, of which there must be at least k.

    Guarantee: none needed; what it returns is as private as what it takes.
    """
    array = score_block(scores)
    check_k(array.size, k)
    return array


def check_k(candidates: int, k: int) -> None:
    """Refuse to choose more candidates than there are.

    Guarantee: none needed; public inputs only.
    """
    if k > candidates:
        there = "is only 1 candidate" if candidates == 1 else f"are only {candidates} candidates"
        raise ValueError(f"k is {k}, but there {there}; choose fewer")


def check_few(candidates: int, k: int) -> None:
    """Refuse to list more probabilities than fit.

    Guarantee: none needed; public inputs only.
    """
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
