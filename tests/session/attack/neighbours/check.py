# SPDX-License-Identifier: Apache-2.0
"""What must hold for two data sets that differ by one unit; what does not is told in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from statistics import NormalDist
from typing import assert_never

from sordino.catalog.model import Purse
from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.keys.optimal import GaussianNoise, Threshold
from sordino.mechanisms.keys.selection import KeySelection
from sordino.plan.plan import Added, Bounded, Cells, Chosen, Plan, Ranked, Ranks, UnitCount, Votes
from sordino.privacy.currency import NANO
from sordino.query.tree import Key
from tests.support.trace import Exact, Group, Prepared, Shift

_PUBLIC = ("sql", "parameters", "price", "slack", "mechanisms", "shifts", "columns", "types")


def public_faults(one: Prepared, other: Prepared) -> Iterator[str]:
    """Tell what of a question differs although only the data does."""
    for name in _PUBLIC:
        if getattr(one, name) != getattr(other, name):
            yield f"{name} depends on the data"
    if one.plan != other.plan:
        yield "the plan depends on the data"


def price_faults(prepared: Prepared, purse: Purse, *, epsilon: Fraction) -> Iterator[str]:
    """Tell where the price is less than what the releases lose, added up here once more."""
    plan = prepared.plan
    counted = purse.budget.currency.kind
    places = range(len(plan.releases))
    total = sum((lost(plan, place, counted) for place in places), Fraction(0))
    if plan.keys is not None:
        total += lost_by_keys(plan.keys, counted)
    if Fraction(prepared.price.nanos + 2, NANO) < total * (1 - Fraction(1, 10**9)):
        yield "the price is less than what is lost"
    if counted == "epsilon" and Fraction(prepared.price.nanos - 2, NANO) > epsilon:
        yield "the price is more than was asked for"
    discovers = any(key.domain is None for key in plan.query.keys)
    if discovers != (plan.keys is not None):
        yield "keys are discovered without being selected"
    if plan.keys is not None and float(prepared.slack) < _alone_is_told(plan.keys):
        yield "the slack of selecting keys is not charged"
    if prepared.slack != plan.slack:
        yield "the slack is not the plan's"


def lost(plan: Plan, place: int, counted: str) -> Fraction:
    """Return what one release loses, from its parameters alone."""
    release = plan.releases[place]
    match release:
        case Added(mechanism=Laplace() as laplace):
            epsilon = Fraction(laplace.noise.shift) * laplace.noise.eta
            return _rho_of_laplace(laplace) if counted == "rho" else _of_pure(epsilon, counted)
        case Added(mechanism=Gaussian() as gaussian):
            square = gaussian.noise.squared_sensitivity / gaussian.noise.variance
            return square if counted == "gdp" else square / 2
        case Ranked():
            ends = 2 if release.toward is None else 1  # the other one is the public bound
            draws = (release.epsilon_value, *(release.epsilon_end,) * ends)
            return sum((_of_range(e, counted) for e in draws), Fraction(0))
        case Chosen(epsilon=epsilon):
            many = release.many or 1
            return many * _of_range(epsilon / many, counted)
        case _:
            raise AssertionError("an unknown release")


def lost_by_keys(keys: KeySelection, counted: str) -> Fraction:
    """Return what selecting keys loses, but for its slack."""
    if isinstance(keys._rule, Threshold) and isinstance(keys._rule.noise, GaussianNoise):
        square = Fraction(keys.groups) / keys._rule.noise.variance
        return square if counted == "gdp" else square / 2
    return _of_pure(keys.epsilon, counted)


def _alone_is_told(keys: KeySelection) -> float:
    """Return nearly the probability that some key is told that one unit alone has."""
    if keys.method == "optimal":
        return float(keys.delta)
    return -math.expm1(keys.groups * math.log1p(-keys.probability(1))) * (1 - 1e-9)


def _of_pure(epsilon: Fraction, counted: str) -> Fraction:
    """Return what a loss costs that is epsilon or -epsilon at worst."""
    if counted == "gdp":
        return squared_mu_between(epsilon)
    return rho_of_pure(epsilon) if counted == "rho" else epsilon


def _of_range(epsilon: Fraction, counted: str) -> Fraction:
    """Return what a loss costs whose values lie within an interval of length epsilon."""
    if counted == "gdp":
        return squared_mu_between(epsilon / 2)
    return rho_of_range(epsilon) if counted == "rho" else epsilon


def squared_mu_between(epsilon: Fraction) -> Fraction:
    """Return the square of the mu between answers that are wrong with odds of e^-epsilon."""
    x = float(epsilon)
    z = x * math.sqrt(math.pi / 8) if x < 1e-3 else -NormalDist().inv_cdf(1 / (1 + math.exp(x)))
    return 4 * Fraction(z) ** 2 * (1 - Fraction(1, 10**6))


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """Return the rho of a loss that is epsilon or -epsilon at worst."""
    return epsilon * Fraction(math.tanh(float(epsilon) / 2))


def rho_of_range(epsilon: Fraction) -> Fraction:
    """Return the rho of a loss whose values lie within an interval of length epsilon."""
    x = float(epsilon)
    if x < 1e-3:
        return epsilon * epsilon / 8 * (1 - Fraction(1, 10**6))
    ratio = x / -math.expm1(-x)
    return Fraction(ratio - 1 - math.log(ratio))


def _rho_of_laplace(laplace: Laplace) -> Fraction:
    return Fraction(repr(laplace.loss.rho))


def exact_faults(prepared: Prepared, fewer: Exact, more: Exact) -> Iterator[str]:
    """Tell where one unit moves exact integers by more than was declared.

    ``more`` has one unit that ``fewer`` does not have.
    """
    plan = prepared.plan
    if len(fewer) != len(plan.bounded.parts) or len(more) != len(fewer):
        yield "a part is missing"
        return
    for release, shift in zip(plan.releases, prepared.shifts, strict=True):
        column = release.column if isinstance(release, Added) else 0
        place = plan.bounded.parts.index(release.part)
        moved = differences(fewer[place], more[place], column)
        what = type(release.part).__name__
        yield from (f"{what}: {fault}" for fault in _beyond(moved, shift))
        match release:
            case Added():
                yield from (f"{what}: {f}" for f in _noise_faults(release, moved))
            case Ranked() | Chosen():
                yield from (f"{what}: {f}" for f in _weight_faults(release, plan, moved))
            case _:
                assert_never(release)
    yield from _group_faults(plan, fewer, more)


def differences(fewer: dict[Group, tuple[int, ...]], more: dict[Group, tuple[int, ...]],
                column: int) -> list[int]:  # fmt: skip
    """Return how far a column moves in each group in which it does; an absent group is 0."""
    moved = []
    for group in fewer.keys() | more.keys():
        before = fewer[group][column] if group in fewer else 0
        after = more[group][column] if group in more else 0
        if before != after:
            moved.append(after - before)
    return moved


def _beyond(moved: list[int], shift: Shift) -> Iterator[str]:
    if sum(map(abs, moved)) > shift.l1:
        yield "l1 is beyond what is declared"
    if sum(d * d for d in moved) > shift.l2_squared:
        yield "l2 is beyond what is declared"
    if max(map(abs, moved), default=0) > shift.linf:
        yield "linf is beyond what is declared"


def _noise_faults(release: Added, moved: list[int]) -> Iterator[str]:
    match release.mechanism:
        case Laplace() as laplace:
            if sum(map(abs, moved)) > min(laplace.sensitivity, Fraction(laplace.noise.shift)):
                yield "Laplace noise is too narrow"
        case Gaussian() as gaussian:
            if sum(d * d for d in moved) > gaussian.noise.squared_sensitivity:
                yield "Gaussian noise is too narrow"
        case _ as never:
            assert_never(never)


def _weight_faults(release: Ranked | Chosen, plan: Plan, moved: list[int]) -> Iterator[str]:
    if sum(map(abs, moved)) > release.weight:
        yield "a unit weighs more than its weight"
    if any(d < 0 for d in moved):
        yield "a unit that comes takes weight away"
    wanted = Ranks if isinstance(release, Ranked) else Votes
    if not isinstance(release.part, wanted) or release.part not in plan.bounded.parts:
        yield "ranks or votes are not where they are said to be"


def _group_faults(plan: Plan, fewer: Exact, more: Exact) -> Iterator[str]:
    bounded = plan.bounded
    for part, one, other in zip(bounded.parts, fewer, more, strict=True):
        groups = one.keys() | other.keys()
        yield from _declared_faults(bounded, groups)
        if isinstance(part, Cells) and bounded.discovers:
            yield from _selection_faults(plan, part, one, other)


def _declared_faults(bounded: Bounded, groups: set[Group]) -> Iterator[str]:
    for place, key in enumerate(bounded.keys):
        allowed = _allowed(key)
        if allowed is not None and any(group and group[place] not in allowed for group in groups):
            yield "a group is outside the declared keys"


def _allowed(key: Key) -> set[object] | None:
    if key.bins is not None:
        return set(range(key.bins.count))
    if key.domain is None:
        return None
    return {*key.domain, key.other} if key.other is not None else set(key.domain)


def _selection_faults(
    plan: Plan, part: Cells, fewer: dict[Group, tuple[int, ...]],
    more: dict[Group, tuple[int, ...]],
) -> Iterator[str]:  # fmt: skip
    if UnitCount() not in part.statistics:
        yield "keys are selected without a count of units"
        return
    assert plan.keys is not None
    moved = differences(fewer, more, part.statistics.index(UnitCount()))
    if len(moved) > plan.keys.groups:
        yield "a unit is in more groups than keys are selected for"
    if any(d != 1 for d in moved):
        yield "a unit counts more than once for a key"
    if len(fewer.keys() ^ more.keys()) > plan.keys.groups:
        yield "a unit makes more groups than keys are selected for"
