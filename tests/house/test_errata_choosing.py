# SPDX-License-Identifier: Apache-2.0
"""The corrected statements and worked examples about choosing in docs/errata.md, by their ids."""

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest

from sordino.mechanisms.choose import (
    Exponential,
    Integers,
    NoisyMax,
    PermuteAndFlip,
    best_price,
    choose,
)
from sordino.mechanisms.choose.candidates import FROM_DATA
from sordino.mechanisms.choose.interval import Interval
from sordino.mechanisms.choose.price import revenues
from sordino.mechanisms.laplace import Laplace

HAIR = [500, 400, 400, 400]
FOODS = [3, 3, 2, 3, 4]


def exponential(epsilon: Any, **terms: Any) -> Exponential:
    return Exponential(**{"sensitivity": 1, "epsilon": epsilon} | terms)


def losses(mechanism: Any, here: Any, there: Any) -> list[float]:
    pairs = zip(mechanism.probabilities(here), mechanism.probabilities(there), strict=True)
    return [math.log(p / q) for p, q in pairs]


def test_ex1_the_printed_double_exponential_is_not_private() -> None:
    """E-X1: the loss between neighbours is 7.115, then 127.5, and grows with the scores."""

    def printed(scores: tuple[int, ...]) -> list[float]:
        """The logarithms of the probabilities for the weight exp(exp(epsilon u) / 2)."""
        exponents = [math.exp(u) / 2 for u in scores]
        best = max(exponents)
        total = math.log(math.fsum(math.exp(x - best) for x in exponents))
        return [x - best - total for x in exponents]

    def worst(here: tuple[int, ...], there: tuple[int, ...]) -> float:
        return max(abs(a - b) for a, b in zip(printed(here), printed(there), strict=True))

    assert worst((3, 0), (2, 1)) == pytest.approx(7.115, abs=5e-4)
    assert worst((6, 5), (5, 6)) == pytest.approx(127.5, abs=5e-2)
    grown = [worst((n + 1, n), (n, n + 1)) for n in range(12)]
    assert all(later > 2 * earlier for earlier, later in pairwise(grown))
    assert grown[-1] > 50_000
    for here, there in (([3, 0], [2, 1]), ([6, 5], [5, 6]), ([12, 11], [11, 12])):
        assert max(map(abs, losses(exponential(1), here, there))) <= 1 + 1e-12


def test_ex2_the_ratio_of_sums_is_bounded_either_way() -> None:
    """E-X2: half of epsilon each for the weight and for the normaliser, which is sum_y / sum_x."""
    for x, y in (([3, 0, 1], [2, 1, 1]), ([0, 0, 9], [1, 1, 8])):
        sums = [math.fsum(math.exp(u / 2) for u in scores) for scores in (x, y)]
        assert math.exp(-0.5) <= sums[1] / sums[0] <= math.exp(0.5)
        for r, loss in enumerate(losses(exponential(1), x, y)):
            assert loss == pytest.approx((x[r] - y[r]) / 2 + math.log(sums[1] / sums[0]))


def test_ex3_an_unbounded_range_has_no_normaliser() -> None:
    """E-X3: rank scores stay above -n, so their weights on the whole line add up to infinity."""
    for bounds in ((0.0, math.inf), (-math.inf, 0.0)):
        with pytest.raises(ValueError, match="infinite"):
            Interval(*bounds)


@pytest.mark.parametrize("maker", [Exponential, PermuteAndFlip])
def test_ex4_and_ex12_accuracy_is_about_the_score_of_the_choice(maker: Any) -> None:
    """E-X4, E-X12: leaving out how many are best makes the bound weaker, never better."""
    mechanism = maker(sensitivity=1, epsilon=1)
    one = mechanism.accuracy(confidence=0.99, candidates=100)
    ten = mechanism.accuracy(confidence=0.99, candidates=100, best=10)
    assert ten.gap < one.gap
    assert ten.classic < one.classic
    law = mechanism.probabilities([0.0] * 10 + [-ten.gap] * 90)
    assert law[10:].sum() <= 0.01 * (1 + 1e-9)


def test_ex5_the_chance_of_a_bad_score() -> None:
    """E-X5: at most |R| exp(epsilon c / 2) / exp(epsilon OPT / 2), with c and not OPT above."""
    law = exponential(1).probabilities([9, 2, 2, 1])
    for c in (1, 2, 8):
        bad = sum(p for p, u in zip(law, [9, 2, 2, 1], strict=True) if u <= c)
        assert bad <= 4 * math.exp((c - 9) / 2)


