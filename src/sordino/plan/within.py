# SPDX-License-Identifier: Apache-2.0
"""Accuracy first: the least price whose error bars are as narrow as was asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from sordino.catalog.model import Catalog, Limits
from sordino.errors import MissingBound, UnknownName
from sordino.numbers.rational import Number, decimal_of, positive
from sordino.plan.allocate import Item, allocate, items_of, share_out
from sordino.plan.ask import read_asked
from sordino.plan.bound import Outline, bound
from sordino.plan.intervals import expected, is_noisy, release_of
from sordino.plan.limits import people_of
from sordino.plan.plan import Added, Chosen, Plan, Ranked
from sordino.privacy.calibrate import least
from sordino.query.tree import MeasureRef, Output, Query, measures_in

Width: TypeAlias = "Number | str"
Wanted: TypeAlias = "Width | Mapping[str, Width]"

_NARROWEST, _WIDEST = 1e-250, 1e250  # half-widths, so that their ratios are ordinary doubles
_ROUNDS = 4  # in which shares are moved
_DECADE = 9000  # numbers of four digits in a decade
_LOWEST, _HIGHEST = -9, 4  # powers of ten between which the price lies


def plan_within(
    query: Query,
    catalog: Catalog,
    within: Wanted,
    *,
    expected_rows: Number | None = None,
    delta: Number | None = None,
    confidence: Number = Fraction(95, 100),
    limits: Limits | None = None,
    diagnostics: bool = False,
) -> Plan:
    """Return the cheapest plan whose half-widths are at most what was asked for.

    ``within`` is a half-width for every column, or one by column; "5%" is a part of a public range,
    for means and quantiles. Means, variances and quantiles need ``expected_rows``, a public guess
    at the rows of a group. For MODE and TOP it is how many rows a choice may be behind. The price
    is the least of four digits, in epsilon, or in rho where the budget has no delta.

    Where several columns have a width each, the usual split makes some of them narrower than was
    asked for. Shares are then moved from these to the others for a few rounds, and the cheapest
    plan counts. Columns that are not named keep their part of the whole.
    """
    rows = None if expected_rows is None else float(positive("expected_rows", expected_rows))
    search = _Search(
        query,
        catalog,
        delta=delta,
        confidence=confidence,
        limits=limits,
        diagnostics=diagnostics,
    )
    one = _place_of_one()
    first = search.plan(one, {})
    targets = _targets(first, within, rows)
    try:
        best = search.least(targets, rows, {}, _near(first, one, targets, rows))
    except ValueError:
        raise MissingBound(
            "within",
            "no price makes the error bars so narrow",
            hint="ask for wider ones, or state more expected_rows (--expected-rows)",
        ) from None
    plan, place, bend = search.plan(best, {}), best, dict[Item, float]()
    found = plan
    for _ in range(_ROUNDS if len(targets) > 1 else 0):
        bend = search.bent(plan, place, bend, _ratios(plan, targets, rows))
        try:
            near = _near(search.plan(place, bend), place, targets, rows)
            place = search.least(targets, rows, bend, near)
        except ValueError:  # a share became too small for noise to be drawn
            break
        plan = search.plan(place, bend)
        if place < best:
            found, best = plan, place
    return found


class _Search:
    """Plans of one question for prices and bent shares."""

    def __init__(
        self,
        query: Query,
        catalog: Catalog,
        *,
        delta: Number | None,
        confidence: Number,
        limits: Limits | None,
        diagnostics: bool,
    ) -> None:
        self.purse = catalog.purse(people_of(query.rows, catalog))
        self.in_rho = self.purse.budget.currency.kind == "rho" and not self.purse.budget.slack
        self.query, self.catalog, self.limits = query, catalog, limits
        self.delta, self.confidence, self.diagnostics = delta, confidence, diagnostics

    def plan(self, place: int, bend: Mapping[Item, float]) -> Plan:
        """Return the plan for the price at a place."""
        price = self._price(place)
        return allocate(
            self._outline(place),
            self.purse,
            **price,
            delta=self.delta,
            confidence=self.confidence,
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

        return least(fits, 0, (_HIGHEST - _LOWEST) * _DECADE - 1, near=near)

    def bent(
        self, plan: Plan, place: int, bend: Mapping[Item, float], ratios: Mapping[Output, float]
    ) -> dict[Item, float]:
        """Return shares bent so that what is too narrow gets less, and what is too wide more."""
        outline, asked = self._outline(place), read_asked(self.purse, **self._price(place))
        shares = share_out(
            outline,
            asked.amount,
            rho=asked.rho,
            confidence=float(plan.confidence),
            bend=bend,
        )
        wanted: dict[Item, float] = {}
        for output, ratio in ratios.items():
            items = [i for at in measures_in(output.scalar) for i in items_of(outline, at)]
            for item in items:
                wanted[item] = max(wanted.get(item, 0.0), ratio)
        power = 2 if asked.rho else 1  # half-widths fall as 1 / epsilon or as 1 / sqrt(rho)
        moved = {item: max(ratio, 1e-6) ** power for item, ratio in wanted.items()}
        before = sum(float(shares[item]) for item in moved)
        after = sum(float(shares[item]) * factor for item, factor in moved.items())
        # What is bent keeps its part of the whole, so that all else keeps its own.
        scale = before / after
        return {item: bend.get(item, 1.0) * f * scale for item, f in moved.items()}

    def _outline(self, place: int) -> Outline:
        asked = read_asked(self.purse, **self._price(place))
        return bound(
            self.query,
            self.catalog,
            limits=self.limits,
            epsilon=asked.about,
            diagnostics=self.diagnostics,
        )

    def _price(self, place: int) -> dict[str, Fraction]:
        return {"rho" if self.in_rho else "epsilon": _price(place)}


def _targets(plan: Plan, within: Wanted, rows: float | None) -> list[tuple[Output, float]]:
    """Return the half-width wanted for each column that has noise."""
    noisy = [output for output in plan.query.post.outputs if is_noisy(output.scalar)]
    if isinstance(within, Mapping):
        titles = {output.title.casefold(): output for output in noisy}
        wanted = {name.casefold(): width for name, width in within.items()}
        unknown = [name for name in within if name.casefold() not in titles]
        if unknown:
            raise UnknownName(
                "unknown_column",
                f"within names {unknown[0]!r}, which is no noisy column of the answer",
                hint=f"those are {', '.join(sorted(output.title for output in noisy))}",
            )
        chosen = [(titles[name], width) for name, width in wanted.items()]
    else:
        chosen = [(output, within) for output in noisy]
    if not chosen:
        raise MissingBound("within", "there is no noisy column that could be within anything")
    return [(output, _width(plan, output, width, rows)) for output, width in chosen]


def _width(plan: Plan, output: Output, width: Width, rows: float | None) -> float:
    """Read a half-width for a column, and refuse one that cannot be known beforehand."""
    found = expected(plan, output.scalar, rows=rows)
    if found.half_width is None or (found.rows and _is_ranked(plan, output)):
        grows = rows is None and found.about != "it depends on the answer"
        raise MissingBound(
            "within",
            f"how wide {output.title} will be is not known beforehand: {found.about}",
            hint="state expected_rows (--expected-rows), a public guess at the rows of a group"
            if grows
            else "state the price, or name the other columns, in Python as within={'n': 50}",
        )
    if not isinstance(width, str):
        return _in_reach(float(positive("within", width)))
    text = width
    scale = _scale(plan, output)
    if not text.endswith("%") or scale is None or found.rows:
        raise MissingBound(
            "within",
            f"{width!r} of {output.title} has no public scale to be a part of",
            hint="write a number; counts, sums and choices have no range",
        )
    try:
        percent = decimal_of("within", text[:-1])
    except ValueError:
        raise ValueError(
            f"within must be a number or a percentage such as '5%', got {width!r}"
        ) from None
    return _in_reach(float(positive("within", percent) / 100 * scale))


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
    found = [(output, expected(plan, output.scalar, rows=rows), width) for output, width in targets]
    return {
        output: math.inf if here.half_width is None else here.half_width / width
        for output, here, width in found
    }


def _near(plan: Plan, place: int, targets: list[tuple[Output, float]], rows: float | None) -> int:
    """Return about where the price lies: half-widths fall as the price grows."""
    factor = max(min(ratio, 1e3) for ratio in _ratios(plan, targets, rows).values())
    return _place_at(max(float(_price(place)) * factor, 1e-8))


def _price(place: int) -> Fraction:
    """Return the number of four digits at a place, in their order."""
    decade, rest = divmod(place, _DECADE)
    return (1000 + rest) * Fraction(10) ** (_LOWEST + decade - 3)


def _place_of_one() -> int:
    return -_LOWEST * _DECADE


def _place_at(price: float) -> int:
    """Return about the place of a price."""
    digits, exponent = f"{price:.3e}".split("e")
    return (int(exponent) - _LOWEST) * _DECADE + round(float(digits) * 1000) - 1000
