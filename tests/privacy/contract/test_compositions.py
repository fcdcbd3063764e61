# SPDX-License-Identifier: Apache-2.0
"""Laws of composed losses, for every leaf there is."""

import json
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from sordino.privacy.leaf import Leaf
from sordino.privacy.loss import Loss, compose, loss_from_json, loss_to_json, single
from sordino.privacy.pure import Approximate, Pure
from sordino.privacy.tables import PmfPair
from tests.privacy.contract.leaves import LEAVES, LOOSER_PROFILE

FIRST = next(iter(LEAVES.values()))
every = pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)
EPSILONS = (0.0, 0.05, 0.3, 1.0, 2.5)
LOOSER = [LEAVES[name] for name in LOOSER_PROFILE]


@every
def test_repeating_a_loss_equals_composing_it_n_times(leaf: Leaf) -> None:
    loss = single(leaf)
    assert 3 * loss == loss + loss + loss == compose([loss, loss, loss]) == loss * 3
    assert (2 * (3 * loss)).parts == ((leaf, 6),)
    assert (3 * loss).uses == 3


@every
def test_repeating_a_loss_costs_more_than_using_it_once(leaf: Leaf) -> None:
    """A repeat that was counted once only would show here."""
    once, often = single(leaf), 5 * single(leaf)
    assert often.total_variation > once.total_variation or once.total_variation > 0.999
    if once.pure is not None:
        assert often.pure == 5 * once.pure
        assert often.epsilon(delta=0) == pytest.approx(5 * once.epsilon(delta=0))
    if math.isfinite(once.rho):
        assert often.rho == pytest.approx(5 * once.rho)


@every
def test_order_does_not_matter(leaf: Leaf) -> None:
    other = single(Pure(epsilon=Fraction(1, 7)))
    assert single(leaf) + other == other + single(leaf)
    assert hash(single(leaf) + other) == hash(other + single(leaf))


@every
def test_delta_falls_with_epsilon_and_epsilon_with_delta(leaf: Leaf) -> None:
    loss = 4 * single(leaf)
    deltas = [loss.delta(epsilon=epsilon) for epsilon in EPSILONS]
    assert all(0 <= after <= before <= 1 for before, after in pairwise(deltas))
    epsilons = [loss.epsilon(delta=delta) for delta in (1e-9, 1e-6, 1e-3, 0.1)]
    assert all(after <= before for before, after in pairwise(epsilons))


@every
def test_the_epsilon_of_a_delta_is_enough_for_it(leaf: Leaf) -> None:
    loss = 4 * single(leaf)
    for delta in (1e-6, 1e-2):
        epsilon = loss.epsilon(delta=delta)
        if math.isfinite(epsilon):
            assert loss.delta(epsilon=epsilon * (1 + 1e-9) + 1e-12) <= delta * (1 + 1e-3)


@every
def test_one_use_by_distribution_is_bracketed_by_its_own_profile(leaf: Leaf) -> None:
    distribution = single(leaf).pld()
    for epsilon in EPSILONS:
        at = np.array([epsilon])
        exact = max(float(leaf.profile(at, reverse=way)[0]) for way in (False, True))
        assert leaf.delta(epsilon=epsilon) >= exact * (1 - 1e-9) or leaf in LOOSER
        bracket = distribution.delta(epsilon=epsilon)
        assert bracket.lower <= exact * (1 + 1e-9) + 1e-15
        assert exact * (1 - 1e-6) - 1e-15 <= bracket.upper


@every
def test_adding_a_loss_never_makes_the_total_smaller(leaf: Leaf) -> None:
    loss = 3 * single(leaf)
    more = loss + single(Pure(epsilon=Fraction(1, 5)))
    for epsilon in EPSILONS:
        assert more.delta(epsilon=epsilon) >= loss.delta(epsilon=epsilon) * (1 - 1e-3) - 1e-12
    assert more.rho >= loss.rho
    assert more.kl >= loss.kl
    assert more.renyi(order=3) >= loss.renyi(order=3)


