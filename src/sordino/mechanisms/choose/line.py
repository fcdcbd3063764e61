# SPDX-License-Identifier: Apache-2.0
"""The whole line as a public grid without end, with weights that add up, and draws from it."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from sordino.exact.coins import below_one
from sordino.exact.entropy import Bits
from sordino.exact.rational import Number, is_integer, positive, written
from sordino.exact.wheel import keeps, spin
from sordino.mechanisms.choose.values import read_finite

_FARTHEST = Fraction(1 << 1000)  # in place of a larger exponent, where doubles are needed
_COINS = 16  # fair ones that are tossed at a time
_NO_SUM = (
    "on a line without end the weights must add up: give the line a base, as in "
    "Line(centre=0, scale=100), or say with falls= how fast the scores fall beyond the breaks"
)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Line:
    """All multiples of ``step``, without a first and a last one: all integers by default.

    With ``centre`` and ``scale`` the line has a public base: the point y weighs
    exp(-abs(y - centre) / scale), which adds up, whatever bounded scores multiply it. Without them,
    scores must fall beyond their breaks, see ``choose_in``. A step that is no integer means that
    reals come out, each the double next to a multiple of the step. Nothing of this may depend on
    the data.

    >>> Line(), Line(step=0.5, centre=20, scale=100)
    (Line(), Line(step=0.5, centre=20, scale=100))
    >>> Line(scale=5)
    Traceback (most recent call last):
    TypeError: a base has a centre and a scale; give both of them, or none

    Guarantee: none needed; public inputs only.
    """

    step: Fraction
    whole: bool
    centre: Fraction | None
    scale: Fraction | None

    def __init__(
        self, *, step: Number = 1, centre: Number | None = None, scale: Number | None = None
    ) -> None:
        if (centre is None) is not (scale is None):
            raise TypeError("a base has a centre and a scale; give both of them, or none")
        keep = object.__setattr__
        keep(self, "step", positive("step", step))
        keep(self, "whole", is_integer(step))
        keep(self, "centre", None if centre is None else read_finite("centre", centre))
        keep(self, "scale", None if scale is None else positive("scale", scale))

    def __repr__(self) -> str:
        parts = [] if self.whole and self.step == 1 else [f"step={self._written()}"]
        if self.centre is not None and self.scale is not None:
            parts += [f"centre={written(self.centre)}", f"scale={written(self.scale)}"]
        return f"Line({', '.join(parts)})"

    def _written(self) -> str:
        whole = self.step.denominator == 1 and not self.whole
        return f"{self.step.numerator}.0" if whole else written(self.step)

    def point(self, place: int) -> int | float:
        """Return the number at a place; for reals the nearest double, or the largest one.

        Guarantee: none needed; public inputs only.
        """
        exact = place * self.step
        if self.whole:
            return exact.numerator
        try:
            return float(exact)
        except OverflowError:
            return sys.float_info.max if exact > 0 else -sys.float_info.max

    def first_from(self, value: Fraction, *, after: bool = False) -> int:
        """Return the place of the first point that is at least a value, or ``after`` it.

        Guarantee: none by itself; a function of the value alone.
        """
        place = math.ceil(value / self.step)
        return place + 1 if after and place * self.step == value else place

    def behind(self, place: int) -> Fraction:
        """Return how little a point weighs in the base: minus the logarithm of its weight.

        Guarantee: none needed; public inputs only.
        """
        if self.centre is None or self.scale is None:
            return Fraction(0)
        return abs(place * self.step - self.centre) / self.scale


@dataclass(frozen=True, slots=True)
class Slope:
    """Points in a row from ``start`` on, in one direction, that weigh exp(-floor - rate * d).

    There are ``size`` of them, or no end of them if that is None; d counts from 0.

    Guarantee: none needed; it stays inside a mechanism.
    """

    start: int
    direction: int
    size: int | None
    floor: Fraction
    rate: Fraction

    @property
    def block(self) -> int:
        """How many points in a row are drawn as if they weighed the same."""
        return math.ceil(1 / self.rate)

    @property
    def short(self) -> bool:
        """Whether all points are drawn as if they weighed the same."""
        return self.size is not None and (not self.rate or self.size <= 2 * self.block)

    @property
    def count(self) -> int:
        """How many points of the weight of the first one cover all of them."""
        return self.size if self.size is not None and self.short else 2 * self.block

    def draw(self, bits: Bits) -> int | None:
        """Draw a point with probability exp(-rate * d) / count, or none."""
        if self.short:
            distance, halvings = below_one(self.count, bits), 0
        else:
            halvings = _heads(bits)
            distance = halvings * self.block + below_one(self.block, bits)
            if self.size is not None and distance >= self.size:
                return None
        kept = keeps(self.rate * distance, bits, factor=Fraction(1 << halvings))
        return self.start + self.direction * distance if kept else None


class OnLine:
    """Scores that are constant between breaks, and fall linearly beyond them, as weights.

    ``breaks`` do not decrease, and there is one score more; ``rate`` is what scores are multiplied
    with and ``falls`` how much they fall for each unit beyond the first and the last break.

    Guarantee:
        Neighbours: as for choose_in.
        Loss: as for choose_in.
        Numerics: exact; no float decides an outcome.
        Proof: docs/proofs/choosing.md, theorem 9.
    """

    def __init__(
        self,
        line: Line,
        breaks: Sequence[Fraction],
        scores: Sequence[Fraction],
        *,
        rate: Fraction,
        falls: Fraction,
        after: bool,
    ) -> None:
        if line.scale is None and not falls:
            raise ValueError(_NO_SUM)
        if falls and not breaks:
            raise ValueError("scores that fall beyond their breaks need at least one break")
        self._line, self._breaks, self._scores = line, breaks, scores
        self._rate, self._falls, self._best = rate, falls, max(scores)
        cuts = [line.first_from(x, after=after) for x in breaks]
        self.slopes = list(self._slopes(cuts))

    def draw(self, bits: Bits) -> int:
        """Draw a place with a probability proportional to its weight."""
        counts = [slope.count for slope in self.slopes]
        floors = np.array([float(min(slope.floor, _FARTHEST)) for slope in self.slopes])
        while True:
            chosen = spin(counts, floors, lambda at: self.slopes[at].floor, bits)
            place = self.slopes[chosen].draw(bits)
            if place is not None:
                return place

    def exponent(self, piece: int, place: int) -> Fraction:
        """Return minus the logarithm of the weight of a point that lies in a piece."""
        score, beyond = self._scores[piece], Fraction(0)
        if self._falls and piece == 0:
            beyond += self._breaks[0] - place * self._line.step
        if self._falls and piece == len(self._breaks):
            beyond += place * self._line.step - self._breaks[-1]
        lost = self._rate * (self._best - score + self._falls * beyond)
        return lost + self._line.behind(place)

    def _slopes(self, cuts: list[int]) -> list[Slope]:
        """Divide the line where pieces end and at the centre; between, exponents are linear."""
        ends: list[int | None] = [None, *cuts, None]
        kink = None if self._line.centre is None else self._line.first_from(self._line.centre)
        found = []
        for piece, (start, stop) in enumerate(pairwise(ends)):
            inside = kink is not None and _before(start, kink) and _before(kink, stop)
            for first, last in pairwise([start, kink, stop] if inside else [start, stop]):
                if first is None or last is None or first < last:
                    found.append(self._slope(piece, first, last))
        return found

    def _slope(self, piece: int, first: int | None, stop: int | None) -> Slope:
        """Return the points from ``first`` to before ``stop``, the best one first."""
        near, direction = (stop - 1, -1) if stop is not None else (0, 1)
        if first is not None and (stop is None or self._rises(piece, first, stop)):
            near, direction = first, 1
        floor = self.exponent(piece, near)
        size = None if first is None or stop is None else stop - first
        if size == 1:
            return Slope(near, direction, size, floor, Fraction(0))
        return Slope(near, direction, size, floor, self.exponent(piece, near + direction) - floor)

    def _rises(self, piece: int, first: int, stop: int) -> bool:
        """Tell whether exponents are no smaller at the end of a row than at its beginning."""
        return self.exponent(piece, stop - 1) >= self.exponent(piece, first)


def _before(one: int | None, other: int | None) -> bool:
    """Tell whether one place comes before another; None is an end without a place."""
    return one is None or other is None or one < other


def _heads(bits: Bits) -> int:
    """Return how often a fair coin comes up before it does not."""
    heads = 0
    while (word := bits.integer(_COINS)) == (1 << _COINS) - 1:
        heads += _COINS
    return heads + (~word & (word + 1)).bit_length() - 1
