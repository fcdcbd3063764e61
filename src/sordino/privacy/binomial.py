# SPDX-License-Identifier: Apache-2.0
"""Certified sums of binomial probabilities."""

from __future__ import annotations

from fractions import Fraction

from sordino.numbers.balls import Ball, ball


def at_most(most: int, *, times: int, chance: Ball, rest: Ball) -> Ball:
    """Return the probability of at most ``most`` successes, each of the given chance.

    ``rest`` is one minus the chance, computed without a subtraction.
    """
    if most < 0:
        return 0 * chance
    if most >= times:
        return 0 * chance + 1
    above, below = ball(Fraction(most + 1)), ball(Fraction(times - most))
    # Both are the regularised incomplete beta function; the smaller tail is the accurate one.
    if most + 1 > times * float(chance.mid()):
        return 1 - chance.beta_lower(above, below, True)
    return rest.beta_lower(below, above, True)
