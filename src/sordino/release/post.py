# SPDX-License-Identifier: Apache-2.0
"""What becomes of noisy numbers: measures, output columns, HAVING, ORDER BY and LIMIT.

Nothing here has seen exact values: all of it is post-processing, and costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

import numpy as np

from sordino.answer.answer import CellValue, Column, End
from sordino.numbers.rounding import down, up
from sordino.plan.ask import Options
from sordino.plan.headings import BIN_ENDS, Edges, Heading, binned, diagnosed, heading
from sordino.plan.intervals import (
    ROUNDING,
    Doubles,
    Span,
    is_fine,
    level_for,
    measure_type,
    release_of,
)
from sordino.plan.plan import Added, Plan, Ranked
from sordino.query.aggregates import COUNTS
from sordino.query.evaluate import operate
from sordino.query.ranges import Uncertain, exactly
from sordino.query.tree import (
    Key,
    KeyRef,
    Literal,
    MeasureRef,
    Ordered,
    Output,
    PostCall,
    PostScalar,
    measures_in,
)
from sordino.query.types import Range, Type, Value
from sordino.release.draw import Groups, Noisy, Picked

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
