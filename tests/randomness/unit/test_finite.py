# SPDX-License-Identifier: Apache-2.0
"""Draws with rational chances: every bit tape is enumerated, or what is left is bounded."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sordino.randomness.coins import Coins, Finite
from sordino.randomness.tables import Table
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import TapeEnded, Words


@pytest.mark.parametrize("weights", [(1, 1), (3, 1), (1, 2, 3), (5, 1, 1, 1, 1, 1, 3)])
def test_a_table_gives_each_outcome_its_weight(weights: tuple[int, ...]) -> None:
    """All tapes of 3 words of 4 bits: what has been settled never exceeds the weights."""
    table = Table(Finite(weights), guide_bits=4, word_bits=4)
    low, open_ends = [Fraction(0)] * len(weights), Fraction(0)
    for words in product(range(16), repeat=3):
        tape = Words(words)
        try:
            low[table.one(tape)] += Fraction(1, 16**3)
        except TapeEnded:
            open_ends += Fraction(1, 16**3)
    assert open_ends < Fraction(1, 20)
    for outcome, weight in enumerate(weights):
        share = Fraction(weight, sum(weights))
        assert low[outcome] <= share <= low[outcome] + open_ends


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(77, 256), Fraction(0), Fraction(1)])
def test_a_coin_of_whole_bytes_is_exact_by_enumeration(chance: Fraction) -> None:
    hits = sum(int(Coins(chance).many(1, Words([word]))[0]) for word in range(256))
    assert Fraction(hits, 256) == chance


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(77, 4096), Fraction(255, 257)])
def test_a_coin_compares_a_uniform_number_with_its_chance(chance: Fraction) -> None:
    """At every border: the first byte, 64 more bits, and 64 more after a tie."""
    coin = Coins(chance)
    first = int(chance * 256)
    rest = chance * 256 - first
    second = int(rest * 2**64)
    third = int((rest * 2**64 - second) * 2**64)
    for word in range(256):
        if word != first:
            assert coin.many(1, Words([word]))[0] == (word < first)
    for more, last, expected in (
        (second - 1, None, True),
        (second + 1, None, False),
        (second, max(third - 1, 0), third > 0),
        (second, third + 1, False),
    ):
        words = [first, more] if last is None else [first, more, last]
        assert coin.many(1, Words(words))[0] == expected


def test_many_coins_are_independent_of_each_other_and_fit_their_chance() -> None:
    coin = Coins(Fraction(3, 7))
    drawn = coin.many(200_000, SeededBits(3)).reshape(-1, 2)
    pairs = drawn[:, 0] * 2 + drawn[:, 1]
    p = 3 / 7
    law = {0: (1 - p) ** 2, 1: (1 - p) * p, 2: p * (1 - p), 3: p * p}
    assert_fits(pairs.tolist(), law)


def test_a_chance_outside_0_and_1_is_refused() -> None:
    for chance in (Fraction(-1, 10), Fraction(11, 10)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            Coins(chance)


def test_no_coins_are_no_coins() -> None:
    assert Coins(Fraction(1, 3)).many(0, SeededBits(1)).tolist() == []
    assert np.all(Coins(Fraction(1)).many(10, SeededBits(1)))
