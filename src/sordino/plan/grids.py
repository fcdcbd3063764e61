# SPDX-License-Identifier: Apache-2.0
"""Public grids: which whole numbers values become before they are added up or ranked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino.plan.bounded import Shares
from sordino.query.types import Range

MOST_BITS, FEWEST_BITS = 31, 12
MOST_BUCKETS = 2**16
_SCALE_BITS = 44  # noise is drawn at scales up to 2**50; a release may have 1/64 of epsilon
_MOST_EXPONENT = 900  # so that every step is an ordinary double


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps of 2 ** exponent, and the first and last of them that count.

    Guarantee: none needed; public inputs only.
    """

    low: int
    high: int
    exponent: int

    @property
    def step(self) -> Fraction:
        """The width of one step."""
        return Fraction(2) ** self.exponent

    @property
    def middle(self) -> int:
        """The step in the middle, or just before it."""
        return (self.low + self.high) // 2


def bits_for(shares: Shares, epsilon: float) -> int:
    """Return how many bits a value may have, so that its noise can still be drawn.

    >>> bits_for(Shares(rows=10), 1.0), bits_for(Shares(rows=1, alone=True), 1.0)
    (24, 31)

    Guarantee: none needed; public inputs only.
    """
    rows = shares.rows * shares.steps
    left = _SCALE_BITS - math.ceil(math.log2(rows) - math.log2(epsilon))
    return max(FEWEST_BITS, min(MOST_BITS, left))


def grid_for(public: Range, *, bits: int, whole: bool, centred: bool = False) -> Grid:
    """Return the grid on which a public range has about so many bits.

    ``whole`` says that values are integers: they stay exact as long as the bits suffice. With
    ``centred`` the middle of the range is a step itself, if there are bits for it. Ends are
    rounded inwards.

    >>> grid_for(Range(Fraction(0), Fraction(120)), bits=24, whole=True)
    Grid(low=0, high=120, exponent=0)
    >>> grid_for(Range(Fraction(0), Fraction(5000)), bits=24, whole=False)
    Grid(low=0, high=10240000, exponent=-11)
    >>> grid_for(Range(Fraction(0), Fraction(1)), bits=24, whole=True, centred=True)
    Grid(low=0, high=2, exponent=-1)

    Guarantee: none needed; public inputs only.
    """
    exponent = _log2_up(max(abs(public.low), abs(public.high))) - bits
    if whole and public.low.denominator == public.high.denominator == 1:
        odd = centred and (public.low + public.high) % 2 == 1 and exponent <= -1
        exponent = max(exponent, -1 if odd else 0)
    return _between(public, exponent)


def buckets_for(public: Range, *, whole: bool) -> tuple[Grid, int]:
    """Return a grid for ranks and how many of its steps make a bucket, at most 65,536 buckets.

    >>> buckets_for(Range(Fraction(0), Fraction(120)), whole=True)
    (Grid(low=0, high=120, exponent=0), 1)
    >>> buckets_for(Range(Fraction(0), Fraction(5000)), whole=False)
    (Grid(low=0, high=40000, exponent=-3), 1)

    Guarantee: none needed; public inputs only.
    """
    size = max(abs(public.low), abs(public.high))
    if whole and public.low.denominator == public.high.denominator == 1:
        grid = _between(public, max(0, _log2_up(size) - MOST_BITS))
        return grid, -(-(grid.high - grid.low + 1) // MOST_BUCKETS)
    exponent = max(_log2_up(size) - MOST_BITS, _log2_up(public.high - public.low) - 16)
    grid = _between(public, exponent)
    return grid, -(-(grid.high - grid.low + 1) // MOST_BUCKETS)


def _between(public: Range, exponent: int) -> Grid:
    exponent = max(-_MOST_EXPONENT, min(_MOST_EXPONENT, exponent))
    step = Fraction(2) ** exponent
    low, high = math.ceil(public.low / step), math.floor(public.high / step)
    if low > high:  # no step lies between them
        low = high = round((public.low + public.high) / (2 * step))
    return Grid(low, high, exponent)


def _log2_up(x: Fraction) -> int:
    """Return the least e with x <= 2 ** e; 0 for 0."""
    if x == 0:
        return 0
    e = x.numerator.bit_length() - x.denominator.bit_length() - 1
    while Fraction(2) ** e < x:
        e += 1
    return e
