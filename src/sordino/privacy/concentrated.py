# SPDX-License-Identifier: Apache-2.0
"""The loss of mechanisms about which only rho is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino.numbers.balls import ball, round_up
from sordino.numbers.rational import Number, probability_or_zero, written
from sordino.numbers.rounding import up_as_printed
from sordino.privacy.calibrate import least_epsilon
from sordino.privacy.leaf import Floats, Leaf, positive_fraction
from sordino.privacy.profiles import both_signs, order_of, whole_size
from sordino.privacy.zcdp import delta_from_rho

_HALVINGS = 14
_NEWTON = 4
_NARROWEST, _WIDEST = -50.0, 700.0  # logarithms of order - 1
_FAR = 800.0  # deltas below e^-800 are no doubles


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Concentrated(Leaf):
    """The loss of any mechanism that is rho-zCDP; ``exact`` is that rho.

    There is no known worst pair. The profile is the best bound that one Rényi order gives, at each
    epsilon the best order; for a mechanism with a profile of its own, such as the Gaussian, it is
    five to ten percent above that.

    >>> loss = Concentrated(rho=Fraction(1, 2))
    >>> loss.delta(epsilon=3), loss.rho
    (0.00514318406386215, 0.5)

    Guarantee:
        Neighbours: those for which the mechanism is rho-zCDP.
        Loss: delta for every epsilon, for every such mechanism.
        Numerics: doubles rounded up, from certified balls; every order gives a valid bound, so an
            inexact search for the best one costs tightness only.
        Proof: docs/proofs/gaussian.md, theorem 2; docs/proofs/leaves.md, theorem 5.
    """

    exact: Fraction

    def __init__(self, *, rho: Fraction) -> None:
        object.__setattr__(self, "exact", positive_fraction("rho", rho))

    def __repr__(self) -> str:
        return f"Concentrated(rho={written(self.exact)})"

    @property
    def rho(self) -> float:
        """The rho that was given."""
        return up_as_printed(self.exact)

    @property
    def kl(self) -> float:
        """A bound on the Kullback-Leibler divergence, which is the limit at order 1."""
        return up_as_printed(self.exact)

    @property
    def total_variation(self) -> float:
        """A bound on the total variation distance: Pinsker's, where it is the smaller one."""
        return min(self._delta(Fraction(0)), round_up(lambda: ball(self.exact / 2).sqrt()))

    def epsilon(self, *, delta: Number) -> float:
        """Return an epsilon that goes with delta; infinite for delta 0."""
        target = probability_or_zero("delta", delta)
        return least_epsilon(self._delta, delta=target, rho=self.rho)

    def renyi(self, *, order: float) -> float:
        """Return a bound on the Rényi divergence of this order."""
        at = order_of(order)
        return math.inf if at is None else up_as_printed(at * self.exact)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return a delta at each epsilon."""
        return both_signs(epsilons, self._ahead, self._ahead)

    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses beyond which the bound is below ``tail``."""
        far = concentrated_reach(self.rho, tail)
        return -far, far

    def group(self, size: int) -> Concentrated:
        """Return the loss for neighbours that differ in ``size`` units."""
        return Concentrated(rho=whole_size(size) ** 2 * self.exact)

    def _ahead(self, epsilons: Floats) -> Floats:
        return concentrated_deltas(float(self.exact), epsilons)

    def _delta(self, epsilon: Fraction) -> float:
        return delta_from_rho(rho=self.exact, epsilon=epsilon)


def concentrated_deltas(rho: float, epsilons: Floats) -> Floats:
    """Return, at each epsilon that is not negative, a delta of whatever is rho-zCDP.

    Guarantee:
        Neighbours: those of the rho that came in.
        Loss: delta for each epsilon, for every mechanism that is rho-zCDP.
        Numerics: doubles, off by less than 2**-36 relatively; none is above 1.
        Proof: docs/proofs/gaussian.md, theorem 2.
    """
    rest = best_orders(rho, epsilons)
    exponent = rest * ((rest + 1) * rho - epsilons) - rest * np.log1p(1 / rest)
    found: Floats = np.exp(np.maximum(exponent - np.log1p(rest), -_FAR))
    return np.minimum(found, 1.0)


def concentrated_reach(rho: float, tail: float) -> float:
    """Return an epsilon at which every mechanism that is rho-zCDP has a delta below ``tail``."""
    return rho + 2 * math.sqrt(rho * max(-math.log(tail), 0.0))


def best_orders(rho: float, epsilons: Floats) -> Floats:
    """Return order - 1 for the orders whose bounds are about the best at each epsilon.

    The best order solves (2 order - 1) rho - epsilon + ln(1 - 1 / order) = 0.
    """
    low = np.full(np.shape(epsilons), _NARROWEST)
    high = np.full(np.shape(epsilons), _WIDEST)

    def slope(log: Floats) -> tuple[Floats, Floats]:
        rest = np.exp(log)
        return rest, (2 * rest + 1) * rho - epsilons - np.log1p(1 / rest)

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rising = slope(middle)[1] >= 0
        high = np.where(rising, middle, high)
        low = np.where(rising, low, middle)
    log = (low + high) / 2
    for _ in range(_NEWTON):
        rest, value = slope(log)
        log = np.clip(log - value / (2 * rest * rho + 1 / (1 + rest)), low, high)
    found: Floats = np.exp(log)
    return found
