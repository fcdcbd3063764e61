# SPDX-License-Identifier: Apache-2.0
"""Bounded range: what it gains that the exponential mechanism moves all ratios the same way.

A mechanism is epsilon-BR if for all neighbours the logarithms of the ratios of the probabilities
of its outputs lie in an interval of length epsilon. The exponential mechanism is; a mechanism that
is merely epsilon-private has an interval of length 2 epsilon.

In the worst case of several steps whose scores are fixed beforehand, every step has the same two
outcomes, with log ratios t and t - width, and t is one of (at + (l + 1) width) / (times + 1) for
l = 0, 1, 2, ... These are the candidates. When there are many they are not all computed: doubles
find the worst one and exclude others by blocks. If t is anywhere between a and b, the two outcomes
can be computed from the outcomes of a step with log ratios b and a - width, which therefore has at
least the loss. What cannot be excluded is computed with certified balls.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sordino.numbers.balls import SMALLEST, Ball, ball, round_up
from sordino.numbers.rational import Number, positive, reading
from sordino.privacy.repeated import at_most
from sordino.privacy.search import crossing, epsilon_above, least_epsilon_up_to, log
from sordino.privacy.theorems.arguments import (
    EpsilonDelta,
    exactly_one,
    read_amount,
    read_delta,
    read_times,
    rounded,
)
from sordino.privacy.theorems.conversions import rho_to_delta, rho_to_epsilon
from sordino.privacy.theorems.responses import optimal

MOST_SEARCHED = 10**6  # steps
WIDEST_SEARCHED = 300
_ALL = 32  # so many candidates are all computed
_MOST_CERTIFIED = 32
_MOST_TRIED = 1500
_REACH = 60.0  # what is less likely by this, as a logarithm, is left out


def worst_delta(width: Fraction, times: int, at: Fraction) -> float:
    """Return the least delta for steps of bounded range; ``at`` is below times * width."""
    many = math.ceil(times - at / width)

    def certified(candidate: int) -> float:
        return round_up(lambda: _exact(width, times, at, candidate))

    found, most = list(range(many)), 0.0
    if many > _ALL:
        found, most = _search(float(width), times, float(at), many)
    delta = max(map(certified, found)) if found else math.exp(min(most, 0.0))
    return min(max(delta, SMALLEST), 1.0)


def _exact(width: Fraction, times: int, at: Fraction, candidate: int) -> Ball:
    """Return the delta of a candidate, counting how often the smaller log ratio occurs."""
    t = (at + (candidate + 1) * width) / (times + 1)
    larger = ball(t - width).expm1() / ball(-width).expm1()
    smaller = ball(t).expm1() / ball(width).expm1()
    seen = at_most(candidate, times=times, chance=smaller, rest=larger)
    smaller = ball(-t).expm1() / ball(-width).expm1()
    other = at_most(candidate, times=times, chance=smaller, rest=larger * ball(-t).exp())
    return seen - ball(at).exp() * other


def _search(width: float, times: int, at: float, many: int) -> tuple[list[int], float]:
    """Return all candidates that may be the worst; or none, and a bound on the log of delta.

    Blocks of candidates are split where their bound is largest, until all bounds are below the
    best value found. If this takes too long, the largest bound is the answer.
    """
    margin = 2e-9 + 1e-14 * times * (1 + width)  # the comment in _log_delta derives it

    def bound(first: int, last: int) -> float:
        return _bound(width, times, at, first, last)

    tried: dict[int, float] = {}

    def value(candidate: int) -> float:
        if candidate not in tried:
            tried[candidate] = bound(candidate, candidate)
        return tried[candidate]

    best = value(_climb(value, many))
    blocks = [(-bound(0, many - 1), 0, many - 1)]
    while blocks and -blocks[0][0] >= best - 2 * margin:
        if len(tried) > _MOST_TRIED:
            return [], max(best, -blocks[0][0]) + 2 * margin
        _, first, last = heapq.heappop(blocks)
        middle = (first + last) // 2
        best = max(best, value(middle))
        for ends in ((first, middle - 1), (middle + 1, last)):
            if ends[0] <= ends[1]:
                heapq.heappush(blocks, (-bound(*ends), *ends))
    found = [candidate for candidate, log in tried.items() if log >= best - 2 * margin]
    return (found, best) if len(found) <= _MOST_CERTIFIED else ([], best + 2 * margin)


def rough_log_delta(width: float, times: int, at: float) -> float:
    """Return about the log of the least delta: of the worst candidate that is found at once."""
    many = math.ceil(times - at / width)

    def value(candidate: int) -> float:
        return _bound(width, times, at, candidate, candidate)

    return value(_climb(value, many)) if many > 0 else -math.inf


def _bound(width: float, times: int, at: float, first: int, last: int) -> float:
    """Bound the log of delta for all candidates of a block, with some room for roundings."""
    low, high = ((at + (candidate + 1) * width) / (times + 1) for candidate in (first, last))
    room = 1e-15 * width
    return _log_delta(width + (high - low) + 2 * room, times, at, high + room)


def _climb(value: Callable[[int], float], many: int) -> int:
    """Return a candidate with a large value, by looking ever closer around the best so far."""
    first, last = 0, many - 1
    while True:
        step = max((last - first) // 16, 1)
        best = max(range(first, last + 1, step), key=value)
        if step == 1:
            return best
        first, last = max(best - step, 0), min(best + step, many - 1)


def _log_delta(width: float, times: int, at: float, t: float) -> float:
    """Return about the log of the profile of steps with two outcomes, log ratios t, t - width."""
    # Errors of the result. The two chances are off by a few roundings times 1 + width, and enter
    # with an exponent that is at most ``times``: 2e-15 * times * (1 + width). So do the products in
    # _log_binomial, and the loss ``at - times * t + counts * width``. The ratios of neighbouring
    # terms, fewer than 4e4, add 1e-11. What is left out is less than e**-50 of what is not.
    chance, rest = math.expm1(t) / math.expm1(width), math.expm1(t - width) / math.expm1(-width)
    most = min(math.ceil((times * t - at) / width) - 1, times)
    limit = 2 * _REACH + math.sqrt(2 * _REACH * times * chance)
    start = min(most, int(times * chance + limit))
    if start < 0:
        return -math.inf
    falling = math.log((times - start + 1) * chance / (start * rest)) if start else 1.0
    if falling > 0:  # below the mode, where each term is less than the one before by this
        limit = min(limit, times * chance - start + _REACH / falling)
    stop = max(int(min(times * chance, start) - limit), 0)
    counts = np.arange(start, stop - 1, -1)
    steps = np.log(counts[:-1] / (times - counts[:-1] + 1)) + math.log(rest / chance)
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    gains = -np.expm1(np.minimum(at - times * t + counts * width, -SMALLEST))
    scale = float(logs.max())
    total = float((np.exp(logs - scale) * gains).sum())
    return _log_binomial(start, times, chance, rest) + scale + math.log(max(total, SMALLEST))


def _log_binomial(count: int, times: int, chance: float, rest: float) -> float:
    """Return the log of a binomial probability, by Stirling's series where factorials are large."""
    if count < 16 or times - count < 16:
        ways = math.lgamma(times + 1) - math.lgamma(count + 1) - math.lgamma(times - count + 1)
        return ways + count * math.log(chance) + (times - count) * math.log(rest)
    other = times - count
    far = count * math.log(count / (times * chance)) + other * math.log(other / (times * rest))
    tails = [1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) for n in (times, count, other)]
    spread = math.log(2 * math.pi * count * (other / times)) / 2
    return tails[0] - tails[1] - tails[2] - far - spread


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
