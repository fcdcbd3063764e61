# SPDX-License-Identifier: Apache-2.0
"""A draft tells the schema and nothing of the data, unless the owner says so column by column."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog.doctor import Severity, check
from sordino.catalog.draft import draft
from sordino.catalog.model import Catalog, CsvFile, DuckdbTable
from sordino.catalog.toml import read_catalog
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.reading import READER
from sordino.errors import CatalogError
from sordino.query.types import Range, Type

VISITS = {
    "patient_id": [424242, 7],
    "disease": ["rare secret", 'a "quoted"\n\x7f one'],
    "age": [37, 99],
    "cost": [12.25, float("inf")],
    "day": [date(1987, 6, 5), date(2001, 1, 1)],
    "well": [True, None],
    "tags": [["x"], []],
    "price": [Decimal("1.50"), None],
}
CSV = "id;age;city name\n424242;37;Atlantis\n7;99;Xanadu\n"


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    pq.write_table(pa.table(VISITS), tmp_path / "visits.parquet")
    return tmp_path / "visits.parquet"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people 1.csv").write_text(CSV, "utf-8")
    return tmp_path / "people 1.csv"


def loaded(text: str, folder: Path) -> Catalog:
    (folder / "sordino.toml").write_text(text, "utf-8")
    return read_catalog(folder / "sordino.toml")


def test_a_draft_is_the_same_for_any_data_of_the_same_schema(visits: Path, people: Path) -> None:
    before = draft([visits, people], unit="patient_id")
    pq.write_table(pa.table(VISITS).slice(0, 0), visits)
    people.write_text(CSV.splitlines()[0], "utf-8")
    assert draft([visits, people], unit="patient_id") == before
    assert "secret" not in before


def test_a_draft_loads_at_once_if_it_has_a_unit(visits: Path) -> None:
    made = loaded(draft(visits, unit="patient_id", folder=visits.parent), visits.parent)
    table = made.tables[0]
    assert (table.name, table.unit) == ("visits", "patient_id")
    assert {column.name: str(column.type) for column in table.columns} == {
        "patient_id": "integer",
        "disease": "text",
        "age": "integer",
        "cost": "real",
        "day": "date",
        "well": "boolean",
        "price": "real",
    }
    assert all(column.bounds is None and column.keys is None for column in table.columns)


def test_a_draft_marks_what_only_the_owner_can_state(visits: Path) -> None:
    lines = draft(visits, unit="patient_id").splitlines()
    marked = {line.partition(" ")[0] for line in lines if "# TODO: state public" in line}
    assert marked == {"disease", "age", "cost", "day", "price"}
    assert any(line.startswith("# tags: its type list<") for line in lines)


def test_without_a_unit_the_draft_is_refused_until_one_is_stated(visits: Path) -> None:
    with pytest.raises(CatalogError, match="replace 'TODO' by the column"):
        loaded(draft(visits), visits.parent)
    assert loaded(draft(visits, unit="row"), visits.parent).tables[0].each_row


def test_the_values_of_declared_columns_alone_enter(visits: Path) -> None:
    public = ["disease", "visits.age", "cost", "day", "well"]
    text = draft(visits, unit="patient_id", declare_public=public)
    columns = {column.name: column for column in loaded(text, visits.parent).tables[0].columns}
    assert columns["disease"].keys == ('a "quoted"\n\x7f one', "rare secret")
    assert columns["age"].bounds == Range(Fraction(37), Fraction(99))
    assert columns["day"].bounds == Range(Fraction(1987), Fraction(2001))
    assert columns["cost"].bounds is None  # one finite value is no range
    assert columns["price"].bounds is None
    assert text.count("declared public by the owner") == 3
    assert "- what the values of disease, " in text
    assert "424242" not in text


def test_a_csv_file_has_no_types_unless_they_may_be_guessed(people: Path) -> None:
    plain = draft(people, unit="id")
    table = loaded(plain, people.parent).tables[0]
    assert table.name == "people_1"
    assert {column.type for column in table.columns} == {Type.TEXT}
    assert plain.count("TODO: state the type") == 2
    assert 'separator = ";"' in plain
    guessed = draft(people, unit="id", guess_types=True)
    types = [column.type for column in loaded(guessed, people.parent).tables[0].columns]
    assert types == [Type.INTEGER, Type.INTEGER, Type.TEXT]
    assert "guessed from the first rows" in guessed
    assert "37" not in guessed


def test_declared_columns_of_a_csv_file_are_read_by_their_types(people: Path) -> None:
    public = ["age", "city name"]
    text = draft(people, unit="id", guess_types=True, declare_public=public)
    _, age, city = loaded(text, people.parent).tables[0].columns
    assert age.bounds == Range(Fraction(37), Fraction(99))
    assert city.keys == ("Atlantis", "Xanadu")


def test_the_owners_bounds_are_written_down(people: Path) -> None:
    bounds = {"age": ("0", "110.5")}
    _, age, _ = loaded(draft(people, unit="id", bounds=bounds), people.parent).tables[0].columns
    assert (age.type, age.bounds) == (Type.REAL, Range(Fraction(0), Fraction(221, 2)))


def test_every_table_of_a_duckdb_file_is_drafted(tmp_path: Path) -> None:
    path = tmp_path / "hospital.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE stays AS SELECT 1 AS id, 'x' AS ward, 5::HUGEINT AS n")
        connection.execute('CREATE TABLE "odd ""name" AS SELECT 1 AS id')
    text = draft(path, unit="id", declare_public=["ward"], reader=READER, folder=tmp_path)
    odd, stays = loaded(text, tmp_path).tables
    assert odd.source == DuckdbTable(path, 'odd "name')
    assert stays.column("ward") is not None
    assert [column.keys for column in stays.columns if column.name == "ward"] == [("x",)]
    with pytest.raises(CatalogError, match="hand over a reader"):
        draft(path)


def test_paths_are_relative_to_where_the_draft_is_kept(visits: Path) -> None:
    folder = visits.parent / "catalogs"
    folder.mkdir()
    assert 'parquet = "../visits.parquet"' in draft(visits, folder=folder)


def test_files_of_the_same_name_become_tables_of_different_names(visits: Path) -> None:
    other = visits.parent / "Visits.csv"
    other.write_text("patient_id\n", "utf-8")
    text = draft([visits, other], unit="row")
    assert [table.name for table in loaded(text, visits.parent).tables] == ["visits", "Visits_2"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "a header of column names"),
        ("1,2\n", "must name its columns"),
        ("a,,b\n", "must name its columns"),
        ("a\0b\n", "a header of column names"),
    ],
)
def test_a_file_without_a_header_does_not_give_its_first_row_away(
    tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "x.csv").write_text(content, "utf-8")
    with pytest.raises(CatalogError, match=said):
        draft(tmp_path / "x.csv")


def test_wishes_that_fit_no_column_are_refused(visits: Path) -> None:
    with pytest.raises(CatalogError, match="--unit names 'nope', which is not a column"):
        draft(visits, unit="nope")
    with pytest.raises(CatalogError, match="--declare-public names 'nope'"):
        draft(visits, declare_public=["nope"])
    with pytest.raises(CatalogError, match="people's ids are not public"):
        draft(visits, unit="patient_id", declare_public=["visits.patient_id"])
    with pytest.raises(CatalogError, match="must be two numbers, years or dates"):
        draft(visits, bounds={"age": ("0", "9] }\nunit = [0")})
    with pytest.raises(CatalogError, match="at least one"):
        draft([])


def test_a_name_that_is_nearly_that_of_a_column_is_told_which(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(" patient_id ,age\n1,2\n", "utf-8")
    with pytest.raises(CatalogError, match=r"--unit names .*; did you mean ' patient_id '\?"):
        draft(path, unit="patient_id")
    with pytest.raises(CatalogError, match=r"--bounds names 'Aeg'.*; did you mean 'age'\?"):
        draft(path, bounds={"Aeg": ("0", "1")})


def test_too_many_values_are_not_written_down(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [str(k) for k in range(1001)]}), tmp_path / "t.parquet")
    with pytest.raises(CatalogError, match="more than 1,000 distinct values"):
        draft(tmp_path / "t.parquet", declare_public=["x"])


def test_a_file_that_is_not_what_it_says_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("hello")
    (tmp_path / "x.duckdb").write_text("hello")
    with pytest.raises(CatalogError, match="is not a Parquet file"):
        draft(tmp_path / "x.parquet")
    with pytest.raises(CatalogError, match="is not a DuckDB file"):
        draft(tmp_path / "x.duckdb", reader=READER)
    for name in ("no.parquet", "no.csv", "no.duckdb"):
        with pytest.raises(CatalogError, match="there is no file"):
            draft(tmp_path / name, reader=READER)


@pytest.mark.parametrize(
    "ends", [("9", "3"), ("2024-12-31", "2024-01-01"), ("-1", "-2"), ("1", "2024-01-01")]
)
def test_bounds_have_their_lower_end_first(tmp_path: Path, ends: tuple[str, str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("who,age\n1,2\n", "utf-8")
    with pytest.raises(CatalogError, match="--bounds of 'age' must"):
        draft([file], unit="who", bounds={"age": ends}, folder=tmp_path)


def test_the_hints_hold_once_they_are_uncommented(visits: Path) -> None:
    text = draft(visits, unit="patient_id", folder=visits.parent)
    wanted = (
        *("question =", "[ledger]", "file =", "[analysts.alice]", "share =", "reserved ="),
        *("[server]", "slot =", "approve_above ="),
    )
    lines = [
        line.removeprefix("# ") if line.startswith(tuple(f"# {word}" for word in wanted)) else line
        for line in text.splitlines()
    ]
    made = loaded("\n".join(lines), visits.parent)
    assert made.purses[0][1].question == Fraction(1, 10)
    assert made.book is not None
    assert made.book.place == visits.parent / "sordino.ledger"
    assert [(one.name, one.share, one.reserved) for one in made.analysts] == [
        ("alice", Fraction(1, 2), Fraction(1, 5))
    ]
    assert (made.serving.slot, made.serving.approve_above) == (Fraction(1), Fraction(1, 2))


def test_words_for_a_missing_value_are_no_reason_to_call_numbers_text(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("id,age,day,city,free\n1,NA,2024-05-01,NA,\\N\n2,37,NULL,Bonn,x\n", "utf-8")
    text = draft(path, unit="id", guess_types=True)
    assert 'nulls = ["", "NA", "NULL"]' in text
    table = loaded(text, tmp_path).tables[0]
    kinds = [Type.INTEGER, Type.INTEGER, Type.DATE, Type.TEXT, Type.TEXT]
    assert [column.type for column in table.columns] == kinds


def test_a_word_in_text_alone_is_a_value_like_others(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("id,country,none\n1,NA,NA\n2,DE,NA\n", "utf-8")
    text = draft(path, unit="id", guess_types=True)
    assert "nulls" not in text
    assert [column.type for column in loaded(text, tmp_path).tables[0].columns][1:] == [
        Type.TEXT,
        Type.TEXT,
    ]


def test_bounds_make_a_number_of_what_files_hold_in_several_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "age": [3], "day": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": [1], "age": ["3"], "day": [1]}), tmp_path / "2.parquet")
    ends = {"age": ("0", "110"), "day": ("2020-01-01", "2024-12-31")}
    text = draft(tmp_path / "*.parquet", unit="id", bounds=ends)
    kinds = [column.type for column in loaded(text, tmp_path).tables[0].columns]
    assert kinds == [Type.INTEGER, Type.REAL, Type.DATE]


def test_bounds_of_text_are_refused(visits: Path) -> None:
    for name, kind in (("disease", "text"), ("well", "boolean")):
        with pytest.raises(CatalogError, match=f"--bounds names '{name}', which is {kind}"):
            draft(visits, bounds={name: ("0", "1")})


def test_ids_that_are_no_integers_are_said_to_be_text(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("id,age\n1.0,3\n", "utf-8")
    text = draft(path, unit="id", guess_types=True)
    assert "TODO: declare the ids as text, or rewrite the file" in text
    with pytest.raises(CatalogError, match=r"declare it as text, or rewrite .* written as 1\.0"):
        loaded(text, tmp_path)


def test_a_few_odd_values_do_not_make_text_of_numbers_without_a_word(tmp_path: Path) -> None:
    rows = [
        f"{place},{place / 4},0{place},{place % 3},2024-01-{1 + place % 28:02}"
        for place in range(60)
    ]
    rows[41] = "41,missing,41,x,unknown"
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["id,delay,code,grade,day", *rows]), "utf-8")
    said: list[str] = []
    text = draft(path, unit="id", guess_types=True, tell=said.append)
    assert [line.split(" (line 43 ")[0] for line in said] == [
        "taken as text although nearly all of its values are numbers: delay",
        "taken as text although nearly all of its values are numbers: grade",
        "taken as text although nearly all of its values are dates: day",
    ]
    assert 'delay = "text"  # TODO: nearly all of its values are numbers; if the others' in text
    assert "43" not in text
    said.clear()
    text = draft(path, unit="id", guess_types=True, bounds={"delay": ("0", "9")}, tell=said.append)
    assert 'delay = { type = "real", bounds = [0, 9] }' in text
    assert said[0].startswith("not all values are numbers: delay (line 43 is the first that is not")
    with pytest.raises(CatalogError, match="'day', which is text and has no bounds"):
        draft(path, guess_types=True, bounds={"day": ("0", "9")})
    nulls = ("", "missing", "x", "unknown")
    said.clear()
    text = draft(path, unit="id", guess_types=True, csv={"nulls": nulls}, tell=said.append)
    kinds = [column.type for column in loaded(text, tmp_path).tables[0].columns]
    assert kinds == [Type.INTEGER, Type.REAL, Type.TEXT, Type.INTEGER, Type.DATE]
    assert not said


@pytest.mark.parametrize(
    ("days", "form"),
    [
        (["15/04/2013", "1/2/2013"], "%d/%m/%Y"),
        (["04/15/2013", "1/2/2013"], "%m/%d/%Y"),
        (["15/04/13", "01/02/13"], "%d/%m/%y"),
        (["15-04-2013", "01-02-2013"], "%d-%m-%Y"),
        (["15.04.2013", "01.02.2013"], "%d.%m.%Y"),
    ],
)
def test_the_order_of_day_and_month_is_guessed_where_a_day_tells_it(
    tmp_path: Path, days: list[str], form: str
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["id,day", *(f"{n},{day}" for n, day in enumerate(days))]), "utf-8")
    made = loaded(draft(path, unit="id", guess_types=True), tmp_path).tables[0]
    assert made.columns[1].type is Type.DATE
    assert isinstance(made.source, CsvFile)
    assert made.source.date_format == form


def test_an_order_that_no_day_tells_is_left_to_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("id,day\n1,03/04/2013\n2,05/06/2013\n", "utf-8")
    said: list[str] = []
    text = draft(path, unit="id", guess_types=True, tell=said.append)
    assert said == [
        "taken as text, because its days may be written in several ways: day; say which, as in "
        "--date-format %d/%m/%Y"
    ]
    assert 'state date_format = "%d/%m/%Y" or date_format = "%m/%d/%Y", and the type date' in text
    text = draft(path, unit="id", guess_types=True, csv={"date_format": "%m/%d/%Y"})
    assert loaded(text, tmp_path).tables[0].columns[1].type is Type.DATE
    path.write_text("id,day,end\n1,13/04/2013,04/13/2013\n", "utf-8")
    text = draft(path, unit="id", guess_types=True)
    kinds = [column.type for column in loaded(text, tmp_path).tables[0].columns]
    assert kinds == [Type.INTEGER, Type.TEXT, Type.TEXT]


def test_files_of_one_table_are_drafted_by_what_all_of_them_have(tmp_path: Path) -> None:
    months = tmp_path / "months"
    months.mkdir()
    one = {"id": ["a"], "far": [1], "ward": ["n"], "odd": [1.5], "late": [2.5]}
    two = {"id": ["a"], "far": ["x"], "ward": pa.array(["s"]).dictionary_encode(), "odd": [None]}
    three = {"id": ["b"], "far": [2.5], "ward": ["n"], "odd": [[1]], "late": [1]}
    for place, rows in enumerate((one, two, three)):
        pq.write_table(pa.table(rows), months / f"{place}.parquet")
    said: list[str] = []
    text = draft(
        months / "*.parquet", unit="id", declare_public=["ward"], folder=tmp_path, tell=said.append
    )
    table = loaded(text, tmp_path).tables[0]
    assert table.name == "months"
    assert {column.name: column.type for column in table.columns} == {
        "id": Type.TEXT,
        "far": Type.REAL,
        "ward": Type.TEXT,
    }
    assert table.columns[2].keys == ("n", "s")
    assert said == [
        "months is left without the column late, which 1.parquet does not have and other files "
        "have",
        "months is left without the column odd, which is of the type double or list<element: "
        "int64>",
    ]
    assert "# late: not all files have it; it is left out" in text
    DuckdbEngine(loaded(text, tmp_path)).close()
    (odd,) = (odd for odd in check(loaded(text, tmp_path)) if "held as" in odd.message)
    assert (odd.where, odd.severity) == ("months.far", Severity.WARNING)
    assert odd.hint == "write the files anew, so that all of them hold it alike"
    late = text.replace("\nward =", '\nlate = "real"\nward =')
    odd = check(loaded(late, tmp_path))[0]
    assert odd.message == "the file '1.parquet' has no such column, and other files have"
