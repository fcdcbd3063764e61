# SPDX-License-Identifier: Apache-2.0
"""From zero-concentrated privacy, and from one Rényi order, to epsilon and delta."""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.numbers.balls import Ball, ball, round_up

_HALVINGS = 60


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
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rest = math.exp(middle)
        slope = (2 * rest + 1) * rho - epsilon - math.log1p(1 / rest)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return 1 + Fraction(math.exp(high))


def epsilon_from_rho(*, rho: Fraction, delta: Fraction) -> float:
    """Return an epsilon such that whatever is rho-zCDP is (epsilon, delta)-private.

    >>> epsilon_from_rho(rho=Fraction(1, 10), delta=Fraction(1, 10**6))
    2.141938928385474

    Guarantee:
        Neighbours: those of the rho that came in.
        Loss: epsilon for this delta, for every mechanism that is rho-zCDP.
        Numerics: every order gives a valid bound; a nearly best one is found with doubles, and its
            bound is rounded up from a certified ball.
        Proof: docs/proofs/budgets.md, theorem 3 (Canonne, Kamath, Steinke 2020).
    """
    if rho == 0:
        return 0.0
    order = 1 + Fraction(math.exp(_log_of_best(_log(rho), _minus_log(delta))))
    return epsilon_from_renyi(renyi=order * rho, order=order, delta=delta)


def epsilon_from_renyi(*, renyi: Fraction, order: Fraction, delta: Fraction) -> float:
    """Return an epsilon that goes with delta when one Rényi divergence is at most ``renyi``.

    >>> epsilon_from_renyi(renyi=Fraction(1), order=Fraction(16), delta=Fraction(1, 10**6))
    1.6716562679107285

    Guarantee:
        Neighbours: those of the divergence that came in.
        Loss: epsilon for this delta, for every mechanism whose Rényi divergence of this order is
            at most ``renyi``, both ways round.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/budgets.md, theorem 3 (Canonne, Kamath, Steinke 2020).
    """
    rest = order - 1

    def formula() -> Ball:
        return ball(renyi) + ball(rest / order).log() - ball(delta * order).log() / ball(rest)

    return max(0.0, round_up(formula))


def _log_of_best(log_rho: float, log_slack: float) -> float:
    """Solve rho x^2 + ln(1 + x) = ln(1/delta) for x, the best order less 1, by halving in ln x."""
    wanted = max(log_slack, 1e-300)
    high = min((math.log(wanted) - log_rho) / 2, 700.0)
    low = min(high, math.log(wanted)) - 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = math.exp(2 * middle + log_rho) + math.log1p(math.exp(middle))
        low, high = (middle, high) if reached < wanted else (low, middle)
    return high


def _log(x: Fraction) -> float:
    """Return about the logarithm, also of what is no double any more."""
    return math.log(x.numerator) - math.log(x.denominator)


def _minus_log(delta: Fraction) -> float:
    """Return about the logarithm of 1/delta, also very close to 1."""
    return -math.log1p(-float(1 - delta)) if 2 * delta > 1 else -_log(delta)
