# SPDX-License-Identifier: Apache-2.0
"""The loss of Laplace noise, on the real line and on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino.numbers.balls import SMALLEST, Ball, ball, round_up
from sordino.numbers.rational import Number, probability_or_zero, reading, up_as_printed
from sordino.privacy.leaf import (
    BoundedLeaf,
    Floats,
    Leaf,
    both_signs,
    check_positive,
    order_of,
    round_down,
    short_of,
    whole_size,
)
from sordino.privacy.search import least_double

_FEW = 32  # steps up to which all losses are listed


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

    def _ahead(self, epsilons: Floats) -> Floats:
        found: Floats = -np.expm1(-np.maximum(short_of(self.bound, epsilons), 0.0) / 2)
        return found

    def _delta_ball(self, epsilon: Fraction) -> Ball:
        return -ball((epsilon - self.bound) / 2).expm1()

    def _epsilon_ball(self, delta: Fraction) -> Ball:
        return ball(self.bound) + 2 * (-ball(delta)).log1p()

    def _renyi_ball(self, order: Fraction) -> Ball:
        rest = ball((order - 1) / (2 * order - 1)) * ball((1 - 2 * order) * self.bound).expm1()
        return ball(self.bound) + rest.log1p() / ball(order - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace(Leaf):
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
        check_positive("eta", self.eta, Fraction)
        check_positive("shift", self.shift, int)

    @property
    def pure(self) -> Fraction | None:
        """The largest loss."""
        return self.eta * self.shift

    @property
    def summit(self) -> float:
        """The probability of noise on one side of both centres, rounded down."""
        return max(round_down(lambda: 1 / (1 + (-ball(self.eta)).exp())), 0.0)

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """All losses if they are few, else the largest and the least."""
        step = 2 * self.eta if self.shift <= _FEW else 2 * self.eta * self.shift
        top = self.eta * self.shift
        return tuple(top - j * step for j in range(int(2 * top / step) + 1))

    @property
    def rho(self) -> float:
        """The least rho for which the noise is rho-zCDP."""
        eta, pure = self.eta, self.eta * self.shift
        return round_up(lambda: ball(pure) + ball(eta) * (-ball(pure)).expm1() / ball(eta).sinh())

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta; with delta 0 the pure loss."""
        target = probability_or_zero("delta", delta)
        pure = up_as_printed(self.eta * self.shift)
        if target == 0:
            return pure
        near = pure + 2 * math.log(max(float(1 - target), SMALLEST))
        return least_double(lambda e: reading(self._delta(e)) <= target, near=near, high=pure)

    def renyi(self, *, order: float) -> float:
        """Return the Rényi divergence of this order."""
        at, top = order_of(order), self.eta * self.shift
        if at is None:
            return up_as_printed(top)

        def formula() -> Ball:
            q, fall = (-ball(self.eta)).exp(), (2 * at - 1) * self.eta
            inner = fall * (self.shift - 1)
            between = (-ball(fall)).exp() * (-ball(inner)).expm1() / (-ball(fall)).expm1()
            sides = 1 + (-ball(fall * self.shift)).exp()
            return ball(top) + ((sides + (1 - q) * between) / (1 + q)).log() / ball(at - 1)

        return round_up(formula)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""
        return both_signs(epsilons, self._ahead, self._ahead)

    def reach(self, tail: float) -> tuple[float, float]:  # noqa: ARG002 - nothing lies beyond
        """Return the least and the largest loss."""
        top = float(self.eta * self.shift)
        return -top, top

    def group(self, size: int) -> DiscreteLaplace:
        """Return the loss for neighbours that differ in ``size`` units."""
        return DiscreteLaplace(eta=self.eta, shift=whole_size(size) * self.shift)

    def _ahead(self, epsilons: Floats) -> Floats:
        """Go back from the largest loss: to a node, where the formula is simple, and beyond it."""
        eta = float(self.eta)
        back = np.maximum(short_of(self.eta * self.shift, epsilons), 0.0)
        nodes = np.floor(back / (2 * eta))
        share = np.expm1(2 * eta * nodes - back) / math.expm1(-2 * eta)
        found: Floats = -np.expm1(-eta * nodes) - np.exp(-eta * nodes) * share * math.expm1(-eta)
        return found

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
