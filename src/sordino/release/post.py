# SPDX-License-Identifier: Apache-2.0
"""What becomes of noisy numbers: columns, HAVING, ORDER BY and LIMIT, and what is said about them.

Nothing here has seen exact values: all of it is post-processing, and costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

import numpy as np

from sordino import __version__
from sordino.answer.answer import CellValue, Column, End, Facts, half_width, not_covered
from sordino.answer.render import number_pair
from sordino.numbers.rational import down, up
from sordino.plan.ask import Options
from sordino.plan.intervals import (
    ROUNDING,
    Doubles,
    Span,
    is_fine,
    level_for,
    level_of_release,
    measure_type,
    release_of,
    short,
)
from sordino.plan.plan import (
    Added,
    Cells,
    Chosen,
    Distinct,
    Plan,
    Ranked,
    Ranks,
    Release,
    RowCount,
    Total,
    Votes,
    how_many_groups,
    is_discovered,
)
from sordino.plan.words import (
    BIN_ENDS,
    Edges,
    Heading,
    binned,
    by_group,
    diagnosed,
    heading,
    in_words,
    named,
    person_of,
    several,
    unclamped,
)
from sordino.privacy.loss import loss_to_json
from sordino.query.aggregates import COUNTS
from sordino.query.operations import operate
from sordino.query.ranges import Uncertain, exactly
from sordino.query.tree import (
    Call,
    Field,
    Key,
    KeyRef,
    Literal,
    MeasureRef,
    Ordered,
    Output,
    PostCall,
    PostScalar,
    Scalar,
    measures_in,
    tables_in,
)
from sordino.query.types import Range, Type, Value
from sordino.release.draw import Groups, Noisy, Picked, beyond

Found: TypeAlias = "dict[int, list[Uncertain]]"  # by measure, one for each group


# Measures. ---------------------------------------------------------------------------------------


def shown(span: Span, options: Options, *, whole: bool, count: bool, fine: bool = False) -> Span:
    """Return numbers as they are shown; intervals keep holding the exact ones.

    ``whole`` says that the type is INTEGER, ``count`` that the exact number cannot be negative.
    ``fine`` says that the noisy number has a step below 1: rounding moves it by up to a half, and
    all half-widths grow by that half, so that equal noise is shown with equal half-widths.
    """
    value, low, high = span.value, span.low, span.high
    if count and options.consistent:
        value = adding_up(value)
    elif whole and options.integer:
        value = np.rint(value)
        if fine:
            low = np.minimum(value - (span.value - low) - ROUNDING, low)
            high = np.maximum(value + (high - span.value) + ROUNDING, high)
    if count and (options.nonnegative or options.consistent):
        value, low, high = (np.maximum(x, 0.0) for x in (value, low, high))
    return Span(value, np.minimum(low, value), np.maximum(high, value))


def adding_up(noisy: Doubles) -> Doubles:
    """Return whole numbers that are not negative, next to noisy ones, and have their total.

    They are the nearest point, by the sum of squares, of those with this total that are not
    negative; then each is rounded down and the largest remainders are rounded up. A total below 0
    becomes 0.

    >>> adding_up(np.array([10.4, -3.0, 5.2])).tolist()
    [9.0, 0.0, 4.0]
    """
    total = max(round(math.fsum(noisy.tolist())), 0)
    if not noisy.size:
        return noisy
    near = np.maximum(noisy - _excess(noisy, total), 0.0)
    whole = np.floor(near)
    missing = total - int(whole.sum())
    order = np.argsort(whole - near, kind="stable")  # the largest remainders first
    whole[order[: max(missing, 0)]] += 1
    return whole


def _excess(noisy: Doubles, total: int) -> float:
    """Return what to take off each number so that those that stay above 0 have the total."""
    sizes = np.sort(noisy)[::-1]
    off = (np.cumsum(sizes) - total) / np.arange(1, sizes.size + 1)
    above = np.flatnonzero(sizes > off)
    return float(off[above[-1]]) if above.size else float(sizes[0])


Draw: TypeAlias = "Noisy | Span | Picked"


@dataclass(frozen=True, slots=True)
class Drawn:
    """The groups of an answer and one draw for each release; nothing exact is left in it.

    Guarantee: that of the plan.
    """

    plan: Plan
    options: Options
    groups: Groups
    draws: tuple[Draw, ...]

    def measure(self, index: int, level: Fraction) -> Span | Picked:
        """Return a measure for every group, each of its events held with a confidence."""
        formula, measure = self.plan.formulas[index], self.plan.query.measures[index]
        draws = [self._draw(at, level) for at in formula.places]
        if isinstance(draws[0], Picked):
            return draws[0]
        span = formula.value(*(draw for draw in draws if isinstance(draw, Span)))
        if measure.range is not None and isinstance(release_of(self.plan, index), Ranked):
            span = span.clip(down(measure.range.low), up(measure.range.high))
        return shown(
            span,
            self.options,
            whole=self.type_of(index) is Type.INTEGER,
            count=measure.kind in COUNTS,
            fine=is_fine(self.plan, index),
        )

    def diagnostic(self, place: int) -> Span:
        """Return a count that was released besides, as it is shown."""
        release, span = self.plan.releases[place], self._draw(place, self.plan.confidence)
        if isinstance(span, Picked):
            raise TypeError("a choice is no number")
        fine = isinstance(release, Added) and release.is_fine
        return shown(span, self.options, whole=True, count=False, fine=fine)

    def type_of(self, index: int) -> Type:
        """Return the type of a measure: counts are whole, others are as the question has them."""
        return measure_type(self.plan, index)

    def _draw(self, place: int, level: Fraction) -> Span | Picked:
        draw = self.draws[place]
        return draw.span(level) if isinstance(draw, Noisy) else draw


# Columns. ----------------------------------------------------------------------------------------


def columns_of(drawn: Drawn) -> tuple[Column, ...]:
    """Return the columns of the answer: those asked for, then the diagnostics of each group."""
    post = drawn.plan.query.post
    columns = [_output(drawn, output) for output in post.outputs]
    columns += _diagnostics(drawn)
    rows = _rows(drawn)
    return tuple(columns) if rows is None else tuple(column.take(rows) for column in columns)


def _output(drawn: Drawn, output: Output) -> Column:
    """Return one column, with intervals at the confidence of the plan."""
    measures = measures_in(output.scalar)
    level = level_for(drawn.plan, measures)
    above, scalar = heading(drawn.plan, output, drawn.options), output.scalar
    if isinstance(scalar, MeasureRef):
        return _plain(drawn, above, scalar, level)
    found = _evaluate(drawn, scalar, level)
    values = tuple(_finite(near.value) for near in found)
    if not measures or not above.type.is_number:
        return Column(above.title, above.type, above.kind, values)
    ends = [_ends(near) for near in found]
    lower, upper = tuple(end[0] for end in ends), tuple(end[1] for end in ends)
    confidence = drawn.plan.confidence
    return Column(above.title, above.type, above.kind, values, lower, upper, confidence)


def _plain(drawn: Drawn, above: Heading, scalar: MeasureRef, level: Fraction) -> Column:
    """Return a measure as it is."""
    found = drawn.measure(scalar.index, level)
    if isinstance(found, Picked):
        return _choice(drawn, above, found)
    return _numbers(above, found, drawn.plan.confidence)


def _choice(drawn: Drawn, above: Heading, found: Picked) -> Column:
    gap = found.gap / drawn.plan.bounded.shares.coarse_steps
    values: tuple[CellValue, ...] = (
        found.values if above.listed else tuple(v[0] for v in found.values)
    )
    return Column(above.title, above.type, above.kind, values, gap=gap, listed=above.listed,
                  confidence=drawn.plan.confidence)  # fmt: skip


def _numbers(above: Heading, span: Span, confidence: Fraction) -> Column:
    values = span.value.tolist()
    return Column(
        above.title,
        above.type,
        above.kind,
        tuple(map(round, values)) if above.type is Type.INTEGER else tuple(values),
        tuple(map(_end, span.low.tolist())),
        tuple(map(_end, span.high.tolist())),
        confidence,
    )


def _diagnostics(drawn: Drawn) -> list[Column]:
    """Return the counts that were released besides and have one number for each group."""
    return [
        _numbers(
            Heading(title, Type.INTEGER, "diagnostic"),
            drawn.diagnostic(release),
            drawn.plan.confidence,
        )
        for title, release in diagnosed(drawn.plan)
    ]


def _ends(number: Uncertain) -> tuple[End, End]:
    """Return the interval of a number, widened if the rounded value lies outside."""
    interval, value = number.interval, number.value
    if interval is None or not isinstance(value, int | float) or not math.isfinite(value):
        return None, None
    low, high = min(interval.low, Fraction(value)), max(interval.high, Fraction(value))
    return _end(down(low)), _end(up(high))


def _end(end: float) -> End:
    """Return an end of an interval; nothing is said where it is beyond all doubles."""
    return end if math.isfinite(end) else None


def _finite(value: Value) -> Value:
    """Return a value; an infinite one counts as missing, as it could not be kept."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Which rows, in which order. ---------------------------------------------------------------------


