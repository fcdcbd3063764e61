# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino.cli.main import app

OPTIONS = {
    "--column": "disease",
    "--candidates": "flu,mumps,measles",
    "--epsilon": "2",
    "--neighbours": "add_remove",
}


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    rows = ["id,disease,days"] + [f"{i},{'flu' if i % 3 else 'mumps'},{i % 7}" for i in range(300)]
    path.write_text("\n".join([*rows, "300,plague,1", "301,,1"]) + "\n", encoding="utf-8")
    return path


def run(path: Path, text: str | None = None, **changes: str) -> tuple[int, str]:
    options = OPTIONS | {f"--{name}": value for name, value in changes.items()}
    arguments = [piece for pair in options.items() for piece in pair]
    result = CliRunner().invoke(app, ["choose", str(path), *arguments], input=text)
    return result.exit_code, result.output


def test_the_commonest_is_chosen_with_its_accuracy_and_price(visits: Path) -> None:
    code, output = run(visits)
    assert code == 0
    assert "chosen:   flu" in output
    assert "95% confidence less than 1.5 behind the best of 3" in output
    assert "epsilon 2, hiding one row more or less" in output


def test_replacing_a_row_takes_twice_the_noise(visits: Path) -> None:
    _, output = run(visits, neighbours="replace_one")
    assert "less than 3.0 behind" in output
    assert "replaced by another" in output


def test_json_has_everything(visits: Path) -> None:
    arguments = [piece for pair in OPTIONS.items() for piece in pair]
    result = CliRunner().invoke(app, ["choose", str(visits), *arguments, "--json"])
    record = json.loads(result.output)
    assert record["chosen"] == "flu"
    assert (record["candidates"], record["epsilon"], record["neighbours"]) == (3, "2", "add_remove")
    assert record["gap"] == pytest.approx(1.489, abs=1e-3)


def test_candidates_come_from_a_file_and_rows_from_standard_input(
    visits: Path, tmp_path: Path
) -> None:
    listed = tmp_path / "diseases.txt"
    listed.write_text("flu\n\n mumps \n", encoding="utf-8")
    code, output = run(Path("-"), visits.read_text("utf-8"), candidates=f"@{listed}", epsilon="9")
    assert code == 0
    assert "chosen:   flu" in output
    assert "best of 2" in output


def test_a_column_of_scores_is_clamped_to_the_sensitivity(tmp_path: Path) -> None:
    path = tmp_path / "sums.csv"
    rows = ["disease,days", *["flu,1"] * 500, *["mumps,-5"] * 500, "measles,1000000"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    _, output = run(path, scores="days", sensitivity="3")
    assert "chosen:   flu" in output


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"column": "diseases"}, "the file has no column 'diseases'; its columns are id, disease"),
        ({"epsilon": "0"}, "epsilon must be a positive number, got 0"),
        ({"epsilon": "much"}, "epsilon must be a number, got 'much'"),
        ({"scores": "days", "sensitivity": "-1"}, "sensitivity must be a positive number"),
        ({"scores": "days", "sensitivity": ""}, "sensitivity must be a number, got ''"),
        ({"scores": "days"}, "--scores needs --sensitivity, the most that one row may add"),
        ({"sensitivity": "3"}, "--sensitivity goes with --scores"),
        ({"neighbours": "both"}, "neighbours must be add_remove or replace_one, got both"),
        ({"candidates": ","}, "there is no candidate to choose"),
        ({"candidates": "flu,flu"}, "a candidate is listed twice"),
        (
            {"scores": "disease", "sensitivity": "1"},
            "column 'disease' must hold numbers only",
        ),
    ],
)
def test_bad_input_gets_one_sentence(visits: Path, changes: dict[str, str], message: str) -> None:
    code, output = run(visits, **changes)
    assert code == 2
    assert message in output
    assert "Traceback" not in output


def test_the_private_file_is_no_list_of_candidates(visits: Path, tmp_path: Path) -> None:
    link, copy = tmp_path / "link.csv", tmp_path / "sub"
    link.symlink_to(visits)
    copy.mkdir()
    for name in (visits, link, copy / ".." / visits.name):
        code, output = run(visits, candidates=f"@{name}")
        assert code == 2
        assert output == (
            "sordino: the candidates are read from the private file itself; "
            "list them in a file of their own\n"
        )


