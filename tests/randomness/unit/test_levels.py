# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sordino.randomness import selection as module
from sordino.randomness.selection import ArrayLevels

INT64, UINT64 = np.iinfo(np.int64), np.iinfo(np.uint64)
LARGEST = float(np.finfo(np.float64).max)
RATES = [Fraction(1, 2**40), Fraction(1, 1000), Fraction(1, 128), Fraction(1, 64), Fraction(1, 3),
         Fraction(1), Fraction(22, 7), Fraction(10**9)]  # fmt: skip
EXTREME_RATES = [Fraction(1, 10**400), Fraction(1, 3 * 2**1040), Fraction(1, 2**1020),
                 Fraction(1, 2**984), Fraction(1, 2**90), Fraction(1, 2**69), Fraction(10**19),
                 Fraction(10**300), Fraction(10**400)]  # fmt: skip


def check(scores: npt.NDArray[Any], rate: Fraction, best: int | float | None = None) -> ArrayLevels:
    """Find everybody by level and rank, and compare with exact arithmetic."""
    best = scores.max().item() if best is None else best
    levels = ArrayLevels(scores, rate, best)
    last = len(levels.counts) - 1
    assert int(levels.counts.sum()) == scores.size
    assert levels.floors.shape == levels.counts.shape
    found = []
    for level in np.flatnonzero(levels.counts).tolist():
        for rank in range(int(levels.counts[level])):
            candidate, excess = levels.find(level, rank)
            found.append(candidate)
            exponent = rate * (Fraction(best) - Fraction(scores[candidate].item()))
            assert levels.exponent(candidate) == exponent
            assert excess == exponent - levels.floor(level) >= 0
            if level < last and rate < 2**990:
                assert excess <= Fraction(1, 60)
        with pytest.raises(IndexError):
            levels.find(level, int(levels.counts[level]))
    assert sorted(found) == list(range(scores.size))
    return levels


@pytest.mark.parametrize("rate", RATES + EXTREME_RATES, ids=range(len(RATES + EXTREME_RATES)))
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_floors_as_doubles_are_as_close_as_promised(kind: type[np.generic], rate: Fraction) -> None:
    levels = ArrayLevels(np.zeros(9, dtype=kind), rate, 0)
    exact = [levels.floor(level) for level in range(len(levels.counts))]
    assert exact[0] == 0
    assert exact == sorted(exact)
    for near, floor in zip(map(Fraction, levels.floors.tolist()), exact, strict=True):
        error = abs(near - floor)
        assert error * 2**49 < max(floor, Fraction(1)) or floor > near >= 2**1000


@pytest.mark.parametrize("rate", RATES + EXTREME_RATES, ids=range(len(RATES + EXTREME_RATES)))
def test_the_extremes_of_each_type_are_all_found(rate: Fraction) -> None:
    check(np.array([INT64.min, INT64.max, 0, -1, INT64.min + 1, INT64.max - 1]), rate)
    check(np.array([0, UINT64.max, 1, UINT64.max - 1, 2**63], dtype=np.uint64), rate)
    tiny = 5e-324
    check(np.array([-LARGEST, LARGEST, 0.0, -0.0, tiny, -tiny, 1.0, LARGEST / 2]), rate)
    check(np.array([tiny, 0.0, -tiny, 7 * tiny, 2.0**-1022, -(2.0**-1022)]), rate)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_doubles_beside_the_edge_of_a_level_never_have_a_negative_excess(rate: Fraction) -> None:
    for best in (0.0, 1.0, 12345.678, -1e9, 1e300):
        edges = best - np.arange(1, 2500, 37) / float(64 * rate)
        below, above = edges, edges
        scores = [edges]
        for _ in range(2):
            below, above = np.nextafter(below, -np.inf), np.nextafter(above, np.inf)
            scores += [below, above]
        check(np.append(np.minimum(np.concatenate(scores), best), best), rate)


@given(
    arrays.arrays(
        np.float64,
        st.integers(1, 40),
        elements=st.floats(allow_nan=False, allow_infinity=False)
        | st.floats(-100, 100)
        | st.integers(-50, 50).map(float),
    ),
    st.sampled_from(RATES + EXTREME_RATES) | st.fractions(Fraction(1, 10**6), 10**6),
)
@example(np.array([-1.7e308, 1.7e308]), Fraction(1, 2**1020))
@settings(max_examples=100, deadline=None)
def test_any_doubles_are_sorted_into_levels(scores: npt.NDArray[Any], rate: Fraction) -> None:
    check(scores, rate)