def _rows(drawn: Drawn) -> list[int] | None:
    """Return the rows that stay, in their order; None if that is all of them as they are."""
    post = drawn.plan.query.post
    if post.having is None and not post.order and post.limit is None:
        return None
    rows = list(range(len(drawn.groups.keys)))
    if post.having is not None:
        kept = _values(drawn, post.having)
        rows = [row for row in rows if kept[row] is True]
    for ordered in reversed(post.order):  # the last first: sorting keeps the order of equal ones
        rows = _sorted(rows, ordered, _values(drawn, ordered.scalar))
    return rows[: post.limit]


def _sorted(rows: list[int], ordered: Ordered, values: list[Any]) -> list[int]:
    there = [row for row in rows if values[row] is not None]
    missing = [row for row in rows if values[row] is None]
    there.sort(key=lambda row: values[row], reverse=ordered.descending)
    return there + missing


def _values(drawn: Drawn, scalar: PostScalar) -> list[Any]:
    level = level_for(drawn.plan, measures_in(scalar))
    return [near.value for near in _evaluate(drawn, scalar, level)]


# Expressions. ------------------------------------------------------------------------------------


def _evaluate(drawn: Drawn, scalar: PostScalar, level: Fraction) -> list[Uncertain]:
    """Return an expression for every group."""
    found = {at: _uncertain(drawn.measure(at, level)) for at in measures_in(scalar)}
    value = _compiled(drawn, scalar, found)
    return [value(row) for row in range(len(drawn.groups.keys))]


