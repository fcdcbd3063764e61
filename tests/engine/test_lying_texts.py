# SPDX-License-Identifier: Apache-2.0
"""Parquet files whose footers lie about text: no two ids become one, and no key another.

An engine that believes a footer packs short text into numbers of as many bytes as the footer says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog import checks as declare
from sordino.catalog.model import ForeignKey, ParquetFile, Table
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.plan.plan import FINE, Bounded, Cells, RowCount, Shares, UnitCount
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.engines import rows_of
from tests.engine.footers import say_ends
from tests.support.trace import look, prepare

PEOPLE, TWICE = 12, 2
PURSE = declare.purse(epsilon=1000)
LENGTHS = [1, 2, 8, 14, 15, 16, 40]
LIES = ["a", "abcdefghijklmno", ""]


def name(length: int, person: int) -> str:
    """Return an id of a length; all of a length begin alike."""
    return f"{'abcdefghijklmnopqrstuvwxyz' * 2:.{length - 1}}{chr(ord('A') + person)}"


def written(path: Path, columns: dict[str, Any], lie: str) -> ParquetFile:
    """Write a file whose footer says that all text is the same."""
    pq.write_table(pa.table(columns), path, store_schema=False)
    for place, column in enumerate(columns.values()):
        if isinstance(column[0], str):
            say_ends(path, place, lie.encode(), lie.encode())
    return ParquetFile(path)


@contextmanager
def opened(*tables: Table) -> Iterator[DuckdbEngine]:
    with closing(DuckdbEngine(declare.catalog(list(tables), PURSE), threads=1)) as engine:
        yield engine


def asked(engine: DuckdbEngine, sql: str) -> list[Any]:
    prepared = prepare(engine, sql, epsilon=Fraction(1), salt=7)
    return list(look(engine, prepared, salt=7))


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("length", LENGTHS)
def test_text_ids_stay_apart(tmp_path: Path, length: int, lie: str) -> None:
    people = [name(length, place % PEOPLE) for place in range(TWICE * PEOPLE)]
    places = [name(length, place % 3) for place in range(TWICE * PEOPLE)]
    file = written(tmp_path / "t.parquet", {"id": people, "k": places, "v": [1] * len(people)}, lie)
    keys = [name(length, place) for place in range(3)]
    columns = [
        declare.column("id", "text"),
        declare.column("k", "text", keys=keys),
        declare.column("v", "integer", bounds=(0, 9)),
    ]
    table = declare.table("t", file, columns, unit="id", limits=declare.limits(rows=9, groups=9))
    with opened(table) as engine:
        assert asked(engine, "SELECT COUNT(DISTINCT id) FROM t") == [{(): (PEOPLE,)}]
        each = {(key,): (PEOPLE // 3,) for key in keys}
        assert asked(engine, "SELECT k, COUNT(DISTINCT id) FROM t GROUP BY k") == [each]
        inner = "SELECT id, SUM(v) AS c FROM t GROUP BY id"
        sql = f"SELECT SUM(CLAMP(c, 0, 100)), COUNT(*) FROM ({inner}) x"  # noqa: S608  # our own
        assert asked(engine, sql) == [{(): (TWICE * PEOPLE, PEOPLE)}]
    alone = declare.table("t", file, columns, unit="row")
    with opened(alone) as engine:
        each = {(key,): (TWICE * PEOPLE // 3,) for key in keys}
        assert asked(engine, "SELECT k, COUNT(*) FROM t GROUP BY k") == [each]


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("length", [2, 8, 15, 20])
def test_text_ids_stay_apart_in_joins(tmp_path: Path, length: int, lie: str) -> None:
    people = [name(length, place) for place in range(PEOPLE)]
    mine = written(tmp_path / "p.parquet", {"id": people, "v": [1] * PEOPLE}, lie)
    theirs = written(
        tmp_path / "c.parquet", {"owner": people * TWICE, "w": [1] * TWICE * PEOPLE}, lie
    )
    parent = declare.table(
        "p", mine, [declare.column("id", "text"), declare.column("v", "integer")], unit="id"
    )
    child = declare.table(
        "c", theirs, [declare.column("owner", "text"), declare.column("w", "integer")],
        parent=ForeignKey("owner", "p", "id"),
    )  # fmt: skip
    owner = Field("owner", Type.TEXT, "owner")
    scan, cells = Scan("c", ((owner, "owner"),)), Cells((UnitCount(), RowCount()))
    with opened(parent, child) as engine:
        counted = rows_of(engine, Bounded(scan, (), Shares(rows=1), (cells,)))
        assert counted == [{(PEOPLE, PEOPLE * FINE)}]
        kept = rows_of(
            engine, Bounded(scan, (Key(owner, "owner", None),), Shares(rows=1), (cells,))
        )
        assert kept == [{(person, 1, FINE) for person in people}]
