# SPDX-License-Identifier: Apache-2.0
"""Numbers with names go by name, others by place; the candidates decide which."""

import math
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sordino.mechanisms.choose import Integers, Product, Strings
from sordino.mechanisms.choose.scores import in_order, one_by_one, read_scores
from tests.mechanisms.unit.choose.slates import read, slate

COUNTS = {"flu": 41957, "mumps": 3}
CANDIDATES = ["flu", "measles"]


def series() -> Any:
    return pd.Series(COUNTS)


def frame() -> Any:
    return pd.DataFrame({"name": [*COUNTS], "count": [*COUNTS.values()]})


def test_labels_are_aligned_by_name_and_positions_by_position() -> None:
    backwards = pd.Series([3, 41957], index=["mumps", "flu"])
    assert read(slate(["flu", "mumps"], backwards)) == COUNTS
    assert read(slate(["flu", "measles", "mumps"], backwards, default_score=-1)) == {
        "flu": 41957,
        "measles": -1,
        "mumps": 3,
    }
    assert read(slate(["mumps", "flu"], pd.Series([3, 41957]))) == COUNTS
    assert read(slate(["mumps", "flu"], {"flu": 41957, "mumps": 3})) == COUNTS


def test_labels_other_than_the_numbers_of_the_rows_are_names() -> None:
    """A RangeIndex that does not start at 0 was given by somebody, or is what a filter left."""
    later = pd.Series([500, 3, 2], index=range(1, 4))
    assert type(later.index) is pd.RangeIndex
    assert read(slate([3, 2, 1], later)) == {1: 500, 2: 3, 3: 2}
    assert read(slate(range(3, 0, -1), later)) == {1: 500, 2: 3, 3: 2}
    assert read(slate(Integers(0, 9), later)) == {1: 500, 2: 3, 3: 2}
    backwards = pd.Series([500, 3, 2])[::-1]
    assert read(slate([1, 0, 2], backwards)) == {0: 500, 1: 3, 2: 2}
    for left in (pd.Series([0, 0, 3, 41957])[2:], pd.Series([41957, 3])[::-1]):
        with pytest.raises(ValueError, match="candidates are of type str, scores are named by int"):
            slate(["mumps", "flu"], left)


@pytest.mark.parametrize(
    "names",
    [[2, 0, 1], (2, 0, 1), range(2, -1, -1), np.array([2, 0, 1]), np.array([2.0, 0.0, 1.0]),
     [2.0, 0, np.int8(1)], pd.Series([2, 0, 1])],
    ids=range(7),
)  # fmt: skip
def test_row_numbers_are_names_if_candidates_are_numbers(names: Any) -> None:
    assert read(slate(names, pd.Series([41957, 0, 0]))) == {0: 41957, 1: 0, 2: 0}
    assert read(slate(names, [41957, 0, 0])) == {2: 41957, 0: 0, 1: 0}
    assert read(slate(names, {0: 0, 1: 0, 2: 41957})) == {2: 41957, 0: 0, 1: 0}
    if isinstance(names, list):
        with pytest.raises(TypeError, match="go without a list of candidates"):
            slate(names, pd.Series([41957, 0, 0]), domain_size=3)


@pytest.mark.parametrize(
    "names",
    [[0, 1, 2], range(3), Integers(0, 2), np.arange(3), ["b", "a", "c"], np.array(["b", "a", "c"]),
     [[2], [0], [1]]],
    ids=range(7),
)  # fmt: skip
def test_rows_without_names_are_in_the_order_of_the_candidates(names: Any) -> None:
    found = slate(names, pd.Series([7, 8, 9]))
    assert [found.candidate(index) for index in range(3)] == list(names)
    assert one_by_one(read_scores(found.scores)) == [7, 8, 9]


@pytest.mark.parametrize(
    "names", [[1, 2, 3], [0, 1, 5], [2, 0, "b"], [0.5, 0, 2], np.array([0.5, 0, 2])], ids=range(5)
)
def test_row_numbers_that_are_no_candidates_are_refused(names: Any) -> None:
    with pytest.raises(ValueError, match=r"its labels 0, 1, \.\.\. are names because there are"):
        slate(names, pd.Series([7, 8, 9]))


@pytest.mark.parametrize("scores", [COUNTS, series()], ids=["dict", "Series"])
def test_a_name_that_is_no_candidate_is_refused_without_quoting_it(scores: Any) -> None:
    for candidates in (["flu", "measles"], Strings("abc", longest=5), Integers(0, 9), range(5)):
        with pytest.raises(ValueError, match="not among the candidates") as raised:
            slate(candidates, scores)
        assert "mumps" not in str(raised.value)
        assert "41957" not in str(raised.value)


