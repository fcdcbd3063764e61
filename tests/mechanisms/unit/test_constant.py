# SPDX-License-Identifier: Apache-2.0
"""What does not look at the data loses nothing, in any currency and in any number."""

import math
from itertools import product

import pytest

import sordino as so
from sordino.privacy import Budget, Filter, Odometer, loss_from_json, loss_to_json

ZERO = so.Constant(0)


class Untouchable:
    """Data that nobody may look at."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(f"the data were asked for {name}")


def test_the_value_comes_out_and_the_data_are_not_looked_at() -> None:
    for value in (0, "no comment", None, (1, 2)):
        assert so.Constant(value).release(Untouchable()) is value


def test_the_loss_is_zero_in_every_currency() -> None:
    loss = ZERO.loss
    numbers = [loss.epsilon(delta=0), loss.epsilon(delta=1e-6), loss.delta(epsilon=0)]
    numbers += [loss.delta(epsilon=1), loss.rho, loss.kl, loss.total_variation, loss.renyi(order=3)]
    assert numbers == [0.0] * 8
    assert all(math.copysign(1, number) == 1 for number in numbers)
    assert loss.pure == 0
    assert loss.neighbours is None


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_its_law_is_private_with_epsilon_zero_for_all_pairs(neighbours: str) -> None:
    """All lists of up to two records of three kinds, and each of their neighbours."""
    data = [(), *product(range(3)), *product(range(3), repeat=2)]
    pairs = [(one, other) for one, other in product(data, repeat=2) if one != other]
    if neighbours == "replace_one":
        pairs = [(one, other) for one, other in pairs if len(one) == len(other)]
    for one, other in pairs:
        assert {ZERO.release(one): 1} == {ZERO.release(other): 1}


def test_it_composes_and_adds_nothing() -> None:
    laplace = so.Laplace(sensitivity=1, epsilon=0.3).loss
    assert ZERO.loss + laplace == laplace == so.compose([ZERO.loss, laplace, ZERO.loss])
    assert 1000 * ZERO.loss == ZERO.loss == ZERO.loss.group(7)
    for relation in ("add_remove", "replace_one"):
        named = laplace.under(relation)
        assert named + ZERO.loss == named
    assert loss_from_json(loss_to_json(ZERO.loss)) == ZERO.loss


def test_no_budget_is_spent_on_it() -> None:
    for budget in (Budget(epsilon=1), Budget(epsilon=1, delta=1e-6), Budget(rho=0.1)):
        purse = Filter(budget)
        before = purse.left
        purse.spend(ZERO.loss)
        assert purse.left == before
    odometer = Odometer(delta=1e-6)
    odometer.spend(ZERO.loss)
    assert odometer.epsilon == 0
