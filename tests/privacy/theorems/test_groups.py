# SPDX-License-Identifier: Apache-2.0
"""Group privacy."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from sordino.theorems import group, group_rho, replace_from_add_remove, replace_from_add_remove_rho
from tests.privacy.theorems.reference import Real, agrees, both_ways, profile, real

EPSILONS = st.floats(1e-3, 5)
DELTAS = st.floats(1e-12, 0.3)


@pytest.mark.parametrize(
    ("size", "tight", "printed"),
    [
        (3, 5.36700309916e-6, 8.15484548538e-6),
        (10, 2.27236512445e-4, 9.00171313e-4),  # E-N6
    ],
)
def test_a_group_has_the_known_delta(size: int, tight: float, printed: float) -> None:
    found = group(epsilon=0.5, delta=1e-6, size=size)
    assert found.epsilon == size * 0.5
    assert found.delta == pytest.approx(tight, rel=1e-11)
    loose = group(epsilon=0.5, delta=1e-6, size=size, form="printed")
    assert loose.delta == pytest.approx(printed, rel=1e-8)


def test_replacements_are_twice_as_large_a_group_of_additions_and_removals() -> None:  # E-N6
    one = group(epsilon=0.5, delta=1e-6, size=2 * 5)
    by_pairs = replace_from_add_remove(epsilon=0.5, delta=1e-6)
    assert by_pairs == group(epsilon=0.5, delta=1e-6, size=2)
    five = group(epsilon=by_pairs.epsilon, delta=by_pairs.delta, size=5)
    assert five.epsilon == one.epsilon
    assert five.delta == pytest.approx(one.delta, rel=1e-12)


def chance(epsilon: Real, delta: Real, units: int) -> Real:
    """How likely a key with so many units is published by the best private rule."""
    found = mp.mpf(0)
    for _ in range(units):
        found = min(
            mp.exp(epsilon) * found + delta, 1 - mp.exp(-epsilon) * (1 - found - delta), mp.mpf(1)
        )
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_publishing_a_key_attains_the_tight_form(size: int) -> None:
    epsilon, delta = mp.mpf(1), mp.mpf(1) / 10**5
    steps = [chance(epsilon, delta, n) for n in range(size + 1)]
    for p, q in pairwise(steps):
        assert both_ways([(p, q), (1 - p, 1 - q)], 1) <= delta * (1 + mp.mpf(10) ** -30)
    never, often = steps[0], steps[-1]
    attained = profile([(often, never), (1 - often, 1 - never)], size)
    assert agrees(group(epsilon=1, delta=1e-5, size=size).delta, attained, 14)


@settings(deadline=None)
@given(EPSILONS, DELTAS, st.lists(st.floats(0, 1), min_size=2, max_size=5), st.floats(0, 1))
def test_no_chain_of_neighbours_exceeds_the_bound(
    epsilon: float, delta: float, moves: list[float], start: float
) -> None:
    e, d, p = real(epsilon), real(delta), real(start)
    first = p
    for move in moves:  # anywhere that is allowed, from the least to the most
        high = min(mp.exp(e) * p + d, 1 - mp.exp(-e) * (1 - p - d), mp.mpf(1))
        low = 1 - min(mp.exp(e) * (1 - p) + d, 1 - mp.exp(-e) * (p - d), mp.mpf(1))
        p = low + (high - low) * real(move)
    found = group(epsilon=epsilon, delta=delta, size=len(moves))
    ends = [(first, p), (1 - first, 1 - p)]
    assert both_ways(ends, found.epsilon) <= real(found.delta) * (1 + mp.mpf(10) ** -30)


@given(EPSILONS, DELTAS, st.integers(1, 30), st.floats(1, 2))
def test_larger_groups_and_losses_cost_more(
    epsilon: float, delta: float, size: int, factor: float
) -> None:
    usual = group(epsilon=epsilon, delta=delta, size=size)
    printed = group(epsilon=epsilon, delta=delta, size=size, form="printed")
    assert usual.epsilon == printed.epsilon
    assert usual.delta <= printed.delta
    assert usual.delta <= group(epsilon=epsilon, delta=delta, size=size + 1).delta
    assert usual.delta <= group(epsilon=epsilon * factor, delta=delta, size=size).delta
    assert usual.delta <= group(epsilon=epsilon, delta=delta * factor, size=size).delta


def test_one_unit_is_a_group_of_one() -> None:
    assert group(epsilon=0.3, delta=1e-6, size=1) == (0.3, 1e-6)
    assert group_rho(rho=0.3, size=1) == 0.3


def test_a_pure_loss_stays_pure() -> None:
    assert group(epsilon=0.1, size=10) == (1.0, 0.0)
    assert replace_from_add_remove(epsilon=0.1) == (0.2, 0.0)


def test_a_loss_that_can_only_fail_adds_up() -> None:
    assert group(epsilon=0, delta=0.01, size=7) == (0.0, 0.07)


def test_a_delta_above_one_is_one() -> None:
    assert group(epsilon=50, delta=0.5, size=10**6) == (5e7, 1.0)


def test_rho_grows_with_the_square() -> None:
    assert group_rho(rho=0.1, size=10) == 10.0
    assert replace_from_add_remove_rho(rho=Fraction(1, 10)) == 0.4 == group_rho(rho=0.1, size=2)
