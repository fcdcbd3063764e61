# SPDX-License-Identifier: Apache-2.0
"""Cauchy noise for smooth sensitivity: no delta, and tails so long that it has no mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sordino.exact.balls import Ball, ball, pi
from sordino.mechanisms.smooth.noise import NO_DELTA, Fitted, downwards, upwards


@dataclass(frozen=True, slots=True)
class CauchyNoise:
    """The law with density 1 / (pi (1 + z**2)).

    Any beta below epsilon will do. By default it is epsilon / 2 or, if that is larger, the largest
    beta that costs nothing, ln(2 cosh(epsilon) - 1).

    >>> float(CauchyNoise().factor(epsilon=Fraction(1), delta=Fraction(0), beta=Fraction(7, 10)))
    0.9595173756674719

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: exactly epsilon at the factor before rounding.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 5.
    """

    @property
    def name(self) -> str:
        """The word that stands for this noise.

        Guarantee: none needed; public inputs only.
        """
        return "cauchy"

    def fitted(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None) -> Fitted:
        """Choose beta.

        Guarantee: none needed; public inputs only.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Cauchy"))
        if beta is None:
            beta = max(epsilon / 2, downwards(lambda: _free(epsilon)))
        return self, beta

    def factor(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
        """Return the least scale factor for this loss, rounded up.

        Guarantee: as for the class.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Cauchy"))
        if beta >= epsilon:
            raise ValueError("beta must be below epsilon for Cauchy noise")

        def at_rest() -> Ball:
            return 1 / (2 * (ball(epsilon) / 2).sinh())

        def at_beta() -> Ball:
            rest = 2 * (ball(epsilon).cosh() - ball(beta).cosh())
            return ((-ball(beta)).exp() / rest).sqrt()

        return max(upwards(at_rest), upwards(at_beta))

    def textbook(
        self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None
    ) -> tuple[Fraction, Fraction]:
        """Return beta and the factor 6 / epsilon of Nissim, Raskhodnikova and Smith.

        Guarantee: as for the class, with less than a quarter of epsilon spent.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Cauchy"))
        if beta is None:
            beta = epsilon / 6
        if beta > epsilon / 6:
            raise ValueError("the textbook constants for Cauchy noise need beta <= epsilon / 6")
        return beta, 6 / epsilon

    def cumulative(self, z: Ball) -> Ball:
        """Return the probability of a number below z.

        Guarantee: none needed; public inputs only.
        """
        return z.atan() / pi() + ball(Fraction(1, 2))


def _free(epsilon: Fraction) -> Ball:
    """Return the largest beta that costs nothing."""
    return (2 * ball(epsilon).cosh() - 1).log()
