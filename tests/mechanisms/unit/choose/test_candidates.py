# SPDX-License-Identifier: Apache-2.0
"""Candidates and scores together: who is in the data must not decide which candidates there are."""

from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sordino.mechanisms.choose import Integers, Product, Strings
from sordino.mechanisms.choose.candidates import (
    FROM_DATA,
    check_distinct,
    is_from_data,
    unlisted,
)
from tests.mechanisms.unit.choose.slates import read, slate

COUNTS = {"flu": 41957, "mumps": 3}


def series() -> Any:
    return pd.Series(COUNTS)


def frame(index: Any = None) -> Any:
    return pd.DataFrame({"name": [*COUNTS], "count": [*COUNTS.values()]}, index=index)


def votes() -> Any:
    return pd.Series(["flu"] * 5 + ["mumps"] * 2).value_counts()


def from_data() -> dict[str, tuple[Any, Any]]:
    """Candidates that were taken from what holds the scores, in all ways one would think of."""
    counts, labelled, table, filtered, counted = COUNTS, series(), frame(), frame([7, 4]), votes()
    flat = counted.reset_index()
    polars = pl.Series([3, 5])
    return {
        "a dict twice": (counts, counts),
        "a dict alone": (counts, None),
        "keys of a dict": (counts.keys(), counts),
        "a proxy twice": (proxy := MappingProxyType(counts), proxy),
        "keys of an ordered dict": ((ordered := OrderedDict(counts)).keys(), ordered),
        "a Series twice": (labelled, labelled),
        "a Series alone": (labelled, None),
        "the index of a Series": (labelled.index, labelled),
        "the keys of a Series": (labelled.keys(), labelled),
        "a view of the index": (labelled.index.view(), labelled),
        "counted values": (counted.index, counted),
        "two columns of a frame": (table["name"], table["count"]),
        "two attributes of a frame": (table.name, table["count"]),
        "two columns of a frame with labels": (filtered["name"], filtered["count"]),
        "the index of a frame": (filtered.index, filtered["count"]),
        "counted values, as columns": (flat[flat.columns[0]], flat["count"]),
        "a grouped column": ((sums := table.groupby("name")["count"].sum()).index, sums),
        "a polars Series twice": (polars, polars),
        "an array twice": (array := np.array([3, 5]), array),
        "a list twice": (listed := [3, 5], listed),
    }


TAKEN = from_data()


@pytest.mark.parametrize("name", TAKEN)
def test_candidates_taken_from_the_scores_are_refused_with_the_reason(name: str) -> None:
    """E-X16: a new candidate would turn up only if somebody in the data named it."""
    with pytest.raises(ValueError, match="who is in the data decides which candidates") as raised:
        slate(*TAKEN[name])
    assert str(raised.value) == FROM_DATA
    assert "public_domain=True" in FROM_DATA


@pytest.mark.parametrize("name", TAKEN)
def test_they_are_accepted_if_the_domain_is_public(name: str) -> None:
    found = read(slate(*TAKEN[name], public_domain=True))
    known = [
        COUNTS,
        {"flu": 5, "mumps": 2},
        {7: 41957, 4: 3},
        {3: 3, 5: 5},
    ]
    assert found in known


@pytest.mark.parametrize(
    "scores",
    [COUNTS, MappingProxyType(COUNTS), series(), [41957, 3], (41957, 3), np.array([41957, 3]),
     pl.Series([41957, 3]), pd.Series([41957, 3]), COUNTS.get, iter([41957, 3])],
    ids=lambda scores: type(scores).__name__,
)  # fmt: skip
def test_a_list_of_its_own_is_accepted(scores: Any) -> None:
    assert read(slate(["flu", "mumps"], scores)) == COUNTS


def test_separate_series_of_pandas_are_no_columns_of_one_frame() -> None:
    names = pd.Series(["flu", "mumps"])
    assert read(slate(names, pd.Series([41957, 3]))) == COUNTS
    assert not is_from_data(names, pd.Series([41957, 3]))


def test_a_domain_that_is_listed_has_every_member_in_its_order() -> None:
    for domain in (range(2, 6), Integers(2, 5)):
        found = slate(domain, {4: 3, 2: 9}, default_score=-1, listed=True)
        assert read(found) == {2: 9, 3: -1, 4: 3, 5: -1}
        assert found.ordered
    with pytest.raises(TypeError, match=r"^the k best, and what goes by the order"):
        slate(Integers(0, 1 << 20), {4: 3}, listed=True)


WRONG: list[tuple[Any, Any, type[Exception], str]] = [
    ([], [], ValueError, "there is no candidate to choose: the list is empty"),
    (np.array([]), [], ValueError, "there is no candidate to choose: the list is empty"),
    (["a", "b", "a"], [1, 2, 3], ValueError, "a candidate is listed twice; every candidate must"),
    (np.array([1, 2, 1]), [1, 2, 3], ValueError, "a candidate is listed twice"),
    ([[1], [1]], [1, 2], ValueError, "a candidate is listed twice"),
    (["a", "b"], [1, 2, 3], ValueError, "scores must be one number for each of 2 candidates; for"),
    (["a", "b"], np.arange(3), ValueError, "scores must be one number for each of 2 candidates"),
    (np.zeros((2, 2)), [1, 2], ValueError, "candidates must be a list, got an array of 2 dim"),
    ("ab", [1, 2], TypeError, "candidates must be a list in a fixed order, got a value of type s"),
    ({"a", "b"}, [1, 2], TypeError, "candidates must be a list in a fixed order, got a value of"),
    ({"a": 0}, {"b": 1}, TypeError, "candidates must be a list in a fixed order, got a value of"),
    (5, [1, 2], TypeError, "candidates must be a list, got a value of type int"),
    (["a", "b"], 7, TypeError, "scores must be a list of numbers, a mapping or a function, got a"),
    (["a", "b"], None, TypeError, "scores are missing; give one for each candidate"),
    (Integers(0, 1 << 30), [1], TypeError, "for so many candidates scores must be a mapping"),
    ([[n] for n in range(3000)], range(3000), TypeError, "more than 2000 candidates must be hash"),
]


