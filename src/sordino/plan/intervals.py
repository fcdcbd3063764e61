# SPDX-License-Identifier: Apache-2.0
"""How wide error bars are: those that are promised before anything is paid, and those of answers.

Both follow from what a release says of its own noise at a confidence, and from the confidence that
each release needs so that all of a column holds; an answer keeps what ``explain`` has promised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from sordino.plan.plan import Added, Chosen, Plan, Ranked, Release
from sordino.query.aggregates import COUNTS
from sordino.query.operations import OPERATIONS
from sordino.query.tree import (
    KeyRef,
    Literal,
    MeasureRef,
    PostCall,
    PostScalar,
    measures_in,
    refs_in,
)
from sordino.query.types import Type

# The quantile that stands for MIN, about as close to the end as any; by symmetry also for MAX.
NEAR_END = Fraction(1, 2**30)
ROUNDING = 0.5  # by which a fine number moves when it is shown as a whole one
Doubles: TypeAlias = npt.NDArray[np.float64]
_UNKNOWN = "it depends on the answer"


@dataclass(frozen=True, slots=True)
class Span:
    """For each group a value and an interval that holds the exact one with a confidence."""

    value: Doubles
    low: Doubles
    high: Doubles

    def clip(self, low: float, high: float) -> Span:
        """Return the same numbers kept within public bounds, where the exact ones lie."""
        return Span(*(np.clip(x, low, high) for x in (self.value, self.low, self.high)))


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


# What is known beforehand. -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known beforehand of an error bar.

    ``half_width`` is None where it depends on the answer. ``about`` says what it is counted in, if
    not in the column's own numbers, and what it supposes.
    """

    half_width: float | None
    about: str = ""
    rows: bool = False  # counted in rows behind, or in ranks


_EXACT = Expected(0.0)


def expected(plan: Plan, scalar: PostScalar, *, rows: float | None = None) -> Expected:
    """Return the half-width that a column of the answer will have at the plan's confidence.

    ``rows`` is a public guess at how many rows a group has; means need it. A column made from
    several releases gives each of them a part of what may fail.
    """
    return _of(Known(plan, level_for(plan, measures_in(scalar)), rows), scalar)


def is_noisy(scalar: PostScalar) -> bool:
    """Tell whether a column is made from any release, and not from public keys alone."""
    return bool(measures_in(scalar))


def measure_type(plan: Plan, index: int) -> Type:
    """Return the type of a measure: counts are whole, others are as the question has them."""
    if plan.query.measures[index].kind in COUNTS:
        return Type.INTEGER
    post = plan.query.post
    scalars = [output.scalar for output in post.outputs]
    scalars += [key.scalar for key in post.order] + ([post.having] if post.having else [])
    types = (ref.type for scalar in scalars for ref in refs_in(scalar) if ref.index == index)
    return next(types, Type.REAL)


@dataclass(frozen=True, slots=True)
class Known:
    """What half-widths are made from: a plan, the confidence of each release, a size of groups."""

    plan: Plan
    level: Fraction
    rows: float | None

    def added(self, place: int) -> float:
        """Return how far the noise on a column is off."""
        release = self.plan.releases[place]
        if not isinstance(release, Added):
            raise TypeError("a total or a count is a noisy column")
        return float(release.step) * release.steps_off(self.level)

    def release(self, place: int) -> Expected:
        """Return what is known of the error bar of a release as it is."""
        release = self.plan.releases[place]
        match release:
            case Added():
                return Expected(self.added(place))
            case Ranked():
                return self._ranked(release)
            case Chosen():
                behind = release.gap(self.level) / self.plan.bounded.shares.coarse_steps
                return Expected(behind, "rows behind the most frequent one", True)
            case _:
                assert_never(release)

    def _ranked(self, release: Ranked) -> Expected:
        part, q = release.part, NEAR_END if release.quantile is None else release.quantile
        steps = self.plan.bounded.shares.coarse_steps
        off = 2 * release.rank_error(q, release.epsilon_end, self.level) / steps
        if release.toward is not None:
            off += release.rank_error(q, release.epsilon_value, self.level) / steps
        if self.rows is None:
            about = f"ranks: the point has at most {short(off)} rows more or less"
            return Expected(off, about, True)
        width = float((part.high - part.low) * Fraction(2) ** part.exponent)
        about = f"{in_group(self.rows)} spread evenly over the range"
        return Expected(min(width, width * off / self.rows), about)


