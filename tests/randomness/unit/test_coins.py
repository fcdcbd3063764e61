# SPDX-License-Identifier: Apache-2.0
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from sordino.randomness.coins import below, below_many, fails_exp, fails_exp_exactly
from sordino.randomness.entropy import below_one, fresh_words, system
from tests.support.tape import Tape, TapeEnded, Words, replay

mpmath.mp.prec = 300


def test_every_bound_up_to_forty_is_uniform_over_all_words() -> None:
    for bound in range(1, 41):
        counts: Counter[int] = Counter()
        rejected = 0
        for word in range(1 << 16):
            try:
                counts[below_one(bound, Words([word] if bound > 1 else []))] += 1
            except TapeEnded:
                rejected += 1
        assert set(counts) == set(range(bound))
        assert len(set(counts.values())) == 1
        assert rejected < 1 << 15


def test_arrays_of_uniform_integers_redraw_what_reaches_the_bound() -> None:
    top = 1 << 62
    assert below_many(3, 4, Words([0, 3 * top, 2 * top, 3 * top, top, 0])).tolist() == [0, 1, 2, 0]


def test_a_bound_beyond_sixty_four_bits_is_drawn_as_one_python_int() -> None:
    bound = 3**80
    values = [below(bound) for _ in range(200)]
    assert all(isinstance(value, int) and 0 <= value < bound for value in values)
    assert max(values) > bound // 4


def test_below_one_hundred_fits_its_law() -> None:
    # Chi-square with 99 degrees of freedom: beyond 190 with probability below 1e-7.
    rng = np.random.default_rng(2)
    with replay(Tape(rng.bytes(8 * 150_000))):
        drawn = below(100, size=100_000)
    counts = np.bincount(drawn, minlength=100)
    assert ((counts - 1000.0) ** 2 / 1000).sum() < 190


@pytest.mark.parametrize("bound", [0, -1, True, 1.5, "3"])
def test_a_bad_bound_is_refused(bound: object) -> None:
    with pytest.raises(ValueError, match="bound must be a positive whole number"):
        below(bound)  # type: ignore[arg-type]  # the test passes wrong types on purpose


def test_an_array_bound_above_two_to_the_63_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2\*\*63"):
        below(2**63 + 1, size=3)


def edge(x: Fraction) -> int:
    """The first 64 bits of 1 - exp(-x)."""
    true = -mpmath.expm1(-mpmath.mpf(x.numerator) / x.denominator)
    return int(mpmath.floor(mpmath.ldexp(true, 64)))


RATES = [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)]


@pytest.mark.parametrize("x", RATES, ids=str)
def test_a_coin_is_decided_at_its_exact_edge(x: Fraction) -> None:
    at = edge(x)
    assert fails_exp_exactly(x, at - 1, Words([]))
    if at + 1 < 2**64:
        assert not fails_exp_exactly(x, at + 1, Words([]))
    with pytest.raises(TapeEnded):
        fails_exp_exactly(x, at, Words([]))
    assert fails_exp_exactly(x, at, Words([0, 0]))
    assert not fails_exp_exactly(x, at, Words([2**64 - 1, 2**64 - 1]))


def tossed(exact: list[Fraction]) -> npt.NDArray[np.bool_]:
    """Toss a coin for each number x that is not negative, true with exp(-x)."""
    exponents = np.array(
        [float(min(x, Fraction(1024))) for x in exact]
    )  # exp(-1024) is 0 to any float
    return ~fails_exp(exponents, fresh_words(len(exact), system()), exact.__getitem__, system())


def test_arrays_of_coins_turn_to_exact_arithmetic_beside_the_edge() -> None:
    exact = [Fraction(int(x * 10**6), 10**6) for x in RATES if x.denominator != 3]
    for step in (-(1 << 23), -1, 1, 1 << 23):
        words = [min(edge(x) + step, 2**64 - 1) for x in exact]
        with replay(Words([*words, *([5] * 10)])):
            kept = tossed(exact)
        assert kept.tolist() == [not fails_exp_exactly(x, w, Words([5] * 10))
                                 for x, w in zip(exact, words, strict=True)]  # fmt: skip


def test_coins_come_up_with_their_probability() -> None:
    # Each of 4 counts is binomial; beyond 6 standard deviations with probability below 1e-8.
    rng = np.random.default_rng(3)
    for numerator, denominator in ((1, 3), (0, 1), (5, 2), (30, 1)):
        with replay(Tape(rng.bytes(8 * 100_100))):
            kept = tossed([Fraction(numerator, denominator)] * 100_000).sum()
        p = np.exp(-numerator / denominator)
        assert abs(kept - 100_000 * p) <= 6 * np.sqrt(100_000 * p * (1 - p)) + 1e-9


def test_huge_numerators_and_denominators_are_exact_rationals() -> None:
    with replay(Tape(np.random.default_rng(4).bytes(4096))):
        assert tossed([Fraction(0), Fraction(10**40, 10**30)]).tolist() == [True, False]
        assert tossed([Fraction(0, 2**80)] * 2).tolist() == [True, True]
    assert tossed([]).tolist() == []
