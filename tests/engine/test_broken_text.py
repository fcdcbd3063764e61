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

import duckdb
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
from tests.support.trace import unsealed

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
    (part,) = unsealed(engine.run(bounded, RECEIPT, salt=7))
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


def test_a_moment_that_cannot_be_shown_changes_no_reader(tmp_path: Path) -> None:
    """DuckDB fails to show the statistics of such a moment; these tell nothing of other columns."""
    path, many = tmp_path / "t.parquet", 8
    columns = {
        "decimal": (
            Type.REAL,
            pa.array([Decimal(k) / 4 for k in range(many)], pa.decimal128(7, 2)),
        ),
        "half": (Type.REAL, pa.array([k / 2 for k in range(many)], pa.float16())),
        "uuid": (Type.TEXT, pa.array([UUID(int=k).bytes for k in range(many)], pa.uuid())),
    }
    for unit in ("us", "ms"):
        for name, (kind, column) in columns.items():
            read = []
            for last in (5, -(2**63)):
                moments = pa.array([0] * (many - 1) + [last], pa.int64()).view(pa.timestamp(unit))
                pq.write_table(
                    pa.table({name: column, "at": moments}),
                    path,
                    use_dictionary=False,
                    column_encoding={name: "BYTE_STREAM_SPLIT", "at": "PLAIN"},
                )
                with opened(path, {name: kind}, unit="row") as engine:
                    read.append((engine.bases["t"].held, counted(engine, name, kind)))
            assert read[0] == read[1]
            assert len(read[0][1]) == many


FAR = {
    "integer": "CASE i WHEN 5 THEN -2147483648 WHEN 6 THEN 2147483647 ELSE 1 END",
    "uinteger": "CASE i WHEN 5 THEN 4294967295 ELSE 1 END",
    "bigint": "CASE i WHEN 5 THEN -9223372036854775808 WHEN 6 THEN 9223372036854775807 ELSE 1 END",
}


@pytest.mark.parametrize("moments", ["TIMESTAMP", "TIMESTAMP_MS"])
@pytest.mark.parametrize("kind", FAR)
def test_numbers_that_arrow_fails_at_are_read_by_duckdb(
    tmp_path: Path, kind: str, moments: str
) -> None:
    """DuckDB writes whole numbers that lie far apart in a way that Arrow does not understand."""
    path, many = tmp_path / "t.parquet", 3_000
    text = "CASE i WHEN 0 THEN 'ZZZQZZZ' ELSE md5(i::VARCHAR) END"
    chosen = f"{text} AS s, ({FAR[kind]})::{kind} AS c, make_timestamp(i)::{moments} AS at"
    options = (
        "FORMAT parquet, COMPRESSION uncompressed, PARQUET_VERSION v2, DICTIONARY_SIZE_LIMIT 1"
    )
    with duckdb.connect() as connection:
        rows = connection.sql(f"SELECT {chosen} FROM range({many}) AS r(i)")  # noqa: S608
        rows.create_view("rows")
        connection.execute(f"COPY rows TO '{path}' ({options})")
    types = {"s": Type.TEXT, "c": Type.INTEGER, "at": Type.TIMESTAMP}
    read = []
    for is_broken in (False, True):
        if is_broken:
            content = path.read_bytes()
            assert b"ZZZQZZZ" in content
            path.write_bytes(content.replace(b"ZZZQZZZ", b"ZZZ\xffZZZ"))
        with opened(path, types, unit="row") as engine:
            assert counted(engine, "s", Type.TEXT).total() == many
            assert bool(engine.database.broken) == (is_broken and moments == "TIMESTAMP")
            read.append([counted(engine, name, types[name]) for name in ("c", "at")])
    assert read[0] == read[1]


@pytest.mark.parametrize("rows", [1, 65_535, 65_536, 65_537, 200_000])
def test_rows_of_both_readers_stay_side_by_side(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "t.parquet"
    numbers = [str(k).encode() for k in range(rows - 1)]
    held = {"n": pa.array(range(rows)), "s": texts(*numbers, b"\xff")}
    pq.write_table(pa.table(held), path, row_group_size=30_011)
    with opened(path, {"n": Type.INTEGER, "s": Type.TEXT}, unit="row") as engine:
        same = "SELECT count(*) FILTER (n::VARCHAR = s), count(*), count(s), sum(n) FROM t0"
        assert engine.database.patch(frozenset())
        with engine.database.connection() as connection:
            read = connection.sql(same).fetchall()
    assert read == [(rows - 1, rows, rows - 1, rows * (rows - 1) // 2)]


def as_opaque(column: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "x", "y"), column)


def test_json_is_no_text_beside_careful_columns(tmp_path: Path) -> None:
    """DuckDB has a type of its own for it, and fails at it where it is not UTF-8."""
    column = pa.ExtensionArray.from_storage(pa.json_(), texts(b"{}", b"\xff"))
    for moments in (pa.timestamp("us"), pa.timestamp("ms")):
        held = {"s": column, "at": pa.array([0, 1], pa.int64()).view(moments)}
        pq.write_table(pa.table(held), tmp_path / "t.parquet")
        types = {"s": Type.TEXT, "at": Type.TIMESTAMP}
        with pytest.raises(CatalogError, match="JSON"), opened(tmp_path / "t.parquet", types):
            pass


@pytest.mark.parametrize("place", [0, 1])
def test_every_file_is_looked_at_as_arrow_has_it(tmp_path: Path, place: int) -> None:
    for file in range(2):
        column = texts(b"a", b"b")
        held = {"who": pa.array([0, 1]), "s": as_opaque(column) if file == place else column}
        pq.write_table(pa.table(held), tmp_path / f"{file}.parquet", store_schema=True)
    with pytest.raises(CatalogError, match="'s' of table 't'"), opened(tmp_path / "*.parquet"):
        pass


def test_a_name_that_leads_into_another_column_is_refused(tmp_path: Path) -> None:
    held = {"who": pa.array([0]), "a.b": pa.array(["x"]), "a": pa.array([{"b": 1}])}
    pq.write_table(pa.table(held), tmp_path / "t.parquet")
    types = {"who": Type.INTEGER, "a.b": Type.TEXT}
    with pytest.raises(CatalogError, match="rename it"), opened(tmp_path / "t.parquet", types):
        pass
    del held["a"]
    pq.write_table(pa.table(held), tmp_path / "t.parquet")
    with opened(tmp_path / "t.parquet", types) as engine:
        assert counted(engine, "a.b", Type.TEXT) == {"x": 1}


@pytest.mark.parametrize("last", [b"x", b"\xff"])
@pytest.mark.parametrize("is_gone", [False, True])
def test_other_tables_do_not_matter(tmp_path: Path, last: bytes, is_gone: bool) -> None:
    """Neither where text is looked for, nor where a connection gets its tables."""
    tables = []
    for name, text in (("t", last), ("u", b"\xff")):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"who": pa.array([0, 1]), "s": texts(b"x", text)}), path)
        columns = tuple(Column(column, kind) for column, kind in TYPES.items())
        tables.append(Table(name, ParquetFile(path), columns, unit="who"))
    with closing(DuckdbEngine(Catalog(tuple(tables)), threads=1)) as engine:
        other = tmp_path / "u.parquet"
        other.unlink() if is_gone else other.write_bytes(b"PAR1")
        with engine.database.connection(), engine.database.connection():  # so that a third is new
            assert counted(engine, "s", Type.TEXT).total() == 2
        assert counted(engine, "s", Type.TEXT).total() == 2
