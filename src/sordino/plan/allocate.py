# SPDX-License-Identifier: Apache-2.0
"""From a bounded question and its terms to a plan: who gets how much of the price, and the noise.

The error of a release is measured in what one unit can add to one group, so that counts of rows,
sums of euros and ranks can be compared. It falls as 1 / epsilon, or as 1 / sqrt(rho); gdp is
like rho. So the sum of errors w_i / epsilon_i is least for epsilon_i proportional to the root of
w_i, and the sum of w_i / sqrt(rho_i) for rho_i proportional to the power 2/3 of w_i.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias, assert_never

from sordino.catalog.model import Catalog, Purse
from sordino.errors import MissingBound, UnknownName
from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.keys.selection import KeySelection
from sordino.plan.aggregates import Rank, Tally, Target, Vote
from sordino.plan.ask import Ask, Cost, Epsilon, Rho, Width, Within, cost_of, slack_for_keys
from sordino.plan.bound import Outline, bound, people_of
from sordino.plan.encoding import digest
from sordino.plan.intervals import expected, is_noisy, release_of
from sordino.plan.plan import (
    Added,
    Chosen,
    Plan,
    Ranked,
    Release,
    coarse_weight,
    column_shift,
    column_step,
    drawn_within,
    gaussian_within,
    price_of,
    pure_within,
    weights,
)
from sordino.privacy import losses
from sordino.privacy.budget import Counted
from sordino.privacy.loss import Loss, compose, single
from sordino.privacy.search import least
from sordino.query.tree import MeasureRef, Output, Query, measures_in
from sordino.sensitivity.norms import Sensitivity

_LEAST = 1  # step: what never moves gets noise all the same


@lru_cache(maxsize=1024)
def additive(
    shift: Sensitivity, share: Fraction, *, counted: Counted, confidence: Fraction
) -> Laplace | Gaussian:
    """Return the noise for a shift that costs at most a share; of two laws the narrower one.

    Where epsilons are added up it is Laplace noise. Where rho or gdp is, it is Gaussian noise, or
    Laplace noise of the same price if that has the smaller half-width at the confidence.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: at most the share, in the currency of the budget.
        Numerics: as for Laplace and Gaussian.
        Proof: docs/proofs/queries.md, theorem 3.
    """
    moved = shift if shift.l1 else _one_step(shift)
    try:
        if counted == "epsilon":
            return Laplace(sensitivity=moved, epsilon=share)
        wide, narrow = gaussian_within(moved, share, counted), _laplace(moved, share, counted)
    except ValueError:
        raise ValueError(
            "this is too little for so many columns: noise would be too wide to be drawn; "
            "ask with more, or for less at once"
        ) from None
    if narrow is None or wide is None:
        return _either(wide, narrow)
    better = narrow.accuracy(confidence=confidence) < wide.accuracy(confidence=confidence)
    return narrow if better else wide


def _either(wide: Gaussian | None, narrow: Laplace | None) -> Laplace | Gaussian:
    found = wide or narrow
    if found is None:
        raise AssertionError("noise of a pure loss has a price in every currency")
    return found


def _laplace(shift: Sensitivity, share: Fraction, counted: Counted) -> Laplace | None:
    made = Laplace(sensitivity=shift, epsilon=pure_within(share, counted))
    price = price_of(made.loss, counted)
    return made if price is not None and price <= share else None


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
def selection(share: Fraction, slack: Fraction, groups: int, *, counted: Counted) -> KeySelection:
    """Return the rule that discovers keys for at most a share of the price and a slack.

    Where epsilons are added up it is the optimal law. Else it is a threshold on counts with
    Gaussian noise if that keeps smaller groups, as it does for several groups of a unit.

    Guarantee:
        Neighbours: one unit with at most ``groups`` keys, added or removed.
        Loss: but for an event of probability ``slack``, at most the share.
        Numerics: as for KeySelection.
        Proof: docs/proofs/queries.md, theorem 5.
    """
    optimal = KeySelection(
        epsilon=pure_within(share, counted),
        delta=slack,
        groups=groups,
        neighbours="add_remove",
    )
    noisy = None if counted == "epsilon" else _gaussian_keys(share, slack, groups, counted)
    if noisy is None or noisy.count_for(_USUAL) >= optimal.count_for(_USUAL):
        return optimal
    return noisy


def loss_of_keys(keys: KeySelection) -> Loss:
    """Return what discovering keys loses, but for its slack."""
    return losses.pure(epsilon=keys.epsilon) if keys.noise is None else single(keys.noise)


def slack_of_keys(keys: KeySelection) -> Fraction:
    """Return the probability of the event in which keys may tell of a unit.

    The noise of a noisy threshold has no delta of its own when rho is counted; where gdp is, the
    price of the noise has what it fails by.
    """
    return keys.delta


def _gaussian_keys(
    share: Fraction, slack: Fraction, groups: int, counted: Counted
) -> KeySelection | None:
    """Return a threshold on Gaussian counts whose price is nearly a share, or None."""
    about = float(share) / (1 if counted == "rho" else 2)
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
        spent = price_of(loss_of_keys(found), counted)
        if spent is None:
            return best
        if spent <= share and (best is None or found.epsilon > best.epsilon):
            best = found
        if share * _CLOSE <= spent <= share:
            break
        epsilon *= math.sqrt(float(share * (1 + _CLOSE) / 2 / spent))
    return best


# Who gets how much. ------------------------------------------------------------------------------

DIAGNOSTIC_SHARE = Fraction(1, 10)
_SHARE_DIGITS = 6
_POINT_SHARE, _ENDS_SHARE = 2 / 5, 3 / 5  # of a quantile: its interval is what is stated, and wider
_KEYS_WEIGHT = 2.0  # discovering keys serves all columns, and weighs as much as two counts


@dataclass(frozen=True, slots=True)
class Ends:
    """The draws for the interval of a quantile: two, or one for MIN and MAX."""

    place: int


@dataclass(frozen=True, slots=True)
class Keys:
    """The selection of keys."""


Item: TypeAlias = "int | Ends | Keys"  # a place among targets: of a quantile, its point


def errors_of(outline: Outline, *, counted: Counted, confidence: float) -> dict[Item, float]:
    """Return for all that costs something, but for diagnostics, its error at a price of 1."""
    sizes = _Sizes(outline, counted=counted, confidence=confidence)
    errors: dict[Item, float] = {}

    def add(item: Item, error: float) -> None:
        errors[item] = errors.get(item, 0.0) + error

    power = 1 / power_of(counted)
    for at, part in (pair for formula in outline.formulas for pair in formula.errors):
        target = outline.targets[at]
        size = sizes.of(target)
        if isinstance(target, Rank):
            add(at, _POINT_SHARE**power * size)
            add(Ends(at), _ENDS_SHARE**power * size)
        else:
            add(at, part * size)
    if outline.bounded.discovers:
        add(Keys(), _KEYS_WEIGHT * sizes.plain)
    return errors


def divide(
    errors: Mapping[Item, float], total: Fraction, *, counted: Counted
) -> dict[Item, Fraction]:
    """Return what each item gets of a total; shares are short decimals and add up to the total.

    >>> divide({0: 4.0, 1: 1.0}, Fraction(1, 2), counted="epsilon")[1]
    Fraction(166667, 1000000)
    """
    power = power_of(counted)
    parts = {item: max(error, 1e-9) ** power for item, error in errors.items()}
    whole = math.fsum(parts.values())
    unit = Fraction(10) ** (math.floor(math.log10(total)) + 1 - _SHARE_DIGITS)
    shares = {
        item: max(round(total / unit * Fraction(part / whole)), 1) * unit
        for item, part in parts.items()
    }
    if shares:
        largest = max(shares, key=lambda item: shares[item])
        shares[largest] += total - sum(shares.values())
    return shares


def power_of(counted: Counted) -> float:
    """Return the power of an error to which its share is proportional."""
    return 1 / 2 if counted == "epsilon" else 2 / 3


def items_of(outline: Outline, measure: int) -> list[Item]:
    """Return what a measure pays for, alone or together with others."""
    places = outline.formulas[measure].places
    return [*places, *(Ends(at) for at in places if isinstance(outline.targets[at], Rank))]


def share_out(
    outline: Outline,
    total: Fraction,
    *,
    counted: Counted,
    confidence: float,
    bend: Mapping[Item, float] | None = None,
) -> dict[Item, Fraction]:
    """Return the share of everything that costs something, diagnostics with a tenth of it.

    ``bend`` multiplies shares before they are scaled to the total; what it does not name stays.
    """
    errors = errors_of(outline, counted=counted, confidence=confidence)
    for item, factor in (bend or {}).items():
        errors[item] *= factor ** (1 / power_of(counted))
    told = dict.fromkeys(at for _, at in outline.diagnostics)
    if not told:
        return divide(errors, total, counted=counted)
    sizes = _Sizes(outline, counted=counted, confidence=confidence)
    extra: dict[Item, float] = {at: sizes.of(outline.targets[at]) for at in told}
    part = total * DIAGNOSTIC_SHARE if errors else total
    return divide(errors, total - part, counted=counted) | divide(extra, part, counted=counted)


# The inverse of the epsilon that a bounded range has at a price of 1, for small ones.
_CHOSEN = {"epsilon": 1.0, "rho": 1 / math.sqrt(8), "gdp": math.sqrt(math.pi / 8)}


class _Sizes:
    """The half-width of a release at a price of 1, in what one unit can add to one group."""

    def __init__(self, outline: Outline, *, counted: Counted, confidence: float) -> None:
        self.bounded = outline.bounded
        self.counted = counted
        self.odds = confidence / (1 - confidence)
        normal = NormalDist().inv_cdf((1 + confidence) / 2)
        self.plain = {
            "epsilon": -math.log1p(-confidence),
            "rho": normal / math.sqrt(2),
            "gdp": normal,
        }[counted]
        self.chosen = _CHOSEN[counted]

    def of(self, target: Target) -> float:
        match target:
            case Tally():
                shift = column_shift(self.bounded, target.part, target.column)
                return self.plain * ratio(shift, counted=self.counted)
            case Rank():
                return spread_of(target.quantile) * self._behind(target.part.buckets)
            case Vote():
                many = target.many or 1
                choices = many if self.counted == "epsilon" else math.sqrt(many)
                return choices * self._behind(len(target.part.domain))
            case _:
                assert_never(target)

    def _behind(self, candidates: int) -> float:
        total, each = weights(self.bounded.shares, grouped=bool(self.bounded.keys))
        return total / each * math.log(max((candidates - 1) * self.odds, 2.0)) * self.chosen


def spread_of(quantile: Fraction | None) -> float:
    """Return how far one record moves the scores of a quantile apart; 2 at most."""
    return 2.0 if quantile is None else float(2 * max(quantile, 1 - quantile))


def ratio(shift: Sensitivity, *, counted: Counted) -> float:
    """Return how far one unit moves all groups, over how far it moves one."""
    if not shift.linf:
        return 1.0
    moved = float(shift.l1) if counted == "epsilon" else math.sqrt(shift.l2_squared)
    return moved / float(shift.linf)


# The plan. ---------------------------------------------------------------------------------------


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
    shares = share_out(
        outline, cost.amount, counted=cost.counted, confidence=float(confidence), bend=bend
    )
    work = _Work(outline, cost, shares, confidence)
    releases = work.releases()
    keys = work.keys(purse, delta)
    draft = Plan(
        query=outline.query,
        bounded=outline.bounded,
        people=outline.people,
        releases=releases,
        formulas=outline.formulas,
        keys=keys,
        diagnostics=outline.diagnostics,
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
    parts = [release.loss for release in releases]
    if keys is not None:
        parts.append(loss_of_keys(keys))
    return compose(parts).under("add_remove")


def fingerprint_of(plan: Plan) -> str:
    """Return a digest of everything in a plan but the spelling of the SQL."""
    return digest("plan", plan)


class _Work:
    """Makes the releases of an outline from shares of a price."""

    def __init__(
        self, outline: Outline, cost: Cost, shares: Mapping[Item, Fraction], confidence: Fraction
    ) -> None:
        self.outline, self.bounded = outline, outline.bounded
        self.shares = shares
        self.counted = cost.counted
        self.confidence = confidence

    def releases(self) -> tuple[Release, ...]:
        """Return what is released for every target."""
        drawn = any(not isinstance(target, Tally) for target in self.outline.targets)
        weight = coarse_weight(self.bounded) if drawn else 0
        return tuple(self._release(at, weight) for at in range(len(self.outline.targets)))

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
        return selection(share, slack, groups, counted=self.counted)

    def _release(self, at: int, weight: int) -> Release:
        target, share = self.outline.targets[at], self.shares[at]
        match target:
            case Tally():
                return self._added(target, share)
            case Rank():
                return self._ranked(target, share, self.shares[Ends(at)], weight)
            case Vote():
                return self._chosen(target, share, weight)
            case _:
                assert_never(target)

    def _added(self, tally: Tally, share: Fraction) -> Added:
        shift = column_shift(self.bounded, tally.part, tally.column)
        mechanism = additive(shift, share, counted=self.counted, confidence=self.confidence)
        step = column_step(self.bounded, tally.part, tally.column)
        return Added(tally.part, tally.column, mechanism, step)

    def _ranked(self, rank: Rank, point: Fraction, ends: Fraction, weight: int) -> Ranked:
        end = ends / (2 if rank.toward is None else 1)
        return Ranked(
            part=rank.part,
            count=None,
            quantile=rank.quantile,
            toward=rank.toward,
            epsilon_value=drawn_within(point, self.counted),
            epsilon_end=drawn_within(end, self.counted),
            weight=weight,
            mechanism="permute_and_flip" if self.counted == "epsilon" else "exponential",
        )

    def _chosen(self, vote: Vote, share: Fraction, weight: int) -> Chosen:
        many = vote.many or 1
        flips = vote.many is None and self.counted == "epsilon"
        return Chosen(
            part=vote.part,
            many=vote.many,
            epsilon=many * drawn_within(share / many, self.counted),
            weight=weight,
            mechanism="permute_and_flip" if flips else "exponential",
        )


# The price. ---------------------------------------------------------------------------------------

# Ratios of half-widths between these are ordinary doubles.
_NARROWEST, _WIDEST = 1e-250, 1e250
_ROUNDS_OF_BENDING = 4
_PLENTY_OF_ROWS = 1e9
_PRICES_IN_A_DECADE = 9000  # which have four digits
_LOWEST_DECADE, _HIGHEST_DECADE = -9, 4


def plan_question(query: Query, catalog: Catalog, ask: Ask) -> Plan:
    """Return the plan of a question on the terms of an ask, paid by the budget of its people."""
    search = _Search(query, catalog, ask)
    if isinstance(ask.price, Within):
        return _plan_within(search, ask.price)
    return search.plan_for(cost_of(ask.price, search.purse), None)


def _plan_within(search: _Search, within: Within) -> Plan:
    """Return the cheapest plan whose half-widths are at most what was asked for.

    A percentage is a part of a public range, for means and quantiles. Means, variances and
    quantiles need expected rows, a public guess at the rows of a group. For MODE and TOP a
    half-width is how many rows a choice may be behind. The price is the least of four digits, in
    epsilon, or in rho where the budget has no delta.

    Where several columns have a width each, the usual split makes some of them narrower than was
    asked for. Shares are then moved from these to the others for a few rounds, and the cheapest
    plan counts. Columns that are not named keep their part of the whole.
    """
    rows = None if search.ask.expected_rows is None else float(search.ask.expected_rows)
    one = _place_of_one()
    first = search.plan(one, {})
    targets = _targets(first, within.widths, rows)
    try:
        best = search.least(targets, rows, {}, _near(first, one, targets, rows))
    except ValueError:
        raise MissingBound(
            "within",
            "no price makes the error bars so narrow",
            hint="ask for wider ones, or state more expected_rows (--expected-rows)",
        ) from None
    plan, place, bend = search.plan(best, {}), best, dict[Item, float]()
    cheapest = plan
    for _ in range(_ROUNDS_OF_BENDING if len(targets) > 1 else 0):
        bend = search.bent(plan, place, bend, _ratios(plan, targets, rows))
        try:
            near = _near(search.plan(place, bend), place, targets, rows)
            place = search.least(targets, rows, bend, near)
        except ValueError:  # a share became too small for noise to be drawn
            break
        plan = search.plan(place, bend)
        if place < best:
            cheapest, best = plan, place
    return cheapest


class _Search:
    """Plans of one question for prices and bent shares."""

    def __init__(self, query: Query, catalog: Catalog, ask: Ask) -> None:
        self.purse = catalog.purse(people_of(query.rows, catalog))
        self.in_rho = self.purse.budget.currency.kind == "rho" and not self.purse.budget.slack
        self.query, self.catalog, self.ask = query, catalog, ask

    def plan(self, place: int, bend: Mapping[Item, float]) -> Plan:
        """Return the plan for the price at a place."""
        return self.plan_for(self._cost(place), bend)

    def plan_for(self, cost: Cost, bend: Mapping[Item, float] | None) -> Plan:
        """Return the plan for a cost, its shares bent if that is wanted."""
        return allocate(
            self._outline(cost),
            self.purse,
            cost,
            delta=self.ask.delta,
            confidence=self.ask.confidence,
            bend=bend,
        )

    def least(
        self,
        targets: list[tuple[Output, float]],
        rows: float | None,
        bend: Mapping[Item, float],
        near: int,
    ) -> int:
        """Return the place of the least price at which all columns are as narrow as wanted."""

        def fits(place: int) -> bool:
            try:
                plan = self.plan(place, bend)
            except ValueError:  # too little for noise to be drawn
                return False
            return all(ratio <= 1 for ratio in _ratios(plan, targets, rows).values())

        return least(
            fits, 0, (_HIGHEST_DECADE - _LOWEST_DECADE) * _PRICES_IN_A_DECADE - 1, near=near
        )

    def bent(
        self, plan: Plan, place: int, bend: Mapping[Item, float], ratios: Mapping[Output, float]
    ) -> dict[Item, float]:
        """Return shares bent so that what is too narrow gets less, and what is too wide more."""
        cost = self._cost(place)
        outline = self._outline(cost)
        shares = share_out(
            outline,
            cost.amount,
            counted=cost.counted,
            confidence=float(plan.confidence),
            bend=bend,
        )
        wanted: dict[Item, float] = {}
        for output, ratio in ratios.items():
            items = [i for at in measures_in(output.scalar) for i in items_of(outline, at)]
            for item in items:
                wanted[item] = max(wanted.get(item, 0.0), ratio)
        # Half-widths fall as 1 / epsilon, or as the inverse root of rho or gdp.
        power = 1 if cost.counted == "epsilon" else 2
        moved = {item: max(ratio, 1e-6) ** power for item, ratio in wanted.items()}
        before = sum(float(shares[item]) for item in moved)
        after = sum(float(shares[item]) * factor for item, factor in moved.items())
        # What is bent keeps its part of the whole, so that all else keeps its own.
        scale = before / after
        return {item: bend.get(item, 1.0) * f * scale for item, f in moved.items()}

    def _outline(self, cost: Cost) -> Outline:
        return bound(
            self.query,
            self.catalog,
            limits=self.ask.limits,
            epsilon=cost.about,
            diagnostics=self.ask.diagnostics,
        )

    def _cost(self, place: int) -> Cost:
        stated = Rho if self.in_rho else Epsilon
        return cost_of(stated(_price(place)), self.purse)


def _targets(
    plan: Plan, widths: Width | tuple[tuple[str, Width], ...], rows: float | None
) -> list[tuple[Output, float]]:
    """Return the half-width wanted for each column that has noise."""
    noisy = [output for output in plan.query.post.outputs if is_noisy(output.scalar)]
    if isinstance(widths, tuple):
        titles = {output.title.casefold(): output for output in noisy}
        wanted = {name.casefold(): width for name, width in widths}
        unknown = [name for name, _ in widths if name.casefold() not in titles]
        if unknown:
            raise UnknownName(
                "unknown_column",
                f"within names {unknown[0]!r}, which is no noisy column of the answer",
                hint=f"those are {', '.join(sorted(output.title for output in noisy))}",
            )
        chosen = [(titles[name], width) for name, width in wanted.items()]
    else:
        chosen = [(output, widths) for output in noisy]
    if not chosen:
        raise MissingBound("within", "there is no noisy column that could be within anything")
    return [(output, _width(plan, output, width, rows)) for output, width in chosen]


def _width(plan: Plan, output: Output, width: Width, rows: float | None) -> float:
    """Read a half-width for a column, and refuse one that cannot be known beforehand."""
    likely = expected(plan, output.scalar, rows=rows)
    if not _is_known(plan, output, rows):
        needs_rows = rows is None and _is_known(plan, output, _PLENTY_OF_ROWS)
        raise MissingBound(
            "within",
            f"how wide {output.title} will be is not known beforehand: {likely.about}",
            hint="state expected_rows (--expected-rows), a public guess at the rows of a group"
            if needs_rows
            else "state the price, or name the other columns, in Python as within={'n': 50}",
        )
    if isinstance(width, Fraction):
        return _in_reach(float(width))
    scale = _scale(plan, output)
    if scale is None or likely.rows:
        raise MissingBound(
            "within",
            f"{width.text!r} of {output.title} has no public scale to be a part of",
            hint="write a number; counts, sums and choices have no range",
        )
    return _in_reach(float(width.share * scale))


def _is_known(plan: Plan, output: Output, rows: float | None) -> bool:
    """Tell whether a half-width is known beforehand, in the unit of the column."""
    likely = expected(plan, output.scalar, rows=rows)
    return likely.half_width is not None and not (likely.rows and _is_ranked(plan, output))


def _in_reach(width: float) -> float:
    """Refuse a half-width that is no ordinary number."""
    if not _NARROWEST <= width <= _WIDEST:
        raise MissingBound(
            "within",
            f"error bars of {width:.3g} are too narrow or too wide to be planned",
            hint=f"ask for half-widths from {_NARROWEST:g} to {_WIDEST:g}, or state the price",
        )
    return width


def _is_ranked(plan: Plan, output: Output) -> bool:
    if not isinstance(output.scalar, MeasureRef):
        return False
    return isinstance(release_of(plan, output.scalar.index), Ranked)


def _scale(plan: Plan, output: Output) -> Fraction | None:
    """Return the width of the public range of a mean or a quantile; what a variance can be."""
    if not isinstance(output.scalar, MeasureRef):
        return None
    index = output.scalar.index
    public = plan.query.measures[index].range
    if public is None or isinstance(release_of(plan, index), Added | Chosen):
        return None
    return plan.formulas[index].scale(public)


def _ratios(
    plan: Plan, targets: list[tuple[Output, float]], rows: float | None
) -> dict[Output, float]:
    """Return how wide each column is, as a multiple of what is wanted."""
    ratios = {}
    for output, width in targets:
        half_width = expected(plan, output.scalar, rows=rows).half_width
        ratios[output] = math.inf if half_width is None else half_width / width
    return ratios


def _near(plan: Plan, place: int, targets: list[tuple[Output, float]], rows: float | None) -> int:
    """Return about where the price lies: half-widths fall as the price grows."""
    factor = max(min(ratio, 1e3) for ratio in _ratios(plan, targets, rows).values())
    return _place_at(max(float(_price(place)) * factor, 1e-8))


def _price(place: int) -> Fraction:
    """Return the number of four digits at a place, in their order."""
    decade, rest = divmod(place, _PRICES_IN_A_DECADE)
    return (1000 + rest) * Fraction(10) ** (_LOWEST_DECADE + decade - 3)


def _place_of_one() -> int:
    return -_LOWEST_DECADE * _PRICES_IN_A_DECADE


def _place_at(price: float) -> int:
    """Return about the place of a price."""
    digits, exponent = f"{price:.3e}".split("e")
    decade = int(exponent) - _LOWEST_DECADE
    return decade * _PRICES_IN_A_DECADE + round(float(digits) * 1000) - 1000
