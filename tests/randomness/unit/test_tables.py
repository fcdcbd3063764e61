# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from sordino.randomness.tables import (
    Digit,
    Gaussian,
    Geometric,
    Law,
    LazyUniform,
    Scratch,
    SignedGeometric,
    SignedHalfGaussian,
    Table,
)
from tests.support.tape import TapeEnded, Words

mpmath.mp.prec = 400


def exact_cumulative(law: Law, j: int) -> mpmath.mpf:
    """F(j) from the definition of each law, by summing 400-bit weights; shares no code."""

    def exp(x: Fraction) -> mpmath.mpf:
        return mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)

    match law:
        case Geometric(rate):
            weights = {h: exp(rate * h) for h in range(int(300 / rate) + 2)}
        case Digit(rate, count):
            weights = {d: exp(rate * d) for d in range(count)}
        case SignedGeometric(rate, unit):
            far = int(300 / rate) + 2
            weights = {h: exp(rate * h) for h in range(far)}
            weights |= {~h: exp(unit) * exp(rate * h) for h in range(far)}
        case Gaussian(variance):
            far = int((600 * float(variance)) ** 0.5) + 2
            weights = {x: exp(x * x / (2 * variance)) for x in range(-far, far + 1)}
        case SignedHalfGaussian(variance):
            far = int((600 * float(variance)) ** 0.5) + 2
            weights = {c: exp(c * c / (2 * variance)) for c in range(far)}
            weights |= {~c: exp(c * c / (2 * variance)) for c in range(far)}
        case _:
            raise AssertionError(law)
    total = mpmath.fsum(weights.values())
    return mpmath.fsum(w for x, w in weights.items() if x <= j) / total


LAWS: list[Law] = [
    Geometric(Fraction(1)),
    Geometric(Fraction(3, 7)),
    Digit(Fraction(1, 3), 8),
    Digit(Fraction(1, 1000), 16),
    Digit(Fraction(1, 1 << 44), 8),
    SignedGeometric(Fraction(1), Fraction(1)),
    SignedGeometric(Fraction(10, 3), Fraction(10, 3)),
    SignedGeometric(Fraction(1, 2), Fraction(1, 512)),
    Gaussian(Fraction(1)),
    Gaussian(Fraction(1, 4)),
    Gaussian(Fraction(29, 3)),
    SignedHalfGaussian(Fraction(7, 2)),
]
names = [repr(law) for law in LAWS]


def test_geometric_floors_are_the_known_ones() -> None:
    assert Table(Geometric(Fraction(1))).thresholds[:4] == [
        11660566172440666341, 15950248739700762816, 17528334765347285147, 18108880170582590178,
    ]  # fmt: skip


def test_discrete_laplace_floors_are_the_known_ones() -> None:
    table = Table(SignedGeometric(Fraction(1), Fraction(1)))
    assert table.thresholds[-2 - table.first : 3 - table.first] == [
        1825084330436904420, 4961093570831980853, 13485650502877570762,
        16621659743272647195, 17775333070137667237,
    ]  # fmt: skip


