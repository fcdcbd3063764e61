# SPDX-License-Identifier: Apache-2.0
"""How wide error bars are: those that are promised before anything is paid, and those of answers.

Release draws with the rules that are made here and states the errors that are computed here, so
that an answer keeps what ``explain`` has promised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias, assert_never

from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.choose import Exponential, PermuteAndFlip, Quantiles, TopK
from sordino.plan.bounded import Ranks, Votes
from sordino.plan.plan import Added, Chosen, Direct, Mean, Plan, Ranked, Spread
from sordino.query.tree import KeyRef, Kind, Literal, MeasureRef, PostCall, PostScalar
from sordino.query.types import Type

COUNTS = (Kind.COUNT, Kind.COUNT_UNITS, Kind.COUNT_DISTINCT)
# The quantile that stands for MIN, about as close to the end as any; by symmetry also for MAX.
NEAR_END = Fraction(1, 2**30)
_SAME = frozenset({"neg", "abs", "to_real", "clamp", "nullif"})
_WIDEST = frozenset({"greatest", "least", "coalesce"})


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
    return _of(_Known(plan, level_for(plan, measures_in(scalar)), rows), scalar)


def is_noisy(scalar: PostScalar) -> bool:
    """Tell whether a column is made from any release, and not from public keys alone."""
    return bool(measures_in(scalar))


def measures_in(scalar: PostScalar) -> frozenset[int]:
    """Return the measures that a column is made from."""
    match scalar:
        case MeasureRef():
            return frozenset({scalar.index})
        case PostCall():
            return frozenset().union(*map(measures_in, scalar.arguments))
        case KeyRef() | Literal():
            return frozenset()
        case _:
            assert_never(scalar)


def measure_type(plan: Plan, index: int) -> Type:
    """Return the type of a measure: counts are whole, others are as the question has them."""
    if plan.query.measures[index].kind in COUNTS:
        return Type.INTEGER
    post = plan.query.post
    scalars = [output.scalar for output in post.outputs]
    scalars += [key.scalar for key in post.order] + ([post.having] if post.having else [])
    found = (kind for scalar in scalars for at, kind in _types(scalar) if at == index)
    return next(found, Type.REAL)


def _types(scalar: PostScalar) -> list[tuple[int, Type]]:
    if isinstance(scalar, MeasureRef):
        return [(scalar.index, scalar.type)]
    if isinstance(scalar, PostCall):
        return [pair for argument in scalar.arguments for pair in _types(argument)]
    return []


@dataclass(frozen=True, slots=True)
class _Known:
    """What half-widths are made from: a plan, the confidence of each release, a size of groups."""

    plan: Plan
    level: Fraction
    rows: float | None

    def added(self, place: int) -> float:
        release = self.plan.releases[place]
        if not isinstance(release, Added):
            raise TypeError("a total or a count is a noisy column")
        return float(release.step) * accuracy_of(release.mechanism, self.level)


def _of(known: _Known, scalar: PostScalar) -> Expected:
    match scalar:
        case KeyRef() | Literal():
            return _EXACT
        case MeasureRef(index=index):
            return _measure(known, index)
        case PostCall():
            return _call(known, scalar)
        case _:
            assert_never(scalar)


def _call(known: _Known, call: PostCall) -> Expected:
    parts = [_of(known, x) for x in call.arguments]
    widths = [part.half_width for part in parts]
    about = next((part.about for part in parts if part.about), "")
    if any(part.rows for part in parts) or any(width is None for width in widths):
        return Expected(None, about or "it depends on the answer")
    sizes = [float(width or 0.0) for width in widths]
    literal = [x.value for x in call.arguments if isinstance(x, Literal)]
    found: float | None = None
    if call.operation in ("add", "sub"):
        found = sum(sizes)
    elif call.operation in _SAME:
        found = sizes[0]
    elif call.operation in _WIDEST:
        found = max(sizes)
    elif call.operation in ("round", "floor", "ceil", "to_integer"):
        digits = literal[0] if literal and isinstance(literal[0], int) else 0
        half = 0.5 if call.operation == "round" else 1.0
        found = sizes[0] + half * 10.0**-digits if sizes[0] else 0.0
    elif call.operation in ("mul", "div") and len(literal) == 1:
        found = _scaled(call, sizes, literal[0])
    elif not any(sizes):
        found = 0.0
    return Expected(found, about if found is not None else "it depends on the answer")


def _scaled(call: PostCall, sizes: list[float], factor: object) -> float | None:
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not factor:
        return None
    if call.operation == "mul":
        return max(sizes) * abs(factor)
    return sizes[0] / abs(factor) if isinstance(call.arguments[1], Literal) else None


def _measure(known: _Known, index: int) -> Expected:
    formula = known.plan.formulas[index]
    match formula:
        case Mean():
            return _mean(known, formula)
        case Spread():
            return _spread(known, formula)
        case Direct(release=place):
            release = known.plan.releases[place]
        case _:
            assert_never(formula)
    match release:
        case Added():
            fine = release.step.denominator != 1 and measure_type(known.plan, index) is Type.INTEGER
            return Expected(known.added(place) + (0.5 if fine else 0.0))  # shown as a whole number
        case Ranked():
            return _ranked(known, release)
        case Chosen():
            return _chosen(known, release)
        case _:
            assert_never(release)


def _mean(known: _Known, formula: Mean) -> Expected:
    total, count = known.added(formula.total), known.added(formula.count)
    far = float(max(formula.high - formula.offset, formula.offset - formula.low))
    widest = float(formula.high - formula.low)
    rows = known.rows
    if rows is None:
        return Expected(None, f"about {short(total + far * count)} over the rows of the group")
    return Expected(min(_quotient(total, count, far, rows), widest), _group(rows))


def _spread(known: _Known, formula: Spread) -> Expected:
    half = float(formula.high - formula.low) / 2
    rows = known.rows
    if rows is None:
        return Expected(None, "it falls with the rows of the group")
    total, square, count = map(known.added, (formula.total, formula.square, formula.count))
    first = _quotient(total, count, half, rows)
    second = _quotient(square, count, half * half, rows)
    width = min(second + 2 * half * first + first * first, half * half)
    return Expected(math.sqrt(width) if formula.root else width, _group(rows))


def _quotient(over: float, under: float, largest: float, rows: float) -> float:
    """Return how far a quotient of at most ``largest`` is off if both its numbers are."""
    return (over + largest * under) / (rows - under) if rows > under else math.inf


def _ranked(known: _Known, release: Ranked) -> Expected:
    ranks = known.plan.bounded.parts[release.part]
    if not isinstance(ranks, Ranks):
        raise TypeError("a quantile is drawn from ranks")
    q = NEAR_END if release.quantile is None else release.quantile
    steps = known.plan.bounded.shares.coarse_steps
    off = 2 * rank_error(release, ranks.buckets, q, release.epsilon_end, known.level) / steps
    if release.toward is not None:
        off += rank_error(release, ranks.buckets, q, release.epsilon_value, known.level) / steps
    if known.rows is None:
        return Expected(off, f"ranks: the point has at most {short(off)} rows more or less", True)
    width = float((ranks.high - ranks.low) * Fraction(2) ** ranks.exponent)
    about = f"{_group(known.rows)} spread evenly over the range"
    return Expected(min(width, width * off / known.rows), about)


def _chosen(known: _Known, release: Chosen) -> Expected:
    votes = known.plan.bounded.parts[release.part]
    if not isinstance(votes, Votes):
        raise TypeError("a choice is made from votes")
    behind = gap(release, len(votes.domain), known.level) / known.plan.bounded.shares.coarse_steps
    return Expected(behind, "rows behind the most frequent one", True)


def accuracy_of(mechanism: Laplace | Gaussian, level: Fraction) -> float:
    """Return the half-width of noise at a confidence."""
    return float(mechanism.accuracy(confidence=level))


def quantile_rule(release: Ranked, buckets: int, q: Fraction, epsilon: Fraction) -> Quantiles:
    """Return the mechanism that draws a quantile from the records of a group."""
    return Quantiles(
        [q],
        range=(0, buckets - 1),
        epsilon=epsilon / release.weight,
        neighbours="add_remove",
        mechanism=release.mechanism,
    )


@lru_cache(maxsize=1024)
def rank_error(
    release: Ranked, buckets: int, q: Fraction, epsilon: Fraction, level: Fraction
) -> float:
    """Return how far the rank of a drawn quantile is off at most, in steps of weight."""
    return quantile_rule(release, buckets, q, epsilon).accuracy(confidence=level)


def choice_rule(release: Chosen, candidates: int) -> Exponential | PermuteAndFlip | TopK:
    """Return the mechanism that chooses."""
    if release.many is not None:
        many = min(release.many, candidates)
        epsilon = release.epsilon * many / release.many  # each choice costs what was planned
        return TopK(k=many, sensitivity=release.weight, epsilon=epsilon, monotone=True)
    kind = PermuteAndFlip if release.mechanism == "permute_and_flip" else Exponential
    return kind(sensitivity=release.weight, epsilon=release.epsilon, monotone=True)


@lru_cache(maxsize=1024)
def gap(release: Chosen, candidates: int, level: Fraction) -> float:
    """Return how much less weight than the best a choice has at most, in steps."""
    rule = choice_rule(release, candidates)
    return float(rule.accuracy(confidence=level, candidates=candidates))


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
    formula = plan.formulas[measure]
    match formula:
        case Direct(release=release):
            return _of_release(plan, release)
        case Mean(total=total, count=count):
            return _of_release(plan, total) | _of_release(plan, count)
        case Spread(total=total, square=square, count=count):
            return frozenset().union(*(_of_release(plan, at) for at in (total, square, count)))
        case _:
            assert_never(formula)


def _of_release(plan: Plan, at: int) -> frozenset[Event]:
    release = plan.releases[at]
    match release:
        case Added():
            return frozenset({(at, "noise")})
        case Ranked(toward=None):
            return frozenset({(at, "low"), (at, "high")})
        case Ranked():
            return frozenset({(at, "end")})  # the other one is the public bound
        case Chosen():
            return frozenset({(at, "choice")})
        case _:
            assert_never(release)


def _group(rows: float) -> str:
    return f"in a group of {short(rows)} rows"


def short(x: float) -> str:
    """Write a number with three digits.

    >>> short(1234567.0), short(61.3), short(0.01234)
    ('1,230,000', '61.3', '0.0123')
    """
    if not math.isfinite(x):
        return str(x)
    return f"{float(f'{x:.3g}'):,.12g}"
