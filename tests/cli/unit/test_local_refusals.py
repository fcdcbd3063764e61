# SPDX-License-Identifier: Apache-2.0
"""What the commands of the local model refuse: in one sentence, and without showing an answer."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.cli.local import encode
from tests.cli.unit.survey import AGES, TRUE, enter_folder, run, told


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the answers of 100 people; it is the current one."""
    return enter_folder(tmp_path, monkeypatch)


@pytest.mark.parametrize("blank", ["", "  ", '""'])
def test_missing_answers_are_refused_or_left_out(blank: str, folder: Path) -> None:
    (folder / "some.csv").write_text(f"id,answer\n1,yes\n2,{blank}\n3, no \n", "utf-8")
    asked = ("encode", "some.csv", *TRUE, "--out", "r.csv")
    assert told(*asked) == (
        "1 of 3 rows have no answer in column 'answer'; leave them out with --skip-missing, or "
        "write 'no answer' there and add that category"
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
    "headless.csv": b"secret,HIV positive\n1,2\n",
    "headless_semi.csv": b"secret;HIV positive\n1;2\n",
    "headless_one.csv": b"secret\n",
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
            "semi.csv has no column 'answer': its first line, which must be a line of names, has "
            "1 column and not this one; columns must be separated by commas, and it holds a "
            "semicolon",
        ),
        ("twice.csv", "twice.csv has several columns 'answer'; rename all but one"),
        ("ragged.csv", "no CSV file whose rows all have 2 fields; save it as CSV UTF-8"),
        ("latin.csv", "latin.csv is not UTF-8; save it as CSV UTF-8"),
        ("latin_names.csv", "latin_names.csv is not UTF-8; save it as CSV UTF-8"),
        ("headless.csv", "which must be a line of names, has 2 columns and not this one"),
        ("headless_semi.csv", "has 1 column and not this one; columns must be separated by commas"),
        ("headless_one.csv", "which must be a line of names, has 1 column and not this one"),
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
    assert "HIV" not in message
    assert not (folder / "r.csv").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"--column": "agee"}, "people.parquet has no column 'agee'; its columns are answer, age"),
        ({"--column": "day"}, "column 'day' is of type date32[day], and categories are text"),
        ({"--column": "day", "--categories": "9"}, "is of type date32[day], and categories are"),
        ({"--column": "moment"}, "column 'moment' is of type timestamp[ms], and categories are"),
        ({"--column": "moment", "--categories": "99"}, "is of type timestamp[ms], and categories"),
        ({"--column": "wait"}, "column 'wait' is of type duration[s], and categories are text"),
        ({"--column": "wait", "--categories": "99"}, "is of type duration[s], and categories"),
        (
            {"--column": "wait", "--low": "0", "--high": "9", "--categories": None},
            "column 'wait' is of type duration[s], and numbers are wanted; name another column",
        ),
        (
            {"--column": "moment", "--low": "0", "--high": "9", "--categories": None},
            "column 'moment' is of type timestamp[ms], and numbers are wanted",
        ),
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
        ({"--out": f"{'r' * 300}.csv"}, "the file of --out cannot be written: File name too long"),
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
        ("d.png", "d.png is a folder; name a file to write"),
        (f"{'p' * 300}.png", "the file of --plot cannot be written: File name too long"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused(name: str, said: str, folder: Path) -> None:
    (folder / "d.png").mkdir()
    assert told("best", "--categories", "9", "--epsilon", "1", "--plot", name) == said


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = told("best", "--categories", "9", "--epsilon", "1", "--plot", "p.png")
    assert said == "plot needs matplotlib: pip install 'sordino[plot]'"


def test_a_picture_is_written_over_by_force_alone(folder: Path) -> None:
    run("encode", "people.csv", *TRUE, "--out", "r.csv")
    (folder / "p.png").write_text("mine", "utf-8")
    for asked in (("estimate", "r.csv"), ("best", "--categories", "9", "--epsilon", "1")):
        (folder / "p.png").write_text("mine", "utf-8")
        said = told(*asked, "--plot", "p.png")
        assert said == "p.png is there already; add --force to write over it"
        assert (folder / "p.png").read_text("utf-8") == "mine"
        assert run(*asked, "--plot", "p.png", "--force").exit_code == 0
        assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_column_is_not_confused_with_a_field_of_another(folder: Path) -> None:
    nested = pa.array([{"y": 0}] * 50)
    pq.write_table(pa.table({"x": nested, "x.y": [1] * 50}), folder / "nested.parquet")
    known = ("--categories", "2", "--epsilon", "40", "--protocol", "response", "--out", "r.csv")
    assert run("encode", "nested.parquet", "--column", "x.y", *known).exit_code == 0
    found = json.loads(run("estimate", "r.csv", "--json").stdout)
    assert [round(line["count"]) for line in found["categories"]] == [0, 50]
    said = told("encode", "nested.parquet", "--column", "x", *known, "--force")
    assert said.startswith("column 'x' is of type struct<y: int64>, and categories are")


@pytest.mark.parametrize(
    "asked", [("--categories", "yes,no"), ("--categories", "9"), ("--low", "0", "--high", "9")]
)
@pytest.mark.parametrize("listed", [True, False])
def test_text_of_a_parquet_file_that_is_not_utf8_is_refused_unseen(
    listed: bool, asked: tuple[str, ...], folder: Path
) -> None:
    lengths = pa.py_buffer(np.array([0, 7, 10], dtype=np.int32).tobytes())
    buffers = [None, lengths, pa.py_buffer(b"secret\xffyes")]
    column = pa.Array.from_buffers(pa.string(), 2, buffers)
    column = column.dictionary_encode() if listed else column
    pq.write_table(pa.table({"answer": column}), folder / "odd.parquet")
    rest = ("--column", "answer", *asked, "--epsilon", "1", "--out", "r.csv")
    assert told("encode", "odd.parquet", *rest) == (
        "column 'answer' of odd.parquet holds text that is not UTF-8, or what is neither text nor "
        "numbers; write the file again"
    )


def test_a_small_file_cannot_ask_for_much_memory(folder: Path) -> None:
    known = ("--column", "age", "--categories", "1000001", "--protocol", "hadamard")
    run("encode", "people.csv", *known, "--epsilon", "1", "--out", "r.csv")
    assert told("estimate", "r.csv") == (
        "r.csv says that it has 1,000,001 categories, and lists none, which may take much memory; "
        "if that is right, add --most-categories 1000001"
    )
    text = (folder / "r.csv").read_text("utf-8").replace("1000001", "16777216")
    (folder / "forged.csv").write_text(text, "utf-8")
    assert "forged.csv says that it has 16,777,216 categories" in told("estimate", "forged.csv")
    few = ("--column", "age", "--categories", "90", "--epsilon", "1", "--out", "few.csv")
    run("encode", "people.csv", *few)
    assert "says that it has 90 categories" in told("estimate", "few.csv", "--most-categories", "9")
    assert run("estimate", "few.csv", "--most-categories", "90").exit_code == 0


def test_numbers_that_are_too_large_are_refused_in_a_sentence() -> None:
    wide = ("--low", "-1e154", "--high", "1e154", "--epsilon", "0.001")
    said = "a number is too large or too small to be computed with; take one of usual size"
    assert told("best", *wide) == said
    assert (
        run("best", "--categories", "9", "--epsilon", "1", "--people", f"{10**16}").exit_code == 2
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OverflowError("34, secret"), "a number is too large or too small"),
        (ZeroDivisionError("secret"), "a number is too large or too small"),
        (MemoryError("secret"), "there is not enough memory for this"),
        (RecursionError("secret"), "there is not enough memory for this"),
        (pa.ArrowInvalid("secret"), "a file holds what cannot be read; write it again"),
        (pa.ArrowNotImplementedError("secret"), "a file holds what cannot be read; write it again"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_words_of_libraries_are_never_shown(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sordino.local.protocol import Client

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Client, "stream", fails)
    message = told("encode", "people.csv", *TRUE, "--out", "r.csv")
    assert message.startswith(said)
    assert "secret" not in message
    monkeypatch.setattr(encode, "read_answers", fails)
    done = run("encode", "people.csv", *TRUE, "--out", "r.csv", "--json")
    assert (done.exit_code, json.loads(done.stderr)["code"]) == (2, "argument")


def test_an_empty_line_of_a_single_column_is_a_missing_answer(folder: Path) -> None:
    (folder / "gaps.csv").write_text("answer\nyes\n\n\nno\n", "utf-8")
    asked = ("--column", "answer", "--categories", "yes,no", "--epsilon", "1", "--out", "g.csv")
    assert "2 of 4 rows have no answer" in told("encode", "gaps.csv", *asked)
    (folder / "two.csv").write_text("answer,x\nyes,1\n\nno,2\n", "utf-8")
    assert "people          2" in run("encode", "two.csv", *asked).stdout
