# SPDX-License-Identifier: Apache-2.0
"""Zero-concentrated privacy, and one Rényi order: what they tell about epsilon and delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino.numbers.balls import Ball, ball, round_up
from sordino.numbers.rational import Number, probability_or_zero, up_as_printed, written
from sordino.privacy.leaf import Floats, Leaf, both_signs, check_positive, order_of, whole_size
from sordino.privacy.search import least_epsilon

_HALVINGS = 60
_PROFILE_HALVINGS = 14
_NEWTON = 4
_NARROWEST, _WIDEST = -50.0, 700.0  # logarithms of order - 1
_FAR = 800.0  # deltas below e^-800 are no doubles


def delta_from_rho(*, rho: Fraction, epsilon: Fraction) -> float:
    """Return a delta such that whatever is rho-zCDP is (epsilon, delta)-private.

    >>> delta_from_rho(rho=Fraction(1, 2), epsilon=Fraction(3))
    0.00514318406386215

    Guarantee:
        Neighbours: those of the rho that came in.
        Loss: delta for this epsilon, for every mechanism that is rho-zCDP.
        Numerics: every order gives a valid bound; a nearly best one is chosen with doubles, and
            its bound is rounded up from a certified ball.
        Proof: docs/proofs/gaussian.md, theorem 2 (Canonne, Kamath, Steinke 2020).
    """
    order = _best_order(float(rho), float(epsilon))

    def formula() -> Ball:
        rest = ball(order - 1)
        exponent = rest * ball(order * rho - epsilon) + rest * (rest / ball(order)).log()
        return exponent.exp() / ball(order)

    return min(round_up(formula), 1.0)


def _best_order(rho: float, epsilon: float) -> Fraction:
    """Solve (2 a - 1) rho - epsilon + ln(1 - 1/a) = 0 for a > 1, by halving in ln(a - 1)."""
    low, high = -50.0, 700.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rest = math.exp(middle)
        slope = (2 * rest + 1) * rho - epsilon - math.log1p(1 / rest)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return 1 + Fraction(math.exp(high))


def epsilon_from_rho(*, rho: Fraction, delta: Fraction) -> float:
    """Return an epsilon such that whatever is rho-zCDP is (epsilon, delta)-private.

    >>> epsilon_from_rho(rho=Fraction(1, 10), delta=Fraction(1, 10**6))
    2.141938928385474

    Guarantee:
        Neighbours: those of the rho that came in.
        Loss: epsilon for this delta, for every mechanism that is rho-zCDP.
        Numerics: every order gives a valid bound; a nearly best one is found with doubles, and its
            bound is rounded up from a certified ball.
        Proof: docs/proofs/budgets.md, theorem 3 (Canonne, Kamath, Steinke 2020).
    """
    if rho == 0:
        return 0.0
    order = 1 + Fraction(math.exp(_log_of_best(_log(rho), _minus_log(delta))))
    return epsilon_from_renyi(renyi=order * rho, order=order, delta=delta)


def epsilon_from_renyi(*, renyi: Fraction, order: Fraction, delta: Fraction) -> float:
    """Return an epsilon that goes with delta when one Rényi divergence is at most ``renyi``.

    >>> epsilon_from_renyi(renyi=Fraction(1), order=Fraction(16), delta=Fraction(1, 10**6))
    1.6716562679107285

    Guarantee:
        Neighbours: those of the divergence that came in.
        Loss: epsilon for this delta, for every mechanism whose Rényi divergence of this order is
            at most ``renyi``, both ways round.
        Numerics: rounded up, from a certified ball.
        Proof: docs/proofs/budgets.md, theorem 3 (Canonne, Kamath, Steinke 2020).
    """
    rest = order - 1

    def formula() -> Ball:
        return ball(renyi) + ball(rest / order).log() - ball(delta * order).log() / ball(rest)

    return max(0.0, round_up(formula))


def _log_of_best(log_rho: float, log_slack: float) -> float:
    """Solve rho x^2 + ln(1 + x) = ln(1/delta) for x, the best order less 1, by halving in ln x."""
    wanted = max(log_slack, 1e-300)
    high = min((math.log(wanted) - log_rho) / 2, 700.0)
    low = min(high, math.log(wanted)) - 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = math.exp(2 * middle + log_rho) + math.log1p(math.exp(middle))
        low, high = (middle, high) if reached < wanted else (low, middle)
    return high


def _log(x: Fraction) -> float:
    """Return about the logarithm, also of what is no double any more."""
    return math.log(x.numerator) - math.log(x.denominator)


def _minus_log(delta: Fraction) -> float:
    """Return about the logarithm of 1/delta, also very close to 1."""
    return -math.log1p(-float(1 - delta)) if 2 * delta > 1 else -_log(delta)


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
        object.__setattr__(self, "exact", check_positive("rho", rho, Fraction))

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

    for _ in range(_PROFILE_HALVINGS):
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
