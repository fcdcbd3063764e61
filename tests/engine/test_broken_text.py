# SPDX-License-Identifier: Apache-2.0
"""Text in Parquet files that is not UTF-8: it is missing, and all else is as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.engine.duckdb import DuckdbEngine
from sordino.plan.bounded import Bounded, Cells, RowCount, Shares, UnitCount
from sordino.query.catalog import Catalog, Column, ParquetFile, Table
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.engines import RECEIPT, rows_of

PEOPLE = 12
WHO, TEXT = Field("who", Type.INTEGER, "who"), Field("s", Type.TEXT, "s")
TYPES = {"who": Type.INTEGER, "s": Type.TEXT}
# What DuckDB would read in the place of a column of this name, and names of columns of our own.
NAMES = [
    "file_row_number", "FILE_ROW_NUMBER", "file_index", "filename", "Filename", "rowid", "row_id",
    "n0", "u", "a", "b", "t0", "t0p0", "t0p0x", "place",
]  # fmt: skip
UNITS = Bounded(Scan("t", ()), (), Shares(rows=1), (Cells((UnitCount(),)),))


def texts(*entries: bytes) -> pa.Array:
    return pa.array(entries, pa.binary()).view(pa.string())


@contextmanager
def opened(
    path: Path, types: dict[str, Type] | None = None, unit: str = "who"
) -> Iterator[DuckdbEngine]:
    columns = tuple(Column(name, kind) for name, kind in (types or TYPES).items())
    catalog = Catalog((Table("t", ParquetFile(path), columns, unit=unit),))
    with closing(DuckdbEngine(catalog, threads=1)) as engine:
        yield engine


def counted(engine: DuckdbEngine, name: str, kind: Type) -> Counter[Any]:
    """Return how many rows have each value of a column."""
    field = Field(name, kind, name)
    keys, shares = (Key(field, name, None),), Shares(rows=10**6)
    bounded = Bounded(Scan("t", ((field, name),)), keys, shares, (Cells((RowCount(),)),))
    (part,) = engine.run(bounded, RECEIPT, salt=7).open()
    values = zip(part.column("k0").to_pylist(), part.column("s0").to_pylist(), strict=True)
    return Counter({value: int(many) // shares.steps for value, many in values})


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_names_of_columns_do_not_matter(tmp_path: Path, name: str, declared: bool) -> None:
    path = tmp_path / "t.parquet"
    held = {
        "who": pa.array(range(PEOPLE)),
        "s": texts(*[b"x"] * (PEOPLE - 1), b"\xff"),
        name: pa.array([0] * PEOPLE),
    }
    pq.write_table(pa.table(held), path)
    types = TYPES | ({name: Type.INTEGER} if declared else {})
    with opened(path, types) as engine:
        assert counted(engine, "s", Type.TEXT) == {"x": PEOPLE - 1, None: 1}
        assert engine.database.broken == {str(path)}
        assert rows_of(engine, UNITS) == [{(PEOPLE,)}]
        if declared:
            assert counted(engine, name, Type.INTEGER) == {0: PEOPLE}


def test_only_files_with_such_text_are_read_otherwise(tmp_path: Path) -> None:
    for place, last in enumerate((b"x", b"\xff", b"y")):
        held = {"who": pa.array([2 * place, 2 * place + 1]), "s": texts(b"x", last)}
        pq.write_table(pa.table(held), tmp_path / f"{place}.parquet")
    with opened(tmp_path / "*.parquet") as engine:
        assert not engine.database.broken
        wanted = {"x": 4, "y": 1, None: 1}
        assert counted(engine, "s", Type.TEXT) == wanted
        assert engine.database.broken == {str(tmp_path / "1.parquet")}
        assert counted(engine, "who", Type.INTEGER) == dict.fromkeys(range(6), 1)
        # Another file gets such text.
        held = {"who": pa.array([0, 1]), "s": texts(b"x", b"\xfe")}
        pq.write_table(pa.table(held), tmp_path / "0.parquet")
        assert counted(engine, "s", Type.TEXT) == {"x": 3, "y": 1, None: 2}
        assert len(engine.database.broken) == 2


MANY: dict[str, tuple[Type, pa.Array]] = {
    "int8": (Type.INTEGER, pa.array([-128, 127, None], pa.int8())),
    "uint64": (Type.REAL, pa.array([2**64 - 1, 1, None], pa.uint64())),
    "float16": (Type.REAL, pa.array([0.5, float("nan"), None], pa.float16())),
    "float32": (Type.REAL, pa.array([0.1, float("inf"), None], pa.float32())),
    "decimal": (Type.REAL, pa.array([Decimal("1.25"), Decimal(-99), None], pa.decimal128(4, 2))),
    "wide": (Type.INTEGER, pa.array([Decimal(10**34), Decimal(7), None], pa.decimal128(35, 0))),
    "bool": (Type.BOOLEAN, pa.array([True, False, None])),
    "date": (Type.DATE, pa.array([0, 18_000, None], pa.int32()).view(pa.date32())),
    "us": (Type.TIMESTAMP, pa.array([2**63 - 1, -1, None], pa.int64()).view(pa.timestamp("us"))),
    "ns": (Type.TIMESTAMP, pa.array([-1, 1, None], pa.int64()).view(pa.timestamp("ns"))),
    "zone": (
        Type.TIMESTAMP,
        pa.array([-(2**63), 1, None], pa.int64()).view(pa.timestamp("us", "Asia/Kolkata")),
    ),
    "uuid": (
        Type.TEXT, pa.array([UUID(int=1).bytes, UUID(int=2**128 - 1).bytes, None], pa.uuid()),
    ),
    "words": (Type.TEXT, pa.array(["a", "b", None]).dictionary_encode()),
    "null": (Type.TEXT, pa.nulls(3)),
}  # fmt: skip


@pytest.mark.parametrize("stored", [False, True])
def test_all_other_columns_are_read_as_before(tmp_path: Path, stored: bool) -> None:
    path, many = tmp_path / "t.parquet", {name: column for name, (_, column) in MANY.items()}
    types = {name: kind for name, (kind, _) in MANY.items()} | {"s": Type.TEXT}
    read = []
    for last in (b"x", b"\xff"):
        held = pa.table(many | {"s": texts(b"x", b"y", last)})
        pq.write_table(held, path, store_schema=stored)
        with opened(path, types, unit="row") as engine:
            assert counted(engine, "s", Type.TEXT).total() == 3
            assert bool(engine.database.broken) == (last != b"x")
            read.append({n: counted(engine, n, kind) for n, kind in types.items() if n != "s"})
    # NaN is missing and infinity is itself, so that values can be compared.
    assert read[0] == read[1]
