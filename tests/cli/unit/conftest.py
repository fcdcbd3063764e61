# SPDX-License-Identifier: Apache-2.0
"""A small clinic to ask, and a way to run commands in its folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sordino.cli.main import app

Run = Callable[..., Result]

CATALOG = (Path(__file__).parents[2] / "fixtures" / "clinic.toml").read_text("utf-8")


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with 200 visits of 100 patients and their catalog; it is the current one."""
    rows = [f"{k % 100},{k * 7 % 90},{'north' if k % 4 else 'south'}" for k in range(200)]
    (tmp_path / "visits.csv").write_text("\n".join(["id,age,ward", *rows]) + "\n", "utf-8")
    (tmp_path / "sordino.toml").write_text(CATALOG, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


@pytest.fixture
def run(clinic: Path) -> Run:
    """Run a command in the folder of the clinic, and return how it ended."""
    assert Path.cwd() == clinic

    def command(*arguments: str, typed: str | None = None) -> Result:
        return CliRunner().invoke(app, arguments, input=typed)

    return command
