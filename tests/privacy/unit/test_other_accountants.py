# SPDX-License-Identifier: Apache-2.0
"""The same compositions by dp-accounting, an independent accountant, where it is right."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from sordino.privacy import losses
from sordino.privacy.loss import Loss

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as theirs

GRID = {"value_discretization_interval": 1e-4}


def pure(epsilon: float) -> Any:
    return theirs.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon), **GRID)


CASES: dict[str, tuple[Loss, Any]] = {
    "gaussian": (
        1000 * losses.gaussian(sigma=50),
        lambda: theirs.from_gaussian_mechanism(50, **GRID).self_compose(1000),
    ),
    "laplace": (
        1000 * losses.laplace(epsilon=0.01),
        lambda: theirs.from_laplace_mechanism(100, **GRID).self_compose(1000),
    ),
    "discrete laplace": (
        100 * losses.discrete_laplace(epsilon=0.1, sensitivity=3),
        lambda: theirs.from_discrete_laplace_mechanism(0.1 / 3, sensitivity=3, **GRID).self_compose(
            100
        ),
    ),
    "discrete gaussian": (
        100 * losses.discrete_gaussian(sigma=10),
        lambda: theirs.from_discrete_gaussian_mechanism(10, **GRID).self_compose(100),
    ),
    "pure": (100 * losses.pure(epsilon=0.1), lambda: pure(0.1).self_compose(100)),
    "response of 4": (
        50 * losses.randomized_response(epsilon=0.1, categories=4),
        # Their noise is the chance of a uniform answer: q = noise / 4 for each of the others.
        lambda: theirs.from_randomized_response(
            4 / (3 + 2.718281828459045**0.1), 4, **GRID
        ).self_compose(50),
    ),
    "mix": (
        20 * losses.laplace(epsilon=0.2) + 30 * losses.gaussian(sigma=10),
        lambda: (
            theirs.from_laplace_mechanism(5, **GRID)
            .self_compose(20)
            .compose(theirs.from_gaussian_mechanism(10, **GRID).self_compose(30))
        ),
    ),
    "subsampled": (
        1000 * losses.subsampled(losses.gaussian(sigma=1), rate=0.01),
        lambda: theirs.from_gaussian_mechanism(1, sampling_prob=0.01, **GRID).self_compose(1000),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_both_accountants_agree(name: str, delta: float) -> None:
    loss, make = CASES[name]
    other = make().get_epsilon_for_delta(delta)
    bracket = loss.pld().epsilon(delta=delta)
    assert bracket.upper <= other * (1 + 1e-4)  # theirs rounds up too, so ours may be lower
    assert other >= bracket.lower * (1 - 1e-9)
    assert other <= bracket.upper * (1 + 2e-3)


def test_exponential_mechanisms_are_cheaper_here() -> None:
    """Theirs has no bounded range and takes them for pure ones."""
    ours = 200 * losses.laplace(epsilon=0.05) + 200 * losses.gaussian(sigma=20)
    ours += 200 * losses.pure(epsilon=0.02) + 200 * losses.exponential(epsilon=0.02)
    laplace = theirs.from_laplace_mechanism(20, **GRID).self_compose(200)
    gaussian = theirs.from_gaussian_mechanism(20, **GRID).self_compose(200)
    other = laplace.compose(gaussian).compose(pure(0.02).self_compose(400))
    assert ours.epsilon(delta=1e-6) <= 0.98 * other.get_epsilon_for_delta(1e-6)


def test_ten_responses_cost_ten_times_one() -> None:
    """An accountant that counted repeats branch by branch charged ten like one."""
    one = losses.randomized_response(epsilon=1, categories=3)
    assert (10 * one).epsilon(delta=0) == pytest.approx(10 * one.epsilon(delta=0))
    assert (10 * one).epsilon(delta=1e-6) > 5 * one.epsilon(delta=1e-6)
