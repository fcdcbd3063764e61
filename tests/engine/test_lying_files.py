# SPDX-License-Identifier: Apache-2.0
"""Parquet files whose footers lie: no value of a row gets out of its bounds, and no id gets lost.

A footer says how small and how large the values of a column are, and an engine leaves out what that
makes needless. The files here have one value in a page that their footer does not know.
"""

from __future__ import annotations

import struct
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog.model import Catalog, Column, ParquetFile, Table
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import SealedError
from sordino.plan.plan import (
    COARSE,
    FINE,
    Bounded,
    Cells,
    Ranks,
    RowCount,
    Shares,
    Total,
    UnitCount,
)
from sordino.query.operations import call
from sordino.query.tree import Field, Key, Literal, PerUnit, Scan, UnitKind, UnitMeasure
from sordino.query.types import Range, Type
from tests.engine.engines import rows_of

LOW, HIGH, MARK, MANY = 0, 100, 77, 40
ALONE, ONE = Shares(rows=1, alone=True), Shares(rows=1)
DAY, MOMENT = date(1970, 1, 1), datetime(1970, 1, 1)
KINDS: dict[str, tuple[pa.DataType, str, Type, list[Any]]] = {
    "int8": (pa.int8(), "<i", Type.INTEGER, [127, -128]),
    "int16": (pa.int16(), "<i", Type.INTEGER, [30_000, -30_000]),
    "int32": (pa.int32(), "<i", Type.INTEGER, [2 * 10**9, -(2 * 10**9)]),
    "int64": (pa.int64(), "<q", Type.INTEGER, [10**12, -(2**63), 2**63 - 1, 101, -1]),
    "float32": (pa.float32(), "<f", Type.REAL, [1e30, -1e30, float("inf"), float("nan")]),
    "float64": (pa.float64(), "<d", Type.REAL, [1e300, -1e300, float("-inf"), float("nan")]),
    "date": (pa.date32(), "<i", Type.DATE, [2_000_000, -700_000, 2**31 - 1]),
    "timestamp": (pa.timestamp("us"), "<q", Type.TIMESTAMP, [10**17, -(10**16), 2**63 - 1]),
}
CASES = [(name, value) for name, (_, _, _, values) in KINDS.items() for value in values]


def lying(path: Path, columns: dict[str, pa.Array], column: str, form: str, value: Any) -> None:
    """Write a file, and put another value in the place of one that is its column's only mark."""
    held = pa.table(columns)
    pq.write_table(held, path, use_dictionary=False, compression="none", column_encoding="PLAIN")
    raw = bytearray(path.read_bytes())
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(held.column_names.index(column))
    first, last = chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size
    mark = struct.pack(form, MARK)
    place = raw.rindex(mark, first, last)
    raw[place : place + len(mark)] = struct.pack(form, value)
    path.write_bytes(raw)


def numbers(kind: pa.DataType) -> pa.Array:
    """Return small values, of which one is marked; the largest stands elsewhere."""
    values: list[Any] = [*(1 + place % 3 for place in range(MANY - 2)), 90, MARK]
    if pa.types.is_date(kind):
        values = [DAY + timedelta(days=value) for value in values]
    elif pa.types.is_timestamp(kind):
        values = [MOMENT + timedelta(microseconds=value) for value in values]
    return pa.array(values, kind)


def opened(path: Path, kind: Type, unit: str) -> DuckdbEngine:
    columns = (Column("who", Type.INTEGER), Column("v", kind))
    return DuckdbEngine(Catalog((Table("t", ParquetFile(path), columns, unit=unit),)), threads=1)


def argument_of(kind: Type) -> Any:
    """Return a number of a column; of a day or a moment, one that is in its year and its hour."""
    field = Field("v", kind, "v")
    return call("year", field) if kind.is_time else field


