# SPDX-License-Identifier: Apache-2.0
"""sordino.toml is read as it is written, and what is wrong in it is said with its place."""

from datetime import date
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.catalog.model import CsvFile, DuckdbTable, ForeignKey, Limits, ParquetFile
from sordino.catalog.toml import read_all, read_catalog
from sordino.errors import CatalogError
from sordino.query.types import Range, Type

HOSPITAL = """
[budget]
epsilon = 0.3
delta = 1e-6

[tables.visits]
parquet = "visits.parquet"
unit = "patient_id"
people = "patients"
limits = { rows = 8, groups = 4, rows_per_group = 2 }
[tables.visits.columns]
visit_id = "integer"
patient_id = "integer"
disease = { type = "text", keys = ["flu", "asthma"], other = "other" }
age = { type = "integer", bounds = [0, 120] }
cost = { type = "real", bounds = [0.1, 5000] }
day = { type = "date", bounds = [2023-01-01, 2024-12-31] }
ward = { type = "integer", keys = { from = 1, to = 4 } }
shift = { type = "date", keys = { from = 2024-01-01, to = 2024-01-02 } }
city = { type = "text", keys_from = "cities.name" }

[tables.drugs]
csv = "drugs.csv"
separator = ";"
parent = "visits.visit_id"
via = "visit"
[tables.drugs.columns]
visit = "integer"
drug = "text"

[tables.stays]
duckdb = "hospital.duckdb"
table = "stays"
unit = "id"
people = "patients"
[tables.stays.columns]
id = "integer"

[tables.cities]
parquet = "cities.parquet"
public = true
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "sordino.toml"
    path.write_text(text, "utf-8")
    return path


def said(folder: Path, text: str) -> str:
    with pytest.raises(CatalogError) as caught:
        read_catalog(write(folder, text))
    return str(caught.value)


def test_all_that_can_be_declared_is_read(tmp_path: Path) -> None:
    cities = pa.table({"name": ["a"], "size": [1], "tags": [["x"]]})
    pq.write_table(cities, tmp_path / "cities.parquet")
    made = read_catalog(write(tmp_path, HOSPITAL))
    visits, drugs, stays, public = made.tables
    assert visits.source == ParquetFile(tmp_path / "visits.parquet")
    assert visits.limits == Limits(rows=8, groups=4, rows_per_group=2)
    assert (visits.unit, visits.people, drugs.people) == ("patient_id", "patients", "patients")
    assert [column.name for column in visits.columns][:3] == ["visit_id", "patient_id", "disease"]
    disease, age, cost, day, ward, shift, city = visits.columns[2:]
    assert (disease.keys, disease.other) == (("flu", "asthma"), "other")
    assert age.bounds == Range(Fraction(0), Fraction(120))
    assert cost.bounds == Range(Fraction(1, 10), Fraction(5000))
    assert day.bounds == Range(Fraction(2023), Fraction(2024))
    assert ward.keys == (1, 2, 3, 4)
    assert shift.keys == (date(2024, 1, 1), date(2024, 1, 2))
    assert city.keys_from == ("cities", "name")
    assert drugs.source == CsvFile(tmp_path / "drugs.csv", ";")
    assert drugs.parent == ForeignKey("visit", "visits", "visit_id")
    assert stays.source == DuckdbTable(tmp_path / "hospital.duckdb", "stays")
    assert [(c.name, c.type) for c in public.columns] == [
        ("name", Type.TEXT),
        ("size", Type.INTEGER),
    ]
    assert str(made.purse("patients").budget.cap) == "epsilon 0.3"
    assert made.purse("patients").slack == Fraction(1, 10**6)
    assert made.path == tmp_path / "sordino.toml"


def test_id_spaces_have_budgets_by_name(tmp_path: Path) -> None:
    tables = "".join(
        f'[tables.{name}]\ncsv = "x.csv"\nunit = "row"\npeople = "{name}"\n'
        'columns = { a = "text" }\n'
        for name in ("nurses", "patients")
    )
    budgets = "[budget.nurses]\nepsilon = 1\n[budget.patients]\nrho = 0.1\ndelta = 1e-9\n"
    made = read_catalog(write(tmp_path, budgets + tables))
    assert str(made.purse("nurses").budget.cap) == "epsilon 1"
    assert str(made.purse("patients").budget.cap) == "rho 0.1"
    assert "each needs a budget of its own" in said(tmp_path, "[budget]\nepsilon = 1\n" + tables)
    mixed = "[budget]\nepsilon = 1\n[budget.nurses]\nepsilon = 1\n" + tables
    assert "not both" in said(tmp_path, mixed)


TABLE = '[budget]\nepsilon = 1\n[tables.t]\ncsv = "t.csv"\nunit = "id"\ncolumns = { id = "text" }\n'


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "[budget]",
            "[budge]",
            "the file has no entry 'budge'; "
            "there are budget, ledger, log, server, analysts, tables",
        ),
        ("epsilon = 1", "eps = 1", "has no entry 'eps'; there are epsilon, delta, rho, currency"),
        ("epsilon = 1", "epsilon = nan", "budget: epsilon must be a positive number"),
        ("epsilon = 1", "", "no budget is stated for 'people'"),
        ("unit =", "units =", "it has no entry 'units'; there are parquet, csv"),
        ('unit = "id"', "unit = 5", "unit must be text, got 5"),
        ('unit = "id"', 'unit = "TODO"', "table 't': replace 'TODO' by the column"),
        ('unit = "id"', 'via = "id"', "parent and via go together"),
        ('unit = "id"', 'unit = "id"\npublic = "yes"', "public must be true or false"),
        ('unit = "id"', 'unit = "id"\nlimits = 5', "limits must be a table of entries"),
        ('unit = "id"', 'unit = "id"\nlimits = { row = 5 }', "limits has no entry 'row'"),
        ('unit = "id"', 'unit = "id"\ntable = "t"', "table names a table in a duckdb file"),
        ("csv =", "file =", "no entry 'file'"),
        ('csv = "t.csv"', "", "exactly one of parquet, csv, duckdb, postgres and spark"),
        ('csv = "t.csv"', 'csv = "t.csv"\nparquet = "x"', "exactly one of"),
        ('csv = "t.csv"', 'csv = ""', "csv must be the name of a file"),
        ('csv = "t.csv"', 'csv = "t.csv"\nseparator = "ab"', "separator must be one ASCII"),
        ('csv = "t.csv"', 'csv = "t.csv"\nquote = "ab"', 'one ASCII character, or "" for none'),
        ('csv = "t.csv"', 'csv = "t.csv"\nquote = ","', "must be different characters"),
        ('csv = "t.csv"', 'csv = "t.csv"\ndecimal = ";"', "decimal must be '.' or ',', got ';'"),
        ('csv = "t.csv"', 'csv = "t.csv"\nencoding = "rot13"', "encoding must be 'utf-8', 'utf"),
        ('csv = "t.csv"', 'csv = "t.csv"\nencoding = "iso2022_jp"', "that has no states"),
        ('csv = "t.csv"', 'csv = "t.csv"\nencoding = "utf-7"', "encoding must be"),
        ('csv = "t.csv"', 'csv = "t.csv"\nencoding = "raw_unicode_escape"', "encoding must be"),
        ('csv = "t.csv"', 'csv = "t.csv"\nnulls = "NA"', "nulls must be a list of texts"),
        ('csv = "t.csv"', 'csv = "t.csv"\nnulls = [1]', "nulls must be a list of"),
        ('csv = "t.csv"', 'csv = "t.csv"\nmalformed = "no"', "must be 'refuse' or 'skip'"),
        ('csv = "t.csv"', 'csv = "t.csv"\ndate_format = "%d.%m"', "must name a day by %d, %m and"),
        ('csv = "t.csv"', 'csv = "t.csv"\ndate_format = "%d.%m.%Y %d"', "once each"),
        ('csv = "t.csv"', 'csv = "t.csv"\ndate_format = "%x"', "date_format has %x; there are %d,"),
        ('csv = "t.csv"', 'csv = "t.csv"\ndate_format = "%d%m%Y%H"', "must not name a time"),
        ('csv = "t.csv"', 'csv = "t.csv"\ntimestamp_format = "%d%m%Y"', "must name a time too"),
        ('csv = "t.csv"', 'csv = "t.csv"\ntimestamp_format = "%d%m%Y%S"', "must name the time by"),
        ('csv = "t.csv"', 'csv = "t.xlsx"', "is an Excel workbook, which is not read; save each"),
        ('csv = "t.csv"', 'csv = "t.jsonl"', "is JSON lines, which is not read; turn it into Parq"),
        ('csv = "t.csv"', 'csv = "t.csv.zip"', "is an archive, which is not read; unpack it"),
        ('csv = "t.csv"', 'parquet = "t.parquet.gz"', "is packed as a whole (.gz); unpack it"),
        ('csv = "t.csv"', 'parquet = "t"\nseparator = ";"', "separator is for csv files"),
        ('csv = "t.csv"', 'duckdb = "t.duckdb"', "state both or neither"),
        ('columns = { id = "text" }', "", "state its columns"),
        ('id = "text"', 'id = "string"', "column 'id': 'string' is not a type; the types are"),
        ('id = "text"', 'id = { typ = "text" }', "column 'id': it has no entry 'typ'"),
        ('id = "text"', "id = {}", "column 'id': state its type"),
        ('id = "text"', "id = 5", "column 'id': it must be a table of entries"),
        (
            'id = "text"',
            'id = "text", a = { type = "date", bounds = ["2020-01-01", "2024-12-31"] }',
            "got '2020-01-01'; write it without quotes",
        ),
        (
            'id = "text"',
            'id = "text", a = { type = "integer", keys = { from = 1 } }',
            "column 'a': None is not a value of type integer",
        ),
        (
            'id = "text"',
            'id = "text", a = { type = "integer", keys = { from = 1, up_to = 3 } }',
            "keys has no entry 'up_to'; there are from, to",
        ),
    ],
)
def test_a_mistake_is_said_with_its_place(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert old in TABLE
    read_catalog(write(tmp_path, TABLE))
    found = said(tmp_path, TABLE.replace(old, new, 1))
    assert text in found
    assert found.startswith("sordino.toml: ")


def test_what_is_no_toml_is_told_the_line(tmp_path: Path) -> None:
    found = said(tmp_path, "[budget]\nepsilon = \n")
    assert found.startswith("sordino.toml is not TOML: ")
    assert "line 2" in found


@pytest.mark.parametrize("number", ["0,5", " 0,5  # half"])
def test_a_fraction_with_a_comma_is_told_to_have_a_point(tmp_path: Path, number: str) -> None:
    found = said(tmp_path, f"[budget]\nepsilon = {number}\n")
    assert found.endswith("; fractions have a point: write 0.5")


@pytest.mark.parametrize("name", ["flights.csv", "flights.parquet", "flights.xlsx"])
def test_data_in_place_of_a_catalog_is_told_how_to_draft_one(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"id,age\n1,2\n\xff")
    with pytest.raises(CatalogError, match=f"holds data.*'sordino init {name}'"):
        read_catalog(tmp_path / name)
    (tmp_path / name).write_bytes(b"id,age\n1,2\n")
    with pytest.raises(CatalogError, match=f"holds data.*'sordino init {name}'"):
        read_catalog(tmp_path / name)


def test_what_is_no_text_or_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="write one with 'sordino init'"):
        read_catalog(tmp_path / "nope.toml")
    with pytest.raises(CatalogError, match="cannot be read"):
        read_catalog(tmp_path)
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CatalogError, match="must be text in UTF-8"):
        read_catalog(tmp_path / "x.toml")


def test_a_public_file_without_declared_columns_must_be_there(tmp_path: Path) -> None:
    text = '[tables.c]\nparquet = "c.parquet"\npublic = true\n'
    assert "there is no file" in said(tmp_path, text)
    assert "state its columns" in said(tmp_path, text.replace("parquet =", "csv ="))


def test_the_example_of_the_page_is_a_catalog(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "catalog.md"
    text = page.read_text("utf-8").split("```toml\n")[1].split("```")[0]
    pq.write_table(pa.table({"name": ["a"]}), tmp_path / "cities.parquet")
    made = read_catalog(write(tmp_path, text))
    assert [table.name for table in made.tables] == ["visits", "prescriptions", "cities"]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = """
