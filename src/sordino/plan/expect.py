# SPDX-License-Identifier: Apache-2.0
"""How wide the error bars of an answer will be, before anything is paid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.choose import Exponential, PermuteAndFlip, Quantiles, TopK
from sordino.plan.bounded import Ranks, Votes
from sordino.plan.plan import Added, Chosen, Direct, Mean, Plan, Ranked, Spread
from sordino.query.tree import KeyRef, Kind, Literal, MeasureRef, PostCall, PostScalar
from sordino.query.types import Type

COUNTS = (Kind.COUNT, Kind.COUNT_UNITS, Kind.COUNT_DISTINCT)
_NEAR_END = Fraction(1, 2**30)  # the quantile that stands for MIN; by symmetry also for MAX
_SAME = frozenset({"neg", "abs", "to_real", "clamp", "nullif"})
_WIDEST = frozenset({"greatest", "least", "coalesce"})


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known beforehand of an error bar.

    ``half_width`` is None where it depends on the answer. ``about`` says what it is counted in, if
    not in the column's own numbers, and what it supposes.

    Guarantee: none needed; public inputs only.
    """

    half_width: float | None
    about: str = ""
    rows: bool = False  # counted in rows behind, or in ranks


_EXACT = Expected(0.0)


def expected(plan: Plan, scalar: PostScalar, *, rows: float | None = None) -> Expected:
    """Return the half-width that a column of the answer will have at the plan's confidence.

    ``rows`` is a public guess at how many rows a group has; means need it. A column made from
    several releases gives each of them a part of what may fail.

    Guarantee: none needed; public inputs only.
    """
    events = sum(_events(plan, release) for release in set(_used(plan, scalar)))
    level = 1 - (1 - plan.confidence) / max(events, 1)
    return _of(_Known(plan, level, rows), scalar)


def is_noisy(plan: Plan, scalar: PostScalar) -> bool:
    """Tell whether a column is made from any release, and not from public keys alone.

    Guarantee: none needed; public inputs only.
    """
    return any(True for _ in _used(plan, scalar))


def measures_in(scalar: PostScalar) -> frozenset[int]:
    """Return the measures that a column is made from.

    Guarantee: none needed; public inputs only.
    """
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
    """Return the type of a measure: counts are whole, others are as the question has them.

    Guarantee: none needed; public inputs only.
    """
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
    q = _NEAR_END if release.quantile is None else release.quantile
    steps = known.plan.bounded.shares.coarse_steps
    off = 2 * _rank_error(release, ranks.buckets, q, release.epsilon_end, known.level) / steps
    if release.toward is not None:
        off += _rank_error(release, ranks.buckets, q, release.epsilon_value, known.level) / steps
    if known.rows is None:
        return Expected(off, f"ranks: the point has at most {short(off)} rows more or less", True)
    width = float((ranks.high - ranks.low) * Fraction(2) ** ranks.exponent)
    about = f"{_group(known.rows)} spread evenly over the range"
    return Expected(min(width, width * off / known.rows), about)


def _chosen(known: _Known, release: Chosen) -> Expected:
    votes = known.plan.bounded.parts[release.part]
    if not isinstance(votes, Votes):
        raise TypeError("a choice is made from votes")
    gap = _gap(release, len(votes.domain), known.level)
    steps = known.plan.bounded.shares.coarse_steps
    return Expected(gap / steps, "rows behind the most frequent one", True)


def accuracy_of(mechanism: Laplace | Gaussian, level: Fraction) -> float:
    """Return the half-width of noise at a confidence.

    Guarantee: none needed; public inputs only.
    """
    return float(mechanism.accuracy(confidence=level))


@lru_cache(maxsize=1024)
def _rank_error(
    release: Ranked, buckets: int, q: Fraction, epsilon: Fraction, level: Fraction
) -> float:
    rule = Quantiles(
        [q],
        range=(0, buckets - 1),
        epsilon=epsilon / release.weight,
        neighbours="add_remove",
        mechanism=release.mechanism,
    )
    return rule.accuracy(confidence=level)


@lru_cache(maxsize=1024)
def _gap(release: Chosen, candidates: int, level: Fraction) -> float:
    weight, epsilon = release.weight, release.epsilon
    if release.many is not None:
        top = TopK(k=release.many, sensitivity=weight, epsilon=epsilon, monotone=True)
        return top.accuracy(confidence=level, candidates=candidates)
    kind = PermuteAndFlip if release.mechanism == "permute_and_flip" else Exponential
    one = kind(sensitivity=weight, epsilon=epsilon, monotone=True)
    return one.accuracy(confidence=level, candidates=candidates).gap


def _used(plan: Plan, scalar: PostScalar) -> Iterator[int]:
    """Yield the releases that a column is made from."""
    match scalar:
        case KeyRef() | Literal():
            return
        case PostCall():
            for x in scalar.arguments:
                yield from _used(plan, x)
        case MeasureRef(index=index):
            formula = plan.formulas[index]
            match formula:
                case Direct():
                    yield formula.release
                case Mean():
                    yield from (formula.total, formula.count)
                case Spread():
                    yield from (formula.total, formula.square, formula.count)
                case _:
                    assert_never(formula)
        case _:
            assert_never(scalar)


def _events(plan: Plan, place: int) -> int:
    """Return how many things may fail: the drawn ends of a quantile, else one."""
    release = plan.releases[place]
    return release.ends if isinstance(release, Ranked) else 1


def _group(rows: float) -> str:
    return f"in a group of {short(rows)} rows"


def short(x: float) -> str:
    """Write a number with three digits.

    >>> short(1234567.0), short(61.3), short(0.01234)
    ('1,230,000', '61.3', '0.0123')

    Guarantee: none needed; public inputs only.
    """
    if not math.isfinite(x):
        return str(x)
    return f"{float(f'{x:.3g}'):,.12g}"
