# SPDX-License-Identifier: Apache-2.0
"""A plan: what the engine computes, which noise is added, what it costs. All of it is public."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.keys.selection import KeySelection
from sordino.plan.bounded import Bounded
from sordino.privacy.loss import Loss
from sordino.query.tree import Query

Drawn: TypeAlias = 'Literal["permute_and_flip", "exponential"]'

# Releases: each takes exact integers and gives noisy ones. --------------------------------------


@dataclass(frozen=True, slots=True)
class Added:
    """Noise on one column of a part, for every group: value = step * noisy.

    ``part`` and ``column`` say which: a statistic of Cells, or s0 of Distinct or Crowded.

    Guarantee: that of the mechanism.
    """

    part: int
    column: int
    mechanism: Laplace | Gaussian
    step: Fraction


@dataclass(frozen=True, slots=True)
class Ranked:
    """A quantile of a Ranks part for every group, with an interval around it.

    Three draws are made: the point itself, and the two ends of the interval, whose ranks are moved
    outwards by what a draw may be off. ``toward`` is None for a stated ``quantile``; for MIN (0)
    and MAX (1) the quantile is as close to that end as the rank error of the draw allows, and one
    end is drawn: the other is the public bound, so that there are two draws in all. No count
    is needed: ``count`` is None, or a place in ``Plan.releases`` of the noisy number of rows where
    the argument is there.

    ``epsilon_value`` and ``epsilon_end`` are what one draw costs a unit of full weight; the records
    handed to the mechanism are coarse weights, so the mechanism runs at that epsilon divided by
    ``weight``, the most that a unit weighs. ``mechanism`` draws: "permute_and_flip" where epsilons
    are added up, "exponential" where rho is.

    Guarantee: that of its draws, which ``Plan.loss`` counts.
    """

    part: int
    count: int | None
    quantile: Fraction | None
    toward: int | None
    epsilon_value: Fraction
    epsilon_end: Fraction
    weight: int
    mechanism: Drawn = "exponential"

    @property
    def ends(self) -> int:
        """How many ends of the interval are drawn."""
        return 2 if self.toward is None else 1


@dataclass(frozen=True, slots=True)
class Chosen:
    """The most frequent candidates of a Votes part, for every group.

    ``many`` is None for MODE, else how many TOP lists. ``weight`` is the most that a unit weighs.
    ``epsilon`` is for the whole list. ``mechanism`` is as for Ranked; TOP is always "exponential",
    one choice after the other.

    Guarantee: that of its draws, which ``Plan.loss`` counts.
    """

    part: int
    many: int | None
    epsilon: Fraction
    weight: int
    mechanism: Drawn = "exponential"


Release: TypeAlias = "Added | Ranked | Chosen"


# Formulas: how a measure is made from releases; post-processing. --------------------------------


@dataclass(frozen=True, slots=True)
class Direct:
    """The measure is a release as it is."""

    release: int


@dataclass(frozen=True, slots=True)
class Mean:
    """AVG: offset + total / count, kept within the public range."""

    total: int
    count: int
    offset: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class Spread:
    """VARIANCE: square / count - (total / count) ** 2, at least 0; its root for STDDEV.

    total and square are of values less a public middle; the variance does not depend on it. low
    and high are the ends of the public range of the values themselves, without the middle taken
    off: the variance is at most (high - low) ** 2 / 4.
    """

    total: int
    square: int
    count: int
    low: Fraction
    high: Fraction
    root: bool


Formula: TypeAlias = "Direct | Mean | Spread"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is known before data is touched.

    ``formulas`` has one entry for each measure of the query. ``keys`` selects keys where they are
    discovered. ``loss`` is what all releases lose together, without the ``slack`` of key selection.
    ``diagnostics`` are places in ``releases`` with a title each. ``by_id``: rows belong to units by
    ids, and one without an id is left out; a fingerprint has the tables instead.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: but for an event of probability at most ``slack``, all that is released together loses
            at most ``loss``.
        Numerics: as for the mechanisms.
        Proof: docs/proofs/queries.md, theorems 3 to 5.
    """

    query: Query
    bounded: Bounded
    people: str
    releases: tuple[Release, ...]
    formulas: tuple[Formula, ...]
    keys: KeySelection | None
    diagnostics: tuple[tuple[str, int], ...]
    loss: Loss
    slack: Fraction
    confidence: Fraction
    epsilon: Fraction | None  # as asked for, or found; None if asked in rho
    fingerprint: str
    by_id: bool = field(default=False, repr=False)
