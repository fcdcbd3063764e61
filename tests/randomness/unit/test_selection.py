# SPDX-License-Identifier: Apache-2.0
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from sordino.randomness import selection
from sordino.randomness.entropy import Bits
from sordino.randomness.selection import ArrayLevels, Floats, Found, by_flips, by_weight
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import Words

Law = dict[int, Fraction]


class Given:
    """Levels written down: a floor for each, and the excess of each of its candidates.

    A level with a number in place of a list has so many candidates without an excess.
    """

    def __init__(self, levels: list[tuple[Fraction | int, Sequence[Fraction | int] | int]]) -> None:
        self._floors = [Fraction(floor) for floor, _ in levels]
        self._there = [there for _, there in levels]
        self.counts: list[int] = [n if isinstance(n, int) else len(n) for n in self._there]
        self.floors: Floats = np.array([float(floor) for floor in self._floors])

    def floor(self, level: int) -> Fraction:
        return self._floors[level]

    def find(self, level: int, rank: int) -> Found:
        there = self._there[level]
        excess = 0 if isinstance(there, int) else there[rank]
        return Found(sum(self.counts[:level]) + rank, Fraction(excess))

    def exponents(self) -> list[Fraction]:
        return [
            self._floors[level] + self.find(level, rank).excess
            for level, count in enumerate(self.counts)
            for rank in range(count)
        ]


def flipped(chances: Sequence[Any]) -> list[Any]:
    """Permute-and-flip: P(r) = p_r times the integral over t of the others' 1 - p_s t."""
    found = []
    for at, chance in enumerate(chances):
        coefficients: list[Any] = [chance - chance + 1]
        for other in [*chances[:at], *chances[at + 1 :]]:
            shifted = [0, *(-other * c for c in coefficients)]
            coefficients = [a + b for a, b in zip([*coefficients, 0], shifted, strict=True)]
        found.append(chance * sum(c / (k + 1) for k, c in enumerate(coefficients)))
    return found


def test_the_integral_is_the_law_of_flipping_coins_in_random_order() -> None:
    chances = [Fraction(1), Fraction(1, 3), Fraction(1, 3), Fraction(2, 7), Fraction(1, 100)]
    law: Law = defaultdict(Fraction)
    orders = list(permutations(range(len(chances))))
    for order in orders:
        reached = Fraction(1, len(orders))
        for candidate in order:
            law[candidate] += reached * chances[candidate]
            reached *= 1 - chances[candidate]
    assert flipped(chances) == [law[candidate] for candidate in range(len(chances))]


class Undecided(Exception):
    """The path has ended at a random choice among so many ways, of these probabilities."""

    def __init__(self, kind: str, chances: list[Fraction]) -> None:
        self.kind, self.chances = kind, chances


class Rejected(Exception):
    """The number drawn last is drawn again."""


class Oracle:
    """Random choices made beforehand, in place of coins and of numbers below a bound.

    A coin of probability exp(-x) has 4**-x instead, so that all probabilities are rational: the
    code relies on exp(-(x + y)) = exp(-x) exp(-y) and on coins of exp(-x) being at most 2**-c.
    """

    def __init__(self, path: tuple[int, ...]) -> None:
        self._path: Iterator[int] = iter(path)
        self._last = ""

    def choose(self, kind: str, chances: list[Fraction]) -> int:
        assert sum(chances) == 1
        assert min(chances) >= 0
        if kind == self._last == "below":
            raise Rejected
        self._last = kind
        for way in self._path:
            return way
        raise Undecided(kind, chances)

    def below(self, bound: int, bits: Bits) -> int:  # noqa: ARG002 - in place of one that draws
        return self.choose("below", [Fraction(1, bound)] * bound)

    def keeps(self, x: Fraction, bits: Bits, factor: Fraction = Fraction(1)) -> bool:  # noqa: ARG002 - the same
        chance = factor * Fraction(1, 4) ** int(x)
        return self.choose("coin", [1 - chance, chance]) == 1

    def halvings(
        self,
        counts: npt.NDArray[np.int64],
        rounds: npt.NDArray[np.int64],
        bits: Bits,  # noqa: ARG002 - the same
    ) -> npt.NDArray[np.int64]:
        drawn = []
        for n, c in zip(counts.tolist(), rounds.tolist(), strict=True):
            p = Fraction(1, 1 << c)
            law = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
            drawn.append(self.choose("survivors", law))
        return np.array(drawn)


