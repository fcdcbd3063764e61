# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from scipy.stats import binom

from sordino.auditing.blackbox.events import guessed_epsilon, least_epsilon, shares
from sordino.numbers.confidence import highest, lowest


def test_the_bounds_of_a_probability_are_those_of_the_handbook() -> None:
    assert float(lowest(900, 1000, 0.025)) == pytest.approx(0.8797120634813074, rel=1e-12)
    assert float(highest(900, 1000, 0.025)) == pytest.approx(0.91789466564442, rel=1e-12)
    assert float(highest(0, 1000, 0.025)) == pytest.approx(0.003682083896865671, rel=1e-12)


def test_the_least_epsilon_is_that_of_the_handbook() -> None:
    found = least_epsilon((600, 200), (1000, 1000), alpha=0.05)
    assert found == pytest.approx(0.9224268435925785, rel=1e-12)


def test_no_hit_has_lower_bound_zero_and_only_hits_have_upper_bound_one() -> None:
    assert float(lowest(0, 50, 0.01)) == 0.0
    assert float(highest(50, 50, 0.01)) == 1.0
    assert 0 < float(highest(0, 50, 0.01)) < float(highest(1, 50, 0.01)) < 1


@pytest.mark.parametrize("chance", [0.001, 0.03, 0.2, 0.5, 0.77, 0.999])
@pytest.mark.parametrize("alpha", [0.05, 0.0005])
def test_a_bound_fails_no_more_often_than_stated(chance: float, alpha: float) -> None:
    """Summed over all counts that 400 runs can give, with no drawing at all."""
    hits = np.arange(401)
    law = binom.pmf(hits, 400, chance)
    assert law[lowest(hits, 400, alpha) > chance].sum() <= alpha
    assert law[highest(hits, 400, alpha) < chance].sum() <= alpha


@pytest.mark.parametrize("chances", [(0.5, 0.5 / math.e), (0.02, 0.01), (0.9, 0.4)])
def test_the_least_epsilon_is_too_large_no_more_often_than_stated(
    chances: tuple[float, float],
) -> None:
    """Summed over all pairs of counts of 60 runs each; delta makes the true value smaller."""
    delta, alpha = 0.005, 0.05
    hits = np.arange(61)
    law = np.outer(binom.pmf(hits, 60, chances[0]), binom.pmf(hits, 60, chances[1]))
    true = math.log((chances[0] - delta) / chances[1])
    found = np.array(
        [
            [least_epsilon((int(a), int(b)), (60, 60), delta=delta, alpha=alpha) for b in hits]
            for a in hits
        ]
    )
    assert law[found > true].sum() <= alpha


def test_zero_hits_prove_about_the_logarithm_of_the_runs() -> None:
    found = least_epsilon((10**6, 0), (10**6, 10**6), alpha=0.05)
    assert found == pytest.approx(math.log(10**6 / 3.7), abs=0.01)


def test_delta_that_explains_the_hits_leaves_nothing_proved() -> None:
    assert least_epsilon((10, 0), (1000, 1000), delta=0.02, alpha=0.05) == -math.inf


def test_a_guess_is_close_to_what_would_be_proved() -> None:
    hits = np.array([30.0, 31.0, 40.0, 600.0, 5000.0, 9999.0, 10000.0])
    others = np.array([0.0, 3.0, 10.0, 200.0, 4000.0, 31.0, 32.0])
    guessed = guessed_epsilon(hits, others, (10_000, 10_000), delta=0.0, alpha=0.001)
    proved = [
        least_epsilon((int(a), int(b)), (10_000, 10_000), alpha=0.001)
        for a, b in zip(hits, others, strict=True)
    ]
    assert guessed == pytest.approx(proved, abs=0.05)


@pytest.mark.parametrize("rounds", [1, 2, 5, 9])
def test_the_rounds_share_what_there_is(rounds: int) -> None:
    split = shares(0.001, rounds)
    assert len(split) == rounds
    assert sum(split) == pytest.approx(0.001)
    assert split[-1] >= 0.0005
