# SPDX-License-Identifier: Apache-2.0
"""One law for every door that takes a column: what is read, what is refused, and how.

Hostile columns go through every door. Whether a column is read depends on its types alone, not on
the door's taste, and a refusal shows nothing of what the column holds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sordino as so
from sordino.mechanisms.choose.quantiles.quantiles import Quantiles
from sordino.sensitivity import smooth as bounds

SECRET = 41957
KEY = bytes(32)
CELLS = [SECRET, 7, 2]
SHAPE, SIZE, KIND, GAP, NAN, FLAG, LONG, REAL = (
    "shape", "dimensions", "kind", "missing", "nan", "boolean", "extended", "real",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A door, and what it says that it reads beyond finite numbers in one column."""

    take: Callable[[Any], object]
    reads: frozenset[str] = frozenset()


def case(take: Callable[[Any], object], *reads: str) -> Case:
    return Case(take, frozenset(reads))


CHOICE: dict[str, Any] = {"sensitivity": 1.0, "epsilon": 1}
RANGE: dict[str, Any] = {"range": (0.0, 1e6), "epsilon": 1, "neighbours": "add_remove"}
SMOOTH: dict[str, Any] = {"bounds": (0, 10**6), "beta": 0.5}
CLAMPED: dict[str, Any] = {"groups": 9, "low": 0, "high": 10**6, "secret": KEY}


def streamed(column: Any) -> object:
    stream = so.Exponential(**CHOICE).stream()
    stream.add(column)
    return stream.choose()


def counted(column: Any) -> object:
    return Quantiles([0.5], **RANGE).release([1.0, 2.0, 3.0], column)


def amounts(column: Any) -> object:
    kept = so.bound_contributions([0, 1, 2], ["a", "b", "c"], column, **CLAMPED)
    total: Any = kept.totals().amounts
    return total.tolist()


def ids(column: Any) -> object:
    return so.bound_contributions(column, [0, 1, 2], groups=9, secret=KEY).totals()


SCORES = (REAL, LONG)
EVERYTHING = (REAL, LONG, GAP, NAN)
DOORS: dict[str, Case] = {
    "Laplace, reals": case(so.Laplace(sensitivity=1.0, epsilon=1).release, REAL, SIZE),
    "Laplace, integers": case(so.Laplace(sensitivity=1, epsilon=1).release, SIZE),
    "Gaussian": case(so.Gaussian(sensitivity=1.0, rho=1).release, REAL, SIZE),
    "Exponential": case(so.Exponential(**CHOICE).release, *SCORES),
    "PermuteAndFlip": case(so.PermuteAndFlip(**CHOICE).release, *SCORES),
    "NoisyMax, Laplace": case(so.NoisyMax(**CHOICE, noise="laplace").release, *SCORES),
    "NoisyMax, Gumbel": case(so.NoisyMax(**CHOICE, noise="gumbel").release, *SCORES),
    "TopK": case(so.TopK(k=1, **CHOICE).release, *SCORES),
    "JointTopK": case(so.JointTopK(k=1, epsilon=1, neighbours="add_remove").release, *SCORES),
    "Generalised": case(so.Generalised(sensitivities=[1, 2, 3], epsilon=1).release, *SCORES),
    "a stream": case(streamed, *SCORES),
    "Quantiles": case(Quantiles([0.5], **RANGE).release, REAL),
    "counts of Quantiles": case(counted),
    "AboveThreshold": case(
        lambda column: so.AboveThreshold(threshold=0, **CHOICE).start().ask_many(column), REAL
    ),
    "bids": case(lambda column: so.revenues(column, [1, 2]), REAL),
    "KeySelection": case(
        so.KeySelection(epsilon=1, delta=1e-6, neighbours="add_remove").release
    ),
    "private bounds": case(
        lambda column: so.private_bounds(column, epsilon=1, neighbours="add_remove"),
        *EVERYTHING, FLAG,
    ),
    "contributions": case(amounts, *EVERYTHING, FLAG),
    "smooth median": case(lambda column: bounds.median(column, **SMOOTH), *EVERYTHING),
    "smooth trimmed mean": case(
        lambda column: bounds.trimmed_mean(column, trim=1, **SMOOTH), *EVERYTHING
    ),
    "identifiers": case(ids, *EVERYTHING, FLAG, KIND),
}  # fmt: skip

