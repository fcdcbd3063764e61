# SPDX-License-Identifier: Apache-2.0
"""Compositions that were once far above what is true, beside what is true."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest

from sordino.privacy import losses
from sordino.privacy.fit import calibrate
from sordino.privacy.gaussian import ContinuousGaussian
from sordino.privacy.loss import Loss
from sordino.privacy.theorems.explain import explain_composition
from sordino.privacy.theorems.responses import optimal


def sampled(sigma: float, rate: float) -> Loss:
    return losses.subsampled(losses.gaussian(sigma=sigma), rate=rate)


def test_failures_at_exactly_their_sum_leave_the_basic_composition() -> None:
    one = losses.pure(epsilon=0.1) + losses.approximate(epsilon=0.2, delta=1e-6)
    assert one.epsilon(delta=1e-6) == 0.3
    assert one.epsilon(delta=9.99e-7) == math.inf
    two = losses.approximate(epsilon=0.2, delta=0.25) + losses.approximate(epsilon=0.1, delta=0.5)
    assert two.epsilon(delta=0.625) == 0.3
    many = 1000 * losses.approximate(epsilon=0.01, delta=1e-9) + 10 * losses.pure(epsilon=0.1)
    assert many.epsilon(delta=1e-6) <= 11
    assert math.isfinite(many.epsilon(delta=1e-6))


def test_failures_of_any_leaf_at_exactly_their_sum_leave_the_basic_composition() -> None:
    telling = losses.pmfs([0.9, 0.1, 0], [0.9, 0, 0.1])
    assert (telling + losses.pure(epsilon=1)).epsilon(delta=0.1) == 1
    some = losses.subsampled(losses.approximate(epsilon=1, delta=0.01), rate=0.25)
    alone = some.epsilon(delta=0.0025)
    assert (some + losses.pure(epsilon=1)).epsilon(delta=0.0025) <= (1 + alone) * (1 + 1e-12)
    assert some.epsilon(delta=Fraction(25, 10**4) - Fraction(1, 10**20)) == math.inf


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-9, 1e-15])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 4])
def test_pure_losses_cost_what_the_optimal_theorem_says(epsilon: float, delta: float) -> None:
    found = []
    for times in (*range(1, 31), 100, 1000):
        exact = optimal(epsilon=epsilon, times=times, at_delta=delta).epsilon
        loss = times * losses.pure(epsilon=epsilon)
        assert loss.epsilon(delta=delta) == pytest.approx(exact, rel=1e-12)
        if times > 1:
            bracket = loss.pld().epsilon(delta=delta)
            assert bracket.lower <= exact <= bracket.upper
            assert bracket.upper <= exact * (1 + 1e-7)
        found.append(loss.epsilon(delta=delta))
    assert all(before <= after for before, after in pairwise(found))


def test_the_number_of_uses_where_one_outcome_begins_to_decide() -> None:
    found = [(n * losses.pure(epsilon=0.1)).pld().epsilon_upper(delta=1e-6) for n in (21, 22)]
    assert found == pytest.approx([1.8707, 1.9376], abs=5e-5)


def test_a_few_laplace_losses_at_a_large_delta() -> None:
    bracket = (5 * losses.laplace(epsilon=0.2)).pld().epsilon(delta=0.01)
    assert bracket.lower <= 0.73273
    assert bracket.upper == pytest.approx(0.73271, rel=1e-4)
    assert bracket.upper - bracket.lower <= 1e-3 * bracket.upper


@pytest.mark.parametrize(
    ("sigma", "rate", "uses", "delta", "epsilon"),
    [(0.5, 1e-4, 1000, 1e-6, 1.163), (1.0, 0.01, 10_000, 1e-6, 6.9074)],
)
def test_small_samples_cost_little(
    sigma: float, rate: float, uses: int, delta: float, epsilon: float
) -> None:
    assert (uses * sampled(sigma, rate)).epsilon(delta=delta) == pytest.approx(epsilon, rel=1e-3)


@pytest.mark.parametrize("sigma", [0.5, 0.6, 0.8])
def test_the_delta_of_small_samples_is_small(sigma: float) -> None:
    loss = 1000 * sampled(sigma, 0.001)
    delta = loss.delta(epsilon=2)
    assert 0 < delta < 1e-2
    assert loss.epsilon(delta=delta) == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-15])
@pytest.mark.parametrize("uses", [2, 1000, 10**6])
def test_gaussians_add_up_to_one_gaussian(uses: int, delta: float) -> None:
    parts = uses * losses.gaussian(sigma=50) + losses.gaussian(sigma=20)
    ratio = Fraction(uses, 2500) + Fraction(1, 400)
    whole = ContinuousGaussian(variance=Fraction(1), squared_sensitivity=ratio)
    assert parts.epsilon(delta=delta) == whole.epsilon(delta=delta)
    assert parts.delta(epsilon=1) == whole.delta(epsilon=1)
    bracket = parts.pld().epsilon(delta=delta)
    assert bracket.upper * (1 - 1e-8) <= bracket.lower <= bracket.upper


EXPLAINED = {
    "pure": 100 * losses.pure(epsilon=0.1),
    "different": 20 * losses.pure(epsilon=0.1) + 30 * losses.pure(epsilon=0.05),
    "many different": sum((n * losses.pure(epsilon=n / 97) for n in range(2, 9)), Loss(())),
    "approximate": 10 * losses.approximate(epsilon=0.1, delta=1e-8) + losses.pure(epsilon=1),
    "exactly": losses.approximate(epsilon=0.1, delta=1e-6) + losses.pure(epsilon=1),
    "gaussian": 30 * losses.gaussian(sigma=5),
    "one": losses.gaussian(sigma=5),
    "concentrated": 2 * losses.concentrated(rho=0.1),
    "concentrated, laplace": losses.concentrated(rho=0.1) + 3 * losses.laplace(epsilon=0.1),
    "exponential": 20 * losses.exponential(epsilon=0.1),
    "huge": 10**12 * losses.pure(epsilon=1e-7),
    "response": 10 * losses.randomized_response(epsilon=1, categories=5),
}


@pytest.mark.parametrize("loss", EXPLAINED.values(), ids=EXPLAINED)
def test_what_is_explained_is_what_is_counted(loss: Loss) -> None:
    explained = explain_composition(loss, delta=1e-6)
    assert explained.epsilon == loss.epsilon(delta=1e-6)
    assert explained.bracket.lower <= explained.epsilon <= explained.bracket.upper
    held = [row.epsilon for row in explained.rows if not row.note.startswith("only if")]
    assert min(held) >= explained.epsilon * (1 - 1e-9)


@pytest.mark.parametrize("loss", EXPLAINED.values(), ids=EXPLAINED)
def test_deltas_of_negative_epsilons_follow_from_those_of_positive_ones(loss: Loss) -> None:
    for epsilon in (0.0, 0.5, 3.0):
        other = 1 - math.exp(-epsilon) * (1 - loss.delta(epsilon=epsilon))
        assert loss.delta(epsilon=-epsilon) == pytest.approx(other, rel=1e-12)
        assert loss.delta(epsilon=-epsilon) >= loss.delta(epsilon=epsilon)


def test_equal_laws_lose_nothing() -> None:
    nothing = losses.pmfs([0.5, 0.5], [0.5, 0.5])
    assert nothing.epsilon(delta=0) == 0
    assert nothing.delta(epsilon=0) == 0
    assert nothing.rho == nothing.kl == nothing.renyi(order=2) == 0
    more = 3 * nothing + losses.pure(epsilon=1)
    assert more.epsilon(delta=0) == 1
    assert more.epsilon(delta=0.1) == pytest.approx(losses.pure(epsilon=1).epsilon(delta=0.1))
    assert (2 * nothing).epsilon(delta=0.1) == 0
    assert nothing.group(3).epsilon(delta=0) == 0


def test_the_least_noise_of_a_sample_is_found() -> None:
    found = calibrate(
        lambda sigma: losses.subsampled(losses.gaussian(sigma=sigma), rate=0.001),
        epsilon=1, delta=1e-6, times=1000,
    )  # fmt: skip
    assert found.parts[0][1] == 1
    assert (1000 * found).delta(epsilon=1) <= 1e-6


@pytest.mark.parametrize(
    ("loss", "delta"),
    [
        (losses.pure(epsilon=1), 1e-6),
        (9 * losses.pure(epsilon=1), 1e-7),
        (3 * losses.laplace(epsilon=1), 1e-6),
        (5 * losses.approximate(epsilon=1, delta=1e-9) + 3 * losses.laplace(epsilon=1), 1e-7),
    ],
)
def test_lower_ends_are_close_where_the_largest_loss_is_likely(loss: Loss, delta: float) -> None:
    bracket = loss.pld().epsilon(delta=delta)
    assert bracket.upper * (1 - 1e-5) <= bracket.lower <= bracket.upper


def test_samples_beside_an_envelope_have_no_worse_epsilon_than_sums() -> None:
    sampled = losses.subsampled(losses.pure(epsilon=0.3), rate=0.01)
    both = sampled + losses.exponential(epsilon=0.1)
    assert both.epsilon(delta=1e-6) <= sampled.epsilon(delta=5e-7) + 0.1
    beside = sampled + losses.approximate(epsilon=0.4, delta=1e-5)
    assert both.epsilon(delta=0) < beside.epsilon(delta=1e-6) == math.inf


@pytest.mark.parametrize("delta", [1e-15, 1e-9, 2.0763e-8, 1e-6])
def test_a_small_sample_beside_large_losses_adds_what_it_costs_alone(delta: float) -> None:
    """Between losses that are thousands of times as large no grid told it: 1.3 % were added."""
    counts = 4 * losses.discrete_laplace(epsilon=0.12, sensitivity=6)
    small = sampled(15, 28e-6)
    both = (counts + small).epsilon(delta=delta)
    assert counts.epsilon(delta=delta) <= both <= (0.48 + small.epsilon(delta=delta)) * (1 + 1e-12)
    assert both <= (counts + small).epsilon(delta=delta / 10)


def test_deltas_of_a_small_sample_beyond_the_largest_losses_are_its_own() -> None:
    counts, small = 3 * losses.laplace(epsilon=0.08), sampled(3.8, 121e-5)
    assert (counts + small).delta(epsilon=0.26) <= small.delta(epsilon=0.02) * (1 + 1e-9)


def test_what_is_set_aside_beside_a_sample_is_explained() -> None:
    told = explain_composition([losses.pure(epsilon=1), sampled(15, 28e-6)], delta=1e-9)
    assert "others set aside" in str(told)
    assert told.epsilon <= 1 + sampled(15, 28e-6).epsilon(delta=1e-9) * (1 + 1e-12)
