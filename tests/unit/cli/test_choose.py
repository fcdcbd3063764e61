# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

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
        ({"sensitivity": "-1"}, "sensitivity must be a positive number"),
        ({"neighbours": "both"}, "neighbours must be add_remove or replace_one, got both"),
        ({"candidates": ","}, "there is no candidate to choose"),
        ({"candidates": "flu,flu"}, "a candidate is listed twice"),
        ({"scores": "disease"}, "column 'disease' must hold numbers only"),
    ],
)
def test_bad_input_gets_one_sentence(visits: Path, changes: dict[str, str], message: str) -> None:
    code, output = run(visits, **changes)
    assert code == 2
    assert message in output
    assert "Traceback" not in output