def _uncertain(found: Span | Picked) -> list[Uncertain]:
    if isinstance(found, Picked):
        return [Uncertain(values[0] if len(values) == 1 else None) for values in found.values]
    columns = zip(found.value.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    return [Uncertain(value, Range(Fraction(low), Fraction(high))) for value, low, high in columns]


def _compiled(drawn: Drawn, scalar: PostScalar, found: Found) -> Callable[[int], Uncertain]:
    """Return what gives the expression for a group."""
    key = binned(drawn.plan.query, scalar)
    if key is not None:
        return _bin_end(drawn, scalar, key)
    match scalar:
        case Literal(value=value):
            return lambda _: exactly(value)
        case KeyRef(index=index):
            return lambda row: exactly(drawn.groups.keys[row][index])
        case MeasureRef(index=index):
            return found[index].__getitem__
        case PostCall(operation=operation, arguments=arguments, type=kind):
            parts = [_compiled(drawn, argument, found) for argument in arguments]
            return lambda row: operate(operation, [part(row) for part in parts], kind)
        case _:
            assert_never(scalar)


def _bin_end(drawn: Drawn, scalar: PostScalar, key: Key) -> Callable[[int], Uncertain]:
    """Return what gives an end of the bin of a group: the lower one for the key itself."""
    side = BIN_ENDS[scalar.operation] if isinstance(scalar, PostCall) else 0
    index, edges = drawn.plan.query.keys.index(key), Edges.of(key)
    if edges is None:
        raise TypeError("only bins have ends")
    return lambda row: exactly(edges.end(drawn.groups.keys[row][index], side))


# What an answer says about itself. ----------------------------------------------------------------

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


def facts_of(plan: Plan, options: Options) -> Facts:
    """Return the facts as JSON values, always in the same order."""
    shares = plan.bounded.shares
    return {
        "software": {"name": "sordino", "version": __version__},
        "date": today().isoformat(),
        "question": plan.query.sql,
        "fingerprint": plan.fingerprint,
        "tables": sorted(tables_in(plan.query.rows)),
        "unit": plan.people,
        "neighbours": "add_remove",
        "protects": "one unit with all its rows, added or removed",
        "epsilon": None if plan.epsilon is None else str(plan.epsilon),
        "delta_for_keys": str(plan.slack),
        "loss": loss_to_json(plan.loss),
        "releases": [_release(release) for release in plan.releases],
        "keys": [
            {
                "title": key.title,
                "type": key.type.value,
                "rule": "discovered" if is_discovered(key) else "declared",
                "other": key.other is not None,
            }
            for key in plan.query.keys
        ],
        "key_selection": None if plan.keys is None else repr(plan.keys),
        "limits": {
            "one_row_per_unit": shares.alone,
            "rows": shares.rows,
            "groups": shares.groups,
            "rows_per_group": shares.rows_per_group,
        },
        "post_processing": asdict(options),
    }


def today() -> date:
    """Return the day on which an answer is released, in UTC."""
    return datetime.now(UTC).date()


def _release(release: Release) -> dict[str, Any]:
    match release:
        case Added():
            return {
                "kind": "added noise",
                "mechanism": repr(release.mechanism),
                "step": str(release.step),
            }
        case Ranked():
            return {
                "kind": "quantile",
                "mechanism": release.mechanism,
                "quantile": _written(release.quantile),
                "toward": release.toward,
                "buckets": release.part.buckets,
                "epsilon": str(release.epsilon_value),
                "epsilon_of_each_end": str(release.epsilon_end),
                "most_weight_of_a_unit": release.weight,
            }
        case Chosen():
            return {
                "kind": "choice",
                "mechanism": repr(release.rule),
                "candidates": len(release.part.domain),
            }
        case _:
            assert_never(release)


def _written(x: Fraction | None) -> str | None:
    return None if x is None else str(x)
