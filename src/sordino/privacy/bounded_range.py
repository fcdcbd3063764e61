# SPDX-License-Identifier: Apache-2.0
"""The loss of the exponential mechanism: all its losses lie in an interval of known length."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino.numbers.balls import Ball, ball, round_up
from sordino.privacy.leaf import (
    BoundedLeaf,
    Floats,
    short_of,
)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class BoundedRange(BoundedLeaf):
    """The loss of a mechanism whose losses, for any two neighbours, differ by at most ``bound``.

    Where in [-bound, bound] they lie depends on the neighbours. So there is no single worst pair;
    the dominating pair is the one whose profile is the largest at every epsilon.

    >>> loss = BoundedRange(epsilon=Fraction(1))
    >>> loss.delta(epsilon=0.5), loss.rho
    (0.07740468631569082, 0.12330156148224454)

    Guarantee:
        Neighbours: those between which the logarithms of all probabilities change by amounts that
            differ by at most ``bound``, as for the exponential mechanism.
        Loss: the least profile that dominates all such mechanisms, in any composition. rho and the
            Rényi divergences are the largest among them, which is less than those of the pair.
        Numerics: doubles rounded up, from certified balls; a double is read as it prints.
        Proof: docs/proofs/leaves.md, theorems 3 and 4 (Dong, Durfee, Rogers 2020).
    """

    @property
    def rho(self) -> float:
        """The least rho for which all such mechanisms are rho-zCDP."""

        def formula() -> Ball:
            x = ball(self.bound) / ball(self.bound).expm1()
            return x - 1 - x.log()

        return round_up(formula)

    def _ahead(self, epsilons: Floats) -> Floats:
        whole = -np.expm1(-float(self.bound))
        part = -np.expm1(-np.maximum(short_of(self.bound, epsilons), 0.0) / 2)
        found: Floats = part * (part / whole)
        return found

    def _delta_ball(self, epsilon: Fraction) -> Ball:
        part = ball((epsilon - self.bound) / 2).expm1()
        return part * part / -(-ball(self.bound)).expm1()

    def _epsilon_ball(self, delta: Fraction) -> Ball:
        root = (ball(delta) * -(-ball(self.bound)).expm1()).sqrt()
        return ball(self.bound) + 2 * (-root).log1p()

    def _renyi_ball(self, order: Fraction) -> Ball:
        low = -(-ball(self.bound)).expm1()  # 1 - s, where s = e^-bound
        high = -(-ball(order * self.bound)).expm1()  # 1 - s^order
        place = ball((order - 1) / order) * high / (high - low)  # e^t of the worst pair
        return place.log() + (high / low / ball(order)).log() / ball(order - 1)
