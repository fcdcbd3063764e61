# SPDX-License-Identifier: Apache-2.0
"""The answer of a plan from exact integers, as if noise were 0; with how far it may be off."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from sordino.plan.aggregates import Direct, Formula, Mean, Spread
from sordino.plan.plan import Added, Chosen, Part, Plan, Ranked, Ranks
from sordino.query.tree import KeyRef, Literal, MeasureRef, PostCall, PostScalar
from sordino.query.types import Type
from tests.engine.reference import scalars
from tests.support.trace import Exact, Group

Row: TypeAlias = tuple[Any, ...]


class Noiseless:
    """Evaluates formulas and post-processing of a plan on exact integers."""

    def __init__(self, plan: Plan, exact: Exact) -> None:
        self.plan = plan
        self.exact = exact

    def rows(self) -> list[Row]:
        """Return the rows of the answer, for the groups that are there."""
        post = self.plan.query.post
        made = [(group, self._measures(group)) for group in self._groups()]
        if post.having is not None:
            condition = post.having
            made = [pair for pair in made if self._value(condition, *pair) is True]
        for one in reversed(post.order):
            values = [(self._value(one.scalar, *pair), pair) for pair in made]
            there = [v for v in values if v[0] is not None]
            there.sort(key=lambda v: v[0], reverse=one.descending)
            made = [pair for _, pair in there] + [pair for v, pair in values if v is None]
        if post.limit is not None:
            made = made[: post.limit]
        return [tuple(self._value(o.scalar, *pair) for o in post.outputs) for pair in made]

    def _groups(self) -> list[Group]:
        many = len(self.plan.bounded.keys)
        found = {group[:many] for part in self.exact for group in part}
        return sorted(found, key=repr) if many else [()]

    def _measures(self, group: Group) -> tuple[Any, ...]:
        return tuple(self._formula(formula, group) for formula in self.plan.formulas)

    def _formula(self, formula: Formula, group: Group) -> Any:
        match formula:
            case Direct():
                return self._release(formula.release, group)
            case Mean():
                total, count = (self._release(r, group) for r in (formula.total, formula.count))
                return None if not count else formula.offset + total / count
            case Spread():
                places = (formula.total, formula.square, formula.count)
                total, square, count = (self._release(r, group) for r in places)
                if not count:
                    return None
                spread = square / count - (total / count) ** 2
                return math.sqrt(spread) if formula.root else spread
            case _:
                raise AssertionError("an unknown formula")

    def _release(self, place: int, group: Group) -> Any:
        release = self.plan.releases[place]
        match release:
            case Added():
                numbers = self._exact(release.part).get(group)
                return release.step * (0 if numbers is None else numbers[release.column])
            case Ranked():
                return self._quantile(release, group)
            case Chosen():
                return self._choice(release, group)
            case _ as never:
                assert_never(never)

    def _exact(self, part: Part) -> dict[Group, tuple[int, ...]]:
        return self.exact[self.plan.bounded.parts.index(part)]

    def _places(self, part: Part, group: Group) -> list[tuple[int, int]]:
        """Return the buckets or candidates of a group that have any weight, in order."""
        found = self._exact(part).items()
        return sorted((key[-1], n[0]) for key, n in found if key[:-1] == group and n[0])  # type: ignore[misc]  # v is a place

    def _quantile(self, release: Ranked, group: Group) -> Fraction | None:
        part = release.part
        weights = self._places(part, group)
        if not weights:
            return None
        share = Fraction(release.toward or 0) if release.quantile is None else release.quantile
        wanted = share * sum(weight for _, weight in weights)
        below = 0
        chosen = weights[0][0]
        for place, weight in weights:
            chosen = place
            below += weight
            if below >= wanted:
                break
        return (part.low + chosen * part.width) * Fraction(2) ** part.exponent

    def _choice(self, release: Chosen, group: Group) -> Any:
        part = release.part
        votes = self._places(part, group)
        votes.sort(key=lambda pair: (-pair[1], str(part.domain[pair[0]])))
        best = [part.domain[place] for place, _ in votes]
        if release.many is None:
            return best[0] if best else None
        return best[: release.many]

    def _value(self, scalar: PostScalar, group: Group, measures: tuple[Any, ...]) -> Any:
        match scalar:
            case MeasureRef():
                value = measures[scalar.index]
                if isinstance(value, Fraction) and scalar.type is Type.INTEGER:
                    return int(value) if value.denominator == 1 else value
                return value
            case KeyRef():
                return group[scalar.index]
            case Literal():
                return scalar.value
            case PostCall():
                return self._call(scalar, group, measures)
            case _ as never:
                assert_never(never)

    def _call(self, scalar: PostCall, group: Group, measures: tuple[Any, ...]) -> Any:
        if scalar.operation in ("bin_from", "bin_to"):
            key = scalar.arguments[0]
            assert isinstance(key, KeyRef)
            bins = self.plan.query.keys[key.index].bins
            assert bins is not None
            place = group[key.index]
            assert isinstance(place, int)
            place += scalar.operation == "bin_to"
            return bins.range.low + place * (bins.range.high - bins.range.low) / bins.count
        values = [self._value(a, group, measures) for a in scalar.arguments]
        plain = [float(v) if isinstance(v, Fraction) else v for v in values]
        return scalars.call(scalar.operation, plain, scalar.type)


def slack_of(plan: Plan) -> float:
    """Return how far a quantile or a total may be off because values are on a grid."""
    worst = 1e-9
    for part in plan.bounded.parts:
        if isinstance(part, Ranks):
            worst = max(worst, float(part.width * Fraction(2) ** part.exponent))
    return worst