SAME: dict[str, Callable[[list[int]], Any]] = {
    "a list": list,
    "a tuple": tuple,
    "numpy int64": np.array,
    "numpy uint64": lambda cells: np.array(cells, dtype=np.uint64),
    "numpy int32": lambda cells: np.array(cells, dtype=np.int32),
    "numpy objects": lambda cells: np.array(cells, dtype=object),
    "numpy scalars": lambda cells: [np.int64(cell) for cell in cells],
    "every other cell": lambda cells: np.repeat(cells, 2)[::2],
    "pandas": pd.Series,
    "pandas, nullable": lambda cells: pd.Series(cells, dtype="Int64"),
    "pandas, Arrow": lambda cells: pd.Series(cells, dtype="int64[pyarrow]"),
    "pandas, objects": lambda cells: pd.Series(cells, dtype=object),
    "pandas, an array": lambda cells: pd.array(cells, dtype="Int64"),
    "polars": pl.Series,
    "Arrow": pa.array,
    "Arrow, in chunks": lambda cells: pa.chunked_array([cells[:1], cells[1:]]),
    "Arrow, dictionary": lambda cells: pa.array(cells).dictionary_encode(),
}
REALS: dict[str, Callable[[list[int]], Any]] = {
    "doubles": lambda cells: [float(cell) for cell in cells],
    "Decimals": lambda cells: [Decimal(cell) for cell in cells],
    "Fractions": lambda cells: [Fraction(cell) for cell in cells],
    "many types": lambda cells: [Decimal(cells[0]), float(cells[1]), cells[2]],
    "numpy float64": lambda cells: np.array(cells, dtype=np.float64),
    "numpy float32": lambda cells: np.array(cells, dtype=np.float32),
    "polars doubles": lambda cells: pl.Series(cells, dtype=pl.Float64),
    "polars Decimals": lambda cells: pl.Series([Decimal(cell) for cell in cells]),
    "Arrow doubles": lambda cells: pa.array(map(float, cells)),
    "Arrow Decimals": lambda cells: pa.array([Decimal(cell) for cell in cells]),
}
HOSTILE: dict[str, tuple[str, Any]] = {
    "a masked array": (SHAPE, np.ma.masked_array(CELLS, [True, False, False])),
    "an unmasked masked array": (SHAPE, np.ma.masked_array(CELLS)),
    "a text": (SHAPE, str(SECRET)),
    "bytes": (SHAPE, str(SECRET).encode()),
    "a mapping": (SHAPE, {"a": SECRET, "b": 1, "c": 2}),
    "a set": (SHAPE, {SECRET, 1, 2}),
    "a pandas table": (SHAPE, pd.DataFrame({"a": CELLS})),
    "a polars table": (SHAPE, pl.DataFrame({"a": CELLS})),
    "an Arrow table": (SHAPE, pa.table({"a": CELLS})),
    "no dimension": (SIZE, np.array(SECRET)),
    "two dimensions": (SIZE, np.array([CELLS, CELLS, CELLS])),
    "texts": (KIND, [str(SECRET), "b", "c"]),
    "one text": (KIND, [SECRET, "b", 1]),
    "numpy texts": (KIND, np.array([str(SECRET), "b", "c"])),
    "numpy bytes": (KIND, np.array([str(SECRET), "b", "c"], dtype="S")),
    "new numpy texts": (KIND, np.array([str(SECRET), "b", "c"], dtype=np.dtypes.StringDType())),
    "pandas texts": (KIND, pd.Series([str(SECRET), "b", "c"])),
    "polars texts": (KIND, pl.Series([str(SECRET), "b", "c"])),
    "Arrow texts": (KIND, pa.array([str(SECRET), "b", "c"])),
    "categories": (KIND, pd.Series([str(SECRET), "b", "c"], dtype="category")),
    "dates": (KIND, [date(2020, 1, 1), date(2020, 1, 2), SECRET]),
    "numpy dates": (KIND, np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]")),
    "a missing list entry": (GAP, [SECRET, None, 2]),
    "NA": (GAP, [SECRET, pd.NA, 2]),
    "NaT": (GAP, [SECRET, pd.NaT, 2]),
    "missing, objects": (GAP, np.array([SECRET, None, 2], dtype=object)),
    "missing, nullable": (GAP, pd.Series([SECRET, None, 2], dtype="Int64")),
    "missing, pandas Arrow": (GAP, pd.Series([SECRET, None, 2], dtype="int64[pyarrow]")),
    "missing, polars": (GAP, pl.Series([SECRET, None, 2])),
    "missing, Arrow": (GAP, pa.array([SECRET, None, 2])),
    "missing, Arrow in chunks": (GAP, pa.chunked_array([[SECRET], [None, 2]])),
    "missing, Arrow dictionary": (GAP, pa.array([SECRET, None, 2]).dictionary_encode()),
    "NaN": (NAN, [float(SECRET), float("nan"), 2.0]),
    "NaN, Decimal": (NAN, [Decimal(SECRET), Decimal("nan"), Decimal(2)]),
    "NaN, numpy": (NAN, np.array([SECRET, np.nan, 2])),
    "NaN, pandas": (NAN, pd.Series([SECRET, None, 2])),
    "NaN, polars doubles": (NAN, pl.Series([float(SECRET), None, 2.0])),
    "booleans": (FLAG, [True, False, True]),
    "a boolean": (FLAG, [SECRET, True, 2]),
    "a boolean beside reals": (FLAG, [SECRET + 0.5, True, 2.5]),
    "a numpy boolean": (FLAG, [SECRET, np.True_, 2]),
    "numpy booleans": (FLAG, np.array([True, False, True])),
    "polars booleans": (FLAG, pl.Series([True, False, True])),
    "Arrow booleans": (FLAG, pa.array([True, False, True])),
    "long doubles": (LONG, np.array(CELLS, dtype=np.longdouble)),
    "a long double": (LONG, [SECRET, np.longdouble(3), 2]),
}
NEVER: dict[str, Any] = {
    "complex numbers": [complex(SECRET), 1j, 2j],
    "numpy complex": np.array([SECRET, 1j, 2]),
    "durations": [timedelta(SECRET), timedelta(1), timedelta(2)],
    "numpy durations": np.array([SECRET, 1, 2], dtype="m8[s]"),
    "a numpy duration": [SECRET, np.timedelta64(1, "s"), 2],
    "rows": [[SECRET], [1, 2], [3]],
    "mappings": [{"a": SECRET}, {}, {}],
    "objects": [object(), SECRET, 1],
}
ERRORS: dict[str, Any] = {SIZE: ValueError, GAP: ValueError, NAN: (ValueError, TypeError)}
every = pytest.mark.parametrize("door", DOORS)


