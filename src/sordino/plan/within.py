# SPDX-License-Identifier: Apache-2.0
"""Accuracy first: the least price whose error bars are as narrow as was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from sordino.errors import MissingBound, UnknownName
from sordino.exact.rational import Number, positive
from sordino.plan.allocate import plan_question
from sordino.plan.expect import expected, is_noisy
from sordino.plan.limits import people_of
from sordino.plan.plan import Mean, Plan, Ranked, Spread
from sordino.privacy.calibrate import least
from sordino.query.catalog import Catalog, Limits
from sordino.query.tree import Kind, MeasureRef, Output, Query

Width: TypeAlias = "Number | str"
Wanted: TypeAlias = "Width | Mapping[str, Width]"

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

    Guarantee: as for allocate; the price depends on public inputs alone.
    """
    purse = catalog.purse(people_of(query.rows, catalog))
    in_rho = purse.budget.currency.kind == "rho" and not purse.budget.slack
    rows = None if expected_rows is None else float(positive("expected_rows", expected_rows))

    def plan_for(place: int) -> Plan:
        price = _price(place)
        return plan_question(
            query,
            catalog,
            epsilon=None if in_rho else price,
            rho=price if in_rho else None,
            delta=delta,
            confidence=confidence,
            limits=limits,
            diagnostics=diagnostics,
        )

    first = plan_for(_place_of_one())
    targets = _targets(first, within, rows)

    def fits(place: int) -> bool:
        try:
            plan = plan_for(place)
        except ValueError:  # too little for noise to be drawn
            return False
        return all(_reaches(plan, output, width, rows) for output, width in targets)

    try:
        found = least(fits, 0, (_HIGHEST - _LOWEST) * _DECADE - 1, near=_near(first, targets, rows))
    except ValueError:
        raise MissingBound(
            "within",
            "no price makes the error bars so narrow",
            hint="ask for wider ones, or state more expected_rows",
        ) from None
    return plan_for(found)


def _targets(plan: Plan, within: Wanted, rows: float | None) -> list[tuple[Output, float]]:
    """Return the half-width wanted for each column that has noise."""
    noisy = [output for output in plan.query.post.outputs if is_noisy(plan, output.scalar)]
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
    if found.half_width is None:
        grows = rows is None and found.about != "it depends on the answer"
        raise MissingBound(
            "within",
            f"how wide {output.title} will be is not known beforehand: {found.about}",
            hint="state expected_rows, a public guess at the rows of a group"
            if grows
            else "name the other columns, as in within={'n': 50}",
        )
    if not isinstance(width, str):
        return float(positive("within", width))
    text = width.strip()
    scale = _scale(plan, output)
    if not text.endswith("%") or scale is None or found.rows:
        raise MissingBound(
            "within",
            f"{width!r} of {output.title} has no public scale to be a part of",
            hint="write a number, or expected_rows for quantiles; counts and sums have no range",
        )
    return float(positive("within", _number(text[:-1]))) / 100 * float(scale)


def _number(text: str) -> Fraction:
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f"within must be a number or a percentage such as '5%', got {text!r}"
        ) from None


def _scale(plan: Plan, output: Output) -> Fraction | None:
    """Return the width of the public range of a mean or a quantile; what a variance can be."""
    if not isinstance(output.scalar, MeasureRef):
        return None
    measure = plan.query.measures[output.scalar.index]
    formula = plan.formulas[output.scalar.index]
    ranged = isinstance(formula, Mean | Spread) or (
        isinstance(plan.releases[formula.release], Ranked)
    )
    if not ranged or measure.range is None:
        return None
    width = measure.range.high - measure.range.low
    return width * width / 4 if measure.kind is Kind.VARIANCE else width


def _reaches(plan: Plan, output: Output, width: float, rows: float | None) -> bool:
    found = expected(plan, output.scalar, rows=rows).half_width
    return found is not None and found <= width


def _near(plan: Plan, targets: list[tuple[Output, float]], rows: float | None) -> int:
    """Return about where the price lies: half-widths fall as the price grows."""
    widths = [(expected(plan, output.scalar, rows=rows).half_width, w) for output, w in targets]
    factor = max(min((found or 0.0) / width, 1e3) for found, width in widths)
    return _place_at(max(factor, 1e-8))


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
