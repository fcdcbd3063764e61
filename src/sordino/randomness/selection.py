# SPDX-License-Identifier: Apache-2.0
"""Exact draws of one candidate: with the weight exp(-x), or by permute-and-flip.

A wheel whose slots have weights count * exp(-x): exact draws from weights nobody can write down.

Each slot gets a whole number that is certain to be at least its weight, from doubles and a margin
for their errors. A slot is drawn in proportion to these numbers, which is exact, and kept with the
probability weight / number, decided with as many digits of the weight as it takes; otherwise the
wheel is spun again. The slot kept has a probability proportional to its weight, whatever the
numbers were, and only the weight of a slot that was drawn is ever computed to many digits.

Scores sorted into levels by how far they are behind the best, without sorting them.

A candidate whose score is ``gap`` behind the best has the exponent x = rate * gap. Level j holds
candidates with x >= floor_j; what a candidate's exponent has beyond the floor of its level is its
excess. The levels cover exponents up to a window beyond which all candidates together weigh less
than 2**-64 of the best one; the last level holds all of those, so that nobody is left out.

Two passes read the scores block by block: one finds the best, one counts. The candidate of a given
rank in its level is found by reading one part of the scores once more.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import Ball, Interval, ball, enclose, exp_neg, round_up
from sordino.randomness.coins import fails_exp
from sordino.randomness.entropy import Bits, below_one, fresh_words
from sordino.randomness.tables import WORD_BITS, LazyUniform

Integers = npt.NDArray[np.int64]

LARGEST_COUNTED = 1 << 26  # so many coins are tossed one by one, as bits; beyond, none is
_COINS_AT_ONCE = 1 << 24


def halvings(counts: Integers, rounds: Integers, bits: Bits) -> Integers:
    """For each j draw how many of counts[j] coins of probability 2**-rounds[j] come up.

    In each round every coin still in the game is tossed once, as one bit; the bits that are 1 are
    counted. All rounds together take about two bits for each coin.
    """
    left = counts.copy()
    done = 0
    while (active := np.flatnonzero((rounds > done) & (left > 0))).size:
        left[active] = _halve(left[active], bits)
        done += 1
    return left


def _halve(counts: Integers, bits: Bits) -> Integers:
    """For each count draw how many of so many fair bits are 1; the counts are positive."""
    if counts.sum() <= _COINS_AT_ONCE or counts.size == 1:
        return _ones(counts, bits)
    middle = counts.size // 2
    return np.concatenate([_halve(counts[:middle], bits), _halve(counts[middle:], bits)])


def _ones(counts: Integers, bits: Bits) -> Integers:
    words = -(-counts // WORD_BITS)
    ends = np.cumsum(words)
    drawn = fresh_words(int(ends[-1]), bits)
    drawn[ends - 1] >>= (words * WORD_BITS - counts).astype(np.uint64)
    ones = np.bitwise_count(drawn)
    found: Integers = np.add.reduceat(ones, ends - words, dtype=np.int64)
    return found


def binomial(count: int, rounds: int, bits: Bits) -> int:
    """Draw how many of ``count`` coins of probability 2**-rounds come up, for any count.

    Few coins are tossed. Otherwise a number near the mode is proposed, from a law that covers the
    binomial one because that is log-concave, and kept with the quotient of the two.
    """
    if rounds == 0:
        return count
    if count <= LARGEST_COUNTED:
        if count == 0:
            return 0
        return int(halvings(np.array([count]), np.array([rounds]), bits)[0])
    mode = (count + 1) >> rounds
    log_share = _log_binomial(count, rounds)
    size = _block_size(log_share, mode)
    while True:
        block = 0 if below_one(3, bits) == 0 else 1 + _leading_ones(bits)
        away = block * size + below_one(size, bits)
        if bits.integer(16) & 1:
            if away == 0:
                continue
            away = -away
        place = mode + away
        if 0 <= place <= count and _accepts(log_share, mode, place, block, bits):
            return place


def _block_size(log_share: Callable[[int], Ball], mode: int) -> int:
    """Return a power of 2 that is at least 1 over the probability of the mode."""
    highest = round_up(lambda: -log_share(mode))
    return 1 << max(0, math.ceil(highest / math.log(2) + 1e-9))


def _accepts(
    log_share: Callable[[int], Ball], mode: int, place: int, block: int, bits: Bits
) -> bool:
    """Keep a proposal with the probability f(place) / f(mode) times 2**(block - 1), block >= 1."""

    def quotient() -> Ball:
        power = (log_share(place) - log_share(mode)).exp()
        return power * (1 << max(block - 1, 0))

    number = LazyUniform(bits.integer(WORD_BITS), WORD_BITS, bits)
    return number.below(lambda width: enclose(quotient, width))


def _log_binomial(count: int, rounds: int) -> Callable[[int], Ball]:
    """Return the logarithm of P(place), as a formula in certified balls."""
    up, down = Fraction(1, 1 << rounds), 1 - Fraction(1, 1 << rounds)

    def log_share(place: int) -> Ball:
        from flint import ctx  # loading flint takes a tenth of a second

        rest = count - place
        with ctx.workprec(ctx.prec + count.bit_length()):  # so many bits cancel
            ways = ball(count + 1).lgamma() - ball(place + 1).lgamma() - ball(rest + 1).lgamma()
            return ways + place * ball(up).log() + rest * ball(down).log()

    return log_share


def _leading_ones(bits: Bits) -> int:
    """Draw j with probability 2**-(j + 1)."""
    total = 0
    while True:
        word = bits.integer(16)
        if word != 0xFFFF:
            return total + ((~word & 0xFFFF) & -(~word & 0xFFFF)).bit_length() - 1
        total += 16


Floats = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64] | Sequence[int]

_TOP_BITS = 61  # the numbers of all slots add up to less than 2**63
# An exponent comes with a relative error below 2**-49; logarithms, sums and exponentials of
# doubles add a few units in the last place of the largest number involved.
_MARGIN = 2.0**-40
_RELATIVE_MARGIN = 2.0**-45
_FAR = 1 << 12  # where no exponent is smaller, they are counted from the least of them
_LARGEST = Fraction(1 << 1000)  # in place of a larger exponent it still covers the weight
_LONG = 1 << 12  # bits of a factor that balls are quicker with


def spin(counts: Counts, exponents: Floats, exact: Callable[[int], Fraction], bits: Bits) -> int:
    """Draw i with a probability proportional to counts[i] * exp(-x_i).

    ``counts`` are whole numbers of any size, not all 0; ``exponents`` approximate x_i >= 0 with a
    relative error below 2**-49 or an absolute one below 2**-49, or are smaller than x_i and at
    least 2**1000; and ``exact(i)`` is x_i itself.
    """
    logarithms = _logarithms(counts)
    used = np.flatnonzero(logarithms >= 0)
    if used.size == 0:
        raise ValueError("a wheel needs a slot with a weight")
    if exponents[used].min() > _FAR:
        exponents, exact = _closer(exponents, exact, used)
    numbers, scale = _cover(logarithms, np.minimum(exponents, float(_LARGEST)))
    ends = np.cumsum(numbers)
    total = int(ends[-1])
    while True:
        slot = int(np.searchsorted(ends, below_one(total, bits), side="right"))
        if keeps(
            exact(slot),
            bits,
            factor=Fraction(int(counts[slot])) * Fraction(2) ** scale / int(numbers[slot]),
        ):
            return slot


def keeps(x: Fraction, bits: Bits, factor: Fraction = Fraction(1)) -> bool:
    """Toss a coin that is true with probability factor * exp(-x), which is at most 1."""
    if x == 0 and factor == 1:
        return True
    number = LazyUniform(bits.integer(WORD_BITS), WORD_BITS, bits)
    return number.below(lambda width: _product(factor, x, width))


def _product(factor: Fraction, x: Fraction, width: int) -> Interval:
    """Enclose factor * exp(-x), a probability, at this precision."""
    more = max(0, factor.numerator.bit_length() - factor.denominator.bit_length()) + 16
    if more > _LONG:
        return enclose(lambda: ball(factor) * (-ball(x)).exp(), width)
    low, high = exp_neg(x, width + more)
    below = (low * factor.numerator // factor.denominator) >> more
    if below > 1 << width:
        raise ArithmeticError("a weight is larger than the number that was to cover it")
    return below, -((-high * factor.numerator // factor.denominator) >> more)


def _logarithms(counts: Counts) -> Floats:
    if isinstance(counts, np.ndarray):
        with np.errstate(divide="ignore"):
            found: Floats = np.log(counts.astype(np.float64))
        return found
    return np.array([math.log(n) if n else -math.inf for n in counts])


def _closer(
    exponents: Floats, exact: Callable[[int], Fraction], used: npt.NDArray[np.intp]
) -> tuple[Floats, Callable[[int], Fraction]]:
    """Subtract the least exponent of the slots in use from all of them, exactly."""
    slots = used.tolist()
    least = min(map(exact, slots))
    closer = np.zeros_like(exponents)
    closer[used] = [float(min(exact(slot) - least, _LARGEST)) for slot in slots]
    return closer, lambda slot: exact(slot) - least


def _cover(logarithms: Floats, exponents: Floats) -> tuple[npt.NDArray[np.int64], int]:
    """Return whole numbers that are at least 2**scale times the weights, and the scale.

    A slot with a count of 0 has the number 0, and no other slot.
    """
    sizes = logarithms - exponents
    top = float(sizes.max())
    if math.isnan(top):
        raise ArithmeticError("an exponent is not a number")
    bits = _TOP_BITS - len(sizes).bit_length()
    scale = math.floor(bits - top / math.log(2))
    empty = np.isneginf(logarithms)
    sizes[empty] = 0.0
    margin = _MARGIN + (np.abs(exponents) + np.abs(sizes) + abs(top)) * _RELATIVE_MARGIN
    heights = sizes + scale * math.log(2) + margin
    heights[empty] = 0.0
    if heights.max() > (bits + 1) * math.log(2):
        raise ArithmeticError("doubles do not tell numbers as large as these apart")
    numbers: npt.NDArray[np.int64] = np.exp(heights).astype(np.int64)
    numbers += 1
    numbers[empty] = 0
    return numbers, scale


BLOCK = 1 << 16
_PARTS = 128  # how many pieces of the scores have counts of their own
_FINENESS = 64  # levels per unit of the exponent, where scores do not make levels by themselves
_SLACK = Fraction(1, 64)  # of a level: doubles may put a score into the level beside its own
_FEW = 1 << 13  # candidates that get levels of their own
_ALL_ONES = (1 << 64) - 1
_SURE_WINDOW = 64 * math.log(2) + 1
# of a factor as a double; a smaller one only makes floors lower
_WIDE = Fraction(1 << 40, 1 << 1024)  # with a smaller rate, infinite gaps may be within the window


class Found(NamedTuple):
    """A candidate, and how far its exponent lies above the floor of its level."""

    candidate: int
    excess: Fraction


class Levels(Protocol):
    """Candidates by level; ``counts`` may hold numbers beyond 64 bits, as a list then."""

    @property
    def counts(self) -> Integers | list[int]: ...

    @property
    def floors(self) -> Floats:
        """The floors, as doubles with a relative or absolute error below 2**-49.

        A floor of 2**1000 or more may be given as a smaller one of at least 2**1000.
        """
        ...

    def floor(self, level: int) -> Fraction:
        """Return the floor of a level."""
        ...

    def find(self, level: int, rank: int) -> Found:
        """Return the candidate of this rank, from 0, among those of a level."""
        ...


class EachLevels:
    """A level for each candidate: for few of them, this is less work than sorting them."""

    __slots__ = ("_exact", "counts", "floors")

    def __init__(self, floors: Floats, exact: Callable[[int], Fraction]) -> None:
        self._exact = exact
        self.floors = floors
        self.counts: Integers = np.ones(floors.size, dtype=np.int64)

    def floor(self, level: int) -> Fraction:
        return self._exact(level)

    def find(self, level: int, rank: int) -> Found:  # noqa: ARG002 - a level is one candidate
        return Found(level, Fraction(0))


def array_levels(scores: npt.NDArray[Any], rate: Fraction, best: int | float) -> Levels:
    """Return the levels of an array of int64, uint64 or float64 with this largest score."""
    if scores.size > _FEW or not _WIDE <= rate <= _LARGEST:
        return ArrayLevels(scores, rate, best)
    factor, top = float(rate), Fraction(best)
    with np.errstate(over="ignore", under="ignore"):
        gaps = best - scores if scores.dtype.kind == "f" else _whole_gaps(scores, best)
        floors = np.minimum(gaps * factor, float(_LARGEST))
    if not math.isfinite(gaps.max()):
        return ArrayLevels(scores, rate, best)
    return EachLevels(floors, lambda index: rate * (top - Fraction(scores[index].item())))


def _whole_gaps(scores: npt.NDArray[Any], best: int | float) -> npt.NDArray[np.uint64]:
    """Return differences of 64-bit integers, exact as unsigned ones even if they wrap around."""
    found: npt.NDArray[np.uint64] = np.uint64(int(best) & _ALL_ONES) - scores.view(np.uint64)
    return found


class ArrayLevels:
    """The levels of a one-dimensional array of int64, uint64 or float64, of finite scores.

    ``best`` is the largest score, or a larger number of that type that somebody elsewhere has. The
    scores need not be contiguous, but must not change.
    """

    __slots__ = ("_last", "_parts", "_scores", "_size", "_step", "best", "counts", "floors")

    def __init__(self, scores: npt.NDArray[Any], rate: Fraction, best: int | float) -> None:
        if scores.dtype not in (np.int64, np.uint64, np.float64):
            raise TypeError("scores are sorted into levels as int64, uint64 or float64")
        self._scores = scores
        self.best = best
        self._step = _FloatStep(rate) if scores.dtype.kind == "f" else _IntegerStep(rate)
        width = self._step.width
        window = _SURE_WINDOW + math.log(scores.size)
        self._last = min(math.ceil(Fraction(window) / width), self._step.most)
        parts = -(-scores.size // BLOCK)
        self._size = BLOCK * -(-parts // _PARTS)
        self._parts = np.zeros((-(-scores.size // self._size), self._last + 1), dtype=np.int64)
        for start in range(0, scores.size, BLOCK):
            levels = self._levels(scores[start : start + BLOCK])
            self._parts[start // self._size] += np.bincount(levels, minlength=self._last + 1)
        self.counts: Integers = self._parts.sum(axis=0)
        places = np.arange(self._last + 1, dtype=np.float64)
        self.floors: Floats = self._step.floors(places)

    def floor(self, level: int) -> Fraction:
        return self._step.floor(level)

    def find(self, level: int, rank: int) -> Found:
        ends = np.cumsum(self._parts[:, level])
        part = int(np.searchsorted(ends, rank, side="right"))
        before = int(ends[part] - self._parts[part, level])
        first = part * self._size
        for start in range(first, first + self._size, BLOCK):
            there = np.flatnonzero(self._levels(self._scores[start : start + BLOCK]) == level)
            if rank < before + there.size:
                index = start + int(there[rank - before])
                return Found(index, self.exponent(index) - self.floor(level))
            before += there.size
        raise IndexError("a level holds fewer candidates than were counted")

    def exponent(self, index: int) -> Fraction:
        """Return the exponent of one candidate, exactly."""
        score = self._scores[index].item()
        return self._step.rate * (Fraction(self.best) - Fraction(score))

    def _levels(self, block: npt.NDArray[Any]) -> Integers:
        return self._step.levels(block, self.best, self._last)


class _IntegerStep:
    """Levels of 2**shift whole numbers, exactly; one number each unless the rate is small."""

    __slots__ = ("_shift", "most", "rate", "width")

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        fits = 1 / (_FINENESS * rate)
        self._shift = max(0, (fits.numerator // fits.denominator).bit_length() - 1)
        self._shift = min(self._shift, 63)
        self.width = rate * (1 << self._shift)
        self.most = ((1 << 64) - 1) >> self._shift  # no gap of 64-bit integers is larger

    def levels(self, block: npt.NDArray[Any], best: int | float, last: int) -> Integers:
        gaps = _whole_gaps(block, best)
        if self._shift:
            gaps >>= np.uint64(self._shift)
        np.minimum(gaps, np.uint64(last), out=gaps)
        return gaps.view(np.int64)

    def floors(self, places: Floats) -> Floats:
        return places * float(min(self.width, _LARGEST))

    def floor(self, level: int) -> Fraction:
        return self.width * level


class _FloatStep:
    """Levels of 1/64 of the exponent, told apart by doubles, with a little slack below each."""

    __slots__ = ("_factor", "_half", "most", "rate", "width")

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        self._half = rate < _WIDE
        self._factor = float(min(rate * _FINENESS * (2 if self._half else 1), _LARGEST))
        self.width = Fraction(1, _FINENESS)
        self.most = 1 << 62

    def levels(self, block: npt.NDArray[Any], best: int | float, last: int) -> Integers:
        with np.errstate(over="ignore", under="ignore"):
            # Halves do not overflow; where halving rounds, the gap is in the first level.
            gaps = best * 0.5 - block * 0.5 if self._half else best - block
            gaps *= self._factor
        np.minimum(gaps, last, out=gaps)
        return gaps.astype(np.int64)

    def floors(self, places: Floats) -> Floats:
        lowered: Floats = np.maximum(places - float(_SLACK), 0.0) / _FINENESS
        return lowered

    def floor(self, level: int) -> Fraction:
        return max(level - _SLACK, Fraction(0)) / _FINENESS


_HALVINGS = (1 - 2.0**-40) / math.log(2)  # of an exponent, rounded down
_MOST_ROUNDS = 1 << 13  # beyond this nobody survives, of any number of candidates


def by_weight(levels: Levels, bits: Bits) -> tuple[int, Found]:
    """Draw a candidate with a probability proportional to exp(-x), with its level.

    A level is drawn as if all its candidates stood on its floor, then one of them, which is kept
    with the probability exp(-excess); otherwise everything is drawn again.
    """
    while True:
        level = spin(levels.counts, levels.floors, levels.floor, bits)
        found = levels.find(level, below_one(int(levels.counts[level]), bits))
        if keeps(found.excess, bits):
            return level, found


def by_flips(levels: Levels, bits: Bits) -> tuple[int, Found]:
    """Draw a candidate by permute-and-flip, with its level.

    Permute-and-flip returns the first candidate of a random order whose coin of probability exp(-x)
    comes up. A coin is three coins that must all come up: 2**-c with c the largest that fits the
    level, which is tossed for the whole level at once, then what is missing to the floor, then what
    is missing to the candidate itself. The candidates whose first coin came up are tried in random
    order; each passes the second coin with a probability of at least one half. Where every
    candidate has a level of its own, all coins are tossed at once.
    """
    if isinstance(levels, EachLevels):
        words = fresh_words(levels.floors.size, bits)
        up = np.flatnonzero(~fails_exp(levels.floors, words, levels.floor, bits))
        winner = int(up[below_one(up.size, bits)])
        return winner, levels.find(winner, 0)
    rounds = np.floor(np.minimum(levels.floors * _HALVINGS, _MOST_ROUNDS)).astype(np.int64)
    urn = _Urn(_survivors(levels.counts, rounds, bits), bits)
    tried: dict[int, set[int]] = {}
    while True:
        level = urn.draw()
        if not keeps(levels.floor(level), bits, factor=Fraction(1 << int(rounds[level]))):
            continue
        seen = tried.setdefault(level, set())
        rank = below_one(int(levels.counts[level]), bits)
        while rank in seen:
            rank = below_one(int(levels.counts[level]), bits)
        seen.add(rank)
        found = levels.find(level, rank)
        if keeps(found.excess, bits):
            return level, found


def _survivors(
    counts: npt.NDArray[np.int64] | list[int], rounds: npt.NDArray[np.int64], bits: Bits
) -> list[int]:
    """For each level draw how many candidates survive the coins of probability 2**-rounds."""
    few = np.array([count if count <= LARGEST_COUNTED else 0 for count in counts], dtype=np.int64)
    found: list[int] = halvings(few, rounds, bits).tolist()
    for level, count in enumerate(counts):
        if count > LARGEST_COUNTED:
            found[level] = binomial(int(count), int(rounds[level]), bits)
    return found


class _Urn:
    """Balls of several colours, drawn one by one and not put back."""

    __slots__ = ("_bits", "_ends", "_gone", "_left")

    def __init__(self, balls: list[int], bits: Bits) -> None:
        self._bits = bits
        self._ends = list(accumulate(balls))
        self._gone: Counter[int] = Counter()
        self._left = self._ends[-1]

    def draw(self) -> int:
        """Draw a ball and tell its colour."""
        if self._left == 0:
            raise ArithmeticError("no candidate has the best score")
        self._left -= 1
        while True:
            ball = below_one(self._ends[-1], self._bits)
            colour = bisect_right(self._ends, ball)
            if self._ends[colour] - ball > self._gone[colour]:
                self._gone[colour] += 1  # balls of a colour are alike: the last ones go first
                return colour
