# SPDX-License-Identifier: Apache-2.0
"""Local sensitivity within k changes and smooth sensitivity, by their definitions."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.sensitivity import smooth
from tests.sensitivity.unit.brute import Data, Universe, check_smallest, distance

STATISTICS: dict[str, Callable[[Data], Any]] = {
    "median": lambda data: sorted(data)[(len(data) - 1) // 2],
    "largest": max,
    "range": lambda data: max(data) - min(data),
    "distinct": lambda data: len(set(data)),
    "mean": lambda data: Fraction(sum(data), len(data)),
    "pairs": lambda data: [data.count(0), data.count(1) / 2],
}


def moved(one: Any, other: Any) -> Fraction:
    pair = [answer if isinstance(answer, list) else [answer] for answer in (one, other)]
    return sum((abs(Fraction(a) - Fraction(b)) for a, b in zip(*pair, strict=True)), Fraction(0))


def by_definition(universe: Universe, f: Callable[[Data], Any]) -> dict[Data, list[Fraction]]:
    """A(k) for all data sets and all k, from all pairs of neighbours and all distances."""
    local = {
        data: max(moved(f(data), f(other)) for other in universe.neighbours(data))
        for data in universe.data
    }
    return {
        data: [
            max(local[far] for far in universe.data if distance(data, far) <= k)
            for k in range(universe.size + 2)
        ]
        for data in universe.data
    }


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize(("size", "top"), [(3, 3), (4, 2), (1, 4), (2, 5)])
def test_brute_force_is_the_definition(name: str, size: int, top: int) -> None:
    universe, f = Universe(size, top), STATISTICS[name]
    for data, exact in by_definition(universe, f).items():
        within = smooth.local_sensitivity(f, data[::-1], range(top + 1), "replace_one")
        assert [within(k) for k in range(size + 2)] == exact


@pytest.mark.parametrize("name", ["median", "largest", "range", "mean"])
@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_brute_force_is_the_smallest_smooth_bound(name: str, beta: float) -> None:
    universe, f = Universe(3, 4), STATISTICS[name]
    found = {
        data: smooth.sensitivity(f, data, range(5), beta, "replace_one") for data in universe.data
    }
    check_smallest(universe, f, beta, found)


def bigger(data: Data, kinds: int) -> Iterator[Data]:
    yield from (tuple(sorted((*data, kind))) for kind in range(kinds))


def test_with_add_remove_data_sets_of_all_sizes_count() -> None:
    """All multisets of 0 to 4 records of three kinds; the range of no records is 0."""
    kinds, most = 3, 4
    data = [
        d for n in range(most + 1) for d in itertools.combinations_with_replacement(range(kinds), n)
    ]

    def spread(records: tuple[int, ...]) -> int:
        return max(records) - min(records) if records else 0

    edges = [(d, e) for d in data if len(d) < most for e in bigger(d, kinds)]
    local = {d: max(abs(spread(a) - spread(b)) for a, b in edges if d in (a, b)) for d in data}

    def apart(one: Data, other: Data) -> int:
        return sum(abs(one.count(kind) - other.count(kind)) for kind in range(kinds))

    for d in data:
        within = smooth.local_sensitivity(spread, d, range(kinds), "add_remove", size=most)
        for k in range(2 * most + 1):
            assert within(k) == max(local[far] for far in data if apart(d, far) <= k)
    bounds = {
        d: smooth.sensitivity(spread, d, range(kinds), 0.3, "add_remove", size=most) for d in data
    }
    assert all(bounds[d] >= local[d] for d in data)
    assert max(abs(math.log(bounds[d] / bounds[e])) for d, e in edges) <= 0.3


def test_order_counts_if_it_is_said_to() -> None:
    def first(records: tuple[int, ...]) -> int:
        return records[0]

    def turn(records: tuple[int, ...]) -> int:
        return records[0] * records[-1]

    within = smooth.local_sensitivity(first, (0, 2, 2), range(4), "replace_one", ordered=True)
    assert [within(k) for k in range(3)] == [3, 3, 3]
    within = smooth.local_sensitivity(turn, (0, 0, 1), range(4), "replace_one", ordered=True)
    assert [within(k) for k in range(4)] == [3, 9, 9, 9]


values = st.lists(st.integers(0, 6), min_size=1, max_size=7)


@given(values, st.data())
def test_closed_forms_agree_with_brute_force(data: list[int], draw: st.DataObject) -> None:
    small = data[:4]
    rank = draw.draw(st.integers(1, len(small)))
    trim = draw.draw(st.integers(0, (len(small) - 1) // 2))
    universe, bounds = range(7), (0, 6)

    def trimmed(records: tuple[int, ...]) -> Fraction:
        kept = sorted(records)[trim : len(records) - trim]
        return Fraction(sum(kept), len(kept))

    pairs: list[tuple[Any, Any]] = [
        (smooth.local_quantile(small, rank=rank, bounds=bounds), lambda d: sorted(d)[rank - 1]),
        (smooth.local_median(small, bounds=bounds), STATISTICS["median"]),
        (smooth.local_maximum(small, bounds=bounds), max),
        (smooth.local_trimmed_mean(small, trim=trim, bounds=bounds), trimmed),
    ]
    for closed, f in pairs:
        within = smooth.local_sensitivity(f, small, universe, "replace_one")
        assert [closed(k) for k in range(7)] == [within(k) for k in range(7)]


@given(values, st.sampled_from([0.02, 0.3, 1.5]))
def test_closed_forms_give_the_smooth_bounds(data: list[int], beta: float) -> None:
    bounds = (-1, 7)
    pairs = [
        (smooth.local_median(data, bounds=bounds), smooth.median(data, bounds=bounds, beta=beta)),
        (smooth.local_maximum(data, bounds=bounds), smooth.maximum(data, bounds=bounds, beta=beta)),
    ]
    for within, bound in pairs:
        again = smooth.from_local(within, beta=beta, global_bound=8)
        assert again == pytest.approx(bound, rel=1e-10, abs=0)


def test_closed_forms_are_exact_for_doubles() -> None:
    data = np.array([0.1, 0.3, 0.7])
    within = smooth.local_median(data, bounds=(0, 1))
    assert within(0) == Fraction(0.7) - Fraction(0.3)
    assert within(1) == max(Fraction(0.7) - Fraction(0.1), 1 - Fraction(0.3))
    assert within(10**9) == 1


def test_a_constant_function_has_no_sensitivity() -> None:
    assert smooth.sensitivity(lambda _: 7, [0, 1], range(3), 0.5, "replace_one") == 0
    found = smooth.sensitivity(lambda _: 7, [0, 1], range(3), 0.5, "replace_one", floor=0.25)
    assert found == 0.25 * (1 + 1e-11)


def test_the_data_do_not_show() -> None:
    assert "12345" not in repr(smooth.local_median([12345], bounds=(0, 10**6)))
    assert "2" not in repr(smooth.local_sensitivity(max, [2], range(3), "replace_one"))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"dataset": [9]}, "the universe must hold every record"),
    ({"dataset": []}, "none that could be replaced"),
    ({"size": 3}, "size is for add_remove"),
    ({"neighbours": "add_remove"}, "add_remove needs size"),
    ({"neighbours": "add_remove", "size": 1}, "must have least to size records"),
    ({"neighbours": "add_remove", "size": 2, "least": 2}, "no two data sets of these sizes"),
    ({"universe": range(10**4), "dataset": [1] * 9}, "at most 200000 data sets"),
    ({"universe": []}, "universe must hold at least one record"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_what_cannot_be_looked_at_is_refused(options: dict[str, Any], message: str) -> None:
    given_options = {"dataset": [0, 1], "universe": range(3), "neighbours": "replace_one"}
    with pytest.raises((TypeError, ValueError), match=message):
        smooth.local_sensitivity(max, **(given_options | options))


@pytest.mark.parametrize("changes", [-1, 1.5, "1", True])
def test_changes_are_whole_numbers(changes: Any) -> None:
    within = smooth.local_median([1], bounds=(0, 2))
    with pytest.raises((TypeError, ValueError), match="changes must"):
        within(changes)
