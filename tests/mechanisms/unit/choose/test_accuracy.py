# SPDX-License-Identifier: Apache-2.0
"""How far behind the best a choice can be: bounds that some scores attain and none exceed."""

import math
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from sordino.mechanisms.choose import Exponential, NoisyMax, PermuteAndFlip
from sordino.mechanisms.choose.terms import Accuracy, Question, by_flips, by_weight
from tests.mechanisms.unit.choose import universes

Maker = type[Exponential] | type[PermuteAndFlip]
MAKERS: list[Maker] = [Exponential, PermuteAndFlip]
CASES = [
    (confidence, candidates)
    for confidence in (0.3, 0.5, 0.9, 0.99, 1 - 1e-9)
    for candidates in (2, 3, 10, 1000)
]


def behind(mechanism: Any, gaps: list[float], limit: float) -> float:
    """The probability that the choice is at least so far behind."""
    law = mechanism.probabilities([-gap for gap in gaps])
    return float(sum(p for p, gap in zip(law, gaps, strict=True) if gap >= limit))


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("confidence", "candidates"), CASES)
def test_the_gap_is_attained_when_all_others_are_that_far_behind(
    maker: Maker, confidence: float, candidates: int
) -> None:
    mechanism = maker(sensitivity=1, epsilon=0.5)
    gap = mechanism.accuracy(confidence=confidence, candidates=candidates).gap
    if candidates * confidence <= 1:
        assert gap == 0
        return
    fails = behind(mechanism, [0.0, *[gap] * (candidates - 1)], gap)
    assert fails == pytest.approx(1 - confidence, rel=1e-6)
    closer = gap * (1 - 1e-3)
    assert behind(mechanism, [0.0, *[closer] * (candidates - 1)], closer) > 1 - confidence


def test_the_mean_of_textbooks_is_told_beside_the_least_one() -> None:
    """Heavy hitters among 100 at epsilon 1/2: 2 (ln 100 + 1) / (1/2), and prices up to 1.99."""
    hitters = Exponential(sensitivity=1, epsilon=0.5).accuracy(confidence=0.99, candidates=100)
    assert hitters.classic_mean == pytest.approx(4 * (math.log(100) + 1), rel=1e-15)
    assert hitters.mean < hitters.classic_mean
    prices = Exponential(sensitivity=1.99, epsilon=1).accuracy(confidence=0.95, candidates=199)
    assert prices.classic_mean == pytest.approx(3.98 * (math.log(199) + 1), rel=1e-15)
    shared = Exponential(sensitivity=1, epsilon=1).accuracy(confidence=0.9, candidates=8, best=4)
    assert shared.classic_mean == pytest.approx(2 * (math.log(2) + 1), rel=1e-15)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("candidates", [1, 2, 10, 1000])
def test_no_mean_is_above_its_bounds(maker: Maker, candidates: int) -> None:
    mechanism = maker(sensitivity=1, epsilon=0.5)
    found = mechanism.accuracy(confidence=0.9, candidates=candidates)
    assert found.mean <= found.classic_mean
    for gap in (0.5, 2.0, 4 * (1 + found.mean / 4), 30.0):
        law = mechanism.probabilities([0.0] + [-gap] * (candidates - 1))
        assert gap * law[1:].sum() <= found.mean * (1 + 1e-12)


@pytest.mark.parametrize("best", [2, 5, 9])
def test_several_best_candidates_share_the_work(best: int) -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    found = mechanism.accuracy(confidence=0.95, candidates=10, best=best)
    gaps = [0.0] * best + [found.gap] * (10 - best)
    assert behind(mechanism, gaps, found.gap) == pytest.approx(0.05, rel=1e-9)
    assert found.gap < mechanism.accuracy(confidence=0.95, candidates=10).gap
    at = 2 * (1 + found.mean / 2)
    law = mechanism.probabilities([0.0] * best + [-at] * (10 - best))
    assert at * law[best:].sum() == pytest.approx(found.mean, rel=1e-12)


