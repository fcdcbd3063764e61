# SPDX-License-Identifier: Apache-2.0
"""What every noise for smooth sensitivity can do, and arithmetic that they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from sordino.exact.balls import Ball, ball, is_positive, round_up
from sordino.exact.rounding import up_as_printed
from sordino.privacy.calibrate import least_double

_LARGEST_QUANTILE = 2.0**1000
NO_DELTA = "{0} noise needs no delta; leave delta at 0, or use noise='laplace'"
NO_TEXTBOOK = "there are no textbook constants for {0} noise; use calibration='exact'"


class Textbook(Protocol):
    """A noise whose constants are in textbooks too.

    Guarantee: none needed; public inputs only.
    """

    def textbook(
        self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None
    ) -> tuple[Fraction, Fraction]:
        """Return beta, the largest if none is given, and the scale factor of the textbooks."""
        ...


class Noise(Protocol):
    """A symmetric law on the real line that hides a value moved by S and a scale moved by e**beta.

    What is released is value + factor * S * Z with Z from this law.

    Guarantee: none needed; public inputs only.
    """

    @property
    def name(self) -> str:
        """The word that stands for this noise."""
        ...

    def fitted(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction | None) -> Fitted:
        """Choose beta, and whatever else is left open, by public rules."""
        ...

    def factor(self, *, epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
        """Return the least scale factor for this loss, rounded up."""
        ...

    def cumulative(self, z: Ball) -> Ball:
        """Return the probability of a number below z."""
        ...


Fitted = tuple[Noise, Fraction]


def upwards(formula: Callable[[], Ball]) -> Fraction:
    """Return a short decimal that is at least the value of a formula.

    Guarantee: none needed; public inputs only.
    """
    found = round_up(formula)
    if math.isinf(found):
        raise ValueError("epsilon is too small for this noise")
    return Fraction(repr(found))


def downwards(formula: Callable[[], Ball]) -> Fraction:
    """Return a short decimal that is at most the value of a formula.

    Guarantee: none needed; public inputs only.
    """
    return -upwards(lambda: -formula())


def two_sided(z: Ball, tail: Ball) -> Ball:
    """Return the probability of a number below z, from that of one below -abs(z).

    Guarantee: none needed; public inputs only.
    """
    if z > 0:
        return 1 - tail
    return tail if z <= 0 else tail.union(1 - tail)


def half_width(noise: Noise, factor: Fraction, confidence: Fraction) -> float:
    """Return a half-width that factor * Z keeps to with this confidence, rounded up.

    Guarantee: none needed; public inputs only.
    """
    tail = (1 + confidence) / 2

    def covers(width: Fraction) -> bool:
        return is_positive(lambda: noise.cumulative(ball(width)) - ball(tail))

    try:
        found = least_double(covers, near=1.0, high=_LARGEST_QUANTILE)
    except ValueError:
        raise ValueError("no double is a half-width for a confidence so close to 1") from None
    return up_as_printed(factor * Fraction(repr(found)))
