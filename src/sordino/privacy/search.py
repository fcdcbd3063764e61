# SPDX-License-Identifier: Apache-2.0
"""The least noise, or the least loss, that fits: every search of the library goes through here."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from fractions import Fraction

from sordino.numbers.balls import SMALLEST
from sordino.numbers.rational import reading

_ROUNDS = 16
_MOST_STEPS = 80
_LOG_OF_ZERO = -2000.0  # stands for the logarithm of a delta that is zero
_FINEST = 1e-9
_APART, _FEW_DEVIATIONS = 0.03, 0.1  # of the first guess, and of the deviation of a normal loss


def least(fits: Callable[[int], bool], low: int, high: int, *, near: int | None = None) -> int:
    """Return the least integer from ``low`` to ``high`` that fits.

    The search starts at ``near`` and doubles its steps, then halves them. It supposes that whatever
    is larger than a number that fits, fits too. Where that is not so, the result still fits,
    because it was tried, and the number before it does not.

    >>> least(lambda n: n * n >= 50, 0, 100)
    8
    """
    if near is None:
        near = (low + high) // 2
    here, step = min(max(near, low), high), 1
    if fits(here):
        high = here
        while high > low:
            here = max(low, high - step)
            if not fits(here):
                low = here + 1
                break
            high, step = here, 2 * step
    else:
        low = here + 1
        while low <= high:
            here = min(high, low + step - 1)
            if fits(here):
                high = here
                break
            low, step = here + 1, 2 * step
        else:
            raise ValueError("nothing in the range fits")
    while low < high:
        here = (low + high) // 2
        if fits(here):
            high = here
        else:
            low = here + 1
    return high


def least_double(fits: Callable[[Fraction], bool], *, near: float, high: float) -> float:
    """Return the least double from 0 to ``high`` that fits as the decimal it prints as."""

    def reads_well(place: int) -> bool:
        return fits(Fraction(repr(_double(place))))

    near = min(max(near, 0.0), high) if math.isfinite(near) else high
    return _double(least(reads_well, 0, _place(high), near=_place(near)))


def least_epsilon(profile: Callable[[Fraction], float], *, delta: Fraction, rho: float) -> float:
    """Return the least double epsilon at which a profile is at most delta; infinite for delta 0."""
    if delta == 0:
        return math.inf
    wanted = math.log(delta)

    def excess(epsilon: float) -> float:
        return math.log(profile(Fraction(max(epsilon, 0.0))) or SMALLEST) - wanted

    near = rho + 2 * math.sqrt(rho * -wanted)
    # Both places lie on the slope that decides: much further down the delta is 1.
    near = approach(excess, near, near - min(_APART * near, _FEW_DEVIATIONS * math.sqrt(rho)))
    return least_double(lambda e: reading(profile(e)) <= delta, near=near, high=sys.float_info.max)


def approach(excess: Callable[[float], float], first: float, second: float) -> float:
    """Return about the place where a smooth function is zero: where a search may begin."""
    before, here = first, second
    was, now = excess(before), excess(here)
    for _ in range(_ROUNDS):
        slope = (now - was) / (here - before) if here != before else 0.0
        if not slope or not math.isfinite(slope):
            break
        move = -now / slope
        before, was = here, now
        here += math.copysign(min(abs(move), 1 + abs(here)), move)
        if abs(move) <= 1e-13 * abs(here):
            break
        now = excess(here)
    return here


def _place(x: float) -> int:
    """Number the doubles from 0 upwards in their order."""
    return int(struct.unpack("<q", struct.pack("<d", x + 0.0))[0])


def _double(place: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", place))[0])


def least_epsilon_up_to(
    profile: Callable[[Fraction], float], *, delta: Fraction, pure: float
) -> float:
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
    for turn in range(_MOST_STEPS):
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
    return math.log(x) if x else _LOG_OF_ZERO
