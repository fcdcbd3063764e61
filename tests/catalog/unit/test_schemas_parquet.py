# SPDX-License-Identifier: Apache-2.0
"""Schemas of tables that are several Parquet files: all of them are looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog.schemas import SourceColumn, parquet_schema
from sordino.errors import CatalogError
from sordino.query.types import Type


def written(folder: Path, *tables: dict[str, Any]) -> Path:
    for place, table in enumerate(tables):
        pq.write_table(pa.table(table), folder / f"{place}.parquet")
    return folder / "*.parquet"


@pytest.mark.parametrize(
    ("held", "kind", "words"),
    [
        ([[1], [1.5]], Type.REAL, "int64 or double"),
        ([[1.5], [1]], Type.REAL, "double or int64"),
        ([pa.nulls(1), [1]], Type.INTEGER, "int64"),
        ([[1], ["x"]], Type.TEXT, "int64 or string"),
        ([[1], [[1]]], None, "int64 or list<element: int64>"),
        ([pa.nulls(1), pa.nulls(2)], None, "null"),
    ],
)
def test_a_column_has_the_type_that_takes_in_all_files(
    tmp_path: Path, held: list[Any], kind: Type | None, words: str
) -> None:
    path = written(tmp_path, *({"v": values} for values in held))
    is_mixed, is_partly_text = " or " in words, " or string" in words
    assert parquet_schema(path) == (SourceColumn("v", kind, words, is_mixed, is_partly_text),)


def test_a_column_that_a_file_does_not_have_is_none(tmp_path: Path) -> None:
    path = written(tmp_path, {"v": [1], "w": [1]}, {"w": [2]})
    assert [column.name for column in parquet_schema(path)] == ["w"]


def test_the_file_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, {"v": [1]}, {"v": [1], "V": [2]})
    with pytest.raises(CatalogError, match=r"1\.parquet' has several columns that are called 'V'"):
        parquet_schema(path)
    (tmp_path / "1.parquet").write_bytes(b"PAR1")
    with pytest.raises(CatalogError, match=r"1\.parquet' is not a Parquet file"):
        parquet_schema(path)
