# SPDX-License-Identifier: Apache-2.0
"""From a curve of Rényi divergences to (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from sordino.numbers.rational import Number, positive
from sordino.numbers.rounding import reading
from sordino.privacy.orders import Curve, ask, best_order, delta_value, epsilon_value
from sordino.theorems.arguments import read_amount, read_delta
from sordino.theorems.zcdp import delta_at_order, epsilon_at_order


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
    order, divergence = _best(curve, orders, epsilon_value(target))
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
    order, divergence = _best(curve, orders, delta_value(price))
    if not math.isfinite(divergence):
        return 1.0
    exact = Fraction(reading(order)), Fraction(reading(divergence))
    return delta_at_order(order=exact[0], divergence=exact[1], epsilon=price)


def _best(
    curve: Curve, orders: Iterable[Number] | None, value: Callable[[float, float], float]
) -> tuple[float, float]:
    """Return the order with the least value, and the divergence there."""
    if orders is None:
        return best_order(curve, value)
    asked = [float(positive("orders", order)) for order in orders]
    if not asked or min(asked) <= 1:
        raise ValueError("orders must hold at least one number, and only numbers above 1")
    found = [(order, ask(curve, order)) for order in asked]
    return min(found, key=lambda pair: value(*pair))
