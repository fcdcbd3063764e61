# SPDX-License-Identifier: Apache-2.0
"""Numbers of runs: each is a known function of the bits, and so has exactly its law."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from mpmath import mp, mpf

from sordino.randomness.entropy import Bits
from sordino.randomness.samplers import draw_geometric, draw_negative_binomial, draw_poisson
from tests.support.seeded import SeededBits
from tests.support.tape import Words

Real = Any  # mpmath has no types
SHAPES = [Fraction(-9, 10), Fraction(-1, 2), Fraction(0), Fraction(1, 3), Fraction(2), Fraction(7)]
SHARES = [Fraction(1, 10), Fraction(2, 5), Fraction(1, 1000)]  # no F(k) is a dyadic number


def number(x: Fraction) -> Real:
    return mpf(x.numerator) / x.denominator


def negative_binomial(eta: Fraction, gamma: Fraction, k: int) -> Real:
    """P(K = k), as a coefficient of the generating function."""
    e, g = number(eta), number(gamma)
    if eta == 0:
        return (1 - g) ** k / k / -mp.log(g)
    return mp.rf(e, k) / mp.factorial(k) * (1 - g) ** k / (g**-e - 1)


def poisson(mean: Fraction, k: int) -> Real:
    return mp.exp(-number(mean)) * number(mean) ** k / mp.factorial(k)


def check_cuts(draw: Callable[[Bits], int], law: Callable[[int], Real], start: int) -> None:
    """The number is the least k with U < F(k): look at U just below and just above each F(k)."""
    with mp.workdps(80):
        total = mpf(0)
        for k in range(start, start + 12):
            total += law(k)
            cut = int(mp.floor(total * mpf(2) ** 128))
            for beside in (-1, 0, 1):
                high, low = divmod(cut + beside, 1 << 64)
                more = [low] if beside else [low, 0]
                # Words are read 64 bits at a time; where 128 bits do not decide, zeros follow.
                found = draw(Words([high, *more, *[0] * 8]))
                assert found == (k if beside < 1 else k + 1)
            if total > 1 - mpf(2) ** -60:
                break


@pytest.mark.parametrize("gamma", SHARES)
@pytest.mark.parametrize("eta", SHAPES)
def test_a_negative_binomial_number_is_cut_at_its_cumulative_probabilities(
    eta: Fraction, gamma: Fraction
) -> None:
    check_cuts(
        lambda bits: draw_negative_binomial(eta, gamma, bits),
        lambda k: negative_binomial(eta, gamma, k),
        1,
    )


@pytest.mark.parametrize("mean", [Fraction(1, 100), Fraction(1), Fraction(21, 2), Fraction(60)])
def test_a_poisson_number_is_cut_at_its_cumulative_probabilities(mean: Fraction) -> None:
    check_cuts(lambda bits: draw_poisson(mean, bits), lambda k: poisson(mean, k), 0)


def test_all_coins_of_a_geometric_number() -> None:
    """With gamma 3/10 a word of 4 bits is a coin; 10 to 15 are drawn again."""
    found: Counter[int] = Counter()
    for coins in product(range(10), repeat=3):
        words = [15 << 12, *(coin << 12 for coin in coins), 0]
        found[draw_geometric(Fraction(3, 10), Words(words))] += 1
    assert found == {1: 300, 2: 210, 3: 147, 4: 343}
    assert draw_negative_binomial(Fraction(1), Fraction(3, 10), Words([9 << 12, 0])) == 2


CASES: list[tuple[Callable[[Bits], int], Callable[[int], Real], int]] = [
    (
        lambda bits: draw_negative_binomial(Fraction(1), Fraction(1, 5), bits),
        lambda k: negative_binomial(Fraction(1), Fraction(1, 5), k),
        1,
    ),
    (
        lambda bits: draw_negative_binomial(Fraction(0), Fraction(1, 20), bits),
        lambda k: negative_binomial(Fraction(0), Fraction(1, 20), k),
        1,
    ),
    (
        lambda bits: draw_negative_binomial(Fraction(5, 2), Fraction(1, 3), bits),
        lambda k: negative_binomial(Fraction(5, 2), Fraction(1, 3), k),
        1,
    ),
    (
        lambda bits: draw_poisson(Fraction(130), bits),  # a sum of three
        lambda k: poisson(Fraction(130), k),
        0,
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_draws_fit_their_law(case: int) -> None:
    """A G-test on seeded bits; its verdict is the same each time."""
    draw, law, start = CASES[case]
    bits, draws, cells = SeededBits(case), 8000, 20
    seen = Counter(draw(bits) for _ in range(draws))
    counts, expected = [0], [0.0]
    for k in range(start, max(seen) + 1):  # cells of consecutive numbers, about equally likely
        counts[-1] += seen[k]
        expected[-1] += draws * float(law(k))
        if expected[-1] >= draws / cells:
            counts.append(0)
            expected.append(0.0)
    expected[-1] = draws - sum(expected[:-1])
    pairs = zip(counts, expected, strict=True)
    statistic = 2 * sum(n * math.log(n / e) for n, e in pairs if n)
    assert len(counts) <= cells + 1
    assert statistic < 74  # at most 20 degrees of freedom: exceeded with probability 5e-8


def test_many_runs_are_drawn_in_bounded_time() -> None:
    bits = SeededBits(9)
    assert draw_negative_binomial(Fraction(0), Fraction(1, 10**6), bits) >= 1
    assert draw_negative_binomial(Fraction(50), Fraction(1, 100), bits) > 1000
    assert 9000 < draw_poisson(Fraction(10**4), bits) < 11000


def test_parameters_out_of_range_are_refused() -> None:
    bits = SeededBits(0)
    for eta, gamma in ((Fraction(-1), Fraction(1, 2)), (Fraction(0), Fraction(1))):
        with pytest.raises(ValueError, match="eta must be above -1"):
            draw_negative_binomial(eta, gamma, bits)
    with pytest.raises(ValueError, match="gamma must lie between 0 and 1"):
        draw_geometric(Fraction(0), bits)
    with pytest.raises(ValueError, match="mean must be positive"):
        draw_poisson(Fraction(0), bits)
