# SPDX-License-Identifier: Apache-2.0
"""Student's t noise for smooth sensitivity: no delta, and moments below its degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.exact.balls import Ball, ball, pi
from sordino.exact.rational import Integer, positive_whole
from sordino.mechanisms.smooth.noise import NO_DELTA, Fitted, upwards

_MOST_DEGREES = 1000


@dataclass(frozen=True, slots=True, init=False, repr=False)
class StudentNoise:
    """Student's t with d degrees of freedom: density of the form (1 + z**2 / d)**-((d + 1) / 2).

    It has a variance for d of at least 3, the default; with 1 it is Cauchy noise. Any beta below
    epsilon / d will do, and half of that is the default.

    >>> StudentNoise().factor(epsilon=Fraction(1), delta=Fraction(0), beta=Fraction(1, 6)) < 3
    True

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: exactly epsilon at the factor before rounding.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 7.
    """

    degrees: int

    def __init__(self, *, degrees: Integer = 3) -> None:
        read = positive_whole("degrees", degrees)
        if read > _MOST_DEGREES:
            raise ValueError(f"degrees must be at most {_MOST_DEGREES}")
        object.__setattr__(self, "degrees", read)

    def __repr__(self) -> str:
        return f"StudentNoise(degrees={self.degrees})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (self.degrees,)

    @property
    def name(self) -> str:
        """The word that stands for this noise.

        Guarantee: none needed; public inputs only.
        """
        return "student"

    def fitted(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None) -> Fitted:
        """Choose beta.

        Guarantee: none needed; public inputs only.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Student's t"))
        return self, epsilon / (2 * self.degrees) if beta is None else beta

    def factor(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
        """Return the least scale factor for this loss, rounded up.

        Guarantee: as for the class.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Student's t"))
        d = self.degrees
        if beta * d >= epsilon:
            raise ValueError("beta must be below epsilon / degrees for Student's t noise")
        rest = (2 * epsilon - (d - 1) * beta) / (d + 1)

        def at_rest() -> Ball:
            return 1 / (2 * ball(d).sqrt() * ball(epsilon / (d + 1)).sinh())

        def at_beta() -> Ball:
            room = ball(rest).cosh() - ball(beta).cosh()
            return ((-ball(beta)).exp() / (2 * d * room)).sqrt()

        return max(upwards(at_rest), upwards(at_beta))

    def cumulative(self, z: Ball) -> Ball:
        """Return the probability of a number below z.

        With the angle t of the tangent z / sqrt(d) it is a finite sum of powers of cos(t)**2.

        Guarantee: none needed; public inputs only.
        """
        d = self.degrees
        square = d / (d + z * z)
        sine = z * (1 / (d + z * z)).sqrt()
        odd = d % 2
        terms, term = ball(0), ball(1)
        for k in range(1, d // 2 + 1):
            terms += term
            term *= square * ball(Fraction(2 * k - 1 + odd, 2 * k + odd))
        if odd:
            angle = (z / ball(d).sqrt()).atan()
            inside = (angle + sine * square.sqrt() * terms) * 2 / pi()
        else:
            inside = sine * terms
        return (1 + inside) / 2


def _make(degrees: int) -> StudentNoise:
    return StudentNoise(degrees=degrees)
