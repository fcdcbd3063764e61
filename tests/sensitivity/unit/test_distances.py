# SPDX-License-Identifier: Apache-2.0
"""The distance of two data sets is the length of the shortest way over neighbours."""

import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.sensitivity import distance

Data = tuple[int, ...]


def walks(start: Data, kinds: int, most: int, relation: str) -> dict[Data, int]:
    """Return the shortest ways from one data set to all others of up to so many records."""
    ways, ends = {start: 0}, [start]
    for here in ends:
        less = [here[:p] + here[p + 1 :] for p in range(len(here))]
        more = [here] if relation == "add_remove" and len(here) < most else []
        if relation == "replace_one":
            more = less
        steps = [tuple(sorted((*base, kind))) for base in more for kind in range(kinds)]
        if relation == "add_remove":
            steps += less
        for there in steps:
            if there not in ways:
                ways[there] = ways[here] + 1
                ends.append(there)
    return ways


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_it_is_the_shortest_way_in_all_small_universes(relation: str) -> None:
    data = [d for size in range(5) for d in itertools.combinations_with_replacement(range(3), size)]
    for one in data:
        ways = walks(one, 3, 8, relation)
        for other in data:
            if other in ways:
                assert distance(one, other, neighbours=relation) == ways[other]
            else:
                with pytest.raises(ValueError, match="no number of replacements apart"):
                    distance(one, other, neighbours=relation)


records = st.lists(st.integers(0, 5), max_size=12)


@given(records, records, records)
def test_it_is_a_metric(one: list[int], other: list[int], third: list[int]) -> None:
    def apart(a: list[int], b: list[int]) -> int:
        return distance(a, b, neighbours="add_remove")

    assert apart(one, other) == apart(other, one) <= apart(one, third) + apart(third, other)
    assert (apart(one, other) == 0) == (sorted(one) == sorted(other))
    assert apart(one, []) == len(one)
    assert apart(one, other) == distance(Counter(one), Counter(other), neighbours="add_remove")


SAME: list[tuple[Any, Any]] = [
    ([1, 2, 2], np.array([2, 1, 2])),
    ([1, 2, 2], pd.Series([2.0, 2.0, 1.0])),
    ([True, 2], [1, Decimal(2)]),
    ([0.1], [Fraction(0.1)]),
    ([None, math.nan], [np.float64("nan"), pd.NA]),
    ([(1, "a"), (2, "b")], pd.DataFrame({"x": [2, 1], "y": ["b", "a"]})),
    ([(1, 2), (3, 4)], np.array([[3, 4], [1, 2]])),
    ([[1, 2]], [(1, 2)]),
    (["a", "b", "a"], {"a": 2, "b": 1, "c": 0}),
    ([], {}),
    (pd.Series(["2020-01-01"], dtype="datetime64[ns]"), [pd.Timestamp("2020-01-01")]),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_records_in_other_shapes_are_no_distance_apart(one: Any, other: Any) -> None:
    assert distance(one, other, neighbours="add_remove") == 0
    assert distance(other, one, neighbours="replace_one") == 0


DIFFERENT: list[tuple[Any, Any]] = [
    ([1], ["1"]),
    ([2**53], [2**53 + 1]),
    ([0.1], [Fraction(1, 10)]),
    ([None], [0]),
    ([None], [("missing",)]),
    ([(1,)], [1]),
    ([(1,)], [("record", 1)]),
    ([()], [("record",)]),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_is_not_equal_is_one_replacement_apart(one: Any, other: Any) -> None:
    assert distance(one, other, neighbours="replace_one") == 1
    assert distance(one, other, neighbours="add_remove") == 2


BAD: list[tuple[Any, Any, str]] = [
    ("abc", [1], "a data set must be a list of records, not str"),
    (5, [1], "a data set must be a list of records, not int"),
    ([{}], [1], "records must be values or tuples of them, not dict"),
    ({"a": 1.5}, {}, "a histogram holds whole numbers, not float"),
    ({"a": -1}, {}, "not negative"),
    (np.zeros((1, 1, 1)), [1], "one column of records or a table"),
    (np.ma.masked_array([1], mask=[True]), [1], "masked arrays are not read"),
    (pd.DataFrame({"x": [1]}), pd.DataFrame({"y": [1]}), "the same columns"),
]


@pytest.mark.parametrize(("one", "other", "message"), BAD)
def test_what_is_no_data_set_is_refused(one: Any, other: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        distance(one, other, neighbours="add_remove")
