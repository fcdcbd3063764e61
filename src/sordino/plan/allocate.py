# SPDX-License-Identifier: Apache-2.0
"""From a bounded question to a plan: a mechanism for every release, and the loss of them all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import assert_never

from sordino.catalog.model import Purse
from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.keys.selection import KeySelection
from sordino.plan.ask import Cost, slack_for_keys
from sordino.plan.bounded import coarse_weight, column_shift, column_step
from sordino.plan.encoding import digest
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
from sordino.plan.split import Ends, Item, Keys, Value, share_out
from sordino.privacy import losses
from sordino.privacy.loss import Loss, compose, single
from sordino.sensitivity.norms import Sensitivity

_DIGITS = 10**9
_LEAST = 1  # step: what never moves gets noise all the same


@lru_cache(maxsize=1024)
def additive(
    shift: Sensitivity, share: Fraction, *, rho: bool, confidence: Fraction
) -> Laplace | Gaussian:
    """Return the noise for a shift that costs at most a share; of two laws the narrower one.

    Where epsilons are added up it is Laplace noise. Where rho is, it is Gaussian noise, or Laplace
    noise of the same rho if that has the smaller half-width at the confidence.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: at most the share, in the currency of the budget.
        Numerics: as for Laplace and Gaussian.
        Proof: docs/proofs/queries.md, theorem 3.
    """
    moved = shift if shift.l1 else _one_step(shift)
    try:
        if not rho:
            return Laplace(sensitivity=moved, epsilon=share)
        wide, narrow = _gaussian(moved, share), _laplace(moved, share)
    except ValueError:
        raise ValueError(
            "this is too little for so many columns: noise would be too wide to be drawn; "
            "ask with more, or for less at once"
        ) from None
    if narrow is None:
        return wide
    better = narrow.accuracy(confidence=confidence) < wide.accuracy(confidence=confidence)
    return narrow if better else wide


def root_down(x: Fraction) -> Fraction:
    """Return the root of a number to eight digits or more, rounded down.

    >>> root_down(Fraction(4)), float(root_down(Fraction(2)))
    (Fraction(2, 1), 1.414213562)
    """
    scale = _DIGITS
    while x * scale * scale < _DIGITS**2 // 100:
        scale *= 10
    return Fraction(isqrt(int(x * scale * scale)), scale)


def _gaussian(shift: Sensitivity, rho: Fraction) -> Gaussian:
    return Gaussian(sensitivity=shift, rho=rho)


def _laplace(shift: Sensitivity, rho: Fraction) -> Laplace | None:
    made = Laplace(sensitivity=shift, epsilon=root_down(2 * rho))
    return made if Fraction(repr(made.loss.rho)) <= rho else None


def _one_step(shift: Sensitivity) -> Sensitivity:
    return Sensitivity(
        query=shift.query,
        l1=_LEAST,
        l2_squared=_LEAST,
        linf=_LEAST,
        neighbours=shift.neighbours,
        whole=True,
    )


_ROUNDS = 12
_CLOSE = Fraction(99, 100)
_USUAL = Fraction(95, 100)


@lru_cache(maxsize=256)
def selection(share: Fraction, slack: Fraction, groups: int, *, rho: bool) -> KeySelection:
    """Return the rule that discovers keys for at most a share of the price and a slack.

    Where epsilons are added up it is the optimal law. Where rho is, it is a threshold on counts
    with Gaussian noise if that keeps smaller groups, as it does for several groups of a unit.

    Guarantee:
        Neighbours: one unit with at most ``groups`` keys, added or removed.
        Loss: but for an event of probability ``slack``, at most the share.
        Numerics: as for KeySelection.
        Proof: docs/proofs/queries.md, theorem 5.
    """
    optimal = KeySelection(
        epsilon=root_down(2 * share) if rho else share,
        delta=slack,
        groups=groups,
        neighbours="add_remove",
    )
    noisy = _gaussian_keys(share, slack, groups) if rho else None
    if noisy is None or noisy.count_for(_USUAL) >= optimal.count_for(_USUAL):
        return optimal
    return noisy


def loss_of_keys(keys: KeySelection) -> Loss:
    """Return what discovering keys loses, but for its slack."""
    return losses.pure(epsilon=keys.epsilon) if keys.noise is None else single(keys.noise)


def slack_of_keys(keys: KeySelection) -> Fraction:
    """Return the probability of the event in which keys may tell of a unit.

    The noise of a noisy threshold has no delta of its own when rho is counted.
    """
    return keys.delta


def _gaussian_keys(share: Fraction, slack: Fraction, groups: int) -> KeySelection | None:
    """Return a threshold on Gaussian counts whose rho is nearly a share, or None."""
    about = float(share)
    epsilon = about + 2 * math.sqrt(-about * math.log(float(slack)))
    best = None
    for _ in range(_ROUNDS):
        try:
            found = KeySelection(
                epsilon=Fraction(f"{epsilon:.6g}"),
                delta=slack,
                groups=groups,
                neighbours="add_remove",
                method="gaussian",
            )
        except ValueError:
            return best
        spent = Fraction(repr(loss_of_keys(found).rho))
        if spent <= share and (best is None or found.epsilon > best.epsilon):
            best = found
        if share * _CLOSE <= spent <= share:
            break
        epsilon *= math.sqrt(float(share * (1 + _CLOSE) / 2 / spent))
    return best


def allocate(
    outline: Outline,
    purse: Purse,
    cost: Cost,
    *,
    confidence: Fraction,
    delta: Fraction | None = None,
    bend: Mapping[Item, float] | None = None,
) -> Plan:
    """Return a plan that costs at most what was stated, with the least sum of stated errors.

    ``delta`` is what discovering keys costs besides, if keys are discovered; by default the smaller
    of 1e-6 and a tenth of what the purse had for it. ``bend`` shifts the shares, as in share_out.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: but for an event of probability ``slack``, at most the plan's ``loss``, whose price is
            at most the cost.
        Numerics: shares are exact fractions; roots are rounded down.
        Proof: docs/proofs/queries.md, theorems 3 to 5.
    """
    shares = share_out(outline, cost.amount, rho=cost.rho, confidence=float(confidence), bend=bend)
    work = _Work(outline, cost, shares, confidence)
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
        confidence=confidence,
        epsilon=cost.epsilon,
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
    """Return a digest of everything in a plan but the spelling of the SQL."""
    return digest("plan", plan)


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
        self, outline: Outline, cost: Cost, shares: Mapping[Item, Fraction], confidence: Fraction
    ) -> None:
        self.outline, self.bounded = outline, outline.bounded
        self.shares = shares
        self.rho = cost.rho
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

    def keys(self, purse: Purse, delta: Fraction | None) -> KeySelection | None:
        """Return how keys are selected, if they are discovered."""
        if not self.bounded.discovers:
            if delta is not None:
                raise ValueError("delta is for discovering keys, and all keys here are declared")
            return None
        slack, share = slack_for_keys(purse, delta), self.shares[Keys()]
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
