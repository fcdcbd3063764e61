# SPDX-License-Identifier: Apache-2.0
"""Laplace noise for smooth sensitivity: short tails, at the price of a delta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sordino.exact.balls import Ball, ball, is_positive
from sordino.mechanisms.smooth.noise import Fitted, downwards, two_sided, upwards

_TEXTBOOK_HOLDS = 7  # up to this epsilon for every delta


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """The law with density exp(-abs(z)) / 2.

    It needs a delta, and a small beta: by default ln(1 + epsilon / (2 ln(2 / delta))), with which
    the factor is below 2 / epsilon for every epsilon and every delta up to 0.7.

    >>> noise, target = LaplaceNoise(), {"epsilon": Fraction(1), "delta": Fraction(1, 10**6)}
    >>> float(noise.factor(**target, beta=Fraction("0.034462182")))
    1.4429082692120392

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: (epsilon, delta), exactly where the factor comes from the widest noise, which is
            whenever delta is small against beta.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 8.
    """

    @property
    def name(self) -> str:
        """The word that stands for this noise.

        Guarantee: none needed; public inputs only.
        """
        return "laplace"

    def fitted(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None) -> Fitted:
        """Choose beta.

        Guarantee: none needed; public inputs only.
        """
        _check(delta)
        if beta is None:
            beta = downwards(lambda: _in_textbooks(epsilon, delta).log1p())
        return self, beta

    def factor(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
        """Return the least scale factor for this loss, rounded up.

        Guarantee: as for the class.
        """
        _check(delta)

        def ratio() -> Ball:
            shrunk = ball(delta) / -(-ball(beta)).expm1()
            return shrunk * (ball(epsilon + beta) / ball(beta).expm1()).exp()

        if beta >= epsilon or not is_positive(lambda: ratio() - 1):
            raise ValueError("beta is too large for Laplace noise with this epsilon and delta")

        def at_rest() -> Ball:
            return ball(1 / epsilon)

        def inwards() -> Ball:
            return (-ball(beta)).exp() / ball(epsilon - beta)

        def outwards() -> Ball:
            return 1 / (ball(beta).expm1() * ratio().acosh())

        return max(map(upwards, (at_rest, inwards, outwards)))

    def textbook(
        self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None
    ) -> tuple[Fraction, Fraction]:
        """Return beta and the factor 2 / epsilon of the textbooks, where they are true.

        Guarantee: (epsilon, delta) as for the class; what is not proved is refused.
        """
        _check(delta)
        most = downwards(lambda: _in_textbooks(epsilon, delta))
        if beta is None:
            beta = most
        if beta > most:
            raise ValueError(
                "the textbook constants for Laplace noise need beta <= epsilon / (2 ln(2 / delta))"
            )
        factor = 2 / epsilon
        if epsilon > _TEXTBOOK_HOLDS:
            raise ValueError(
                "the textbook constants for Laplace noise are false for some delta when epsilon is "
                "above 7; use calibration='exact'"
            )
        try:
            holds = self.factor(epsilon=epsilon, delta=delta, beta=beta) <= factor
        except ValueError:
            holds = False
        if not holds:
            raise ValueError(
                "the textbook constants for Laplace noise are not proved for a delta this large; "
                "use calibration='exact'"
            )
        return beta, factor

    def cumulative(self, z: Ball) -> Ball:
        """Return the probability of a number below z.

        Guarantee: none needed; public inputs only.
        """
        tail = (-abs(z)).exp() / 2
        return two_sided(z, tail)


def _in_textbooks(epsilon: Fraction, delta: Fraction) -> Ball:
    """Return the largest beta of the textbooks."""
    return ball(epsilon) / (2 * ball(2 / delta).log())


def _check(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise ValueError("Laplace noise needs a delta, between 0 and 1, such as delta=1e-6")
