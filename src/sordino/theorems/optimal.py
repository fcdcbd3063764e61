# SPDX-License-Identifier: Apache-2.0
"""Optimal composition of equal steps: the exact loss of so many (epsilon, delta) answers."""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.exact.balls import Ball, ball, is_positive, round_up
from sordino.exact.rational import Number
from sordino.theorems.arguments import (
    EpsilonDelta,
    exactly_one,
    read_amount,
    read_delta,
    read_times,
    rounded,
)
from sordino.theorems.binomial import at_most
from sordino.privacy.failures import Failures


def optimal(
    *,
    epsilon: Number,
    delta: Number = 0,
    times: int,
    at_epsilon: Number | None = None,
    at_delta: Number | None = None,
) -> EpsilonDelta:
    """Return the least loss of equal steps about which only epsilon and delta are known.

    Give ``at_epsilon`` to learn the least delta that goes with it, or ``at_delta`` for the least
    epsilon. The delta of the steps themselves, 1 - (1 - delta)**times, cannot be avoided: below it
    epsilon is infinite.

    >>> optimal(epsilon=0.1, times=100, at_epsilon=4)
    EpsilonDelta(epsilon=4.0, delta=3.4223123191967736e-05)
    >>> optimal(epsilon=0.1, times=100, at_delta=1e-6)
    EpsilonDelta(epsilon=4.7745675881079865, delta=1e-06)

    Guarantee:
        Neighbours: those of the loss that came in.
        Loss: the steps together, each chosen after the answers to those before it, but with an
            epsilon and a delta that were fixed beforehand: this is no rule for stopping.
            Randomized response repeated attains it, so no smaller loss holds for all mechanisms.
        Numerics: rounded up, from certified balls; the result is the least double that reads as
            at least the exact value.
        Proof: docs/proofs/composition.md, theorem 4 (Kairouz, Oh, Viswanath 2015).
    """
    exactly_one(at_epsilon=at_epsilon, at_delta=at_delta)
    price, steps = read_amount("epsilon", epsilon), read_times("times", times)
    failures = Failures({read_delta("delta", delta): steps})
    if at_epsilon is not None:
        at = read_amount("at_epsilon", at_epsilon)
        most = _lies(price, steps, at)
        found = round_up(lambda: failures.total(_excess(price, steps, most, at)))
        return EpsilonDelta(rounded(at), min(found, 1.0))
    target = read_delta("at_delta", at_delta)
    return EpsilonDelta(_epsilon(price, steps, failures, target), rounded(target))


def _epsilon(epsilon: Fraction, times: int, failures: Failures, target: Fraction) -> float:
    """Return the least epsilon at which the total delta is ``target``.

    Between two neighbouring values of the loss, (times - 2 l) epsilon, the profile is a - e^x b
    with constant a and b, so that x can be computed as soon as it is known which two they are.
    """
    room = failures.room(target)
    if room < 0:
        return math.inf
    if room == 0:
        return rounded(times * epsilon)

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
