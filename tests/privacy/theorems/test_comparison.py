# SPDX-License-Identifier: Apache-2.0
"""All theorems side by side."""

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.theorems import Row, compare, optimal

NAMES = ["basic", "advanced", "advanced, tight", "zCDP", "optimal"]


@pytest.mark.parametrize(
    ("times", "epsilon", "delta", "expected"),
    [
        (10, 0.1, 1e-6, (1.767429054344758, 1.470934165479739, 0.9993709057217587)),
        (100, 0.1, 1e-6, (6.308230950513408, 5.219075238261732, 4.774567588107986)),
        (1000, 0.01, 1e-6, (1.762759807110791, 1.471588139367167, 1.365446709993756)),
        (30, 0.5, 1e-9, (27.36172906407792, 20.25342977992263, 14.99849686874005)),
    ],
)
def test_the_table_has_the_known_values(
    times: int, epsilon: float, delta: float, expected: tuple[float, float, float]
) -> None:
    rows = {row.theorem: row for row in compare(epsilon=epsilon, times=times, at_delta=delta)}
    assert list(rows) == NAMES
    assert rows["basic"].epsilon == pytest.approx(times * epsilon)
    found = [rows[name].epsilon for name in ("advanced", "zCDP", "optimal")]
    assert found == pytest.approx(list(expected), rel=1e-12)
    assert {row.delta for row in rows.values()} == {delta}


@settings(deadline=None, max_examples=40)
@given(st.floats(1e-3, 5), st.floats(0, 1e-3), st.integers(1, 200), st.floats(1e-9, 0.9))
def test_the_optimal_row_is_the_least(
    epsilon: float, delta: float, times: int, at_delta: float
) -> None:
    rows = compare(epsilon=epsilon, delta=delta, times=times, at_delta=at_delta)
    assert [row.theorem for row in rows] == NAMES
    assert min(row.epsilon for row in rows) == rows[-1].epsilon
    best = optimal(epsilon=epsilon, delta=delta, times=times, at_delta=at_delta)
    assert rows[-1].epsilon == best.epsilon


def test_theorems_that_need_more_delta_say_so() -> None:
    rows = compare(epsilon=1, delta=1e-3, times=10, at_delta=0.00996)
    found = {row.theorem: row for row in rows}
    assert found["basic"].epsilon == found["advanced"].epsilon == math.inf
    assert found["basic"].note == "gives nothing for so small a delta"
    assert found["optimal"].epsilon < 10
    nothing = compare(epsilon=1, delta=1e-3, times=10, at_delta=1e-3)
    assert {row.epsilon for row in nothing} == {math.inf}
    assert nothing[-1].note == "the steps alone have a larger delta"


def test_the_delta_may_be_just_what_the_steps_have() -> None:
    rows = compare(epsilon=1, delta=1e-3, times=1, at_delta=1e-3)
    assert [row.epsilon for row in rows] == [1.0, math.inf, math.inf, math.inf, 1.0]


def test_extreme_steps_can_be_compared() -> None:
    for epsilon in (1e-9, 50):
        rows = compare(epsilon=epsilon, delta=1e-310, times=10**6, at_delta=1e-300)
        assert all(math.isfinite(row.epsilon) for row in rows)


def test_a_row_cannot_be_changed() -> None:
    row = Row("basic", 1.0, 0.0, "")
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.epsilon = 0.5  # type: ignore[misc]  # the point of the test