def test_the_bounds_hold_for_random_scores_and_flips_are_never_worse() -> None:
    """Tails of permute-and-flip are at most those of the exponential mechanism, everywhere."""
    rng = np.random.default_rng(20260101)
    weight, flip = (maker(sensitivity=1, epsilon=2) for maker in MAKERS)

    @cache
    def gap(mechanism: Any, confidence: float, many: int, best: int) -> float:
        found = mechanism.accuracy(confidence=confidence, candidates=many, best=best)
        return float(found.gap)

    for _ in range(150):
        many = int(rng.integers(2, 8))
        gaps = [0.0] + [
            float(rng.choice([0, 0.5, 2, rng.exponential(2.5)])) for _ in range(many - 1)
        ]
        best = gaps.count(0.0)
        heavy, light = (m.probabilities([-gap for gap in gaps]) for m in (weight, flip))
        for limit in gaps:
            tails = [sum(law[i] for i in range(many) if gaps[i] >= limit) for law in (light, heavy)]
            assert tails[0] <= tails[1] + 1e-13
        means = [float(law @ np.array(gaps)) for law in (light, heavy)]
        bound = weight.accuracy(confidence=0.5, candidates=many, best=best).mean
        assert means[0] <= means[1] + 1e-13
        assert means[1] <= bound * (1 + 1e-13)
        for confidence in (0.6, 0.9, 0.999):
            for mechanism in (weight, flip):
                for known in (1, best):
                    limit = gap(mechanism, confidence, many, known)
                    if limit > 0:
                        assert behind(mechanism, gaps, limit) <= (1 - confidence) * (1 + 1e-9)


@pytest.mark.parametrize("candidates", [2, 3, 100, 10**6])
def test_the_mean_is_attained_at_the_worst_gap(candidates: int) -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    mean = mechanism.accuracy(confidence=0.5, candidates=candidates).mean
    tight = float(mpmath.lambertw((candidates - 1) / mpmath.e).real)
    assert mean == pytest.approx(2 * tight, rel=1e-13)
    weight = math.exp(-(1 + tight))
    bad = (candidates - 1) * weight
    assert 2 * (1 + tight) * bad / (1 + bad) == pytest.approx(mean, rel=1e-12)
    assert mean < 2 * (math.log(candidates) + 1)


def test_the_numbers_of_a_hundred_candidates() -> None:
    found = Exponential(sensitivity=1, epsilon=0.5).accuracy(confidence=0.99, candidates=100)
    assert found.classic == pytest.approx(36.84136148790473, rel=1e-14)
    assert found.gap == pytest.approx(36.76095880107672, rel=1e-14)
    assert found.mean == pytest.approx(4 * 2.628649597020282, rel=1e-14)