def test_ex6_and_ex7_weights_are_divided_by_their_sum() -> None:
    """E-X6, E-X7: e^(epsilon n_i) is a weight; divided by the sum it is a probability."""
    weights = [math.exp(0.5 * n) for n in FOODS]
    assert math.fsum(weights) > 1
    law = exponential(0.5, monotone=True).probabilities(FOODS)
    assert law == pytest.approx([w / math.fsum(weights) for w in weights], rel=1e-13)


def test_ex8_and_ex9_the_union_is_over_days() -> None:
    """E-X8, E-X9: t = ln(d / delta) / epsilon with d days; with persons in place of days it fails.

    One person, five days, epsilon 0.7, delta 0.5: t is 0.990 by the persons, and the choice is that
    far behind with probability 0.66514.
    """
    mechanism = exponential(0.7, monotone=True)
    votes = [1, 0, 0, 0, 0]
    law = mechanism.probabilities(votes)
    by_persons = math.log(1 / 0.5) / 0.7
    assert by_persons == pytest.approx(0.990, abs=5e-4)
    behind = sum(p for p, n in zip(law, votes, strict=True) if n <= 1 - by_persons)
    assert behind == pytest.approx(0.66514, abs=5e-6)
    assert behind > 0.5
    by_days = mechanism.accuracy(confidence=0.5, candidates=5)
    assert by_days.classic == pytest.approx(math.log(5 / 0.5) / 0.7, rel=1e-14)
    assert by_days.gap < by_days.classic
    assert law[1] / law[0] == pytest.approx(math.exp(-0.7), rel=1e-13)


def test_ex10_and_x22_the_exponent_epsilon_on_counts() -> None:
    """E-X10, X22: 3 days, 8 students: epsilon if they come and go, 1.999 epsilon if replaced."""
    epsilon = 2
    mechanism = exponential(epsilon, monotone=True)
    counts = [c for c in product(range(9), repeat=3) if sum(c) <= 8]
    law = {c: [math.log(p) for p in mechanism.probabilities(c)] for c in counts}

    def worst(moves: list[tuple[int, ...]]) -> float:
        pairs = (
            (c, there)
            for c in counts
            for move in moves
            if (there := tuple(a + b for a, b in zip(c, move, strict=True))) in law
        )
        found = (
            abs(a - b) for here, there in pairs for a, b in zip(law[here], law[there], strict=True)
        )
        return max(found) / epsilon

    assert 0.999 < worst([(1, 0, 0), (0, 1, 0), (0, 0, 1)]) < 1
    assert 0.999 < worst([m for m in product((0, 1), repeat=3) if any(m)]) < 1
    assert 1.999 < worst([(1, -1, 0), (1, 0, -1), (0, 1, -1)]) < 2


def test_ex13_a_huge_range_is_no_obstacle() -> None:
    """E-X13: 10^18 candidates of which two have a score."""
    found = choose(Integers(1, 10**18), {7: 300, 10**17: 1}, epsilon=1)
    assert found == 7


def test_ex14_laplace_noise_as_a_choice() -> None:
    """E-X14: the score is minus the distance; as a choice it is twice as wide as Laplace noise.

    The normaliser is the same for all data, so the factor 2 is not needed, for this score.
    """
    answers = range(-400, 401)
    law = exponential(1).probabilities([-abs(y - 3) for y in answers])
    at = {y: float(p) for y, p in zip(answers, law, strict=True)}
    assert at[3] / at[5] == pytest.approx(math.exp(2 / 2), rel=1e-12)
    noise = Laplace(sensitivity=1, epsilon=1)
    assert noise.scale == 1
    narrow = exponential(1, monotone=True).probabilities([-abs(y - 3) for y in answers])
    q = math.exp(-1)
    assert max(narrow) == pytest.approx((1 - q) / (1 + q), rel=1e-12)
    moved = exponential(1, monotone=True).probabilities([-abs(y - 4) for y in answers])
    assert max(abs(math.log(a / b)) for a, b in zip(narrow, moved, strict=True)) < 1 + 1e-9


def test_ex15_one_item_or_unlimited_supply() -> None:
    """E-X15: with bids 3 and 4 the best price is 4 for one item, and 3 for a digital good."""
    prices = [3, 3.01, 4, 4.01]
    for units, best in ((1, 4), (math.inf, 3)):
        earned = revenues([3, 4], prices, units=units)
        assert prices[earned.index(max(earned))] == best
    many = [3, 4] * 2000
    assert best_price(many, prices, epsilon=1) == 3
    dear = [0.01, *prices]
    found = {best_price(many, dear, units=1, epsilon=200) for _ in range(20)}
    assert found == {4}


