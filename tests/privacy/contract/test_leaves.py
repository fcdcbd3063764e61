# SPDX-License-Identifier: Apache-2.0
"""Laws that hold for the loss of every single mechanism."""

import json
import math
import pickle
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

from sordino.numbers.rational import reading
from sordino.privacy.codec import leaf_from_json, leaf_to_json
from sordino.privacy.convolve import NUDGE, Masses, above, below
from sordino.privacy.leaf import PROFILE_ERROR, Floats, Leaf
from tests.privacy.contract import pairs
from tests.privacy.contract.leaves import LEAVES, LOOSER_DELTA, LOOSER_PROFILE

ORDERS = (1.01, 1.5, 2.0, 3.0, 5.5, 16.0, 64.0)
every_leaf = pytest.mark.parametrize("name", LEAVES)
both_orders = pytest.mark.parametrize("reverse", [False, True], ids=["ahead", "reverse"])
LISTED = [name for name in LEAVES if pairs.outcomes(LEAVES[name]) is not None]
KNOWN = [name for name in LEAVES if pairs.is_known(LEAVES[name])]


def top(leaf: Leaf, tail: float = 1e-12) -> float:
    low, high = leaf.reach(tail)
    return max(-low, high)


def larger(leaf: Leaf, epsilons: Floats) -> Floats:
    found: Floats = np.maximum(leaf.profile(epsilons), leaf.profile(epsilons, reverse=True))
    return found


def some_epsilons(leaf: Leaf) -> list[float]:
    return [float(f"{share * top(leaf):.6g}") for share in (0, 0.03, 0.2, 0.5, 0.8, 0.97)]


@every_leaf
def test_delta_is_a_probability_and_does_not_rise(name: str) -> None:
    leaf = LEAVES[name]
    deltas = [leaf.delta(epsilon=e) for e in [*some_epsilons(leaf), 2 * top(leaf)]]
    assert all(0 <= delta <= 1 for delta in deltas)
    assert deltas == sorted(deltas, reverse=True)


@every_leaf
def test_the_profile_is_the_delta_of_a_single_use(name: str) -> None:
    leaf = LEAVES[name]
    for epsilon in some_epsilons(leaf):
        stated, drawn = leaf.delta(epsilon=epsilon), larger(leaf, np.array([epsilon]))[0]
        assert drawn >= stated * (1 - PROFILE_ERROR) or name in LOOSER_DELTA
        assert drawn <= stated * (1 + PROFILE_ERROR) or name in LOOSER_PROFILE


@both_orders
@pytest.mark.parametrize("name", KNOWN)
def test_the_profile_is_that_of_the_pair(name: str, reverse: bool) -> None:
    leaf = LEAVES[name]
    far = top(leaf, 1e-25)
    for share in (-1.1, -0.6, -0.1, 0, 0.01, 0.15, 0.4, 0.7, 0.95):
        epsilon = share * far
        true = pairs.hockey_stick(leaf, epsilon, reverse=reverse)
        drawn = float(leaf.profile(np.array([epsilon]), reverse=reverse)[0])
        assert drawn == pytest.approx(float(true), rel=PROFILE_ERROR, abs=1e-30)


@pytest.mark.parametrize("name", KNOWN)
def test_delta_never_claims_less_than_the_pair(name: str) -> None:
    leaf = LEAVES[name]
    for epsilon in some_epsilons(leaf):
        exact = max(pairs.hockey_stick(leaf, epsilon, reverse=way) for way in (False, True))
        stated = leaf.delta(epsilon=Fraction(epsilon))
        with mpmath.workdps(pairs.DIGITS):
            assert mpmath.mpf(repr(stated)) >= exact * (1 - mpmath.mpf(10) ** -18)


