# SPDX-License-Identifier: Apache-2.0
"""Exact draws of one candidate: with the weight exp(-x), or by permute-and-flip."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from sordino.exact.binomial import LARGEST_COUNTED, binomial, halvings
from sordino.exact.coins import below_one, fails_exp, fresh_words
from sordino.exact.entropy import Bits
from sordino.exact.levels import EachLevels, Found, Levels
from sordino.exact.wheel import keeps, spin

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