def refused(door: str, column: Any, error: Any) -> None:
    with pytest.raises(error) as caught:
        DOORS[door].take(column)
    assert type(caught.value) in (TypeError, ValueError)
    assert str(SECRET) not in str(caught.value)
    assert caught.value.__cause__ is None


@every
@pytest.mark.parametrize("name", SAME)
def test_integers_are_read_whatever_holds_them(door: str, name: str) -> None:
    DOORS[door].take(SAME[name](CELLS))


@every
@pytest.mark.parametrize("name", REALS)
def test_reals_are_read_exactly_where_reals_are(door: str, name: str) -> None:
    if REAL in DOORS[door].reads:
        DOORS[door].take(REALS[name](CELLS))
    else:
        refused(door, REALS[name](CELLS), TypeError)


@every
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_column_is_read_or_refused_by_its_types(door: str, name: str) -> None:
    fault, column = HOSTILE[name]
    if fault in DOORS[door].reads:
        DOORS[door].take(column)
    else:
        refused(door, column, ERRORS.get(fault, TypeError))


@every
@pytest.mark.parametrize("name", NEVER)
def test_what_is_no_number_is_refused_everywhere(door: str, name: str) -> None:
    refused(door, NEVER[name], TypeError)


DECIDED: dict[str, Callable[[Any], object]] = {
    "bids": lambda column: so.revenues(column, [1, 7, 2**60, 2**63 + 1024]),
    "contributions": amounts,
    "smooth median": lambda column: bounds.median(column, **SMOOTH),
    "weights": lambda column: so.Exponential(**CHOICE).probabilities(column).tolist(),
    "quantile places": lambda column: so.Interval(0, 10**6).nearest(column).tolist(),
}


@pytest.mark.parametrize("door", DECIDED)
def test_one_column_means_one_thing_whatever_holds_it(door: str) -> None:
    take = DECIDED[door]
    for make in (*SAME.values(), *REALS.values()):
        assert take(make(CELLS)) == take(CELLS)


@pytest.mark.parametrize("door", DECIDED)
def test_large_unsigned_integers_keep_their_value(door: str) -> None:
    large = [2**63 + 2048, 2**63 + 1, 5]
    take = DECIDED[door]
    for make in (
        lambda cells: np.array(cells, dtype=np.uint64),
        lambda cells: pl.Series(cells, dtype=pl.UInt64),
        lambda cells: pa.array(cells, type=pa.uint64()),
        lambda cells: pd.Series(cells, dtype="UInt64"),
    ):
        assert take(make(large)) == take(large)


@every
@pytest.mark.parametrize("kind", [np.int64, np.uint8, object])
def test_an_empty_column_has_no_wrong_types(door: str, kind: Any) -> None:
    columns: list[Any] = [[], np.array([], dtype=kind), pd.Series([], dtype=kind)]
    for column in columns:
        with suppress(ValueError):  # some doors need at least one entry
            DOORS[door].take(column)
