# SPDX-License-Identifier: Apache-2.0
import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sordino.numbers.balls import Ball, round_up
from sordino.randomness import selection as module
from sordino.randomness.entropy import Bits
from sordino.randomness.selection import binomial, halvings
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import TapeEnded, Words


def share(n: int, c: int, k: int) -> Fraction:
    p = Fraction(1, 1 << c)
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("c", [0, 1, 2, 3])
def test_all_tapes_together_give_the_binomial_law(n: int, c: int) -> None:
    # A round looks at the first n bits of one word: all words with n <= 4 such bits are tried.
    drawn: Counter[int] = Counter()
    for heads in product(range(1 << n), repeat=c):
        tape = Words([head << (64 - n) for head in heads])
        drawn[int(halvings(np.array([n]), np.array([c]), tape)[0])] += 1
    assert {k: Fraction(times, drawn.total()) for k, times in drawn.items()} == {
        k: share(n, c, k) for k in range(n + 1) if share(n, c, k)
    }


def test_several_counts_are_independent() -> None:
    counts, rounds = np.array([2, 0, 3, 2, 1]), np.array([1, 5, 2, 0, 0])
    drawn: Counter[tuple[int, ...]] = Counter()
    for heads in product(range(8), repeat=3):
        tape = Words([head << 61 for head in heads])
        drawn[tuple(halvings(counts, rounds, tape).tolist())] += 1
    assert counts.tolist() == [2, 0, 3, 2, 1]
    assert {key: Fraction(times, 512) for key, times in drawn.items()} == {
        (a, 0, b, 2, 1): share(2, 1, a) * share(3, 2, b) for a in range(3) for b in range(4)
    }


