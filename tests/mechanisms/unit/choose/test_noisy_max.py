# SPDX-License-Identifier: Apache-2.0
"""Report noisy max with three noises: law, privacy by computation, values."""

import math
from typing import Any, get_args

import numpy as np
import pytest

from sordino.mechanisms.choose import Exponential, NoisyMax, PermuteAndFlip
from sordino.mechanisms.choose.noisy_max import Noise
from tests.mechanisms.unit.choose.universes import RELATIONS, Floats, Relation, Scores, votes, worst
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

FOODS = [3, 3, 2, 3, 4]
NOISES: tuple[Noise, ...] = get_args(Noise)


def law_of(mechanism: NoisyMax) -> Any:
    def law(scores: Scores) -> Floats:
        found: Floats = mechanism.probabilities(list(scores))
        assert found.sum() == pytest.approx(1, rel=1e-12)
        return found

    return law


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("several", [False, True])
def test_no_neighbouring_counts_lose_more_than_epsilon(
    noise: Noise, relation: Relation, several: bool
) -> None:
    monotone = relation == "add_remove"
    mechanism = NoisyMax(sensitivity=1, epsilon=2, noise=noise, monotone=monotone)
    loss, reach = worst(law_of(mechanism), votes(relation, several=several))
    assert 0.85 * 2 < loss <= 2 * (1 + 1e-12)
    assert (reach <= 2 * (1 + 1e-12)) is (noise == "gumbel")
    assert mechanism.loss.epsilon(delta=0) == 2


@pytest.mark.parametrize("noise", NOISES)
def test_noise_for_one_vote_costs_twice_epsilon_when_a_voter_is_replaced(noise: Noise) -> None:
    wrong = NoisyMax(sensitivity=1, epsilon=1, noise=noise, monotone=True)
    loss, _ = worst(law_of(wrong), votes("replace_one"))
    assert 1.75 < loss <= 2 * (1 + 1e-12)


def test_gumbel_noise_is_the_exponential_mechanism_and_exponential_noise_permute_and_flip() -> None:
    terms: dict[str, Any] = {"sensitivity": 2, "epsilon": 0.7, "spread": 3}
    pairs: list[tuple[Noise, Exponential | PermuteAndFlip]] = [
        ("gumbel", Exponential(**terms)),
        ("exponential", PermuteAndFlip(**terms)),
    ]
    for noise, same in pairs:
        mechanism = NoisyMax(noise=noise, **terms)
        assert mechanism.probabilities(FOODS).tolist() == same.probabilities(FOODS).tolist()
        assert mechanism.loss == same.loss
        assert mechanism.rate == same.rate
        asked: dict[str, Any] = {"confidence": 0.9, "candidates": 7}
        assert mechanism.accuracy(**asked) == same.accuracy(**asked)
        assert NoisyMax.within(3, sensitivity=2, noise=noise, spread=3, **asked) == same.within(
            3, sensitivity=2, spread=3, **asked
        )


def test_exponential_noise_wins_with_the_law_of_flips() -> None:
    """Ding and others: the largest of score + exponential noise, by a sum over small cells."""
    rate, scores = 0.5, (2, 0, 1)
    x = np.linspace(2, 90, 400_001)
    middle, step = (x[1:] + x[:-1]) / 2, x[1] - x[0]
    for i, score in enumerate(scores):
        chance = rate * np.exp(-rate * (middle - score))
        for j, other in enumerate(scores):
            if j != i:
                chance = chance * -np.expm1(-rate * (middle - other))
        found = NoisyMax(sensitivity=1, epsilon=1).probabilities(list(scores))[i]
        assert chance.sum() * step == pytest.approx(found, rel=1e-7)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("sensitivity", [1, 1.0])
def test_draws_follow_the_probabilities(noise: Noise, sensitivity: float) -> None:
    mechanism = NoisyMax(sensitivity=sensitivity, epsilon=1, noise=noise)
    law = mechanism.probabilities(FOODS)
    with replay(SeededBits(20268)):
        drawn = [mechanism.release(FOODS) for _ in range(1000)]
    assert_fits(drawn, dict(enumerate((law / law.sum()).tolist())))


def test_noise_on_a_grid_is_scaled_for_the_rounding() -> None:
    whole = NoisyMax(sensitivity=1, epsilon=1, noise="laplace")
    real = NoisyMax(sensitivity=1.0, epsilon=1, noise="laplace")
    gap = real.accuracy(confidence=0.99, candidates=100).gap
    assert gap == pytest.approx(whole.accuracy(confidence=0.99, candidates=100).gap, abs=2)
    assert real.probabilities([0.5, 0.25])[0] > 0.5
    with pytest.raises(TypeError, match="give the sensitivity as a float"):
        whole.release([0.5, 0.25])


def test_noises_make_different_mechanisms() -> None:
    assert len({NoisyMax(sensitivity=1, epsilon=1, noise=noise) for noise in NOISES}) == 3


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    ("scores", "error"),
    [
        ([], ValueError),
        ([1.0, math.nan], ValueError),
        ([1.0, math.inf], ValueError),
        (np.zeros((2, 2)), (TypeError, ValueError)),
        ([True, False], TypeError),
        (["a", "b"], TypeError),
        ("ab", TypeError),
    ],
    ids=str,
)
def test_bad_scores_are_refused_in_one_sentence(noise: Noise, scores: Any, error: Any) -> None:
    mechanism = NoisyMax(sensitivity=1.0, epsilon=1, noise=noise)
    for ask in (mechanism.release, mechanism.probabilities):
        with pytest.raises(error, match="score") as raised:
            ask(scores)
        assert "\n" not in str(raised.value)


def test_bad_terms_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^noise must be one of laplace, gumbel, exponential, got"
    ):
        NoisyMax(sensitivity=1, epsilon=1, noise="gaussian")  # type: ignore[arg-type]  # refused
    for epsilon in (1e-20, 1e20):
        with pytest.raises(ValueError, match=r"^epsilon is too (small|large) for a spread of 2"):
            NoisyMax(sensitivity=1, epsilon=epsilon, noise="laplace")
    with pytest.raises(ValueError, match="at most 64 scores"):
        NoisyMax(sensitivity=1, epsilon=1, noise="laplace").probabilities(range(65))
