# SPDX-License-Identifier: Apache-2.0
"""Profiles at many epsilons at once, and the small steps that all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import TypeAlias, cast

import numpy as np

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rounding import reading
from sordino.privacy.calibrate import least_double
from sordino.privacy.leaf import Floats, Leaf

Curve: TypeAlias = Callable[[Floats], Floats]

LARGEST = 1.7976931348623157e308
_POINTS = 64
_ROUNDS = 14


def as_key(leaf: Leaf) -> Hashable:
    """Return a leaf as a key: every leaf is a frozen record, which can be hashed."""
    return cast("Hashable", leaf)


def both_signs(epsilons: Floats, ahead: Curve, behind: Curve) -> Floats:
    """Extend a profile to negative epsilons, where it follows from that of the other order.

    ``ahead`` and ``behind`` are the profiles of (P, Q) and of (Q, P) where epsilon is not negative.
    """
    a = np.asarray(epsilons, dtype=np.float64)
    below = a < 0
    if not below.any():
        return ahead(a)
    found = np.empty(a.shape)
    found[~below] = ahead(a[~below])
    left = a[below]
    found[below] = np.exp(left) * behind(-left) - np.expm1(left)
    return found


def short_of(top: Fraction, epsilons: Floats) -> Floats:
    """Return how far each epsilon is below ``top``, with all digits even where they nearly meet."""
    near = float(top)
    distance: Floats = (near - epsilons) + float(top - Fraction(near))
    return distance


def response(top: Fraction, others: float, epsilons: Floats) -> Floats:
    """Return (e^top - e^epsilon)+ / (e^top + others): the profile of a randomized response."""
    distance = np.maximum(short_of(top, epsilons), 0.0)
    found: Floats = -np.expm1(-distance) / (1 + others * math.exp(-top))
    return found


def order_of(order: float | Fraction) -> Fraction | None:
    """Read the order of a Rényi divergence, which is above 1; None stands for infinity.

    >>> order_of(0.5)
    Traceback (most recent call last):
    ValueError: order must be a number above 1, or infinity, got 0.5
    """
    if not isinstance(order, int | float | Fraction | np.floating | np.integer) or not order > 1:
        raise ValueError(f"order must be a number above 1, or infinity, got {order!r}")
    if math.isinf(order):
        return None
    return order if isinstance(order, Fraction) else Fraction(repr(float(order)))


def whole_size(size: int) -> int:
    """Read the size of a group: a positive whole number."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"the size of a group must be a positive whole number, got {size!r}")
    return size


def pure_rho(epsilon: Fraction) -> float:
    """Return the least rho for which everything that is epsilon-private is rho-zCDP.

    >>> pure_rho(Fraction(1))
    0.4621171572600098

    Guarantee:
        Neighbours: those of the epsilon that came in.
        Loss: rho is epsilon tanh(epsilon / 2), which randomized response attains.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/leaves.md, theorem 1.
    """
    return round_up(lambda: ball(epsilon) * (ball(epsilon) / 2).tanh())


def round_down(formula: Callable[[], Ball]) -> float:
    """Return the greatest double that reads as at most the value of a formula."""
    return -round_up(lambda: -formula())


def inverse(
    delta: Callable[[Fraction], float], profile: Curve, *, target: Fraction, high: float
) -> float:
    """Return the least double epsilon whose certified delta is at most the target.

    The search begins where the profile, in doubles, crosses the target; ``high`` bounds where.
    """

    def fits(epsilon: Fraction) -> bool:
        return reading(delta(epsilon)) <= target

    if fits(Fraction(0)):
        return 0.0
    near = crossing(profile, float(target), high)
    return least_double(fits, near=near, high=LARGEST)


def crossing(profile: Curve, level: float, high: float) -> float:
    """Return about the least epsilon from 0 to ``high`` at which a profile is at most ``level``."""
    low = 0.0
    for _ in range(_ROUNDS):
        points = np.linspace(low, high, _POINTS)
        fits = profile(points) <= level
        place = int(np.argmax(fits)) if fits.any() else _POINTS - 1
        low, high = float(points[max(place - 1, 0)]), float(points[place])
    return high
