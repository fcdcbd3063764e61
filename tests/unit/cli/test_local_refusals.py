# SPDX-License-Identifier: Apache-2.0
"""What the commands of the local model refuse: in one sentence, and without showing an answer."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.cli.survey import AGES, TRUE, run, told, write_answers


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the answers of 100 people; it is the current one."""
    write_answers(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


@pytest.mark.parametrize("blank", ["", "  ", '""'])
def test_missing_answers_are_refused_or_left_out(blank: str, folder: Path) -> None:
    (folder / "some.csv").write_text(f"id,answer\n1,yes\n2,{blank}\n3, no \n", "utf-8")
    asked = ("encode", "some.csv", *TRUE, "--out", "r.csv")
    assert told(*asked) == (
        "1 of 3 rows have no answer in column 'answer'; leave them out with --skip-missing, or add "
        "a category for them"
    )
    assert not (folder / "r.csv").exists()
    done = run(*asked, "--skip-missing")
    assert "people          2; 1 rows without an answer were left out" in done.stdout


def test_a_column_without_any_answer_is_refused(folder: Path) -> None:
    (folder / "none.csv").write_text("id,answer\n1,\n2,\n", "utf-8")
    asked = ("encode", "none.csv", *TRUE, "--out", "r.csv", "--skip-missing")
    assert told(*asked) == "no row has an answer in column 'answer'"
    table = pa.table({"answer": pa.array([float("nan"), None])})
    pq.write_table(table, folder / "none.parquet")
    numbers = ("--column", "answer", "--low", "0", "--high", "1", "--epsilon", "1")
    words = told("encode", "none.parquet", *numbers, "--out", "r.csv", "--skip-missing")
    assert words == "no row has an answer in column 'answer'"


FILES = {
    "empty.csv": b"",
    "empty.parquet": b"",
    "bare.csv": b"answer\n",
    "semi.csv": b"id;answer\n1;yes\n",
    "twice.csv": b"answer,answer\nyes,no\n",
    "ragged.csv": b"id,answer\n1,yes\n2,secret,3\n",
    "latin.csv": b"id,answer\n1,s\xe9cret\n",
    "latin_names.csv": b"id,r\xe9ponse\n1,secret\n",
    "words.csv": b"answer\n1\nsecret\n",
    "people.txt": b"answer\nyes\n",
}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty.csv", "empty.csv is empty; it must have a line of names and rows"),
        ("empty.parquet", "empty.parquet is no Parquet file, or a broken one; write it again"),
        ("bare.csv", "bare.csv has no rows, so nobody has answered"),
        (
            "semi.csv",
            "no column 'answer'; its columns are id;answer; the columns must be separated",
        ),
        ("twice.csv", "twice.csv has several columns 'answer'; rename all but one"),
        ("ragged.csv", "no CSV file whose rows all have 2 fields; save it as CSV UTF-8"),
        ("latin.csv", "latin.csv is not UTF-8; save it as CSV UTF-8"),
        ("latin_names.csv", "latin_names.csv is not UTF-8; save it as CSV UTF-8"),
        ("words.csv", "2 of 2 values are none of the 3 categories ('yes', 'no', 'unsure')"),
        ("people.txt", "people.txt must end in .csv or .parquet; save the answers as one"),
        ("nowhere.csv", "the file nowhere.csv cannot be read: No such file or directory"),
        ("nowhere.parquet", "the file nowhere.parquet cannot be read: No such file or directory"),
        ("a.folder.csv", "the file a.folder.csv cannot be read: Is a directory"),
        ("a.folder.parquet", "the file a.folder.parquet cannot be read"),
    ],
)
def test_a_file_that_holds_no_answers_is_refused_and_never_quoted(
    name: str, said: str, folder: Path
) -> None:
    if name in FILES:
        (folder / name).write_bytes(FILES[name])
    if "folder" in name:
        (folder / name).mkdir()
    message = told("encode", name, *TRUE, "--out", "r.csv")
    assert said in message
    assert "secret" not in message
    assert not (folder / "r.csv").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"--column": "agee"}, "people.parquet has no column 'agee'; its columns are answer, age"),
        ({"--column": "day"}, "column 'day' is of type date32[day], and categories are text"),
        ({"--column": "ratio"}, "column 'ratio' must hold whole numbers; list the categories"),
        ({"--categories": "9"}, "column 'answer' must hold whole numbers; list the categories"),
        ({"--categories": "yes"}, "there must be at least 2 categories, got 1"),
        ({"--categories": "yes,yes"}, "categories must be distinct"),
        ({"--categories": None}, "say what people may answer: --categories yes,no, or"),
        ({"--categories-file": "no.txt"}, "name the categories once: by --categories or by"),
        ({"--categories": None, "--categories-file": "no.txt"}, "the file no.txt cannot be read"),
        ({"--epsilon": "0"}, "epsilon must be a positive number, got 0"),
        ({"--epsilon": "nan"}, "epsilon must be a number, got 'nan'"),
        ({"--epsilon": "x"}, "epsilon must be a number, got 'x'"),
        ({"--epsilon": "100"}, "epsilon must lie between 2**-20 and 40 in the local model"),
        ({"--low": "1"}, "people answer by a category or by a number; give categories or a range"),
        ({"--low": "1", "--categories": None}, "numbers need both ends of their range"),
        ({"--low": "1", "--high": "0", "--categories": None}, "high"),
        ({"--low": "0", "--high": "9", "--categories": None}, "column 'answer' must hold numbers"),
        ({"--protocol": "best of all"}, "there is no protocol 'best of all'; take best or one of"),
        ({"--protocol": "one-bit"}, "one-bit is for numbers; say --low and --high"),
        (
            {"--protocol": "unary", "--low": "0", "--high": "9", "--categories": None},
            "unary is for categories; for numbers take one-bit or piecewise",
        ),
        ({"--out": "r.txt"}, "--out must name a file that ends in .csv or .parquet, got r.txt"),
        ({"--out": "no/r.csv"}, "no/r.csv cannot be written: there is no folder no"),
        ({"--out": "people.csv"}, "people.csv is there already; add --force to write over it"),
        ({"--out": "people.parquet"}, "people.parquet holds the true answers; write the reports"),
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_request_says_what_to_do(
    changed: dict[str, str | None], said: str, folder: Path
) -> None:
    options: dict[str, str | None] = dict(zip(TRUE[::2], TRUE[1::2], strict=True))
    options = {**options, "--out": "r.csv", **changed}
    words = [word for name, value in options.items() if value is not None for word in (name, value)]
    assert said in told("encode", "people.parquet", *words)
    assert not (folder / "r.csv").exists()


