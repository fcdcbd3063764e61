# SPDX-License-Identifier: Apache-2.0
"""The losses that the fixtures state are the true ones, computed; and two that no run can show."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from sordino.auditing.blackbox.pairs import Universe
from sordino.auditing.exact import verify_gaussian, verify_law
from tests.auditing.audit import noise
from tests.auditing.audit.fixture import Floats

near = pytest.approx


def chosen(logs: Any) -> list[float]:
    weights = np.exp(np.asarray(logs, dtype=np.float64) - max(logs))
    found: list[float] = (weights / weights.sum()).tolist()
    return found


def test_doubly_exponential_weights_lose_without_bound() -> None:
    def law(scores: Any) -> list[float]:
        return chosen([math.exp(score) / 2 for score in scores])

    assert verify_law(law, [((3, 0), (2, 1))], epsilon=1).least_epsilon == near(7.115, abs=5e-4)
    assert verify_law(law, [((6, 5), (5, 6))], epsilon=1).least_epsilon == near(127.5, abs=0.05)


def test_weights_without_the_half_lose_twice_the_claim() -> None:
    pairs = [((6, 2), (5, 3))]
    assert verify_law(chosen, pairs, epsilon=1).least_epsilon == near(1.891, abs=5e-4)
    far = [((3 * n, n, n), (3 * n - 1, n, n + 1)) for n in range(1, 6)]
    assert 1.99 < verify_law(chosen, far, epsilon=2).least_epsilon < 2
    halved = verify_law(lambda s: chosen([x / 2 for x in s]), [*pairs, *far], epsilon=1)
    assert halved.verdict == "holds"


def test_the_noisy_maximum_of_two_has_its_closed_form() -> None:
    """The loser wins if the difference of two Laplace numbers is above the gap."""
    generator = np.random.default_rng(6)
    apart = generator.laplace(0, 1, 10**6) - generator.laplace(0, 1, 10**6)
    for gap in (2, 4, 6):
        chance = (2 + gap) * math.exp(-gap) / 4
        spread = math.sqrt(chance / 10**6)
        assert abs(np.mean(apart > gap) - chance) < 6 * spread  # seeded; 2e-9 before that
    assert math.log(6 * math.exp(-4) / (8 * math.exp(-6))) == near(1.712, abs=5e-4)


def test_the_smooth_bound_without_the_end_is_half_as_smooth_as_it_has_to_be() -> None:
    """All data of three values from 0 to 6, and all that differ in one value."""
    worst = dict.fromkeys((noise._reach, noise._reach_without_the_end), 0.0)
    for here in combinations_with_replacement(range(noise.HIGH + 1), 3):
        for place in range(3):
            for value in range(noise.HIGH + 1):
                there = tuple(sorted((*here[:place], value, *here[place + 1 :])))
                for reach in worst:
                    worst[reach] = max(worst[reach], noise.cauchy_loss(here, there, reach, 0.5))
    assert worst[noise._reach_without_the_end] == near(0.8, rel=1e-9)
    assert 0.49 < worst[noise._reach] <= 0.5
    shown = noise.cauchy_loss((0, 0, 2), (0, 0, 6), noise._reach_without_the_end, 0.5)
    assert shown == near(0.8, rel=1e-9)


def test_float_noise_around_one_has_only_multiples_of_the_last_bit() -> None:
    generator = np.random.default_rng(7)
    at_one, at_zero = (noise.float_noise(generator, value, 100_000) for value in (1.0, 0.0))
    steps = [np.ldexp(values, 53) for values in (at_one, at_zero)]
    fine = [float(np.mean(values != np.round(values))) for values in steps]
    assert fine[0] == 0
    assert fine[1] > 0.2


def test_four_whole_numbers_lose_more_than_one_that_moves_as_far() -> None:
    places = np.arange(-40, 41)

    def profile(law: Floats, shift: int) -> float:
        moved = np.roll(law, shift)
        return float(np.maximum(moved - math.exp(2) * law, 0).sum())

    for variance, truth in ((1.0, 0.31535), (1.25, 0.25408)):
        one = np.exp(-(places**2) / (2 * variance))
        one /= one.sum()
        four = np.convolve(np.convolve(one, one), np.convolve(one, one))  # of the sum, which tells
        assert profile(four, 4) == near(truth, abs=5e-6)
        if variance == 1:
            assert profile(one, 2) == near(0.26678, abs=5e-6)


# The sparse vector technique: an integral over the noise of the threshold.

LEVELS = np.linspace(-60, 60, 240_001)


def density(x: Floats, scale: float) -> Floats:
    return np.exp(-np.abs(x) / scale) / (2 * scale)


def below(x: Floats, scale: float) -> Floats:
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x < 0, tail, 1 - tail)


def pattern(queries: tuple[int, ...], positives: int, scales: tuple[float, float]) -> float:
    """The chance that all queries are below but the last ones, which are above."""
    found = density(LEVELS, scales[0])
    for place, query in enumerate(queries):
        low = below(LEVELS - query, scales[1])
        found = found * (low if place < len(queries) - positives else 1 - low)
    return float(found.sum() * (LEVELS[1] - LEVELS[0]))


@pytest.mark.parametrize(
    ("first", "second", "positives", "scales", "loss"),
    [
        ((0,) * 5 + (1, 1), (1,) * 5 + (0, 0), 2, (4.0, 4 / 3), 3.044),
        ((0,) * 8, (1,) * 4 + (-1,) * 4, 4, (2.0, 2.0), 3.546),
        ((0,) * 5 + (1,), (1,) * 5 + (0,), 1, (2.0, 2.0), 1.438),
        ((0,) * 40 + (1,), (1,) * 40 + (0,), 1, (2.0, 2.0), 1.5),
        ((0,) * 40 + (1,), (1,) * 40 + (0,), 1, (2.0, 4.0), 1.0),  # the right one
    ],
)
def test_a_pattern_of_the_sparse_vector_technique_has_the_loss_stated(
    first: tuple[int, ...],
    second: tuple[int, ...],
    positives: int,
    scales: tuple[float, float],
    loss: float,
) -> None:
    ratio = pattern(first, positives, scales) / pattern(second, positives, scales)
    assert math.log(ratio) == near(loss, abs=5e-4)


def test_a_value_that_passed_the_test_tells_where_the_threshold_was() -> None:
    """Six queries below, then a value up to 0.9; the level lies below the value."""
    values = np.linspace(-40, 0.9, 4_001)
    chances = []
    for query, last in ((0, 0), (1, -1)):
        step = LEVELS[1] - LEVELS[0]
        level = np.cumsum(density(LEVELS, 2.0) * below(LEVELS - query, 2.0) ** 6) * step
        seen = density(values - last, 2.0) * np.interp(values, LEVELS, level)
        chances.append(float(np.trapezoid(seen, values)))
    assert math.log(chances[0] / chances[1]) == near(3.31, abs=0.01)


# What runs cannot show: a large epsilon, and a claim about sets that is checked one by one.


def test_the_textbook_gaussian_noise_for_epsilon_twenty_is_refused() -> None:
    sigma = math.sqrt(2 * math.log(1.25e5)) / 20
    found = verify_gaussian(sigma=sigma, sensitivity=1, epsilon=20, delta=1e-5)
    assert found.verdict == "violation"
    assert found.least_delta == near(1.527e-3, abs=5e-7)
    wider = verify_gaussian(sigma=sigma * 1.35, sensitivity=1, epsilon=20, delta=1e-5)
    assert wider.verdict == "holds"
    print(f"the textbook Gaussian: {found.least_delta:.4g} where 1e-5 is claimed")  # noqa: T201  # shown by -rP


def test_a_law_that_passes_output_by_output_is_refused() -> None:
    part = Fraction(1, 1000)

    def law(start: int) -> dict[int, Fraction]:
        return dict.fromkeys(range(start, start + 1000), part)

    assert all(chance <= part for chance in law(0).values())  # each alone passes, at epsilon 0
    other = verify_law(law, [(0, 1000)], epsilon=0, delta=part)
    assert (other.verdict, other.least_delta) == ("violation", 1.0)
    overlapping = verify_law(law, [(0, 1)], epsilon=0, delta=part)
    assert (overlapping.verdict, overlapping.least_delta) == ("holds", 0.001)


def test_one_pair_does_not_stand_for_all_choices_in_a_mixed_plan() -> None:
    def law(data: Any) -> dict[tuple[int, int], float]:
        score, answer = data
        chosen, truth = 1 / (1 + math.exp(-score)), 1 / (1 + math.exp(-1))
        return {
            (place, told): (chosen if place else 1 - chosen)
            * (truth if told == answer else 1 - truth)
            for place in (0, 1)
            for told in (0, 1)
        }

    even = verify_law(law, [((0.5, 0), (-0.5, 1))], epsilon=1.5)
    assert even.verdict == "holds"
    uneven = verify_law(law, [((1.625, 0), (0.625, 1))], epsilon=1.5)
    assert uneven.verdict == "violation"
    assert uneven.least_delta == near(0.05659, abs=5e-6)
    assert uneven.least_epsilon == near(1.751, abs=5e-4)


def test_parts_by_position_all_change_when_a_row_goes() -> None:
    rows = np.array(noise.ROWS)[:, 1]
    for data, sums in ((rows, (630, 570, 630)), (rows[1:], (570, 630, 570))):
        assert tuple(part.sum() for part in (data[:20], data[20:40], data[40:])) == sums


def test_candidates_from_the_data_differ_for_some_neighbours() -> None:
    """Among all bids from 1 to 4 of up to two buyers, and one more."""

    def law(bids: Any) -> dict[int, float]:
        prices = sorted(set(bids)) or [1]
        taken = [price * sum(bid >= price for bid in bids) / 8 for price in prices]
        return dict(zip(prices, chosen(taken), strict=True))

    def public(bids: Any) -> list[float]:
        return chosen([price * sum(bid >= price for bid in bids) / 8 for price in range(1, 5)])

    pairs = list(Universe(range(1, 5), size=3, neighbours="add_remove").pairs())
    assert verify_law(law, pairs, epsilon=1).least_epsilon == math.inf
    assert verify_law(public, pairs, epsilon=1).verdict == "holds"
