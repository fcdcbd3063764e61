# SPDX-License-Identifier: Apache-2.0
"""A plan: what the engine computes, which noise is added, what it costs. All of it is public."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.choose import Exponential, PermuteAndFlip, Quantiles, TopK
from sordino.mechanisms.keys.selection import KeySelection
from sordino.plan.bounded import Bounded, Cells, Crowded, Distinct, Ranks, Votes
from sordino.plan.parts import spent_by
from sordino.privacy import losses
from sordino.privacy.budget import Counted
from sordino.privacy.loss import Loss
from sordino.query.tree import Query

if TYPE_CHECKING:
    from sordino.plan.aggregates import Formula

Drawn: TypeAlias = 'Literal["permute_and_flip", "exponential"]'

# Releases: each takes exact integers of a part and gives noisy ones. -----------------------------


@dataclass(frozen=True, slots=True)
class Added:
    """Noise on one column of a part, for every group: value = step * noisy.

    Guarantee: that of the mechanism.
    """

    part: Cells | Distinct | Crowded
    column: int
    mechanism: Laplace | Gaussian
    step: Fraction

    @property
    def loss(self) -> Loss:
        """What it loses."""
        return self.mechanism.loss

    @property
    def is_fine(self) -> bool:
        """Tell whether it moves in steps of less than 1."""
        return self.step.denominator != 1

    @property
    def events(self) -> tuple[str, ...]:
        """What must not be too far off for its error bar to hold."""
        return ("noise",)

    def spent(self, counted: Counted) -> float:
        """Return what it costs in the currency of the budget."""
        return spent_by(self.loss, counted)

    def steps_off(self, level: Fraction) -> int:
        """Return how many steps its noise is off at most, at a confidence."""
        return int(self.mechanism.accuracy(confidence=level))


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
    are added up, "exponential" where rho or gdp is.

    Guarantee: that of its draws, which ``Plan.loss`` counts.
    """

    part: Ranks
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

    @property
    def loss(self) -> Loss:
        """What all its draws lose."""
        draw = losses.pure if self.mechanism == "permute_and_flip" else losses.exponential
        ends = draw(epsilon=self.epsilon_end)
        return draw(epsilon=self.epsilon_value) + self.ends * ends

    @property
    def events(self) -> tuple[str, ...]:
        """What must not be too far off: the ends that are drawn."""
        return ("low", "high") if self.toward is None else ("end",)

    def spent(self, counted: Counted) -> float:
        """Return what it costs in the currency of the budget."""
        value, end = float(self.epsilon_value), float(self.epsilon_end)
        if counted == "rho":
            return (value**2 + self.ends * end**2) / 8
        return spent_by(self.loss, counted)

    def rule(self, q: Fraction, epsilon: Fraction) -> Quantiles:
        """Return the mechanism that draws a quantile from the records of a group."""
        return Quantiles(
            [q],
            range=(0, self.part.buckets - 1),
            epsilon=epsilon / self.weight,
            neighbours="add_remove",
            mechanism=self.mechanism,
        )

    def rank_error(self, q: Fraction, epsilon: Fraction, level: Fraction) -> float:
        """Return how far the rank of a drawn quantile is off at most, in steps of weight."""
        return _rank_error(self, q, epsilon, level)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The most frequent candidates of a Votes part, for every group.

    ``many`` is None for MODE, else how many TOP lists. ``weight`` is the most that a unit weighs.
    ``epsilon`` is for the whole list. ``mechanism`` is as for Ranked; TOP is always "exponential",
    one choice after the other.

    Guarantee: that of its draws, which ``Plan.loss`` counts.
    """

    part: Votes
    many: int | None
    epsilon: Fraction
    weight: int
    mechanism: Drawn = "exponential"

    @property
    def loss(self) -> Loss:
        """What all its choices lose."""
        if self.mechanism == "permute_and_flip":
            return losses.pure(epsilon=self.epsilon)
        many = self.many or 1
        return many * losses.exponential(epsilon=self.epsilon / many)

    @property
    def events(self) -> tuple[str, ...]:
        """What must not be too far off for its error bar to hold."""
        return ("choice",)

    def spent(self, counted: Counted) -> float:
        """Return what it costs in the currency of the budget."""
        if counted == "rho":
            return float(self.epsilon) ** 2 / (self.many or 1) / 8
        return spent_by(self.loss, counted)

    @property
    def rule(self) -> Exponential | PermuteAndFlip | TopK:
        """The mechanism that chooses."""
        if self.many is not None:
            many = min(self.many, len(self.part.domain))
            epsilon = self.epsilon * many / self.many  # each choice costs what was planned
            return TopK(k=many, sensitivity=self.weight, epsilon=epsilon, monotone=True)
        kind = PermuteAndFlip if self.mechanism == "permute_and_flip" else Exponential
        return kind(sensitivity=self.weight, epsilon=self.epsilon, monotone=True)

    def gap(self, level: Fraction) -> float:
        """Return how much less weight than the best a choice has at most, in steps."""
        return _gap(self, level)


Release: TypeAlias = "Added | Ranked | Chosen"


@lru_cache(maxsize=1024)
def _rank_error(release: Ranked, q: Fraction, epsilon: Fraction, level: Fraction) -> float:
    return release.rule(q, epsilon).accuracy(confidence=level)


@lru_cache(maxsize=1024)
def _gap(release: Chosen, level: Fraction) -> float:
    candidates = len(release.part.domain)
    return float(release.rule.accuracy(confidence=level, candidates=candidates))


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
