# SPDX-License-Identifier: Apache-2.0
from collections import Counter
from fractions import Fraction

import mpmath
import pytest

from sordino.numbers.balls import Ball, ball, pi
from sordino.randomness.tables import rounded
from tests.support.seeded import SeededBits
from tests.support.tape import TapeEnded, Words

mpmath.mp.prec = 300
HALF = Fraction(1, 2)


def cauchy(z: Ball) -> Ball:
    return z.atan() / pi() + ball(HALF)


def true_cauchy(z: mpmath.mpf) -> mpmath.mpf:
    return mpmath.atan(z) / mpmath.pi + mpmath.mpf(1) / 2


def true_logistic(z: mpmath.mpf) -> mpmath.mpf:
    return 1 / (1 + mpmath.exp(-z))


def logistic(z: Ball) -> Ball:
    return 1 / (1 + (-z).exp())


def mp(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


LAWS = {
    "cauchy": (cauchy, true_cauchy),
    "logistic": (logistic, true_logistic),
}
PLACES = [(Fraction(0), Fraction(1)), (Fraction(7, 3), Fraction(5, 2)), (HALF, Fraction(1, 9))]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("centre", "scale"), PLACES, ids=["unit", "moved", "tie"])
def test_over_all_words_each_number_has_the_probability_of_its_cell(
    law: str, centre: Fraction, scale: Fraction
) -> None:
    balls, exact = LAWS[law]
    bits = 12
    decided: Counter[int] = Counter()
    undecided = 0
    for word in range(1 << bits):
        try:
            decided[
                rounded(balls, centre=centre, scale=scale, bits=Words([word]), word_bits=bits)
            ] += 1
        except TapeEnded:
            undecided += 1
    assert undecided < 2**bits / 10  # words on an edge, and those of cells smaller than a word
    for k, count in decided.items():
        low, high = (exact((k + sign * mpmath.mpf(1) / 2 - mp(centre)) / mp(scale))
                     for sign in (-1, 1))  # fmt: skip
        cell = (high - low) * 2**bits
        assert cell - 2 <= count <= cell  # a word at each end of a cell is decided by later bits


@pytest.mark.parametrize("place", [-3, 0, 1, 40])
def test_a_word_on_the_edge_of_a_cell_is_decided_by_the_next_one(place: int) -> None:
    centre, scale = Fraction(1, 3), Fraction(7, 5)
    edge = (place + HALF - centre) / scale
    true = mpmath.ldexp(mpmath.atan(mp(edge)) / mpmath.pi + mpmath.mpf(1) / 2, 64)
    word = int(mpmath.floor(true))
    rest = int(mpmath.floor(mpmath.ldexp(true - word, 64)))

    def drawn(*words: int) -> int:
        return rounded(cauchy, centre=centre, scale=scale, bits=Words(words))

    with pytest.raises(TapeEnded):
        drawn(word)
    with pytest.raises(TapeEnded):
        drawn(word, rest)
    assert drawn(word - 1) == drawn(word, 0) == drawn(word, rest - 1) == place
    assert drawn(word + 1) == drawn(word, 2**64 - 1) == drawn(word, rest + 1) == place + 1


def test_a_centre_on_an_edge_is_decided_by_the_first_bit() -> None:
    middle = 1 << 63
    assert rounded(cauchy, centre=HALF, scale=Fraction(1, 9), bits=Words([middle])) == 1
    assert rounded(cauchy, centre=HALF, scale=Fraction(1, 9), bits=Words([middle - 1])) == 0


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_tails_have_no_end(sign: int) -> None:
    words = [0, 0, 1] if sign < 0 else [2**64 - 1, 2**64 - 1, 2**64 - 2]
    far = rounded(
        cauchy, centre=Fraction(0), scale=Fraction(1), bits=Words([*words, *[1 << 63] * 9])
    )
    assert 2**188 < sign * far < 2**191


def test_one_million_steps_wide_noise_fits_its_quartiles() -> None:
    # Counts of 400 draws in four quarters; beyond 9 standard deviations with probability < 1e-15.
    bits = SeededBits(7)
    scale = Fraction(10**6)
    drawn = [rounded(cauchy, centre=Fraction(5), scale=scale, bits=bits) for _ in range(400)]
    quarters = Counter((x > 5 - 10**6) + (x > 5) + (x > 5 + 10**6) for x in drawn)
    assert all(abs(quarters[q] - 100) < 9 * 9 for q in range(4))


def test_a_scale_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="positive scale"):
        rounded(cauchy, centre=Fraction(0), scale=Fraction(0), bits=Words([]))
