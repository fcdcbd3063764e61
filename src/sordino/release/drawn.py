# SPDX-License-Identifier: Apache-2.0
"""Everything that was drawn for a plan, and the measures that follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

from sordino.exact.rounding import down, up
from sordino.plan.bounded import Crowded
from sordino.plan.expect import COUNTS, measure_type
from sordino.plan.plan import Added, Direct, Mean, Plan, Ranked, Spread
from sordino.query.types import Type
from sordino.release.chosen import Picked
from sordino.release.formulas import mean, spread
from sordino.release.groups import Groups
from sordino.release.noise import Noisy, Span
from sordino.release.options import Options
from sordino.release.shown import shown

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
        """Return a measure for every group, each of its events held with a confidence.

        Guarantee: post-processing of what was drawn.
        """
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
        """Return a count that was released besides, as it is shown.

        Guarantee: post-processing of what was drawn.
        """
        return shown(
            self._span(release, self.plan.confidence),
            self.options,
            whole=True,
            count=False,
            fine=self._is_fine(release),
        )

    def by_group(self, release: int) -> bool:
        """Tell whether a release has a number for each of several groups.

        Guarantee: none needed; public inputs only.
        """
        part = self.plan.bounded.parts[self.plan.releases[release].part]
        return bool(self.plan.query.keys) and not isinstance(part, Crowded)

    def type_of(self, index: int) -> Type:
        """Return the type of a measure: counts are whole, others are as the question has them.

        Guarantee: none needed; public inputs only.
        """
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