def test_ex16_candidates_must_not_come_from_the_data() -> None:
    """E-X16: a bid at a new price would make that price a candidate, and be seen."""
    bids = {3: 1, 4: 1}
    for candidates in (bids, bids.keys()):
        with pytest.raises(ValueError, match="decides which candidates there are") as raised:
            choose(candidates, bids, epsilon=1)
        assert str(raised.value) == FROM_DATA
    assert choose([3, 4], bids, epsilon=1) in (3, 4)
    assert choose(bids, bids, epsilon=1, public_domain=True) in (3, 4)
    with pytest.raises(ValueError, match="the prices are the bids themselves"):
        best_price(row := [3, 4], row, epsilon=1)


def test_ex17_and_x6_the_expected_loss_of_a_price() -> None:
    """E-X17, X6: 199 prices from 0.01 to 1.99; 25.0474 / epsilon, and much less where it is tight.

    The five numbers: printed bound and tight mean without monotone scores, the same with, and both
    for values up to 1, where no price above 1 ever sells.
    """
    prices = [Fraction(cent, 100) for cent in range(1, 200)]
    assert len(prices) == 199
    asked: dict[str, Any] = {"confidence": 0.5, "candidates": 199}

    def printed(sensitivity: float) -> float:
        return 2 * sensitivity * (math.log(199) + 1)

    assert printed(1.99) == pytest.approx(25.04735320240348, rel=1e-14)
    assert exponential(1, sensitivity=1.99).accuracy(**asked).mean == pytest.approx(
        12.5094, abs=5e-5
    )
    assert printed(1.99) / 2 == pytest.approx(12.5237, abs=5e-5)
    monotone = exponential(1, sensitivity=1.99, monotone=True)
    assert monotone.accuracy(**asked).mean == pytest.approx(6.2547, abs=5e-5)
    assert printed(1) == pytest.approx(12.5866, abs=5e-5)
    assert exponential(1).accuracy(**asked).mean == pytest.approx(6.2861, abs=5e-5)
    assert 2 * 1.999 * math.log2(200) == pytest.approx(30.560, abs=5e-4)
    sold = revenues([1.0] * 50, prices, highest_bid=1)
    assert max(sold) == 50
    assert all(earned == 0 for price, earned in zip(prices, sold, strict=True) if price > 1)


def test_ex18_winning_by_37_is_enough() -> None:
    """E-X18: at least q_max - 36.8; a leader by 37 of 100 wins with probability 0.99 and more."""
    mechanism = exponential(0.5)
    assert mechanism.probabilities([37] + [0] * 99)[0] > 0.99
    assert mechanism.probabilities([36] + [0] * 99)[0] < 0.99
    assert mechanism.accuracy(confidence=0.99, candidates=100).gap < 36.8


def test_ex19_and_x1_hair_colours() -> None:
    """E-X19, X1: a score of 400 or less has probability 0.00669 to 0.01981, bounded by 0.02695."""
    mechanism = exponential(0.1)
    bound = 4 * math.exp(-5)
    assert bound == pytest.approx(0.02695178799634187, rel=1e-14)
    exact = mechanism.probabilities(HAIR)[1:].sum()
    assert exact == pytest.approx(0.01981333734650906, rel=1e-13)
    two = mechanism.probabilities([500, 400])[1]
    assert two == pytest.approx(0.006692850924284856, rel=1e-13)
    far = mechanism.probabilities([500, 400, -(10**6), -(10**6)])[1]
    assert far == pytest.approx(two, rel=1e-13)
    assert two < exact < bound
    flips = PermuteAndFlip(sensitivity=1, epsilon=0.1).probabilities(HAIR)[1:].sum()
    assert flips == pytest.approx(0.01006159704, rel=1e-9)
    monotone = exponential(0.1, monotone=True).probabilities(HAIR)[1:].sum()
    assert monotone == pytest.approx(1.361812414310667e-4, rel=1e-12)


def test_x2_the_t_of_the_hair_colours() -> None:
    """X2: 400 = 500 - 20 (ln 4 + t), so t = 5 - ln 4."""
    t = 5 - math.log(4)
    assert t == pytest.approx(3.613705638880109, rel=1e-14)
    confidence = Fraction(1 - math.exp(-t))
    classic = exponential(0.1).accuracy(confidence=confidence, candidates=4).classic
    assert classic == pytest.approx(100, rel=1e-13)


def test_x4_the_heavy_hitter() -> None:
    """X4: 100 sites, epsilon 0.5, 99 %: 36.84 by the union bound, 36.76 at best, 18.38 monotone."""
    asked: dict[str, Any] = {"confidence": 0.99, "candidates": 100}
    found = exponential(0.5).accuracy(**asked)
    assert found.classic == pytest.approx(36.84136148790473, rel=1e-14)
    assert found.gap == pytest.approx(36.76095880107672, rel=1e-14)
    assert exponential(0.5, monotone=True).accuracy(**asked).gap == pytest.approx(
        18.3804794005, rel=1e-11
    )