@pytest.mark.parametrize(("confidence", "candidates"), CASES)
def test_tight_bounds_are_at_most_the_classic_one(confidence: float, candidates: int) -> None:
    for best in {1, candidates // 2, candidates}:
        question = Question(confidence, candidates, best)
        weight, flip = by_weight(question, Fraction(1, 3)), by_flips(question, Fraction(1, 3))
        assert flip.gap <= weight.gap <= weight.classic == flip.classic
        assert flip.mean == weight.mean
    for sensitivity in (1, 1.0):
        for epsilon in (0.1, 1, 20):
            laplace = NoisyMax(sensitivity=sensitivity, epsilon=epsilon, noise="laplace")
            found = laplace.accuracy(confidence=confidence, candidates=candidates)
            assert found.gap <= found.classic


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("gap", [0.01, 1, 18.4, 1e6])
@pytest.mark.parametrize("terms", [{}, {"monotone": True}, {"spread": 3}], ids=str)
def test_within_is_the_least_epsilon_for_a_gap(
    maker: Maker, gap: float, terms: dict[str, Any]
) -> None:
    asked: dict[str, Any] = {"confidence": 0.99, "candidates": 100}
    epsilon = maker.within(gap, sensitivity=2, **asked, **terms)
    found = maker(sensitivity=2, epsilon=epsilon, **terms).accuracy(**asked)
    assert found.gap <= gap
    less = epsilon * (1 - 1e-15)
    assert less < epsilon
    assert maker(sensitivity=2, epsilon=less, **terms).accuracy(**asked).gap > gap


@pytest.mark.parametrize("candidates", [1, 2])
def test_no_epsilon_is_least_where_a_uniform_choice_is_good_enough(candidates: int) -> None:
    for maker in (*MAKERS, NoisyMax):
        with pytest.raises(ValueError, match=r"^any epsilon will do: a uniform choice is already"):
            maker.within(1, confidence=0.5, candidates=candidates, sensitivity=1)
    with pytest.raises(ValueError, match=r"^any epsilon will do"):
        NoisyMax.within(1, confidence=0.5, candidates=1, sensitivity=1, noise="laplace")


def test_one_candidate_is_never_behind() -> None:
    for mechanism in (
        Exponential(sensitivity=1, epsilon=1),
        PermuteAndFlip(sensitivity=1, epsilon=1),
        NoisyMax(sensitivity=1, epsilon=1, noise="laplace"),
    ):
        found = mechanism.accuracy(confidence=0.99, candidates=1)
        assert (found.gap, found.mean) == (0, 0)


@pytest.mark.parametrize("candidates", [10**18, 10**100])
def test_a_multitude_of_candidates(candidates: int) -> None:
    asked: dict[str, Any] = {"confidence": 0.99, "candidates": candidates}
    weight = Exponential(sensitivity=1, epsilon=2).accuracy(**asked)
    flip = PermuteAndFlip(sensitivity=1, epsilon=2).accuracy(**asked)
    assert weight.gap == pytest.approx(math.log(candidates) + math.log(99), rel=1e-9)
    assert weight.gap - 1 < flip.gap < weight.gap
    with mpmath.workdps(250):
        p = mpmath.exp(-mpmath.mpf(flip.gap))
        assert float((1 - (1 - p) ** candidates) / (candidates * p)) == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"confidence": 1, "candidates": 2}, ValueError, "confidence must be a number between 0"),
        ({"confidence": 95, "candidates": 2}, ValueError, ".*; write 95 % as 0.95"),
        ({"confidence": math.nan, "candidates": 2}, ValueError, "confidence must be a number"),
        ({"confidence": 0.9, "candidates": 0}, ValueError, "candidates must be a positive whole"),
        ({"confidence": 0.9, "candidates": 2.0}, TypeError, "candidates must be a positive whole"),
        ({"confidence": 0.9, "candidates": 2, "best": 0}, ValueError, "best must be a positive"),
        (
            {"confidence": 0.9, "candidates": 2, "best": 3},
            ValueError,
            "best must be at most the number of candidates, 2, got 3",
        ),
    ],
    ids=str,
)
def test_questions_that_make_no_sense_are_refused(
    asked: dict[str, Any], error: type[Exception], message: str
) -> None:
    for maker in (*MAKERS, NoisyMax):
        with pytest.raises(error, match=f"^{message}"):
            maker(sensitivity=1, epsilon=1).accuracy(**asked)
    for gap in (0, -1, math.nan):
        with pytest.raises(ValueError, match=r"^gap must be a positive number"):
            Exponential.within(gap, confidence=0.9, candidates=9, sensitivity=1)


