# SPDX-License-Identifier: Apache-2.0
"""What a choice is told about its scores: how far one unit moves them, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sordino.exact.rational import Number, brief, covering, is_integer, positive, written
from sordino.mechanisms.grid import written_real

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

    Guarantee: none needed; public inputs only.
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
        for name, value in (
            ("sensitivity", length),
            ("epsilon", price),
            ("spread", wide),
            ("whole", whole),
            ("rate", rate),
        ):
            object.__setattr__(self, name, value)

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


def read_flag(name: str, value: object) -> bool:
    """Read True or False, and nothing that only looks like it.

    Guarantee: none needed; public inputs only.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got a value of type {type(value).__name__}")
    return value
