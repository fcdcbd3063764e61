# SPDX-License-Identifier: Apache-2.0
"""How many of n fair coins, or of n coins of probability 2**-c, come up: exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import Ball, ball, enclose, round_up
from sordino.randomness.coins import below_one, fresh_words
from sordino.randomness.entropy import Bits
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
