# SPDX-License-Identifier: Apache-2.0
"""The loss of the exponential mechanism: all its losses lie in an interval of known length."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, probability_or_zero
from sordino.numbers.rounding import reading, up_as_printed
from sordino.privacy.leaf import BoundedLeaf, Floats
from sordino.privacy.profiles import (
    both_signs,
    order_of,
    short_of,
    whole_size,
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

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta; with delta 0 the bound."""
        target = probability_or_zero("delta", delta)
        if target == 0:
            return up_as_printed(self.bound)
        if reading(self._delta(Fraction(0))) <= target:
            return 0.0

        def formula() -> Ball:
            root = (ball(target) * -(-ball(self.bound)).expm1()).sqrt()
            return ball(self.bound) + 2 * (-root).log1p()

        return max(round_up(formula), 0.0)

    def renyi(self, *, order: float) -> float:
        """Return the largest Rényi divergence of this order."""
        at = order_of(order)
        if at is None:
            return up_as_printed(self.bound)

        def formula() -> Ball:
            low = -(-ball(self.bound)).expm1()  # 1 - s, where s = e^-bound
            high = -(-ball(at * self.bound)).expm1()  # 1 - s^order
            place = ball((at - 1) / at) * high / (high - low)  # e^t of the worst pair
            return place.log() + (high / low / ball(at)).log() / ball(at - 1)

        return round_up(formula)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""
        whole = -np.expm1(-float(self.bound))

        def ahead(at: Floats) -> Floats:
            part = -np.expm1(-np.maximum(short_of(self.bound, at), 0.0) / 2)
            found: Floats = part * (part / whole)
            return found

        return both_signs(epsilons, ahead, ahead)

    def group(self, size: int) -> BoundedRange:
        """Return the loss for neighbours that differ in ``size`` units."""
        return BoundedRange(epsilon=whole_size(size) * self.bound)

    def _delta(self, epsilon: Fraction) -> float:
        if epsilon >= self.bound:
            return 0.0

        def formula() -> Ball:
            part = ball((epsilon - self.bound) / 2).expm1()
            return part * part / -(-ball(self.bound)).expm1()

        return round_up(formula)