def test_discrete_gaussian_floors_are_the_known_ones() -> None:
    table = Table(Gaussian(Fraction(1)))
    assert table.thresholds[-2 - table.first : 3 - table.first] == [
        1080206978517033880, 5543778983169066799, 12902965090540484816,
        17366537095192517735, 18362494631424573814,
    ]  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_every_floor_is_the_true_one(law: Law) -> None:
    table = Table(law)
    for j in range(table.first, table.last + 1, max(1, (table.last - table.first) // 40)):
        exact = mpmath.floor(mpmath.ldexp(exact_cumulative(law, j), 64))
        assert table.thresholds[j - table.first] == int(exact)
    if law.lowest is None:
        assert table.thresholds[0] == 0
    if law.highest is None:
        assert table.thresholds[-1] == 2**64 - 1
    assert table.thresholds == sorted(table.thresholds)


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_enclosures_of_any_precision_contain_the_truth(law: Law) -> None:
    low = -3 if law.lowest is None else 0
    for precision in (5, 64, 200):
        for j, (below, above) in zip(range(low, 4), law.cumulative(low, 3, precision), strict=True):
            exact = mpmath.ldexp(exact_cumulative(law, j), precision)
            assert below == above == exact or below < exact < above
            assert above - below <= 4


def enumerate_words(table: Table, prefix: list[int], weight: Fraction) -> dict[int, Fraction]:
    """Give each outcome the total weight of the tapes that decide it; undecided goes to None.

    A tape is a guide word and two more words; of the second word only the part beyond the guide
    is looked at.
    """
    try:
        return {table.one(Words(prefix)): weight}
    except TapeEnded:
        if len(prefix) == 3:
            return {UNDECIDED: weight}
    step = 1 << table.guide_bits if len(prefix) == 1 else 1
    words = range(0, 1 << table.word_bits, step)
    mass: dict[int, Fraction] = {}
    for word in words:
        for value, part in enumerate_words(table, [*prefix, word], weight / len(words)).items():
            mass[value] = mass.get(value, Fraction(0)) + part
    return mass


UNDECIDED = 10**9


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_enumerating_all_words_of_small_tables_recovers_the_law(law: Law) -> None:
    """All prefixes of 4 + 4 + 8 bits: each outcome gets its share up to what is undecided."""
    table = Table(law, guide_bits=4, word_bits=8)
    mass: dict[int, Fraction] = {}
    for guide in range(16):
        for value, part in enumerate_words(table, [guide], Fraction(1, 16)).items():
            mass[value] = mass.get(value, Fraction(0)) + part
    assert sum(mass.values()) == 1
    undecided = mass.pop(UNDECIDED, Fraction(0))
    # One cell for each threshold, and those beyond the table at the two ends.
    assert undecided <= Fraction(2 * len(table.thresholds) + 8, 1 << 16)
    for value in range(min(mass) - 1, max(mass) + 2):
        if law.lowest is not None and value < law.lowest:
            continue
        before = exact_cumulative(law, value - 1) if value != law.lowest else 0
        probability = exact_cumulative(law, value) - before
        found = mass.get(value, Fraction(0))
        assert mpmath.mpf(found.numerator) / found.denominator <= probability
        most = found + undecided
        assert probability <= mpmath.mpf(most.numerator) / most.denominator


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_all_guide_words_of_the_full_table_agree_with_the_law(law: Law) -> None:
    """Every 16-bit word that is decided alone lies wholly inside its outcome's share of [0, 1)."""
    table = Table(law)
    undecided = 0
    counts: dict[int, int] = {}
    for word in range(1 << 16):
        try:
            value = table.one(Words([word]))
        except TapeEnded:
            undecided += 1
            continue
        counts[value] = counts.get(value, 0) + 1
    assert 0 < undecided <= len(table.thresholds)
    assert sum(counts.values()) + undecided == 1 << 16
    for value, count in counts.items():
        before = exact_cumulative(law, value - 1) if value != law.lowest else 0
        probability = mpmath.ldexp(exact_cumulative(law, value) - before, 16)
        assert count <= probability <= count + 2


@pytest.mark.parametrize("law", LAWS, ids=names)
def test_words_beside_a_floor_are_decided_and_a_tied_word_asks_for_more(law: Law) -> None:
    table = Table(law)
    for j in (0, 1, 2):
        floor = table.thresholds[j - table.first]
        if j > table.last or floor + 1 >= 2**64:
            continue
        guide, rest = floor >> 48, (floor & ((1 << 48) - 1)) << 16
        with pytest.raises(TapeEnded):
            table.one(Words([guide, rest]))
        for extra in (0, 2**64 - 1):  # all zeros: below F; all ones: at or above it
            bits = Words([guide, rest, *([extra] * 4)])
            outcome = table.one(bits)
            assert outcome == (j if extra == 0 else j + 1)
            assert bits.used >= 3
        for step, outcome in ((-1, j), (1, j + 1)):
            word = floor + step
            bits = Words([word >> 48, (word & ((1 << 48) - 1)) << 16])
            assert table.one(bits) == outcome


def test_words_at_both_ends_reach_outcomes_beyond_the_table() -> None:
    table = Table(SignedGeometric(Fraction(1), Fraction(1)))
    high = Words([2**16 - 1, *([2**64 - 1] * 2), 0, 0])
    low = Words([0, 0, 0, 2**63, 0])
    assert table.one(high) > table.last
    assert table.one(low) < table.first
    assert high.used >= 4
    assert low.used >= 4


def test_a_lazy_number_equal_to_a_dyadic_threshold_is_not_below_it() -> None:
    number = LazyUniform(1 << 63, 64, Words([]))
    assert not number.below(lambda width: (1 << (width - 1), 1 << (width - 1)))
    assert LazyUniform((1 << 63) - 1, 64, Words([])).below(
        lambda width: (1 << (width - 1), 1 << (width - 1))
    )


def test_an_array_of_tied_words_takes_the_slow_path_and_agrees_with_single_draws() -> None:
    table = Table(SignedGeometric(Fraction(1), Fraction(1)))
    floors = [table.thresholds[j - table.first] for j in (-2, 0, 1)]
    for extra in product((0, 2**64 - 1), repeat=3):
        guides = [floor >> 48 for floor in floors]
        rests = [(floor & ((1 << 48) - 1)) << 16 for floor in floors]
        drawn, deep = table.draw(Scratch(3), Words([*guides, *rests, *extra, *([7] * 9)]))
        singles = [
            table.one(Words([guide, rest, more, 7, 7, 7]))
            for guide, rest, more in zip(guides, rests, extra, strict=True)
        ]
        assert drawn.tolist() == singles
        assert [position for position, _ in deep] == [0, 1, 2]


def test_crowded_cells_are_searched() -> None:
    table = Table(Gaussian(Fraction(25)))
    words = [0] * 40 + [2**16 - 1] * 40
    rng = np.random.default_rng(5)
    rests = [int(word) for word in rng.integers(0, 2**64, 80, dtype=np.uint64)]
    drawn, deep = table.draw(Scratch(80), Words(words + rests))
    singles = [table.one(Words(pair)) for pair in zip(words, rests, strict=True)]
    assert drawn.tolist() == singles
    assert deep == []
    assert len(set(singles)) > 4
