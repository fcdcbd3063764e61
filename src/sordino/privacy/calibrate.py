# SPDX-License-Identifier: Apache-2.0
"""The least noise, or the least loss, that fits: every search of the library goes through here."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from fractions import Fraction

from sordino.numbers.balls import SMALLEST
from sordino.numbers.rounding import reading

_ROUNDS = 16


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
    near = approach(excess, near, near * 0.97)
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
