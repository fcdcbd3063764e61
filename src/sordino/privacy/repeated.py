# SPDX-License-Identifier: Apache-2.0
"""Randomized response repeated: the worst that so many equal steps can do, in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from sordino.numbers.balls import Ball, ball, is_positive, round_up
from sordino.numbers.rounding import reading, up_as_printed
from sordino.privacy.binomial import at_most
from sordino.privacy.failures import Failures
from sordino.privacy.inverse import least_epsilon
from sordino.privacy.subsets import exact_profile, subset_sums

_MOST_SUMS = 1 << 10  # beyond, the sums take longer than the distribution


def repeated_delta(epsilon: Fraction, times: int, failures: Failures, at: Fraction) -> float:
    """Return the delta of so many steps of (epsilon, their failures), at another epsilon.

    Guarantee:
        Neighbours: those of the steps.
        Loss: the least delta for all steps about which nothing else is known.
        Numerics: rounded up, from certified balls.
        Proof: docs/proofs/composition.md, theorem 4 (Kairouz, Oh, Viswanath 2015).
    """
    most = _lies(epsilon, times, at)
    return min(round_up(lambda: failures.total(_excess(epsilon, times, most, at))), 1.0)


def repeated_epsilon(epsilon: Fraction, times: int, failures: Failures, target: Fraction) -> float:
    """Return the least epsilon at which the total delta is ``target``.

    Between two neighbouring values of the loss, (times - 2 l) epsilon, the profile is a - e^x b
    with constant a and b, so that x can be computed as soon as it is known which two they are.

    Guarantee:
        Neighbours: those of the steps.
        Loss: the least epsilon for all steps about which nothing else is known.
        Numerics: rounded up, from certified balls.
        Proof: docs/proofs/composition.md, theorem 4 (Kairouz, Oh, Viswanath 2015).
    """
    room = failures.room(target)
    if room < 0:
        return math.inf
    if room == 0:
        return up_as_printed(times * epsilon)

    def exceeds(most: int) -> bool:
        """Tell whether the profile is above the target at the lower end of a piece."""
        at = max((times - 2 * most - 2) * epsilon, Fraction(0))
        return is_positive(lambda: _excess(epsilon, times, most, at) - failures.left(target))

    low, high = 0, _lies(epsilon, times, Fraction(0))
    if high < 0 or not exceeds(high):
        return 0.0
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if exceeds(middle) else (middle + 1, high)

    def formula() -> Ball:
        seen, other = _masses(epsilon, times, high)
        return ((seen - failures.left(target)) / other).log()

    return max(round_up(formula), 0.0)


def different_epsilon(
    steps: Mapping[Fraction, int], failures: Failures, target: Fraction
) -> float | None:
    """Return the least epsilon of steps that differ, or None if they have too many sums.

    Guarantee:
        Neighbours: those of the steps.
        Loss: the least epsilon for all steps about which nothing else is known.
        Numerics: rounded up, from certified balls.
        Proof: docs/proofs/composition.md, theorem 5 (Murtagh, Vadhan 2016).
    """
    room, pure = (
        failures.room(target),
        up_as_printed(Fraction(sum(n * e for e, n in steps.items()))),
    )
    if room <= 0:
        return math.inf if room < 0 else pure
    if len(steps) == 1:
        [(epsilon, times)] = steps.items()
        return repeated_epsilon(epsilon, times, failures, target)
    sums = subset_sums(steps)
    if sums is None or len(sums) > _MOST_SUMS:
        return None
    exact = exact_profile(steps, sums)

    def profile(at: Fraction) -> float:
        return min(round_up(lambda: failures.total(exact(at))), 1.0)

    if reading(profile(Fraction(repr(pure)))) > target:  # by rounding only
        return pure
    return least_epsilon(profile, delta=target, pure=pure)


def _lies(epsilon: Fraction, times: int, at: Fraction) -> int:
    """Return how many answers of randomized response may be lies if the loss is to exceed at."""
    return math.ceil((times * epsilon - at) / (2 * epsilon)) - 1 if epsilon else -1


def _excess(epsilon: Fraction, times: int, most: int, at: Fraction) -> Ball:
    """Return the profile of randomized response repeated, where ``most`` lies exceed ``at``."""
    seen, other = _masses(epsilon, times, most)
    return seen - ball(at).exp() * other


def _masses(epsilon: Fraction, times: int, most: int) -> tuple[Ball, Ball]:
    """Return how likely at most so many lies are, and how likely in the opposite case."""
    lie, truth = 1 / (1 + ball(epsilon).exp()), 1 / (1 + (-ball(epsilon)).exp())
    return (
        at_most(most, times=times, chance=lie, rest=truth),
        at_most(most, times=times, chance=truth, rest=lie),
    )