@every_leaf
def test_the_two_orders_determine_each_other(name: str) -> None:
    leaf = LEAVES[name]
    a = np.linspace(-1.2, 1.2, 61) * top(leaf)
    swapped = -np.expm1(a) + np.exp(a) * leaf.profile(-a)
    turned = leaf.profile(a, reverse=True)
    assert turned == pytest.approx(swapped, rel=1e-9, abs=1e-9 * float(np.exp(a.max())))
    if leaf.symmetric:
        assert turned == pytest.approx(leaf.profile(a), rel=1e-15)


@every_leaf
def test_epsilon_fits_its_delta_and_goes_back(name: str) -> None:
    leaf = LEAVES[name]
    for epsilon in some_epsilons(leaf)[1:4]:
        delta = leaf.delta(epsilon=epsilon)
        found = leaf.epsilon(delta=delta)
        assert found <= epsilon
        assert reading(leaf.delta(epsilon=found)) <= reading(delta)
        assert leaf.epsilon(delta=delta * 0.999) > found


@every_leaf
def test_the_limits_of_the_profile_are_those_stated(name: str) -> None:
    leaf = LEAVES[name]
    far = np.array([top(leaf, 1e-300) * 1.01])
    for reverse in (False, True):
        unbounded = leaf.unbounded(reverse=reverse)
        assert leaf.profile(far, reverse=reverse)[0] >= unbounded * (1 - PROFILE_ERROR)
        assert unbounded >= leaf.infinity
        least = -math.expm1(-far[0]) * (1 - PROFILE_ERROR)
        assert leaf.profile(-far, reverse=reverse)[0] >= least
    if leaf.pure is None:
        assert leaf.summit == 0.0
        assert leaf.epsilon(delta=0) == math.inf == leaf.renyi(order=math.inf)
        return
    pure = float(leaf.pure)
    assert leaf.infinity == 0.0
    assert leaf.delta(epsilon=leaf.pure) == 0.0
    assert reading(leaf.epsilon(delta=0)) == leaf.pure or leaf.epsilon(delta=0) == pure
    assert leaf.renyi(order=math.inf) == leaf.epsilon(delta=0)
    assert larger(leaf, np.array([pure * (1 + 1e-12)]))[0] == 0.0
    assert larger(leaf, np.array([pure * (1 - 1e-6)]))[0] > 0.0 or name in LOOSER_DELTA
    for reverse in (False, True):
        for share in (1e-5, 1e-3, 0.1):
            before = float(leaf.profile(np.array([pure * (1 - share)]), reverse=reverse)[0])
            assert before >= leaf.summit * -math.expm1(-pure * share) * (1 - 1e-9)


@every_leaf
@pytest.mark.parametrize("tail", [1e-3, 1e-9, 1e-40])
def test_beyond_its_reach_a_profile_is_below_the_tail(name: str, tail: float) -> None:
    leaf = LEAVES[name]
    low, high = leaf.reach(tail)
    assert low <= 0 <= high
    for reverse, far in ((False, high), (True, -low)):
        value = leaf.profile(np.array([far * (1 + 1e-12)]), reverse=reverse)[0]
        endless = leaf.profile(np.array([50 * far + 1]), reverse=reverse)[0]
        assert value <= tail or value == pytest.approx(endless, rel=1e-9)


@every_leaf
def test_renyi_divergences_grow_with_the_order_and_stay_below_rho_times_it(name: str) -> None:
    leaf = LEAVES[name]
    found = [leaf.renyi(order=order) for order in ORDERS]
    assert all(a <= b * (1 + 1e-6) for a, b in pairwise(found))
    assert found[0] >= leaf.kl * (1 - 1e-6) or found[0] == math.inf
    if leaf.pure is not None:
        assert found[-1] <= float(leaf.pure) * (1 + 1e-9)


