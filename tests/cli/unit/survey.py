# SPDX-License-Identifier: Apache-2.0
"""The invented answers of 100 people, and a way to run the commands of the local model on them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from sordino.cli.main import app

ANSWERS = ["yes"] * 30 + ["no"] * 50 + ["unsure"] * 20
TRUE = ("--column", "answer", "--categories", "yes,no,unsure", "--epsilon", "40")
AGES = ("--column", "age", "--low", "0", "--high", "80", "--epsilon", "1")


def write_answers(folder: Path) -> None:
    """Write the answers as people.csv and, with more columns, as people.parquet."""
    rows = [f"{k},{answer},{k % 80}" for k, answer in enumerate(ANSWERS)]
    (folder / "people.csv").write_text("\n".join(["id,answer,age", *rows]) + "\n", "utf-8")
    ages = [k % 80 for k in range(100)]
    table = {
        "answer": pa.array(ANSWERS).dictionary_encode(),
        "age": ages,
        "ratio": [age / 3 for age in ages],
        "code": [float(age % 3) for age in ages],
        "flag": [age % 4 == 0 for age in ages],
        "day": pa.array(ages, pa.date32()),
        "moment": pa.array(ages, pa.timestamp("ms")),
        "wait": pa.array(ages, pa.duration("s")),
    }
    pq.write_table(pa.table(table), folder / "people.parquet")


def enter_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with the answers the current one, in a terminal of unknown width."""
    write_answers(folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("COLUMNS", raising=False)
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["local", *arguments])


def told(*arguments: str) -> str:
    """Return the message of a command that must fail as a wrong request does."""
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    message = done.stderr.removeprefix("sordino: ")
    assert message.count("\n") == 1, message
    return message.rstrip("\n")