@pytest.mark.parametrize("sensitivity", [1, 1.0])
@pytest.mark.parametrize("candidates", [2, 3, 6])
@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_the_bounds_for_laplace_noise_cover(
    sensitivity: float, candidates: int, epsilon: float
) -> None:
    mechanism = NoisyMax(sensitivity=sensitivity, epsilon=epsilon, noise="laplace")
    rng = np.random.default_rng(candidates)
    for confidence in (0.5, 0.9, 0.999):
        found = mechanism.accuracy(confidence=confidence, candidates=candidates)
        far = math.ceil(found.gap)
        rows = [[0, *[far] * (candidates - 1)], [*[far] * (candidates - 1), 0]]
        rows += [[0, *rng.integers(2 * far + 1, size=candidates - 1).tolist()] for _ in range(8)]
        for gaps in rows:
            law = mechanism.probabilities([-gap for gap in gaps])
            gap, shares = np.array(gaps, dtype=float), law / law.sum()
            assert shares[gap >= found.gap].sum() <= 1 - confidence + 1e-12
            assert shares[gap >= found.classic].sum() <= 1 - confidence + 1e-12
            assert shares @ gap <= found.mean


def test_the_gap_for_laplace_noise_is_attained_by_two_candidates() -> None:
    mechanism = NoisyMax(sensitivity=1, epsilon=0.5, noise="laplace")
    gap = int(mechanism.accuracy(confidence=0.99, candidates=2).gap)
    assert behind(mechanism, [gap - 1, 0], gap - 1) > 0.01 >= behind(mechanism, [gap, 0], gap)


@pytest.mark.parametrize("sensitivity", [1, 1.0])
def test_within_for_laplace_noise_is_the_least_epsilon(sensitivity: float) -> None:
    asked: dict[str, Any] = {"confidence": 0.99, "candidates": 100}
    for gap in (1, 20, 1000):
        epsilon = NoisyMax.within(gap, sensitivity=sensitivity, noise="laplace", **asked)
        for price, fits in ((epsilon, True), (epsilon * (1 - 1e-12), False)):
            mechanism = NoisyMax(sensitivity=sensitivity, epsilon=price, noise="laplace")
            assert (mechanism.accuracy(**asked).gap <= gap) is fits


def test_whole_scores_less_than_one_apart_are_equal() -> None:
    asked: dict[str, Any] = {"confidence": 0.99, "candidates": 100, "sensitivity": 1}
    assert NoisyMax.within(0.5, noise="laplace", **asked) == NoisyMax.within(
        1, noise="laplace", **asked
    )


def test_the_law_of_a_worst_case_by_hand() -> None:
    """Two candidates: the exponential mechanism fails with p/(1+p), permute-and-flip with p/2."""
    p = 0.2
    gap = -math.log(p)
    assert universes.by_weight((0, -gap), 1)[1] == pytest.approx(p / (1 + p))
    assert universes.by_flips((0, -gap), 1)[1] == pytest.approx(p / 2)
    assert by_flips(Question(Fraction(9, 10), 2), Fraction(1)).gap == pytest.approx(gap)
    assert by_weight(Question(1 - Fraction(1, 6), 2), Fraction(1)).gap == pytest.approx(gap)


def test_an_accuracy_is_read_as_its_gap_and_printed_as_a_sentence() -> None:
    far = PermuteAndFlip(sensitivity=1, epsilon=1).accuracy(confidence=0.95, candidates=100)
    assert float(far) == far.gap
    assert f"{far:.2f}" == f"{far.gap:.2f}"
    assert str(far) == f"{far}" == "less than 13.8 behind, 5.26 on average"
    assert repr(far).startswith("Accuracy(gap=13.7277")


@pytest.mark.parametrize(
    ("gap", "mean", "text"),
    [
        (3.0, 1.0, "less than 3 behind, 1 on average"),
        (3.001, 0.1, "less than 3.01 behind, 0.1 on average"),
        (12345.0, 0.00012341, "less than 12,400 behind, 0.000124 on average"),
        (1.2345e20, 999.5, "less than 1.24e+20 behind, 1,000 on average"),
        (math.inf, 1.0, "less than inf behind, 1 on average"),
        (0.0, 0.5, "one of the best, 0.5 behind on average"),
        (0.0, 0.0, "one of the best"),
    ],
)
def test_what_is_printed_is_never_better_than_what_holds(
    gap: float, mean: float, text: str
) -> None:
    assert str(Accuracy(gap, gap, mean, mean)) == text
