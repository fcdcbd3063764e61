# SPDX-License-Identifier: Apache-2.0
"""One missing entry must not change how the entries of others are read."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sordino as so

SECRET = bytes(16)
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "polars": pl.Series,
    "arrow": pa.array,
    "chunked": lambda values: pa.chunked_array([pa.array(values)]),
    "pandas": lambda values: pd.Series(values, dtype="Int64"),
    "pandas arrow": lambda values: pd.Series(values, dtype="int64[pyarrow]"),
}
every = pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)


@every
def test_large_keys_stay_apart_beside_a_missing_one(make: Callable[[list[Any]], Any]) -> None:
    keys = [2**60 + i for i in range(100)]
    for more in ([], [None]):
        column = make([*keys, *more])
        totals = so.bound_contributions(
            range(len(keys) + len(more)), column, groups=1, secret=SECRET
        ).totals()
        assert [int(key) for key in totals.keys] == keys
        assert totals.units.tolist() == [1] * 100


@every
def test_large_units_stay_apart_beside_a_missing_one(make: Callable[[list[Any]], Any]) -> None:
    units = [2**60 + i for i in range(100)]
    for more in ([], [None]):
        column = make([*units, *more])
        kept = so.bound_contributions(column, ["k"] * (100 + len(more)), groups=1, secret=SECRET)
        assert kept.totals().units.tolist() == [100]


@every
def test_large_values_fall_into_their_cell_beside_a_missing_one(
    make: Callable[[list[Any]], Any],
) -> None:
    rule = so.PrivateBounds(epsilon=1, neighbours="add_remove", side="upper", powers=(0, 62))
    values = [2**60 - 1] * 2_000
    for more in ([], [None]):
        assert rule.release(make([*values, *more]))[1] == 2**60


def test_keys_that_are_told_do_not_show_what_else_was_in_the_column() -> None:
    for more in ([], [None], ["x"]):
        keys: list[Any] = [*([True, False] * 500), *more]
        column = pl.Series(keys) if more != ["x"] else keys
        totals = so.bound_contributions(range(len(keys)), column, groups=1, secret=SECRET).totals()
        for given in (totals.keys, list(totals.keys)):
            told = so.select_keys(
                given, totals.units, epsilon=1, delta=1e-9, neighbours="add_remove"
            )
            assert told == [0, 1]
            assert [type(key) for key in told] == [int, int]


def test_numpy_scalars_in_a_list_are_told_as_python_numbers() -> None:
    told = so.select_keys(
        [np.int64(3), "a"], [10**6, 10**6], epsilon=1, delta=1e-9, neighbours="add_remove"
    )
    assert [type(key) for key in told] == [int, str]