@pytest.mark.parametrize("n", [1, 63, 64, 65, 127, 128, 129, 1000])
def test_each_coin_is_one_bit_and_no_other_bit_is_looked_at(n: int) -> None:
    words = -(-n // 64)
    unused = (1 << (words * 64 - n)) - 1
    full = [2**64 - 1] * words
    assert halvings(np.array([n]), np.array([1]), Words(full)).tolist() == [n]
    none = [0] * (words - 1) + [unused]
    assert halvings(np.array([n]), np.array([1]), Words(none)).tolist() == [0]


def test_many_coins_are_tossed_in_several_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, rounds = np.array([100, 7, 900, 0, 64, 1, 500]), np.array([1, 2, 3, 1, 1, 4, 2])
    drawn = halvings(counts, rounds, SeededBits(5)).tolist()
    monkeypatch.setattr(module, "_COINS_AT_ONCE", 90)
    assert halvings(counts, rounds, SeededBits(5)).tolist() == drawn


def test_there_is_nothing_to_toss_where_nothing_is_left() -> None:
    empty = np.zeros(0, dtype=np.int64)
    assert halvings(empty, empty, Words([])).tolist() == []
    assert binomial(0, 7, Words([])) == 0
    assert binomial(10**30, 0, Words([])) == 10**30


SIZES = [(n, c) for n in (1, 2, 3, 7, 8, 31, 100, 257) for c in (1, 2, 3, 8, 20)]


@pytest.mark.parametrize(("n", "c"), SIZES)
def test_the_law_proposed_covers_the_binomial_one(n: int, c: int) -> None:
    mode = (n + 1) >> c
    law = [share(n, c, k) for k in range(n + 1)]
    assert law[mode] == max(law)
    size = module._block_size(module._log_binomial(n, c), mode)
    assert size * law[mode] >= 1
    assert size * law[mode] <= 2 + Fraction(1, 10**6)
    for k in range(n + 1):
        block = abs(k - mode) // size
        assert law[k] * (1 << max(block - 1, 0)) <= law[mode]


@pytest.mark.parametrize("shape", ["geometric", "cut", "flat", "steep"])
@pytest.mark.parametrize("size", [1, 2, 8, 32])
def test_any_log_concave_law_is_covered(shape: str, size: int) -> None:
    """The theorem needs no more than that; laws on one side of the mode are the hardest."""
    ratio = {
        "geometric": 1 - Fraction(1, size + 1),
        "cut": 1 - Fraction(1, 4 * size),
        "flat": Fraction(1),
        "steep": Fraction(1, 2),
    }[shape]
    terms = {"geometric": 12 * size, "cut": size, "flat": size, "steep": 20}[shape]
    law = [ratio**k for k in range(terms)]
    total = sum(law)
    width = 1 << math.ceil(math.log2(total))
    assert width * law[0] >= total
    for k, weight in enumerate(law):
        assert weight * (1 << max(k // width - 1, 0)) <= law[0]


class Proposed(Exception):
    pass


@pytest.mark.parametrize(("n", "c"), [(1, 1), (3, 1), (8, 2), (20, 1), (40, 5), (12, 9)])
def test_proposals_and_acceptances_multiply_to_the_binomial_law(
    n: int, c: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every way through one proposal is taken, with its exact probability."""
    plan: list[int] = []
    bounds: list[int] = []
    proposed: list[tuple[int, int]] = []

    def below(bound: int, bits: Bits) -> int:  # noqa: ARG001 - in place of one that draws
        bounds.append(bound)
        if len(bounds) > 2:
            raise Proposed
        return plan[0] if bound == 3 and len(bounds) == 1 else plan[2]

    def accepts(log_share: object, mode: int, place: int, block: int, bits: Bits) -> bool:  # noqa: ARG001 - the same
        proposed.append((place, block))
        return True

    monkeypatch.setattr(module, "LARGEST_COUNTED", 0)
    monkeypatch.setattr(module, "below_one", below)
    monkeypatch.setattr(module, "_leading_ones", lambda bits: plan[1])  # noqa: ARG005 - the same
    monkeypatch.setattr(module, "_accepts", accepts)
    mode = (n + 1) >> c
    size = module._block_size(module._log_binomial(n, c), mode)
    found: dict[int, Fraction] = defaultdict(Fraction)
    farthest = n // size + 1
    for block, away, sign in product(range(farthest + 1), range(size), (0, 1)):
        outer = [0, 0, away] if block == 0 else [1 + away % 2, block - 1, away]
        chance = Fraction(1, 3) if block == 0 else Fraction(2, 3) / 2**block
        plan[:], bounds[:], proposed[:] = outer, [], []
        try:
            place = binomial(n, c, Words([sign, 0, 0]))
        except Proposed:
            continue
        assert proposed == [(place, block)]
        quotient = share(n, c, place) / share(n, c, mode) * (1 << max(block - 1, 0))
        assert quotient <= 1
        found[place] += chance / size / 2 * quotient
    constant = 1 / (6 * size * share(n, c, mode))
    assert dict(found) == {k: share(n, c, k) * constant for k in range(n + 1)}


def test_the_number_of_leading_ones_halves_its_probability_each_time() -> None:
    drawn = Counter(module._leading_ones(Words([word, 0])) for word in range(1 << 16))
    assert drawn == {**{k: 1 << (15 - k) for k in range(16)}, 16: 1}
    assert module._leading_ones(Words([0xFFFF, 0xFFFF, 0b1011])) == 34


@pytest.mark.parametrize(
    ("n", "c", "place", "block"),
    [(100, 1, 53, 0), (100, 1, 80, 2), (1000, 3, 100, 1), (10**5, 4, 6100, 0), (400, 3, 0, 3)],
)
def test_a_proposal_is_accepted_by_its_true_probability(
    n: int, c: int, place: int, block: int
) -> None:
    mode = (n + 1) >> c
    log_share = module._log_binomial(n, c)
    true = share(n, c, place) / share(n, c, mode) * (1 << max(block - 1, 0))
    at = math.floor(true * 2**64)

    def accepts(*words: int) -> bool:
        return module._accepts(log_share, mode, place, block, Words(words))

    if at > 0:
        assert accepts(at - 1)
    assert not accepts(at + 1)
    with pytest.raises(TapeEnded):
        accepts(at)
    assert accepts(at, 0)
    assert not accepts(at, 2**64 - 1)


def test_the_mode_is_accepted_by_almost_every_word() -> None:
    log_share = module._log_binomial(10**18, 3)
    assert module._accepts(log_share, 125 * 10**15, 125 * 10**15, 0, Words([2**64 - 3]))


@pytest.mark.parametrize(("n", "c"), [(6, 1), (30, 2), (50, 6), (9, 5), (200, 3)])
def test_draws_without_tossing_fit_the_binomial_law(
    n: int, c: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_COUNTED", 0)
    bits = SeededBits(n)
    drawn = [binomial(n, c, bits) for _ in range(700)]
    assert_fits(drawn, {k: float(share(n, c, k)) for k in range(n + 1)})


def test_draws_with_tossing_fit_the_binomial_law() -> None:
    bits = SeededBits(3)
    drawn = [binomial(300, 4, bits) for _ in range(5000)]
    assert_fits(drawn, {k: float(share(300, 4, k)) for k in range(301)})


@pytest.mark.parametrize(("n", "c"), [(10**18, 1), (10**18, 7), (2**27, 2), (10**600, 3)],
                         ids=range(4))  # fmt: skip
def test_huge_counts_have_the_mean_and_the_variance_of_the_binomial_law(n: int, c: int) -> None:
    bits, draws = SeededBits(c), 200
    mean = Fraction(n, 1 << c)
    deviation = math.isqrt(int(mean * (1 - Fraction(1, 1 << c))))
    scaled = [float((binomial(n, c, bits) - mean) / deviation) for _ in range(draws)]
    # Next to normal numbers: beyond these bounds with a probability below 1e-6.
    assert abs(sum(scaled)) < 6 * math.sqrt(draws)
    assert abs(sum(x * x for x in scaled) - draws) < 6 * math.sqrt(2 * draws)


def test_huge_counts_with_hardly_any_hits_are_next_to_poisson_numbers() -> None:
    bits, mean = SeededBits(11), 10**18 / 2**60
    drawn = [binomial(10**18, 60, bits) for _ in range(500)]
    law = {k: math.exp(-mean) * mean**k / math.factorial(k) for k in range(12)}
    assert_fits(drawn, law)
    assert [binomial(10**30, 5000, bits) for _ in range(20)] == [0] * 20


def test_the_logarithm_of_a_share_stays_precise_for_huge_counts() -> None:
    for digits in (18, 300, 3000):
        n = 10**digits
        log_share = module._log_binomial(n, 1)

        def formula(n: int = n, log_share: object = log_share) -> Ball:
            return -log_share(n // 2)  # type: ignore[operator,no-any-return]  # bound in a loop

        # P(n/2) is sqrt(2 / (pi n)) up to a factor of 1 - 1/(4n).
        expected = digits / 2 * math.log(10) - math.log(2 / math.pi) / 2
        assert round_up(formula) == pytest.approx(expected, rel=1e-12)
