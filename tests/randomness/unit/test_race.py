# SPDX-License-Identifier: Apache-2.0
"""Races find the largest keys exactly, whatever doubles can and cannot tell."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2

from sordino.randomness.race import Noise, Race, _bounds
from tests.support.seeded import SeededBits
from tests.support.tape import TapeEnded, Words

NOISES: list[Noise] = ["gumbel", "exponential"]
every_noise = pytest.mark.parametrize("noise", NOISES)

TOP = (1 << 64) - 1
HALF = Fraction(1, 2)
EDGES = [
    0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**33 + 1, 2**52, 2**53 + 1, 2**63, TOP - 2**52,
    TOP - 2**51, TOP - 2**11, TOP - 1, TOP,
]  # fmt: skip


def noise_at(noise: Noise, v: Fraction) -> Any:
    """The noise of one uniform number, at 60 digits; infinite at the ends."""
    with mpmath.workdps(60):
        number = mpmath.mpf(v.numerator) / v.denominator
        if noise == "exponential":
            return -mpmath.log(number) if v else mpmath.inf
        if v in (0, 1):
            return mpmath.inf if v == 0 else -mpmath.inf
        return -mpmath.log(-mpmath.log1p(-number))


def middle(word: int, more: int = 0) -> Fraction:
    """The middle of the uniform numbers that begin with these words."""
    return (Fraction(word << 64 | more) + HALF) / 2**128


def order_of(noise: Noise, rate: Fraction, scores: Sequence[Any], numbers: list[Fraction]) -> Any:
    """The order of the keys, best first, at 60 digits."""
    with mpmath.workdps(60):
        keys = []
        for score, number in zip(scores, numbers, strict=True):
            part = rate * Fraction(score)
            keys.append(mpmath.mpf(part.numerator) / part.denominator + noise_at(noise, number))
    return sorted(range(len(keys)), key=lambda i: keys[i], reverse=True)


def places(race: Race) -> list[int]:
    return [runner.index for runner in race.leaders]


@every_noise
def test_the_doubles_around_the_noise_hold_for_every_number_that_begins_with_a_word(
    noise: Noise,
) -> None:
    rng = np.random.default_rng(5)
    shifts = rng.integers(0, 64, 2000, dtype=np.uint64)
    words = np.concatenate(
        [np.array(EDGES, dtype=np.uint64), rng.integers(0, TOP, 2000, np.uint64) >> shifts]
    )
    lows, highs = _bounds(noise, words)
    for word, low, high in zip(words.tolist(), lows, highs, strict=True):
        assert low <= noise_at(noise, Fraction(word + 1, 2**64))
        assert high >= noise_at(noise, Fraction(word, 2**64))


@every_noise
@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("block", [7, 1000])
def test_the_order_is_that_of_keys_at_sixty_digits(noise: Noise, k: int, block: int) -> None:
    rng = np.random.default_rng(k)
    words = rng.integers(0, TOP, 120, np.uint64).tolist()
    rate = Fraction(1, 3)
    for scores in (
        rng.integers(-5, 5, 120),
        rng.integers(2**63, 2**63 + 9, 120, np.uint64),
        rng.normal(size=120) * 3,
        np.array([Fraction(int(n), 7) for n in rng.integers(-30, 30, 120)], dtype=object),
    ):
        race = Race(noise, rate, k, block)
        race.add(scores, Words(words))
        wanted = order_of(noise, rate, scores.tolist(), list(map(middle, words)))
        assert places(race) == wanted[:k]
        assert race.count == 120


@every_noise
def test_equal_words_are_told_apart_by_more_bits(noise: Noise) -> None:
    """A smaller uniform number means a larger key."""
    scores = np.array([4, 4])
    for more, winner in (([9, 5, 7, 7], 1), ([5, 9, 7, 7], 0), ([5, 5, 3, 0], 1)):
        tape = Words([2**60, 2**60, *more])
        race = Race(noise, Fraction(1, 10))
        race.add(scores, tape)
        assert places(race) == [winner]
        assert tape.used == (4 if more[0] != more[1] else 6)


@every_noise
@pytest.mark.parametrize("word", EDGES)
def test_any_two_equal_words_wait_for_more_bits(noise: Noise, word: int) -> None:
    with pytest.raises(TapeEnded):
        Race(noise, Fraction(1)).add(np.array([1.5, 1.5]), Words([word, word]))


@every_noise
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(7, 3), Fraction(20)])
def test_a_tie_that_doubles_cannot_see_is_settled_by_balls(noise: Noise, rate: Fraction) -> None:
    """The second candidate's noise makes up for its score up to the last of 64 bits."""
    first = 2**63 + 12345
    with mpmath.workdps(60):
        wanted = (
            noise_at(noise, Fraction(first) / 2**64) + mpmath.mpf(rate.numerator) / rate.denominator
        )
        v = mpmath.exp(-wanted) if noise == "exponential" else -mpmath.expm1(-mpmath.exp(-wanted))
        second = int(mpmath.floor(v * 2**64))
    scores = np.array([11, 10], dtype=np.int64)
    for near in range(second - 3, second + 4):
        for more in ([0, TOP], [TOP, 0], [2**62, 2**63]):
            tape = Words([first, near, *more])
            race = Race(noise, rate, 2)
            race.add(scores, tape)
            numbers = [middle(first, more[0]), middle(near, more[1])]
            assert places(race) == order_of(noise, rate, [11, 10], numbers)
            assert tape.used in (2, 4)


