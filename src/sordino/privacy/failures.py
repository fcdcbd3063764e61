# SPDX-License-Identifier: Apache-2.0
"""The deltas of several steps: the chance that at least one of them fails altogether."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sordino.numbers.balls import Ball, ball, is_positive

_EXACT_BITS = 2**14  # products up to this size are compared exactly


@dataclass(frozen=True, slots=True)
class Failures:
    """Deltas, each with the number of steps that have it.

    A step with loss (epsilon, delta) is never worse than this: with probability delta it reveals
    everything, else it is a randomized response. If d belongs to all the randomized responses, the
    delta of the whole is 1 - (1 - d) times the product of all (1 - delta).
    """

    counts: Mapping[Fraction, int]

    def total(self, responses: Ball) -> Ball:
        """Return the delta of the whole from that of the randomized responses."""
        logarithm = self._log()
        return logarithm.exp() * responses - logarithm.expm1()

    def left(self, target: Fraction) -> Ball:
        """Return the delta that the randomized responses may have if the whole is to be target."""
        return -((-ball(target)).log1p() - self._log()).expm1()

    def room(self, target: Fraction) -> int:
        """Return the sign of ``left``: 1, 0 or -1."""
        bits = sum(n * delta.denominator.bit_length() for delta, n in self.counts.items() if delta)
        if bits <= _EXACT_BITS:
            kept = math.prod((1 - delta) ** n for delta, n in self.counts.items())
            return (kept > 1 - target) - (kept < 1 - target)
        # A product with such a large denominator is no number that anyone has typed.
        return 1 if is_positive(lambda: self.left(target)) else -1

    def _log(self) -> Ball:
        zero = 0 * ball(Fraction(0))
        return sum((n * (-ball(d)).log1p() for d, n in self.counts.items() if d), start=zero)
