# SPDX-License-Identifier: Apache-2.0
"""A plan in words: what is released, how far one unit moves it, with which noise."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from sordino.mechanisms import Laplace
from sordino.numbers.rational import brief
from sordino.plan.bound import crowded_title
from sordino.plan.bounded import (
    Bounded,
    Cells,
    Crowded,
    Distinct,
    Ranks,
    RowCount,
    Statistic,
    Total,
    UnitCount,
    Votes,
    column_shift,
    is_discovered,
)
from sordino.plan.intervals import short
from sordino.plan.limits import how_many_groups
from sordino.plan.naming import written
from sordino.plan.plan import Added, Chosen, Plan, Ranked, Release

_ALONE = "by its shape the question has one row of each unit, so nothing is cut"


def what(plan: Plan, release: Release) -> str:
    """Say what a release is about."""
    part = plan.bounded.parts[release.part]
    match part:
        case Cells():
            column = release.column if isinstance(release, Added) else 0
            return _diagnostic(plan, release) or _statistic(part.statistics[column])
        case Distinct():
            return f"distinct values of {written(part.argument)}"
        case Ranks():
            return f"{_quantile(release)} of {written(part.argument)}"
        case Votes():
            many = release.many if isinstance(release, Chosen) else None
            kind = "the most frequent" if many is None else f"the {many} most frequent"
            return f"{kind} {written(part.argument)}"
        case Crowded():
            return _diagnostic(plan, release) or crowded_title(plan.people)
        case _:
            assert_never(part)


def _diagnostic(plan: Plan, release: Release) -> str:
    return next((title for title, at in plan.diagnostics if plan.releases[at] == release), "")


def _statistic(statistic: Statistic) -> str:
    match statistic:
        case RowCount(argument=None):
            return "rows"
        case RowCount(argument=argument):
            return f"rows with {written(argument)}" if argument else "rows"
        case UnitCount():
            return "units"
        case Total():
            name = written(statistic.argument)
            middle = statistic.offset * Fraction(2) ** statistic.exponent
            if statistic.power == 2:
                return f"sum of squares of {name} less {brief(middle)}"
            return f"sum of {name}" + (f" less {brief(middle)}" if middle else "")
        case _:
            assert_never(statistic)


def _quantile(release: Release) -> str:
    if not isinstance(release, Ranked):
        return "a quantile"
    if release.toward is not None:
        return "nearly the largest" if release.toward else "nearly the least"
    return "the median" if release.quantile == Fraction(1, 2) else f"quantile {release.quantile}"


def why(plan: Plan, release: Release) -> str:
    """Say how far one unit moves a release, and why no further."""
    part, shares = plan.bounded.parts[release.part], plan.bounded.shares
    if isinstance(release, Ranked | Chosen):
        return f"at most {_rows(release.weight, shares.coarse_steps)} in all groups together"
    match part:
        case Distinct():
            return f"at most {_plural(part.most, 'value')}, as no more of a unit are kept"
        case Cells():
            return _moves(plan, release, part.statistics[release.column])
        case _:
            return "at most 1"


def _moves(plan: Plan, release: Added, statistic: Statistic) -> str:
    shift = column_shift(plan.bounded, release.part, release.column)
    moved, steps = float(shift.l1 * release.step), plan.bounded.shares.steps
    match statistic:
        case RowCount():
            return f"at most {_plural(moved, 'row')}"
        case UnitCount():
            return "at most 1" + (f" in each of {short(moved)} groups" if moved > 1 else "")
        case Total():
            rows = _rows(int(shift.l1), max(statistic.largest, 1) * steps)
            each = float(statistic.largest * Fraction(2) ** (statistic.exponent * statistic.power))
            return f"at most {short(moved)}: {rows}, each by at most {short(each)}"
        case _:
            assert_never(statistic)


def noise(release: Release) -> str:
    """Say which noise a release gets, in its own numbers."""
    match release:
        case Added():
            mechanism = release.mechanism
            if isinstance(mechanism, Laplace):
                return f"Laplace, scale {short(float(mechanism.scale * release.step))}"
            return f"Gaussian, sigma {short(mechanism.sigma * float(release.step))}"
        case Ranked() | Chosen():
            return release.mechanism.replace("_", "-")
        case _:
            assert_never(release)


def limits_in_words(bounded: Bounded) -> str:
    """Say how much of one unit counts."""
    shares, grouped = bounded.shares, bool(bounded.keys)
    texts = []
    if shares.join_rows is not None:
        texts.append(f"at most {shares.join_rows} rows of a unit on each side of a join")
    if shares.alone:
        return texts[0] if texts else _ALONE
    if grouped and shares.groups is not None and shares.groups != how_many_groups(bounded.keys):
        texts.append(f"at most {_plural(shares.groups, 'group')} of a unit count, drawn by lot")
    if grouped and shares.rows_per_group is not None:
        texts.append(f"{_plural(shares.rows_per_group, 'row')} in each group")
    texts.append(f"{_plural(shares.rows, 'row')} in all; of a unit with more, each row counts less")
    return ", ".join(texts)


def keys_in_words(plan: Plan) -> str:
    """Say which groups are answered."""
    keys = plan.bounded.keys
    if not keys:
        return "one group, of all rows"
    names = ", ".join(key.title for key in keys)
    if plan.keys is None:
        return f"{names}: {_plural(how_many_groups(keys) or 0, 'group')} declared, all are answered"
    found = ", ".join(key.title for key in keys if is_discovered(key))
    needed = plan.keys.count_for(Fraction(95, 100))
    return (
        f"{names}: values of {found} are discovered; "
        f"a group of {_plural(needed, 'unit')} is told with 95 %, one of a single unit hardly ever"
    )


def _rows(weight: int, steps: int) -> str:
    return _plural(weight / steps, "row")


def _plural(count: float, noun: str) -> str:
    return f"{short(float(count))} {noun}{'' if count == 1 else 's'}"
