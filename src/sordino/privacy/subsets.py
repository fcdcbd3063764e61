# SPDX-License-Identifier: Apache-2.0
"""Randomized responses of different epsilons, exactly: by counting subsets with equal sums."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import accumulate

from sordino.numbers.balls import Ball, ball, bits

_MOST_SUMS = 2**14
_MOST_WORK = 2**20
_MOST_BITS = 2**24  # of all counts together


def subset_sums(steps: Mapping[Fraction, int]) -> dict[Fraction, int] | None:
    """Count the subsets of the steps by the sum of their epsilons; None if there are too many sums.

    >>> subset_sums({Fraction(1): 2, Fraction(3): 1}).values()
    dict_values([1, 2, 1, 1, 2, 1])
    """
    unit = Fraction(
        math.gcd(*(epsilon.numerator for epsilon in steps)),
        math.lcm(*(epsilon.denominator for epsilon in steps)),
    )
    counts, work, times = {0: 1}, 0, sum(steps.values())
    for epsilon, n in sorted(steps.items()):
        jump = int(epsilon / unit)
        work += len(counts) * (n + 1)
        if work > _MOST_WORK or (n + 1) * times > _MOST_BITS:
            return None
        ways = [math.comb(n, j) for j in range(n + 1)]
        longer: dict[int, int] = {}
        for place, count in counts.items():
            for j, way in enumerate(ways):
                here = place + j * jump
                longer[here] = longer.get(here, 0) + count * way
        counts = longer
        if len(counts) > _MOST_SUMS or len(counts) * times > _MOST_BITS:
            return None
    return {place * unit: counts[place] for place in sorted(counts)}


def exact_profile(
    steps: Mapping[Fraction, int], sums: Mapping[Fraction, int]
) -> Callable[[Fraction], Ball]:
    """Return the profile of randomized responses, one for each step, as a function of epsilon.

    If the answers in a subset are true and all others are lies, and its epsilons add up to a, then
    the loss is a minus the rest. Both masses are kept as running sums from the largest a down.
    """
    total = sum((n * epsilon for epsilon, n in steps.items()), start=Fraction(0))
    places = sorted(sums, reverse=True)
    below = [total - 2 * a for a in places]  # minus the loss, ascending

    @cache
    def masses(_precision: int) -> tuple[list[Ball], list[Ball]]:
        norm = ball(Fraction(1))
        for epsilon, n in steps.items():
            norm *= (1 + (-ball(epsilon)).exp()) ** n
        seen = [ball(sums[a]) * ball(a - total).exp() / norm for a in places]
        other = [ball(sums[a]) * ball(-a).exp() / norm for a in places]
        return list(accumulate(seen)), list(accumulate(other))

    def profile(at: Fraction) -> Ball:
        many = bisect_left(below, -at)  # how many sums have a loss above at
        if many == 0:
            return ball(Fraction(0))
        seen, other = masses(bits())
        return seen[many - 1] - ball(at).exp() * other[many - 1]

    return profile
