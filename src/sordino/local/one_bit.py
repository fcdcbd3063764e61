# SPDX-License-Identifier: Apache-2.0
"""Numbers of a range, each reported by a single bit."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sordino.local.numbers import Channel, NumberProtocol
from sordino.local.scale import Places
from sordino.numbers.confidence import mean_limits
from sordino.privacy import losses
from sordino.privacy.loss import Loss
from sordino.randomness.coins import Coins, below_many
from sordino.randomness.entropy import Bits

_MARGIN = 1e-9  # More than the doubles of a limit can be off.


class OneBit(NumberProtocol):
    """The protocol of Duchi, Jordan and Wainwright: one bit, the likelier 1 the larger the number.

    At place j of the grid the bit is 1 with the chance (1 + (odds - 1) j / steps) / (odds + 1).
    The variance is largest in the middle of the range. Up to an epsilon of 1.18 it is there below
    the largest of Piecewise, and beyond it is above.

    >>> protocol = OneBit(0, 100, epsilon=1)
    >>> protocol, round(protocol.standard_error(10_000), 4)
    (<one bit: 0 to 100, epsilon 1>, 1.082)

    Guarantee:
        Neighbours: any two numbers of one person.
        Loss: randomized response with two answers: epsilon for the ends of the range, and less
            for numbers that are closer.
        Numerics: every probability is a fraction, and drawn exactly.
        Proof: docs/proofs/local_numbers.md, theorem 1.
    """

    words = "one bit"

    @cached_property
    def _lies(self) -> Coins:
        return Coins(1 / (self.odds + 1))

    @property
    def outputs(self) -> int:
        """How many different reports there are."""
        return 2

    @property
    def gain(self) -> Fraction:
        """The mean of 2 report - 1 at the high end of the range."""
        return (self.odds - 1) / (self.odds + 1)

    @property
    def loss(self) -> Loss:
        """What one report can reveal."""
        return losses.randomized_response(epsilon=self.epsilon, categories=2)

    def draw(self, places: Places, bits: Bits) -> npt.NDArray[np.uint8]:
        """Return one bit for each place: a coin that is fair to the mean, then perhaps a lie."""
        told = below_many(self.scale.steps, places.size, bits) < places
        told ^= self._lies.many(places.size, bits)
        return told.view(np.uint8)

    def channel(self) -> Channel:
        """Return, for both bits, their chance given each place of the grid."""
        steps, odds = self.scale.steps, self.odds
        ones = tuple((1 + (odds - 1) * Fraction(j, steps)) / (odds + 1) for j in range(steps + 1))
        return {0: tuple(1 - one for one in ones), 1: ones}

    def unit_variance(self, place: Fraction | None) -> Fraction:
        """Return the variance of one person's estimate where the range is from -1 to 1."""
        t = 0 if place is None else 2 * place / self.scale.steps - 1
        return 1 / self.gain**2 - t * t

    def unit_limits(
        self, people: int, total: int, squares: int, confidence: Fraction
    ) -> tuple[float, float]:
        """Return limits of the mean where the range is from -1 to 1."""
        del squares  # they are all 1
        low, high = mean_limits((total + people) // 2, people, float(1 - confidence))
        gain = float(self.gain)
        return (2 * float(low) - 1 - _MARGIN) / gain, (2 * float(high) - 1 + _MARGIN) / gain
