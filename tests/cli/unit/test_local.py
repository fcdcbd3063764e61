# SPDX-License-Identifier: Apache-2.0
"""The commands of the local model, from a file of answers to an estimate.

With an epsilon of 40 a report of randomized response is true but for a chance of e^-40, so that
what comes out is known: a false alarm has a chance below 1e-12. Intervals that have to hold do so
with all but a chance of 1e-8 each, and there are 19 of them.
"""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from sordino.cli.local.files import read_protocol
from sordino.session import progress
from tests.cli.unit.survey import AGES, TRUE, enter_folder, run, told

SURE = "0.99999999"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the answers of 100 people; it is the current one."""
    return enter_folder(tmp_path, monkeypatch)


@pytest.mark.parametrize("out", ["reports.csv", "reports.parquet"])
@pytest.mark.parametrize("source", ["people.csv", "people.parquet"])
def test_answers_become_reports_and_reports_an_estimate(source: str, out: str) -> None:
    done = run("encode", source, *TRUE, "--protocol", "response", "--out", out)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[:3] == [
        "protocol        randomized response",
        "epsilon         40 for each report",
        "people          100",
    ]
    assert f"reports         {out}, 2 bits each" in done.output
    assert "\x1b" not in done.output
    found = run("estimate", out)
    assert found.exit_code == 0
    assert re.findall(r"(?m)^(\w+) +(\d+\.\d\d %) .* (\d+)$", found.stdout) == [
        ("no", "50.00 %", "50"),
        ("yes", "30.00 %", "30"),
        ("unsure", "20.00 %", "20"),
    ]
    assert "100 people, randomized response with epsilon 40 for each report" in found.stdout
    assert "Each interval by itself holds the true frequency with 95 % confidence." in found.stdout


def test_several_files_are_counted_together(folder: Path) -> None:
    for name in ("a.csv", "b.parquet", "c.csv"):
        run("encode", "people.csv", *TRUE, "--protocol", "response", "--out", name)
    found = run("estimate", "a.csv", "b.parquet", "c.csv", "--confidence", "0.99", "--json")
    record = json.loads(found.stdout)
    assert record["files"] == ["a.csv", "b.parquet", "c.csv"]
    assert (record["people"], record["confidence"], record["together"]) == (300, 0.99, False)
    assert {line["label"]: round(line["count"]) for line in record["categories"]} == {
        "yes": 90,
        "no": 150,
        "unsure": 60,
    }
    assert (folder / "a.csv").exists()


def test_json_says_what_was_encoded() -> None:
    done = run("encode", "people.csv", *TRUE, "--out", "r.parquet", "--json")
    record = json.loads(done.stdout)
    assert record.pop("fingerprint") == read_protocol(Path("r.parquet"), most=9)[0].fingerprint
    assert record.pop("standard_error") < 1e-6
    assert record == {
        "file": "r.parquet",
        "protocol": "response",
        "epsilon": "40",
        "people": 100,
        "left_out": 0,
        "report_bits": 2,
    }


def test_no_true_value_is_in_the_file(folder: Path) -> None:
    run("encode", "people.csv", *TRUE, "--out", "r.csv")
    lines = (folder / "r.csv").read_text("utf-8").splitlines()
    assert lines[1] == "report"
    assert set(lines[2:]) == {"0", "1", "2"}
    assert not [line for line in lines[1:] if "yes" in line]


def test_intervals_can_hold_together_and_frequencies_be_projected() -> None:
    arguments = ("--column", "answer", "--categories", "yes,no,unsure,never", "--epsilon", "0.1")
    run("encode", "people.csv", *arguments, "--out", "r.csv")
    alone = json.loads(run("estimate", "r.csv", "--json").stdout)
    both = json.loads(run("estimate", "r.csv", "--together", "--project", "--json").stdout)
    assert both["projected"]
    assert both["together"]
    assert sum(line["frequency"] for line in both["categories"]) == pytest.approx(1)
    assert min(line["frequency"] for line in both["categories"]) >= 0
    widths = [
        [line["high"] - line["low"] for line in record["categories"]] for record in (alone, both)
    ]
    assert all(wide >= narrow for narrow, wide in zip(*widths, strict=True))
    words = run("estimate", "r.csv", "--together", "--project").stdout
    assert "All intervals at once hold the true frequencies with 95 % confidence." in words
    assert "Frequencies were moved to the nearest that add up to 100 %; intervals not." in words


def test_a_frequency_below_0_is_explained() -> None:
    """Of 1,000 categories at least 900 are in no report of 100 people, so they come out below 0."""
    arguments = ("--column", "age", "--categories", "1000", "--epsilon", "1")
    run("encode", "people.csv", *arguments, "--protocol", "response", "--out", "r.csv")
    assert "Below 0 is noise around a rare category" in run("estimate", "r.csv").stdout


@pytest.mark.parametrize("protocol", ["unary", "hashing", "hadamard", "subset"])
def test_every_protocol_can_be_asked_for(protocol: str) -> None:
    done = run("encode", "people.csv", *TRUE, "--protocol", protocol, "--out", "r.csv", "--json")
    assert json.loads(done.stdout)["protocol"] == protocol
    found = json.loads(run("estimate", "r.csv", "--confidence", SURE, "--json").stdout)
    for line, share in zip(found["categories"], (0.3, 0.5, 0.2), strict=True):
        assert line["low"] <= share <= line["high"]


@pytest.mark.parametrize("source", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("protocol", ["one-bit", "piecewise", "best"])
def test_numbers_have_a_mean(protocol: str, source: str) -> None:
    done = run("encode", source, *AGES, "--protocol", protocol, "--out", "r.parquet")
    assert "expected error  a standard error of the mean of at most" in done.stdout
    found = json.loads(run("estimate", "r.parquet", "--confidence", SURE, "--json").stdout)
    assert found["people"] == 100
    assert found["low"] <= 33.5 <= found["high"]
    words = run("estimate", "r.parquet").stdout
    assert re.match(r"mean +-?[\d.]+\ninterval +-?[\d.]+ to [\d.]+, which holds the true", words)
    assert "range     0 to 80; a number beyond an end counts as that end" in words


def test_numbers_need_not_be_whole() -> None:
    arguments = ("--column", "ratio", "--low", "0", "--high", "27", "--epsilon", "40")
    run("encode", "people.parquet", *arguments, "--protocol", "piecewise", "--out", "r.csv")
    found = json.loads(run("estimate", "r.csv", "--confidence", SURE, "--json").stdout)
    assert found["low"] <= 33.5 / 3 <= found["high"]


@pytest.mark.parametrize(
    ("column", "categories", "counts"),
    [
        ("age", "0,1,2", None),
        ("code", "0,1,2", {"0": 34, "1": 34, "2": 32}),
        ("code", "3", {0: 34, 1: 34, 2: 32}),
        ("flag", "true,false", {"true": 25, "false": 75}),
    ],
)
def test_categories_of_a_parquet_file_may_be_numbers_or_booleans(
    column: str, categories: str, counts: dict[str | int, int] | None
) -> None:
    arguments = ("--column", column, "--categories", categories, "--epsilon", "40")
    asked = ("encode", "people.parquet", *arguments, "--protocol", "response", "--out", "r.csv")
    if counts is None:
        assert "values are none of the 3 categories ('0', '1', '2')" in told(*asked)
        return
    assert run(*asked).exit_code == 0
    found = json.loads(run("estimate", "r.csv", "--json").stdout)
    assert {line["label"]: round(line["count"]) for line in found["categories"]} == counts


def test_categories_may_stand_in_a_file(folder: Path) -> None:
    (folder / "names.txt").write_text("\ufeffyes\n no \n\nunsure\n", "utf-8")
    arguments = ("--column", "answer", "--categories-file", "names.txt", "--epsilon", "40")
    run("encode", "people.csv", *arguments, "--out", "r.csv")
    labels = [
        line["label"]
        for line in json.loads(run("estimate", "r.csv", "--json").stdout)["categories"]
    ]
    assert labels == ["yes", "no", "unsure"]


def test_the_picture_is_drawn(folder: Path) -> None:
    run("encode", "people.csv", *TRUE, "--out", "r.csv")
    assert run("estimate", "r.csv", "--plot", "p.png").stdout.endswith("drawn to p.png\n")
    done = run("best", "--categories", "9", "--epsilon", "1", "--plot", "e.png")
    assert done.stdout.endswith("drawn to e.png\n")
    for name in ("p.png", "e.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_best_says_which_protocol_and_why() -> None:
    done = run("best", "--categories", "1000", "--epsilon", "1", "--people", "100000")
    assert re.search(r"(?m)^hashing +0\.61 +± 1\.4 +0\.0369 +64   <- best$", done.stdout)
    assert "100,000 people, epsilon 1 for each report" in done.stdout
    assert (
        "hashing is best: its total error is within 0.5 % of the least, that of subset, and its "
        "reports are shorter\n"
    ) in done.stdout
    assert "with 95 % confidence, in percentage points" in done.stdout
    hopeless = run("best", "--categories", "1000000", "--epsilon", "0.1", "--people", "100").stdout
    assert "ask more people" in hopeless
    assert "ask more people" not in done.stdout
    few = json.loads(run("best", "--categories", "no,yes", "--epsilon", "1", "--json").stdout)
    assert (few["best"], few["people"], few["epsilon"]) == ("response", 10_000, "1")
    assert few["why"] == "no other has a smaller total error"
    assert [row["protocol"] for row in few["protocols"]] == [
        *("response", "hadamard", "hashing", "unary", "subset")
    ]
    assert few["protocols"][0]["standard_error"] == pytest.approx(0.0095952, rel=1e-4)


def test_tables_fit_a_narrow_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    few = run("best", "--categories", "1000", "--epsilon", "1", "--people", "100").stdout
    assert re.findall(r"(?m)^(response|hadamard|hashing|unary|subset) .* [\d,]+\b", few)[4:]
    long = "a long category of many words that has to be folded somewhere"
    (folder / "long.csv").write_text(f"answer\n{long}\n", "utf-8")
    arguments = ("--column", "answer", "--categories", f"{long},b", "--epsilon", "40")
    run("encode", "long.csv", *arguments, "--out", "r.csv")
    shown = run("estimate", "r.csv").stdout
    assert "100.00 %" in shown
    assert "…" not in few + shown
    assert max(map(len, (few + shown).splitlines())) <= 60


def test_best_compares_protocols_for_numbers_too() -> None:
    small = run("best", "--low", "-5", "--high", "5", "--epsilon", "0.5").stdout
    assert small.endswith("one-bit is best: no other has a smaller standard error\n")
    large = run("best", "--low", "-5", "--high", "5", "--epsilon", "4").stdout
    assert large.endswith("piecewise is best: no other has a smaller standard error\n")
    said = told("best", "--low", "-5", "--high", "5", "--epsilon", "4", "--plot", "p.png")
    assert said == "--plot is for categories; numbers have no picture"


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, module: object) -> io.StringIO:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(module, "console_for", lambda **_: console)
    return text


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    shown = run("encode", "people.csv", *TRUE, "--out", "r.csv").stderr
    assert re.search(r"encoding \[#+\] 100 of 100 reports", shown)
    shown = run("estimate", "r.csv").stderr
    assert re.search(r"counting \[#+\] 100 of 100 reports", shown)
    assert run("estimate", "r.csv", "--json").stderr == ""


def test_a_terminal_gets_the_top_of_a_long_table(monkeypatch: pytest.MonkeyPatch) -> None:
    from sordino.cli.local import estimate

    arguments = ("--column", "age", "--categories", "90", "--epsilon", "1")
    run("encode", "people.csv", *arguments, "--out", "r.csv")
    assert run("estimate", "r.csv").stdout.count(" %") == 3 * 90 + 1
    text = on_a_terminal(monkeypatch, estimate)
    run("estimate", "r.csv")
    assert "... 50 more, in a pipe and with --json" in text.getvalue()


def test_a_category_cannot_write_to_the_terminal(folder: Path) -> None:
    (folder / "odd.csv").write_text("answer\n\x1b[31mred\n[bold]x\n", "utf-8")
    arguments = ("--column", "answer", "--categories", "\x1b[31mred,[bold]x", "--epsilon", "40")
    run("encode", "odd.csv", *arguments, "--out", "r.csv")
    shown = run("estimate", "r.csv").stdout
    assert r"\x1b[31mred" in shown
    assert "[bold]x" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("as_json", [True, False])
def test_whoever_interrupts_is_told_that_nothing_was_written(
    as_json: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sordino.local.response import Response

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = sorted(folder.iterdir())
    monkeypatch.setattr(Response, "draw", interrupted)
    asked = ("encode", "people.csv", *TRUE, "--protocol", "response", "--out", "r.csv")
    done = run(*asked, *["--json"] * as_json)
    assert done.exit_code == 130
    if as_json:
        assert json.loads(done.stderr)["code"] == "interrupted"
    else:
        assert done.stderr == "sordino: stopped; nothing was written\n"
    assert sorted(folder.iterdir()) == before
