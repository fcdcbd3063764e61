# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.privacy.pure import KaryResponse, Pure
from sordino.privacy.tables import PmfPair
from tests.privacy.contract import pairs
from tests.privacy.contract.leaves import BOUNDLESS, LOPSIDED, pmf

laws = st.integers(2, 8).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 50), min_size=n, max_size=n).filter(any)] * 2)
)


def test_a_pair_worked_by_hand() -> None:
    loss = PmfPair(p=pmf(3, 1), q=pmf(1, 3))
    assert loss.epsilon(delta=0) == pytest.approx(math.log(3), rel=1e-15)
    assert loss.total_variation == 0.5
    assert loss.delta(epsilon=0) == 0.5
    assert loss.kl == pytest.approx(0.5 * math.log(3), rel=1e-15)
    assert loss.renyi(order=2) == pytest.approx(math.log(9 / 4 + 1 / 12), rel=1e-15)
    assert loss.summit == 0.75
    assert loss.symmetric
    assert loss.atoms == (loss.pure, -Fraction(repr(loss.epsilon(delta=0))))


def test_a_table_of_randomized_response_is_randomized_response() -> None:
    keep, lie = Fraction(7, 10), Fraction(1, 10)
    loss = PmfPair(p=(keep, lie, lie, lie), q=(lie, keep, lie, lie))
    assert loss.pure is not None
    formula = KaryResponse(epsilon=loss.pure, categories=4)
    for epsilon in (0, 0.5, 1.9):
        assert loss.delta(epsilon=epsilon) == pytest.approx(
            formula.delta(epsilon=epsilon), rel=1e-14
        )
    assert loss.rho == pytest.approx(formula.rho, rel=1e-6)
    assert loss.renyi(order=3) == pytest.approx(formula.renyi(order=3), rel=1e-14)


def test_an_outcome_that_only_one_law_has_is_an_unbounded_loss() -> None:
    assert BOUNDLESS.pure is None
    assert BOUNDLESS.infinity == pytest.approx(0.1, rel=1e-15)
    assert BOUNDLESS.rho == BOUNDLESS.kl == BOUNDLESS.renyi(order=2) == math.inf
    assert BOUNDLESS.epsilon(delta=0.1) == math.inf
    assert BOUNDLESS.epsilon(delta=0.2) == pytest.approx(math.log(4 / 3), rel=1e-14)
    assert BOUNDLESS.delta(epsilon=50) == 0.2


def test_both_orders_count() -> None:
    assert not LOPSIDED.symmetric
    assert LOPSIDED.epsilon(delta=0) == pytest.approx(math.log(6), rel=1e-15)
    assert LOPSIDED.reach(1e-9) == pytest.approx((-math.log(6), math.log(5)))
    assert LOPSIDED.summit == 0.0


def test_a_group_is_known_by_its_pure_loss_alone() -> None:
    assert LOPSIDED.group(1) is LOPSIDED
    assert LOPSIDED.pure is not None
    assert LOPSIDED.group(3) == Pure(epsilon=3 * LOPSIDED.pure)
    with pytest.raises(ValueError, match="say nothing about groups"):
        BOUNDLESS.group(2)


@settings(max_examples=60, deadline=None)
@given(laws, st.integers(-4000, 4000).map(lambda k: k / 1000))
def test_any_two_laws_have_their_own_profile(
    weights: tuple[list[int], list[int]], epsilon: float
) -> None:
    p, q = pmf(*weights[0]), pmf(*weights[1])
    if p == q or all(one * other == 0 for one, other in zip(p, q, strict=True)):
        return
    loss = PmfPair(p=p, q=q)
    for reverse in (False, True):
        true = pairs.hockey_stick(loss, epsilon, reverse=reverse)
        drawn = loss.profile(np.array([epsilon]), reverse=reverse)[0]
        assert drawn == pytest.approx(float(true), rel=1e-12, abs=1e-25)
    stated = loss.delta(epsilon=abs(epsilon))
    exact = max(pairs.hockey_stick(loss, abs(epsilon), reverse=way) for way in (False, True))
    assert stated == pytest.approx(float(exact), rel=1e-15)
    for delta in (0.0, 1e-3, 0.3):
        found = loss.epsilon(delta=delta)
        if math.isfinite(found):
            assert loss.delta(epsilon=found) <= delta
            assert found == 0 or loss.delta(epsilon=found * (1 - 1e-12)) > delta


@settings(max_examples=15, deadline=None)
@given(laws)
def test_rho_is_above_every_order_and_not_by_much(weights: tuple[list[int], list[int]]) -> None:
    p, q = (pmf(*[w + 1 for w in law]) for law in weights)
    if p == q:
        return
    loss = PmfPair(p=p, q=q)
    listed = pairs.outcomes(loss)
    assert listed is not None
    ways = listed, [(b, a) for a, b in listed]
    orders = [1 + 10 ** (j / 25 - 4) for j in range(0, 170, 2)]
    true = max(
        pairs.renyi(way, order) / mpmath.mpf(repr(order)) for way in ways for order in orders
    )
    assert true <= loss.rho * (1 + mpmath.mpf(10) ** -14)
    assert loss.rho <= float(true) * 1.01


def test_rho_of_very_many_losses_is_taken_from_the_largest() -> None:
    many = pmf(*range(1, 3001))
    loss = PmfPair(p=many, q=many[::-1])
    assert loss.rho == Pure(epsilon=loss.pure or Fraction(1)).rho


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        (pmf(1, 0), pmf(0, 1), "no outcome in common"),
        (pmf(1, 1), pmf(1, 1, 1), "same number of outcomes"),
        ((Fraction(1, 2),), pmf(1), "p must be a tuple of Fractions that add up to 1"),
        (pmf(1, 1), (0.5, 0.5), "q must be a tuple of Fractions that add up to 1"),
        ((Fraction(3, 2), Fraction(-1, 2)), pmf(1, 1), "p must be a tuple of Fractions"),
        ((), (), "p must be a tuple of Fractions"),
    ],
)
def test_what_is_no_pair_is_refused(
    p: tuple[Fraction, ...], q: tuple[Fraction, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        PmfPair(p=p, q=q)
