# SPDX-License-Identifier: Apache-2.0
"""Categories: what they may be, and what is said about values that are none of them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sordino.local import Response
from sordino.local.domain import MOST_CATEGORIES, read_domain

ILLNESS = "a rare illness"


@pytest.mark.parametrize("values", [
    ["b", "a", "b"], ("b", "a", "b"), np.array(["b", "a", "b"]),
    np.array(["b", "a", "b"], dtype=object), pd.Series(["b", "a", "b"]),
    pd.Series(["b", "a", "b"], dtype="category"), pa.array(["b", "a", "b"]),
    pa.chunked_array([["b"], ["a", "b"]]),
])  # fmt: skip
def test_texts_are_found_in_any_kind_of_column(values: object) -> None:
    assert read_domain(["a", "b", "c"]).codes(values)[0].tolist() == [1, 0, 1]


@pytest.mark.parametrize("values", [[2, 0], np.array([2, 0], dtype=np.uint8), pa.array([2, 0])])
def test_numbers_are_their_own_codes_or_are_looked_up(values: object) -> None:
    assert read_domain(3).codes(values)[0].tolist() == [2, 0]
    assert read_domain([0, 10, 2]).codes(values)[0].tolist() == [2, 0]


def test_single_values_are_known_as_such() -> None:
    assert read_domain(["a", "b"]).codes("b")[0].tolist() == [1]
    assert read_domain(["a", "b"]).codes("b")[1]
    assert read_domain([False, True]).codes(True)[0].tolist() == [1]
    assert read_domain(5).codes(np.int8(3))[0].tolist() == [3]
    assert not read_domain(5).codes([3])[1]
    for domain in (read_domain(5), read_domain(["a", "b"])):
        assert domain.codes([])[0].tolist() == []


@pytest.mark.parametrize(("categories", "values"), [
    (["a", "b"], ["a", ILLNESS]), (["a", "b"], ILLNESS), (["a", "b"], ["a", None]),
    (["a", "b"], None), (3, [0, 3]), (3, [-1]), (3, 7), ([5, 6], [5, 4]),
])  # fmt: skip
def test_unknown_values_are_refused_and_not_shown(categories: object, values: object) -> None:
    with pytest.raises((ValueError, TypeError)) as refused:
        read_domain(categories).codes(values)
    assert ILLNESS not in str(refused.value)
    assert refused.value.__cause__ is None


def test_the_message_says_how_many_are_unknown_and_what_is_known() -> None:
    with pytest.raises(ValueError, match=r"2 of 4 values are none of the 12 categories") as refused:
        read_domain(list("abcdefghijkl")).codes(["a", ILLNESS, "b", ILLNESS])
    assert "'j', ...), the first is number 2; mend them" in str(refused.value)


@pytest.mark.parametrize(("categories", "values"), [
    (["a", "b"], [1, 2]), (3, ["a"]), (3, [0.5]), (3, [True]), ([1, 2], ["1"]),
    ([False, True], [0, 1]), (["a", "b"], ["a", 1]), (["a", "b"], [b"a"]), (3, [[1, 2], [0, 1]]),
])  # fmt: skip
def test_values_of_another_kind_are_refused(categories: object, values: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        read_domain(categories).codes(values)


@pytest.mark.parametrize(("categories", "message"), [
    (1, "at least 2 categories, got 1"), (0, "at least 2 categories"), (-3, "at least 2"),
    (["only"], "at least 2 categories, got 1"), ([], "at least 2"), (["a", "a"], "distinct"),
    (MOST_CATEGORIES + 1, "HeavyHitters"),
])  # fmt: skip
def test_what_cannot_be_categories_is_refused(categories: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_domain(categories)


@pytest.mark.parametrize(
    "categories", ["ab", b"ab", 2.0, None, ["a", 1], [1, True], [1.5, 2.5], [None, "a"], [2**64, 1]]
)
def test_what_is_of_the_wrong_kind_is_no_category(categories: object) -> None:
    with pytest.raises(TypeError):
        read_domain(categories)


def test_numbers_of_any_width_are_looked_up_and_large_ones_are_unknown() -> None:
    domain = read_domain([1, 300, -1])
    for kind in (np.int8, np.uint8, np.int16, np.uint64):
        assert domain.codes(np.array([1, 1], dtype=kind))[0].tolist() == [0, 0]
    for values in (np.array([2**64 - 1], dtype=np.uint64), np.array([2**63], dtype=np.uint64)):
        with pytest.raises(ValueError, match="1 of 1 values are none"):
            domain.codes(values)
    for listed in ([2**70], [1, 2**63 + 5]):
        with pytest.raises((TypeError, ValueError)):
            domain.codes(listed)


def test_masked_values_are_no_values() -> None:
    masked = np.ma.array([1, 2, 3], mask=[False, True, True])
    for domain in (read_domain(5), read_domain([1, 2, 3])):
        with pytest.raises(ValueError, match="2 of 3 values are none"):
            domain.codes(masked)


def test_what_has_no_order_is_no_list() -> None:
    for unordered in ({"a", "b"}, frozenset({"a", "b"}), {"a": 1, "b": 2}):
        with pytest.raises(TypeError, match="list"):
            read_domain(unordered)
        with pytest.raises(TypeError, match="column"):
            read_domain(["a", "b"]).codes(unordered)
    with pytest.raises(ValueError, match="column of values"):
        read_domain(3).codes([[1, 2], [0]])


def test_halves_of_characters_are_no_labels() -> None:
    with pytest.raises(ValueError, match="halves of characters"):
        read_domain(["\ud83d\ude00", "x"])


def test_values_that_change_under_way_are_refused() -> None:
    """A stream reads the array of the caller, who may write to it meanwhile."""
    values = np.zeros(100, dtype=np.int64)
    pieces = Response(10, epsilon=1).client().stream(values, at_once=50)
    next(pieces)
    values[:] = 200
    with pytest.raises(ValueError, match="changed while they were encoded"):
        next(pieces)
