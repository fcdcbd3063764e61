# SPDX-License-Identifier: Apache-2.0
"""From one measure of privacy loss to another: pure, Rényi, zCDP, and sampled losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Literal

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, one_of, positive, reading
from sordino.privacy.orders import Curve, ask, best_order, delta_value, epsilon_value
from sordino.privacy.theorems.arguments import EpsilonDelta, pair, read_amount, read_delta


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

    Guarantee: as for ``rho_to_delta``.
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
    0.008933245771818359

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


def pure_to_renyi(*, epsilon: Number, order: Number) -> float:
    """Return the largest Rényi divergence of whatever is epsilon-private.

    It is (ln cosh((a - 1/2) epsilon) - ln cosh(epsilon / 2)) / (a - 1) for the order a. At order 1
    this is the Kullback-Leibler divergence, epsilon tanh(epsilon / 2).

    >>> pure_to_renyi(epsilon=1, order=2)
    0.7353256640555194

    Guarantee:
        Neighbours: those of the epsilon that came in.
        Loss: the divergence in both directions, for every order from 1 on.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 9.
    """
    price, at = read_amount("epsilon", epsilon), positive("order", order)
    if at < 1:
        raise ValueError(f"order must be at least 1, got {order}")

    def log_cosh(x: Fraction) -> Ball:
        return ball(x) + (-2 * ball(x)).exp().log1p()  # less ln 2, which cancels

    if at == 1:
        return round_up(lambda: ball(price) * (ball(price) / 2).tanh())
    half = Fraction(1, 2)
    return round_up(lambda: (log_cosh((at - half) * price) - log_cosh(half * price)) / ball(at - 1))


def pure_to_total_variation(*, epsilon: Number, delta: Number = 0) -> float:
    """Return by how much the probability of an event can differ: delta + (1 - delta) tanh(eps/2).

    >>> pure_to_total_variation(epsilon=1)
    0.4621171572600098

    Guarantee:
        Neighbours: those of the loss that came in.
        Loss: the total variation distance of whatever is (epsilon, delta)-private.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 9.
    """
    price, lost = read_amount("epsilon", epsilon), read_delta("delta", delta)
    return round_up(lambda: ball(lost) + ball(1 - lost) * (ball(price) / 2).tanh())


def pure_to_chi_squared(*, epsilon: Number) -> float:
    """Return the largest chi-squared divergence: (e^epsilon - 1)^2 e^-epsilon.

    >>> pure_to_chi_squared(epsilon=1)
    1.0861612696304876

    Guarantee:
        Neighbours: those of the epsilon that came in.
        Loss: the divergence of whatever is epsilon-private, in both directions.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 9.
    """
    price = read_amount("epsilon", epsilon)
    return round_up(lambda: 4 * (ball(price) / 2).sinh() ** 2)


_PAIRS = {"poisson": "add_remove", "without_replacement": "replace_one"}


def subsampled(
    *,
    epsilon: Number,
    delta: Number = 0,
    rate: Number,
    sampling: Literal["poisson", "without_replacement"],
    neighbours: Literal["add_remove", "replace_one"],
) -> EpsilonDelta:
    """Return the loss of a mechanism that is run on a random sample of the units.

    The result is (ln(1 + q (e^epsilon - 1)), q delta) for the rate q, in two cases: each unit is
    taken by a coin of its own, and units are added or removed; or a fixed number of units is drawn
    without replacement, m of n with q = m / n, and units are replaced. In both cases the loss of
    the mechanism is for the same relation. The other two pairs need other bounds and are refused.

    >>> subsampled(epsilon=1, rate=0.01, sampling="poisson", neighbours="add_remove")
    EpsilonDelta(epsilon=0.01703686323617655, delta=0.0)

    Guarantee:
        Neighbours: one unit added or removed, or one replaced, as ``neighbours`` says.
        Loss: (epsilon, delta)-private, if nobody learns which units were in the sample.
        Numerics: epsilon from a certified ball, delta exact; both rounded up.
        Proof: docs/proofs/composition.md, theorem 13 (Balle, Barthe, Gaboardi 2018).
    """
    one_of("sampling", sampling, tuple(_PAIRS))
    one_of("neighbours", neighbours, ("add_remove", "replace_one"))
    price, lost = read_amount("epsilon", epsilon), read_delta("delta", delta)
    share = positive("rate", rate)
    if share > 1:
        raise ValueError(f"rate must be at most 1, got {rate}")
    if neighbours != _PAIRS[sampling]:
        raise ValueError(
            f"{sampling} sampling is amplified for neighbours {_PAIRS[sampling]!r} only: "
            f"with {neighbours!r} this bound is not proved"
        )

    def formula() -> Ball:
        return (ball(share) * ball(price).expm1()).log1p()

    return pair(round_up(formula), share * lost)
