# SPDX-License-Identifier: Apache-2.0
"""`sordino check --read` and `sordino init` on files as people have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sordino.cli.main import app

HEAD = "[budget]\nepsilon = 1\n"
VISITS = """
[tables.visits]
csv = "visits.csv"
{options}
unit = "id"
limits = {{ rows = 2 }}
[tables.visits.columns]
visit = "integer"
id = "integer"
age = {{ type = "integer", bounds = [0, 100] }}
ward = {{ type = "text", keys = ["north", "south"] }}
day = {{ type = "date", bounds = [2020, 2024] }}
"""
DRUGS = """
[tables.drugs]
csv = "drugs.csv"
parent = "visits.visit"
via = "visit"
columns = { visit = "integer" }
"""
ROWS = b"""visit,id,age,ward,day
1,7,30,north,2020-01-01
2,7,x,east,2020-01-01
3,7,130,n\xf6rd,2020-02-30
4,,40,south,2019-12-31

5,8
5,"8",50,"so
uth",2020-01-01
"""
CROWDED = (
    "people with more than 2 rows, who count as 2 rows each: 1 of {people}; that takes off 1 of "
    "{rows} rows ({share} %), so that counts get smaller, and averages may be biased"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.output


def told(options: str = "", more: str = "") -> dict[str, Any]:
    """Return what is told of each table to programs."""
    Path("sordino.toml").write_text(HEAD + VISITS.format(options=options) + more, "utf-8")
    code, output = run("check", "--read", "--json")
    private = json.loads(output)["private"]
    assert "must not be passed on" in private["note"]
    tables = {table["table"]: table for table in private["tables"]}
    wrong = any(odd["severity"] == "error" for t in tables.values() for odd in t["findings"])
    assert code == int(wrong)
    return tables


def messages(table: dict[str, Any]) -> set[tuple[str, str]]:
    return {(odd["where"], odd["message"]) for odd in table["findings"]}


def test_the_owner_is_told_what_was_read_and_what_was_not() -> None:
    Path("visits.csv").write_bytes(ROWS)
    Path("drugs.csv").write_text("visit\n1\n5\n9\n\nx\n", "utf-8")
    tables = told(more=DRUGS)
    visits = tables["visits"]
    assert (visits["rows"], visits["left_out"], visits["people"]) == (6, 1, 2)
    unfit = "values that do not fit the type {}, and are missing: {}"
    assert messages(visits) == {
        ("visits.age", unfit.format("integer", "1 (line 3)")),
        ("visits.day", unfit.format("date", "1 (line 4)")),
        ("visits.ward", "values that are no text in utf-8, and are missing: 1 (line 4)"),
        ("visits.age", "values that lie outside of the bounds, and are clamped: 1 (line 4)"),
        ("visits.day", "values that lie outside of the bounds, and are clamped: 1 (line 5)"),
        (
            "visits.ward",
            "values that are not among its keys, and are left out where rows are grouped by it: "
            "2 (lines 3, 8)",
        ),
        (
            "visits",
            "rows with fewer values than the header, of which the last are missing: 1 (line 7)",
        ),
        ("visits.id", "rows without an id, which are left out: 1 (line 5)"),
        ("visits", CROWDED.format(people=2, rows=5, share=20)),
    }
    assert tables["drugs"]["left_out"] == 2
    assert tables["drugs"]["people"] == 2
    (nobody,) = (odd for odd in visits["findings"] if "without an id" in odd["message"])
    assert (nobody["count"], nobody["lines"]) == (1, [{"file": "visits.csv", "line": 5}])
    assert messages(tables["drugs"]) == {
        ("drugs.visit", unfit.format("integer", "1 (line 6)")),
        ("drugs.visit", "rows without an id of a parent, which are left out: 1 (line 6)"),
        (
            "drugs.visit",
            "rows with an id that visits does not have, which are left out: 1 (line 4)",
        ),
        (
            "drugs.visit",
            "ids that stand in several rows of visits, so that rows count several times: 1",
        ),
    }


def test_lines_that_are_not_well_formed_are_named() -> None:
    lines = [
        "visit,id,age,ward,day",
        *(f"{place},{place},3,north,2020-01-01" for place in range(20)),
    ]
    for place in (3, 5, 7, 9, 11, 13):
        lines[place] = f'{place},{place},3,no"rth,2020-01-01'
    Path("visits.csv").write_text("\n".join(lines), "utf-8")
    Path("drugs.csv").write_text("visit\n1\n", "utf-8")
    tables = told(more=DRUGS)
    (odd,) = tables["visits"]["findings"]
    assert odd["message"].startswith("line 4: a quote stands in the middle of a value")
    assert odd["hint"].endswith("leave out such lines: 6 (lines 4, 6, 8, 10, 12, ...)")
    assert tables["visits"]["rows"] is None
    assert messages(tables["drugs"]) == {("drugs", "a table above it cannot be read")}
    visits = told('malformed = "skip"')["visits"]
    assert (visits["rows"], visits["left_out"]) == (14, 6)
    assert messages(visits) == {
        (
            "visits",
            "lines that are left out, because a quote stands in the middle of a value: "
            "6 (lines 4, 6, 8, 10, 12, ...)",
        )
    }


def test_rows_of_another_length_than_the_header_are_told() -> None:
    lines = ["visit,id,age,ward,day", "1,1,3,north,2020-01-01", "2,2,3,north,2020-01-01,,"]
    lines += ["3,3,3,no,rth,2020-01-01", "4,4,3", "5"]
    Path("visits.csv").write_text("\n".join(lines), "utf-8")
    found = [odd for odd in told()["visits"]["findings"] if odd["where"] == "visits"]
    assert [(odd["severity"], odd["count"]) for odd in found] == [("warning", 2), ("warning", 2)]
    assert "more values than the header" in found[0]["message"]
    assert "2 (lines 3, 4)" in found[0]["message"]
    assert "fewer values than the header" in found[1]["message"]
    assert [line["line"] for line in found[1]["lines"]] == [5, 6]


def test_lines_of_several_files_are_told_with_the_file() -> None:
    Path("one.csv").write_text("visit,id,age,ward,day\n1,1,300,north,2020-01-01\n", "utf-8")
    rows = "1,,3,north,2020-01-01\n2,2,-1,north,2020-01-01\n"
    Path("two.csv").write_text(f"visit,id,age,ward,day\n{rows}", "utf-8")
    text = HEAD + VISITS.format(options="").replace("visits.csv", "*.csv")
    Path("sordino.toml").write_text(text, "utf-8")
    (table,) = json.loads(run("check", "--read", "--json")[1])["private"]["tables"]
    assert messages(table) == {
        (
            "visits.age",
            "values that lie outside of the bounds, and are clamped: 2 (line 2 of one.csv; line 3 "
            "of two.csv)",
        ),
        ("visits.id", "rows without an id, which are left out: 1 (line 2 of two.csv)"),
    }


def test_a_few_rows_beyond_the_limit_are_a_note_and_many_a_warning() -> None:
    for many, severity in ((3, "note"), (50, "warning")):
        rows = [f"{place},{place},3,north,2020-01-01" for place in range(400)]
        rows += ["1,7,3,north,2020-01-01"] * many
        Path("visits.csv").write_text("\n".join(["visit,id,age,ward,day", *rows]), "utf-8")
        (crowd,) = told()["visits"]["findings"]
        assert crowd["severity"] == severity
        assert f"takes off {many - 1} of {400 + many} rows" in crowd["message"]
        assert "limits = { rows = ... }" in crowd["hint"]


def test_ids_that_are_doubtful_are_told() -> None:
    ids = ["anna", "Anna ", "bob", "NA", "n/a", " ", "?", "null", "carl", "Carl"]
    text = HEAD + '[tables.t]\ncsv = "t.csv"\nunit = "id"\nlimits = { rows = 2 }\n'
    Path("sordino.toml").write_text(text + 'columns = { id = "text" }\n', "utf-8")
    Path("t.csv").write_text("\n".join(["id", *ids]) + "\n", "utf-8")
    (table,) = json.loads(run("check", "--read", "--json")[1])["private"]["tables"]
    assert table["people"] == 10
    absent, alike = table["findings"]
    assert (absent["severity"], absent["count"]) == ("warning", 5)
    assert [line["line"] for line in absent["lines"]] == [5, 6, 7, 8, 9]
    assert "nulls" in absent["hint"]
    assert (alike["severity"], alike["count"]) == ("warning", 4)


def test_rows_below_rows_of_nobody_are_counted_as_left_out() -> None:
    Path("visits.csv").write_text("visit,id,age,ward,day\n1,,3,north,2020-01-01\n", "utf-8")
    Path("drugs.csv").write_text("visit\n1\n1\n2\n", "utf-8")
    drugs = told(more=DRUGS)["drugs"]
    assert (drugs["rows"], drugs["left_out"], drugs["people"]) == (3, 3, 0)
    assert any("lead to rows of visits that are left out" in said for _, said in messages(drugs))


def test_a_table_without_rows_is_told() -> None:
    Path("visits.csv").write_text("visit,id,age,ward,day\n", "utf-8")
    (odd,) = told()["visits"]["findings"]
    assert (odd["severity"], odd["count"]) == ("warning", 0)
    assert "has no rows" in odd["message"]


@pytest.mark.parametrize("kind", ["parquet", "duckdb"])
def test_other_sources_are_read_through_too(kind: str) -> None:
    held = pa.table({"id": ["1", "x", None, "2", "2", "2"], "age": [1.0, 2.5, 200, None, 3, 4]})
    if kind == "parquet":
        pq.write_table(held, "t.parquet")
        source = 'parquet = "t.parquet"'
    else:
        with duckdb.connect("t.duckdb") as connection:
            connection.register("held", held)
            connection.execute("CREATE TABLE t AS FROM held")
        source = 'duckdb = "t.duckdb"\ntable = "t"'
    Path("sordino.toml").write_text(
        f'{HEAD}[tables.t]\n{source}\nunit = "id"\nlimits = {{ rows = 2 }}\n[tables.t.columns]\n'
        'id = "integer"\nage = { type = "integer", bounds = [0, 100] }\n',
        "utf-8",
    )
    code, output = run("check", "--read", "--json")
    assert code == 0
    (table,) = json.loads(output)["private"]["tables"]
    assert table["rows"] == 6
    assert messages(table) == {
        ("t.id", "values that do not fit the type integer, and are missing: 1"),
        ("t.age", "values that do not fit the type integer, and are missing: 1"),
        ("t.age", "values that lie outside of the bounds, and are clamped: 1"),
        ("t.id", "rows without an id, which are left out: 2"),
        ("t", CROWDED.format(people=2, rows=4, share=25)),
    }
    assert (table["left_out"], table["people"]) == (2, 2)


def test_it_is_said_that_what_is_told_is_private() -> None:
    Path("visits.csv").write_bytes(ROWS)
    Path("sordino.toml").write_text(HEAD + VISITS.format(options=""), "utf-8")
    code, output = run("check", "--read")
    assert code == 0
    said = "is exact and private: it is for the owner alone, and must not be passed on"
    assert said in " ".join(output.split())
    assert "visits: rows read: 6" in output
    code, output = run("check")
    assert code == 0
    assert "sordino check --read" in output
    assert "rows read" not in output


def test_rows_are_not_read_while_the_catalog_is_wrong() -> None:
    Path("sordino.toml").write_text(HEAD + VISITS.format(options="") + DRUGS, "utf-8")
    code, output = run("check", "--read")
    assert code == 1
    assert "the rows were not read; correct the errors first" in output
    assert output.count("there is no file") == 2


def test_all_that_is_wrong_is_told_at_once() -> None:
    text = VISITS.format(options="odd = 1").replace('"integer"\nid', '"int"\nid')
    Path("sordino.toml").write_text(text + DRUGS, "utf-8")
    code, output = run("check", "--json")
    assert code == 1
    said = [finding["message"] for finding in json.loads(output)]
    assert ["has no entry 'odd'" in said[0], "'int' is not a type" in said[1]] == [True, True]
    assert "there is no file" in said[2]


def test_a_second_unit_is_not_dropped_without_a_word() -> None:
    Path("visits.csv").write_bytes(ROWS)
    code, output = run("init", "visits.csv", "--unit", "id", "--unit", "visit")
    assert code == 2
    assert "--unit names one column" in output
    assert not Path("sordino.toml").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("t.xlsx", "save each of its sheets as CSV UTF-8"),
        ("t.jsonl", "turn it into Parquet, as in duckdb -c"),
        ("t.json.gz", "is JSON, which is not read"),
        ("t.csv.zip", "unpack it, and name the file in it"),
        ("t.parquet.gz", "is packed as a whole (.gz)"),
        ("t.xyz", "is of no kind that is read, by its ending"),
    ],
)
def test_files_of_other_kinds_are_refused_by_name_with_what_to_do(name: str, said: str) -> None:
    Path(name).write_bytes(b"whatever")
    code, output = run("init", name)
    assert code == 2
    assert said in output.replace("\n", " ")


def test_a_file_from_an_office_is_drafted_and_read_as_it_is() -> None:
    rows = ["Kennung;Größe ;Aufnahme;Kosten;Code"]
    rows += [
        f"{place};{place % 9};{1 + place % 28:02}.03.2024;{place},5;0{place}" for place in range(50)
    ]
    Path("aufnahmen.csv").write_bytes("\r\n".join(rows).encode("cp1252"))
    code, output = run("init", "aufnahmen.csv", "--unit", "Kennung", "--guess-types")
    assert code == 2
    assert "--encoding cp1252" in output
    command = ["init", "aufnahmen.csv", "--unit", "Kennung", "--guess-types"]
    assert run(*command, "--encoding", "cp1252")[0] == 0
    text = Path("sordino.toml").read_text("utf-8")
    for line in (
        'separator = ";"',
        'encoding = "cp1252"',
        'decimal = ","',
        'date_format = "%d.%m.%Y"',
        'Kennung = "integer"  # the unit',
        '"Größe " = "integer"',
        'Aufnahme = "date"',
        'Kosten = "real"',
        'Code = "text"',
    ):
        assert f"\n{line}" in text
    code, output = run("check", "--read", "--json")
    (table,) = json.loads(output)["private"]["tables"]
    assert (code, table["rows"], table["findings"]) == (0, 50, [])


def test_values_in_another_encoding_are_seen_where_types_are_guessed() -> None:
    Path("t.csv").write_bytes(b"id,name\n1,Jos\xe9\n")
    code, output = run("init", "t.csv", "--guess-types")
    assert code == 2
    assert "values that are no text in utf-8" in output
    Path("t.csv").write_bytes(b'id,name\n1,J"\n')
    code, output = run("init", "t.csv", "--guess-types")
    assert code == 2
    assert "line 2: a quote stands in the middle of a value" in output
    assert 'malformed = "skip"' in output