@every
def test_a_step_that_may_fail_adds_its_failures_and_no_more_than_its_epsilon(leaf: Leaf) -> None:
    """The truth is a mixture of the profile of the leaf at the losses of the other step."""
    bound, slack = Fraction(1, 7), Fraction(1, 100)
    loss = single(leaf) + single(Approximate(epsilon=bound, delta=slack))
    keep, truth = 1 - float(slack), 1 / (1 + math.exp(-bound))
    for epsilon in (0.0, *map(float, np.linspace(0.15, 2.5, 6))):
        at = np.array([epsilon - float(bound), epsilon + float(bound)])
        for way in (False, True):
            near, far = leaf.profile(at, reverse=way)
            true = float(slack) + keep * (truth * near + (1 - truth) * far)
            assert loss.delta(epsilon=epsilon) >= true * (1 - 1e-9)
        if epsilon >= bound:
            rest = leaf.delta(epsilon=Fraction(repr(epsilon)) - bound)
            assert loss.delta(epsilon=epsilon) <= (float(slack) + keep * rest) * (1 + 1e-12)
    for delta in (0.02, 0.1, 0.3):
        epsilon = loss.epsilon(delta=delta)
        if math.isfinite(epsilon):
            assert loss.delta(epsilon=epsilon * (1 + 1e-12)) <= delta * (1 + 1e-3)
            left = (Fraction(repr(delta)) - slack) / (1 - slack)
            assert epsilon <= (float(bound) + leaf.epsilon(delta=left)) * (1 + 1e-12)


@every
def test_renyi_divergences_add_up_and_grow_with_the_order(leaf: Leaf) -> None:
    loss = 3 * single(leaf)
    values = [loss.renyi(order=order) for order in (1.5, 2, 4, 10)]
    assert all(before <= after for before, after in pairwise(values))
    assert values[1] == pytest.approx(3 * leaf.renyi(order=2.0))


@every
def test_a_loss_survives_json(leaf: Leaf) -> None:
    loss = 17 * single(leaf) + single(Pure(epsilon=Fraction(1, 3)))
    text = json.dumps(loss_to_json(loss))
    assert loss_from_json(json.loads(text)) == loss


@every
def test_a_group_costs_at_least_as_much_as_one(leaf: Leaf) -> None:
    if isinstance(leaf, PmfPair) and leaf.pure is None:
        with pytest.raises(ValueError, match="group"):
            single(leaf).group(2)
        return
    pair = single(leaf).group(2)
    assert single(leaf).group(1).delta(epsilon=0.3) >= leaf.delta(epsilon=0.3) * (1 - 1e-9)
    for epsilon in (0.1, 1.0):
        assert pair.delta(epsilon=epsilon) >= leaf.delta(epsilon=epsilon) * (1 - 1e-9)


def test_losses_for_different_relations_do_not_compose() -> None:
    named: dict[object, Leaf] = {}
    for leaf in LEAVES.values():
        named.setdefault(leaf.neighbours, leaf)
    with pytest.raises(ValueError, match="same neighbours"):
        single(named["add_remove"]) + single(named["replace_one"])
    assert (single(named["add_remove"]) + single(named[None])).neighbours == "add_remove"


@pytest.mark.parametrize("times", [0, -1, 1.5, True, "2", None])
def test_a_loss_is_repeated_a_positive_whole_number_of_times(times: object) -> None:
    with pytest.raises((TypeError, ValueError), match="times must be a positive whole number"):
        single(FIRST) * times  # type: ignore[operator]  # wrong on purpose


@pytest.mark.parametrize("delta", [-0.1, 1, 1.5, math.nan, True, "0.1"])
def test_a_delta_outside_its_range_is_refused(delta: object) -> None:
    with pytest.raises((TypeError, ValueError), match="delta must be"):
        single(FIRST).epsilon(delta=delta)  # type: ignore[arg-type]  # wrong on purpose


def test_json_that_is_no_loss_is_refused_in_one_sentence() -> None:
    good = loss_to_json(single(FIRST))
    for broken, match in (
        ({}, "not a loss"),
        ({**good, "loss": 2}, "version"),
        ({**good, "extra": 1}, "not a loss"),
        ({"loss": 1, "parts": [{"times": 1, "leaf": {"leaf": "nonsense"}}]}, "nonsense"),
        ({"loss": 1, "parts": [{"times": 0, "leaf": {"leaf": "pure", "epsilon": "1/2"}}]}, "times"),
        ("text", "not a loss"),
    ):
        with pytest.raises(ValueError, match=match):
            loss_from_json(broken)


def test_nothing_composes_to_nothing() -> None:
    nothing = compose([])
    assert nothing == Loss(())
    assert nothing.epsilon(delta=0) == 0
    assert nothing.delta(epsilon=0) == 0
    assert nothing + single(FIRST) == single(FIRST)
