# SPDX-License-Identifier: Apache-2.0
"""Everything that was drawn for a plan, and the measures that follow from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

import numpy as np

from sordino.numbers.rounding import down, up
from sordino.plan.ask import Options
from sordino.plan.bounded import Crowded
from sordino.plan.intervals import COUNTS, measure_type
from sordino.plan.plan import Added, Direct, Mean, Plan, Ranked, Spread
from sordino.query.types import Type
from sordino.release.choices import Picked
from sordino.release.draw import Doubles, Groups, Noisy, Span

_SLIP = 2.0**-48  # more than a few roundings of doubles can be off, relatively


def mean(formula: Mean, total: Span, count: Span) -> Span:
    """Return offset + total / count within the public range.

    If total and count lie in their intervals, the exact mean lies in the result: the quotient of
    two intervals, or the whole public range where the count may be 0.
    """
    low, high = down(formula.low), up(formula.high)
    offset = float(formula.offset)
    middle = float((formula.low + formula.high) / 2)
    ratio = divide(total, count)
    slip = _SLIP * (abs(offset) + np.maximum(abs(ratio.low), abs(ratio.high)))
    known = count.low > 0
    return Span(
        np.where(count.value > 0, offset + ratio.value, middle),
        np.where(known, offset + ratio.low - slip, low),
        np.where(known, offset + ratio.high + slip, high),
    ).clip(low, high)


def spread(formula: Spread, total: Span, square: Span, count: Span) -> Span:
    """Return square / count - (total / count) ** 2 within its public range, or its root."""
    widest = up(((formula.high - formula.low) / 2) ** 2)
    first, second = divide(total, count), divide(square, count)
    below, above = squared(first)
    slip = _SLIP * (abs(second.low) + abs(second.high) + above)
    known = count.low > 0
    variance = Span(
        np.where(count.value > 0, second.value - first.value**2, widest / 2),
        np.where(known, second.low - above - slip, 0.0),
        np.where(known, second.high - below + slip, widest),
    ).clip(0.0, widest)
    if not formula.root:
        return variance
    return Span(
        np.sqrt(variance.value),
        np.maximum(np.sqrt(variance.low) * (1 - _SLIP), 0.0),
        np.minimum(np.sqrt(variance.high) * (1 + _SLIP), up((formula.high - formula.low) / 2)),
    )


def divide(over: Span, under: Span) -> Span:
    """Return the quotient of two intervals; it means something where ``under.low`` is above 0."""
    small = np.where(under.low > 0, under.low, 1.0)
    large = np.where(under.high > 0, under.high, 1.0)
    value = np.where(under.value > 0, under.value, 1.0)
    low = np.where(over.low < 0, over.low / small, over.low / large)
    high = np.where(over.high > 0, over.high / small, over.high / large)
    return Span(over.value / value, low, high)


def squared(x: Span) -> tuple[Doubles, Doubles]:
    """Return the least and the largest square of an interval."""
    one, other = x.low**2, x.high**2
    inside = (x.low <= 0) & (x.high >= 0)
    return np.where(inside, 0.0, np.minimum(one, other)), np.maximum(one, other)


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
            low = np.minimum(value - (span.value - low) - 0.5, low)
            high = np.maximum(value + (high - span.value) + 0.5, high)
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
        formula = self.plan.formulas[index]
        kind = self.plan.query.measures[index].kind
        match formula:
            case Direct(release=release):
                found = self._draw(release, level)
            case Mean(total=total, count=count):
                found = mean(formula, self._span(total, level), self._span(count, level))
            case Spread(total=total, square=square, count=count):
                spans = [self._span(at, level) for at in (total, square, count)]
                found = spread(formula, *spans)
            case _:
                assert_never(formula)
        if isinstance(found, Picked):
            return found
        public = self.plan.query.measures[index].range
        if isinstance(formula, Direct) and public is not None and self._is_ranked(formula.release):
            found = found.clip(down(public.low), up(public.high))
        whole = self.type_of(index) is Type.INTEGER
        fine = isinstance(formula, Direct) and self._is_fine(formula.release)
        return shown(found, self.options, whole=whole, count=kind in COUNTS, fine=fine)

    def diagnostic(self, release: int) -> Span:
        """Return a count that was released besides, as it is shown."""
        return shown(
            self._span(release, self.plan.confidence),
            self.options,
            whole=True,
            count=False,
            fine=self._is_fine(release),
        )

    def by_group(self, release: int) -> bool:
        """Tell whether a release has a number for each of several groups."""
        part = self.plan.bounded.parts[self.plan.releases[release].part]
        return bool(self.plan.query.keys) and not isinstance(part, Crowded)

    def type_of(self, index: int) -> Type:
        """Return the type of a measure: counts are whole, others are as the question has them."""
        return measure_type(self.plan, index)

    def _is_ranked(self, release: int) -> bool:
        return isinstance(self.plan.releases[release], Ranked)

    def _is_fine(self, release: int) -> bool:
        """Tell whether a noisy column moves in steps of less than 1."""
        found = self.plan.releases[release]
        return isinstance(found, Added) and found.step.denominator != 1

    def _draw(self, release: int, level: Fraction) -> Span | Picked:
        draw = self.draws[release]
        return draw.span(level) if isinstance(draw, Noisy) else draw

    def _span(self, release: int, level: Fraction) -> Span:
        found = self._draw(release, level)
        if isinstance(found, Picked):
            raise TypeError("a choice is no number")
        return found