@pytest.mark.parametrize("name", LISTED)
def test_renyi_rho_kl_and_total_variation_never_claim_less_than_the_pair(name: str) -> None:
    leaf: Any = LEAVES[name]
    listed = pairs.outcomes(leaf)
    assert listed is not None
    ways = listed, [(q, p) for p, q in listed]
    small = 1 + mpmath.mpf(10) ** -15
    for order in (*ORDERS, 1.0001, 1000.0):
        true = max(pairs.renyi(way, order) for way in ways)
        assert leaf.renyi(order=order) * small >= true
        assert leaf.rho * small >= true / order
    assert leaf.kl * small >= max(map(pairs.kl, ways))
    true = mpmath.fsum(max(p - q, 0) for p, q in listed)
    assert leaf.total_variation * small >= true
    if name not in ("poisson, pure", "poisson, table"):
        assert leaf.total_variation == pytest.approx(float(true), rel=1e-14)


@every_leaf
def test_total_variation_is_at_most_delta_at_zero_and_at_most_what_kl_allows(name: str) -> None:
    leaf: Any = LEAVES[name]
    assert leaf.total_variation <= leaf.delta(epsilon=0)
    assert leaf.total_variation <= math.sqrt(leaf.kl / 2) * (1 + 1e-9)


@every_leaf
def test_a_larger_group_loses_more(name: str) -> None:
    leaf = LEAVES[name]
    assert leaf.group(1) == leaf or leaf.group(1).delta(epsilon=0.1) >= leaf.delta(epsilon=0.1)
    if name == "table, boundless":
        with pytest.raises(ValueError, match="say nothing about groups"):
            leaf.group(2)
        return
    group = leaf.group(2)
    for epsilon in some_epsilons(leaf):
        assert group.delta(epsilon=epsilon) >= leaf.delta(epsilon=epsilon)
    assert group.rho >= leaf.rho
    assert group.renyi(order=2) >= leaf.renyi(order=2)
    assert group.neighbours == leaf.neighbours
    if leaf.pure is not None:
        assert group.pure == 2 * leaf.pure


@every_leaf
@pytest.mark.parametrize("size", [0, -1, True, 1.5])
def test_a_group_has_a_whole_number_of_units(name: str, size: int) -> None:
    with pytest.raises(ValueError, match="size of a group must be a positive whole number"):
        LEAVES[name].group(size)


@every_leaf
@pytest.mark.parametrize("order", [1, 0.5, -2, math.nan, "2"])
def test_an_order_is_above_one(name: str, order: float) -> None:
    with pytest.raises(ValueError, match="order must be a number above 1, or infinity"):
        LEAVES[name].renyi(order=order)


@every_leaf
def test_a_loss_survives_json_and_pickle_and_can_be_a_key(name: str) -> None:
    leaf = LEAVES[name]
    text = json.dumps(leaf_to_json(leaf))
    for copy in (leaf_from_json(json.loads(text))[0], pickle.loads(pickle.dumps(leaf))):  # noqa: S301
        assert copy == leaf
        assert {copy: 1}[leaf] == 1
        assert repr(copy) == repr(leaf)


def stick(masses: Masses, epsilons: Floats, *, losses: float) -> Floats:
    """The profile of masses on a grid, with the losses scaled."""
    at = masses.losses * losses
    gains = -np.expm1(np.minimum(epsilons[:, None] - at[None, :], 0.0))
    found: Floats = gains @ masses.mass + masses.infinity
    return found


@both_orders
@every_leaf
def test_grids_bracket_the_profile(name: str, reverse: bool) -> None:
    leaf = LEAVES[name]
    low, high = leaf.reach(1e-12)
    step = (high - low) / 2000
    epsilons = np.random.default_rng(3).uniform(-1.2, 1.2, 2000) * top(leaf)
    true = leaf.profile(epsilons, reverse=reverse)
    over = above(leaf, step=step, tail=1e-12, reverse=reverse)
    under = below(leaf, step=step, tail=1e-12, reverse=reverse)
    assert np.all(stick(over, epsilons, losses=1 + NUDGE) * (1 + PROFILE_ERROR) >= true - 1e-15)
    assert np.all(stick(under, epsilons, losses=1 - NUDGE) <= true * (1 + 1e-13) + 1e-15)
