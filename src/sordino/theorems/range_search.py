# SPDX-License-Identifier: Apache-2.0
"""The worst case of several steps of bounded range whose scores are fixed beforehand.

In the worst case every step has the same two outcomes, with log ratios t and t - width, and t is
one of (at + (l + 1) width) / (times + 1) for l = 0, 1, 2, ... These are the candidates.

When there are many they are not all computed. Doubles find the worst one and exclude others by
blocks: if t is anywhere between a and b, the two outcomes can be computed from the outcomes of a
step with log ratios b and a - width, which therefore has at least the loss. What cannot be excluded
is computed with certified balls.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sordino.numbers.balls import SMALLEST, Ball, ball, round_up
from sordino.privacy.repeated import at_most

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
