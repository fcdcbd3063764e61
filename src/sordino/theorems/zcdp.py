# SPDX-License-Identifier: Apache-2.0
"""Between pure privacy, concentrated privacy, and (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number
from sordino.theorems.arguments import read_amount, read_delta


def pure_to_rho(*, epsilon: Number) -> float:
    """Return the rho of whatever is epsilon-private: epsilon tanh(epsilon / 2).

    The textbooks print epsilon^2 / 2, which is more.

    >>> pure_to_rho(epsilon=1)
    0.4621171572600098

    Guarantee:
        Neighbours: those of the epsilon that came in.
        Loss: rho-zCDP; randomized response attains it.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 9.
    """
    price = read_amount("epsilon", epsilon)
    return round_up(lambda: ball(price) * (ball(price) / 2).tanh())


def rho_to_delta(*, rho: Number, epsilon: Number) -> float:
    """Return the delta that goes with epsilon for whatever is rho-zCDP.

    >>> rho_to_delta(rho=0.1, epsilon=1)
    0.008933245771818362

    Guarantee:
        Neighbours: those of the rho that came in.
        Loss: (epsilon, delta)-private.
        Numerics: every order gives a valid bound; a nearly best one is chosen with doubles, and
            its bound is rounded up from a certified ball.
        Proof: docs/proofs/composition.md, theorem 10 (Canonne, Kamath, Steinke 2020).
    """
    spent, price = read_amount("rho", rho), read_amount("epsilon", epsilon)
    if spent == 0:
        return 0.0
    low, high = float(spent), float(price)
    order = _crossing(lambda rest: (2 * rest + 1) * low - high - math.log1p(1 / rest))
    return delta_at_order(order=order, divergence=order * spent, epsilon=price)


def rho_to_epsilon(*, rho: Number, delta: Number) -> float:
    """Return the epsilon that goes with delta for whatever is rho-zCDP; infinite for delta 0.

    >>> rho_to_epsilon(rho=0.1, delta=1e-6)
    2.141938928385474

    Guarantee:
        Neighbours: those of the rho that came in.
        Loss: (epsilon, delta)-private.
        Numerics: every order gives a valid bound; a nearly best one is chosen with doubles, and
            its bound is rounded up from a certified ball.
        Proof: docs/proofs/composition.md, theorem 10 (Canonne, Kamath, Steinke 2020).
    """
    spent, target = read_amount("rho", rho), read_delta("delta", delta)
    if spent == 0:
        return 0.0
    if target == 0:
        return math.inf
    low, log = float(spent), -math.log(target)
    order = _crossing(lambda rest: rest * rest * low - log + math.log1p(rest))
    return epsilon_at_order(order=order, divergence=order * spent, delta=target)


def _crossing(slope: Callable[[float], float]) -> Fraction:
    """Return about the order at which the slope of a bound is 0, by halving in ln(order - 1)."""
    low, high = -80.0, 350.0
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(math.exp(middle)) < 0 else (low, middle)
    return 1 + Fraction(math.exp(high))


def epsilon_at_order(*, order: Fraction, divergence: Fraction, delta: Fraction) -> float:
    """Return the epsilon that goes with delta, from the Rényi divergence at one order above 1.

    Guarantee:
        Neighbours: those of the divergence that came in.
        Loss: (epsilon, delta)-private.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 10.
    """
    rest = order - 1

    def formula() -> Ball:
        gain = ball(rest / order).log() - ball(delta * order).log() / ball(rest)
        return ball(divergence) + gain

    return max(round_up(formula), 0.0)


def delta_at_order(*, order: Fraction, divergence: Fraction, epsilon: Fraction) -> float:
    """Return the delta that goes with epsilon, from the Rényi divergence at one order above 1.

    Guarantee:
        Neighbours: those of the divergence that came in.
        Loss: (epsilon, delta)-private.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 10.
    """
    rest = order - 1

    def formula() -> Ball:
        exponent = ball(rest) * (ball(divergence - epsilon) + ball(rest / order).log())
        return exponent.exp() / ball(order)

    return min(round_up(formula), 1.0)
