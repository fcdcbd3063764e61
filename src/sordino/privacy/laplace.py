# SPDX-License-Identifier: Apache-2.0
"""The loss of Laplace noise on the real line."""

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
class ContinuousLaplace(BoundedLeaf):
    """The loss of Laplace noise on the real line: a limit, which no sampler can draw.

    The dominating pair is the noise around 0 against the noise around the sensitivity, which is
    ``bound`` times the scale of the noise.

    >>> loss = ContinuousLaplace(epsilon=Fraction(1))
    >>> loss.delta(epsilon=0.5), loss.rho
    (0.22119921692859515, 0.36787944117144233)

    Guarantee:
        Neighbours: any change to the data that moves a vector of reals, with independent noise on
            each coordinate, by at most ``bound`` scales in the L1 norm.
        Loss: the profile, rho and the Rényi divergences of the dominating pair, exactly.
        Numerics: doubles rounded up, from certified balls; a double is read as it prints.
        Proof: docs/proofs/leaves.md, theorem 2.
    """

    @property
    def summit(self) -> float:
        """One side of the noise has the largest loss."""
        return 0.5

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """The losses on either side of both centres."""
        return self.bound, -self.bound

    @property
    def rho(self) -> float:
        """The least rho for which the noise is rho-zCDP."""
        return round_up(lambda: ball(self.bound) + (-ball(self.bound)).expm1())

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta; with delta 0 the bound."""
        target = probability_or_zero("delta", delta)
        if target == 0:
            return up_as_printed(self.bound)
        if reading(self._delta(Fraction(0))) <= target:
            return 0.0
        return max(round_up(lambda: ball(self.bound) + 2 * (-ball(target)).log1p()), 0.0)

    def renyi(self, *, order: float) -> float:
        """Return the Rényi divergence of this order."""
        at = order_of(order)
        if at is None:
            return up_as_printed(self.bound)

        def formula() -> Ball:
            rest = ball((at - 1) / (2 * at - 1)) * ball((1 - 2 * at) * self.bound).expm1()
            return ball(self.bound) + rest.log1p() / ball(at - 1)

        return round_up(formula)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""

        def ahead(at: Floats) -> Floats:
            return -np.expm1(-np.maximum(short_of(self.bound, at), 0.0) / 2)

        return both_signs(epsilons, ahead, ahead)

    def group(self, size: int) -> ContinuousLaplace:
        """Return the loss for neighbours that differ in ``size`` units."""
        return ContinuousLaplace(epsilon=whole_size(size) * self.bound)

    def _delta(self, epsilon: Fraction) -> float:
        if epsilon >= self.bound:
            return 0.0
        return round_up(lambda: -ball((epsilon - self.bound) / 2).expm1())
