# SPDX-License-Identifier: Apache-2.0
"""Divergences in one order, against all events of small laws."""

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp

from sordino.numbers.rational import up_as_printed
from sordino.privacy import losses
from sordino.theorems import (
    approximate_max_divergence,
    hockey_stick,
    kl_divergence,
    max_divergence,
    renyi_divergence,
    total_variation,
)
from tests.privacy.theorems.reference import agrees, real
from tests.privacy.theorems.small_laws import SMALL, Law, events, some_laws


@pytest.mark.parametrize("epsilon", [0, 0.3, 1, -0.5])
def test_hockey_stick_and_total_variation_are_the_best_of_all_events(epsilon: float) -> None:
    odds = mp.exp(mp.mpf(str(epsilon)))
    for p, q in SMALL:
        best = max(mp.mpf(y.numerator) / y.denominator - odds * z.numerator / z.denominator
                   for y, z in events(p, q))  # fmt: skip
        found = hockey_stick(p=p, q=q, epsilon=epsilon)
        assert agrees(found, best, 15)
        assert total_variation(p=p, q=q) == float(max(abs(y - z) for y, z in events(p, q)))


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 4), Fraction(1, 3), Fraction(9, 10)])
def test_approximate_max_divergence_is_the_best_of_all_events(delta: Fraction) -> None:
    for p, q in SMALL:
        ratios = [(y - delta) / z if z else None for y, z in events(p, q) if y > delta]
        found = approximate_max_divergence(p=p, q=q, delta=delta)
        if None in ratios:
            assert found == math.inf
        else:
            best = max(x for x in ratios if x is not None)
            exact = mp.log(mp.mpf(best.numerator) / best.denominator)
            assert -(mp.mpf(10) ** -50) <= real(found) - exact <= mp.mpf(10) ** -15


def test_single_outputs_are_not_enough_for_a_delta() -> None:
    """E-C5: two laws on other outcomes pass the test for single outputs, and are far apart."""
    p = [Fraction(1, 1000)] * 1000 + [Fraction(0)] * 1000
    q = p[::-1]
    assert approximate_max_divergence(p=p, q=q, delta=0.001) == math.inf
    assert hockey_stick(p=p, q=q, epsilon=0) == 1.0


@given(some_laws, some_laws, st.fractions(0, Fraction(99, 100), max_denominator=100))
def test_the_least_epsilon_and_the_least_delta_belong_together(
    p: Law, q: Law, delta: Fraction
) -> None:
    epsilon = approximate_max_divergence(p=p, q=q, delta=delta)
    if math.isfinite(epsilon):
        assert hockey_stick(p=p, q=q, epsilon=epsilon) <= up_as_printed(delta)
        assert hockey_stick(p=p, q=q, epsilon=epsilon - 1e-9) >= delta - Fraction(1, 10**7)


@given(some_laws, some_laws)
def test_divergences_grow_with_the_order_and_are_ordered(p: Law, q: Law) -> None:
    orders: list[int | Fraction] = [Fraction(1, 4), Fraction(1, 2), 1, Fraction(3, 2), 2, 30]
    found = [renyi_divergence(p=p, q=q, order=order) for order in orders]
    found.append(max_divergence(p=p, q=q))
    for one, other in itertools.pairwise(found):
        assert one <= other * (1 + 1e-12)
    assert kl_divergence(p=p, q=q) == found[2]
    assert total_variation(p=p, q=q) == total_variation(p=q, q=p)
    if math.isfinite(found[2]):  # Pinsker
        assert 2 * total_variation(p=p, q=q) ** 2 <= found[2] * (1 + 1e-12) + 1e-300


@given(some_laws, some_laws)
def test_the_larger_of_both_orders_is_the_loss_of_the_pair(p: Law, q: Law) -> None:
    assume(p != q and any(y and z for y, z in zip(p, q, strict=True)))
    loss = losses.pmfs(p, q)
    both = max(max_divergence(p=p, q=q), max_divergence(p=q, q=p))
    assert loss.epsilon(delta=0) == pytest.approx(both, rel=1e-12, abs=0)
    assert loss.delta(epsilon=0.3) == pytest.approx(
        max(hockey_stick(p=p, q=q, epsilon=0.3), hockey_stick(p=q, q=p, epsilon=0.3)),
        rel=1e-9,
        abs=1e-15,
    )


@pytest.mark.parametrize("order", [0.5, 2, 3.5])
def test_renyi_is_the_formula(order: float) -> None:
    p, q = [0.2, 0.3, 0.5], [0.4, 0.35, 0.25]
    total = mp.mpf(0)
    for y, z in zip(p, q, strict=True):
        total += mp.mpf(str(y)) ** mp.mpf(order) * mp.mpf(str(z)) ** (1 - mp.mpf(order))
    exact = mp.log(total) / (order - 1)
    assert agrees(renyi_divergence(p=p, q=q, order=order), exact, 15)


def test_outcomes_that_one_law_cannot_have() -> None:
    assert max_divergence(p=[1, 0], q=[0.5, 0.5]) == pytest.approx(math.log(2), rel=1e-15)
    assert max_divergence(p=[0.5, 0.5], q=[1, 0]) == math.inf
    assert kl_divergence(p=[0.5, 0.5], q=[1, 0]) == math.inf
    assert renyi_divergence(p=[0.5, 0.5], q=[1, 0], order=0.5) == pytest.approx(
        math.log(2), rel=1e-15
    )
    assert renyi_divergence(p=[1, 0], q=[0, 1], order=0.5) == math.inf
    assert approximate_max_divergence(p=[0.5, 0.5], q=[1, 0], delta=0.5) == pytest.approx(
        math.log(0.5), rel=1e-15
    )


def test_a_law_and_itself() -> None:
    law = [1 / 3, 1 / 3, 1 / 3]
    assert (
        kl_divergence(p=law, q=law)
        == max_divergence(p=law, q=law)
        == total_variation(p=law, q=law)
        == 0
    )
    assert renyi_divergence(p=law, q=law, order=7) == 0


def test_laws_may_be_mappings() -> None:
    p, q = {"a": 0.5, "b": 0.5}, {"b": 0.25, "c": 0.75}
    assert total_variation(p=p, q=q) == 0.75
    assert max_divergence(p=p, q=q) == math.inf
    assert max_divergence(p={"x": 1}, q={"y": 0.5, "x": 0.5}) == pytest.approx(
        math.log(2), rel=1e-15
    )


BAD: list[tuple[Any, Any, str]] = [
    ([0.5, 0.4], [0.5, 0.5], "p must add up to 1, got a sum of 0.9"),
    ([1], [0.5, 0.5], "same number of outcomes, got 1 and 2"),
    ([], [], "p must add up to 1"),
    ([-0.5, 1.5], [0.5, 0.5], "not negative"),
    ([Fraction(1, 3), Fraction(2, 3) + Fraction(1, 10**13)], [1, 0], "p must add up to 1"),
]


@pytest.mark.parametrize(("p", "q", "message"), BAD)
def test_what_is_no_law_is_refused(p: Any, q: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kl_divergence(p=p, q=q)


def test_a_list_and_a_mapping_do_not_go_together() -> None:
    with pytest.raises(TypeError, match="both be lists, or both be mappings"):
        kl_divergence(p=[1], q={0: 1})
    with pytest.raises(TypeError, match="q must be a list of probabilities, got str"):
        kl_divergence(p=[1], q="1")  # type: ignore[arg-type]  # the point of the test