@pytest.mark.parametrize(
    ("scores", "how"),
    [
        (COUNTS, "{name: counts.get(name, 0) for name in CANDIDATES}"),
        (series(), "counts.reindex(CANDIDATES, fill_value=0)"),
    ],
    ids=["dict", "Series"],
)
def test_a_candidate_is_never_to_be_added_because_the_data_has_it(scores: Any, how: str) -> None:
    with pytest.raises(ValueError, match=r"^scores name something that is") as raised:
        slate(CANDIDATES, scores)
    assert str(raised.value) == (
        "scores name something that is not among the candidates; leave it out, for instance with "
        f"{how}, and never add a candidate because the data has it"
    )
    left = eval(how, {"counts": scores, "CANDIDATES": CANDIDATES})  # noqa: S307 - our own advice
    assert read(slate(CANDIDATES, left)) == {"flu": 41957, "measles": 0}


@pytest.mark.parametrize(
    ("candidates", "scores", "ours", "theirs"),
    [
        ([date(2026, 1, 1)], pd.Series([1], index=pd.to_datetime(["2026-01-01"])), "date", "Times"),
        (["1", "2"], {1: 41957}, "str", "int"),
        (np.array(["1", "2"]), {1: 41957}, "str", "int"),
        (range(5), {"1": 41957}, "int", "str"),
        (Product(["f"], [1]), {"f": 41957}, "tuple", "str"),
    ],
    ids=range(5),
)
def test_names_of_another_type_are_told_apart_by_their_types(
    candidates: Any, scores: Any, ours: str, theirs: str
) -> None:
    with pytest.raises(
        ValueError, match=f"candidates are of type {ours}, scores are named by {theirs}"
    ) as raised:
        slate(candidates, scores)
    assert "reindex" not in str(raised.value)
    assert "2026" not in str(raised.value)


@pytest.mark.parametrize(
    ("rows", "error"),
    [(["flu"] * 41957, ValueError), (np.array(["flu"] * 41957), ValueError), ([7], ValueError)],
    ids=range(3),
)
def test_rows_in_place_of_scores_are_told_to_be_counted(rows: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        slate(["flu", "mumps"], rows)
    assert str(raised.value) == (
        "scores must be one number for each of 2 candidates; for raw rows count them first, as "
        "with collections.Counter(rows)"
    )
    with pytest.raises(ValueError, match=r"^scores must be one number for the only candidate;"):
        slate(["flu"], [1, 2])


def test_tables_in_place_of_scores_are_told_how_to_become_them() -> None:
    rows = ["flu"] * 5 + ["mumps"] * 2
    table = pl.Series("name", rows).value_counts()
    with pytest.raises(
        TypeError, match=r"^scores are a table; .* use dict\(table\.iter_rows\(\)\)"
    ):
        slate(["flu", "mumps"], table)
    assert read(slate(["flu", "mumps"], dict(table.iter_rows()))) == {"flu": 5, "mumps": 2}
    with pytest.raises(
        TypeError, match=r"^scores are a table; .* table\.set_index\(NAME\)\[COUNT\]"
    ):
        slate(["flu", "mumps"], frame())
    with pytest.raises(TypeError, match=r"^candidates must be a list, got a value of type DataFr"):
        slate(frame(), [1, 2])


@pytest.mark.parametrize(
    ("default", "error", "got"),
    [
        (None, TypeError, "a value of type NoneType"),
        ("0", TypeError, "a value of type str"),
        (math.nan, ValueError, "nan"),
        (math.inf, ValueError, "inf"),
    ],
)
@pytest.mark.parametrize("candidates", [["flu", "mumps"], Strings("flumps", longest=5)], ids=repr)
def test_a_default_score_is_a_number(
    candidates: Any, default: Any, error: type[Exception], got: str
) -> None:
    with pytest.raises(error, match=f"^default_score must be a finite number, got {got}$"):
        slate(candidates, COUNTS, default_score=default)


def test_names_are_looked_up_among_hashable_candidates() -> None:
    with pytest.raises(TypeError, match=r"^candidates that are called by name must be hashable"):
        slate([["a"], ["b"]], {"a": 1})


def test_a_label_that_is_there_twice_is_refused() -> None:
    twice = pd.Series([1, 2], index=["flu", "flu"])
    with pytest.raises(ValueError, match=r"^a candidate is named twice in scores"):
        slate(["flu", "mumps"], twice)


def test_numbers_are_put_in_the_order_of_the_candidates() -> None:
    for given in ({"b": 2, "a": 1}, pd.Series({"b": 2, "a": 1}), [1, 2], pd.Series([1, 2])):
        assert in_order("base", given, ["a", "b"]) == [1, 2]
        assert in_order("base", given, np.array(["a", "b"])) == [1, 2]
    with pytest.raises(ValueError, match=r"^base must have one number for the only candidate, got"):
        in_order("base", [1, 2], ["a"])
    with pytest.raises(TypeError, match=r"^candidates that are called by name must be hashable"):
        in_order("base", {"a": 1}, [["a"]])
