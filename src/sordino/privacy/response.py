# SPDX-License-Identifier: Apache-2.0
"""The loss of randomized response with several possible answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.numbers.balls import Ball, ball, is_positive, round_up
from sordino.numbers.rational import Number, is_integer, probability_or_zero, written
from sordino.numbers.rounding import reading, up_as_printed
from sordino.privacy.leaf import BoundedLeaf, Floats
from sordino.privacy.orders import least_rho
from sordino.privacy.profiles import (
    both_signs,
    order_of,
    response,
    round_down,
    whole_size,
)
from sordino.privacy.pure import Pure

_LONG = 600.0


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

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta; with delta 0 the bound."""
        target = probability_or_zero("delta", delta)
        if target == 0:
            return up_as_printed(self.bound)
        if reading(self._delta(Fraction(0))) <= target:
            return 0.0

        def formula() -> Ball:
            return ball(self.bound) + (-ball(target) * self._whole()).log1p()

        return max(round_up(formula), 0.0)

    def renyi(self, *, order: float) -> float:
        """Return the Rényi divergence of this order."""
        at = order_of(order)
        if at is None:
            return up_as_printed(self.bound)

        def formula() -> Ball:
            rise = ball((at - 1) * self.bound).expm1()
            more = rise * -(-ball(at * self.bound)).expm1() / self._whole()
            return more.log1p() / ball(at - 1)

        return round_up(formula)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""

        def ahead(at: Floats) -> Floats:
            return response(self.bound, float(self.categories - 1), at)

        return both_signs(epsilons, ahead, ahead)

    def group(self, size: int) -> Pure:
        """Return the loss of the answers of ``size`` people, whose values may all change."""
        return Pure(epsilon=whole_size(size) * self.bound)

    def _whole(self) -> Ball:
        """Return one over the probability of the truth."""
        return 1 + (self.categories - 1) * (-ball(self.bound)).exp()

    def _delta(self, epsilon: Fraction) -> float:
        if epsilon >= self.bound:
            return 0.0
        return round_up(lambda: -ball(epsilon - self.bound).expm1() / self._whole())


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
