# SPDX-License-Identifier: Apache-2.0
"""The doctor finds what is doubtful, from declarations and schemas alone."""

from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog.arrow import plain, type_of
from sordino.catalog.checks import catalog, column, purse, table
from sordino.catalog.checks import limits as limits_of
from sordino.catalog.doctor import Finding, Severity, check
from sordino.catalog.model import Catalog, CsvFile, DuckdbTable, ForeignKey, Frame, ParquetFile
from sordino.catalog.values import CONVERSIONS
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.reading import READER
from sordino.errors import CatalogError
from sordino.query.types import ARROW_TYPES, Type

ROWS = {"id": [1], "age": [30], "note": ["x"], "price": [1.5], "big": pa.array([1], pa.uint64())}
FRAME = Frame(pa.table(ROWS))
FEW = limits_of(rows=3)
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}


def catalog_of(*columns: Any, unit: str = "id", **budget: Any) -> Catalog:
    listed = [column("id", "integer"), *columns]
    made = table("visits", FRAME, listed, unit=unit, limits=FEW)
    return catalog([made], purse(**(budget or BUDGET)))


def only(found: list[Finding], severity: Severity) -> Finding:
    assert [finding.severity for finding in found] == [severity]
    return found[0]


def test_a_catalog_without_fault_has_no_findings() -> None:
    assert check(catalog_of(column("age", "integer", bounds=(0, 120)))) == []


def test_a_number_without_bounds_is_warned_of() -> None:
    finding = only(check(catalog_of(column("age", "integer"))), Severity.WARNING)
    assert finding.where == "visits.age"
    assert "no bounds" in finding.message
    assert finding.as_json()["severity"] == "warning"


def test_bounds_that_are_hardly_meant_are_warned_of() -> None:
    wide = column("price", "real", bounds=(-1e9, 1e9))
    assert "2000000000 apart" in only(check(catalog_of(wide)), Severity.WARNING).message


@pytest.mark.parametrize("name", ["note", "customerEmail", "street_address", "ssn"])
def test_text_that_looks_unbounded_is_warned_of(name: str) -> None:
    source = Frame(pa.table({"id": [1], name: ["x"]}))
    made = table(
        "t", source, [column("id", "integer"), column(name, "text")], unit="id", limits=FEW
    )
    finding = only(check(catalog([made], purse(**BUDGET))), Severity.WARNING)
    assert "unbounded" in finding.message


def test_text_without_keys_cannot_be_grouped_by_without_a_delta() -> None:
    source = Frame(pa.table({"id": [1], "disease": ["x"]}))
    columns = [column("id", "integer"), column("disease", "text")]
    made = table("t", source, columns, unit="id", limits=FEW)
    without = only(check(catalog([made], purse(epsilon=1))), Severity.NOTE)
    assert "no delta" in without.message
    assert "costs a delta" in only(check(catalog([made], purse(**BUDGET))), Severity.NOTE).message


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        ({"epsilon": 11}, "epsilon 11 protects hardly anybody"),
        ({"rho": 1}, "epsilon inf"),
        ({"epsilon": 1, "delta": 0.01}, "the delta is large"),
        ({"rho": 0.001, "delta": 0.01}, "the delta is large"),
    ],
)
def test_a_budget_that_protects_little_is_warned_of(budget: dict[str, Any], text: str) -> None:
    assert text in only(check(catalog_of(**budget)), Severity.WARNING).message


def test_a_missing_limit_is_told_what_counts_instead() -> None:
    made = table("visits", FRAME, [column("id", "integer")], unit="id")
    finding = only(check(catalog([made], purse(**BUDGET))), Severity.NOTE)
    assert "10 rows of one person" in finding.message


def test_a_unit_of_free_text_or_of_every_row_is_remarked() -> None:
    source = Frame(pa.table({"full_name": ["x"]}))
    columns = [column("full_name", "text")]
    made = table("t", source, columns, unit="full_name", limits=FEW)
    finding = only(check(catalog([made], purse(**BUDGET))), Severity.WARNING)
    assert "looks like free text" in finding.message
    rows = table("t", FRAME, [column("age", "integer", bounds=(0, 9))], unit="row")
    assert "every row" in only(check(catalog([rows], purse(**BUDGET))), Severity.NOTE).message


def test_people_of_several_id_spaces_and_public_ids_are_remarked() -> None:
    one = table("a", FRAME, [column("id", "integer")], unit="id", limits=FEW)
    two = table("b", FRAME, [column("id", "integer")], unit="id", limits=FEW, people="staff")
    ids = Frame(pa.table({"Id": [1]}))
    public = table("c", ids, [column("Id", "integer")], public=True)
    purses = {"people": purse(epsilon=1), "staff": purse(epsilon=1)}
    warning, note = check(catalog([one, two, public], purses))
    assert (warning.severity, warning.where) == (Severity.WARNING, "c.Id")
    assert "people, staff have budgets of their own" in note.message


def test_columns_that_lead_to_the_unit_need_no_bounds() -> None:
    source = Frame(pa.table({"id": [1], "visit": [1]}))
    columns = [column("id", "integer"), column("visit", "integer")]
    visits = table("visits", source, columns, unit="id", limits=FEW)
    parent = ForeignKey("visit", "visits", "visit")
    drugs = table("drugs", source, columns[1:], parent=parent, limits=FEW)
    assert check(catalog([visits, drugs], purse(**BUDGET))) == []


