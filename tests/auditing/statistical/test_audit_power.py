# SPDX-License-Identifier: Apache-2.0
"""What a million runs prove about mechanisms whose loss is known.

All draws come from seeded generators, so every test gives the same verdict each time. A bound may
lie above the truth once in a thousand audits; the tests do not depend on it, since they state the
seed.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sordino.auditing import audit, batched
from tests.auditing.statistical.audited import (
    CORRECT,
    GRID,
    float_laplace,
    gaussian,
    laplace,
    rounded_laplace,
)


def test_laplace_of_epsilon_one_is_caught_when_it_claims_nine_tenths() -> None:
    report = audit(laplace(np.random.default_rng(21)), 0, 1, epsilon=0.9)
    assert report.verdict == "violation"
    assert 0.9 < report.lower_bound <= 1.0
    assert report.runs <= 1_000_000


@pytest.mark.parametrize(
    "name", ["laplace", "geometric", "randomised response", "words", "exponential", "vectors"]
)
def test_a_million_runs_prove_nine_tenths_of_the_true_loss(name: str) -> None:
    case = CORRECT[name]
    mechanism = case.make(np.random.default_rng(22))
    report = audit(mechanism, case.x, case.y, epsilon=case.epsilon, runs=1_000_000)
    assert report.private
    assert 0.9 * case.epsilon <= report.lower_bound <= case.epsilon


@pytest.mark.parametrize("y", [1, -1, 0.5, 3])
def test_noise_made_of_floats_is_caught_by_its_last_digits(y: float) -> None:
    report = audit(float_laplace(np.random.default_rng(23)), 0, y, epsilon=max(1.0, abs(y)))
    assert report.verdict == "violation"
    assert report.event.startswith("the last binary digit of the output stands at ")
    assert report.runs < 50_000


@pytest.mark.parametrize(
    ("epsilon", "delta", "caught"),
    [(1.0, 0.11, True), (2.0, 0.01, True), (1.0, 0.127, False), (2.0, 0.021, False)],
)
def test_delta_that_is_too_small_is_caught(epsilon: float, delta: float, *, caught: bool) -> None:
    """Gaussian noise of deviation 1 needs delta 0.12693 at epsilon 1, and 0.02092 at epsilon 2."""
    mechanism = gaussian(np.random.default_rng(24))
    report = audit(mechanism, 0, 1, epsilon=epsilon, delta=delta)
    assert report.private is not caught


def shared_noise(generator: np.random.Generator) -> Callable[..., Any]:
    """Both coordinates have the same noise, so their difference is the data."""

    def mechanism(data: int, runs: int) -> Any:
        noise = 9 * rounded_laplace(generator, 1.0, runs)
        return np.stack([data + noise, noise], axis=1)

    return mechanism


def turned_noise(generator: np.random.Generator) -> Callable[..., Any]:
    """Much noise in nine directions and little in the tenth, none of them a coordinate."""
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(10, 10)))[0]

    def mechanism(data: int, runs: int) -> Any:
        noise = generator.laplace(scale=8, size=(runs, 10))
        noise[:, 0] = data + generator.laplace(scale=1 / 3, size=runs)
        return np.round(noise @ turn * GRID) / GRID

    return mechanism


def rare_leak(generator: np.random.Generator) -> Callable[..., Any]:
    """The data once in a thousand runs, else noise."""

    def mechanism(data: int, runs: int) -> Any:
        noise = rounded_laplace(generator, 1.0, runs)
        return np.where(generator.random(runs) < 1e-3, data + 0.125, noise)

    return mechanism


def odd_and_even(generator: np.random.Generator) -> Callable[..., Any]:
    """The last bit of large integers, with a chance of nine in ten."""

    def mechanism(data: int, runs: int) -> Any:
        bit = np.where(generator.random(runs) < 0.9, data, 1 - data)
        return 2 * generator.integers(2**60, 2**61, runs) + bit

    return mechanism


def equal_coordinates(generator: np.random.Generator) -> Callable[..., Any]:
    """Correlation without any shift: the signs agree on one input and differ on the other."""

    def mechanism(data: int, runs: int) -> Any:
        sign = np.where(generator.random((runs, 2)) < 0.5, -1.0, 1.0)
        sign[:, 1] = np.where(generator.random(runs) < 0.9, sign[:, 0] * (1 - 2 * data), sign[:, 1])
        return sign * (1 + np.abs(rounded_laplace(generator, 1.0, (runs, 2))))

    return mechanism


@pytest.mark.parametrize(
    "make", [shared_noise, turned_noise, rare_leak, odd_and_even, equal_coordinates]
)
def test_leaks_that_hide_are_found(
    make: Callable[[np.random.Generator], Callable[..., Any]],
) -> None:
    mechanism = batched(make(np.random.default_rng(25)))
    report = audit(mechanism, 0, 1, epsilon=1)
    assert report.verdict == "violation"
    assert report.runs <= 1_000_000


def test_a_product_of_two_losses_is_found_by_all_coordinates_together() -> None:
    """Two cells of a histogram move, so the loss is twice that of either cell."""
    mechanism = CORRECT["vectors"].make(np.random.default_rng(26))
    report = audit(mechanism, (0, 0, 0), (2, -2, 0), epsilon=1)
    assert report.verdict == "violation"
    assert report.lower_bound < 2


def test_a_loss_that_is_infinite_is_bounded_by_the_logarithm_of_the_runs() -> None:
    report = audit(batched(lambda data, runs: np.full(runs, data)), 0, 1, epsilon=10)
    assert report.verdict == "violation"
    assert 10 < report.lower_bound < math.log(report.runs)