@given(
    arrays.arrays(np.int64, st.integers(1, 40))
    | arrays.arrays(np.uint64, st.integers(1, 40))
    | arrays.arrays(np.int64, st.integers(1, 40), elements=st.integers(-2000, 2000)),
    st.sampled_from(RATES + EXTREME_RATES) | st.fractions(Fraction(1, 10**6), 10**6),
)
@settings(max_examples=100, deadline=None)
def test_any_integers_are_sorted_into_levels(scores: npt.NDArray[Any], rate: Fraction) -> None:
    check(scores, rate)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 7, 8, 11, 12, 13, 16, 23, 24, 25, 49])
@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.float64])
def test_blocks_and_parts_of_any_size_hold_everybody_once(
    size: int, kind: type[np.generic], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 4)
    monkeypatch.setattr(module, "_PARTS", 3)
    scores = (np.arange(size) * 7 % 5).astype(kind)
    for rate in (Fraction(1, 2), Fraction(1, 500), Fraction(50)):
        levels = check(scores, rate)
        assert levels._parts.shape[0] <= 3


def test_ranks_follow_the_order_of_the_scores() -> None:
    levels = ArrayLevels(np.array([3, 1, 3, 2, 3, 1]), Fraction(1), 3)
    assert [levels.find(0, rank).candidate for rank in range(3)] == [0, 2, 4]
    assert [levels.find(2, rank).candidate for rank in range(2)] == [1, 5]


def test_a_best_score_that_somebody_else_has_leaves_the_first_levels_empty() -> None:
    assert check(np.array([1, 2, 3]), Fraction(1), best=10).counts[:8].sum() == 1
    assert check(np.array([INT64.min, -5]), Fraction(1, 3), best=int(INT64.max)).counts[0] == 0
    check(np.array([1, 2], dtype=np.uint64), Fraction(1, 2**50), best=int(UINT64.max))
    check(np.array([1.5, 2.25]), Fraction(1, 3), best=10.125)
    check(np.array([-LARGEST, 0.0]), Fraction(1, 2**1015), best=LARGEST)


def test_everything_beyond_the_window_is_in_the_last_level_and_weighs_next_to_nothing() -> None:
    for scores, rate in (
        (np.array([0, -1, -70, -1000, -(10**9)]), Fraction(1)),
        (np.array([0.0, -1.0, -70.0, -1e3, -1e300]), Fraction(1)),
        (np.array([0, -(10**6), -(10**12)]), Fraction(1, 10**4)),
    ):
        levels = check(scores, rate)
        last = len(levels.counts) - 1
        assert levels.counts[last] >= 1
        assert float(levels.floor(last)) > 64 * math.log(2) + math.log(scores.size)


def test_memory_stays_small_whatever_the_rate() -> None:
    for scores in (np.arange(3), np.arange(3.0)):
        for rate in RATES + EXTREME_RATES:
            levels = ArrayLevels(scores, rate, scores.max().item())
            assert levels._parts.nbytes <= 8 * 128 * 64


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.float64])
def test_scores_need_not_be_contiguous(kind: type[np.generic]) -> None:
    table = np.arange(60).reshape(20, 3).astype(kind)
    for view in (table[:, 1], table[::-1, 2], table[3]):
        assert check(view, Fraction(1, 5)).counts.tolist() == (
            check(view.copy(), Fraction(1, 5)).counts.tolist()
        )


@pytest.mark.parametrize("kind", ["int32", "uint8", "float32", "bool", "object", ">i8", ">f8"])
def test_other_types_are_refused_rather_than_read_as_something_else(kind: str) -> None:
    with pytest.raises(TypeError, match="int64, uint64 or float64"):
        ArrayLevels(np.ones(4).astype(kind), Fraction(1), 1)


def test_scores_that_change_while_being_read_are_noticed() -> None:
    scores = np.zeros(5, dtype=np.int64)
    levels = ArrayLevels(scores, Fraction(1), 0)
    scores[:] = -3
    with pytest.raises(IndexError, match="fewer candidates"):
        levels.find(0, 0)
