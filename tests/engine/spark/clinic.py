# SPDX-License-Identifier: Apache-2.0
"""A small table in a folder of Parquet files, and questions of it that Spark answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sordino.catalog.model import Catalog, Column, SparkTable, Table
from sordino.engine.spark.engine import SparkEngine
from sordino.plan.plan import Bounded, Cells, RowCount, Shares, Total
from sordino.query.tree import Field, Key
from sordino.query.types import Type
from tests.engine.engines import rows_of, scan

TYPES = {"who": Type.INTEGER, "city": Type.TEXT, "paid": Type.INTEGER}
ROWS = pa.table({"who": [1, 1, 2, 3], "city": ["ulm", "bonn", "ulm", None], "paid": [5, 6, 7, 80]})
PAID, CITY = Field("paid", Type.INTEGER, "paid"), Field("city", Type.TEXT, "city")
BY_CITY = Bounded(
    scan("t", TYPES),
    (Key(CITY, "city", ("ulm", "bonn")),),
    Shares(rows=3),
    (Cells((RowCount(), Total(PAID, 0, 50, 0))),),
)
STEPS = Shares(rows=3).steps
EXPECTED = {("ulm", 2 * STEPS, 12 * STEPS), ("bonn", STEPS, 6 * STEPS)}


def stored(folder: Path, held: pa.Table = ROWS, **options: Any) -> Path:
    """Write rows as one file of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(held, folder / "rows.parquet", **options)
    return folder


def opened(address: str, name: Path | str, **more: Any) -> SparkEngine:
    """Open an engine on one table."""
    types = more.pop("types", TYPES)
    source = SparkTable(address, str(name), more.pop("form", "parquet"), more.pop("version", None))
    columns = tuple(Column(column, kind) for column, kind in types.items())
    table = Table("t", source, columns, unit=more.pop("unit", "who"))
    return SparkEngine(Catalog((table,)), address)


def asked(engine: SparkEngine, bounded: Bounded = BY_CITY) -> set[Any]:
    """Return the cells of a question, asked as a session asks it."""
    engine.version(["t"])
    engine.prepare(bounded)
    engine.load(bounded)
    (cells,) = rows_of(engine, bounded)
    return cells