def test_x5_the_heavy_hitter_with_noise_on_all_scores() -> None:
    """X5: scale d / epsilon = 200 for 100 scores; the union bound is 1842.068 for all of them."""
    noise = Laplace(sensitivity=100, epsilon=0.5)
    assert noise.scale == 200
    union = 200 * math.log(100 / 0.01)
    assert union == pytest.approx(1842.068, abs=5e-4)
    half_width = noise.accuracy(confidence=0.99, coordinates=100)
    assert 0.99 * union < half_width <= union


@pytest.mark.parametrize(
    ("epsilon", "terms", "wrong"),
    [
        (1, {}, 0.2689414213699951),
        (0.1, {}, 0.47502081252106),
        (1, {"monotone": True}, 0.1192029220221176),
    ],
    ids=str,
)
def test_x7_two_votes_for_b(epsilon: Any, terms: dict[str, Any], wrong: float) -> None:
    """X7: A is chosen with probability 1 / (1 + e^epsilon); monotone 1 / (1 + e^(2 epsilon))."""
    law = exponential(epsilon, **terms).probabilities([0, 2])
    assert law.tolist() == pytest.approx([wrong, 1 - wrong], rel=1e-13)


def test_x8_the_wrong_answer() -> None:
    """X8: the bound 2 e^(-c epsilon / 2) is twice the exact value, and at small c above 1."""
    exact, bound = exponential(1).probabilities([0, 10])[0], 2 * math.exp(-5)
    assert exact == pytest.approx(0.00669285092428, rel=1e-11)
    assert bound == pytest.approx(0.0134758939982, rel=1e-11)
    assert 2 * math.exp(-math.log(2)) == pytest.approx(1)


def test_x11_foods() -> None:
    """X11: one student may mark all five: scale 50 on each count, or one choice at epsilon 0.1."""
    assert Laplace(sensitivity=5, epsilon=0.1).scale == 50
    for mechanism, milk in (
        (exponential(0.1), 0.21014912282144),
        (exponential(0.1, monotone=True), 0.22059263057702),
        (PermuteAndFlip(sensitivity=1, epsilon=0.1, monotone=True), 0.22628901241214),
    ):
        assert mechanism.probabilities(FOODS)[4] == pytest.approx(milk, rel=1e-12)


def test_x19_profits() -> None:
    """X19: bids 3 and 4 at the prices 3, 3.01, 4, 4.01."""
    prices = [3, 3.01, 4, 4.01]
    assert revenues([3, 4], prices, units=1) == [3, Fraction("3.01"), 4, 0]
    assert revenues([3, 4], prices) == [6, Fraction("3.01"), 4, 0]


def test_x20_an_app_that_all_value_alike() -> None:
    """X20: at 0.70 everybody buys, at 0.69 for a little less, at 0.71 nobody."""
    assert revenues([0.70] * 100, [0.69, 0.70, 0.71]) == [69, 70, 0]


def test_x29_the_expected_error() -> None:
    """X29: 2 (ln d + 1) / epsilon is 22.42 for 100 candidates at epsilon 0.5; 10.51 is attained."""
    assert 4 * (math.log(100) + 1) == pytest.approx(22.420680743952, rel=1e-12)
    mean = exponential(0.5).accuracy(confidence=0.5, candidates=100).mean
    assert mean == pytest.approx(10.514598388081, rel=1e-12)


def test_el5_noisy_max_on_counts() -> None:
    """E-L5: with scale 1 / epsilon, one student who switches costs up to 2 epsilon.

    For a leader who is ahead by 2, 10, 50 after it, on the real line: 1.3069, 1.8177, 1.9608.
    """

    def behind(gap: int) -> float:
        """P(the second wins) for Laplace noise of scale 1."""
        return math.exp(-gap) * (2 + gap) / 4

    for gap, printed in ((2, 1.3069), (10, 1.8177), (50, 1.9608)):
        assert math.log(behind(gap - 2) / behind(gap)) == pytest.approx(printed, abs=5e-5)
    wrong = NoisyMax(sensitivity=1, epsilon=1, noise="laplace", monotone=True)
    right = NoisyMax(sensitivity=1, epsilon=1, noise="laplace")
    found = [losses(wrong, [gap - 1, 1], [gap, 0])[1] for gap in (2, 10, 50)]
    assert found == sorted(found)
    assert 1.95 < found[-1] < 2
    assert losses(right, [50, 0], [51, -1])[1] <= 1 + 1e-12
    assert abs(losses(wrong, [50, 0], [51, 0])[1]) <= 1 + 1e-12
    assert (
        PermuteAndFlip(sensitivity=1, epsilon=1).accuracy(confidence=0.99, candidates=5).gap
        < right.accuracy(confidence=0.99, candidates=5).gap
    )