def explore(run: Callable[[Oracle], int], path: tuple[int, ...] = ()) -> Law | None:
    """Return the exact law of a program by taking every way at every choice; None if rejected."""
    try:
        return {run(Oracle(path)): Fraction(1)}
    except Rejected:
        return None
    except Undecided as stop:
        kind, chances = stop.kind, stop.chances
    law: Law = defaultdict(Fraction)
    kept = Fraction(0)
    for way, chance in enumerate(chances):
        further = explore(run, (*path, way)) if chance else None
        if further is None:
            continue
        kept += chance
        for outcome, share in further.items():
            law[outcome] += chance * share
    assert kept == 1 or kind == "below"
    return {outcome: share / kept for outcome, share in law.items()}


@pytest.mark.parametrize(
    "levels",
    [
        Given([(0, [0]), (1, [0])]),
        Given([(0, [0, 0]), (1, [0, 1])]),
        Given([(0, [1, 0]), (1, [1, 1])]),
        Given([(0, [0, 2]), (2, [0, 0]), (3, [1])]),
        Given([(0, [0]), (1, [0, 3, 1])]),
        Given([(0, []), (0, [2, 0, 1])]),
    ],
    ids=range(6),
)
def test_levels_survivors_and_three_coins_are_exactly_permute_and_flip(
    levels: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(oracle: Oracle) -> int:
        monkeypatch.setattr(selection, "below_one", oracle.below)
        monkeypatch.setattr(selection, "keeps", oracle.keeps)
        monkeypatch.setattr(selection, "halvings", oracle.halvings)
        return by_flips(levels, Words([]))[1].candidate

    law = explore(run)
    assert law is not None
    expected = flipped([Fraction(1, 4) ** int(x) for x in levels.exponents()])
    assert {k: share for k, share in law.items() if share} == dict(enumerate(expected))


def test_balls_leave_the_urn_in_random_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(oracle: Oracle) -> int:
        monkeypatch.setattr(selection, "below_one", oracle.below)
        urn = selection._Urn([2, 0, 1, 3], Words([]))
        code = 0
        for _ in range(6):
            code = 4 * code + urn.draw()
            oracle.choose("between", [Fraction(1)])
        with pytest.raises(ArithmeticError, match="no candidate"):
            urn.draw()
        return code

    law = explore(run)
    assert law is not None
    assert len(law) == 60  # 6! / (2! 1! 3!) orders
    assert set(law.values()) == {Fraction(1, 60)}


def test_nobody_with_the_best_score_is_an_error_and_no_endless_loop() -> None:
    scores = ArrayLevels(np.array([0, 0, 0]), Fraction(1), best=10**6)
    with pytest.raises(ArithmeticError, match="no candidate has the best score"):
        by_flips(scores, SeededBits(1))


def weighted(exponents: Sequence[Fraction]) -> dict[int, float]:
    weights = [mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) for x in exponents]
    return {k: float(w / sum(weights)) for k, w in enumerate(weights)}


def flips(exponents: Sequence[Fraction]) -> dict[int, float]:
    with mpmath.workprec(300):
        chances = [mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) for x in exponents]
        return {k: float(share) for k, share in enumerate(flipped(chances))}


ARRAYS = [
    (np.array([3, 3, 2, 3, 4]), Fraction(1)),
    (np.array([5, 5, 5, 5]), Fraction(1, 3)),
    (np.array([0, 300, 450, 500, 499, 498, 20]), Fraction(1, 200)),
    (np.array([2**63 - 1, 2**63 - 2, -(2**63)]), Fraction(1, 2)),
    (np.array([2**64 - 1, 2**64 - 3, 0], dtype=np.uint64), Fraction(1, 2**63)),
    (np.array([0.1, 0.25, 0.1, 0.3, -5.0, 0.29999999999999993]), Fraction(7, 2)),
    (np.array([1.7e308, -1.7e308, 0.0]), Fraction(1, 2**1023)),
    (np.array([1e9, 1e9 - 0.5, 0.0, -1e300]), Fraction(2)),
]