@pytest.mark.parametrize(("candidates", "scores", "error", "message"), WRONG)
def test_what_does_not_go_together_is_refused(
    candidates: Any, scores: Any, error: type[Exception], message: str
) -> None:
    for public in (False, True):
        with pytest.raises(error, match=f"^{message}"):
            slate(candidates, scores, public_domain=public)


def test_candidates_of_numpy_come_back_as_plain_python() -> None:
    found = slate(np.array([10, 20]), [1, 2]).candidate(1)
    assert (found, type(found)) == (20, int)
    assert type(slate(np.array(["a", "b"]), [1, 2]).candidate(0)) is str
    assert slate(range(10, 30, 10), [1, 2]).candidate(1) == 20


def test_candidates_need_not_be_hashable_if_they_are_few() -> None:
    assert slate([[1], [2]], [5, 6]).candidate(1) == [2]
    check_distinct([[1], [2]])


@pytest.mark.parametrize(
    ("domain", "scores", "size"),
    [
        (Integers(10, 19), {12: 5, 10: 7}, 10),
        (range(10, 20), {12: 5, 10: 7}, 10),
        (Strings("ab", longest=3), {"ab": 1, "bbb": 2, "a": 3}, 14),
        (Product(["f", "m"], range(3)), {("m", 0): 5}, 6),
        (Integers(0, 4), {4: 0, 3: 1, 2: 2, 1: 3, 0: 4}, 5),
        (Integers(0, 4), {}, 5),
    ],
    ids=str,
)
def test_an_implicit_domain_has_every_member_once(
    domain: Any, scores: Mapping[Any, int], size: int
) -> None:
    found = slate(domain, scores)
    assert read(found) == scores
    assert found.others == size - len(scores)
    assert not found.ordered
    members = [found.candidate(index) for index in range(size)]
    assert len(set(members)) == size
    assert all(member in domain if isinstance(domain, range) else True for member in members)


def test_the_unlisted_are_numbered_without_gaps() -> None:
    for size in range(1, 9):
        for mask in range(1 << size):
            listed = [i for i in range(size) if mask >> i & 1]
            ranks = [unlisted(listed, rank) for rank in range(size - len(listed))]
            assert ranks == [i for i in range(size) if i not in listed]
    huge = np.array([5, 10**18], dtype=object)
    assert unlisted(huge, 10**30) == 10**30 + 2


def test_a_domain_size_numbers_the_candidates() -> None:
    """What is listed then may come from the data: it is not what decides the candidates."""
    table = pd.DataFrame({"id": [5, 2], "count": [3, 9]}, index=[70, 80])
    for candidates, scores in [
        ([5, 2], [3, 9]),
        (np.array([5, 2]), np.array([3, 9])),
        (np.array([5, 2], dtype=np.uint64), [3, 9]),
        (table["id"], table["count"]),
        ((counts := {5: 3, 2: 9}).keys(), counts),
        (counts, None),
        (None, counts),
        (None, pd.Series(counts)),
        ([5, 2], {5: 3, 2: 9}.get),
    ]:
        found = slate(candidates, scores, domain_size=8)
        assert read(found) == {5: 3, 2: 9}
        assert [found.candidate(index) for index in range(8)] == [5, 2, 0, 1, 3, 4, 6, 7]
    assert slate([1 << 70], [1], domain_size=1 << 80).candidate(5) == 4
    assert slate([np.uint64((1 << 64) - 1)], [1], domain_size=1 << 64).candidate(0) == (1 << 64) - 1


@pytest.mark.parametrize(
    ("candidates", "scores", "size", "error", "message"),
    [
        ([1, 1], [1, 2], 8, ValueError, "a candidate is listed twice"),
        ([8], [1], 8, ValueError, "scores name something that is not among"),
        ([-1], [1], 8, ValueError, "scores name something that is not among"),
        (["a"], [1], 8, TypeError, "with domain_size the candidates are whole numbers from 0 on"),
        ([1.0], [1], 8, TypeError, "with domain_size the candidates are whole numbers from 0 on"),
        ([1, 2], [1], 8, ValueError, "there must be one score for each listed candidate$"),
        ([1, 2], {5: 3}, 8, TypeError, "with domain_size, scores that name their candidates go"),
        (Integers(0, 7), [1], 8, TypeError, "a domain has its own size; leave domain_size out"),
        (None, [1], 8, TypeError, "with domain_size, list the candidates that have scores"),
        ([1], [1], 0, ValueError, "domain_size must be a positive whole number, got 0"),
        ([1], [1], 8.0, TypeError, "domain_size must be a positive whole number, got 8.0"),
    ],
    ids=str,
)
def test_a_domain_size_that_does_not_fit_is_refused(
    candidates: Any, scores: Any, size: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        slate(candidates, scores, domain_size=size)
