# SPDX-License-Identifier: Apache-2.0
"""Bounds to clamp values to, found privately among the powers of two."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.mechanism import Mechanism, fill
from sordino.numbers.balls import Ball, ball, ceiling
from sordino.numbers.columns import as_int64, clamping_door, kinds_of, number_of, read_numbers
from sordino.numbers.rational import (
    Integer,
    Number,
    confidence_level,
    is_integer,
    positive,
    positive_whole,
)
from sordino.privacy import losses
from sordino.privacy.loss import Loss
from sordino.randomness.entropy import Bits, system
from sordino.randomness.selection import spin
from sordino.sensitivity.norms import Neighbours, read_neighbours, read_number

Integers: TypeAlias = npt.NDArray[np.int64]
Powers: TypeAlias = tuple[int, int]

WHOLE_POWERS: Powers = (0, 62)
REAL_POWERS: Powers = (-20, 40)
_FARTHEST = 1000  # powers of two beyond are not all doubles
_USUAL = Fraction(19, 20)
_EXACT = np.uint64(1 << 53)  # integers up to this are doubles
_LEADING = np.uint64((1 << 64) - (1 << 11))  # the bits of a larger one that a double can hold
_SIDES = {"both": 2, "lower": 1, "upper": 1}


_VALUES = clamping_door("values")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PrivateBounds(Mechanism):
    """Find a lower and an upper bound that few values lie beyond.

    Bounds are 0 less or more a power of two from 2**powers[0] to 2**powers[1]. The line is divided
    at these numbers, and each end is the cell in which the value of a certain rank lies, counted
    from that end, drawn by the exponential mechanism with the distance between ranks as the score.
    The rank, ``target``, is chosen such that the drawn cell is unlikely to lie beyond all values.
    ``side`` is "both", or "lower" or "upper" where the other end is known; then all of epsilon is
    spent on one end. One unit has at most ``rows`` values.

    To read: ``epsilon``, ``neighbours``, ``side``, ``powers``, ``rows``, ``confidence`` as they
    were given, ``target`` and ``loss``.

    >>> m = PrivateBounds(epsilon=1, neighbours="add_remove", side="upper")
    >>> m, m.target, m.beyond()
    (PrivateBounds(epsilon=1, neighbours='add_remove', side='upper'), 16, 31)

    Guarantee:
        Neighbours: one unit with at most ``rows`` values, added or removed, or replaced.
        Loss: epsilon, pure, as one or two steps of bounded range.
        Numerics: the draw is exact. With probability ``confidence``, at most ``beyond()`` values
            lie beyond each end that was looked for, if there are ``target`` values or more; and
            some value lies in the last cell inside each end, or beyond it, so that no end is far
            out. With fewer values the ends may lie anywhere. Missing values and NaN are left out.
        Proof: docs/proofs/partitions.md, theorem 6.
    """

    epsilon: Fraction
    neighbours: Neighbours
    side: str
    powers: Powers
    rows: int
    confidence: Fraction
    target: int = field(compare=False)
    loss: Loss = field(compare=False)

    def __init__(
        self,
        *,
        epsilon: Number,
        neighbours: str,
        side: str = "both",
        powers: Powers = REAL_POWERS,
        rows: Integer = 1,
        confidence: Number = _USUAL,
    ) -> None:
        price, relation = positive("epsilon", epsilon), read_neighbours(neighbours)
        if side not in _SIDES:
            raise ValueError(f"side must be 'both', 'lower' or 'upper', got {side!r}")
        step = losses.exponential(epsilon=price / _SIDES[side])
        fill(
            self,
            epsilon=price,
            neighbours=relation,
            side=side,
            powers=_read_powers(powers),
            rows=positive_whole("rows", rows),
            confidence=confidence_level(confidence),
            loss=(_SIDES[side] * step).under(relation.value),
        )
        fill(self, target=self._reach(self.confidence))

    @property
    def cells(self) -> int:
        """How many cells the line is divided into."""
        return 2 * (self.powers[1] - self.powers[0]) + 1

    @property
    def rate(self) -> Fraction:
        """By how much the logarithm of a weight falls with each rank."""
        return self.epsilon / (2 * _SIDES[self.side] * self.rows)

    def beyond(self, *, confidence: Number | None = None) -> int:
        """Return how many values lie beyond an end at most, with this confidence for all ends."""
        level = self.confidence if confidence is None else confidence_level(confidence)
        return self.target + self._reach(level) - 1

    def release(self, values: object) -> tuple[Any, Any]:
        """Return the bounds: None for an end that was not looked for.

        They are integers if no power is negative, otherwise floats; both are exact.
        """
        counts = np.bincount(_cells_of(values, self.powers), minlength=self.cells)
        bits = system()
        low = high = None
        if self.side != "upper":
            low = self._draw(counts, bits)
        if self.side != "lower":
            high = self.cells - 1 - self._draw(counts[::-1], bits)
        if low is not None and high is not None and low > high:
            low, high = high, low  # which is looking at the result alone
        whole = self.powers[0] >= 0
        return (
            None if low is None else _number(-_edge(self.cells - 1 - low, self.powers), whole),
            None if high is None else _number(_edge(high, self.powers), whole),
        )

    def ranks_off(self, counts: Integers) -> Integers:
        """Return for each cell how far the target is from the ranks that its values have.

        Guarantee:
            Neighbours: one unit with at most ``rows`` values, added, removed or replaced.
            Loss: none by itself; no entry moves by more than ``rows``.
            Numerics: exact.
            Proof: docs/proofs/partitions.md, theorem 6.
        """
        ends = np.cumsum(counts)
        starts = ends - counts
        zero = np.zeros_like(ends)
        found: Integers = np.maximum(zero, np.maximum(starts - self.target, self.target - ends))
        return found

    def _draw(self, counts: Integers, bits: Bits) -> int:
        off, rate = self.ranks_off(counts), self.rate
        ones = np.ones(off.size, dtype=np.int64)
        exponents = np.multiply(off, float(rate), dtype=np.float64)
        return spin(ones, exponents, lambda cell: int(off[cell]) * rate, bits)

    def _reach(self, level: Fraction) -> int:
        """Return how far off a rank is not, for all ends, with this confidence."""
        wrong = _SIDES[self.side] * (self.cells - 1) / (1 - level)

        def formula() -> Ball:
            return ball(wrong).log() / ball(self.rate)

        return ceiling(formula)


def private_bounds(
    values: object,
    *,
    epsilon: Number,
    neighbours: str,
    lower: Number | None = None,
    upper: Number | None = None,
    powers: Powers | None = None,
    rows: Integer = 1,
) -> tuple[Any, Any]:
    """Return bounds to clamp values to; see PrivateBounds.

    An end that is known, such as ``lower=0`` for ages, is handed back as it is, and all of epsilon
    is spent on the other one. ``powers`` are by default (0, 62), for integers, if there is a known
    end that is an integer, and (-20, 40), for reals, otherwise: write ``lower=0.0`` for reals, and
    ``powers=(0, 62)`` for integers without a known end. The values have no part in this.

    Guarantee: as for PrivateBounds.
    """
    if lower is not None and upper is not None:
        raise TypeError("both ends are known; there is nothing to look for")
    for name, end in (("lower", lower), ("upper", upper)):
        if end is not None:
            read_number(name, end)
    side = "both" if lower is None and upper is None else "upper" if upper is None else "lower"
    if powers is None:
        known = upper if lower is None else lower
        powers = WHOLE_POWERS if is_integer(known) else REAL_POWERS
    rule = PrivateBounds(
        epsilon=epsilon, neighbours=neighbours, side=side, powers=powers, rows=rows
    )
    low, high = rule.release(values)
    # A known end beyond the drawn one leaves a single point, which is the known end's own.
    if lower is not None:
        return lower, max(high, lower)
    if upper is not None:
        return min(low, upper), upper
    return low, high


def _read_powers(powers: object) -> Powers:
    rule = "powers must be a pair (first, last) of whole numbers, such as (-20, 40)"
    if not isinstance(powers, tuple | list) or len(powers) != 2 or not all(map(is_integer, powers)):
        raise TypeError(rule)
    first, last = int(powers[0]), int(powers[1])
    if not -_FARTHEST <= first < last <= _FARTHEST:
        raise ValueError(f"{rule}, increasing and between -1000 and 1000")
    return first, last


def _cells_of(values: object, powers: Powers) -> npt.NDArray[np.intp]:
    """Return the cell of each value; cells are numbered from the most negative one."""
    array = read_numbers(_VALUES, values)
    whole = as_int64(array) if array.dtype.kind == "O" else None
    reals = _doubles(array if whole is None else whole)
    reals = reals[~np.isnan(reals)]
    first, last = powers
    size = np.minimum(np.abs(reals), 2.0**last)
    exponents = np.frexp(size)[1].astype(np.intp) - 1  # of the power of two at or below
    away = np.clip(exponents - first + 1, 0, last - first)
    away[size < 2.0**first] = 0
    middle = last - first
    return np.where(reals < 0, middle - away, middle + away)


def _doubles(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return doubles that lie between the same powers of two as the values; NaN where none is."""
    if array.dtype.kind in "bf" and array.dtype.itemsize <= 8:
        return array.astype(np.float64)
    if array.dtype.kind == "O" and kinds_of(array) == {float}:
        return array.astype(np.float64)
    if array.dtype.kind in "iu":
        size = np.where(array < 0, ~array, array).astype(np.uint64) + (array < 0)
        size[size > _EXACT] &= _LEADING  # so that none is rounded up to the next power
        return np.where(array < 0, -1.0, 1.0) * size.astype(np.float64)
    return np.fromiter(map(_double, array), dtype=np.float64, count=array.size)


def _double(x: object) -> float:
    """Return the next double towards 0."""
    number = number_of(x)
    if number is None:
        return math.nan
    try:
        double = float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    beyond = double > number if number > 0 else double < number
    return math.nextafter(double, 0.0) if beyond else double


def _edge(cell: int, powers: Powers) -> Fraction:
    """Return the upper end of a cell."""
    first, last = powers
    away = cell - (last - first)
    if away >= 0:
        return Fraction(2) ** (first + away)
    return -(Fraction(2) ** (first - away - 1))


def _number(x: Fraction, whole: bool) -> int | float:
    return int(x) if whole else float(x)