def test_a_list_that_is_not_utf8_is_refused(folder: Path) -> None:
    (folder / "names.txt").write_bytes(b"yes\nn\xf6\n")
    message = told("best", "--categories-file", "names.txt", "--epsilon", "1")
    assert message == "the categories in names.txt are not UTF-8; save them as UTF-8"


def test_a_file_is_written_over_by_force_alone(folder: Path) -> None:
    (folder / "r.csv").write_text("mine", "utf-8")
    asked = ("encode", "people.csv", *TRUE, "--out", "r.csv")
    assert told(*asked) == "r.csv is there already; add --force to write over it"
    assert (folder / "r.csv").read_text("utf-8") == "mine"
    assert run(*asked, "--force").exit_code == 0
    assert run("estimate", "r.csv").exit_code == 0
    (folder / "d.csv").mkdir()
    said = told("encode", "people.csv", *TRUE, "--out", "d.csv", "--force")
    assert said == "d.csv is a folder; name a file to write"


def test_errors_are_json_where_json_is_asked_for() -> None:
    done = run("estimate", "nowhere.csv", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stderr)["message"].startswith("the file nowhere.csv cannot be read")


def test_files_that_do_not_belong_together_are_named(folder: Path) -> None:
    for name, protocol in (("a.csv", "response"), ("b.csv", "unary")):
        run("encode", "people.csv", *TRUE, "--protocol", protocol, "--out", name)
    assert told("estimate", "a.csv", "b.csv") == (
        "the reports in b.csv were made by optimised unary encoding with epsilon 40, and those in "
        "a.csv by randomized response with epsilon 40; only reports of one protocol, with one "
        "epsilon and the same categories or range, can be counted together"
    )
    assert told("estimate", "a.csv", str(folder / "a.csv")).endswith("would be counted twice")


def test_reports_that_are_none_are_refused(folder: Path) -> None:
    run("encode", "people.csv", *TRUE, "--protocol", "response", "--out", "r.csv")
    text = (folder / "r.csv").read_text("utf-8")
    (folder / "cut.csv").write_text(text[:-2], "utf-8")
    (folder / "other.csv").write_text(text[:-2] + "7\n", "utf-8")
    (folder / "cut.parquet").write_bytes((folder / "people.parquet").read_bytes()[:-9])
    (folder / "r.txt").write_text(text, "utf-8")
    said = "cut.csv holds 99 reports and says that it has 100; have it sent again"
    assert told("estimate", "cut.csv") == said
    assert told("estimate", "other.csv").startswith("other.csv: these reports are damaged")
    assert "cut.parquet are damaged or cut off" in told("estimate", "cut.parquet")
    for name in ("people.csv", "people.parquet", "r.txt"):
        assert told("estimate", name).startswith(f"{name} holds no reports; name files that")


@pytest.mark.parametrize("option", ["--together", "--project", "--plot"])
def test_what_makes_no_sense_for_a_mean_is_refused(option: str) -> None:
    run("encode", "people.csv", *AGES, "--out", "r.csv")
    asked = ("estimate", "r.csv", option, *["p.png"] * (option == "--plot"))
    assert told(*asked) == f"{option} is for categories, and these reports are about a number"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("p.txt", "--plot must name a file that ends in .png or .svg or .pdf, got p.txt"),
        ("no/p.png", "no/p.png cannot be written: there is no folder no"),
        ("d.png", "d.png cannot be written: Is a directory"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused(name: str, said: str, folder: Path) -> None:
    (folder / "d.png").mkdir()
    assert told("best", "--categories", "9", "--epsilon", "1", "--plot", name) == said


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = told("best", "--categories", "9", "--epsilon", "1", "--plot", "p.png")
    assert said == "plot needs matplotlib: pip install 'sordino[plot]'"
