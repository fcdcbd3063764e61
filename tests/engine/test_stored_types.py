# SPDX-License-Identifier: Apache-2.0
"""Parquet columns that are stored in more bits than their type has: no two ids become one.

DuckDB leaves out the bits that do not fit, or fails, before any SQL of ours sees a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog.model import Catalog, Column, ParquetFile, Table
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError
from sordino.plan.plan import Bounded, Cells, RowCount, Shares, UnitCount
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.engines import RECEIPT, rows_of
from tests.engine.footers import (
    DECIMAL,
    INT_8,
    INT_16,
    UINT_8,
    UINT_16,
    Struct,
    say_type,
)
from tests.support.trace import unsealed

ALONE = Shares(rows=1, alone=True)
UNITS = Bounded(Scan("t", ()), (), Shares(rows=1), (Cells((UnitCount(),)),))
SMALL = [1, -1, 99]


@contextmanager
def opened(path: Path, kind: Type, *, unit: str = "row") -> Iterator[DuckdbEngine]:
    table = Table("t", ParquetFile(path), (Column("v", kind),), unit=unit)
    with closing(DuckdbEngine(Catalog((table,)), threads=1)) as engine:
        yield engine


def values(path: Path, kind: Type = Type.INTEGER) -> Counter[Any]:
    field = Field("v", kind, "v")
    bounded = Bounded(
        Scan("t", ((field, "v"),)), (Key(field, "v", None),), ALONE, (Cells((RowCount(),)),)
    )
    with opened(path, kind) as engine:
        (part,) = unsealed(engine.run(bounded, RECEIPT, salt=7))
    pairs = zip(part.column("k0").to_pylist(), part.column("s0").to_pylist(), strict=True)
    return Counter({value: int(many) for value, many in pairs})


def units(path: Path) -> int:
    with opened(path, Type.INTEGER, unit="v") as engine:
        ((count,),) = rows_of(engine, UNITS)[0]
    return int(count)


def written(path: Path, column: pa.Array, logical: Struct | None = None, **fields: int) -> Path:
    """Write a column, and let the footer say that it is of another type."""
    pq.write_table(pa.table({"v": column}), path, store_schema=False)
    say_type(path, "v", logical=logical, **fields)
    return path


def fixed(size: int, entries: list[int]) -> pa.Array:
    return pa.array(
        [entry.to_bytes(size, "big", signed=True) for entry in entries], pa.binary(size)
    )


def test_decimals_of_arrow_that_have_too_many_digits_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    ids = [1, 65_537, 2, 131_073, -65_535]  # two bytes of which are 1, 1, 2, 1 and 1
    raw = b"".join(value.to_bytes(16, "little", signed=True) for value in ids)
    held = pa.Array.from_buffers(pa.decimal128(4, 0), len(ids), [None, pa.py_buffer(raw)])
    pq.write_table(pa.table({"v": held}), path, store_decimal_as_integer=True)
    assert pq.ParquetFile(path).schema.column(0).physical_type == "INT32"
    assert units(path) == 2
    assert values(path) == {1: 1, 2: 1, None: 3}


@pytest.mark.parametrize(
    ("column", "digits", "far"),
    [
        (pa.array([*SMALL, 65_537], pa.int32()), 4, 1),
        (pa.array([*SMALL, 2**16 + 99], pa.int32()), 2, 1),
        (pa.array([*SMALL, 2**32 + 1, 2**62], pa.int64()), 9, 2),
        (fixed(3, [*SMALL, 65_537]), 4, 1),
        (fixed(9, [*SMALL, 2**64 + 1, -(2**70)]), 18, 2),
        (fixed(16, [*SMALL, 2**100]), 4, 1),
        (fixed(16, [*SMALL, 2**100]), 18, 1),
        (fixed(32, [*SMALL, 2**250]), 60, 1),
    ],
)
def test_decimals_in_more_bytes_than_they_need_are_whole_or_missing(
    tmp_path: Path, column: pa.Array, digits: int, far: int
) -> None:
    path = tmp_path / "t.parquet"
    written(path, column, converted=DECIMAL, scale=0, precision=digits)
    assert units(path) == len(SMALL)
    assert values(path) == Counter(SMALL) + Counter([None] * far)


@pytest.mark.parametrize(
    ("column", "digits"),
    [
        (fixed(20, SMALL), 38),
        (fixed(32, SMALL), 4),
        (fixed(33, SMALL), 76),
        (pa.array([b"\1", b"\2"], pa.binary()), 18),
        (pa.array([b"\1", b"\2"], pa.binary()), 50),
        (fixed(32, SMALL), 77),
    ],
)
def test_decimals_that_nothing_reads_without_failing_are_refused(
    tmp_path: Path, column: pa.Array, digits: int
) -> None:
    path = tmp_path / "t.parquet"
    written(path, column, converted=DECIMAL, scale=0, precision=digits)
    with pytest.raises(CatalogError, match="file"), opened(path, Type.INTEGER):
        pass


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (pa.int8(), INT_8), (pa.int16(), INT_16), (pa.uint8(), UINT_8), (pa.uint16(), UINT_16),
    ],
)  # fmt: skip
def test_ids_of_few_bits_are_refused_and_values_are_not(
    tmp_path: Path, kind: pa.DataType, said: int
) -> None:
    plain = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"v": pa.array([1, 2], kind)}), plain)
    longer = written(tmp_path / "t.parquet", pa.array([1, 65_537], pa.int32()), converted=said)
    for path in (plain, longer):
        with pytest.raises(CatalogError, match=r"8 or 16 bits.*write it with 32 or 64"):
            units(path)
    assert values(plain) == {1: 1, 2: 1}
    assert values(plain, Type.TEXT) == {"1": 1, "2": 1}


def test_ids_that_only_arrow_takes_for_few_bits_are_refused(tmp_path: Path) -> None:
    bits: Struct = {10: (12, {1: (3, 8), 2: (1, True)})}
    path = written(tmp_path / "t.parquet", pa.array([1, 257], pa.int32()), bits)
    with pytest.raises(CatalogError, match="8 or 16 bits"):
        units(path)


@pytest.mark.parametrize(
    ("column", "fields", "logical"),
    [
        (pa.array([1, 257], pa.int64()), {"converted": INT_8}, None),
        (pa.array([1, 2**32 + 1], pa.int64()), {"converted": 17}, None),
        (pa.array([1.5, 2.5]), {"converted": INT_8}, None),
        (fixed(20, SMALL), {}, {14: (12, {})}),  # ids of 16 bytes
        (fixed(8, SMALL), {}, {14: (12, {})}),
        (pa.array([1, 2], pa.int32()), {}, {8: (12, {1: (1, True), 2: (12, {3: (12, {})})})}),
    ],
)
def test_types_that_are_not_stored_so_are_refused(
    tmp_path: Path, column: pa.Array, fields: dict[str, int], logical: Struct | None
) -> None:
    path = written(tmp_path / "t.parquet", column, logical, **fields)
    for kind in Type:
        with pytest.raises(CatalogError), opened(path, kind):
            pass
