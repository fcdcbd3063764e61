# SPDX-License-Identifier: Apache-2.0
"""Small worlds in which every pair of neighbours can be looked at."""

import math
from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Relation = Literal["add_remove", "replace_one"]
Scores = tuple[Any, ...]
Pairs = frozenset[tuple[Scores, Scores]]

RELATIONS: tuple[Relation, ...] = ("add_remove", "replace_one")
ONE_VOTE = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
ANY_VOTES = tuple(product((0, 1), repeat=3))


def neighbours(
    records: Iterable[Any], most: int, relation: Relation, scores: Callable[[list[Any]], Scores]
) -> Pairs:
    """The scores of all pairs of neighbouring data sets of at most so many records, both ways."""
    kinds, found = list(records), set()
    for size in range(most):
        for rest in combinations_with_replacement(kinds, size):
            if relation == "add_remove":
                found |= {(scores([*rest]), scores([*rest, one])) for one in kinds}
            else:
                found |= {
                    (scores([*rest, one]), scores([*rest, other]))
                    for one in kinds
                    for other in kinds
                }
    return frozenset(found | {(there, here) for here, there in found})


@cache
def votes(relation: Relation, *, several: bool = False, most: int = 5) -> Pairs:
    """Counts of votes for three candidates, by voters with one vote or with any of them."""

    def count(ballots: list[Any]) -> Scores:
        return tuple(sum(ballot[i] for ballot in ballots) for i in range(3))

    return neighbours(ANY_VOTES if several else ONE_VOTE, most, relation, count)


def worst(law: Callable[[Scores], Floats], pairs: Pairs) -> tuple[float, float]:
    """The largest loss, and the largest range of the losses of one pair."""

    @cache
    def logarithms(gaps: Scores) -> Floats:
        return np.log(law(gaps))

    def at(scores: Scores) -> Floats:  # only differences of scores matter
        best = max(scores)
        return logarithms(tuple(score - best for score in scores))

    losses = [at(here) - at(there) for here, there in pairs]
    return (
        max(float(np.abs(loss).max()) for loss in losses),
        max(float(loss.max() - loss.min()) for loss in losses),
    )


def by_weight(scores: Scores, rate: float) -> Floats:
    """The law of the exponential mechanism, from its definition."""
    best = max(scores)
    weights = [math.exp(-rate * float(best - score)) for score in scores]
    return np.array([weight / math.fsum(weights) for weight in weights])


def by_flips(scores: Scores, rate: float) -> Floats:
    """The law of permute-and-flip, over all orders of the candidates."""
    best, found = max(scores), [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        left = 1 / math.factorial(len(scores))
        for place in order:
            chance = math.exp(-rate * float(best - scores[place]))
            found[place] += left * chance
            left *= 1 - chance
    return np.array(found)
