# SPDX-License-Identifier: Apache-2.0
"""What an answer says about itself: what its error bars do not cover, and what was done to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from sordino.answer.answer import Column, half_width
from sordino.answer.codec import not_covered
from sordino.answer.render import number_pair, person_of, several
from sordino.plan.bounded import Cells, Distinct, Ranks, RowCount, Total, Votes
from sordino.plan.headings import by_group
from sordino.plan.intervals import level_of_release, release_of, short
from sordino.plan.limits import how_many_groups
from sordino.plan.plan import Added, Plan, Ranked
from sordino.plan.words import in_words, named, unclamped
from sordino.query.aggregates import COUNTS
from sordino.query.tree import Call, Field, Key, Literal, Scalar, measures_in
from sordino.query.types import Type
from sordino.release.draw import beyond
from sordino.release.post import Drawn

_COMPLETE = frozenset({"quarter", "month", "day", "dow", "hour"})  # all their values are known
_BOUNDED = frozenset({"year", "trunc_year", "trunc_quarter", "trunc_month", "trunc_day"})
_BOUNDED |= {"trunc_hour"}
_UNKNOWN = "not declared"


def rows_left_out(keys: Iterable[Key]) -> list[str]:
    """Return which rows are left out because the list of a key may not hold them."""
    found, titles = [], dict[str, list[str]]()
    for key in keys:
        if key.bins is not None:
            name = named(key.scalar) or key.title
            found.append(f"rows with {name} outside {in_words(key.bins.range)}")
        elif key.domain is not None and key.other is None:
            for why in _why(key.scalar):
                titles.setdefault(why, []).append(key.title)
    return found + [f"rows whose {' or '.join(names)} is {why}" for why, names in titles.items()]


def _why(scalar: Scalar) -> list[str]:
    """Return at most one reason why a value may be on no list; being missing is none."""
    if scalar.type is Type.BOOLEAN or (isinstance(scalar, Call) and scalar.operation in _COMPLETE):
        return []
    match scalar:
        case Literal():
            return [] if scalar.value is not None else [_UNKNOWN]
        case Field():
            return [_UNKNOWN]
        case Call(operation=operation) if operation in _BOUNDED:
            return ["outside its declared bounds"]
        case Call(operation="case", arguments=arguments):
            return _first((*arguments[1:-1:2], arguments[-1]))
        case Call(arguments=arguments):
            return _first(arguments)
        case _:
            assert_never(scalar)


def _first(scalars: Iterable[Scalar]) -> list[str]:
    return [why for scalar in scalars for why in _why(scalar)][:1]


_LIKELY = 0.95
_SMALL = 1000  # a step so many times smaller than the half-width is not worth a word


def notes_of(drawn: Drawn, columns: tuple[Column, ...]) -> tuple[str, ...]:
    """Return the notes of an answer; they depend on public things and on noisy numbers alone."""
    plan = drawn.plan
    uncovered = [*_ids(plan), *_limits(plan), *_clamps(plan), *_grids(plan)]
    found = [not_covered(text) for text in uncovered]
    found += [*_keys(plan), *_choices(columns), *_extremes(drawn), *_post(drawn), *_counted(drawn)]
    if any(None in (column.low or ()) for column in columns):
        found.append("? stands where no error bar can be given, as when a divisor may be 0")
    return tuple(found)


# How far the exact value, which the error bars are about, is from all rows as they are. -----------


def _ids(plan: Plan) -> list[str]:
    """Say that rows of nobody do not count; whether there are any is not public."""
    return [f"rows without the id of a {person_of(plan.people)} do not count"] if plan.by_id else []


def _limits(plan: Plan) -> list[str]:
    shares, parts, keys = plan.bounded.shares, plan.bounded.parts, plan.query.keys
    person, joined = person_of(plan.people), []
    if shares.join_rows is not None:
        joined = [f"of each {person} at most {shares.join_rows} rows of a side are joined"]
    if shares.alone:
        return joined
    counted = [s for part in parts if isinstance(part, Cells) for s in part.statistics]
    weighed = any(isinstance(s, RowCount | Total) for s in counted)
    weighed |= any(isinstance(part, Ranks | Votes) for part in parts)
    found = []
    if weighed:
        found.append(several(shares.rows, "row"))
        if shares.rows_per_group is not None:
            found.append(f"{several(shares.rows_per_group, 'row')} in a group")
    if keys and shares.groups is not None and shares.groups != how_many_groups(keys):
        found.append(f"{several(shares.groups, 'group')} drawn by lot")
    found += [several(p.most, "distinct value") for p in parts if isinstance(p, Distinct)]
    if not found:
        return joined
    part = "; more rows count in part" if weighed else ""
    verb = "counts" if len(found) == 1 and found[0].startswith("1 ") else "count"
    return [*joined, f"of each {person} at most {', '.join(found)} {verb}{part}"]


def _clamps(plan: Plan) -> list[str]:
    """Say what values are clamped to, once for each argument."""
    found: dict[str, None] = {}
    for at, measure in enumerate(plan.query.measures):
        if measure.argument is not None and measure.range is not None:
            name = named(unclamped(measure.argument)) or f"the argument of {_title(plan, at)}"
            found[f"{name} counts as within {in_words(measure.range)}"] = None
    return ["; ".join(found)] if found else []


def _grids(plan: Plan) -> list[str]:
    """Say to which steps values are rounded, where that can be seen at all."""
    found: dict[str, None] = {}
    for release in plan.releases:
        if not isinstance(release, Added) or not isinstance(release.part, Cells):
            continue
        total = release.part.statistics[release.column]
        if not isinstance(total, Total) or total.argument.type is not Type.REAL:
            continue
        far = release.steps_off(plan.confidence) * float(release.step)
        step = 2.0 ** (total.exponent * total.power)
        if step * _SMALL > far:
            name = named(unclamped(total.argument)) or "what is added up"
            found[f"{name} is rounded to steps of {short(2.0**total.exponent)}"] = None
    return list(found)


def _title(plan: Plan, measure: int) -> str:
    """Return the title of the first column that shows a measure."""
    outputs = plan.query.post.outputs
    return next((o.title for o in outputs if measure in measures_in(o.scalar)), "a measure")


# Which groups and rows there are. -----------------------------------------------------------------


def _keys(plan: Plan) -> list[str]:
    left_out = [f"{text} are left out" for text in rows_left_out(plan.query.keys)]
    if plan.keys is None:
        return left_out
    many, name = plan.keys.count_for(_LIKELY), plan.people
    name = name if name.endswith("s") else "people"
    lower = (
        "; a smaller groups= lowers that (--groups in a terminal)" if plan.keys.groups > 1 else ""
    )
    withheld = (
        f"groups of few {name} are withheld: one of {many:,} is shown with {100 * _LIKELY:g} %"
    )
    return [*left_out, withheld + lower]


def _choices(columns: tuple[Column, ...]) -> list[str]:
    found = []
    for column in columns:
        if column.gap is None:
            continue
        sure = "" if column.confidence is None else f" with {100 * float(column.confidence):g} %"
        each, best = ("each choice", "last of the best") if column.listed else ("it", "best")
        found.append(
            f"{column.title} is chosen by noisy votes:{sure} {each} has at most "
            f"{several(float(f'{column.gap:.3g}'), 'row')} less than the {best}"
        )
    return found


def _extremes(drawn: Drawn) -> list[str]:
    """Say that a minimum or maximum is a quantile close to the end, and how close."""
    plan, found = drawn.plan, []
    for at, formula in enumerate(plan.formulas):
        release = release_of(plan, at)
        if not isinstance(release, Ranked) or release.toward is None:
            continue
        level = level_of_release(plan, formula.places[0])
        rows = beyond(release, level) / plan.bounded.shares.coarse_steps
        side = "below" if release.toward == 0 else "above"
        found.append(
            f"{_title(plan, at)} is a quantile with about {several(rows, 'row')} {side} it; "
            "of smaller groups it says nothing"
        )
    return found


# What was done to noisy numbers. ------------------------------------------------------------------


def _post(drawn: Drawn) -> list[str]:
    options, post = drawn.options, drawn.plan.query.post
    counts = any(m.kind in COUNTS for m in drawn.plan.query.measures)
    found = []
    if counts and options.consistent:
        found.append("counts are made whole and not negative, with the total of the noisy ones")
    elif counts and options.nonnegative:
        found.append("counts below 0 are shown as 0")
    noisy_order = post.limit is not None and any(measures_in(key.scalar) for key in post.order)
    if noisy_order or (post.having is not None and measures_in(post.having)):
        found.append("rows are kept by their noisy values; for those that are, ± holds less often")
    return found


def _counted(drawn: Drawn) -> list[str]:
    """Say the diagnostics that are one number for all groups."""
    found = []
    for title, release in drawn.plan.diagnostics:
        if not by_group(drawn.plan, release):
            span = drawn.diagnostic(release)
            far = half_width(*(float(x[0]) for x in (span.value, span.low, span.high)))
            found.append(f"{title}: " + " ± ".join(number_pair(round(span.value[0]), far)))
    return found
