# SPDX-License-Identifier: Apache-2.0
"""What an answer says about itself: what its error bars do not cover, and what was done to it."""

from __future__ import annotations

from sordino.answer.column import Column, half_width
from sordino.answer.numbers import number_pair, plain
from sordino.exact.rational import brief
from sordino.plan.bounded import Ranks, Total
from sordino.plan.plan import Direct, Plan, Ranked
from sordino.query.tree import Call, Field, Kind, Measure, Scalar
from sordino.query.types import Range, Type
from sordino.release.drawn import COUNTS, Drawn
from sordino.release.levels import level_of_release
from sordino.release.ranked import beyond

_LIKELY = 0.95


def notes_of(drawn: Drawn, columns: tuple[Column, ...]) -> tuple[str, ...]:
    """Return the notes of an answer; they depend on public things and on noisy numbers alone.

    Guarantee: none needed; public inputs, and post-processing of what was drawn.
    """
    plan = drawn.plan
    found = [*_uncovered(plan), *_keys(plan), *_choices(columns), *_extremes(drawn)]
    found += [*_post(drawn), *_counted(drawn)]
    if any(None in (column.low or ()) for column in columns):
        found.append("? stands where no error bar can be given, as when a divisor may be 0")
    return tuple(found)


def _uncovered(plan: Plan) -> list[str]:
    """Say how far the exact value, which the error bars are about, is from all rows as they are."""
    found = list(_limits(plan))
    ranges = {(m.argument, m.range) for m in plan.query.measures if m.range is not None}
    clamps = sorted({_clamp(argument, wide) for argument, wide in ranges if wide is not None})
    found += [f"error bars do not cover clamping: {text}" for text in clamps]
    grids = sorted({t.exponent for t in _totals(plan) if t.argument.type is Type.REAL})
    found += [
        f"error bars do not cover rounding: values are added up in steps of {2.0**e:.3g}"
        for e in grids
    ]
    return found


def _limits(plan: Plan) -> list[str]:
    shares = plan.bounded.shares
    if shares.alone:
        return []
    found = [f"a unit counts with at most {shares.rows} rows; if it has more, each counts in part"]
    if shares.rows_per_group is not None:
        found.append(f"in each group a unit counts with at most {shares.rows_per_group} rows")
    if shares.groups is not None:
        found.append(f"of each unit at most {shares.groups} groups count, chosen at random")
    if any(measure.kind is Kind.COUNT_DISTINCT for measure in plan.query.measures):
        found.append(f"of each unit at most {shares.rows} distinct values count")
    return [f"error bars do not cover limits: {text}" for text in found]


def _clamp(argument: Scalar | None, wide: Range) -> str:
    name = argument.title if isinstance(argument, Field) else "an expression"
    if isinstance(argument, Call) and argument.operation == "clamp":
        inner = argument.arguments[0]
        name = inner.title if isinstance(inner, Field) else name
    low, high = (plain(int(x)) if x.denominator == 1 else brief(x) for x in (wide.low, wide.high))
    return f"values of {name} count as within {low} to {high}"


def _totals(plan: Plan) -> list[Total]:
    return [
        statistic
        for part in plan.bounded.parts
        for statistic in getattr(part, "statistics", ())
        if isinstance(statistic, Total)
    ]


def _keys(plan: Plan) -> list[str]:
    if plan.keys is not None:
        many = plan.keys.count_for(_LIKELY)
        return [
            "groups that few units have are withheld: one that "
            f"{many:,} units have is shown with probability {_LIKELY:g}"
        ]
    lists = [key for key in plan.query.keys if key.bins is None]
    if any(key.other is None for key in lists):
        return ["rows whose key is not declared are left out; every declared group is shown"]
    return []


def _choices(columns: tuple[Column, ...]) -> list[str]:
    found = []
    for column in columns:
        if column.gap is None:
            continue
        sure = "" if column.confidence is None else f" with {100 * float(column.confidence):g} %"
        each, best = ("each choice", "last of the best") if column.listed else ("it", "best")
        rows = plain(float(f"{column.gap:.3g}"))
        found.append(
            f"{column.title} is chosen by noisy votes:{sure} {each} has at most {rows} rows "
            f"less than the {best}"
        )
    return found


def _extremes(drawn: Drawn) -> list[str]:
    """Say that a minimum or maximum is a quantile close to the end, and how close."""
    plan, found = drawn.plan, []
    for measure, formula in zip(plan.query.measures, plan.formulas, strict=True):
        if not isinstance(formula, Direct):
            continue
        release = plan.releases[formula.release]
        part = plan.bounded.parts[release.part]
        if not isinstance(release, Ranked) or not isinstance(part, Ranks):
            continue
        if release.toward is None:
            continue
        level = level_of_release(plan, formula.release)
        rows = beyond(release, part, level) / plan.bounded.shares.coarse_steps
        side = "below" if release.toward == 0 else "above"
        found.append(
            f"{measure.kind.upper()} is answered by an extreme quantile: about "
            f"{plain(float(f'{rows:.3g}'))} rows "
            f"lie {side} it; in a smaller group it says nothing"
        )
    return found


def _post(drawn: Drawn) -> list[str]:
    """Say what was done to noisy numbers."""
    options, post = drawn.options, drawn.plan.query.post
    counts = [m for m in drawn.plan.query.measures if m.kind in COUNTS]
    found = []
    if counts and options.consistent:
        found.append(
            "post-processing: counts are whole, not negative, and over all groups they add up to "
            "the total of the noisy counts"
        )
    elif counts and options.nonnegative:
        found.append("post-processing: counts below 0 are shown as 0")
    if options.integer and not drawn.plan.bounded.shares.alone and _rounds(drawn):
        found.append("post-processing: whole numbers are rounded, which the error bars include")
    if post.having is not None or (post.limit is not None and drawn.plan.query.keys):
        found.append(
            "rows are kept by their noisy values; error bars hold for a group picked beforehand, "
            "less often for those that were kept"
        )
    return found


def _rounds(drawn: Drawn) -> bool:
    kinds: list[Measure] = list(drawn.plan.query.measures)
    return any(drawn.type_of(at) is Type.INTEGER for at in range(len(kinds)))


def _counted(drawn: Drawn) -> list[str]:
    """Say the diagnostics that are one number for all groups."""
    found = []
    for title, release in drawn.plan.diagnostics:
        if not drawn.by_group(release):
            span = drawn.diagnostic(release)
            far = half_width(*(float(x[0]) for x in (span.value, span.low, span.high)))
            found.append(f"{title}: " + " ± ".join(number_pair(round(span.value[0]), far)))
    return found
