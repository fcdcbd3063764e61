# SPDX-License-Identifier: Apache-2.0
"""From a question and its terms to a plan: for a price, or for the least one that will do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from sordino.catalog.model import Catalog
from sordino.errors import MissingBound, UnknownName
from sordino.plan.allocate import Item, allocate, items_of, share_out
from sordino.plan.ask import Ask, Cost, Epsilon, Rho, Width, Within, cost_of
from sordino.plan.bound import Outline, bound
from sordino.plan.intervals import expected, is_noisy, release_of
from sordino.plan.limits import people_of
from sordino.plan.plan import Added, Chosen, Plan, Ranked
from sordino.privacy.calibrate import least
from sordino.query.tree import MeasureRef, Output, Query, measures_in

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
