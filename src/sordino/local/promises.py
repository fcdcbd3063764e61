# SPDX-License-Identifier: Apache-2.0
"""What a search for frequent words promises: bounds that hold before anything is collected.

Five things can go wrong: a level has too few people, a rare prefix too many of them, a rare prefix
or a frequent one has bad luck with its coins, or an interval fails. Each gets a fifth of the chance
that is left to be wrong, and each bound below falls as the number of people grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

_CAUSES = 5


@dataclass(frozen=True)
class Promises:
    """The bounds of a search, for the chances of a report and a confidence.

    ``truth`` and ``other`` are the chances that a report supports its own prefix and another one,
    ``least`` is the share below which nothing is to be found, and ``candidates`` is how many
    prefixes at most are looked at on one of the ``levels``.

    >>> promises = Promises(
    ...     truth=0.5,
    ...     other=0.12,
    ...     least=0.001,
    ...     levels=8,
    ...     candidates=27_000,
    ...     confidence=Fraction(95, 100),
    ... )
    >>> round(promises.threshold(1_000_000), 4), promises.threshold(10)
    (0.0271, inf)

    Guarantee: none needed; public inputs only.
    """

    truth: float
    other: float
    least: float
    levels: int
    candidates: int
    confidence: Fraction

    @property
    def each(self) -> float:
        """The chance that is given to each cause of failure."""
        return float((1 - self.confidence) / _CAUSES)

    def threshold(self, people: int) -> float:
        """Return a share such that all words that so many of the people hold are found.

        It is infinite if there are too few people for any promise.

        Guarantee: none needed; public inputs only.
        """
        return self.reach(self.size(people))

    def size(self, people: int) -> float:
        """Return how many people there are at least on every level.

        Guarantee: none needed; public inputs only.
        """
        if self.levels == 1:
            return people
        share, nats = 1 / self.levels, math.log(self.levels / self.each) / people
        if -math.log1p(-share) < nats:
            return 0.0
        off = _least(lambda off: divergence(share - off, share) >= nats, 0.0, share)
        return people * (share - off)

    def crowd(self, size: float) -> float:
        """Return the share of a level that a prefix which is rare among all people stays below.

        Guarantee: none needed; public inputs only.
        """
        nats = math.log(self.levels / (self.each * self.least)) / size
        return max(_above(self.least, nats), self.least + 1 / size)

    def cut(self, size: float) -> float:
        """Return the share of a level whose support a prefix needs to be kept.

        It is infinite if none could be told from noise.

        Guarantee: none needed; public inputs only.
        """
        if size <= 0 or (crowd := self.crowd(size)) >= 1:
            return math.inf
        nats = math.log(self.levels * self.candidates / self.each) / size
        return _above(self._mean(crowd), nats)

    def reach(self, size: float) -> float:
        """Return a share such that all prefixes that so many of all people have are kept.

        Guarantee: none needed; public inputs only.
        """
        cut = self.cut(size)

        def is_kept(share: float) -> bool:
            mean = self._mean(share)
            nats = math.log(self.levels / (share * self.each)) / size
            return mean > cut and divergence(cut, mean) >= nats

        if not self.truth > cut or not is_kept(1.0):
            return math.inf
        return _least(is_kept, self.least, 1.0)

    def _mean(self, share: float) -> float:
        return self.other + share * (self.truth - self.other)


def divergence(x: float, mean: float) -> float:
    """Return the Kullback-Leibler divergence of a coin of chance x from one of chance mean.

    >>> divergence(0.5, 0.5), round(divergence(1.0, 0.5), 12) == round(math.log(2), 12)
    (0.0, True)

    Guarantee: none needed; public inputs only.
    """
    off = x - mean
    ones = x * math.log1p(off / mean) if x > 0 else 0.0
    zeros = (1 - x) * math.log1p(-off / (1 - mean)) if x < 1 else 0.0
    return max(ones + zeros, 0.0)


def _above(mean: float, nats: float) -> float:
    """Return the least number above the mean that diverges so far; infinity if there is none."""
    if -math.log(mean) < nats:
        return math.inf
    return _least(lambda x: divergence(x, mean) >= nats, mean, 1.0)


def _least(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least double at which something holds that holds at ``high`` and from then on."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
