# SPDX-License-Identifier: Apache-2.0
"""The loss of Gaussian noise on the real line, its profile, and the classic formula it replaces."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino.numbers.balls import SMALLEST, ball, round_up
from sordino.numbers.normal import FARTHEST, hockey_stick
from sordino.numbers.rational import (
    Number,
    positive,
    probability,
    probability_or_zero,
    up_as_printed,
)
from sordino.privacy.leaf import Floats, Leaf, both_signs, check_positive, order_of, whole_size
from sordino.privacy.search import least_epsilon

_ROOT_TWO = math.sqrt(2)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_FARTHEST = 100.0  # standard deviations; the density there is no double
_NARROW, _WIDE = 0.5, 0.05  # mu up to which 6 and 3 points of Gauss's rule are enough
_FEW, _MORE = np.polynomial.legendre.leggauss(3), np.polynomial.legendre.leggauss(6)
_LARGEST_RATIO = 2**40


def normal_deltas(ratio: Fraction, epsilons: Floats) -> Floats:
    """Return the profile of real Gaussian noise at each epsilon that is not negative.

    Guarantee:
        Neighbours: any change that moves a vector of reals by a squared L2 norm of at most
            ``ratio`` times the variance.
        Loss: the least delta for each epsilon.
        Numerics: doubles, off by less than 2**-36 relatively as long as they are normal.
        Proof: docs/proofs/gaussian.md, theorem 1; docs/proofs/leaves.md, theorem 11.
    """
    from scipy.special import ndtr  # takes long to load, which only accounting should pay

    mu = math.sqrt(ratio)
    at = _places(mu, epsilons)
    if mu <= _NARROW:
        points, weights = _FEW if mu <= _WIDE else _MORE
        inside = np.zeros(at.shape)
        for point, weight in zip(points, weights, strict=True):
            z = at + mu * (1 + point) / 2
            inside += weight / 2 * (1 - z * _ratio(z))
        narrow: Floats = _height(at) / _ROOT_TWO_PI * (mu * inside)
        return narrow
    near = np.maximum(at, 0.0)
    ahead = _height(near) * (_ratio(near) - _ratio(near + mu))
    behind = ndtr(-at) * _ROOT_TWO_PI - _height(at) * _ratio(at + mu)
    found: Floats = np.where(at >= 0, ahead, behind) / _ROOT_TWO_PI
    return found


def any_lattice_deltas(variance: Fraction, norm: int, epsilons: Floats) -> Floats:
    """Bound the profile on every lattice that is no coarser than the integers, at any offset.

    Guarantee:
        Neighbours: any change that moves a value on the lattice by sqrt(norm), where the noise on
            it is a Gaussian of this variance, at least 4096.
        Loss: a delta for each epsilon, above that of real noise by about epsilon / (24 variance).
        Numerics: doubles, off by less than 2**-36 relatively as long as they are normal.
        Proof: docs/proofs/gaussian.md, theorem 5.
    """
    mu, sigma = math.sqrt(norm / variance), math.sqrt(variance)
    at = _places(mu, epsilons)
    height = _height(at)
    ends = np.where(at >= 0, _third_tail(np.maximum(at, 0.0)) * height, 2 * _third_tail(0.0 * at))
    ends += _third_tail(at + mu) * height
    third = math.sqrt(3) / 216
    excess = height * mu / 24 + third * (2 * epsilons * height + ends) / sigma
    found: Floats = normal_deltas(norm / variance, epsilons) + excess / (
        float(variance) * _ROOT_TWO_PI
    )
    return found


def normal_reach(ratio: Fraction, tail: float) -> float:
    """Return an epsilon at which the profile of Gaussian noise is below ``tail``."""
    mu = math.sqrt(ratio)
    return mu * mu / 2 + mu * math.sqrt(2 * max(-math.log(tail), 0.0))


def _places(mu: float, epsilons: Floats) -> Floats:
    found: Floats = np.minimum(epsilons / mu, _FARTHEST + mu / 2) - mu / 2
    return found


def _height(z: Floats) -> Floats:
    found: Floats = np.exp(-z * z / 2)
    return found


def _ratio(z: Floats) -> Floats:
    """Return the probability beyond z over the density at z."""
    from scipy.special import erfcx  # takes long to load, which only accounting should pay

    found: Floats = _ROOT_HALF_PI * erfcx(z / _ROOT_TWO)
    return found


def _third_tail(start: Floats) -> Floats:
    """Bound the integral of abs(u**3 - 3 u) exp(-u*u / 2) over u >= start, over exp(-start**2 / 2).

    Any z > 0 gives a bound; this one is nearly the best.
    """
    z = 6 / (np.sqrt(start * start + 12) + start)
    found: Floats = 6 / z**3 * np.exp(z * z / 2 + start * z) * _ratio(start - z)
    return found


class GaussianLeaf(Leaf):
    """What Gaussian noise on the real line and on the integers have in common.

    Their divergences follow from the squared sensitivity over the variance, and are those of the
    pair on the line; on the integers they are bounds, exact for whole orders.

    Guarantee: each leaf states its own.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def _ratio(self) -> Fraction:
        """The squared sensitivity over the variance."""

    @abstractmethod
    def _ahead(self, epsilons: Floats) -> Floats:
        """Return delta at each epsilon that is not negative."""

    @property
    def rho(self) -> float:
        """The least rho for which the noise is rho-zCDP."""
        return up_as_printed(self._ratio / 2)

    def epsilon(self, *, delta: Number) -> float:
        """Return an epsilon that goes with delta; infinite for delta 0."""
        target = probability_or_zero("delta", delta)
        return least_epsilon(self._delta, delta=target, rho=self.rho)

    def renyi(self, *, order: float) -> float:
        """Return a bound on the Rényi divergence of this order."""
        at = order_of(order)
        return math.inf if at is None else up_as_printed(at * self._ratio / 2)

    def profile(self, epsilons: Floats, *, reverse: bool = False) -> Floats:  # noqa: ARG002 - symmetric
        """Return delta at each epsilon."""
        return both_signs(epsilons, self._ahead, self._ahead)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousGaussian(GaussianLeaf):
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
        check_positive("variance", self.variance, Fraction)
        check_positive("squared_sensitivity", self.squared_sensitivity, Fraction)

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
