# SPDX-License-Identifier: Apache-2.0
"""What is refused when a catalog is opened or before a charge, and that no value is told."""

from __future__ import annotations

import base64
import logging
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet.encryption import (
    CryptoFactory,
    EncryptionConfiguration,
    KmsClient,
    KmsConnectionConfig,
)

from sordino.catalog.frames import to_arrow
from sordino.catalog.model import (
    Catalog,
    Column,
    CsvFile,
    DuckdbTable,
    ParquetFile,
    Table,
)
from sordino.engine.duckdb.connection import Database
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError
from sordino.query.types import Type
from tests.engine.test_sources import values_of


def opened(source: Any, column: str = "v") -> DuckdbEngine:
    columns = (Column(column, Type.INTEGER),)
    return DuckdbEngine(Catalog((Table("t", source, columns, unit="row"),)))


@pytest.mark.parametrize("declared", ["ID_1", "other"])
def test_names_that_are_one_are_refused_also_where_they_are_not_declared(
    tmp_path: Path, declared: str
) -> None:
    names = ["id", "ID", "ID_1", "other"]
    pq.write_table(pa.table([[1], [2], [3], [4]], names=names), tmp_path / "t.parquet")
    with pytest.raises(CatalogError, match="several columns that are called 'ID'"):
        opened(ParquetFile(tmp_path / "t.parquet"), declared)


@pytest.mark.parametrize("name", ["a[b].parquet", "a*.parquet", "a?.parquet"])
def test_a_name_that_is_a_pattern_is_refused(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({"v": [1]}), tmp_path / name)
    pq.write_table(pa.table({"v": [2]}), tmp_path / "ab.parquet")
    for path in (tmp_path / name, tmp_path / "*.parquet"):
        with pytest.raises(CatalogError, match="read as a pattern"):
            opened(ParquetFile(path))


class _Keys(KmsClient):  # type: ignore[misc]  # pyarrow has no types
    def wrap_key(self, key_bytes: bytes, _: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, _: str) -> bytes:
        return base64.b64decode(wrapped_key)


def test_an_encrypted_column_is_refused_before_any_charge(tmp_path: Path) -> None:
    wanted = EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["v"]}, plaintext_footer=True
    )
    keys = CryptoFactory(lambda _: _Keys()).file_encryption_properties(
        KmsConnectionConfig(), wanted
    )
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"v": [1], "w": [2]}), path, encryption_properties=keys)
    with pytest.raises(CatalogError, match="is encrypted"):
        opened(ParquetFile(path))


def test_decimals_with_their_bytes_apart_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    held = pa.table({"v": pa.array([Decimal("7.00"), Decimal("8.50")], pa.decimal128(20, 2))})
    encoding = {"v": "BYTE_STREAM_SPLIT"}
    pq.write_table(held, path, use_dictionary=False, column_encoding=encoding)
    assert values_of(ParquetFile(path), "v", Type.INTEGER) == {7: 1, None: 1}


def test_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "in.parquet").mkdir()
    with pytest.raises(CatalogError, match=r"is a folder; name the files in it, such as .*[*]"):
        opened(ParquetFile(tmp_path / "in.parquet"))
    with pytest.raises(CatalogError, match="is a folder, or no file"):
        opened(ParquetFile(tmp_path / "*.parquet"))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.parquet")
    with pytest.raises(CatalogError, match="no file"):
        opened(ParquetFile(tmp_path / "*.parquet"))


def test_types_within_types_are_named_without_their_values(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (v ENUM('alice', 'bob')[])")
    with pytest.raises(CatalogError, match="its source has LIST") as refused:
        opened(DuckdbTable(path, "t"))
    assert "alice" not in str(refused.value)


def test_dtypes_are_named_without_their_values() -> None:
    names = pl.Series([["alice"]], dtype=pl.List(pl.Enum(["alice", "bob"])))
    sparse = pd.Series(pd.arrays.SparseArray([777, 777, 1], fill_value=777))
    for frame in (pl.DataFrame({"v": names}), pd.DataFrame({"v": sparse})):
        with pytest.raises(CatalogError, match=r"dtype (List|SparseDtype)") as refused:
            to_arrow(frame, types={})
        assert "alice" not in str(refused.value)
        assert "777" not in str(refused.value)


def test_the_hour_24_is_none(tmp_path: Path) -> None:
    texts = ["2020-01-01 24:00:00", "2020-01-01 24:00:00Z", "2020-01-01 23:00:00"]
    pq.write_table(pa.table({"v": texts}), tmp_path / "t.parquet")
    read = values_of(ParquetFile(tmp_path / "t.parquet"), "v", Type.TIMESTAMP)
    assert read[None] == 2
    assert len(read) == 2


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (duckdb.ConversionException("secret 77"), CatalogError),
        (MemoryError(), CatalogError),
        (pa.ArrowInvalid("secret 77"), CatalogError),
        (RuntimeError("Query interrupted"), KeyboardInterrupt),
        (duckdb.InterruptException("INTERRUPT Error: Interrupted!"), KeyboardInterrupt),
    ],
)
def test_what_fails_while_a_csv_file_is_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    failure: Exception,
    raised: type[BaseException],
) -> None:
    (tmp_path / "t.csv").write_text("v\n1\n")
    engine = opened(CsvFile(tmp_path / "t.csv"))

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(Database, "load", fail)
    with caplog.at_level(logging.ERROR), pytest.raises(raised) as refused:
        engine.read(["t"])
    engine.close()
    assert "77" not in caplog.text + str(refused.value)
    assert (type(failure).__name__ in caplog.text) is (raised is CatalogError)
