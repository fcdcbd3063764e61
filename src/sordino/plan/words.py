# SPDX-License-Identifier: Apache-2.0
"""A plan in words: scalars, what is released, how far one unit moves it, with which noise.

Also what columns its answer has, before there is one: titles, types and kinds. The release makes
its columns by what is said here, so that an answer never has others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from sordino.mechanisms import Laplace
from sordino.numbers.rational import brief
from sordino.plan.ask import Options
from sordino.plan.intervals import is_noisy, measure_type, release_of, short
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
from sordino.query import tree
from sordino.query.operations import OPERATIONS
from sordino.query.types import ColumnKind, Range, Type

_LONGEST = 40
_LARGE = 10**15
_ALONE = "by its shape the question has one row of each unit, so nothing is cut"


def written(scalar: tree.Scalar) -> str:
    """Write a scalar as the analyst would know it again."""
    text = _scalar(scalar)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def named(scalar: tree.Scalar) -> str:
    """Write a scalar in full, or return nothing where that would be too long to be read."""
    text = _scalar(scalar)
    return text if len(text) <= _LONGEST else ""


def unclamped(argument: tree.Scalar) -> tree.Scalar:
    """Return what a clamp is about, or the argument itself."""
    if isinstance(argument, tree.Call) and argument.operation == "clamp":
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


def _scalar(scalar: tree.Scalar) -> str:
    match scalar:
        case tree.Field():
            return scalar.title
        case tree.Literal():
            return repr(scalar.value) if isinstance(scalar.value, str) else str(scalar.value)
        case tree.Call(operation=operation, arguments=(first, second)) if OPERATIONS[
            operation
        ].sql.sign:
            return f"{_scalar(first)} {OPERATIONS[operation].sql.sign} {_scalar(second)}"
        case tree.Call():
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


# What columns an answer has. ----------------------------------------------------------------------

_PLAIN = Options()
BIN_ENDS = {"bin_from": 0, "bin_to": 1}  # which end of a bin an operation tells


@dataclass(frozen=True, slots=True)
class Heading:
    """A column of an answer without its values; ``listed``: each value is a list of several.

    >>> Heading("n", Type.INTEGER, "measure").title
    'n'
    """

    title: str
    type: Type
    kind: ColumnKind
    listed: bool = False


def headings(plan: Plan, options: Options = _PLAIN) -> tuple[Heading, ...]:
    """Return the columns that the answer to a plan has: those asked for, then the diagnostics.

    They depend on the question and on how numbers are shown, never on the data.
    """
    asked = (heading(plan, output, options) for output in plan.query.post.outputs)
    besides = (Heading(title, Type.INTEGER, "diagnostic") for title, _ in diagnosed(plan))
    return (*asked, *besides)


def heading(plan: Plan, output: tree.Output, options: Options = _PLAIN) -> Heading:
    """Return what stands above one column that was asked for."""
    scalar = output.scalar
    if not is_noisy(scalar):
        return Heading(output.title, key_type(plan.query, scalar), "key")
    if not isinstance(scalar, tree.MeasureRef):
        return Heading(output.title, scalar.type, "measure")
    if isinstance(release_of(plan, scalar.index), Chosen):
        listed = plan.query.measures[scalar.index].count is not None
        return Heading(output.title, scalar.type, "measure", listed=listed)
    whole = measure_type(plan, scalar.index) is Type.INTEGER and options.integer
    return Heading(output.title, Type.INTEGER if whole else Type.REAL, "measure")


def diagnosed(plan: Plan) -> Iterator[tuple[str, int]]:
    """Yield the diagnostics that have a number for each group; the others stand in the notes."""
    for title, place in plan.diagnostics:
        if by_group(plan, place):
            yield title, place


def by_group(plan: Plan, place: int) -> bool:
    """Tell whether a release has a number for each of several groups."""
    return bool(plan.query.keys) and not isinstance(plan.releases[place].part, Crowded)


@dataclass(frozen=True, slots=True)
class Edges:
    """The ends of the bins of a key, by their index."""

    ends: tuple[Fraction, ...]

    @classmethod
    def of(cls, key: tree.Key) -> Edges | None:
        """Return the ends of a key's bins, or None if it has no bins."""
        if key.bins is None:
            return None
        low, high, many = key.bins.range.low, key.bins.range.high, key.bins.count
        return cls(tuple(low + (high - low) * at / many for at in range(many + 1)))

    @property
    def type(self) -> Type:
        """Whole if all ends are."""
        return Type.INTEGER if all(end.denominator == 1 for end in self.ends) else Type.REAL

    def end(self, index: object, side: int) -> int | float | None:
        """Return the lower (0) or the upper (1) end of a bin; None for what is no bin."""
        if not isinstance(index, int):
            return None
        edge = self.ends[index + side]
        return edge.numerator if self.type is Type.INTEGER else float(edge)


def key_type(query: tree.Query, scalar: tree.PostScalar) -> Type:
    """Return the type of a public column; the ends of bins are whole if all of them are."""
    key = binned(query, scalar)
    edges = None if key is None else Edges.of(key)
    return scalar.type if edges is None else edges.type


def binned(query: tree.Query, scalar: tree.PostScalar) -> tree.Key | None:
    """Return the key of which a column tells an end of its bins, or None."""
    if isinstance(scalar, tree.PostCall) and scalar.operation in BIN_ENDS:
        return binned(query, scalar.arguments[0])
    if isinstance(scalar, tree.KeyRef) and query.keys[scalar.index].bins is not None:
        return query.keys[scalar.index]
    return None
