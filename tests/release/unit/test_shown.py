# SPDX-License-Identifier: Apache-2.0
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sordino.plan.ask import Options
from sordino.plan.intervals import Span
from sordino.release.post import adding_up, shown

PLAIN = Span(np.array([2.5, -3.75]), np.array([1.5, -4.75]), np.array([3.5, -2.75]))


def test_whole_numbers_are_rounded_and_their_intervals_kept() -> None:
    found = shown(PLAIN, Options(), whole=True, count=True)
    assert found.value.tolist() == [2.0, -4.0]
    assert (found.low.tolist(), found.high.tolist()) == ([1.5, -4.75], [3.5, -2.75])


def test_equal_noise_is_shown_with_equal_half_widths_however_it_is_rounded() -> None:
    values = np.array([2.25, -3.75, 7.0, 0.5, 1e9 + 0.375])
    found = shown(
        Span(values, values - 4.5, values + 4.5), Options(), whole=True, count=True, fine=True
    )
    assert (found.high - found.value).tolist() == (found.value - found.low).tolist() == [5.0] * 5
    assert (found.low <= values - 4.5).all()
    assert (found.high >= values + 4.5).all()


def test_nothing_is_rounded_on_request() -> None:
    assert shown(PLAIN, Options(integer=False), whole=True, count=True).value[0] == 2.5


def test_counts_and_their_intervals_are_clipped_on_request() -> None:
    found = shown(PLAIN, Options(nonnegative=True), whole=True, count=True)
    assert found.value.tolist() == [2.0, 0.0]
    assert (found.low[1], found.high[1]) == (0.0, 0.0)


def test_sums_are_never_clipped() -> None:
    found = shown(PLAIN, Options(nonnegative=True, consistent=True), whole=False, count=False)
    assert found.value.tolist() == [2.5, -3.75]


def test_an_interval_always_holds_the_value_that_is_shown() -> None:
    tight = Span(np.array([2.5]), np.array([2.45]), np.array([2.55]))
    found = shown(tight, Options(), whole=True, count=True)
    assert found.low[0] <= found.value[0] <= found.high[0]


@given(st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_adjusted_counts_are_whole_not_negative_and_have_the_total(noisy: list[float]) -> None:
    found = adding_up(np.array(noisy, dtype=np.float64))
    assert (found >= 0).all()
    assert (found == np.floor(found)).all()
    if noisy:
        assert abs(found.sum() - max(sum(noisy), 0)) <= 0.5 + 1e-6


def test_adjusting_counts_that_fit_already_changes_nothing() -> None:
    assert adding_up(np.array([3.0, 0.0, 12.0])).tolist() == [3.0, 0.0, 12.0]
