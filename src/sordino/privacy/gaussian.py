# SPDX-License-Identifier: Apache-2.0
"""The loss of Gaussian noise on the real line, and the classic formula it replaces."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino.numbers.balls import SMALLEST, ball, round_up
from sordino.numbers.normal import FARTHEST, hockey_stick
from sordino.numbers.rational import Number, positive, probability, probability_or_zero
from sordino.numbers.rounding import up_as_printed
from sordino.privacy.calibrate import least_epsilon
from sordino.privacy.leaf import Floats, Leaf
from sordino.privacy.normal_profiles import normal_deltas, normal_reach
from sordino.privacy.profiles import both_signs, order_of, whole_size

_LARGEST_RATIO = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousGaussian(Leaf):
    """The loss of Gaussian noise on the real line: a limit, which no sampler can draw.

    The dominating pair is the noise around 0 against the noise around the sensitivity.

    >>> loss = ContinuousGaussian(variance=Fraction(1), squared_sensitivity=Fraction(1))
    >>> loss.delta(epsilon=1)
    0.12693673750664397

    Guarantee:
        Neighbours: any change to the data that moves a vector of reals by a squared L2 norm of at
            most ``squared_sensitivity``.
        Loss: the profile of the dominating pair, exactly, for every epsilon; rho likewise.
        Numerics: doubles rounded up, from certified balls; a double is read as it prints.
        Proof: docs/proofs/gaussian.md, theorem 1 (Balle and Wang 2018, theorem 8).
    """

    variance: Fraction
    squared_sensitivity: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.variance, Fraction) or self.variance <= 0:
            raise ValueError("variance must be a positive Fraction")
        if not isinstance(self.squared_sensitivity, Fraction) or self.squared_sensitivity <= 0:
            raise ValueError("squared_sensitivity must be a positive Fraction")

    @property
    def rho(self) -> float:
        """The least rho for which the noise is rho-zCDP."""
        return up_as_printed(self.squared_sensitivity / (2 * self.variance))

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon that goes with delta; infinite for delta 0."""
        target = probability_or_zero("delta", delta)
        return least_epsilon(self._delta, delta=target, rho=self.rho)

    def renyi(self, *, order: float) -> float:
        """Return the Rényi divergence of this order."""
        at = order_of(order)
        return math.inf if at is None else up_as_printed(at * self._ratio / 2)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""
        return both_signs(epsilons, self._ahead, self._ahead)

    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses beyond which the profile is below ``tail``."""
        far = normal_reach(self._ratio, tail)
        return -far, far

    def group(self, size: int) -> ContinuousGaussian:
        """Return the loss for neighbours that differ in ``size`` units."""
        longer = whole_size(size) ** 2 * self.squared_sensitivity
        return ContinuousGaussian(variance=self.variance, squared_sensitivity=longer)

    @property
    def _ratio(self) -> Fraction:
        return self.squared_sensitivity / self.variance

    def _ahead(self, epsilons: Floats) -> Floats:
        return normal_deltas(self._ratio, epsilons)

    def _delta(self, epsilon: Fraction) -> float:
        return continuous_delta(ratio=self._ratio, epsilon=epsilon)


def continuous_delta(*, ratio: Fraction, epsilon: Fraction) -> float:
    """Return the profile of real Gaussian noise whose squared sensitivity over variance is ratio.

    Guarantee:
        Neighbours: any change that moves a vector of reals by at most the sensitivity in L2.
        Loss: the least delta for this epsilon, for every epsilon that is not negative.
        Numerics: rounded up, from a certified ball; 1.0 where ratio exceeds 2**40.
        Proof: docs/proofs/gaussian.md, theorem 1.
    """
    if is_far(ratio=ratio, epsilon=epsilon):
        return SMALLEST
    if ratio > _LARGEST_RATIO:
        return 1.0
    return round_up(lambda: hockey_stick(ratio, epsilon))


def is_far(*, ratio: Fraction, epsilon: Fraction) -> bool:
    """Tell whether a loss above epsilon needs noise of more than 40 standard deviations."""
    rest = epsilon - ratio / 2
    return rest > 0 and rest * rest >= FARTHEST**2 * ratio


def classic_sigma(*, sensitivity: Number, epsilon: Number, delta: Number) -> float:
    """Return sigma by the formula of the textbooks, sqrt(2 ln(1.25 / delta)) sensitivity / epsilon.

    It is here for comparison only; no mechanism uses it. It was proved for epsilon below 1, where
    it asks for more noise than needed: 4.85 instead of 3.73 at epsilon 0.9999 and delta 1e-5. From
    1 on it is refused. Numerically it goes on to hold for a while and then breaks the promise: for
    delta 1e-5 above epsilon 8.42; at epsilon 10 the true delta is 2.27e-5.

    >>> classic_sigma(sensitivity=1, epsilon=0.5, delta=1e-6)
    10.59760505370095

    Guarantee:
        Neighbours: any change that moves a vector of reals by at most ``sensitivity`` in L2.
        Loss: real Gaussian noise of this sigma is (epsilon, delta)-private, for epsilon below 1.
        Numerics: rounded up, from a certified ball.
        Proof: Dwork and Roth 2014, theorem A.1; docs/errata.md, E-G1.
    """
    length = positive("sensitivity", sensitivity)
    price, slack = positive("epsilon", epsilon), probability("delta", delta)
    if price >= 1:
        raise ValueError("the classic formula is proved for epsilon below 1 only; use so.Gaussian")
    return round_up(lambda: (2 * ball(Fraction(5, 4) / slack).log()).sqrt() * ball(length / price))
