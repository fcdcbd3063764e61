# SPDX-License-Identifier: Apache-2.0
"""The loss of discrete Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.numbers.balls import SMALLEST
from sordino.privacy.concentrated import concentrated_deltas, concentrated_reach, delta_from_rho
from sordino.privacy.gaussian import GaussianLeaf, is_far
from sordino.privacy.lattice import (
    FINE,
    LARGEST_LISTED,
    fine_delta,
    fine_deltas,
    listed_delta,
    listed_deltas,
    scalar_delta,
    scalar_deltas,
    wide_delta,
    wide_deltas,
)
from sordino.privacy.leaf import Floats, check_positive, whole_size
from sordino.privacy.search import approach, least

_STEPS = 1 << 30  # calibrated variances are multiples of 2**-30 of a power of two
_WIDE_ENOUGH = 2  # variance over squared sensitivity from which listing all shifts gains nothing
_COARSE = 1024  # variance up to which a grid gains by meeting the losses
_CALIBRATIONS_KEPT = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian(GaussianLeaf):
    """The loss of noise with P(x) proportional to exp(-x*x / (2 variance)) on a vector of integers.

    The dominating pairs are products of the noise around 0 against the noise around k_i, for all
    integers k_i whose squares add up to at most ``squared_sensitivity``; at most ``coordinates`` of
    them are not zero, or any number if that is None.

    >>> loss = DiscreteGaussian(variance=Fraction(1), squared_sensitivity=1)
    >>> loss.delta(epsilon=1), loss.rho
    (0.14135133940562192, 0.5)

    Guarantee:
        Neighbours: any change to the data that moves the integers, each with independent noise, by
            a squared L2 norm of at most ``squared_sensitivity``.
        Loss: rho is squared_sensitivity / (2 variance). delta is the least of the bounds that hold:
            exact for one coordinate, for squared sensitivity 1, and up to 64 for narrow noise.
        Numerics: doubles rounded up; a double is read as it prints.
        Proof: docs/proofs/gaussian.md, theorems 2 to 6.
    """

    variance: Fraction
    squared_sensitivity: int
    coordinates: int | None = None

    def __post_init__(self) -> None:
        check_positive("variance", self.variance, Fraction)
        check_positive("squared_sensitivity", self.squared_sensitivity, int)
        if self.coordinates is not None and self.coordinates <= 0:
            raise ValueError("coordinates must be a positive int, or None for any number")

    @property
    def atoms(self) -> tuple[Fraction, ...]:
        """The two least positive losses, where the profile is a sum over a coarse lattice."""
        norm = self.squared_sensitivity
        if self.variance > _COARSE or not (self._is_scalar or self._is_listed):
            return ()
        shift, odd = (math.isqrt(norm), math.isqrt(norm) % 2) if self._is_scalar else (1, norm % 2)
        spacing = shift / self.variance
        first = spacing / 2 if odd else spacing
        return first, first + spacing

    def reach(self, tail: float) -> tuple[float, float]:
        """Return losses beyond which the profile is below ``tail``."""
        far = concentrated_reach(self.rho, tail)
        return -far, far

    def group(self, size: int) -> DiscreteGaussian:
        """Return the loss for neighbours that differ in ``size`` units.

        Each unit of the group may move other coordinates.
        """
        units = whole_size(size)
        longer = units**2 * self.squared_sensitivity
        moved = None if self.coordinates is None else units * self.coordinates
        return DiscreteGaussian(
            variance=self.variance, squared_sensitivity=longer, coordinates=moved
        )

    @property
    def _ratio(self) -> Fraction:
        return self.squared_sensitivity / self.variance

    @property
    def _is_scalar(self) -> bool:
        return self.coordinates == 1 or self.squared_sensitivity == 1

    @property
    def _is_listed(self) -> bool:
        norm = self.squared_sensitivity
        return norm <= LARGEST_LISTED and self.variance < _WIDE_ENOUGH * norm

    def _ahead(self, epsilons: Floats) -> Floats:
        variance, norm = self.variance, self.squared_sensitivity
        bound = concentrated_deltas(float(norm / (2 * variance)), epsilons)
        if self._is_scalar:
            other = scalar_deltas(variance, math.isqrt(norm), epsilons)
        elif variance >= FINE:
            moved = norm if self.coordinates is None else min(norm, self.coordinates)
            other = fine_deltas(variance, norm, moved, epsilons)
        elif self._is_listed:
            other = listed_deltas(variance, norm, epsilons)
        else:
            other = wide_deltas(variance, norm, epsilons)
        return np.minimum(bound, other)

    def _delta(self, epsilon: Fraction) -> float:
        variance, norm = self.variance, self.squared_sensitivity
        if is_far(ratio=norm / variance, epsilon=epsilon):
            return SMALLEST
        bound = delta_from_rho(rho=norm / (2 * variance), epsilon=epsilon)
        if self._is_scalar:
            shift = math.isqrt(norm)
            return min(bound, scalar_delta(variance=variance, shift=shift, epsilon=epsilon))
        if variance >= FINE:
            moved = norm if self.coordinates is None else min(norm, self.coordinates)
            other = fine_delta(
                variance=variance, squared_sensitivity=norm, coordinates=moved, epsilon=epsilon
            )
        elif self._is_listed:
            other = listed_delta(variance=variance, squared_sensitivity=norm, epsilon=epsilon)
        else:
            other = wide_delta(variance=variance, squared_sensitivity=norm, epsilon=epsilon)
        return min(bound, other)


@lru_cache(maxsize=_CALIBRATIONS_KEPT)
def least_variance(
    *,
    squared_sensitivity: int,
    coordinates: int | None,
    epsilon: Fraction,
    delta: Fraction,
    low: Fraction,
    high: Fraction,
) -> Fraction:
    """Return the least variance from low to high whose loss at epsilon is at most delta.

    Guarantee:
        Neighbours: those of DiscreteGaussian.
        Loss: noise of this variance is (epsilon, delta)-private.
        Numerics: a number of 30 bits; the loss of the result itself was computed, with all its
            upper bounds, and the next smaller number of 30 bits was found too small, or is below
            ``low``.
        Proof: docs/proofs/gaussian.md, theorems 2 to 6.
    """

    def profile(variance: Fraction) -> float:
        return DiscreteGaussian(
            variance=variance, squared_sensitivity=squared_sensitivity, coordinates=coordinates
        )._delta(epsilon)

    def fits(place: int) -> bool:
        return Fraction(repr(profile(_variance(place)))) <= delta

    def excess(exponent: float) -> float:
        variance = min(max(Fraction(2.0 ** min(max(exponent, -1000.0), 1000.0)), low), high)
        return math.log(profile(variance)) - math.log(delta)

    slack = -math.log(delta)
    root = epsilon / (math.sqrt(epsilon + slack) + math.sqrt(slack))  # of rho, roughly
    guess = math.log2(squared_sensitivity) - 1 - 2 * math.log2(root)
    near = approach(excess, guess, guess - 0.1)
    first, last = _place(low), _place(high)
    start = _place(Fraction(2.0 ** min(max(near, -1000.0), 1000.0)))
    return _variance(least(fits, first, last, near=start))


def greatest_variance(
    fits: Callable[[Fraction], bool], *, low: Fraction, high: Fraction, near: Fraction
) -> Fraction:
    """Return the greatest variance of 30 bits from low to high that fits."""
    near = min(max(near, low), high)
    found = least(
        lambda place: fits(_variance(-place)), -_place(high), -_place(low), near=-_place(near)
    )
    return _variance(-found)


def _place(variance: Fraction) -> int:
    """Number the positive numbers of 30 bits in their order; round up to one of them."""
    exponent = variance.numerator.bit_length() - variance.denominator.bit_length()
    if _power(exponent) > variance:
        exponent -= 1
    steps = math.ceil(variance / _power(exponent) * _STEPS)
    return exponent * _STEPS + steps - _STEPS


def _variance(place: int) -> Fraction:
    exponent, rest = divmod(place, _STEPS)
    return (1 + Fraction(rest, _STEPS)) * _power(exponent)


def _power(exponent: int) -> Fraction:
    return Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent)
