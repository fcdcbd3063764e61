# SPDX-License-Identifier: Apache-2.0
"""Optimal composition of equal steps: the exact loss of so many (epsilon, delta) answers."""

from __future__ import annotations

from sordino.numbers.rational import Number
from sordino.privacy.failures import Failures
from sordino.privacy.repeated import repeated_delta, repeated_epsilon
from sordino.theorems.arguments import (
    EpsilonDelta,
    exactly_one,
    read_amount,
    read_delta,
    read_times,
    rounded,
)


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
        return EpsilonDelta(rounded(at), repeated_delta(price, steps, failures, at))
    target = read_delta("at_delta", at_delta)
    return EpsilonDelta(repeated_epsilon(price, steps, failures, target), rounded(target))
