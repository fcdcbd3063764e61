# SPDX-License-Identifier: Apache-2.0
"""Few candidates, each with a level of its own."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sordino.randomness.selection import ArrayLevels, EachLevels, array_levels, by_flips, by_weight
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import Words

EXTREMES = [
    np.array([-(2**63), 0, 2**63 - 1]),
    np.array([0, 2**64 - 1, 5], dtype=np.uint64),
    np.array([8e307, -8e307, 5e-324, 0.0]),
    np.array([0.1, 0.2, 0.3, 0.1 + 0.2]),
]


@pytest.mark.parametrize("scores", EXTREMES, ids=lambda scores: str(scores[0]))
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(10**9), Fraction(1, 10**40)], ids=str)
def test_floors_are_close_to_the_exact_exponents(scores: npt.NDArray[Any], rate: Fraction) -> None:
    best = scores.max().item()
    levels = array_levels(scores, rate, best)
    assert isinstance(levels, EachLevels)
    for index, score in enumerate(scores.tolist()):
        exact: Fraction = rate * (Fraction(best) - Fraction(score))
        assert levels.floor(index) == exact
        if exact >= 2**1000:
            assert 2.0**1000 <= levels.floors[index] <= exact
        else:
            bound = (exact if exact > 1 else Fraction(1)) / 2**49
            assert abs(Fraction(float(levels.floors[index])) - exact) <= bound
        assert tuple(levels.find(index, 0)) == (index, 0)


def test_many_candidates_and_extreme_rates_are_sorted_into_levels_instead() -> None:
    few, many = np.zeros(10), np.zeros(10_000)
    assert isinstance(array_levels(many, Fraction(1), 0.0), ArrayLevels)
    assert isinstance(array_levels(few, Fraction(1, 1 << 1000), 0.0), ArrayLevels)
    assert isinstance(array_levels(few, Fraction(1 << 1001), 0.0), ArrayLevels)
    beyond = np.array([1.7e308, -1.7e308])  # their difference is no double
    assert isinstance(array_levels(beyond, Fraction(1), 1.7e308), ArrayLevels)


def test_the_winner_of_all_coins_is_uniform_among_those_that_came_up() -> None:
    levels = EachLevels(np.array([0.0, 1.0]), Fraction)
    lost = math.floor((1 - math.exp(-1)) * 2**64)  # about where the second coin stops failing
    low, high = lost - 2**30, lost + 2**30
    assert by_flips(levels, Words([0, low]))[0] == 0  # only the first survives: nothing to choose
    picked = [by_flips(levels, Words([0, high, pick << 15]))[0] for pick in (0, 1)]
    assert picked == [0, 1]  # both survive: the next bit chooses


def test_a_word_that_ties_with_a_coin_is_refined() -> None:
    levels = EachLevels(np.array([0.0, 1.0]), Fraction)
    digits = 1 - Fraction(  # 1 - e^-1 to far more digits than the first word has
        "0.367879441171442321595523770161460867445811131031767834507836801697461495744899803357"
    )
    tie = math.floor(digits * 2**64)
    rest = math.floor(digits * 2**128) - (tie << 64)
    assert by_flips(levels, Words([0, tie, rest - 1]))[0] == 0
    stays = [by_flips(levels, Words([0, tie, rest + 1, pick << 15]))[0] for pick in (0, 1)]
    assert stays == [0, 1]


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(3)], ids=str)
def test_frequencies_fit_both_laws(rate: Fraction) -> None:
    scores = np.array([3.0, 3.0, 2.5, 3.5, 1.0])
    levels = array_levels(scores, rate, 3.5)
    chances = [math.exp(-float(levels.floor(i))) for i in range(5)]
    weighted = {i: p / sum(chances) for i, p in enumerate(chances)}
    flipped = dict.fromkeys(range(5), 0.0)
    for up in product((0, 1), repeat=5):
        if any(up):
            share = math.prod(p if u else 1 - p for p, u in zip(chances, up, strict=True))
            for i in range(5):
                flipped[i] += share * up[i] / sum(up)
    for draw, law in ((by_weight, weighted), (by_flips, flipped)):
        bits = SeededBits(17)
        assert_fits([draw(levels, bits)[1].candidate for _ in range(3000)], law)
