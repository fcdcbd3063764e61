# SPDX-License-Identifier: Apache-2.0
"""Repeat and select: run a private mechanism a random number of times and keep the best result.

The number of runs is drawn, kept secret, and does not depend on the data. It is either truncated
negative binomial with parameters eta > -1 and 0 < gamma < 1, which is at least 1 (geometric for
eta = 1, logarithmic for eta = 0), or Poisson, which may be 0: then there is no result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import (
    Number,
    one_of,
    positive,
    positive_whole,
    probability,
    read_signed,
    reading,
)
from sordino.privacy.orders import Curve, ask
from sordino.privacy.theorems.arguments import read_amount, rounded
from sordino.privacy.theorems.conversions import renyi_to_delta

_OTHER_ORDERS = [1.0, *(1 + 2.0 ** (j / 4) for j in range(-24, 81))]
_DOUBLINGS = 12
_ROUNDS = 32
_GOLDEN = (math.sqrt(5) - 1) / 2


def repeat_and_select(*, epsilon: Number, eta: Number) -> float:
    """Return the epsilon of the best of so many runs, drawn from a truncated negative binomial.

    It is (2 + eta) epsilon: 3 epsilon for a geometric number of runs, 2 epsilon for a logarithmic
    one. The number of runs expected does not matter.

    >>> repeat_and_select(epsilon=0.1, eta=1)
    0.3

    Guarantee:
        Neighbours: those of the epsilon that came in.
        Loss: epsilon-private, if the number of runs is drawn exactly and nobody learns it.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorem 14 (Papernot and Steinke 2022).
    """
    return rounded((2 + _read_eta(eta)) * read_amount("epsilon", epsilon))


def repeat_fixed(*, epsilon: Number, times: int) -> float:
    """Return the epsilon of the best of a fixed number of runs: times epsilon.

    Choosing the best is post-processing of all results, so nothing is cheaper than publishing them.

    >>> repeat_fixed(epsilon=0.1, times=100)
    10.0

    Guarantee:
        Neighbours: those of the epsilon that came in.
        Loss: epsilon-private.
        Numerics: exact, rounded up.
        Proof: docs/proofs/composition.md, theorems 1 and 2.
    """
    return rounded(positive_whole("times", times) * read_amount("epsilon", epsilon))


def repeat_and_select_renyi(*, curve: Curve, order: Number, eta: Number, gamma: Number) -> float:
    """Return the Rényi divergence of the best of so many runs, truncated negative binomial.

    With e the curve at the order a, and f the curve at another order b, it is
    e + (1 + eta) (1 - 1/b) f + (1 + eta) ln(1/gamma) / b + ln(expected runs) / (a - 1), for the
    best b. A smaller bound at a larger order holds at this one too.

    >>> laplace = lambda order: 0.1
    >>> repeat_and_select_renyi(curve=laplace, order=1000, eta=1, gamma=0.1)
    0.3000053265282213

    Guarantee:
        Neighbours: those of the curve that came in.
        Loss: the divergence at ``order``, which is above 1, if the number of runs is drawn exactly
            and nobody learns it.
        Numerics: every b gives a valid bound; the best of a list is chosen with doubles, and its
            bound is rounded up from a certified ball. The curve must round up by itself.
        Proof: docs/proofs/composition.md, theorem 14 (Papernot and Steinke 2022, theorem 2).
    """
    at, shape, share = _read_order(order), _read_eta(eta), probability("gamma", gamma)
    log = -math.log(share)
    seen: dict[float, float] = {1.0: 0.0}

    def drawn(b: float) -> float:
        if b not in seen:
            seen[b] = ask(curve, b)
        return (1 - 1 / b) * seen[b] + log / b

    best = _least_place(drawn, _OTHER_ORDERS)
    there = Fraction(reading(best)), Fraction(reading(seen[best]))

    def bound(a: Fraction) -> float:
        here = Fraction(reading(ask(curve, float(a))))

        def formula() -> Ball:
            drawn = -ball(share).log() / ball(there[0]) + ball((1 - 1 / there[0]) * there[1])
            runs = _expected(shape, share).log() / ball(a - 1)
            return ball(here) + ball(1 + shape) * drawn + runs

        return round_up(formula)

    return _least_above(bound, curve, at)


def repeat_and_select_poisson(
    *,
    curve: Curve,
    order: Number,
    mean: Number,
    form: Literal["printed", "tight"] = "printed",
) -> float:
    """Return the Rényi divergence of the best of so many runs, Poisson.

    With e the curve at the order a, and d the delta that goes with ln(a / (a - 1)), it is
    e + mean d + ln(mean) / (a - 1). For a mean below 1 the logarithm would be negative, and the
    bound false: it counts as 0. ``form="tight"`` gives a smaller bound that holds for every mean,
    ln(1 + mean e^((a - 1) mean d) (e^((a - 1) e) - 1)) / (a - 1).

    >>> gauss = lambda order: order * 0.01
    >>> repeat_and_select_poisson(curve=gauss, order=2, mean=20)
    0.9680517578262471
    >>> repeat_and_select_poisson(curve=gauss, order=2, mean=20, form="tight")
    0.3393449073125654

    Guarantee:
        Neighbours: those of the curve that came in.
        Loss: the divergence at ``order``, which is above 1, if the number of runs is drawn exactly
            and nobody learns it, except that there is no result if it is 0.
        Numerics: rounded up, from a certified ball. The curve must round up by itself.
        Proof: docs/proofs/composition.md, theorem 15 (Papernot and Steinke 2022, theorem 6).
    """
    one_of("form", form, ("printed", "tight"))
    at, runs = _read_order(order), positive("mean", mean)

    def bound(a: Fraction) -> float:
        here, rest = Fraction(reading(ask(curve, float(a)))), a - 1
        # A smaller epsilon has a larger delta, so rounding down is the safe side.
        price = -round_up(lambda: -ball(1 / rest).log1p())
        lost = Fraction(reading(renyi_to_delta(curve=curve, epsilon=max(price, 0.0))))

        def printed() -> Ball:
            logarithm = ball(max(runs, Fraction(1))).log()
            return ball(here + runs * lost) + logarithm / ball(rest)

        def tight() -> Ball:
            factor = ball(runs) * ball(rest * runs * lost).exp()
            return (factor * ball(rest * here).expm1()).log1p() / ball(rest)

        return round_up(printed if form == "printed" else tight)

    return _least_above(bound, curve, at)


def _least_above(bound: Callable[[Fraction], float], curve: Curve, order: Fraction) -> float:
    """Return the least bound at this and some larger orders: divergences grow with the order."""
    first = 1 + float(order - 1) * (1 + 1e-12)

    def at(a: float) -> float:
        return bound(Fraction(reading(a))) if math.isfinite(ask(curve, a)) else math.inf

    orders = [1 + (first - 1) * 2.0**j for j in range(_DOUBLINGS)]
    here = bound(order) if math.isfinite(ask(curve, float(order))) else math.inf
    return min(here, at(_least_place(at, orders)))


def _least_place(value: Callable[[float], float], places: list[float]) -> float:
    """Return about the place of the least value, between neighbours of the best of some places."""
    best = min(range(len(places)), key=lambda j: value(places[j]))
    low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
    tried = [places[best]]
    for _ in range(_ROUNDS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        tried += [left, right]
        low, high = (low, right) if value(left) <= value(right) else (left, high)
    return min(tried, key=value)


def expected_runs(*, eta: Number, gamma: Number) -> float:
    """Return how many runs a truncated negative binomial number is on average.

    >>> expected_runs(eta=1, gamma=0.1), expected_runs(eta=0, gamma=0.1)
    (10.0, 3.9086503371292665)
    """
    shape, share = _read_eta(eta), probability("gamma", gamma)
    if shape == 1:
        return rounded(1 / share)
    return round_up(lambda: _expected(shape, share))


def _expected(eta: Fraction, gamma: Fraction) -> Ball:
    if eta == 0:
        return ball(1 / gamma - 1) / -ball(gamma).log()
    return ball(eta * (1 - gamma) / gamma) / -(ball(eta) * ball(gamma).log()).expm1()


def _read_eta(eta: Number) -> Fraction:
    shape = read_signed("eta", eta)
    if shape <= -1:
        raise ValueError(f"eta must be above -1, got {eta}")
    return shape


def _read_order(order: Number) -> Fraction:
    at = positive("order", order)
    if at <= 1:
        raise ValueError(f"order must be above 1, got {order}")
    return at