@pytest.mark.parametrize("unit", ["row", "who"])
@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_value_beyond_its_footer_stays_within_the_shifts(
    tmp_path: Path, name: str, value: Any, unit: str
) -> None:
    stored, form, kind, _ = KINDS[name]
    path = tmp_path / "t.parquet"
    who = pa.array([*range(MANY)], pa.int64())
    lying(path, {"who": who, "v": numbers(stored)}, "v", form, value)
    held = (
        pq.read_table(path)
        .column("v")
        .cast({"date32[day]": pa.int32(), "timestamp[us]": pa.int64()}.get(str(stored), stored))
    )
    assert str(held[-1].as_py()) == str(pa.scalar(value, held.type).as_py())  # the file does lie
    low, high = (1970, 1971) if kind.is_time else (LOW, HIGH)
    rows = Scan("t", ((Field("v", kind, "v"), "v"),))
    argument = argument_of(kind)
    ends = [Literal(end, argument.type) for end in (low, high)]
    held_in = call("clamp", argument, *ends)
    total, square = Total(argument, low, high, 0), Total(argument, low, high, 0, power=2)
    inside = Total(held_in, -(2**31), 2**31, 0)
    ranks = Ranks(argument, low, high, 0)
    cells = Cells((RowCount(argument), total, square, inside))
    shares = ALONE if unit == "row" else ONE
    bounded = Bounded(rows, (), shares, (cells, ranks))
    honest_path = tmp_path / "honest.parquet"
    pq.write_table(pa.table({"who": who[:-1], "v": numbers(stored)[:-1]}), honest_path)
    engine, honest = opened(path, kind, unit), opened(honest_path, kind, unit)
    ((count, added, squared, clamped),), places = rows_of(engine, bounded)
    ((count_, added_, squared_, clamped_),), places_ = rows_of(honest, bounded)
    engine.close()
    honest.close()
    full, coarse = (1, 1) if unit == "row" else (FINE, COARSE)
    assert 0 <= count - count_ <= full
    assert 0 <= added - added_ <= high * full
    assert 0 <= squared - squared_ <= high**2 * full
    assert 0 <= clamped - clamped_ <= high * full
    assert all(0 <= place <= high - low for place, _ in places)
    moved = [dict(places).get(place, 0) - dict(places_).get(place, 0) for place in range(high + 1)]
    assert sorted(filter(None, moved)) in ([], [coarse])


@pytest.mark.parametrize("value", [10**12, -(2**62), 101, -1])
def test_the_sum_of_a_unit_stays_within_its_range(tmp_path: Path, value: int) -> None:
    path = tmp_path / "t.parquet"
    who = pa.array([*range(MANY)], pa.int64())
    lying(path, {"who": who, "v": numbers(pa.int64())}, "v", "<q", value)
    field, made = Field("v", Type.INTEGER, "v"), Field("made", Type.INTEGER, "made")
    measure = UnitMeasure(UnitKind.SUM, field, Range(Fraction(LOW), Fraction(HIGH)))
    rows = PerUnit(Scan("t", ((field, "v"),)), ((made, measure),))
    cells = Cells((Total(made, -(2**31), 2**31, 0),))
    engine = opened(path, Type.INTEGER, "who")
    (((total,),),) = rows_of(engine, Bounded(rows, (), ONE, (cells,)))
    engine.close()
    others = sum(1 + place % 3 for place in range(MANY - 2)) + 90
    assert total == (others + min(max(value, LOW), HIGH)) * FINE


@pytest.mark.parametrize("keyed", [False, True])
def test_an_id_beyond_its_footer_is_nobody_elses(tmp_path: Path, keyed: bool) -> None:
    path = tmp_path / "t.parquet"
    who = pa.array([*range(MANY - 1), MARK], pa.int64())
    # In eight bits the id of the last row would be that of the first.
    lying(path, {"who": who, "v": pa.array([place % 2 for place in range(MANY)])}, "who", "<q", 256)
    field = Field("v", Type.INTEGER, "v")
    keys = (Key(field, "v", (0, 1)),) if keyed else ()
    engine = opened(path, Type.INTEGER, "who")
    bounded = Bounded(Scan("t", ((field, "v"),)), keys, ONE, (Cells((UnitCount(),)),))
    (counted,) = rows_of(engine, bounded)
    engine.close()
    assert sum(row[-1] for row in counted) == MANY


@pytest.mark.parametrize("value", [10**12, 130])
def test_a_key_beyond_its_footer_moves_one_row_or_fails_sealed(tmp_path: Path, value: int) -> None:
    path = tmp_path / "t.parquet"
    who = pa.array([*range(MANY)], pa.int64())
    lying(path, {"who": who, "v": numbers(pa.int64())}, "v", "<q", value)
    field = Field("v", Type.INTEGER, "v")
    engine = opened(path, Type.INTEGER, "row")
    key = Key(field, "v", (1, 2, 3, 90))
    bounded = Bounded(Scan("t", ((field, "v"),)), (key,), ALONE, (Cells((RowCount(),)),))
    try:
        (counted,) = rows_of(engine, bounded)
    except SealedError:
        return
    finally:
        engine.close()
    assert MANY - 1 <= sum(row[-1] for row in counted) <= MANY
