# SPDX-License-Identifier: Apache-2.0
"""The Rényi order that gives the least epsilon or delta; every order gives a valid bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

Curve: TypeAlias = Callable[[float], float]

_GRID = [2.0 ** (j / 4) for j in range(-80, 121)]  # orders less 1, from a millionth to 2**30
_ROUNDS = 60
_GOLDEN = (math.sqrt(5) - 1) / 2


def epsilon_value(delta: Fraction) -> Callable[[float, float], float]:
    """Return about the epsilon of a delta, as a function of an order and its divergence."""
    log = math.log(delta)

    def value(order: float, divergence: float) -> float:
        return divergence + math.log1p(-1 / order) - (log + math.log(order)) / (order - 1)

    return value


def delta_value(epsilon: Fraction) -> Callable[[float, float], float]:
    """Return about the logarithm of the delta of an epsilon, likewise."""
    price = float(epsilon)

    def value(order: float, divergence: float) -> float:
        gain = (order - 1) * (divergence - price + math.log1p(-1 / order))
        return gain - math.log(order)

    return value


def ask(curve: Curve, order: float) -> float:
    """Return what a curve says at an order; refuse what is no divergence."""
    divergence = curve(order)
    if not isinstance(divergence, int | float) or math.isnan(divergence) or divergence < 0:
        raise ValueError(
            f"the curve must return a number that is not negative, got {divergence!r:.40} "
            f"at order {order!r}"
        )
    return float(divergence)


def best_order(curve: Curve, value: Callable[[float, float], float]) -> tuple[float, float]:
    """Return the order with the least value, and the divergence there."""

    def at(rest: float) -> tuple[float, float, float]:
        order = 1 + rest
        divergence = ask(curve, order)
        return value(order, divergence), order, divergence

    found_at = [at(rest) for rest in _GRID]
    place = min(range(len(_GRID)), key=lambda j: found_at[j][0])
    # Look between the neighbours of the best, in the logarithm of the order less 1.
    low, high = (math.log(_GRID[min(max(place + j, 0), len(_GRID) - 1)]) for j in (-1, 1))
    best = found_at[place]
    for _ in range(_ROUNDS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        one, two = at(math.exp(left)), at(math.exp(right))
        low, high = (low, right) if one[0] <= two[0] else (left, high)
        best = min(best, one, two)
    return best[1], best[2]