def _of(known: Known, scalar: PostScalar) -> Expected:
    match scalar:
        case KeyRef() | Literal():
            return _EXACT
        case MeasureRef(index=index):
            return _measure(known, index)
        case PostCall():
            return _call(known, scalar)
        case _:
            assert_never(scalar)


def _call(known: Known, call: PostCall) -> Expected:
    parts = [_of(known, x) for x in call.arguments]
    sizes = [part.half_width for part in parts if part.half_width is not None]
    about = next((part.about for part in parts if part.about), "")
    if len(sizes) < len(parts) or any(part.rows for part in parts):
        return Expected(None, about or _UNKNOWN)
    if not any(sizes):
        return Expected(0.0, about)
    rule = OPERATIONS[call.operation].width
    literals = [x.value if isinstance(x, Literal) else None for x in call.arguments]
    width = None if rule is None else rule(sizes, literals)
    return Expected(width, _UNKNOWN if width is None else about)


def _measure(known: Known, index: int) -> Expected:
    formula, whole = known.plan.formulas[index], measure_type(known.plan, index) is Type.INTEGER
    promised = formula.promised(known)
    if promised.half_width is None or not (whole and is_fine(known.plan, index)):
        return promised
    return Expected(promised.half_width + ROUNDING, promised.about, promised.rows)


def is_fine(plan: Plan, index: int) -> bool:
    """Tell whether a measure is a noisy column that moves in steps of less than 1."""
    release = release_of(plan, index)
    return isinstance(release, Added) and release.is_fine


def release_of(plan: Plan, index: int) -> Release | None:
    """Return the release that a measure is, as it is; None if it is made from several."""
    places = plan.formulas[index].places
    return plan.releases[places[0]] if len(places) == 1 else None


# What may fail, and with which confidence each of it must hold. ----------------------------------


Event: TypeAlias = "tuple[int, str]"  # a release, and what of it must not be too far off


def level_for(plan: Plan, measures: frozenset[int]) -> Fraction:
    """Return the confidence that each event needs so that all of some measures hold together.

    A union bound over distinct events.
    """
    events = frozenset[Event]().union(*(_events(plan, measure) for measure in measures))
    return share(plan.confidence, len(events))


def level_of_release(plan: Plan, release: int) -> Fraction:
    """Return the largest confidence that any column needs of a release.

    Draws that are made for a confidence are made once, so they are made for this one.
    """
    columns = [measures_in(output.scalar) for output in plan.query.post.outputs]
    columns += [frozenset({at}) for at in range(len(plan.formulas))]
    return max(
        (
            level_for(plan, column)
            for column in columns
            if any(at == release for measure in column for at, _ in _events(plan, measure))
        ),
        default=plan.confidence,
    )


def share(confidence: Fraction, events: int) -> Fraction:
    """Return the confidence of each of several events with which all hold together.

    >>> share(Fraction(95, 100), 2)
    Fraction(39, 40)
    """
    return 1 - (1 - confidence) / max(events, 1)


def _events(plan: Plan, measure: int) -> frozenset[Event]:
    places = plan.formulas[measure].places
    return frozenset((at, event) for at in places for event in plan.releases[at].events)


def in_group(rows: float) -> str:
    """Say what a half-width supposes."""
    return f"in a group of {short(rows)} rows"


def short(x: float) -> str:
    """Write a number with three digits.

    >>> short(1234567.0), short(61.3), short(0.01234)
    ('1,230,000', '61.3', '0.0123')
    """
    if not math.isfinite(x):
        return str(x)
    return f"{float(f'{x:.3g}'):,.12g}"
