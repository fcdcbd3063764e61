# SPDX-License-Identifier: Apache-2.0
"""A plan in words: scalars, what is released, how far one unit moves it, with which noise."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from sordino.mechanisms import Laplace
from sordino.numbers.rational import brief
from sordino.plan.intervals import short
from sordino.plan.plan import (
    Added,
    Bounded,
    Cells,
    Chosen,
    Crowded,
    Distinct,
    Plan,
    Ranked,
    Release,
    RowCount,
    Statistic,
    Total,
    UnitCount,
    column_shift,
    how_many_groups,
    is_discovered,
)
from sordino.query.operations import OPERATIONS
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Range

_LONGEST = 40
_LARGE = 10**15
_ALONE = "by its shape the question has one row of each unit, so nothing is cut"


def written(scalar: Scalar) -> str:
    """Write a scalar as the analyst would know it again."""
    text = _scalar(scalar)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def named(scalar: Scalar) -> str:
    """Write a scalar in full, or return nothing where that would be too long to be read."""
    text = _scalar(scalar)
    return text if len(text) <= _LONGEST else ""


def unclamped(argument: Scalar) -> Scalar:
    """Return what a clamp is about, or the argument itself."""
    if isinstance(argument, Call) and argument.operation == "clamp":
        return argument.arguments[0]
    return argument


def in_words(public: Range) -> str:
    """Write a public range as people read it.

    >>> in_words(Range(Fraction(0), Fraction(3570)))
    '0 to 3,570'
    """
    return f"{_end(public.low)} to {_end(public.high)}"


def person_of(people: str) -> str:
    """Return what one of the people of an id space is called.

    >>> person_of("patients"), person_of("companies"), person_of("people")
    ('patient', 'company', 'person')
    """
    if people.endswith("ies"):
        return people[:-3] + "y"
    return people[:-1] if people.endswith("s") and not people.endswith("ss") else "person"


def several(count: float, noun: str) -> str:
    """Write how many of something there are, to three digits.

    >>> several(1, "row"), several(61234, "row"), several(0.125, "row")
    ('1 row', '61,200 rows', '0.125 rows')
    """
    text = f"{count:,}" if isinstance(count, int) else f"{float(f'{count:.3g}'):,.12g}"
    if isinstance(count, int) and count > 9999:
        text = f"{int(float(f'{count:.3g}')):,}"
    return f"{text} {noun}{'' if count == 1 else 's'}"


def _end(x: Fraction) -> str:
    if x.denominator == 1 and abs(x) < _LARGE:
        return f"{x.numerator:,}"
    text = f"{float(x):.6g}"
    return text if "e" in text else f"{float(text):,.12g}"


def _scalar(scalar: Scalar) -> str:
    match scalar:
        case Field():
            return scalar.title
        case Literal():
            return repr(scalar.value) if isinstance(scalar.value, str) else str(scalar.value)
        case Call(operation=operation, arguments=(first, second)) if OPERATIONS[operation].sql.sign:
            return f"{_scalar(first)} {OPERATIONS[operation].sql.sign} {_scalar(second)}"
        case Call():
            return f"{scalar.operation}({', '.join(map(_scalar, scalar.arguments))})"
        case _:
            assert_never(scalar)


def crowded_title(people: str) -> str:
    """Return the title of the number of units of which not all counts."""
    return f"{people} with more rows than count in full"


def what(plan: Plan, release: Release) -> str:
    """Say what a release is about."""
    match release:
        case Ranked():
            return f"{_quantile(release)} of {written(release.part.argument)}"
        case Chosen():
            count = "" if release.many is None else f"{release.many} "
            return f"the {count}most frequent {written(release.part.argument)}"
        case Added():
            return _diagnostic(plan, release) or _column(plan, release)
        case _:
            assert_never(release)


def _column(plan: Plan, release: Added) -> str:
    match release.part:
        case Cells(statistics):
            return _statistic(statistics[release.column])
        case Distinct(argument):
            return f"distinct values of {written(argument)}"
        case Crowded():
            return crowded_title(plan.people)


def _diagnostic(plan: Plan, release: Added) -> str:
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


def _quantile(release: Ranked) -> str:
    if release.toward is not None:
        return "nearly the largest" if release.toward else "nearly the least"
    return "the median" if release.quantile == Fraction(1, 2) else f"quantile {release.quantile}"


def why(plan: Plan, release: Release) -> str:
    """Say how far one unit moves a release, and why no further."""
    if isinstance(release, Ranked | Chosen):
        steps = plan.bounded.shares.coarse_steps
        return f"at most {_rows(release.weight, steps)} in all groups together"
    match release.part:
        case Distinct(most=most):
            return f"at most {_plural(most, 'value')}, as no more of a unit are kept"
        case Cells(statistics):
            return _moves(plan, release, statistics[release.column])
        case Crowded():
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