[budget]
epsilon = -1

[tables.a]
csv = "a.csv"
unit = 5
odd = 1
[tables.a.columns]
id = "text"
age = "int"
ward = { type = "text", bounds = [0, 1] }

[tables.b]
parquet = "b.parquet"
separator = ";"
unit = "id"
limits = { rows = 0 }
[tables.b.columns]
id = "integer"

[tables.c]
parquet = "c.parquet"
unit = "id"
[tables.c.columns]
id = "integer"
"""
    reading = read_all(write(tmp_path, text))
    assert reading.catalog is None
    assert [table.name for table in reading.tables] == ["c"]
    beginnings = [
        "table 'a': it has no entry 'odd'",
        "table 'a': column 'age': 'int' is not a type",
        "table 'a': column 'ward': bounds are for numbers",
        "table 'a': unit must be text",
        "table 'b': separator is for csv files",
        "table 'b': limits: rows must be",
        "budget: epsilon must be",
    ]
    assert len(reading.mistakes) == len(beginnings)
    for mistake, beginning in zip(reading.mistakes, beginnings, strict=True):
        assert mistake.startswith(f"sordino.toml: {beginning}")
    with pytest.raises(CatalogError) as first:
        read_catalog(tmp_path / "sordino.toml")
    assert str(first.value) == reading.mistakes[0]


def test_links_that_lead_nowhere_are_told_for_each_table(tmp_path: Path) -> None:
    tables = "".join(
        f'[tables.{name}]\ncsv = "{name}.csv"\nparent = "nowhere.id"\nvia = "id"\n'
        f'columns = {{ id = "integer" }}\n'
        for name in "ab"
    )
    reading = read_all(write(tmp_path, "[budget]\nepsilon = 1\n" + tables))
    assert [mistake.split(":")[1] for mistake in reading.mistakes] == [" table 'a'", " table 'b'"]


def test_a_file_of_tabs_needs_no_word_about_its_separator(tmp_path: Path) -> None:
    for name in ("t.tsv", "t.tsv.gz"):
        source = read_catalog(write(tmp_path, TABLE.replace("t.csv", name))).tables[0].source
        assert isinstance(source, CsvFile)
        assert source.separator == "\t"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = " + "[" * 30_000, "nested too deeply"),
        ("x = " + "{a = " * 30_000, "nested too deeply"),
        (".".join(["a"] * 400_000) + " = 1", "a key of more than 100 parts"),
        ("[" + " . ".join(['"a"'] * 400_000) + "]", "a key of more than 100 parts"),
        ("x = {" + ".".join(["'a'"] * 101) + " = 1}", "a key of more than 100 parts"),
    ],
    ids=["lists", "tables", "dotted", "header", "inline"],
)
def test_what_no_parser_should_be_given_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "sordino.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(CatalogError, match=said):
        read_catalog(path)


def test_many_mistakes_are_told_each_once(tmp_path: Path) -> None:
    path = tmp_path / "sordino.toml"
    tables = "\n".join(f"[tables.t{k}]\nparket = 'visits.parquet'" for k in range(20_000))
    path.write_text(f"[budget]\nepsilon = 1\n{tables}", "utf-8")
    mistakes = read_all(path).mistakes
    assert len(set(mistakes)) == len(mistakes) >= 20_000
