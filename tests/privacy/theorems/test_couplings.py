# SPDX-License-Identifier: Apache-2.0
"""Laws close by whose ratio is bounded, for all small laws, exactly."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.theorems import (
    CloseLaw,
    ClosePair,
    approximate_max_divergence,
    close_law,
    close_pair,
    hockey_stick,
)
from tests.privacy.theorems.small_laws import SMALL, Law, some_laws

EPSILONS = [0, 0.2, 0.7, 3]
DELTAS = [Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2)]
deltas = st.fractions(0, Fraction(49, 50), max_denominator=50)


def distance(p: Law, q: Law) -> Fraction:
    return sum((abs(y - z) for y, z in zip(p, q, strict=True)), Fraction(0)) / 2


def check_law(found: CloseLaw, p: Law, q: Law, epsilon: float, delta: Fraction) -> None:
    law = list(found.law.values())
    assert sum(law) == 1
    assert min(law) >= 0
    assert all(y <= found.odds * z for y, z in zip(law, q, strict=True))
    assert math.log1p(float(found.odds - 1)) <= epsilon * (1 + 1e-15)
    assert found.distance == distance(p, law) <= delta


def check_pair(found: ClosePair, p: Law, q: Law, epsilon: float, delta: Fraction) -> None:
    one, other = (list(law.values()) for law in found.laws)
    assert sum(one) == sum(other) == 1
    assert min(*one, *other) >= 0
    for y, z in zip(one, other, strict=True):
        assert y <= found.odds * z
        assert z <= found.odds * y
    assert math.log1p(float(found.odds - 1)) <= epsilon * (1 + 1e-15)
    assert found.distances == (distance(p, one), distance(q, other))
    assert max(found.distances) <= delta / (1 + found.odds)


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))
def test_there_is_a_close_law_exactly_if_the_divergence_allows_it(
    epsilon: float, delta: Fraction
) -> None:
    for p, q in SMALL:
        if approximate_max_divergence(p=p, q=q, delta=delta) <= epsilon:
            check_law(close_law(p=p, q=q, epsilon=epsilon, delta=delta), p, q, epsilon, delta)
        else:
            with pytest.raises(ValueError, match="further apart than this epsilon and delta"):
                close_law(p=p, q=q, epsilon=epsilon, delta=delta)


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))
def test_there_is_a_close_pair_exactly_if_both_divergences_allow_it(
    epsilon: float, delta: Fraction
) -> None:
    for p, q in SMALL:
        both = [approximate_max_divergence(p=y, q=z, delta=delta) for y, z in ((p, q), (q, p))]
        if max(both) <= epsilon:
            check_pair(close_pair(p=p, q=q, epsilon=epsilon, delta=delta), p, q, epsilon, delta)
        else:
            with pytest.raises(ValueError, match="further apart than this epsilon and delta"):
                close_pair(p=p, q=q, epsilon=epsilon, delta=delta)


@given(some_laws, some_laws, deltas)
def test_at_the_least_epsilon_there_are_laws(p: Law, q: Law, delta: Fraction) -> None:
    one = approximate_max_divergence(p=p, q=q, delta=delta)
    other = approximate_max_divergence(p=q, q=p, delta=delta)
    for epsilon in {max(one, 0.0), max(one, 0.0) + 0.25}:
        if math.isfinite(epsilon):
            check_law(close_law(p=p, q=q, epsilon=epsilon, delta=delta), p, q, epsilon, delta)
    epsilon = max(one, other, 0.0)
    if math.isfinite(epsilon):
        check_pair(close_pair(p=p, q=q, epsilon=epsilon, delta=delta), p, q, epsilon, delta)


@given(some_laws, some_laws, some_laws, st.sampled_from(EPSILONS))
def test_a_close_law_of_bounded_ratio_bounds_the_divergence(
    p: Law, q: Law, near: Law, epsilon: float
) -> None:
    """The other direction of the lemma, for any law close to p."""
    if all(y <= Fraction(math.exp(epsilon)) * z for y, z in zip(near, q, strict=True)):
        assert hockey_stick(p=p, q=q, epsilon=epsilon) <= distance(p, near) + Fraction(1, 10**12)


def test_one_order_alone_is_not_enough_for_the_pair() -> None:
    """E-C6: D(p || q) = ln 2, and q has an outcome that p has not."""
    p, q = [Fraction(1), Fraction(0)], [Fraction(1, 2), Fraction(1, 2)]
    check_law(close_law(p=p, q=q, epsilon=0.7, delta=0), p, q, 0.7, Fraction(0))
    with pytest.raises(ValueError, match="further apart"):
        close_pair(p=p, q=q, epsilon=0.7, delta=0.4)


def test_an_epsilon_below_zero_is_refused_although_the_divergence_may_be_negative() -> None:
    law = [0.5, 0.5]
    assert approximate_max_divergence(p=law, q=law, delta=0.1) < 0
    with pytest.raises(ValueError, match="epsilon must be a number that is not negative"):
        close_law(p=law, q=law, epsilon=-0.1, delta=0.1)


def test_outcomes_keep_their_names() -> None:
    found = close_law(p={"a": 0.75, "b": 0.25}, q={"a": 0.5, "c": 0.5}, epsilon=0, delta=0.5)
    assert found.law == {"a": Fraction(1, 2), "b": 0, "c": Fraction(1, 2)}


def test_a_very_large_epsilon_changes_nothing() -> None:
    found = close_law(p=[1, 0], q=[0.5, 0.5], epsilon=10**6, delta=0)
    assert list(found.law.values()) == [1, 0]