def start(file: str, candidates: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    options = OPTIONS | {"--candidates": candidates}
    command = [sys.executable, "-m", "sordino", "choose", file]
    command += [piece for pair in options.items() for piece in pair]
    return subprocess.run(command, capture_output=True, text=True, check=False, **settings)


def test_nor_is_the_file_that_standard_input_comes_from(visits: Path) -> None:
    with visits.open() as rows:
        done = start("-", f"@{visits}", stdin=rows)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "the candidates are read from the private file itself" in done.stderr


def test_a_file_that_is_not_there_is_told_by_its_name(tmp_path: Path) -> None:
    listed = tmp_path / "listed.txt"
    listed.write_text("flu\nmumps\n", encoding="utf-8")
    for missing, candidates in (("rows.csv", f"@{listed}"), ("listed.csv", "@listed.csv")):
        done = start("rows.csv", candidates, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == (
            f"sordino: the file {missing} cannot be read: No such file or directory\n"
        )


def test_a_byte_order_mark_is_no_part_of_the_first_column_or_candidate(tmp_path: Path) -> None:
    path, listed = tmp_path / "marked.csv", tmp_path / "listed.txt"
    text = "disease,days\n" + "flu,1\n" * 300
    path.write_text(text, encoding="utf-8-sig")
    listed.write_text("flu\nmumps\n", encoding="utf-8-sig")
    for file, given in ((path, None), (Path("-"), "\ufeff" + text)):
        code, output = run(file, given, candidates=f"@{listed}")
        assert code == 0, output
        assert "chosen:   flu\n" in output


def test_a_file_in_another_encoding_is_refused_without_a_byte_of_it(
    visits: Path, tmp_path: Path
) -> None:
    path = tmp_path / "latin.csv"
    path.write_text("disease\nméningite\n", encoding="latin-1")
    code, output = run(path)
    assert code == 2
    assert output == "sordino: the file is not UTF-8; save it as CSV UTF-8\n"
    _, output = run(visits, candidates=f"@{path}")
    assert output == "sordino: the list of candidates is not UTF-8; save it as UTF-8\n"


def test_a_field_longer_than_csv_allows_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"disease\n{'x' * 200_000}\n", encoding="utf-8")
    assert run(path) == (2, "sordino: the file is not a CSV file; save it as CSV UTF-8\n")


def test_columns_that_are_not_separated_by_commas_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "semicolons.csv"
    path.write_text("id;disease\n1;flu\n", encoding="utf-8")
    code, output = run(path)
    assert code == 2
    assert "its columns are id;disease; the columns must be separated by commas" in output
    path.write_text("id,illness\n1,flu\n", encoding="utf-8")
    assert "separated" not in run(path)[1]


def test_the_name_of_a_file_is_not_taken_for_the_only_candidate(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(visits.parent)
    Path("cand.txt").write_text("flu\nmumps\n", encoding="utf-8")
    code, output = run(visits, candidates="cand.txt")
    assert code == 2
    assert "did you mean @cand.txt?" in output
    assert run(visits, candidates="cand.txt,flu")[0] == 0
    assert run(visits, candidates="x" * 5000)[0] == 0  # too long for a file name


def test_one_candidate_is_chosen_without_talk_of_a_gap(visits: Path) -> None:
    code, output = run(visits, candidates="mumps")
    assert code == 0
    assert "chosen:   mumps" in output
    assert "accuracy: there was only one to choose" in output
    assert "behind" not in output


def test_empty_scores_count_nothing_and_enormous_ones_take_no_time(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    rows = ["disease,days", *["flu,1"] * 300, *["mumps,"] * 500, *["mumps, "] * 500]
    rows += ["measles,1e999999999", "measles,1e-999999999", "measles,-1e999999999"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    code, output = run(path, scores="days", sensitivity="2")
    assert code == 0, output
    assert "chosen:   flu" in output


def test_the_help_says_what_becomes_of_each_row() -> None:
    text = " ".join(CliRunner().invoke(app, ["choose", "--help"]).output.split())
    assert "clamped to 0..sensitivity; an empty field counts 0" in text
    assert "name anything else are ignored" in text