@pytest.mark.parametrize(("scores", "rate"), ARRAYS, ids=range(len(ARRAYS)))
def test_candidates_come_up_with_their_exact_probabilities(
    scores: npt.NDArray[Any], rate: Fraction
) -> None:
    best = scores.max().item()
    exponents = [rate * (Fraction(best) - Fraction(score.item())) for score in scores]
    levels, bits = ArrayLevels(scores, rate, best), SeededBits(7)
    drawn = [by_weight(levels, bits)[1].candidate for _ in range(1000)]
    assert_fits(drawn, weighted(exponents))
    drawn = [by_flips(levels, bits)[1].candidate for _ in range(1000)]
    assert_fits(drawn, flips(exponents))


def test_the_level_is_told_together_with_the_candidate() -> None:
    levels, bits = ArrayLevels(np.array([0, 2, 3]), Fraction(1, 2), 3), SeededBits(8)
    for draw in (by_weight, by_flips):
        for _ in range(50):
            level, found = draw(levels, bits)
            assert level == [3, 1, 0][found.candidate]
            assert found.excess == 0


def test_a_level_whose_floor_is_far_below_its_candidates_gives_the_same_law() -> None:
    exponents = [Fraction(0), Fraction(5, 2), Fraction(1), Fraction(3)]
    levels, bits = Given([(0, exponents)]), SeededBits(9)
    drawn = [by_weight(levels, bits)[1].candidate for _ in range(2000)]
    assert_fits(drawn, weighted(exponents))
    drawn = [by_flips(levels, bits)[1].candidate for _ in range(2000)]
    assert_fits(drawn, flips(exponents))


@pytest.mark.parametrize(
    ("many", "x"),
    [(10**18, Fraction(41)), (2**27, Fraction(18)), (10**300, Fraction(691))],
    ids=range(3),
)
def test_a_huge_level_and_a_few_others_have_their_exact_probabilities(
    many: int, x: Fraction
) -> None:
    listed = [Fraction(0), Fraction(1), Fraction(2)]
    levels = Given([(Fraction(0), 1), (Fraction(1), 1), (Fraction(2), 1), (x, many)])
    bits = SeededBits(10)
    with mpmath.workprec(4000):
        p = [mpmath.exp(-mpmath.mpf(y.numerator)) for y in listed]
        far = mpmath.exp(-mpmath.mpf(x.numerator))
        total = sum(p) + many * far
        by_weights = {k: float(w / total) for k, w in enumerate([*p, many * far])}
    # (1 - p t)**many, for so many candidates, is exp(-many p t) to 8 digits and more.
    mass = float(by_weights[3] / by_weights[0])
    by_coins = {}
    for k in range(3):
        others = [float(q) for j, q in enumerate(p) if j != k]
        by_coins[k] = float(p[k]) * float(
            mpmath.quad(
                lambda t, o=others: (1 - o[0] * t) * (1 - o[1] * t) * mpmath.exp(-mass * t), [0, 1]
            )
        )
    by_coins[3] = 1 - sum(by_coins.values())
    drawn = [min(by_weight(levels, bits)[1].candidate, 3) for _ in range(1000)]
    assert_fits(drawn, by_weights)
    drawn = [min(by_flips(levels, bits)[1].candidate, 3) for _ in range(600)]
    assert_fits(drawn, by_coins)


def test_a_candidate_of_a_huge_level_is_any_of_them() -> None:
    levels, bits = Given([(0, 10**18)]), SeededBits(12)
    for draw in (by_weight, by_flips):
        sixteenths = [draw(levels, bits)[1].candidate * 16 // 10**18 for _ in range(1000)]
        assert_fits(sixteenths, dict.fromkeys(range(16), 1 / 16))


def test_a_floor_beyond_all_bounds_neither_overflows_nor_is_drawn() -> None:
    far = Fraction(10) ** 300
    levels, bits = Given([(0, 2), (far, 5), (far + 1, 10**30)]), SeededBits(13)
    for draw in (by_weight, by_flips):
        assert {draw(levels, bits)[1].candidate for _ in range(100)} == {0, 1}
