# SPDX-License-Identifier: Apache-2.0
"""Who gets how much of the price: the split with the least sum of stated errors.

The error of a release is measured in what one unit can add to one group, so that counts of rows,
sums of euros and ranks can be compared. It falls as 1 / epsilon, or as 1 / sqrt(rho). So the sum of
errors w_i / epsilon_i is least for epsilon_i proportional to the root of w_i, and the sum of
w_i / sqrt(rho_i) for rho_i proportional to the power 2/3 of w_i.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TypeAlias, assert_never

from sordino.plan.bounded import Ranks, Votes, column_shift, weights
from sordino.plan.outline import Average, Deviation, OneOf, Outline, Place, Rank, Recipe, Vote
from sordino.sensitivity.norms import Sensitivity

DIAGNOSTIC_SHARE = Fraction(1, 10)
_DIGITS = 6  # of the total, to which shares are rounded
_VALUE, _ENDS = 2 / 5, 3 / 5  # of what a quantile gets: its interval is what is stated, and wider
_HALF = 0.5  # where in its range a mean is expected: half way from the middle to an end
_KEYS = 2.0  # discovering keys serves all columns, and weighs as much as two counts


@dataclass(frozen=True, slots=True)
class Value:
    """The draw of a quantile."""

    rank: Rank


@dataclass(frozen=True, slots=True)
class Ends:
    """The draws for the interval of a quantile: two, or one for MIN and MAX."""

    rank: Rank


@dataclass(frozen=True, slots=True)
class Keys:
    """The selection of keys."""


Item: TypeAlias = "Place | Value | Ends | Vote | Keys"


def errors_of(outline: Outline, *, rho: bool, confidence: float) -> dict[Item, float]:
    """Return for all that costs something, but for diagnostics, its error at a price of 1."""
    sizes = _Sizes(outline, rho=rho, confidence=confidence)
    found: dict[Item, float] = {}

    def add(item: Item, error: float) -> None:
        found[item] = found.get(item, 0.0) + error

    for recipe in outline.recipes:
        match recipe:
            case OneOf(place):
                add(place, sizes.column(place))
            case Average():
                add(recipe.total, sizes.column(recipe.total))
                add(recipe.count, _HALF * sizes.column(recipe.count))
            case Deviation():
                add(recipe.square, sizes.column(recipe.square))
                add(recipe.total, sizes.column(recipe.total))
                add(recipe.count, _HALF * sizes.column(recipe.count))
            case Rank():
                size, power = sizes.rank(recipe), 1 / power_of(rho=rho)
                add(Value(recipe), _VALUE**power * size)
                add(Ends(recipe), _ENDS**power * size)
            case Vote():
                add(recipe, sizes.vote(recipe))
            case _:
                assert_never(recipe)
    if outline.bounded.discovers:
        add(Keys(), _KEYS * sizes.plain)
    return found


def divide(errors: Mapping[Item, float], total: Fraction, *, rho: bool) -> dict[Item, Fraction]:
    """Return what each item gets of a total; shares are short decimals and add up to the total.

    >>> one, other = Place(0, 0), Place(0, 1)
    >>> divide({one: 4.0, other: 1.0}, Fraction(1, 2), rho=False)[other]
    Fraction(166667, 1000000)
    """
    power = power_of(rho=rho)
    parts = {item: max(error, 1e-9) ** power for item, error in errors.items()}
    whole = math.fsum(parts.values())
    unit = Fraction(10) ** (math.floor(math.log10(total)) + 1 - _DIGITS)
    shares = {
        item: max(round(total / unit * Fraction(part / whole)), 1) * unit
        for item, part in parts.items()
    }
    if shares:
        largest = max(shares, key=lambda item: shares[item])
        shares[largest] += total - sum(shares.values())
    return shares


def power_of(*, rho: bool) -> float:
    """Return the power of an error to which its share is proportional."""
    return 2 / 3 if rho else 1 / 2


def items_of(recipe: Recipe) -> tuple[Item, ...]:
    """Return what a measure pays for, alone or together with others."""
    match recipe:
        case OneOf(place):
            return (place,)
        case Average():
            return recipe.total, recipe.count
        case Deviation():
            return recipe.total, recipe.square, recipe.count
        case Rank():
            return Value(recipe), Ends(recipe)
        case Vote():
            return (recipe,)
        case _:
            assert_never(recipe)


def share_out(
    outline: Outline,
    total: Fraction,
    *,
    rho: bool,
    confidence: float,
    bend: Mapping[Item, float] | None = None,
) -> dict[Item, Fraction]:
    """Return the share of everything that costs something, diagnostics with a tenth of it.

    ``bend`` multiplies shares before they are scaled to the total; what it does not name stays.
    """
    errors = errors_of(outline, rho=rho, confidence=confidence)
    for item, factor in (bend or {}).items():
        errors[item] *= factor ** (1 / power_of(rho=rho))
    places = dict.fromkeys(place for _, place in outline.diagnostics)
    if not places:
        return divide(errors, total, rho=rho)
    sizes = _Sizes(outline, rho=rho, confidence=confidence)
    extra: dict[Item, float] = {place: sizes.column(place) for place in places}
    part = total * DIAGNOSTIC_SHARE if errors else total
    return divide(errors, total - part, rho=rho) | divide(extra, part, rho=rho)


class _Sizes:
    """The half-width of a release at a price of 1, in what one unit can add to one group."""

    def __init__(self, outline: Outline, *, rho: bool, confidence: float) -> None:
        self.bounded = outline.bounded
        self.rho = rho
        self.odds = confidence / (1 - confidence)
        normal = NormalDist().inv_cdf((1 + confidence) / 2) / math.sqrt(2)
        self.plain = normal if rho else -math.log1p(-confidence)
        self.chosen = 1 / math.sqrt(8) if rho else 1.0  # epsilon is sqrt(8 rho) for a bounded range

    def column(self, place: Place) -> float:
        shift = column_shift(self.bounded, place.part, place.column)
        return self.plain * ratio(shift, rho=self.rho)

    def rank(self, recipe: Rank) -> float:
        part = self.bounded.parts[recipe.part]
        if not isinstance(part, Ranks):
            raise TypeError("a quantile is drawn from ranks")
        return spread_of(recipe.quantile) * self._behind(part.buckets)

    def vote(self, recipe: Vote) -> float:
        part = self.bounded.parts[recipe.part]
        if not isinstance(part, Votes):
            raise TypeError("a choice is made from votes")
        many = recipe.many or 1
        return (math.sqrt(many) if self.rho else many) * self._behind(len(part.domain))

    def _behind(self, candidates: int) -> float:
        total, each = weights(self.bounded.shares, grouped=bool(self.bounded.keys))
        return total / each * math.log(max((candidates - 1) * self.odds, 2.0)) * self.chosen


def spread_of(quantile: Fraction | None) -> float:
    """Return how far one record moves the scores of a quantile apart; 2 at most."""
    return 2.0 if quantile is None else float(2 * max(quantile, 1 - quantile))


def ratio(shift: Sensitivity, *, rho: bool) -> float:
    """Return how far one unit moves all groups, over how far it moves one."""
    if not shift.linf:
        return 1.0
    return (math.sqrt(shift.l2_squared) if rho else float(shift.l1)) / float(shift.linf)
