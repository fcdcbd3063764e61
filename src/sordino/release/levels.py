# SPDX-License-Identifier: Apache-2.0
"""How a confidence is shared among all noise that one number of an answer depends on."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias, assert_never

from sordino.plan.expect import measures_in
from sordino.plan.plan import Added, Chosen, Direct, Mean, Plan, Ranked, Spread

Event: TypeAlias = "tuple[int, str]"  # a release, and what of it must not be too far off


def level_for(plan: Plan, measures: frozenset[int]) -> Fraction:
    """Return the confidence that each event needs so that all of some measures hold together.

    Guarantee: none needed; public inputs only. A union bound over distinct events.
    """
    events = frozenset[Event]().union(*(_events(plan, measure) for measure in measures))
    return share(plan.confidence, len(events))


def level_of_release(plan: Plan, release: int) -> Fraction:
    """Return the largest confidence that any column needs of a release.

    Draws that are made for a confidence are made once, so they are made for this one.

    Guarantee: none needed; public inputs only.
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

    Guarantee: none needed; public inputs only.
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
