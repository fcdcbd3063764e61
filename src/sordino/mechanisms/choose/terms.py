# SPDX-License-Identifier: Apache-2.0
"""What a choice by scores is promised: how far one unit moves them, and the price."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sordino.mechanisms.choose.scores import read_flag
from sordino.mechanisms.mechanism import fill
from sordino.numbers.rational import (
    Number,
    brief,
    covering,
    is_integer,
    positive,
    written,
    written_real,
)
from sordino.privacy.loss import Loss

# Between these rates the exponents of scores fit the arithmetic of the draws.
_SMALLEST_RATE, _LARGEST_RATE = Fraction(1, 1 << 256), Fraction(1 << 256)


@dataclass(frozen=True, slots=True, init=False)
class Terms:
    """How far one unit moves the scores, and the epsilon of one choice.

    ``spread`` is how much more one score can move than another: twice the sensitivity, or the
    sensitivity itself if all scores move the same way. ``rate`` is epsilon / spread, what a score
    is multiplied with.

    >>> (
    ...     Terms(sensitivity=1, epsilon=0.5).rate,
    ...     Terms(sensitivity=1, epsilon=0.5, monotone=True).rate,
    ... )
    (Fraction(1, 4), Fraction(1, 2))
    """

    sensitivity: Fraction
    epsilon: Fraction
    spread: Fraction
    whole: bool
    rate: Fraction = field(compare=False)

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        monotone: bool = False,
        spread: Number | None = None,
    ) -> None:
        price = positive("epsilon", epsilon)
        length = covering("sensitivity", sensitivity)
        whole = is_integer(sensitivity) and (spread is None or is_integer(spread))
        if spread is None:
            wide = length if read_flag("monotone", monotone) else 2 * length
        elif monotone:
            raise ValueError("state either monotone=True or a spread, not both")
        else:
            wide = covering("spread", spread)
        if wide > 2 * length:
            raise ValueError(
                f"spread must be at most twice the sensitivity, which is {brief(2 * length)}, "
                f"got {brief(wide)}"
            )
        rate = price / wide
        if not _SMALLEST_RATE <= rate <= _LARGEST_RATE:
            side = "small" if rate < _SMALLEST_RATE else "large"
            raise ValueError(
                f"epsilon is too {side} for a sensitivity of {brief(length)}, got {brief(price)}"
            )
        fill(self, sensitivity=length, epsilon=price, spread=wide, whole=whole, rate=rate)

    @property
    def monotone(self) -> bool:
        """Whether the spread is that of scores that all move the same way."""
        return self.spread == self.sensitivity

    def __str__(self) -> str:
        """The arguments as a user would type them, without those that have their default."""
        number = written if self.whole else written_real
        text = f"sensitivity={number(self.sensitivity)}, epsilon={written(self.epsilon)}"
        if self.monotone:
            return f"{text}, monotone=True"
        if self.spread != 2 * self.sensitivity:
            return f"{text}, spread={number(self.spread)}"
        return text


class Choice:
    """A mechanism that chooses by scores, with what its terms say."""

    __slots__ = ()

    terms: Terms
    loss: Loss

    @property
    def epsilon(self) -> Fraction:
        """The price of one release."""
        return self.terms.epsilon

    @property
    def sensitivity(self) -> Fraction:
        """How far one unit can move any score."""
        return self.terms.sensitivity

    @property
    def spread(self) -> Fraction:
        """How much more one unit can move one score than another."""
        return self.terms.spread

    @property
    def monotone(self) -> bool:
        """Whether the spread is that of scores that all move the same way."""
        return self.terms.monotone

    @property
    def rate(self) -> Fraction:
        """What scores are multiplied with, one over the scale of the noise: epsilon / spread."""
        return self.terms.rate
