# SPDX-License-Identifier: Apache-2.0
"""Two-sided Lomax noise for smooth sensitivity: no delta, and moments up to its shape."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.exact.balls import Ball, ball
from sordino.exact.rational import Number, positive, written
from sordino.mechanisms.smooth.noise import NO_DELTA, Fitted, two_sided, upwards

_DEFAULT_SHAPE = 4


@dataclass(frozen=True, slots=True, init=False, repr=False)
class LomaxNoise:
    """The law with density (a / 2) (1 + abs(z))**-(a + 1), where a is the ``shape``.

    It has a variance for a shape above 2, and comes close to Laplace noise for a large one. The
    shape is at most epsilon / beta, and that by default; beta is epsilon over the shape by default,
    or epsilon / 4 if neither is given.

    >>> LomaxNoise(shape=3)
    LomaxNoise(shape=3)

    Guarantee:
        Neighbours: those that the smooth bound is for.
        Loss: exactly epsilon at the factor before rounding.
        Numerics: the factor is rounded up, to a double.
        Proof: docs/proofs/smooth.md, theorem 6.
    """

    shape: Fraction | None

    def __init__(self, *, shape: Number | None = None) -> None:
        read = None if shape is None else positive("shape", shape)
        object.__setattr__(self, "shape", read)

    def __repr__(self) -> str:
        return f"LomaxNoise(shape={None if self.shape is None else written(self.shape)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (self.shape,)

    @property
    def name(self) -> str:
        """The word that stands for this noise.

        Guarantee: none needed; public inputs only.
        """
        return "lomax"

    def fitted(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None) -> Fitted:
        """Choose beta and the shape.

        Guarantee: none needed; public inputs only.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Lomax"))
        if beta is None:
            shape = self.shape or Fraction(_DEFAULT_SHAPE)
            # A shape below 1 must leave beta below epsilon.
            beta = epsilon / shape if shape > 1 else epsilon / 2
        return (self if self.shape is not None else LomaxNoise(shape=epsilon / beta)), beta

    def factor(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
        """Return the least scale factor for this loss, rounded up.

        Guarantee: as for the class.
        """
        if delta:
            raise ValueError(NO_DELTA.format("Lomax"))
        shape = self._shape()
        if beta >= epsilon or shape * beta > epsilon:
            raise ValueError(
                "beta must be below epsilon, and at most epsilon / shape, for Lomax noise"
            )

        def at_rest() -> Ball:
            return 1 / (ball(epsilon / (shape + 1))).expm1()

        def at_beta() -> Ball:
            return (-ball(beta)).exp() / ball((epsilon - beta) / (shape + 1)).expm1()

        return max(upwards(at_rest), upwards(at_beta))

    def cumulative(self, z: Ball) -> Ball:
        """Return the probability of a number below z.

        Guarantee: none needed; public inputs only.
        """
        tail = (-ball(self._shape()) * abs(z).log1p()).exp() / 2
        return two_sided(z, tail)

    def _shape(self) -> Fraction:
        if self.shape is None:
            raise ValueError("the shape of this noise is open; give one, or use it in Smooth")
        return self.shape


def _make(shape: Number | None) -> LomaxNoise:
    return LomaxNoise(shape=shape)
