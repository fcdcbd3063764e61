# SPDX-License-Identifier: Apache-2.0
"""Bounded range: what it gains that the exponential mechanism moves all ratios the same way.

A mechanism is epsilon-BR if for all neighbours the logarithms of the ratios of the probabilities
of its outputs lie in an interval of length epsilon. The exponential mechanism is; a mechanism that
is merely epsilon-private has an interval of length 2 epsilon.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, positive
from sordino.numbers.rounding import reading
from sordino.privacy.calibrate import crossing, epsilon_above, least_epsilon_up_to, log
from sordino.theorems.arguments import (
    EpsilonDelta,
    exactly_one,
    read_amount,
    read_delta,
    read_times,
    rounded,
)
from sordino.theorems.optimal import optimal
from sordino.theorems.range_search import (
    MOST_SEARCHED,
    WIDEST_SEARCHED,
    rough_log_delta,
    worst_delta,
)
from sordino.theorems.zcdp import rho_to_delta, rho_to_epsilon

_MANY = 10**4  # with more steps, epsilon is not computed to the last digit
_MOST_ENVELOPES = 64  # beyond this rho gives more, and the sum below needs many bits


def bounded_range(
    *,
    epsilon: Number,
    times: int = 1,
    adaptive: bool,
    at_epsilon: Number | None = None,
    at_delta: Number | None = None,
) -> EpsilonDelta:
    """Return the loss of several equal steps of bounded range, such as exponential mechanisms.

    Give ``at_epsilon`` to learn a delta that goes with it, or ``at_delta`` for an epsilon. Say
    with ``adaptive`` whether a step may depend on the answers to those before it, as when the k
    best are chosen one after the other. If not, all scores are fixed before the first answer.

    >>> bounded_range(epsilon=0.1, times=100, adaptive=False, at_delta=1e-6)
    EpsilonDelta(epsilon=2.2460262124561794, delta=1e-06)
    >>> bounded_range(epsilon=0.1, times=100, adaptive=True, at_delta=1e-6)
    EpsilonDelta(epsilon=2.4189096397045837, delta=1e-06)

    Guarantee:
        Neighbours: those of the range that came in.
        Loss: the steps together, with an epsilon that was fixed beforehand. If not adaptive, the
            least loss, up to a million steps. If adaptive, the least of three bounds: by the
            envelope (up to 64 steps), by rho, and by what holds for all epsilon-private steps.
        Numerics: rounded up, from certified balls, and exact to the last digit up to ten thousand
            steps that are not adaptive. With more, epsilon may be a relative 1e-5 too large; from
            some 300,000 on delta may be too large by a few percent.
        Proof: docs/proofs/composition.md, theorems 7 and 8 (Dong, Durfee, Rogers 2020).
    """
    exactly_one(at_epsilon=at_epsilon, at_delta=at_delta)
    width, steps = positive("epsilon", epsilon), read_times("times", times)
    known = not adaptive and steps <= MOST_SEARCHED and width <= WIDEST_SEARCHED

    def profile(at: Fraction) -> float:
        if at >= steps * width:
            return 0.0
        return (worst_delta if known else _envelope)(width, steps, at)

    if at_epsilon is not None:
        at = read_amount("at_epsilon", at_epsilon)
        found = profile(at) if known or steps <= _MOST_ENVELOPES else 1.0
        return EpsilonDelta(rounded(at), found if known else _least(width, steps, at, found))
    target = read_delta("at_delta", at_delta)
    epsilons = [rounded(steps * width)]
    if target and known and steps > _MANY:
        near = crossing(lambda at: _rough(width, steps, at), log(target), epsilons[0])
        epsilons.append(epsilon_above(profile, delta=target, near=near, pure=epsilons[0]))
    elif target and (known or steps <= _MOST_ENVELOPES):
        epsilons.append(least_epsilon_up_to(profile, delta=target, pure=epsilons[0]))
    if target and not known:
        epsilons.append(optimal(epsilon=width, times=steps, at_delta=target).epsilon)
        epsilons.append(rho_to_epsilon(rho=_rho(width, steps), delta=target))
    return EpsilonDelta(min(epsilons), rounded(target))


def _rough(width: Fraction, times: int, at: float) -> float:
    return max(rough_log_delta(float(width), times, at), -2000.0)


def _least(width: Fraction, times: int, at: Fraction, delta: float) -> float:
    """Return the least delta of all bounds that hold for adaptive steps."""
    private = optimal(epsilon=width, times=times, at_epsilon=at).delta
    return min(delta, private, rho_to_delta(rho=_rho(width, times), epsilon=at))


def _rho(width: Fraction, times: int) -> Fraction:
    return times * Fraction(reading(bounded_range_to_rho(epsilon=width)))


def bounded_range_delta(*, epsilon: Number, at_epsilon: Number) -> float:
    """Return the delta of one step of bounded range: the envelope.

    It is the profile of a pair of its own, with a density proportional to e^(a/2) for the loss a
    between -epsilon and epsilon. That pair may stand for the step wherever losses are composed,
    adaptively or not, with steps of any kind. A pair of two points may not: which one is the worst
    depends on everything else that is asked.

    >>> bounded_range_delta(epsilon=1, at_epsilon=0.5)
    0.07740468631569082

    Guarantee:
        Neighbours: those of the range that came in.
        Loss: (1 - e^((a - epsilon)/2))^2 / (1 - e^-epsilon) for a up to epsilon, then 0; no less.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 7.
    """
    width, at = positive("epsilon", epsilon), read_amount("at_epsilon", at_epsilon)
    if at >= width:
        return 0.0
    return round_up(lambda: ball((at - width) / 2).expm1() ** 2 / -ball(-width).expm1())


def bounded_range_to_rho(*, epsilon: Number) -> float:
    """Return the rho of a step of bounded range: x - 1 - ln x with x = epsilon / (e^epsilon - 1).

    It is about epsilon^2 / 8, a quarter of what a step that is merely epsilon-private costs.

    >>> bounded_range_to_rho(epsilon=1)
    0.12330156148224454

    Guarantee:
        Neighbours: those of the range that came in.
        Loss: rho-zCDP, and no smaller rho holds for all such steps.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 6; epsilon^2 / 8 is by Cesar and Rogers 2021.
    """
    width = positive("epsilon", epsilon)

    def formula() -> Ball:
        x = ball(width) / ball(width).expm1()
        return x - 1 - x.log()

    return round_up(formula)


def bounded_range_to_total_variation(*, epsilon: Number) -> float:
    """Return the largest total variation distance of a step of bounded range: tanh(epsilon / 4).

    >>> bounded_range_to_total_variation(epsilon=1)
    0.24491866240370913

    Guarantee:
        Neighbours: those of the range that came in.
        Loss: no event is more likely by more than this; it is the envelope at 0.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/composition.md, theorem 7.
    """
    width = positive("epsilon", epsilon)

    def formula() -> Ball:
        return (ball(width) / 4).tanh()

    return round_up(formula)


def _envelope(width: Fraction, times: int, at: Fraction) -> float:
    """Return the profile of the envelope pair, composed with itself."""
    return min(round_up(lambda: _piecewise(width, times, at)), 1.0)


def _piecewise(width: Fraction, times: int, at: Fraction) -> Ball:
    """Integrate over the sum of the losses, whose density is a piecewise polynomial times exp."""
    half = ball(Fraction(times, 2) * width)
    result = 0 * half
    for j in range(math.ceil((times * width - at) / (2 * width))):
        length = times * width - at - 2 * j * width
        lifted = half - ball(j * width)
        seen = lifted.exp() * _power(length, times, Fraction(-1, 2))
        other = (ball(at) - lifted).exp() * _power(length, times, Fraction(1, 2))
        result += (-1) ** j * ball(Fraction(math.comb(times, j))) * (seen - other)
    return result / (4 * (ball(width) / 2).sinh()) ** times


def _power(length: Fraction, times: int, rate: Fraction) -> Ball:
    """Integrate u^(times-1) e^(rate u) / (times-1)! over u from 0 to ``length``."""
    order = ball(Fraction(times))
    area = ball(length) ** times / ball(Fraction(math.factorial(times)))
    return area * ball(rate * length).hypgeom_1f1(order, order + 1)
