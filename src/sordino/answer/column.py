# SPDX-License-Identifier: Apache-2.0
"""A column of an answer, and one cell of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from sordino.query.types import Type, Value

Held: TypeAlias = "Value | tuple[Value, ...]"  # a list where several candidates were chosen
End: TypeAlias = "float | None"
Kind: TypeAlias = Literal["key", "measure", "diagnostic"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of an answer and how far off it may be.

    With ``confidence`` the exact value lies from ``low`` to ``high``, which is within
    ``half_width`` of ``value``. For keys, which are exact, and where nothing can be said, the other
    fields are None. ``float(cell)`` and ``int(cell)`` are its value.

    >>> print(Cell(value=1204, half_width=31.0, confidence=0.95, low=1173.0, high=1235.0))
    1,204 ± 31

    Guarantee: none needed; an answer is already private.
    """

    value: Held
    half_width: End = None
    confidence: float | None = None
    low: End = None
    high: End = None

    def __str__(self) -> str:
        from sordino.answer.numbers import plain, with_error  # which itself shows cells

        if self.confidence is None:
            return plain(self.value)
        return " ".join(with_error(self.value, self.half_width, self.low, self.high))

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def _number(self) -> float:
        if isinstance(self.value, int | float):
            return self.value
        raise TypeError(f"this cell holds no number, but {type(self.value).__name__}")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its type is fixed by the question, whatever the data holds.

    ``low`` and ``high`` are there for noisy numbers; an end is None where nothing can be said.
    ``gap`` belongs to chosen values: with the confidence, a choice has at most so many rows less
    than the best candidate.

    Guarantee: none needed; an answer is already private.
    """

    title: str
    type: Type
    kind: Kind
    values: tuple[Held, ...]
    low: tuple[End, ...] | None = None
    high: tuple[End, ...] | None = None
    confidence: Fraction | None = None
    gap: float | None = None
    listed: bool = False

    @property
    def noisy(self) -> bool:
        """Tell whether its numbers have error bars."""
        return self.low is not None

    @property
    def half_widths(self) -> tuple[End, ...]:
        """How far each value is from the farther end of its interval, rounded up."""
        return tuple(self.cell(row).half_width for row in range(len(self.values)))

    def cell(self, row: int) -> Cell:
        """Return one cell.

        Guarantee: none needed; an answer is already private.
        """
        value = self.values[row]
        if self.low is None or self.high is None or self.confidence is None:
            return Cell(value)
        low, high, sure = self.low[row], self.high[row], float(self.confidence)
        if low is None or high is None or not isinstance(value, int | float):
            return Cell(value, confidence=sure)
        return Cell(value, half_width(value, low, high), sure, low, high)

    def take(self, rows: list[int]) -> Column:
        """Return the same column with some of its rows, in that order.

        Guarantee: none needed; an answer is already private.
        """
        ends = [None if x is None else tuple(x[i] for i in rows) for x in (self.low, self.high)]
        return Column(
            self.title,
            self.type,
            self.kind,
            tuple(self.values[i] for i in rows),
            ends[0],
            ends[1],
            self.confidence,
            self.gap,
            self.listed,
        )


def half_width(value: float, low: float, high: float) -> float:
    """Return how far a value is from the farther end of its interval, rounded up.

    >>> half_width(10, 7.5, 12.0), half_width(0.5, 0.25, 0.75)
    (2.5, 0.25)

    Guarantee: none needed; an answer is already private.
    """
    far = max(high - value, value - low, 0.0)
    exact = max(Fraction(high) - Fraction(value), Fraction(value) - Fraction(low))
    return far if far >= exact else math.nextafter(far, math.inf)
