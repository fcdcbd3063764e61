# SPDX-License-Identifier: Apache-2.0
"""The loss of discrete Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino.exact.balls import Ball, ball, round_up
from sordino.exact.rational import Number, nonnegative, probability_or_zero
from sordino.exact.rounding import reading, up_as_printed
from sordino.privacy.calibrate import least_double


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace:
    """The loss of noise with P(x) proportional to exp(-eta abs(x)) on a value that moves by shift.

    The dominating pair is the noise around 0 against the noise around ``shift``.

    >>> loss = DiscreteLaplace(eta=Fraction(1, 10), shift=3)
    >>> loss.epsilon(delta=0)
    0.3

    Guarantee:
        Neighbours: any change to the data that moves the value, an integer or a vector of integers
            with independent noise on each coordinate, by at most ``shift`` in the L1 norm.
        Loss: pure, eta times shift. The profile and rho are those of the dominating pair, exactly,
            and no smaller or divided shift has a larger one.
        Numerics: doubles rounded up, from certified balls; a double is read as it prints.
        Proof: docs/proofs/laplace.md, theorems 1 to 4.
    """

    eta: Fraction
    shift: int

    def __post_init__(self) -> None:
        if not isinstance(self.eta, Fraction) or self.eta <= 0:
            raise ValueError("eta must be a positive Fraction")
        if not isinstance(self.shift, int) or self.shift <= 0:
            raise ValueError("shift must be a positive int")

    @property
    def rho(self) -> float:
        """The least rho for which the noise is rho-zCDP."""
        eta, pure = self.eta, self.eta * self.shift
        return round_up(lambda: ball(pure) + ball(eta) * (-ball(pure)).expm1() / ball(eta).sinh())

    def delta(self, *, epsilon: Number) -> float:
        """Return the least delta that goes with epsilon."""
        return self._delta(nonnegative("epsilon", epsilon))

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta; with delta 0 the pure loss."""
        target = probability_or_zero("delta", delta)
        pure = up_as_printed(self.eta * self.shift)
        if target == 0:
            return pure
        near = pure + 2 * math.log1p(-float(target))
        return least_double(lambda e: reading(self._delta(e)) <= target, near=near, high=pure)

    def _delta(self, epsilon: Fraction) -> float:
        eta, shift = self.eta, self.shift
        if epsilon >= eta * shift:
            return 0.0
        # The outputs whose loss exceeds epsilon are those from ``first`` on.
        first = math.floor((epsilon / eta + shift) / 2) + 1

        def formula() -> Ball:
            far = (-ball(eta * (shift - first + 1))).exp()
            near = ball(epsilon - eta * first).exp()
            return 1 - (far + near) / (1 + (-ball(eta)).exp())

        return round_up(formula)
