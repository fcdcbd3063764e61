# SPDX-License-Identifier: Apache-2.0
"""Sources: files, patterns, databases and frames, read by declared types, odd values and all."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog.model import (
    Catalog,
    Column,
    CsvFile,
    DuckdbTable,
    ForeignKey,
    Frame,
    ParquetFile,
    Source,
    Table,
)
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError, SealedError
from sordino.plan.plan import Bounded, Cells, RowCount, Shares
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.engines import rows_of

COUNT = Cells((RowCount(),))
ALONE = Shares(rows=1, alone=True)


def values_of(source: Source, name: str, kind: Type) -> dict[Any, int]:
    """Return how often each value of a column occurs, as the engine has it."""
    engine = DuckdbEngine(Catalog((Table("t", source, (Column(name, kind),), unit="row"),)))
    field = Field("f", kind, "f")
    keys = (Key(field, "f", None),)
    (found,) = rows_of(engine, Bounded(Scan("t", ((field, name),)), keys, ALONE, (COUNT,)))
    engine.close()
    return dict(found)


def test_a_parquet_pattern_is_all_its_files(tmp_path: Path) -> None:
    for place in range(3):
        pq.write_table(pa.table({"v": [place, 7]}), tmp_path / f"part-{place}.parquet")
    found = values_of(ParquetFile(tmp_path / "part-*.parquet"), "v", Type.INTEGER)
    assert found == {0: 1, 1: 1, 2: 1, 7: 3}


def test_an_odd_name_of_a_file_and_of_a_column_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / 'it\'s "odd" $1.parquet'
    pq.write_table(pa.table({'a "b" $1; --': [1]}), path)
    assert values_of(ParquetFile(path), 'a "b" $1; --', Type.INTEGER) == {1: 1}


CSV = b"""a,b,c
1,x,2020-01-02
2,"q,""r",2020-02-30
three
4,y,z,too,many
5,\xff\xfe,2020-01-02

