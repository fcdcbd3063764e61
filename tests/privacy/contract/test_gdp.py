# SPDX-License-Identifier: Apache-2.0
"""What gdp counts, beside trade-off functions that are known exactly or from below."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sordino.privacy import losses
from sordino.privacy.budget import Budget, Filter
from sordino.privacy.currency import GDP, NANO
from sordino.privacy.loss import Loss, compose

SIGMAS = (1, 2, 4, 5, 8, 10, 16, 20, 25, 40, 50, 100)
DELTAS = (1e-2, 1e-5, 1e-9)


def exact_delta(square: Fraction, epsilon: float) -> mpmath.mpf:
    """Return the profile of N(0, 1) against N(mu, 1), with 50 digits.

    A double stands for the decimal that it prints as.
    """
    mu = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
    at = mpmath.mpf(repr(epsilon))
    return mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)


def priced(loss: Loss) -> tuple[Fraction, Fraction]:
    """Return the square of mu that a loss is charged, and how often it may fail."""
    price = GDP.price(loss)
    return Fraction(price.nanos, NANO), Fraction(price.attos, 10**18)


@pytest.mark.parametrize("seed", range(12))
def test_gaussian_compositions_cost_their_exact_mu(seed: int) -> None:
    dice = np.random.default_rng(seed)
    chosen = [int(sigma) for sigma in dice.choice(SIGMAS, int(dice.integers(1, 9)))]
    times = [int(n) for n in dice.integers(1, 40, len(chosen))]
    loss = compose(n * losses.gaussian(sigma=sigma) for sigma, n in zip(chosen, times, strict=True))
    exact = sum(
        (Fraction(n, sigma**2) for sigma, n in zip(chosen, times, strict=True)), Fraction(0)
    )
    square, failures = priced(loss)
    assert failures == 0
    assert exact <= square < exact + Fraction(1, NANO)
    with mpmath.workdps(50):
        for delta in DELTAS:
            found = GDP.epsilon(square, delta=Fraction(repr(delta)))
            assert exact_delta(exact, found) <= mpmath.mpf(repr(delta))
            assert found == 0 or exact_delta(square, found * (1 - 1e-9)) > delta


@pytest.mark.parametrize("seed", range(16))
def test_mixes_cost_no_less_than_their_distribution_is_certain_to_lose(seed: int) -> None:
    dice = np.random.default_rng(100 + seed)
    kinds = [
        lambda: losses.gaussian(sigma=int(dice.choice(SIGMAS[2:]))),
        lambda: losses.pure(epsilon=float(dice.choice([0.01, 0.1, 0.5]))),
        lambda: losses.laplace(epsilon=float(dice.choice([0.02, 0.1, 0.4]))),
        lambda: losses.discrete_laplace(epsilon=float(dice.choice([0.1, 0.5])), sensitivity=2),
        lambda: losses.discrete_gaussian(sigma=int(dice.choice([4, 9, 20]))),
    ]
    parts = [kinds[at]() for at in dice.integers(0, len(kinds), 4)]
    loss = compose(int(n) * part for n, part in zip(dice.integers(1, 30, 4), parts, strict=True))
    square, failures = priced(loss)
    distribution = loss.pld()
    with mpmath.workdps(50):
        for delta in DELTAS:
            target = Fraction(repr(delta))
            left = target - failures
            assert GDP.epsilon(square, delta=left) >= distribution.epsilon(delta=target).lower
        for epsilon in (0, 0.25, 1, 3):
            least = distribution.delta(epsilon=epsilon).lower
            assert exact_delta(square, epsilon) + mpmath.mpf(float(failures)) * 1.01 >= least


@pytest.mark.parametrize("epsilon", [0.02, 0.2, 1])
@pytest.mark.parametrize("times", [1, 10, 400])
def test_exponential_mechanisms_cost_no_less_than_a_choice_of_two(
    epsilon: float, times: int
) -> None:
    square, failures = priced(times * losses.exponential(epsilon=epsilon))
    assert failures == 0
    pair = times * losses.pure(epsilon=epsilon / 2)  # the losses of one such mechanism
    for delta in DELTAS:
        exact = pair.epsilon(delta=delta)
        assert GDP.epsilon(square, delta=Fraction(repr(delta))) >= exact * (1 - 1e-12)


def test_a_filter_in_gdp_promises_what_its_losses_are_together() -> None:
    spent = Filter(Budget(epsilon=2, delta=1e-6, currency="gdp"))
    asked = [losses.gaussian(sigma=sigma) for sigma in (20, 25, 40)]
    asked.append(losses.pure(epsilon=0.1))
    for loss in asked:
        spent.spend(loss)
    together = compose(asked).pld().epsilon(delta=1e-6)
    square, _ = priced(compose(asked))
    assert 2 >= GDP.epsilon(square, delta=Fraction(1, 10**6)) >= together.lower
