# SPDX-License-Identifier: Apache-2.0
"""DuckDB files: collations are taken off, and what is computed when it is read is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pytest

from sordino.catalog.model import Catalog, Column, DuckdbTable, ForeignKey, Table
from sordino.engine.duckdb.columns import check_fit
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError
from sordino.plan.plan import Bounded, Cells, Distinct, RowCount, Shares, UnitCount
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.engines import ARROW, RECEIPT, rows_of
from tests.engine.test_sources import values_of
from tests.support.trace import unsealed

COUNT = Cells((RowCount(),))
UNITS = Cells((UnitCount(),))
COLLATIONS = ["NOCASE", "NOACCENT", "NFC", "NOCASE.NOACCENT", "de", "icu_noaccent"]


def made(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.parametrize("collation", COLLATIONS)
def test_a_collation_merges_no_groups(tmp_path: Path, collation: str) -> None:
    path = made(
        tmp_path / "c.duckdb",
        f"CREATE TABLE t (k VARCHAR COLLATE {collation})",
        "INSERT INTO t SELECT 'flu' FROM range(1000)",
        "INSERT INTO t VALUES ('FLU'), ('fl\u00fc')",
    )
    found = values_of(DuckdbTable(path, "t"), "k", Type.TEXT)
    assert found == {"flu": 1000, "FLU": 1, "fl\u00fc": 1}


@pytest.mark.parametrize("collation", COLLATIONS)
@pytest.mark.parametrize("groups", [None, 2])
def test_a_collation_merges_no_units(tmp_path: Path, collation: str, groups: int | None) -> None:
    path = made(
        tmp_path / "c.duckdb",
        f"CREATE TABLE t (who VARCHAR COLLATE {collation}, k VARCHAR COLLATE {collation})",
        "INSERT INTO t VALUES ('A', 'x'), ('a', 'x'), ('\u00e1', 'X'), ('\u00c1', 'X')",
    )
    columns = (Column("who", Type.TEXT), Column("k", Type.TEXT))
    engine = DuckdbEngine(Catalog((Table("t", DuckdbTable(path, "t"), columns, unit="who"),)))
    field = Field("k", Type.TEXT, "k")
    rows = Scan("t", ((field, "k"),))
    assert rows_of(engine, Bounded(rows, (), Shares(rows=1), (UNITS,))) == [{(4,)}]
    keys = (Key(field, "k", None),)
    bounded = Bounded(rows, keys, Shares(rows=2, groups=groups), (UNITS,))
    assert rows_of(engine, bounded) == [{("x", 2), ("X", 2)}]
    listed = (Key(field, "k", ("x", "y")),)
    bounded = Bounded(rows, listed, Shares(rows=2, groups=groups), (UNITS,))
    assert rows_of(engine, bounded) == [{("x", 2)}]
    distinct = Bounded(rows, (), Shares(rows=2), (Distinct(field, 2),))
    assert rows_of(engine, distinct) == [{(2,)}]
    engine.close()


def test_a_collation_leads_no_row_to_another_person(tmp_path: Path) -> None:
    path = made(
        tmp_path / "c.duckdb",
        "CREATE TABLE people (who VARCHAR COLLATE NOCASE, home VARCHAR COLLATE NOCASE)",
        "INSERT INTO people VALUES ('A', 'x'), ('a', 'X')",
        "CREATE TABLE visits (home VARCHAR COLLATE NOCASE)",
        "INSERT INTO visits VALUES ('x'), ('X'), ('X')",
    )
    text = Type.TEXT
    people = Table(
        "people",
        DuckdbTable(path, "people"),
        (Column("who", text), Column("home", text)),
        unit="who",
    )
    visits = Table(
        "visits",
        DuckdbTable(path, "visits"),
        (Column("home", text),),
        parent=ForeignKey("home", "people", "home"),
    )
    engine = DuckdbEngine(Catalog((people, visits)))
    shares = Shares(rows=1)
    bounded = Bounded(Scan("visits", ()), (), shares, (Cells((RowCount(), UnitCount())),))
    assert rows_of(engine, bounded) == [{(2 * shares.steps, 2)}]
    engine.close()


REFUSED = {
    "a view": ("CREATE VIEW v AS SELECT * FROM t", "v", "a", "is a view.*CREATE TABLE"),
    "a generated column": (
        "CREATE TABLE g (a INTEGER, b VARCHAR DEFAULT 'x GENERATED ALWAYS AS (', "
        '"c, d" INTEGER GENERATED ALWAYS AS (a + 1))',
        "g",
        "c, d",
        "generated",
    ),
    "a table of another schema": (
        "CREATE SCHEMA other; CREATE TABLE other.o (a INTEGER)",
        "o",
        "a",
        "no table 'o'",
    ),
    "a table inside DuckDB": ("SELECT 1", "duckdb_tables", "database_name", "no table"),
    "a missing column": ("SELECT 1", "t", "gone", "no column 'gone'; it has a"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_proof_is_refused_at_the_door(tmp_path: Path, name: str) -> None:
    statement, table, column, words = REFUSED[name]
    path = made(tmp_path / "r.duckdb", "CREATE TABLE t (a INTEGER)", statement)
    columns = (Column(column, Type.INTEGER),)
    held = Table("t", DuckdbTable(path, table), columns, unit="row")
    with pytest.raises(CatalogError, match=words):
        DuckdbEngine(Catalog((held,)))


def test_a_column_beside_a_generated_one_is_read(tmp_path: Path) -> None:
    statement = REFUSED["a generated column"][0]
    path = made(tmp_path / "g.duckdb", statement, "INSERT INTO g (a) VALUES (1), (2)")
    assert values_of(DuckdbTable(path, "G"), "A", Type.INTEGER) == {1: 1, 2: 1}
    assert values_of(DuckdbTable(path, "g"), "b", Type.TEXT) == {"x GENERATED ALWAYS AS (": 2}


def test_macros_and_types_of_a_file_do_not_stand_for_ours(tmp_path: Path) -> None:
    names = ["floor(x)", "isnan(x)", "strlen(x)", "contains(x, y)", '"left"(x, y)', "hash(x, y)"]
    macros = [f"CREATE MACRO {name} AS 7" for name in [*names, "lower(x)", "epoch_us(x)"]]
    path = made(
        tmp_path / "m.duckdb",
        *macros,
        "CREATE TYPE text8 AS VARCHAR",
        "CREATE TYPE mine AS INTEGER",
        "CREATE TABLE t (v DOUBLE, w text8, m mine)",
        "INSERT INTO t VALUES (1.5, 'A', 3), (2, 'b', 4)",
    )
    source = DuckdbTable(path, "t")
    assert values_of(source, "v", Type.INTEGER) == {None: 1, 2: 1}
    assert values_of(source, "w", Type.TEXT) == {"A": 1, "b": 1}
    assert values_of(source, "m", Type.INTEGER) == {3: 1, 4: 1}


TYPES: dict[str, list[str]] = {
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768"],
    "INTEGER": ["-2147483648", "7"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
    "HUGEINT": ["-170141183460469231731687303715884105728", "9223372036854775808", "5"],
    "UTINYINT": ["255"],
    "USMALLINT": ["65535"],
    "UINTEGER": ["4294967295"],
    "UBIGINT": ["18446744073709551615", "3"],
    "UHUGEINT": ["340282366920938463463374607431768211455"],
    "FLOAT": ["nan", "inf", "-inf", "-0.0", "1.5", "9223372036854775808", "-9223372036854775808"],
    "DOUBLE": ["nan", "inf", "-inf", "-0.0", "1.5", "1e308", "9223372036854775807", "-1e19"],
    "DECIMAL(38,0)": ["-" + "9" * 38, "9" * 38, "12"],
    "DECIMAL(38,2)": ["-" + "9" * 36 + ".99", "9" * 36 + ".99", "12.00", "-0.50"],
    "DECIMAL(38,38)": ["-0." + "9" * 38, "0." + "9" * 38, "0"],
    "DECIMAL(4,1)": ["-999.9", "12.0"],
    "BOOLEAN": ["true", "false"],
    "VARCHAR": [
        "", "12", " 12 ", "+7", "007", "12.0", "0x1F", "1_000", "1e3", "nan", "inf", "1e999", "yes",
        "TRUE", "infinity", "epoch", "2020-01-02", "2020-01-02 03:04", "2020-01-02T03:04:05+05:30",
        "2020-02-30", "9999-12-31 23:59:59-15:00", "0000-01-01", "1" * 5000, "-0", "a\x00b",
        "2020-01-02 03:04:05 America/New_York", "99999999999999999999", "\u0663", "12\n", "0.5",
    ],
    "ENUM('12', 'b')": ["12", "b"],
    "UUID": ["6f1b1d50-64a1-4c7c-9d1d-0a0b0c0d0e0f"],
    "DATE": ["infinity", "-infinity", "5877642-06-25 (BC)", "5881580-07-10", "2020-01-02"],
    "TIMESTAMP": ["infinity", "-infinity", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54"],
    "TIMESTAMP_S": ["infinity", "294247-01-10 04:00:54", "2020-01-02 03:04:05"],
    "TIMESTAMP_MS": ["-infinity", "290309-12-22 (BC) 00:00:00", "2020-01-02 03:04:05.6"],
    "TIMESTAMP_NS": ["infinity", "1677-09-22 00:00:00", "2262-04-11 00:00:00.123456789"],
    "TIMESTAMPTZ": ["infinity", "-infinity", "290309-12-22 (BC) 00:00+00", "2020-01-02 00:00+05"],
    "TIME": ["10:00"],
    "TIMETZ": ["10:00:00+05"],
    "INTERVAL": ["1 year"],
    "BLOB": ["ab"],
    "BIT": ["101"],
    "JSON": ['{"a": 1}'],
    "VARIANT": ["1"],
    "BIGNUM": ["5"],
    "INTEGER[]": ["[1]"],
    "DECIMAL(5,2)[]": ["[1.50]"],
    "VARCHAR[2]": ["[a, b]"],
    "STRUCT(a INTEGER)": ["{a: 1}"],
    "MAP(VARCHAR, INTEGER)": ["{a=1}"],
    "UNION(a INTEGER, b VARCHAR)": ["1"],
}  # fmt: skip


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("types") / "types.duckdb"
    with duckdb.connect(str(path)) as connection:
        for place, (kind, values) in enumerate(TYPES.items()):
            connection.execute(f"CREATE TABLE t{place} (v {kind})")
            for value in (*values, None):
                connection.execute(f"INSERT INTO t{place} SELECT CAST($1 AS {kind})", [value])
    return path


TIMES = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ", "DATE"}
WHOLE = {kind for kind in TYPES if kind.endswith("INT") or kind in ("INTEGER", "UINTEGER")}
DECIMALS = {kind for kind in TYPES if kind.startswith("DECIMAL") and kind.endswith(")")}
NUMBERS = {*WHOLE, *DECIMALS, "FLOAT", "DOUBLE"}
READ = {
    Type.INTEGER: {*NUMBERS, "BOOLEAN", "VARCHAR"},
    Type.REAL: {*NUMBERS, "BOOLEAN", "VARCHAR"},
    Type.TEXT: {*WHOLE, "BOOLEAN", "DATE", "VARCHAR", "ENUM('12', 'b')", "UUID"},
    Type.BOOLEAN: {*WHOLE, "BOOLEAN", "VARCHAR"},
    Type.DATE: {*TIMES, "VARCHAR"},
    Type.TIMESTAMP: {*TIMES, "VARCHAR"},
}


@pytest.mark.parametrize("kind", Type)
def test_every_type_is_refused_or_read_whatever_it_holds(everything: Path, kind: Type) -> None:
    """No value of any type raises, as any declared type: each is one of that type, or missing."""
    tables = []
    for place, held in enumerate(TYPES):
        source, columns = DuckdbTable(everything, f"t{place}"), (Column("v", kind),)
        table = Table(f"t{place}", source, columns, unit="row")
        if held in READ[kind]:
            tables.append(table)
            continue
        with pytest.raises(CatalogError, match="'v'"):
            DuckdbEngine(Catalog((table,)))
    engine = DuckdbEngine(Catalog(tuple(tables)))
    field = Field("f", kind, "f")
    for table in tables:
        rows, keys = Scan(table.name, ((field, "v"),)), (Key(field, "f", None),)
        bounded = Bounded(rows, keys, Shares(rows=1, alone=True), (COUNT,))
        (part,) = unsealed(engine.run(bounded, RECEIPT, salt=1))
        counts = part.column("s0").to_pylist()
        assert sum(counts) == len(TYPES[list(TYPES)[int(table.name[1:])]]) + 1
        assert part.column("k0").type == ARROW[kind]
    engine.close()


def test_ids_of_text_that_are_declared_whole_numbers_are_one_person_each(tmp_path: Path) -> None:
    texts = [
        "12",
        "12.1",
        "12.2",
        "012",
        " 12",
        "12 ",
        "+12",
        "0xC",
        "1_2",
        "1.2e1",
        "-0",
        "0",
        "-5",
    ]
    rows = ", ".join(f"'{text}'" for text in texts)
    path = made(tmp_path / "i.duckdb", f"CREATE TABLE t AS SELECT unnest([{rows}]) AS v")
    table = Table("t", DuckdbTable(path, "t"), (Column("v", Type.INTEGER),), unit="v")
    engine = DuckdbEngine(Catalog((table,)))
    field = Field("f", Type.INTEGER, "f")
    bounded = Bounded(
        Scan("t", ((field, "v"),)), (Key(field, "f", None),), Shares(rows=99), (COUNT,)
    )
    whole = Shares(rows=99).steps
    assert rows_of(engine, bounded) == [{(12, whole), (0, whole), (-5, whole)}]
    engine.close()
    read = Counter(values_of(DuckdbTable(path, "t"), "v", Type.INTEGER))
    assert read == {12: 5, 0: 2, -5: 1, None: 5}  # as values, spaces, signs and zeros may lead


@pytest.mark.parametrize(
    ("kind", "held"),
    [
        (Type.REAL, "DOUBLE"),
        (Type.DATE, "TIMESTAMP"),
        (Type.TIMESTAMP, "TIMESTAMP_NS"),
        (Type.TIMESTAMP, "VARCHAR"),
        (Type.BOOLEAN, "INTEGER"),
        (Type.BOOLEAN, "VARCHAR"),
    ],
)
def test_types_that_make_one_id_of_several_are_refused(kind: Type, held: str) -> None:
    check_fit("t", "v", kind, held)
    with pytest.raises(CatalogError, match="several would become one id"):
        check_fit("t", "v", kind, held, is_id=True)


@pytest.mark.parametrize("kind", ["HUGEINT", "DECIMAL(38,0)", "DECIMAL(20,0)"])
def test_numbers_of_128_bits_are_the_nearest_doubles(tmp_path: Path, kind: str) -> None:
    numbers = [-15_316_354_518_607_194, 2**60 + 129, 10**19 + 7, -(10**18) - 3, 3, 0]
    rows = f"CREATE TABLE t AS SELECT unnest({numbers})::{kind} AS v"
    path = made(tmp_path / "n.duckdb", rows)
    found = values_of(DuckdbTable(path, "t"), "v", Type.REAL)
    assert found == Counter(map(float, numbers))
