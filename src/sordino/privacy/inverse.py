# SPDX-License-Identifier: Apache-2.0
"""From delta as a function of epsilon to epsilon as a function of delta."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sordino.numbers.rounding import reading
from sordino.privacy.calibrate import least_double

_ROUNDS = 80
_FLOOR = -2000.0  # stands for the logarithm of a delta that is zero
_FINEST = 1e-9


def least_epsilon(profile: Callable[[Fraction], float], *, delta: Fraction, pure: float) -> float:
    """Return the least double epsilon, up to ``pure``, at which a profile is at most delta.

    The profile must not increase, and must be at most delta at ``pure``. The answer itself was
    tried, so it is right even if the profile does not quite keep its promise.
    """

    def fits(epsilon: Fraction) -> bool:
        return reading(profile(epsilon)) <= delta

    if fits(Fraction(0)):
        return 0.0
    near = crossing(lambda epsilon: log(profile(Fraction(repr(epsilon)))), log(delta), pure)
    return least_double(fits, near=near, high=pure)


def epsilon_above(
    profile: Callable[[Fraction], float], *, delta: Fraction, near: float, pure: float
) -> float:
    """Return an epsilon a little above ``near`` at which a slow profile is at most delta."""
    if reading(profile(Fraction(0))) <= delta:
        return 0.0
    step = _FINEST
    while step < 1 and near * (1 + step) < pure:
        if reading(profile(Fraction(repr(near * (1 + step))))) <= delta:
            return near * (1 + step)
        step *= 10
    return pure


def crossing(function: Callable[[float], float], wanted: float, pure: float) -> float:
    """Return about the place between 0 and ``pure`` where a falling function has a value.

    Steps go to where the chord of the last two points crosses, as long as this halves what is
    left to search every three steps; else to the middle.
    """
    low, high = 0.0, pure
    before, here = low, high
    was, now = function(before) - wanted, function(here) - wanted
    slow, aim = False, high - low
    for turn in range(_ROUNDS):
        if turn % 3 == 0:
            slow, aim = high - low > aim, (high - low) / 2
        chord = here - now * (here - before) / (now - was) if now != was else math.nan
        step = (low + high) / 2 if slow or not low < chord < high else chord
        before, was = here, now
        here, now = step, function(step) - wanted
        low, high = (here, high) if now > 0 else (low, here)
        if abs(here - before) <= 2e-16 * here or high - low <= 4e-16 * high:
            break
    return here


def log(x: Fraction | float) -> float:
    """Return the natural logarithm, and a large negative number for 0."""
    return math.log(x) if x else _FLOOR
