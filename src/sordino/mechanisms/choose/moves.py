# SPDX-License-Identifier: Apache-2.0
"""How far one record moves scores, by looking at all data sets of a small universe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from sordino.exact.rational import Integer, positive_whole
from sordino.mechanisms.choose.scores import one_by_one, read_scores
from sordino.sensitivity.neighbours import Neighbours, read_neighbours
from sordino.sensitivity.universe import Space

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