@pytest.mark.parametrize(
    ("name", "kind", "severity", "text"),
    [
        ("nope", "boolean", Severity.ERROR, "the schema has no such column"),
        ("age", "boolean", Severity.WARNING, "declared as boolean and held as int64"),
        ("age", "date", Severity.ERROR, "declared as date and held as int64"),
        ("note", "boolean", Severity.WARNING, "declared as boolean and held as string"),
    ],
)
def test_a_column_must_be_there_and_hold_its_type(
    name: str, kind: str, severity: Severity, text: str
) -> None:
    finding = only(check(catalog_of(column(name, kind))), severity)
    assert text in finding.message
    assert finding.where == f"visits.{name}"


@pytest.mark.parametrize("held", Type)
@pytest.mark.parametrize("kind", Type)
def test_the_doctor_calls_an_error_what_the_engine_refuses(held: Type, kind: Type) -> None:
    rows = pa.table({"id": [1], "x": pa.array([None], ARROW_TYPES[held])})
    columns = [column("id", "integer"), column("x", kind)]
    declared = catalog([table("t", Frame(rows), columns, unit="id", limits=FEW)], purse(**BUDGET))
    found = [finding for finding in check(declared) if finding.severity is Severity.ERROR]
    try:
        DuckdbEngine(declared).close()
    except CatalogError:
        assert len(found) == 1
    else:
        assert found == []


@pytest.mark.parametrize("held", Type)
@pytest.mark.parametrize("kind", Type)
def test_what_a_frame_is_turned_into_is_in_the_table(held: Type, kind: Type) -> None:
    conversion = CONVERSIONS.get((held, kind))
    try:
        made = plain(pa.array([None], ARROW_TYPES[held]), kind)
    except CatalogError:
        assert conversion is None or not conversion.in_memory
    else:
        assert conversion is not None
        assert conversion.in_memory
        assert type_of(made.type) is kind


@pytest.mark.parametrize(("unit", "text"), [("price", "real numbers"), ("big", "uint64")])
def test_ids_of_a_doubtful_type_are_errors(unit: str, text: str) -> None:
    made = table("visits", FRAME, [column(unit, "integer")], unit=unit, limits=FEW)
    finding = only(check(catalog([made], purse(**BUDGET))), Severity.ERROR)
    assert text in finding.message


def test_files_are_looked_for_and_their_columns_compared(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "part-1.parquet")
    (tmp_path / "x.csv").write_text("id,age\n", "utf-8")
    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute("CREATE TABLE stays AS SELECT 1 AS id")
    there = (
        ParquetFile(tmp_path / "part-*.parquet"),
        CsvFile(tmp_path / "x.csv"),
        DuckdbTable(tmp_path / "x.duckdb", "STAYS"),
    )
    gone = (
        ParquetFile(tmp_path / "other-*.parquet"),
        CsvFile(tmp_path / "y.csv"),
        DuckdbTable(tmp_path / "y.duckdb", "stays"),
        DuckdbTable(tmp_path / "x.duckdb", "visits"),
        CsvFile(tmp_path / "x.csv", ";"),
    )
    columns = [column("id", "integer")]
    for source in (*there, *gone):
        made = catalog([table("t", source, columns, unit="id", limits=FEW)], purse(**BUDGET))
        assert [f.severity for f in check(made, READER)] == ["error"] * (source in gone), source


Files: TypeAlias = ParquetFile | CsvFile | DuckdbTable


def _told(source: Files) -> Finding:
    columns = [column("id", "integer")]
    made = catalog([table("t", source, columns, unit="id", limits=FEW)], purse(**BUDGET))
    return only(check(made, READER), Severity.ERROR)


@pytest.mark.parametrize("name", ["parts", "parts.csv", "parts.parquet"])
def test_a_folder_is_told_how_its_files_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    path = tmp_path / name
    sources: list[Files] = [ParquetFile(path), CsvFile(path), DuckdbTable(path, "t")]
    for source in (*sources, CsvFile(tmp_path / "p*")):
        finding = _told(source)
        assert finding.message == f"{name!r} is a folder"
        assert finding.hint == f"name the files in it, as in '{name}/*.parquet'"
    (tmp_path / name / "1.csv").write_text("id\n", "utf-8")
    assert _told(sources[1]).hint == f"name the files in it, as in '{name}/*.csv'"


@pytest.mark.parametrize(("sign", "written"), [(";", '";"'), ("\t", r'"\t"'), ("|", '"|"')])
def test_a_header_with_another_separator_is_told_it(
    tmp_path: Path, sign: str, written: str
) -> None:
    (tmp_path / "x.csv").write_text(sign.join(["id", "age", "city"]) + "\n", "utf-8")
    assert _told(CsvFile(tmp_path / "x.csv")).hint.endswith(f"state separator = {written}")


def test_it_is_seen_where_a_name_ends(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('"city, big",id ,age\n', "utf-8")
    assert _told(CsvFile(tmp_path / "x.csv")).hint == "there are age, 'city, big', 'id '"


def test_a_duckdb_file_is_left_alone_without_a_reader(tmp_path: Path) -> None:
    source = DuckdbTable(tmp_path / "x.duckdb", "t")
    made = catalog(
        [table("t", source, [column("id", "integer")], unit="id", limits=FEW)], purse(**BUDGET)
    )
    assert "was not looked at" in only(check(made), Severity.NOTE).message


def test_the_worst_comes_first() -> None:
    made = catalog_of(column("age", "integer"), column("nope", "boolean"), epsilon=20)
    order = [finding.severity for finding in check(made)]
    assert order == [Severity.ERROR, Severity.WARNING, Severity.WARNING]
