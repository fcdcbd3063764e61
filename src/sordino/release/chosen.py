# SPDX-License-Identifier: Apache-2.0
"""The most frequent candidates by group."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from sordino.mechanisms.choose import Exponential, PermuteAndFlip, TopK
from sordino.plan.bounded import Votes
from sordino.plan.plan import Chosen
from sordino.query.types import Value
from sordino.release.ranked import Pile

Rule: TypeAlias = "Exponential | PermuteAndFlip | TopK"


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
    rule = rule_for(release, votes)
    values = []
    for pile in held:
        scores = np.zeros(len(votes.domain), dtype=np.int64)
        np.add.at(scores, pile.buckets, pile.counts)
        found = rule.release(scores)
        places = found if isinstance(found, list) else [found]
        values.append(tuple(votes.domain[at] for at in places))
    return Picked(tuple(values), gap(release, votes, level))


def gap(release: Chosen, votes: Votes, level: Fraction) -> float:
    """Return how much less weight than the best a choice has at most, in steps.

    Guarantee: none needed; public inputs only.
    """
    found = rule_for(release, votes).accuracy(confidence=level, candidates=len(votes.domain))
    return float(found)


def rule_for(release: Chosen, votes: Votes) -> Rule:
    """Return the mechanism that chooses.

    Guarantee: as stated for the mechanism.
    """
    if release.many is not None:
        many = min(release.many, len(votes.domain))
        epsilon = release.epsilon * many / release.many  # each choice costs what was planned
        return TopK(k=many, sensitivity=release.weight, epsilon=epsilon, monotone=True)
    kind = PermuteAndFlip if release.mechanism == "permute_and_flip" else Exponential
    return kind(sensitivity=release.weight, epsilon=release.epsilon, monotone=True)
