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
from sordino.numbers.rational import down, up
from sordino.plan.ask import Options
from sordino.plan.bounded import Crowded
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
_BIN_ENDS = {"bin_from": 0, "bin_to": 1}


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

    def by_group(self, place: int) -> bool:
        """Tell whether a release has a number for each of several groups."""
        release = self.plan.releases[place]
        return bool(self.plan.query.keys) and not isinstance(release.part, Crowded)

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
    scalar = output.scalar
    if isinstance(scalar, MeasureRef):
        return _plain(drawn, output.title, scalar, level)
    found = _evaluate(drawn, scalar, level)
    values = tuple(_finite(near.value) for near in found)
    if not measures:
        return Column(output.title, _key_type(drawn, scalar), "key", values)
    if not scalar.type.is_number:
        return Column(output.title, scalar.type, "measure", values)
    ends = [_ends(near) for near in found]
    lower, upper = tuple(end[0] for end in ends), tuple(end[1] for end in ends)
    confidence = drawn.plan.confidence
    return Column(output.title, scalar.type, "measure", values, lower, upper, confidence)


def _plain(drawn: Drawn, title: str, scalar: MeasureRef, level: Fraction) -> Column:
    """Return a measure as it is."""
    found = drawn.measure(scalar.index, level)
    if isinstance(found, Picked):
        return _choice(drawn, title, scalar, found)
    whole = drawn.type_of(scalar.index) is Type.INTEGER and drawn.options.integer
    return _numbers(title, found, drawn.plan.confidence, whole=whole, kind="measure")


def _choice(drawn: Drawn, title: str, scalar: MeasureRef, found: Picked) -> Column:
    gap = found.gap / drawn.plan.bounded.shares.coarse_steps
    listed = drawn.plan.query.measures[scalar.index].count is not None
    values: tuple[CellValue, ...] = found.values if listed else tuple(v[0] for v in found.values)
    return Column(title, scalar.type, "measure", values, gap=gap, listed=listed,
                  confidence=drawn.plan.confidence)  # fmt: skip


def _numbers(title: str, span: Span, confidence: Fraction, *, whole: bool, kind: Any) -> Column:
    values = span.value.tolist()
    return Column(
        title,
        Type.INTEGER if whole else Type.REAL,
        kind,
        tuple(map(round, values)) if whole else tuple(values),
        tuple(map(_end, span.low.tolist())),
        tuple(map(_end, span.high.tolist())),
        confidence,
    )


def _diagnostics(drawn: Drawn) -> list[Column]:
    """Return the counts that were released besides and have one number for each group."""
    return [
        _numbers(
            title,
            drawn.diagnostic(release),
            drawn.plan.confidence,
            whole=True,
            kind="diagnostic",
        )
        for title, release in drawn.plan.diagnostics
        if drawn.by_group(release)
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


@dataclass(frozen=True, slots=True)
class _Bin:
    """The ends of the bins of a key, by their index."""

    ends: tuple[Fraction, ...]

    @classmethod
    def of(cls, key: Key) -> _Bin | None:
        if key.bins is None:
            return None
        low, high, many = key.bins.range.low, key.bins.range.high, key.bins.count
        return cls(tuple(low + (high - low) * at / many for at in range(many + 1)))

    def end(self, index: Value, side: int, kind: Type) -> Value:
        if not isinstance(index, int):
            return None
        edge = self.ends[index + side]
        return edge.numerator if kind is Type.INTEGER and edge.denominator == 1 else float(edge)


def _key_type(drawn: Drawn, scalar: PostScalar) -> Type:
    """Return the type of a public column; the ends of bins are whole if all of them are."""
    key = _binned(drawn, scalar)
    if key is None:
        return scalar.type
    edges = _Bin.of(key)
    whole = edges is not None and all(edge.denominator == 1 for edge in edges.ends)
    return Type.INTEGER if whole else Type.REAL


def _binned(drawn: Drawn, scalar: PostScalar) -> Key | None:
    if isinstance(scalar, PostCall) and scalar.operation in _BIN_ENDS:
        return _binned(drawn, scalar.arguments[0])
    if isinstance(scalar, KeyRef) and drawn.plan.query.keys[scalar.index].bins is not None:
        return drawn.plan.query.keys[scalar.index]
    return None


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
    key = _binned(drawn, scalar)
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
    side = _BIN_ENDS[scalar.operation] if isinstance(scalar, PostCall) else 0
    index, edges = drawn.plan.query.keys.index(key), _Bin.of(key)
    kind = _key_type(drawn, scalar)
    if edges is None:
        raise TypeError("only bins have ends")
    return lambda row: exactly(edges.end(drawn.groups.keys[row][index], side, kind))
