# SPDX-License-Identifier: Apache-2.0
"""Losses add up; post-processing is free."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sordino.theorems import basic, postprocessing

LOSSES = st.lists(
    st.tuples(st.floats(0, 50, allow_subnormal=False), st.floats(0, 0.9, allow_subnormal=False)),
    min_size=1,
    max_size=8,
)


def test_tenths_add_up_to_one() -> None:
    assert basic(losses=[(0.1, 1e-7)] * 10) == (1.0, 1e-6)


def test_a_budget_may_be_split_into_equal_parts() -> None:  # X26
    assert basic(losses=[(Fraction(1, 7), 0)] * 7) == (1.0, 0.0)


def test_three_questions_cost_the_sum() -> None:  # X30
    assert basic(losses=[(0.5, 0), (0.3, 0), (0.2, 0)]) == (1.0, 0.0)


def test_a_million_steps_add_up_exactly() -> None:
    assert basic(losses=[(1e-9, 1e-12)] * 10**6) == (0.001, 1e-6)


def test_a_delta_above_one_is_one() -> None:
    assert basic(losses=[(1, 0.6), (1, 0.6)]) == (2.0, 1.0)


@given(LOSSES)
def test_order_does_not_matter(losses: list[tuple[float, float]]) -> None:
    assert basic(losses=losses) == basic(losses=losses[::-1])


@given(LOSSES)
def test_sums_are_never_rounded_down(losses: list[tuple[float, float]]) -> None:
    found = basic(losses=losses)
    exact = [sum(Fraction(repr(loss[j])) for loss in losses) for j in (0, 1)]
    assert Fraction(repr(found.epsilon)) >= exact[0]
    assert Fraction(repr(found.delta)) >= min(exact[1], 1)
    assert found.epsilon <= float(exact[0]) * (1 + 1e-15)


@given(LOSSES, st.tuples(st.floats(1e-9, 50), st.floats(1e-9, 0.9)))
def test_another_step_costs_more(
    losses: list[tuple[float, float]], another: tuple[float, float]
) -> None:
    fewer, more = basic(losses=losses), basic(losses=[*losses, another])
    assert more.epsilon >= fewer.epsilon
    assert more.delta >= fewer.delta


def test_post_processing_changes_nothing() -> None:
    assert postprocessing(epsilon=0.3, delta=1e-300) == (0.3, 1e-300)
