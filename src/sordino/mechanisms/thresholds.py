# SPDX-License-Identifier: Apache-2.0
"""Noise on a whole number, and the least noisy number that passes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sordino.exact.balls import Ball, ball, is_positive, round_up
from sordino.exact.normal import mean_size, second_moment, tail, total
from sordino.exact.samplers import Sampler, discrete_gaussian, discrete_laplace
from sordino.privacy.calibrate import least

_FARTHEST = 2**63


class Noise(Protocol):
    """Noise on the integers whose upper tail is known.

    Guarantee: none by itself; public inputs only.
    """

    def tail(self, start: int) -> Ball:
        """Return the probability that the noise is at least ``start``."""
        ...

    def mass(self, place: int) -> Ball:
        """Return the probability that the noise is ``place``."""
        ...

    def mean_size(self) -> Ball:
        """Return the mean of the size of the noise, whatever its sign."""
        ...

    def second_moment(self) -> Ball:
        """Return the variance of the noise, whose mean is 0."""
        ...

    def sampler(self) -> Sampler:
        """Return what the noise is drawn from."""
        ...


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Noise with P(x) proportional to exp(-eta abs(x)).

    Guarantee: none by itself; public inputs only.
    """

    eta: Fraction

    def tail(self, start: int) -> Ball:
        """Return the probability that the noise is at least ``start``.

        Guarantee: none needed; public inputs only.
        """
        ratio = (-ball(self.eta)).exp()
        if start > 0:
            return (-ball(start * self.eta)).exp() / (1 + ratio)
        return 1 - (-ball((1 - start) * self.eta)).exp() / (1 + ratio)

    def mass(self, place: int) -> Ball:
        """Return the probability that the noise is ``place``.

        Guarantee: none needed; public inputs only.
        """
        return (ball(self.eta) / 2).tanh() * (-ball(abs(place) * self.eta)).exp()

    def mean_size(self) -> Ball:
        """Return the mean of the size of the noise, whatever its sign.

        Guarantee: none needed; public inputs only.
        """
        return 1 / ball(self.eta).sinh()

    def second_moment(self) -> Ball:
        """Return the variance of the noise, whose mean is 0.

        Guarantee: none needed; public inputs only.
        """
        return 1 / (2 * (ball(self.eta) / 2).sinh() ** 2)

    def sampler(self) -> Sampler:
        """Return what the noise is drawn from.

        Guarantee: none by itself.
        """
        return discrete_laplace(1 / self.eta)


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Noise with P(x) proportional to exp(-x*x / (2 variance)).

    Guarantee: none by itself; public inputs only.
    """

    variance: Fraction

    def tail(self, start: int) -> Ball:
        """Return the probability that the noise is at least ``start``.

        Guarantee: none needed; public inputs only.
        """
        return tail(self.variance, start) / total(self.variance)

    def mass(self, place: int) -> Ball:
        """Return the probability that the noise is ``place``.

        Guarantee: none needed; public inputs only.
        """
        return (-ball(place * place / (2 * self.variance))).exp() / total(self.variance)

    def mean_size(self) -> Ball:
        """Return the mean of the size of the noise, whatever its sign.

        Guarantee: none needed; public inputs only.
        """
        return mean_size(self.variance)

    def second_moment(self) -> Ball:
        """Return the variance of the noise, whose mean is 0.

        Guarantee: none needed; public inputs only.
        """
        return second_moment(self.variance)

    def sampler(self) -> Sampler:
        """Return what the noise is drawn from.

        Guarantee: none by itself.
        """
        return discrete_gaussian(self.variance)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number n passes if n plus noise is at least ``least``.

    >>> Threshold(LaplaceNoise(Fraction(1)), 13).count_for(Fraction(99, 100))
    17

    Guarantee: none by itself; public inputs only.
    """

    noise: Noise
    least: int

    def probability(self, n: int) -> float:
        """Return the probability that n passes, rounded up.

        Guarantee: none needed; public inputs only.
        """
        return min(round_up(lambda: self.noise.tail(self.least - n)), 1.0)

    def count_for(self, share: Fraction, *, lowest: int = 0) -> int:
        """Return the least n that is certain to pass with at least this probability.

        Guarantee: none needed; public inputs only.
        """

        def reaches(n: int) -> bool:
            return is_positive(lambda: self.noise.tail(self.least - n) - ball(share))

        return least(reaches, lowest, _FARTHEST, near=self.least)


def least_threshold(
    noise: Noise, *, hidden: int, times: int, delta: Fraction, near: int
) -> Threshold:
    """Return the least threshold that keeps a small number from passing.

    >>> least_threshold(
    ...     LaplaceNoise(Fraction(1)), hidden=1, times=1, delta=Fraction(1, 10**5), near=10
    ... ).least
    13

    Guarantee:
        Neighbours: none by itself.
        Loss: if the number ``hidden`` is tried ``times`` times, with independent noise, the
            probability that it passes at all is at most delta.
        Numerics: certain for the result; the next smaller threshold has a larger probability,
            unless the result is 1, below which none is looked for.
        Proof: docs/proofs/partitions.md, theorem 4.
    """

    def hides(threshold: int) -> bool:
        def spare() -> Ball:
            passes = noise.tail(threshold - hidden)
            return ball(delta) + (times * (-passes).log1p()).expm1()

        return is_positive(spare)

    return Threshold(noise, least(hides, 1, _FARTHEST, near=max(near, 1)))
