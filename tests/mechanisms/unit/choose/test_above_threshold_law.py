# SPDX-License-Identifier: Apache-2.0
"""The sparse vector technique: its privacy, computed exactly, and what its relatives reveal."""

import math
from itertools import product

import numpy as np
import pytest

from sordino.mechanisms.choose.above_threshold import AboveThreshold
from tests.mechanisms.unit.choose import sparse

SLACK = 1e-11


def laws(m: AboveThreshold, length: int, reach: int) -> dict[tuple[int, ...], list[float]]:
    first, second = sparse.rates(m)
    runs = sparse.patterns(length, m.positives)
    return {
        queries: [sparse.chance(queries, run, first, second) for run in runs]
        for queries in product(range(-reach, reach + 1), repeat=length)
    }


def worst(m: AboveThreshold, length: int, reach: int, moves: tuple[int, ...]) -> float:
    known = {q: np.log(law) for q, law in laws(m, length, reach).items()}
    found = 0.0
    for queries, law in known.items():
        for change in product(moves, repeat=length):
            other = known.get(tuple(a + b for a, b in zip(queries, change, strict=True)))
            if other is not None:
                found = max(found, float(np.abs(law - other).max()))
    return found


@pytest.mark.parametrize("positives", [1, 2])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (2, 0.7)])
def test_no_neighbouring_queries_exceed_epsilon(
    positives: int, sensitivity: int, epsilon: float
) -> None:
    m = AboveThreshold(threshold=0, sensitivity=sensitivity, epsilon=epsilon, positives=positives)
    moves = tuple(range(-sensitivity, sensitivity + 1))
    assert 0.4 * epsilon < worst(m, 3, 2, moves) <= epsilon + SLACK


@pytest.mark.parametrize("positives", [1, 2])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (2, 0.7)])
def test_no_queries_that_move_one_way_exceed_epsilon_with_monotone_noise(
    positives: int, sensitivity: int, epsilon: float
) -> None:
    m = AboveThreshold(
        threshold=0,
        sensitivity=sensitivity,
        epsilon=epsilon,
        positives=positives,
        monotone=True,
    )
    moves = tuple(range(sensitivity + 1))
    assert 0.4 * epsilon < worst(m, 3, 2, moves) <= epsilon + SLACK


def loss(
    queries: tuple[int, ...], others: tuple[int, ...], run: sparse.Pattern, at: tuple[float, float]
) -> float:
    return math.log(sparse.chance(queries, run, *at) / sparse.chance(others, run, *at))


@pytest.mark.parametrize("positives", [1, 2, 3])
def test_long_runs_come_close_to_epsilon_and_stay_below(positives: int) -> None:
    m = AboveThreshold(threshold=0, epsilon=1, positives=positives)
    found = [
        loss(
            (0,) * (k + positives),
            (1,) * k + (-1,) * positives,
            (False,) * k + (True,) * positives,
            sparse.rates(m),
        )
        for k in (5, 20, 60)
    ]
    assert found == sorted(found)
    assert 0.99 < found[-1] <= 1 + SLACK


def test_monotone_noise_on_queries_that_move_both_ways_loses_half_as_much_again() -> None:
    m = AboveThreshold(threshold=0, epsilon=1, monotone=True)
    found = [
        loss((0,) * (k + 1), (1,) * k + (-1,), (False,) * k + (True,), sparse.rates(m))
        for k in (5, 60)
    ]
    assert found[0] > 1.2
    assert 1.49 < found[1] <= 1.5 + SLACK
    right = AboveThreshold(threshold=0, epsilon=1)
    assert loss((0,) * 61, (1,) * 60 + (-1,), (False,) * 60 + (True,), sparse.rates(right)) <= 1


@pytest.mark.parametrize(("k", "printed"), [(6, 0.9109959), (20, 0.9999862)])
def test_fine_noise_has_the_loss_of_noise_on_the_real_line(k: int, printed: float) -> None:
    """One step is a hundredth: half of epsilon 1 each, Lap(2) and Lap(4)."""
    fine = 100
    m = AboveThreshold(threshold=0, sensitivity=fine, epsilon=1, split=0.5)
    assert sparse.rates(m) == (1 / (2 * fine), 1 / (4 * fine))
    run = (False,) * (k - 1) + (True,)
    found = loss((0,) * k, (fine,) * (k - 1) + (-fine,), run, sparse.rates(m))
    assert found == pytest.approx(printed, abs=3e-3)
    assert found <= 1


def test_releasing_the_noisy_value_of_the_test_reveals_without_bound() -> None:
    """Algorithm 3 of Lyu et al.: the value that passed says how low the noisy threshold is."""
    first, second = 0.5, 0.25

    def density(queries: tuple[int, ...], shown: int) -> float:
        r = sparse.noise_range(first)
        total = sparse.pmf(r, first) * (r <= shown)
        for value in queries[:-1]:
            total = total * (1 - sparse.at_least(r - value, second))
        return float((total * sparse.pmf(np.array([shown - queries[-1]]), second)).sum())

    found = [
        math.log(density((0,) * k + (1,), 0) / density((1,) * k + (0,), 0)) for k in (1, 10, 40)
    ]
    assert found == sorted(found)
    assert found[1] > 2
    assert found[2] > 9


@pytest.mark.parametrize("positives", [1, 2, 3])
def test_noise_that_ignores_the_number_of_positives_reveals_more(positives: int) -> None:
    """Algorithm 4 of Lyu et al.: a quarter on the threshold, (1 + 6 c)/4 instead of 1."""
    at = (0.25, 0.75)
    k = 60
    run = (False,) * k + (True,) * positives
    found = loss((0,) * (k + positives), (1,) * k + (-1,) * positives, run, at)
    claimed, true = 1.0, (1 + 6 * positives) / 4
    assert found > claimed + 0.6 * positives
    assert found <= true + SLACK


def test_values_without_noise_reveal_everything() -> None:
    """Algorithm 5 of Lyu et al.: noise on the threshold only."""

    def chance_of(queries: tuple[int, int]) -> float:
        r = sparse.noise_range(0.5)
        return float((sparse.pmf(r, 0.5) * (queries[0] < r) * (queries[1] >= r)).sum())

    assert chance_of((0, 1)) > 0.1
    assert chance_of((1, 0)) == 0


def test_answers_without_a_stop_reveal_without_bound() -> None:
    """Algorithm 6 of Lyu et al.: noise as for one positive answer, and no end."""
    at = (0.5, 0.5)
    found = [
        loss((0,) * 2 * k, (1,) * k + (-1,) * k, (False,) * k + (True,) * k, at) for k in (1, 5, 20)
    ]
    assert found == sorted(found)
    assert found[2] > 5


def test_adaptive_questions_cost_no_more() -> None:
    """The second question depends on the first answer: the sum over the noise is the same."""
    m = AboveThreshold(threshold=0, epsilon=1, positives=2)
    first, second = sparse.rates(m)
    found = 0.0
    for here in product((-1, 0, 1), repeat=3):
        for there in product((-1, 0, 1), repeat=3):
            if max(abs(a - b) for a, b in zip(here, there, strict=True)) > 1:
                continue
            for run in sparse.patterns(2, 2):
                p, q = (
                    sparse.chance((x[0], x[1] if run[0] else x[2]), run, first, second)
                    for x in (here, there)
                )
                found = max(found, abs(math.log(p / q)))
    assert found <= 1 + SLACK
