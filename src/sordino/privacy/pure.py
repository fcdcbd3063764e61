# SPDX-License-Identifier: Apache-2.0
"""The loss of what is known by its epsilon, or epsilon and delta, and of randomized response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.numbers.balls import Ball, ball, is_positive, round_up
from sordino.numbers.rational import (
    Number,
    down,
    is_integer,
    probability_or_zero,
    reading,
    up_as_printed,
    written,
)
from sordino.privacy.leaf import (
    BoundedLeaf,
    Floats,
    Leaf,
    both_signs,
    check_positive,
    order_of,
    pure_rho,
    response,
    round_down,
    whole_size,
)
from sordino.privacy.orders import least_rho

_LONG = 600.0


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

    def _ahead(self, epsilons: Floats) -> Floats:
        return response(self.bound, 1.0, epsilons)

    def _delta_ball(self, epsilon: Fraction) -> Ball:
        return -ball(epsilon - self.bound).expm1() / (1 + (-ball(self.bound)).exp())

    def _epsilon_ball(self, delta: Fraction) -> Ball:
        return ball(self.bound) + (-ball(delta) * (1 + (-ball(self.bound)).exp())).log1p()

    def _renyi_ball(self, order: Fraction) -> Ball:
        lies = (ball((1 - 2 * order) * self.bound)).exp().log1p()
        return ball(self.bound) + (lies - (-ball(self.bound)).exp().log1p()) / ball(order - 1)


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
        object.__setattr__(self, "bound", check_positive("epsilon", epsilon, Fraction))
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


@dataclass(frozen=True, slots=True, init=False, repr=False)
class KaryResponse(BoundedLeaf):
    """The loss of an answer that is true with odds e^bound to 1 against each other category.

    The dominating pair is the answers of two people with different values. Two categories are
    the worst that a pure loss of ``bound`` allows; more of them are kinder.

    >>> loss = KaryResponse(epsilon=Fraction(1), categories=4)
    >>> loss.delta(epsilon=0), loss.epsilon(delta=0)
    (0.30048918189156226, 1.0)

    Guarantee:
        Neighbours: any two values of one person.
        Loss: the profile, the Rényi divergences and rho of the pair. rho is the largest quotient
            of divergence and order, which for seven or more categories is above the
            Kullback-Leibler divergence.
        Numerics: doubles rounded up, from certified balls; a double is read as it prints. rho is
            exact where its formula is proved, and else found by a search, at most 2e-7 above.
        Proof: docs/proofs/leaves.md, theorem 6.
    """

    categories: int

    def __init__(self, *, epsilon: Fraction, categories: int) -> None:
        if not is_integer(categories) or categories < 2:
            raise ValueError("categories must be an int that is at least 2")
        BoundedLeaf.__init__(self, epsilon=epsilon)
        object.__setattr__(self, "categories", int(categories))

    def __repr__(self) -> str:
        return f"KaryResponse(epsilon={written(self.bound)}, categories={self.categories})"

    @property
    def summit(self) -> float:
        """The probability of the truth, rounded down."""
        return max(round_down(lambda: 1 / self._whole()), 0.0)

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """The losses there are."""
        return (self.bound, -self.bound) + ((Fraction(0),) if self.categories > 2 else ())

    @property
    def rho(self) -> float:
        """A rho for which the answer is rho-zCDP."""
        return _rho(self.bound, self.categories)

    @property
    def kl(self) -> float:
        """The Kullback-Leibler divergence."""
        return round_up(lambda: -ball(self.bound) * (-ball(self.bound)).expm1() / self._whole())

    def group(self, size: int) -> Pure:
        """Return the loss of the answers of ``size`` people, whose values may all change."""
        return Pure(epsilon=whole_size(size) * self.bound)

    def _whole(self) -> Ball:
        """Return one over the probability of the truth."""
        return 1 + (self.categories - 1) * (-ball(self.bound)).exp()

    def _ahead(self, epsilons: Floats) -> Floats:
        return response(self.bound, float(self.categories - 1), epsilons)

    def _delta_ball(self, epsilon: Fraction) -> Ball:
        return -ball(epsilon - self.bound).expm1() / self._whole()

    def _epsilon_ball(self, delta: Fraction) -> Ball:
        return ball(self.bound) + (-ball(delta) * self._whole()).log1p()

    def _renyi_ball(self, order: Fraction) -> Ball:
        rise = ball((order - 1) * self.bound).expm1()
        more = rise * -(-ball(order * self.bound)).expm1() / self._whole()
        return more.log1p() / ball(order - 1)


@lru_cache(maxsize=1024)
def _rho(bound: Fraction, categories: int) -> float:
    loss = KaryResponse(epsilon=bound, categories=categories)
    if categories <= 4 or is_positive(lambda: 2 * ball(bound / 2).exp() - (categories - 2)):
        return loss.kl
    top = float(bound)
    whole = 1 + (categories - 1) * np.exp(-top)

    def divergences(orders: Floats) -> Floats:
        more = (orders - 1) * top
        far = more > _LONG
        some = np.where(far, 1.0, more)
        rise = np.log1p(np.expm1(some) * -np.expm1(-orders * top) / whole)
        found: Floats = np.where(far, more - np.log(whole) + 1e-12, rise) / (orders - 1)
        return found

    return least_rho(divergences, pure=top, order_one=loss.kl)
