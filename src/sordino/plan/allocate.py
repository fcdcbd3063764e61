# SPDX-License-Identifier: Apache-2.0
"""From a bounded question to a plan: a mechanism for every release, and the loss of them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from typing import assert_never

from sordino.exact.rational import Number, confidence_level
from sordino.mechanisms.partitions import KeySelection
from sordino.plan.asked import Asked, read_asked, read_slack
from sordino.plan.bound import bound
from sordino.plan.keys import loss_of_keys, selection, slack_of_keys
from sordino.plan.limits import people_of
from sordino.plan.noise import additive, root_down
from sordino.plan.outline import Average, Deviation, OneOf, Outline, Place, Rank, Vote
from sordino.plan.plan import (
    Added,
    Chosen,
    Direct,
    Formula,
    Mean,
    Plan,
    Ranked,
    Release,
    Spread,
)
from sordino.plan.shifts import coarse_weight, column_shift, column_step
from sordino.plan.split import Ends, Item, Keys, Value, share_out
from sordino.privacy import losses
from sordino.privacy.loss import Loss, compose
from sordino.query.catalog import Catalog, Limits, Purse
from sordino.query.tree import Query

_VERSION = "plan 1"  # what a fingerprint covers; a change of meaning changes it


def plan_question(
    query: Query,
    catalog: Catalog,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    confidence: Number = Fraction(95, 100),
    limits: Limits | None = None,
    diagnostics: bool = False,
) -> Plan:
    """Return the plan of a question for a price, paid by the budget of its people.

    Guarantee: as for allocate.
    """
    purse = catalog.purse(people_of(query.rows, catalog))
    asked = read_asked(purse, epsilon=epsilon, rho=rho)
    outline = bound(query, catalog, limits=limits, epsilon=asked.about, diagnostics=diagnostics)
    return allocate(outline, purse, epsilon=epsilon, rho=rho, delta=delta, confidence=confidence)


def allocate(
    outline: Outline,
    purse: Purse,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    confidence: Number = Fraction(95, 100),
    bend: Mapping[Item, float] | None = None,
) -> Plan:
    """Return a plan that costs at most what was asked for, with the least sum of stated errors.

    ``delta`` is what discovering keys costs besides, if keys are discovered; by default the smaller
    of 1e-6 and a tenth of what the purse had for it. ``bend`` shifts the shares, as in share_out.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: but for an event of probability ``slack``, at most the plan's ``loss``, whose price is
            at most what was asked for.
        Numerics: shares are exact fractions; roots are rounded down.
        Proof: docs/proofs/queries.md, theorems 3 to 5.
    """
    asked, level = read_asked(purse, epsilon=epsilon, rho=rho), confidence_level(confidence)
    shares = share_out(outline, asked.amount, rho=asked.rho, confidence=float(level), bend=bend)
    work = _Work(outline, asked, shares, level)
    releases = work.releases()
    keys = work.keys(purse, delta)
    draft = Plan(
        query=outline.query,
        bounded=outline.bounded,
        people=outline.people,
        releases=releases,
        formulas=work.formulas(),
        keys=keys,
        diagnostics=work.diagnostics(),
        loss=loss_of(releases, keys),
        slack=Fraction(0) if keys is None else slack_of_keys(keys),
        confidence=level,
        epsilon=asked.epsilon,
        fingerprint="",
        by_id=outline.by_id,
    )
    return replace(draft, fingerprint=fingerprint_of(draft))


def loss_of(releases: tuple[Release, ...], keys: KeySelection | None) -> Loss:
    """Return what all releases lose together; without the slack of key selection.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: the sum, but for an event whose probability is the slack of ``keys``.
        Numerics: as for Loss.
        Proof: docs/proofs/queries.md, theorems 3 to 5.
    """
    parts = [_loss(release) for release in releases]
    if keys is not None:
        parts.append(loss_of_keys(keys))
    return compose(parts).under("add_remove")


def fingerprint_of(plan: Plan) -> str:
    """Return a digest of everything in a plan but the spelling of the SQL.

    Guarantee: none needed; public inputs only.
    """
    told = replace(plan, query=replace(plan.query, sql=""), fingerprint="")
    return sha256(f"{_VERSION}\n{told!r}".encode()).hexdigest()


def _loss(release: Release) -> Loss:
    match release:
        case Added():
            return release.mechanism.loss
        case Ranked():
            draw = losses.pure if release.mechanism == "permute_and_flip" else losses.exponential
            ends = draw(epsilon=release.epsilon_end)
            return draw(epsilon=release.epsilon_value) + release.ends * ends
        case Chosen():
            if release.mechanism == "permute_and_flip":
                return losses.pure(epsilon=release.epsilon)
            many = release.many or 1
            return many * losses.exponential(epsilon=release.epsilon / many)
        case _:
            assert_never(release)


class _Work:
    """Makes the releases of an outline from shares of a price."""

    def __init__(
        self, outline: Outline, asked: Asked, shares: Mapping[Item, Fraction], confidence: Fraction
    ) -> None:
        self.outline, self.bounded = outline, outline.bounded
        self.shares = shares
        self.rho = asked.rho
        self.confidence = confidence
        self.places = [item for item in shares if isinstance(item, Place)]
        drawn = [recipe for recipe in outline.recipes if isinstance(recipe, Rank | Vote)]
        self.recipes = list(dict.fromkeys(drawn))

    def releases(self) -> tuple[Release, ...]:
        """Return noisy columns first, then quantiles and choices."""
        weight = coarse_weight(self.bounded) if self.recipes else 0
        chosen = [
            self._ranked(recipe, weight)
            if isinstance(recipe, Rank)
            else self._chosen(recipe, weight)
            for recipe in self.recipes
        ]
        return (*map(self._added, self.places), *chosen)

    def formulas(self) -> tuple[Formula, ...]:
        """Return how each measure is made from releases."""
        return tuple(self._formula(recipe) for recipe in self.outline.recipes)

    def diagnostics(self) -> tuple[tuple[str, int], ...]:
        """Return the titles and releases of what is told besides."""
        return tuple((title, self._at(place)) for title, place in self.outline.diagnostics)

    def keys(self, purse: Purse, delta: Number | None) -> KeySelection | None:
        """Return how keys are selected, if they are discovered."""
        if not self.bounded.discovers:
            if delta is not None:
                raise ValueError("delta is for discovering keys, and all keys here are declared")
            return None
        slack, share = read_slack(purse, delta), self.shares[Keys()]
        groups = 1 if self.bounded.shares.alone else self.bounded.shares.groups
        if groups is None:
            raise ValueError("keys are discovered only where the groups of a unit are limited")
        return selection(share, slack, groups, rho=self.rho)

    def _added(self, place: Place) -> Added:
        shift = column_shift(self.bounded, place.part, place.column)
        mechanism = additive(shift, self.shares[place], rho=self.rho, confidence=self.confidence)
        step = column_step(self.bounded, place.part, place.column)
        return Added(place.part, place.column, mechanism, step)

    def _ranked(self, rank: Rank, weight: int) -> Ranked:
        many = 2 if rank.toward is None else 1
        value, ends = self.shares[Value(rank)], self.shares[Ends(rank)] / many
        return Ranked(
            part=rank.part,
            count=None,
            quantile=rank.quantile,
            toward=rank.toward,
            epsilon_value=root_down(8 * value) if self.rho else value,
            epsilon_end=root_down(8 * ends) if self.rho else ends,
            weight=weight,
            mechanism="exponential" if self.rho else "permute_and_flip",
        )

    def _chosen(self, vote: Vote, weight: int) -> Chosen:
        share, many = self.shares[vote], vote.many or 1
        flips = vote.many is None and not self.rho
        return Chosen(
            part=vote.part,
            many=vote.many,
            epsilon=many * root_down(8 * share / many) if self.rho else share,
            weight=weight,
            mechanism="permute_and_flip" if flips else "exponential",
        )

    def _formula(self, recipe: OneOf | Average | Deviation | Rank | Vote) -> Formula:
        match recipe:
            case OneOf(place):
                return Direct(self._at(place))
            case Average(total, count, offset, low, high):
                return Mean(self._at(total), self._at(count), offset, low, high)
            case Deviation(total, square, count, low, high, root):
                at = self._at
                return Spread(at(total), at(square), at(count), low, high, root)
            case Rank() | Vote():
                return Direct(len(self.places) + self.recipes.index(recipe))
            case _:
                assert_never(recipe)

    def _at(self, place: Place) -> int:
        return self.places.index(place)
