# SPDX-License-Identifier: Apache-2.0
"""Where Pinsker's inequality shows that epsilon is 0, and orders that are looked for in steps."""

from fractions import Fraction

import pytest

from sordino.privacy import losses
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.bounds import variation_by_entropy
from sordino.privacy.concentrated import Concentrated
from sordino.privacy.loss import Loss
from sordino.privacy.orders import best_order, epsilon_value

ONES = [
    losses.pure(epsilon=0.1),
    losses.laplace(epsilon=0.3),
    losses.exponential(epsilon=0.3),
    losses.gaussian(sigma=5),
    losses.discrete_gaussian(sigma=3, sensitivity=2),
    losses.concentrated(rho=0.01),
    losses.subsampled(losses.gaussian(sigma=1), rate=0.01),
    losses.subsampled(losses.laplace(epsilon=1), rate=0.1),
    losses.subsampled(losses.gaussian(sigma=0.6), rate=0.001),
]


@pytest.mark.parametrize("one", ONES, ids=repr)
@pytest.mark.parametrize("times", [2, 7, 40])
def test_the_bound_by_entropy_is_no_less_than_the_truth_and_tells_both_ends(
    one: Loss, times: int
) -> None:
    loss = times * one
    most = variation_by_entropy(loss.parts)
    if not any(isinstance(leaf, Concentrated) for leaf, _ in loss.parts):
        # The profile of a rho is an envelope, which is above the distance of any pair.
        choices = [leaf for leaf, _ in loss.parts if not isinstance(leaf, BoundedRange)]
        assert not choices or loss.pld().delta(epsilon=0).lower <= most
    assert loss.delta(epsilon=0) <= most
    if most < 1:
        assert loss.epsilon(delta=most * (1 + 1e-9)) == 0
        assert loss.delta(epsilon=0) >= most / 4


def test_losses_without_a_divergence_are_not_told_by_it() -> None:
    far = losses.subsampled(losses.gaussian(sigma=0.05), rate=1e-9)
    for loss in (2 * losses.approximate(epsilon=0.1, delta=1e-9), 2 * far, 101 * ONES[3]):
        assert variation_by_entropy(loss.parts) == 1


@pytest.mark.parametrize("one", [*ONES[:6], 5 * ONES[2] + 3 * ONES[4]], ids=repr)
@pytest.mark.parametrize("times", [1, 30, 5000])
@pytest.mark.parametrize("power", [1, 6, 15])
def test_steps_in_the_list_of_orders_miss_nothing(one: Loss, times: int, power: int) -> None:
    value = epsilon_value(Fraction(1, 10**power))

    def curve(order: float) -> float:
        return (times * one).renyi(order=order)

    assert best_order(curve, value, stride=8) == best_order(curve, value)