6,"two
lines",0000-01-01
9223372036854775808,w,infinity
"""


def test_odd_rows_of_a_csv_file_are_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(CSV)
    source = CsvFile(path)
    assert values_of(source, "a", Type.INTEGER) == {1: 1, 2: 1, None: 2, 4: 1, 5: 1, 6: 1}
    assert values_of(source, "b", Type.TEXT)['q,"r'] == 1
    assert values_of(source, "c", Type.DATE) == {date(2020, 1, 2): 2, None: 5}


def test_a_csv_file_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "once.csv"
    path.write_text("a;b\n1;2\n", encoding="utf-8")
    table = Table("t", CsvFile(path, ";"), (Column("b", Type.INTEGER),), unit="row")
    engine = DuckdbEngine(Catalog((table,)))
    bounded = Bounded(Scan("t", ()), (), ALONE, (COUNT,))
    assert rows_of(engine, bounded) == [{(1,)}]
    path.write_text("b;a\nodd", encoding="utf-8")
    assert rows_of(engine, bounded) == [{(1,)}]
    engine.close()


def test_a_duckdb_file_is_attached_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE TABLE "odd table" AS SELECT range AS v FROM range(3)')
    assert values_of(DuckdbTable(path, "odd table"), "v", Type.INTEGER) == {0: 1, 1: 1, 2: 1}


HELD: list[tuple[Any, Type, dict[Any, int]]] = [
    (pa.array([1.0, 1.5, float("nan"), 1e300]), Type.INTEGER, {1: 1, None: 3}),
    (pa.array([1, 2**64 - 1], pa.uint64()), Type.INTEGER, {1: 1, None: 1}),
    (pa.array([Decimal("1.00"), Decimal("2.50")]), Type.INTEGER, {1: 1, None: 1}),
    (pa.array([0, 1], pa.int8()), Type.BOOLEAN, {False: 1, True: 1}),
    (pa.array(["x", "y", "x"]).dictionary_encode(), Type.TEXT, {"x": 2, "y": 1}),
    (pa.array(["a\0b", "ab", None], pa.large_string()), Type.TEXT, {"ab": 2, None: 1}),
    (pa.array(["y" * 10_001, "y" * 10_000]), Type.TEXT, {"y" * 10_000: 2}),
    (pa.array(["\0" + "y" * 10_000, "y" * 9_999]), Type.TEXT, {"y" * 9_999: 2}),  # cut first
    (pa.array(["\u00fc\0" * 9_000]), Type.TEXT, {"\u00fc" * 5_000: 1}),
    (pa.array([5_000_000, -800_000, 0], pa.date32()), Type.DATE, {date(1970, 1, 1): 1, None: 2}),
    (
        pa.array([datetime(2020, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        Type.TIMESTAMP,
        {datetime(2020, 1, 1): 1, None: 1},
    ),
    (
        pa.array([2**62, -(2**62), 0], pa.timestamp("us")),
        Type.TIMESTAMP,
        {datetime(1970, 1, 1): 1, None: 2},
    ),
    (pa.array([10**15], pa.timestamp("ns")), Type.DATE, {date(1970, 1, 12): 1}),
    (pa.nulls(2), Type.TEXT, {None: 2}),
]


@pytest.mark.parametrize(("column", "kind", "wanted"), HELD)
def test_a_value_is_of_the_declared_type_or_missing(
    column: Any, kind: Type, wanted: dict[Any, int], tmp_path: Path
) -> None:
    held = pa.table({"v": column})
    assert values_of(Frame(held), "v", kind) == wanted
    if column.type != pa.null():
        pq.write_table(held, tmp_path / "v.parquet", coerce_timestamps=None)
        assert values_of(ParquetFile(tmp_path / "v.parquet"), "v", kind) == wanted


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        (pa.array([[1]]), Type.INTEGER),
        (pa.array([b"x"]), Type.TEXT),
        (pa.array([1.5]), Type.DATE),
        (pa.array([date(2020, 1, 1)]), Type.INTEGER),
    ],
)
def test_a_type_that_cannot_be_what_is_declared_is_refused_at_the_door(
    held: Any, kind: Type
) -> None:
    table = Table("t", Frame(pa.table({"v": held})), (Column("v", kind),), unit="row")
    with pytest.raises(CatalogError, match="'v'"):
        DuckdbEngine(Catalog((table,)))


def test_missing_files_and_columns_are_refused_at_the_door(tmp_path: Path) -> None:
    path = tmp_path / "here.parquet"
    pq.write_table(pa.table({"v": [1]}), path)
    csv = tmp_path / "here.csv"
    csv.write_text("v\n1\n", encoding="utf-8")
    columns = (Column("w", Type.INTEGER),)
    sources: list[Source] = [
        ParquetFile(tmp_path / "gone.parquet"),
        ParquetFile(tmp_path / "gone-*.parquet"),
        ParquetFile(path),
        CsvFile(csv),
        CsvFile(tmp_path / "gone.csv"),
        DuckdbTable(path, "t"),
        Frame(pa.table({"v": [1]})),
    ]
    for source in sources:
        with pytest.raises(CatalogError):
            DuckdbEngine(Catalog((Table("t", source, columns, unit="row"),)))


def test_rows_belong_to_the_unit_that_their_foreign_key_leads_to() -> None:
    people = pa.table({"id": [1, 2, 3, None], "home": ["a", "b", "b", "c"]})
    homes = pa.table({"home": ["a", "b", "c", None, "nowhere"], "n": [1, 2, 3, 4, 5]})
    rooms = pa.table({"at": [1, 1, 2, 3, None]})
    catalog = Catalog(
        (
            Table(
                "people",
                Frame(people),
                (Column("id", Type.INTEGER), Column("home", Type.TEXT)),
                unit="id",
            ),
            Table(
                "homes",
                Frame(homes),
                (Column("home", Type.TEXT), Column("n", Type.INTEGER)),
                parent=ForeignKey("home", "people", "home"),
            ),
            Table(
                "rooms",
                Frame(rooms),
                (Column("at", Type.INTEGER),),
                parent=ForeignKey("at", "homes", "n"),
            ),
        )
    )
    engine = DuckdbEngine(catalog)
    field = Field("at", Type.INTEGER, "at")
    keys = (Key(field, "at", None),)
    shares = Shares(rows=100)
    bounded = Bounded(Scan("rooms", ((field, "at"),)), keys, shares, (COUNT,))
    whole = shares.steps  # home b is that of two people, and home c of nobody
    assert rows_of(engine, bounded) == [{(1, 2 * whole), (2, 2 * whole)}]
    engine.close()


def test_long_ids_that_begin_alike_stay_two_units() -> None:
    ids = ["x" * 10_000 + "a"] * 3 + ["x" * 10_000 + "b"] * 3
    columns = (Column("who", Type.TEXT),)
    engine = DuckdbEngine(
        Catalog((Table("t", Frame(pa.table({"who": ids})), columns, unit="who"),))
    )
    bounded = Bounded(Scan("t", ()), (), Shares(rows=2), (COUNT,))
    ((count,),) = rows_of(engine, bounded)[0]
    assert count == 6 * (2**16 * 2 // 3)
    engine.close()


def test_public_values_are_sorted_and_there() -> None:
    columns = (Column("v", Type.TEXT), Column("n", Type.INTEGER))
    held = pa.table({"v": ["b", "a", None, "b"], "n": [3, 1, 2, None]})
    engine = DuckdbEngine(Catalog((Table("t", Frame(held), columns, public=True),)))
    assert engine.public_values("T", "V") == ("a", "b")
    assert engine.public_values("t", "n") == (1, 2, 3)
    for table, column in (("t", "gone"), ("gone", "v")):
        with pytest.raises(CatalogError):
            engine.public_values(table, column)
    engine.close()


def test_public_values_of_a_csv_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text("v\n3\nodd\n1\n", encoding="utf-8")
    held = Table("t", CsvFile(path), (Column("v", Type.INTEGER),), public=True)
    engine = DuckdbEngine(Catalog((held,)))
    assert engine.public_values("t", "v") == (1, 3)
    engine.close()


def test_no_values_of_a_private_table_are_told() -> None:
    held = Table("t", Frame(pa.table({"v": [1]})), (Column("v", Type.INTEGER),), unit="row")
    engine = DuckdbEngine(Catalog((held,)))
    with pytest.raises(CatalogError, match="public"):
        engine.public_values("t", "v")
    engine.close()


def test_new_rows_in_a_file_are_read_and_columns_of_another_type_are_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"v": [1, 2]}), path)
    table = Table("t", ParquetFile(path), (Column("v", Type.INTEGER),), unit="row")
    engine = DuckdbEngine(Catalog((table,)))
    bounded = Bounded(Scan("t", ((Field("f", Type.INTEGER, "f"), "v"),)), (), ALONE, (COUNT,))
    assert rows_of(engine, bounded) == [{(2,)}]
    pq.write_table(pa.table({"v": [1, 2, 3]}), path)
    assert rows_of(engine, bounded) == [{(3,)}]
    pq.write_table(pa.table({"v": [0.5, 2.0]}), path)
    with pytest.raises(SealedError):
        rows_of(engine, bounded)
    engine.close()


def test_reading_public_values_touches_no_private_file(tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text("name\nulm\n", "utf-8")
    (tmp_path / "private.csv").write_text("v\n1\n", "utf-8")
    columns = (Column("v", Type.INTEGER),)
    private = Table("t", CsvFile(tmp_path / "private.csv"), columns, unit="row")
    names = (Column("name", Type.TEXT),)
    public = Table("p", CsvFile(tmp_path / "public.csv"), names, public=True)
    engine = DuckdbEngine(Catalog((private, public)))
    (tmp_path / "private.csv").unlink()
    assert engine.public_values("p", "name") == ("ulm",)
    bounded = Bounded(Scan("t", ((Field("f", Type.INTEGER, "f"), "v"),)), (), ALONE, (COUNT,))
    with pytest.raises(SealedError):
        rows_of(engine, bounded)
    engine.close()


def test_a_public_file_that_cannot_be_read_is_said_without_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"name": ["ulm"]}), path)
    public = Table("p", ParquetFile(path), (Column("name", Type.TEXT),), public=True)
    private = Table("t", Frame(pa.table({"v": [1]})), (Column("v", Type.INTEGER),), unit="row")
    engine = DuckdbEngine(Catalog((private, public)))
    path.write_bytes(b"PAR1 secret")
    with pytest.raises(CatalogError, match=r"^the public table 'p' cannot be read$"):
        engine.public_values("p", "name")
    engine.close()
