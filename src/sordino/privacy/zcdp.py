# SPDX-License-Identifier: Apache-2.0
"""From zero-concentrated privacy to epsilon and delta."""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.exact.balls import Ball, ball, round_up


def delta_from_rho(*, rho: Fraction, epsilon: Fraction) -> float:
    """Return a delta such that whatever is rho-zCDP is (epsilon, delta)-private.

    >>> delta_from_rho(rho=Fraction(1, 2), epsilon=Fraction(3))
    0.00514318406386215

    Guarantee:
        Neighbours: those of the rho that came in.
        Loss: delta for this epsilon, for every mechanism that is rho-zCDP.
        Numerics: every order gives a valid bound; a nearly best one is chosen with doubles, and
            its bound is rounded up from a certified ball.
        Proof: docs/proofs/gaussian.md, theorem 2 (Canonne, Kamath, Steinke 2020).
    """
    order = _best_order(float(rho), float(epsilon))

    def formula() -> Ball:
        rest = ball(order - 1)
        exponent = rest * ball(order * rho - epsilon) + rest * (rest / ball(order)).log()
        return exponent.exp() / ball(order)

    return min(round_up(formula), 1.0)


def _best_order(rho: float, epsilon: float) -> Fraction:
    """Solve (2 a - 1) rho - epsilon + ln(1 - 1/a) = 0 for a > 1, by halving in ln(a - 1)."""
    low, high = -50.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        rest = math.exp(middle)
        slope = (2 * rest + 1) * rho - epsilon - math.log1p(1 / rest)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return 1 + Fraction(math.exp(high))
