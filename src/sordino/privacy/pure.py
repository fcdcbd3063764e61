# SPDX-License-Identifier: Apache-2.0
"""The loss of mechanisms about which only epsilon, or epsilon and delta, is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, probability_or_zero, written
from sordino.numbers.rounding import down, reading, up_as_printed
from sordino.privacy.leaf import BoundedLeaf, Floats, Leaf, positive_fraction
from sordino.privacy.profiles import (
    both_signs,
    order_of,
    pure_rho,
    response,
    round_down,
    whole_size,
)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Pure(BoundedLeaf):
    """The loss of any mechanism that is epsilon-private; ``bound`` is that epsilon.

    The dominating pair is a randomized response that tells the truth with odds e^bound to 1.

    >>> loss = Pure(epsilon=Fraction(1))
    >>> loss.delta(epsilon=0.5), loss.epsilon(delta=0)
    (0.28764913664496794, 1.0)

    Guarantee:
        Neighbours: those for which the mechanism is private.
        Loss: no mechanism with this epsilon has a larger profile or Rényi divergence, and
            randomized response attains both; rho is bound * tanh(bound / 2).
        Numerics: doubles rounded up, from certified balls; a double is read as it prints.
        Proof: docs/proofs/leaves.md, theorem 1.
    """

    @property
    def summit(self) -> float:
        """The probability of the truth, rounded down."""
        return max(round_down(lambda: 1 / (1 + (-ball(self.bound)).exp())), 0.0)

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """The two losses there are."""
        return self.bound, -self.bound

    @property
    def rho(self) -> float:
        """The least rho for which all mechanisms with this epsilon are rho-zCDP."""
        return pure_rho(self.bound)

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta; with delta 0 the bound."""
        return self._epsilon(probability_or_zero("delta", delta))

    def renyi(self, *, order: float) -> float:
        """Return the largest Rényi divergence of this order."""
        at = order_of(order)
        if at is None:
            return up_as_printed(self.bound)

        def formula() -> Ball:
            lies = (ball((1 - 2 * at) * self.bound)).exp().log1p()
            return ball(self.bound) + (lies - (-ball(self.bound)).exp().log1p()) / ball(at - 1)

        return round_up(formula)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""

        def ahead(at: Floats) -> Floats:
            return response(self.bound, 1.0, at)

        return both_signs(epsilons, ahead, ahead)

    def group(self, size: int) -> Pure:
        """Return the loss for neighbours that differ in ``size`` units."""
        return Pure(epsilon=whole_size(size) * self.bound)

    def _delta(self, epsilon: Fraction) -> float:
        if epsilon >= self.bound:
            return 0.0

        def formula() -> Ball:
            return -ball(epsilon - self.bound).expm1() / (1 + (-ball(self.bound)).exp())

        return round_up(formula)

    def _epsilon(self, target: Fraction) -> float:
        if reading(self._delta(Fraction(0))) <= target:
            return 0.0

        def formula() -> Ball:
            return ball(self.bound) + (-ball(target) * (1 + (-ball(self.bound)).exp())).log1p()

        return up_as_printed(self.bound) if target == 0 else max(round_up(formula), 0.0)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Approximate(Leaf):
    """The loss of any mechanism that is (epsilon, delta)-private: ``bound`` and ``slack``.

    The dominating pair differs without doubt with probability ``slack``; else it is a randomized
    response that tells the truth with odds e^bound to 1.

    >>> loss = Approximate(epsilon=Fraction(1), delta=Fraction(1, 1000))
    >>> loss.delta(epsilon=1), loss.epsilon(delta=0)
    (0.001, inf)

    Guarantee:
        Neighbours: those for which the mechanism is private.
        Loss: no mechanism with these two numbers has a larger profile, and the pair is itself
            one. Rényi divergences, and rho, may be infinite.
        Numerics: doubles rounded up, from certified balls; a double is read as it prints.
        Proof: docs/proofs/leaves.md, theorem 1 (Kairouz, Oh, Viswanath 2015).
    """

    bound: Fraction
    slack: Fraction

    def __init__(self, *, epsilon: Fraction, delta: Fraction) -> None:
        if not isinstance(delta, Fraction) or not 0 < delta < 1:
            raise ValueError("delta must be a Fraction between 0 and 1, both excluded")
        object.__setattr__(self, "bound", positive_fraction("epsilon", epsilon))
        object.__setattr__(self, "slack", delta)

    def __repr__(self) -> str:
        return f"Approximate(epsilon={written(self.bound)}, delta={written(self.slack)})"

    @property
    def infinity(self) -> float:
        """The probability of an unbounded loss."""
        return down(self.slack)

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """The two losses that are not infinite."""
        return self.bound, -self.bound

    @property
    def rho(self) -> float:
        """No rho is large enough."""
        return math.inf

    @property
    def kl(self) -> float:
        """The largest Kullback-Leibler divergence."""
        return math.inf

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta; infinite below ``slack``."""
        target = probability_or_zero("delta", delta)
        if target < self.slack:
            return math.inf
        return Pure(epsilon=self.bound)._epsilon((target - self.slack) / (1 - self.slack))

    def renyi(self, *, order: float) -> float:
        """Return the largest Rényi divergence of this order, which is infinite."""
        order_of(order)
        return math.inf

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""
        slack = float(self.slack)

        def ahead(at: Floats) -> Floats:
            return slack + float(1 - self.slack) * response(self.bound, 1.0, at)

        return both_signs(epsilons, ahead, ahead)

    def reach(self, tail: float) -> tuple[float, float]:  # noqa: ARG002 - nothing finite lies beyond
        """Return the least and the largest of the losses that are not infinite."""
        return -float(self.bound), float(self.bound)

    def group(self, size: int) -> Approximate:
        """Return the loss for neighbours that differ in ``size`` units."""
        units = whole_size(size)

        def formula() -> Ball:
            return ball(self.slack) * ball(units * self.bound).expm1() / ball(self.bound).expm1()

        slack = reading(round_up(formula)) if units > 1 else self.slack
        if not isinstance(slack, Fraction) or slack >= 1:
            raise ValueError(f"a group of {units} is not protected: its delta would be 1")
        return Approximate(epsilon=units * self.bound, delta=slack)

    def _delta(self, epsilon: Fraction) -> float:
        if epsilon >= self.bound:
            return up_as_printed(self.slack)

        def formula() -> Ball:
            part = -ball(epsilon - self.bound).expm1() / (1 + (-ball(self.bound)).exp())
            return ball(self.slack) + ball(1 - self.slack) * part

        return min(round_up(formula), 1.0)
