# SPDX-License-Identifier: Apache-2.0
"""From a curve of Rényi divergences to (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TypeAlias

from sordino.exact.rational import Number, positive
from sordino.exact.rounding import reading
from sordino.theorems.arguments import read_amount, read_delta
from sordino.theorems.zcdp import delta_at_order, epsilon_at_order

Curve: TypeAlias = Callable[[float], float]

_GRID = [2.0 ** (j / 4) for j in range(-80, 121)]  # orders less 1, from a millionth to 2**30
_ROUNDS = 60
_GOLDEN = (math.sqrt(5) - 1) / 2


def renyi_to_epsilon(
    *, curve: Curve, delta: Number, orders: Iterable[Number] | None = None
) -> float:
    """Return the least epsilon that goes with delta, over all orders of a curve; or infinity.

    The curve is a function from an order above 1 to an upper bound on the divergence, in both
    directions. Without ``orders`` it is asked at orders from 1.000001 to 2**30, and again around
    the best of them.

    >>> renyi_to_epsilon(curve=lambda order: order / 10, delta=1e-6)
    2.141938928385474
    >>> renyi_to_epsilon(curve=lambda order: order / 10, delta=1e-6, orders=[2, 4, 8, 16])
    2.2716562679107284

    Guarantee:
        Neighbours: those of the curve that came in.
        Loss: (epsilon, delta)-private, if the curve holds at the order that was chosen.
        Numerics: every order gives a valid bound; the best one is chosen with doubles, and its
            bound is rounded up from a certified ball. The curve must round up by itself.
        Proof: docs/proofs/composition.md, theorem 10.
    """
    target = read_delta("delta", delta)
    if target == 0:
        return math.inf
    log = math.log(target)

    def value(order: float, divergence: float) -> float:
        return divergence + math.log1p(-1 / order) - (log + math.log(order)) / (order - 1)

    order, divergence = _best(curve, orders, value)
    if not math.isfinite(divergence):
        return math.inf
    exact = Fraction(reading(order)), Fraction(reading(divergence))
    return epsilon_at_order(order=exact[0], divergence=exact[1], delta=target)


def renyi_to_delta(
    *, curve: Curve, epsilon: Number, orders: Iterable[Number] | None = None
) -> float:
    """Return the least delta that goes with epsilon, over all orders of a curve.

    >>> renyi_to_delta(curve=lambda order: order / 10, epsilon=1)
    0.008933245771818366

    Guarantee:
        Neighbours: those of the curve that came in.
        Loss: (epsilon, delta)-private, if the curve holds at the order that was chosen.
        Numerics: as for `renyi_to_epsilon`.
        Proof: docs/proofs/composition.md, theorem 10.
    """
    price = read_amount("epsilon", epsilon)

    def value(order: float, divergence: float) -> float:
        gain = (order - 1) * (divergence - float(price) + math.log1p(-1 / order))
        return gain - math.log(order)

    order, divergence = _best(curve, orders, value)
    if not math.isfinite(divergence):
        return 1.0
    exact = Fraction(reading(order)), Fraction(reading(divergence))
    return delta_at_order(order=exact[0], divergence=exact[1], epsilon=price)


def ask(curve: Curve, order: float) -> float:
    """Return what a curve says at an order; refuse what is no divergence.

    Guarantee: none needed; public inputs only.
    """
    divergence = curve(order)
    if not isinstance(divergence, int | float) or math.isnan(divergence) or divergence < 0:
        raise ValueError(
            f"the curve must return a number that is not negative, got {divergence!r:.40} "
            f"at order {order!r}"
        )
    return float(divergence)


def _best(
    curve: Curve, orders: Iterable[Number] | None, value: Callable[[float, float], float]
) -> tuple[float, float]:
    """Return the order with the least value, and the divergence there."""
    if orders is not None:
        asked = [float(positive("orders", order)) for order in orders]
        if not asked or min(asked) <= 1:
            raise ValueError("orders must hold at least one number, and only numbers above 1")
        found = [(order, ask(curve, order)) for order in asked]
        return min(found, key=lambda pair: value(*pair))

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
