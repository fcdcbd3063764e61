# SPDX-License-Identifier: Apache-2.0
"""Several candidates in order, drawn exactly: by a race of keys, or as one ordered tuple."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import Ball, ball, is_positive
from sordino.numbers.rational import down
from sordino.randomness.entropy import Bits, below_one, fresh_words
from sordino.randomness.selection import keeps
from sordino.randomness.tables import WORD_BITS

Floats: TypeAlias = npt.NDArray[np.float64]
Words: TypeAlias = npt.NDArray[np.uint64]
Scores: TypeAlias = npt.NDArray[Any]
Noise: TypeAlias = Literal["gumbel", "exponential"]

BLOCK = 1 << 16
LEAST_RATE, LARGEST_RATE = Fraction(1, 1 << 1000), Fraction(1 << 1000)
_UNIT = 2.0**-64
_ALL_ONES = np.uint64((1 << 64) - 1)

# A word w stands for V between w and w + 1 units of 2**-64, and the double v is within a relative
# 2**-53 of w units. From 2**-32 on, v is within a relative 2**-31.9 of V, and numpy's log and log1p
# are taken to be within 8 units in the last place. Then -log(v), at most 22.2, is within 2**-31 of
# -ln(V); and so is -log(-log1p(-v)) of -ln(-ln(1 - V)) up to 1 - 2**-12, where a relative error of
# V grows by a factor of at most 2**9. The noise falls with V: so the lower end of an interval of V
# bounds it from above, also where the interval is wide.
_MARGIN = 2.0**-30
_PRECISE, _STEEP = 2.0**-32, 1 - 2.0**-12
_LOWEST = -4.0  # below the Gumbel noise of every V of at most 1 - 2**-64: ln(64 ln(2)) < 3.8
# Differences of scores, the rate, their product and its sum with the noise are rounded once each.
_RELATIVE = 2.0**-50
_HOPELESS = -(2.0**1000)  # keys beyond are not told apart by doubles
Integers: TypeAlias = npt.NDArray[Any]  # of int64, or of Python ints where these are too small
MOST_SLOTS = 1 << 24  # about a gigabyte while a tuple is drawn
MOST_BITS = 30_000  # of the number of tuples; exponentials have at most 2**15 bits
_SPAN = 1 << 62
_TOP_BITS = 61  # the numbers of all slots add up to less than 2**63


@dataclass(slots=True, eq=False)
class Runner:
    """A candidate at the front: its index, its exact score and its uniform number so far.

    ``low`` and ``high`` are doubles around its noise.
    """

    index: int
    score: int | Fraction
    prefix: int
    low: float
    high: float
    width: int = WORD_BITS

    def ends(self) -> tuple[Fraction, Fraction]:
        """Return the two numbers that the uniform number lies between."""
        unit = 1 << self.width
        return Fraction(self.prefix, unit), Fraction(self.prefix + 1, unit)

    def refine(self, bits: Bits) -> None:
        """Look at 64 more bits of the uniform number."""
        self.prefix = (self.prefix << WORD_BITS) | bits.integer(WORD_BITS)
        self.width += WORD_BITS


class Race:
    """The k first of all candidates added so far, in memory that does not grow with their number.

    ``rate`` is positive; scores are arrays of int64, uint64 or float64, where a double means the
    number it is, or of Python ints and Fractions. ``block`` is smaller in tests.
    """

    __slots__ = ("_block", "_leaders", "_noise", "_rate", "count", "k")

    def __init__(self, noise: Noise, rate: Fraction, k: int = 1, block: int = BLOCK) -> None:
        if noise not in ("gumbel", "exponential"):
            raise ValueError(f"noise must be 'gumbel' or 'exponential', got {noise!r}")
        if not LEAST_RATE <= rate <= LARGEST_RATE:
            raise ValueError("a race needs a rate between 2**-1000 and 2**1000")
        self._noise: Noise = noise
        self._rate = rate
        self._block = block
        self._leaders: list[Runner] = []
        self.k = k
        self.count = 0

    @property
    def leaders(self) -> tuple[Runner, ...]:
        """The first so far, best first: k of them, or all if there are no more."""
        return tuple(self._leaders)

    def add(self, scores: Scores, bits: Bits) -> None:
        """Let more candidates run; their indices go on from those of the last ones."""

        def compare(one: Runner, other: Runner) -> int:
            return self._compare(one, other, bits)

        order = cmp_to_key(compare)
        for start in range(0, scores.size, self._block):
            block = scores[start : start + self._block]
            fresh = list(self._front(block, fresh_words(block.size, bits)))
            self.count += block.size
            if fresh:
                self._leaders = sorted([*self._leaders, *fresh], key=order)[: self.k]

    def _front(self, block: Scores, words: Words) -> Iterator[Runner]:
        """Yield those of a block who may be among the first."""
        best = _exact(block.max())
        behind = _behind(block, best, self._rate)
        bar = self._bar(best)
        # Either noise is at most -ln(V): one logarithm sees off almost everybody.
        # A word of 0 has noise without a bound, which stays even if it is infinitely behind (NaN).
        with np.errstate(divide="ignore", invalid="ignore"):
            back = np.log(words * _UNIT)
            back += behind * (1 - _RELATIVE)
        near = np.flatnonzero(~(back > _MARGIN - bar))
        low, high = _bounds(self._noise, words[near])
        behind = behind[near]
        least = low - behind * (1 + _RELATIVE)
        if near.size > self.k:
            place = near.size - self.k
            bar = max(bar, float(np.partition(least, place)[place]))
        with np.errstate(invalid="ignore"):
            most = high - behind * (1 - _RELATIVE)
        for at in np.flatnonzero(~(most < _clear(bar))).tolist():
            place = int(near[at])
            yield Runner(
                index=self.count + place,
                score=_exact(block[place]),
                prefix=int(words[place]),
                low=float(low[at]),
                high=float(high[at]),
            )

    def _bar(self, best: int | Fraction) -> float:
        """Return a double below the key of the last leader, minus what ``best`` is worth."""
        if len(self._leaders) < self.k:
            return -np.inf
        last = self._leaders[-1]
        lead = down(self._rate * (last.score - best))
        bar = lead + last.low
        return _clear(bar - abs(bar) * _RELATIVE - abs(lead) * _RELATIVE - _MARGIN)

    def _compare(self, one: Runner, other: Runner, bits: Bits) -> int:
        """Return -1 if the first of the two is ahead, 1 if it is behind, as sorting wants it."""
        lead = self._rate * (one.score - other.score)
        try:
            about = float(lead)
        except OverflowError:
            return self._settle(one, other, lead, bits)
        margin = _MARGIN + abs(about) * _RELATIVE
        if about + one.low - other.high > margin:
            return -1
        if about + one.high - other.low < -margin:
            return 1
        return self._settle(one, other, lead, bits)

    def _settle(self, one: Runner, other: Runner, lead: Fraction, bits: Bits) -> int:
        """Compare two keys with as many bits as it takes; equal keys have probability 0."""
        while True:
            if self._certain(one, other, lead):
                return -1
            if self._certain(other, one, -lead):
                return 1
            for runner in sorted((one, other), key=lambda runner: runner.index):
                runner.refine(bits)

    def _certain(self, one: Runner, other: Runner, lead: Fraction) -> bool:
        """Tell whether the first is ahead whatever the bits are that were not looked at."""
        above, below = one.ends()[1], other.ends()[0]
        if below == 0 or (above == 1 and self._noise == "gumbel"):
            return False  # noise without a bound, up or down
        exact = _gumbel if self._noise == "gumbel" else _exponential
        return is_positive(lambda: ball(lead) + exact(above) - exact(below))


def _exact(score: Any) -> int | Fraction:
    """Return a score as the number it is."""
    if isinstance(score, float | np.floating):
        return Fraction(float(score))
    return score if isinstance(score, Fraction) else int(score)


def _behind(block: Scores, best: int | Fraction, rate: Fraction) -> Floats:
    """Return rate * (best - score) within a relative 2**-51, and infinity beyond all doubles."""
    if block.dtype.kind == "O":
        return np.array([_double(rate * (best - score)) for score in block.tolist()])
    if block.dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            # Halves do not overflow; where halving rounds, the difference is next to nothing.
            gaps = float(best) * 0.5 - block * 0.5
            found: Floats = gaps * (2 * float(rate))
            return found
    # Differences of 64-bit integers are exact as unsigned ones, even where they wrap around.
    wrapped = np.uint64(int(best) & int(_ALL_ONES)) - block.view(np.uint64)
    with np.errstate(over="ignore"):
        return wrapped.astype(np.float64) * float(rate)


def _bounds(noise: Noise, words: Words) -> tuple[Floats, Floats]:
    """Return doubles below and above the noise of uniform numbers that begin with these words."""
    numbers = words * _UNIT
    with np.errstate(divide="ignore"):
        if noise == "exponential":
            middle = -np.log(numbers)
            return np.minimum(middle, -np.log(_PRECISE)) - _MARGIN, middle + _MARGIN
        middle = -np.log(-np.log1p(-np.minimum(numbers, _STEEP)))
        low = np.minimum(middle, -np.log(_PRECISE)) - _MARGIN
    low[numbers >= _STEEP] = _LOWEST
    low[words == _ALL_ONES] = -np.inf
    return low, middle + _MARGIN


def _clear(bar: float) -> float:
    return bar if bar > _HOPELESS else -np.inf


def _double(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return np.inf


def _exponential(v: Fraction) -> Ball:
    return -ball(v).log()


def _gumbel(v: Fraction) -> Ball:
    half = Fraction(1, 2)
    waiting = -(-ball(v)).log1p() if v < half else -ball(1 - v).log()
    return -waiting.log()


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
