# SPDX-License-Identifier: Apache-2.0
"""Ordered tuples of k candidates, drawn exactly by how far they are from the true top k.

Let t_0 >= t_1 >= ... be the k largest values. The gap of a tuple s is the largest of t_i - c(s_i),
never below 0. There are far too many tuples to list, but they fall into slots. Imagine the bar of
every position i falling from t_i together: after a fall of g, position i admits the candidates
with a value of at least t_i - g. The first slot holds the tuples that are complete at once, with
the gap 0. After that candidates are admitted group by group, a group being all candidates with one
value; whenever position i admits a group, the tuples with s_i in that group become complete and
make up the next slot. Groups that are due at the same fall are admitted by the last position first;
so each position admits whatever the positions before it admit, and the number of tuples of a slot
is a product: the size of the group times n_j - j for all other positions j = 0, ..., k - 1, where
n_j is how many candidates position j admits. (docs/proofs/top-k.md, theorem 7.)
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.randomness.coins import below_one
from sordino.randomness.entropy import Bits
from sordino.randomness.selection import keeps

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[Any]  # of int64, or of Python ints where these are too small

MOST_SLOTS = 1 << 24  # about a gigabyte while a tuple is drawn
MOST_BITS = 30_000  # of the number of tuples; exponentials have at most 2**15 bits
_SPAN = 1 << 62
_TOP_BITS = 61  # the numbers of all slots add up to less than 2**63


class Group(NamedTuple):
    """Candidates with one value, that position ``place`` has just admitted."""

    place: int
    start: int
    size: int


class Slot(NamedTuple):
    """Tuples with one gap: how many candidates each position admits, and who must be in it."""

    gap: int
    admitted: tuple[int, ...]
    group: Group | None

    def number(self) -> int:
        """Return the number of tuples."""
        factors = [n - j for j, n in enumerate(self.admitted)]
        if self.group is not None:
            factors[self.group.place] = self.group.size
        return math.prod(factors)

    def draw(self, bits: Bits) -> list[int]:
        """Draw one of the tuples, each with the same probability; as ranks, from 0 for the best."""
        chosen: list[int] = []
        taken: list[int] = []
        for place, admitted in enumerate(self.admitted):
            if self.group is not None and place == self.group.place:
                rank = self.group.start + below_one(self.group.size, bits)
            else:
                rank = below_one(admitted - place, bits)
                for earlier in taken:  # in order, so that each one passed makes room for the next
                    rank += rank >= earlier
            chosen.append(rank)
            insort(taken, rank)
        return chosen


class Slots:
    """All slots of the tuples of k candidates with these values, which are whole numbers."""

    __slots__ = (
        "_flat", "_gaps", "_order", "_rising", "_sizes", "_starts", "_tops", "gaps", "k",
    )  # fmt: skip

    def __init__(self, values: Integers, k: int) -> None:
        self.k = k
        values = _from_zero(values)
        self._order = np.argsort(values, kind="stable")[::-1]
        self._rising = values[self._order[::-1]]
        levels, sizes = np.unique(self._rising, return_counts=True)
        levels, self._sizes = levels[::-1], sizes[::-1]
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._tops = values[self._order[:k]]
        if values.size * k > MOST_SLOTS:  # how many scores differ is private
            raise ValueError(
                f"{k} positions and {values.size} candidates are too many for the joint "
                "mechanism; choose one after the other instead"
            )
        # The last position comes first, and sorting keeps that order among equal gaps.
        gaps = (self._tops[::-1, None] - levels[None, :]).ravel()
        later = np.flatnonzero(gaps > 0)
        self._flat = later[np.argsort(gaps[later], kind="stable")]
        self.gaps: Integers = np.concatenate([gaps[:1] * 0, gaps[self._flat]])

    def __len__(self) -> int:
        return int(self.gaps.size)

    def __getitem__(self, slot: int) -> Slot:
        """Return one slot; only those that are drawn are ever made."""
        gap = self.gaps[slot]
        above, from_it_on = (
            self._rising.size - np.searchsorted(self._rising, self._tops - gap, side=side)
            for side in ("right", "left")
        )
        if slot == 0:
            return Slot(0, tuple(from_it_on.tolist()), None)
        row, level = divmod(int(self._flat[slot - 1]), self._sizes.size)
        place = self.k - 1 - row
        admitted = (*above[: place + 1].tolist(), *from_it_on[place + 1 :].tolist())
        group = Group(place, int(self._starts[level]), int(self._sizes[level]))
        return Slot(int(gap), admitted, group)

    def logarithms(self) -> tuple[Floats, float]:
        """Return the logarithms of the numbers of tuples, and a bound on all their errors.

        Admitting a group multiplies the number of complete tuples by a ratio; the logarithms of
        these ratios are added up. Each of them is off by less than 2**-43, where np.log is taken
        to be within 8 units in the last place, and each sum by 2**-53 of itself at most.
        """
        places = np.arange(self.k - 1, -1, -1)[:, None]
        before = np.log(np.maximum(self._starts[None, :] - places, 1)).ravel()[self._flat]
        ends = self._starts + self._sizes
        ratios = np.log(np.maximum(ends[None, :] - places, 1)).ravel()[self._flat]
        ratios -= before
        first = math.log(self[0].number())
        complete = np.cumsum(np.concatenate([[first], ratios]))
        found: Floats = np.empty(len(self))
        found[0] = first
        found[1:] = complete[:-1] - before
        found[1:] += np.log(self._sizes)[self._flat % self._sizes.size]
        largest = float(complete[-1]) + 64
        return found, len(self) * (2.0**-43 + largest * 2.0**-52) + 2.0**-40

    def names(self, ranks: Sequence[int]) -> list[int]:
        """Return the candidates of these ranks."""
        return [int(self._order[rank]) for rank in ranks]


def draw_tuple(values: Integers, k: int, rate: Fraction, bits: Bits) -> list[int]:
    """Draw an ordered tuple of k candidates with a probability proportional to exp(-rate * gap).

    Each slot gets a whole number that is certain to be at least its weight; a slot is drawn in
    proportion to these, and kept with the probability weight / number, which is decided exactly.
    """
    if k * values.size.bit_length() > MOST_BITS:
        raise ValueError("so many tuples are too many for the joint mechanism; choose a smaller k")
    slots = Slots(values, k)
    exponents = _doubles(slots.gaps, rate)
    sizes, error = slots.logarithms()
    sizes -= exponents
    scale = math.floor(_TOP_BITS - len(slots).bit_length() - float(sizes.max()) / math.log(2))
    sizes += scale * math.log(2) + error
    exponents *= 2.0**-48
    sizes += exponents
    numbers = np.exp(sizes).astype(np.int64)
    numbers += 1
    ends = np.cumsum(numbers)
    while True:
        at = int(np.searchsorted(ends, below_one(int(ends[-1]), bits), side="right"))
        slot = slots[at]
        share = slot.number() * Fraction(2) ** scale / int(numbers[at])
        if keeps(rate * slot.gap, bits, factor=share):
            return slots.names(slot.draw(bits))


def _from_zero(values: Integers) -> Integers:
    """Return the values minus the least one, as int64 if they fit."""
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest < _SPAN:
        return np.asarray(values - lowest, dtype=np.int64)
    return values.astype(object) - lowest


def _doubles(gaps: Integers, rate: Fraction) -> Floats:
    """Return rate * gap within a relative 2**-51; what is beyond 2**1000 counts as that."""
    if gaps.dtype != object:
        return gaps.astype(np.float64) * float(rate)
    return np.array([float(min(rate * gap, Fraction(1 << 1000))) for gap in gaps.tolist()])
