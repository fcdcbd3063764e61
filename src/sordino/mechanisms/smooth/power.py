# SPDX-License-Identifier: Apache-2.0
"""Noise whose density falls like a power, for smooth sensitivity: no delta, any weight of tail."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.exact.balls import Ball, ball
from sordino.exact.rational import Number, brief, positive, written
from sordino.mechanisms.smooth.noise import NO_DELTA, Fitted, two_sided, upwards

_LEAST, _LARGEST = Fraction(101, 100), Fraction(1000)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PowerNoise:
    """The law with density proportional to 1 / (1 + abs(z)**gamma).

    A gamma of 2 is Cauchy noise. The mean of abs(z) is finite for a gamma above 2, the variance for
    a gamma above 3, such as 4, the default. Any beta below epsilon and epsilon / (gamma - 1) will
    do, and half of that is the default. A gamma from 1.01 to 1000 is drawn: closer to 1, half of
    all draws would be beyond 2**100 times the scale.

    >>> noise, target = PowerNoise(gamma=2), {"epsilon": Fraction(1), "delta": Fraction(0)}
    >>> float(noise.factor(**target, beta=Fraction(7, 10)))
    0.9595173756674719
    >>> noise.textbook(**target, beta=None)
    (Fraction(1, 6), Fraction(6, 1))

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: exactly epsilon at the factor before rounding.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 10.
    """

    gamma: Fraction

    def __init__(self, *, gamma: Number = 4) -> None:
        read = positive("gamma", gamma)
        if not _LEAST <= read <= _LARGEST:
            rule = "gamma must be from 1.01 to 1000; from 1 down the density has no sum"
            raise ValueError(f"{rule}, got {brief(read)}")
        object.__setattr__(self, "gamma", read)

    def __repr__(self) -> str:
        return f"PowerNoise(gamma={written(self.gamma)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (self.gamma,)

    @property
    def name(self) -> str:
        """The word that stands for this noise.

        Guarantee: none needed; public inputs only.
        """
        return "power"

    @property
    def _stretch(self) -> Fraction:
        """What a change of the scale by e^t costs, over t: at the middle 1, far out gamma - 1."""
        return max(Fraction(1), self.gamma - 1)

    def fitted(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None) -> Fitted:
        """Choose beta.

        Guarantee: none needed; public inputs only.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Power"))
        return self, epsilon / (2 * self._stretch) if beta is None else beta

    def factor(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
        """Return the least scale factor for this loss, rounded up.

        Guarantee: as for the class.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Power"))
        if self._stretch * beta >= epsilon:
            raise ValueError("beta must be below epsilon and epsilon / (gamma - 1) for power noise")
        turn = epsilon / (self.gamma - 1)

        def at_rest() -> Ball:
            return 1 / self._shift(epsilon, turn)

        def narrower() -> Ball:
            return (-ball(beta)).exp() / self._shift(epsilon - beta, turn + beta)

        def wider() -> Ball:
            return 1 / self._shift(epsilon + beta, turn - beta)

        return max(map(upwards, (at_rest, narrower, wider)))

    def _shift(self, middle: Fraction, far: Fraction) -> Ball:
        """Return (e^middle - 1)^(1/gamma) (1 - e^-far)^(1 - 1/gamma)."""
        part = ball(1 / self.gamma)
        return (part * ball(middle).expm1().log()).exp() * (
            (1 - part) * (-(-ball(far)).expm1()).log()
        ).exp()

    def textbook(
        self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None
    ) -> tuple[Fraction, Fraction]:
        """Return beta and the factor 2 (gamma + 1) / epsilon, as for Cauchy noise 6 / epsilon.

        Guarantee: as for the class, with a part of epsilon that is not spent.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Power"))
        factor = 2 * (self.gamma + 1) / epsilon
        if beta is None:
            beta = 1 / factor
        if beta > 1 / factor:
            raise ValueError(
                "the textbook constants for power noise need beta <= epsilon / (2 (gamma + 1))"
            )
        return beta, factor

    def cumulative(self, z: Ball) -> Ball:
        """Return the probability of a number below z.

        The tail beyond abs(z) is an incomplete beta function at 1 / (1 + abs(z)**gamma).

        Guarantee: none needed; public inputs only.
        """
        if z == 0:
            return ball(Fraction(1, 2))
        power, part = (ball(self.gamma) * abs(z).log()).exp(), ball(1 / self.gamma)
        if power > 1:
            tail = (1 / (1 + power)).beta_lower(1 - part, part, regularized=True)
        else:
            tail = 1 - (power / (1 + power)).beta_lower(part, 1 - part, regularized=True)
        return two_sided(z, tail / 2)


def _make(gamma: Number) -> PowerNoise:
    return PowerNoise(gamma=gamma)
