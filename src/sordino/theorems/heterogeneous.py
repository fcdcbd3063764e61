# SPDX-License-Identifier: Apache-2.0
"""Optimal composition of steps that differ in their losses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from sordino.numbers.balls import ball, round_up
from sordino.numbers.rational import Number
from sordino.numbers.rounding import reading
from sordino.privacy.calibrate import least_epsilon_up_to
from sordino.privacy.failures import Failures
from sordino.privacy.repeated import exact_profile, subset_sums
from sordino.theorems.arguments import (
    EpsilonDelta,
    exactly_one,
    read_amount,
    read_delta,
    read_losses,
    rounded,
)
from sordino.theorems.optimal import optimal
from sordino.theorems.responses import MOST_LISTED, listed, on_grid

_SURPLUS = 60.0  # mass e**-60 times the wanted delta may be counted as infinite loss
_LEAST_LOG = -745.0  # the logarithm of the least positive double


def optimal_heterogeneous(
    *,
    losses: Iterable[tuple[Number, Number]],
    at_epsilon: Number | None = None,
    at_delta: Number | None = None,
) -> EpsilonDelta:
    """Return the least loss of steps about which only their epsilons and deltas are known.

    Give ``at_epsilon`` to learn a delta that goes with it, or ``at_delta`` for an epsilon. To
    compute the least one exactly is as hard as counting solutions. So it is done exactly when the
    epsilons have few different sums, for instance because they are multiples of 0.01, and almost
    exactly for up to 20 steps; in all other cases the result is an upper bound.

    >>> losses = [(0.1, 0), (0.2, 0), (0.3, 0), (0.5, 0)]
    >>> optimal_heterogeneous(losses=losses, at_epsilon=0.6)
    EpsilonDelta(epsilon=0.6, delta=0.07285744737365592)

    Guarantee:
        Neighbours: those of the losses that came in, which must all mean the same.
        Loss: the steps together, each chosen after the answers to those before it, but with losses
            that were fixed beforehand: this is no rule for stopping.
        Numerics: from certified balls for up to 2**14 different sums. Else sums of positive
            doubles, raised by more than their error (a relative 1e-11 for a thousand steps); if
            the sums do not lie on a grid of 2**16 points, each step is replaced by one on the grid
            of which it is a post-processing.
        Proof: docs/proofs/composition.md, theorem 5 (Murtagh, Vadhan 2016).
    """
    exactly_one(at_epsilon=at_epsilon, at_delta=at_delta)
    steps: Counter[Fraction] = Counter()
    deltas: Counter[Fraction] = Counter()
    for (epsilon, delta), n in read_losses(losses).items():
        steps[epsilon] += n
        deltas[delta] += n
    del steps[Fraction(0)], deltas[Fraction(0)]
    failures = Failures(deltas)
    if at_epsilon is not None:
        at = read_amount("at_epsilon", at_epsilon)
        profile = _profile(steps, failures, _unlikely(steps, at))
        return EpsilonDelta(rounded(at), profile(at))
    target = read_delta("at_delta", at_delta)
    return EpsilonDelta(_epsilon(steps, failures, target), rounded(target))


def _epsilon(steps: Mapping[Fraction, int], failures: Failures, target: Fraction) -> float:
    room, total = failures.room(target), sum(n * epsilon for epsilon, n in steps.items())
    if room < 0:
        return math.inf
    if room == 0 or not steps:
        return rounded(Fraction(total))
    if len(steps) == 1 and not failures.counts:
        [(epsilon, times)] = steps.items()
        return optimal(epsilon=epsilon, times=times, at_delta=target).epsilon
    left = _log_left(failures, target)
    profile, pure = _profile(steps, failures, left), rounded(Fraction(total))
    if reading(profile(Fraction(repr(pure)))) > target:  # by rounding only
        return pure
    return least_epsilon_up_to(profile, delta=target, pure=pure)


def _profile(
    steps: Mapping[Fraction, int], failures: Failures, log_delta: float
) -> Callable[[Fraction], float]:
    """Return delta as a function of epsilon, tuned to values of delta about exp(log_delta)."""
    total = sum(n * epsilon for epsilon, n in steps.items())
    sums = subset_sums(steps)
    if sums is not None:
        exact = exact_profile(steps, sums)
        return lambda at: min(round_up(lambda: failures.total(exact(at))), 1.0)
    few = sum(steps.values()) <= MOST_LISTED
    atoms = listed(steps) if few else on_grid(steps, reach=_SURPLUS - log_delta)

    def bound(at: Fraction) -> float:
        responses = Fraction(atoms.delta(at)) if at < total else Fraction(0)
        return min(round_up(lambda: failures.total(ball(responses))), 1.0)

    return bound


def _unlikely(steps: Mapping[Fraction, int], at: Fraction) -> float:
    """Return about the logarithm of the delta that goes with an epsilon."""
    mean = sum(n * float(e) * math.tanh(float(e) / 2) for e, n in steps.items())
    squares = sum(n * float(e) ** 2 for e, n in steps.items())
    far = max(float(at) - mean, 0.0)
    return max(-far * far / (2 * squares), _LEAST_LOG) if squares else 0.0


def _log_left(failures: Failures, target: Fraction) -> float:
    """Return about the logarithm of the delta that is left for the randomized responses."""
    left = round_up(lambda: failures.left(target))
    return math.log(left) if left > 0 else _LEAST_LOG