@every_noise
def test_a_number_of_zeros_only_is_not_taken_for_infinite(noise: Noise) -> None:
    """Its noise is large, but a score may be larger still."""
    for score, winner in ((50, 0), (10**6, 1)):
        tape = Words([0, 2**63, 2**50, 1])
        race = Race(noise, Fraction(1))
        race.add(np.array([0, score]), tape)
        assert places(race) == [winner]
        assert tape.used == 4


@every_noise
@pytest.mark.parametrize(
    "scores",
    [
        np.array([-(2**63), 2**63 - 1, 0, 2**63 - 2]),
        np.array([0, 2**64 - 1, 2**63, 2**64 - 2], dtype=np.uint64),
        np.array([-1.7e308, 1.7e308, 0.0, 1.69e308]),
        np.array([-(10**400), 10**400, 0, 10**400 - 10**300], dtype=object),
        np.array([5e-324, 3e-323, 2.5e-323, 2.9e-323]),
    ],
    ids=["int64", "uint64", "float64", "exact", "subnormal"],
)
def test_scores_at_the_ends_of_their_type_keep_their_order(noise: Noise, scores: Any) -> None:
    words = [2**61, 2**63, 2**62, 2**60]
    for rate in (Fraction(1, 10**12), Fraction(10**70)):
        for block in (1, 2, 4):
            race = Race(noise, rate, 4, block)
            race.add(scores, Words(words))
            assert places(race) == order_of(noise, rate, scores.tolist(), list(map(middle, words)))


@every_noise
def test_keys_beyond_all_doubles_are_still_compared(noise: Noise) -> None:
    scores = np.array([0, 10**400, 0, 1], dtype=object)
    race = Race(noise, Fraction(1), 4, block=2)
    race.add(scores, Words([0, 2**63, 2**62, 2**61, 7, 7, 7, 7, 7, 7, 7, 7]))
    assert places(race)[0] == 1
    assert sorted(places(race)) == [0, 1, 2, 3]


@every_noise
def test_chunks_of_whole_blocks_change_nothing(noise: Noise) -> None:
    scores = np.random.default_rng(3).integers(0, 20, 1000)

    def run(pieces: list[Any]) -> list[tuple[int, int]]:
        bits, race = SeededBits(11), Race(noise, Fraction(1, 4), 5, block=50)
        for piece in pieces:
            race.add(piece, bits)
        return [(runner.index, runner.prefix) for runner in race.leaders]

    at_once = run([scores])
    assert run(np.split(scores, 4)) == at_once
    assert run(np.split(scores, [50, 100, 700])) == at_once


@every_noise
def test_memory_holds_the_leaders_only(noise: Noise) -> None:
    race = Race(noise, Fraction(1), 3)
    bits = SeededBits(1)
    for _ in range(5):
        race.add(np.zeros(1000, dtype=np.int64), bits)
        assert len(race.leaders) == 3
    assert race.count == 5000


def em(rate: float, scores: list[int]) -> Any:
    weights = np.exp(rate * np.array(scores))
    return weights / weights.sum()


def flips(rate: float, scores: list[int]) -> Any:
    """Permute-and-flip: p_r times the integral of the product of 1 - p_s t."""
    p = np.exp(rate * (np.array(scores) - max(scores)))
    found = []
    for r in range(len(p)):
        rest = np.poly1d([1.0])
        for s in range(len(p)):
            if s != r:
                rest *= np.poly1d([-p[s], 1.0])
        found.append(p[r] * np.polyint(rest)(1.0))
    return np.array(found)


@pytest.mark.parametrize(("noise", "law"), [("gumbel", em), ("exponential", flips)])
def test_winners_come_as_often_as_the_mechanism_says(noise: Noise, law: Any) -> None:
    """Alpha is 1e-6; the tape is seeded."""
    scores, times, bits = [3, 3, 2, 3, 4], 12_000, SeededBits(2026)
    counts: Counter[int] = Counter()
    for _ in range(times):
        race = Race(noise, Fraction(1))
        race.add(np.array(scores), bits)
        counts[race.leaders[0].index] += 1
    expected = times * law(1.0, scores)
    statistic = sum((counts[i] - expected[i]) ** 2 / expected[i] for i in range(5))
    assert statistic < chi2.isf(1e-6, 4)


def test_the_laws_that_races_are_compared_with_are_right() -> None:
    scores = [3, 3, 2, 3, 4]
    assert em(1.0, scores)[[0, 2, 4]] == pytest.approx(
        [0.1643071807824, 0.060445233846683, 0.44663322380613], rel=1e-12
    )
    assert flips(1.0, scores)[[0, 2, 4]] == pytest.approx(
        [0.13739474627436, 0.047016119806604, 0.54079964137031], rel=1e-12
    )


def test_a_race_refuses_other_noise_and_extreme_rates() -> None:
    with pytest.raises(ValueError, match="noise must be"):
        Race("laplace", Fraction(1))  # type: ignore[arg-type]
    for rate in (Fraction(0), Fraction(-1), Fraction(1, 2**1001), Fraction(2**1001)):
        with pytest.raises(ValueError, match="rate between"):
            Race("gumbel", rate)
